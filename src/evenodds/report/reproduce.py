"""The call that makes a result again."""

from evenodds.inference.results import AsymmetryTestResult


def python_call(result: AsymmetryTestResult) -> str:
    """Return the Python that repeats a test, given its rows and anchors."""
    features = "1 feature" if result.n_features == 1 else f"{result.n_features} features"
    lines = [
        "import evenodds as eo",
        "",
        f"# X: {result.n_rows:,} rows of {features}; y: their labels",
    ]
    data = "X, y"
    if result.n_anchors:
        lines += [f"# points: the {result.n_anchors} toss-up cases", _anchors(result)]
        data = "X, y, anchors"
    arguments = [
        data,
        f"method={_method(result)}",
        f"alternative={result.alternative!r}",
        f"positive={result.positive!r}",
    ]
    if result.n_audited:
        lines.append(f"# audit: eo.Audit of the {result.n_audited:,} rows with true labels")
        arguments.append("audit=audit")
    if any(check.name == "groups" for check in result.diagnostics):
        arguments.append("groups=groups")
    lines += ["result = eo.asymmetry_test(", *(f"    {part}," for part in arguments), ")"]
    return "\n".join(lines)


def _anchors(result: AsymmetryTestResult) -> str:
    """Return the line that makes the anchors."""
    low, high = result.tolerance
    settings = [f"tolerance={low:g}" if low == high else "tolerance=tolerances"]
    if any(anchor.stated != 0.5 for anchor in result.sketch.anchors):
        settings.insert(0, "posterior=posteriors")
    if not result.shared_is_default:
        settings.append(f"shared_tolerance={result.shared_tolerance:g}")
    return f"anchors = eo.Anchors(points, {', '.join(settings)})"


def _method(result: AsymmetryTestResult) -> str:
    """Return the record of the method's settings, as it would be written."""
    settings = dict(result.settings)
    draws, seed = settings.pop("draws", None), settings.pop("seed", None)
    # By groups the covariance follows from the groups, whatever was asked.
    if settings.get("covariance") == "grouped sandwich":
        del settings["covariance"]
    # Settings are kept as text; a bandwidth is a number.
    bandwidth = settings.pop("bandwidth", None)
    written = [f"{name}={value!r}" for name, value in settings.items()]
    if bandwidth is not None:
        written.append(f"bandwidth={bandwidth}")
    if draws is not None:
        written.append(f"bootstrap=eo.Bootstrap(draws={draws}, seed={seed})")
    return f"eo.{result.method.capitalize()}({', '.join(written)})"
