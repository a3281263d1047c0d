"""What there is to say about an asymmetry test."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Final

from matplotlib.figure import Figure

from evenodds.inference.asymmetry import METHODS
from evenodds.inference.results import AsymmetryTestResult, Profiled
from evenodds.planning.achieved_power import could_have_found
from evenodds.report.curve_figures import (
    anchors_figure,
    evidence_figure,
    fit_figure,
    plane_figure,
    power_curve_figure,
)
from evenodds.report.sheet import Caption, Key, Sheet, SheetPicture, View, assumptions, versions
from evenodds.report.wording import (
    ALTERNATIVES,
    ANCHOR,
    CLASS_CONDITIONAL_NOISE,
    FLIP,
    NOT_REJECTED,
    PVALUE,
    QUESTION,
    UNIFORM_NOISE,
    headline,
    is_withheld,
    known_to,
    name_interval,
    never_shown,
    next_steps,
    show_interval,
    show_pvalue,
    verdict,
    with_minus,
)


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
        lines += [f"# points: the {result.n_anchors} toss-up cases", _anchors_call(result)]
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


def _anchors_call(result: AsymmetryTestResult) -> str:
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


def asymmetry_sheet(result: AsymmetryTestResult, view: View) -> Sheet:
    """Return the sheet of an asymmetry test."""
    equivalence = result.equivalence(view.margin)
    smallest = result.smallest_margin(view.significance)
    return Sheet(
        question=QUESTION,
        headline=headline(result, view.significance, view.margin),
        verdict=verdict(result, view.significance),
        rejected=result.pvalue < view.significance,
        keys=_keys(result, view),
        facts=facts(result, view.significance),
        page_facts=()
        if result.withheld
        else (
            ("equivalence", f"size below {view.margin:g}: {show_pvalue(equivalence.pvalue)}"),
            *([("", never_shown(smallest))] if smallest else []),
        ),
        answers=_nothing(view)
        if result.withheld
        else {
            "confidence_interval": asdict(result.confidence_interval(1 - view.significance)),
            "equivalence": {**asdict(equivalence), "smallest_margin": smallest},
        },
        checks=result.diagnostics,
        next_steps=next_steps(result, view.significance, view.margin),
        assumptions=assumptions(result),
        settings=[
            ("method", result.method),
            *result.settings.items(),
            ("alternative", result.alternative),
            *view.settings(),
            ("positive label", repr(result.positive)),
            ("negative label", repr(result.negative)),
            *versions(result.versions),
        ],
        formulas="asymmetry_formulas.html",
        python=python_call(result),
        words=[FLIP, UNIFORM_NOISE, CLASS_CONDITIONAL_NOISE, ANCHOR, NOT_REJECTED, PVALUE],
        holds="counts of rows and where the toss-ups lie, no rows",
        version=result.versions["evenodds"],
        pictures=lambda: _pictures(result, view),
    )


def _nothing(view: View) -> dict[str, dict[str, float | None]]:
    """Return the answers of a test whose numbers are withheld."""
    return {
        "confidence_interval": {"low": None, "high": None, "level": 1 - view.significance},
        "equivalence": {"margin": view.margin, "pvalue": None, "smallest_margin": None},
    }


def facts(result: AsymmetryTestResult, significance: float = 0.05) -> list[tuple[str, str]]:
    """Return the numbers of an asymmetry test, named for a reader."""
    interval = result.confidence_interval(1 - significance)
    lines = [
        ("test", f"{result.method} ({_settings(result)})"),
        ("alternative", ALTERNATIVES[result.alternative]),
    ]
    if not is_withheld(result, significance):
        lines += [("statistic", f"z = {result.statistic:.3f}, {show_pvalue(result.pvalue)}")]
    if not result.withheld:
        lines += [
            ("asymmetry", f"beta - alpha = {result.profile.estimate:+.3f}"),
            ("", f"{interval.level:.0%} interval {show_interval(interval, digits=3)}"),
        ]
    if result.alpha is not None and result.beta is not None:
        lines += [
            ("flip rates", f"alpha = {result.alpha:.3f} of the {result.positive!r}"),
            ("", f"beta  = {result.beta:.3f} of the {result.negative!r}"),
        ]
    region = result.retention_region(significance)
    if region is not None and result.mean_posterior is not None:
        lines += [
            ("at the anchors", f"posterior {result.mean_posterior:.3f} if the noise is uniform"),
            ("", f"not rejected from {region.low:.3f} to {region.high:.3f}"),
        ]
    lines += [
        ("rows", f"{result.n_rows:,} with {result.n_features} features"),
        ("anchors", f"{result.n_anchors}{_tolerance(result)}"),
        *([("audit", f"{result.n_audited:,} rows with true labels")] if result.n_audited else []),
        ("positive label", f"{result.positive!r} (the other is {result.negative!r})"),
    ]
    return lines


def _keys(result: AsymmetryTestResult, view: View) -> tuple[Key, ...]:
    evidence = Key(
        "Evidence against equal flips",
        show_pvalue(result.pvalue),
        f"z = {with_minus(f'{result.statistic:.2f}')}, {result.method} test",
    )
    if result.withheld:
        return (evidence,) if result.pvalue < view.significance else ()
    interval = result.confidence_interval(1 - view.significance)
    keys = (
        evidence,
        Key(
            "Asymmetry, beta − alpha",
            with_minus(f"{result.profile.estimate:+.3f}"),
            name_interval(interval)
            + (", too large where labels are noisy" if METHODS[result.method].overstates else ""),
        ),
    )
    if result.alpha is None or result.beta is None:
        return keys
    rates = Key(
        "Flipped, by estimate",
        f"{100 * result.alpha:.1f} % / {100 * result.beta:.1f} %",
        f"of true {result.positive!r} / of true {result.negative!r}",
    )
    return (*keys, rates)


def _pictures(result: AsymmetryTestResult, view: View) -> dict[str, SheetPicture]:

    return pictures(result, view)


def _settings(result: AsymmetryTestResult) -> str:
    written = dict(result.settings)
    seed = written.pop("seed", None)
    words = [f"{value} {name}" for name, value in written.items()]
    return ", ".join(words if seed is None else [*words, f"seed {seed}"])


def _tolerance(result: AsymmetryTestResult) -> str:
    if result.n_anchors == 0:
        return ""
    shared, by_default = result.shared_tolerance, result.shared_is_default
    return f", {known_to(result.tolerance, shared, by_default=by_default)}"


def caption(result: AsymmetryTestResult, kind: str, view: View) -> Caption:
    """Return the words for one figure of a result."""
    return _CAPTIONS[kind](result, view)


def _anchors_caption(result: AsymmetryTestResult, view: View) -> Caption:
    shown = result.sketch.anchors
    regions = [result.anchor_region(anchor, view.significance) for anchor in shown]
    outside = sum(
        not region.low <= anchor.posterior <= region.high
        for anchor, region in zip(shown, regions, strict=True)
    )
    noun = "toss-up" if result.sketch.only_toss_ups else "anchor"
    sentences = [
        f"The {noun} lies {'outside' if outside else 'within'} its bar."
        if len(shown) == 1
        else f"{outside} of {len(shown)} {noun}s lie outside their bar."
    ]
    if len(shown) < result.n_anchors:
        sentences.append(
            f"(These are {len(shown)} of {result.n_anchors}, from the lowest to the highest.)"
        )
    pooled = result.retention_region(view.significance)
    if pooled is not None and result.mean_posterior is not None:
        digits = 2 if pooled.high - pooled.low > 0.02 else 3
        low, high = f"{pooled.low:.{digits}f}", f"{pooled.high:.{digits}f}"
        sentences.append(
            f"All together the labels say {result.mean_posterior:.{digits}f}, where {low} to "
            f"{high} would retain uniform noise."
        )
    reading = (
        f"{_each_row(result)} The bar is where equal flips of both "
        f"classes would leave it {100 * (1 - view.significance):g} times out of 100; the mark is "
        f"where these labels put it. {_leaning(result)}: count on the last row, not on their "
        "number."
        if pooled is not None
        else f"Each row is one {noun} by itself: the bar is where equal flips of both classes "
        f"would leave it, the mark is where these labels put it. The {result.method} test weighs "
        f"them together with {_besides(result)}."
    )
    return Caption(reading, " ".join(sentences))


def _each_row(result: AsymmetryTestResult) -> str:
    """Say what the rows of the figure are."""
    if result.sketch.only_toss_ups:
        return "Each row is a case that the expert called a toss-up."
    return "Each row is a case of which the expert stated the chance."


def _leaning(result: AsymmetryTestResult) -> str:
    """Say why the rows of the figure are not independent."""
    if METHODS[result.method].fits_curve:
        return "All rows rest on one fitted curve, so they lean together"
    return "Anchors near each other share the rows around them, so they lean together"


def _besides(result: AsymmetryTestResult) -> str:
    """Say what a test looks at besides the anchors."""
    audit = "the audit" if result.n_audited else ""
    shape = "the shape of the curve" if METHODS[result.method].reads_shape else ""
    return " and ".join(part for part in (shape, audit) if part)


def evidence_caption(result: Profiled, view: View) -> Caption:
    """Return the words for z by asymmetry."""
    interval = result.confidence_interval(1 - view.significance)
    shown = result.equivalence(view.margin)
    within = "is shown" if shown.pvalue < view.significance else "is not shown"
    reading = (
        "The line is z for every asymmetry that could be supposed. Where it runs inside the grey "
        "band the labels do not speak against that asymmetry; where it is zero they fit it best. "
        "The square, at no asymmetry, is the test."
    )
    finding = (
        f"The best fit is {result.profile.estimate:+.3f}; asymmetries "
        f"{show_interval(interval, 3)} are not rejected. That the asymmetry is smaller than "
        f"{view.margin:g} in size {within} ({show_pvalue(shown.pvalue)})."
    )
    return Caption(reading, finding)


def power_caption(result: Profiled, view: View) -> Caption:
    """Return the words for what a test could have found."""
    reach = could_have_found(result, significance=view.significance)
    finding = (
        "These data could hardly have found an asymmetry of any size."
        if reach is None
        else f"An asymmetry of {reach:.3f} would be found four times out of five: smaller ones "
        "may well be missed."
    )
    reading = (
        "How often a test as sharp as this one rejects, if the true asymmetry is as large as the "
        "axis says. It tells how sharp the test is, and nothing about what it found."
    )
    return Caption(reading, finding)


def _fit(result: AsymmetryTestResult, view: View) -> Caption:
    bins = result.sketch.bins
    missed = sum(not seen.low <= seen.fitted <= seen.high for seen in bins)
    sampled = (
        f" (a sample of {result.sketch.n_rows_seen:,.0f})"
        if result.sketch.n_rows_seen < 0.99 * result.n_rows
        else ""
    )
    grouped = any(check.name == "groups" for check in result.diagnostics)
    aside = "; the intervals do not know of the groups" if grouped else ""
    plateaus = (
        ""
        if result.alpha is None
        else " Flips keep it between two plateaus: beta, the share of true negatives labelled "
        "positive, and 1 − alpha, the share of true positives that keep their label."
    )
    reading = (
        f"Rows{sampled} are gathered in {len(bins)} groups by their fitted chance; a dot is the "
        f"share of them labelled {result.positive!r}, the line the fitted curve.{plateaus}"
    )
    finding = (
        f"The interval of {missed} of {len(bins)} dots misses the curve; by chance about "
        f"{0.05 * len(bins):.1g} would{aside}."
    )
    return Caption(reading, finding)


def _boundary(result: AsymmetryTestResult, view: View) -> Caption:
    plane = result.sketch.plane
    counted = (
        ""
        if plane is None or plane.n_others == 0
        else " The other features are counted into the second axis, so that every case keeps its "
        "side of both lines."
    )
    reading = (
        "Rows on the two features that matter most; a mark is as large as it has rows, and as "
        "strong as their labels agree. The black line is where a case is truly undecided, the "
        f"dashed one where its label is.{counted}"
    )
    if result.sketch.noisy_boundary is None or result.sketch.between is None:
        finding = (
            "By the fitted flip rates labels are nowhere undecided: a model trained on them would "
            "give every case the same label."
        )
    else:
        finding = (
            f"By these estimates {result.sketch.between:.1%} of the rows lie between the lines: a "
            "model trained on these labels would decide them the other way."
        )
    return Caption(reading, finding)


_CAPTIONS: dict[str, Callable[[AsymmetryTestResult, View], Caption]] = {
    "anchors": _anchors_caption,
    "evidence": evidence_caption,
    "power": power_caption,
    "fit": _fit,
    "boundary": _boundary,
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure, the question it answers, and why a result may not have it."""

    question: str
    draw: Callable[[AsymmetryTestResult, View], Figure]
    why_not: Callable[[AsymmetryTestResult], str]


WITHHELD: Final = "these data cannot tell"


def _no_curve(result: AsymmetryTestResult) -> str:
    if METHODS[result.method].fits_curve:
        return ""
    return f"method {result.method!r} fits no curve to all rows, only the labels around each anchor"


def _no_anchors(result: AsymmetryTestResult) -> str:
    return "" if result.n_anchors else "there are no anchors to draw"


def _no_plane(result: AsymmetryTestResult) -> str:
    if why_not := _no_curve(result):
        return why_not
    if result.alpha is None:
        return f"method {result.method!r} estimates no flip rates, so it knows no clean boundary"
    return "" if result.sketch.plane is not None else "fewer than two features matter"


def _no_reach(result: AsymmetryTestResult) -> str:
    if METHODS[result.method].overstates:
        return f"method {result.method!r} overstates asymmetries, and what it could have found"
    return ""


PICTURES: Final = {
    "anchors": Picture("Where do the toss-ups fall?", anchors_figure, _no_anchors),
    "evidence": Picture(
        "How strong is the evidence for each asymmetry?", evidence_figure, lambda result: ""
    ),
    "power": Picture("What could this data have found?", power_curve_figure, _no_reach),
    "fit": Picture("Does the curve fit?", fit_figure, _no_curve),
    "boundary": Picture("What would the noise do?", plane_figure, _no_plane),
}


def pictures(result: AsymmetryTestResult, view: View) -> dict[str, SheetPicture]:
    """Return the figures of a result, the one for a reader in a hurry first."""
    lead = "anchors" if result.mean_posterior is not None else "evidence"
    return {
        kind: SheetPicture(
            question=PICTURES[kind].question,
            draw=partial(PICTURES[kind].draw, result, view),
            caption=partial(caption, result, kind, view),
            why_not=WITHHELD if result.withheld else PICTURES[kind].why_not(result),
        )
        for kind in (lead, *(kind for kind in PICTURES if kind != lead))
    }
