"""What there is to say about an asymmetry test."""

from dataclasses import replace
from typing import Final

from evenodds.inference.asymmetry import METHODS
from evenodds.inference.boundary import TOO_FEW_PLACES
from evenodds.inference.results import AsymmetryTestResult
from evenodds.report import wording
from evenodds.report.sheet import Caption, Sheet, SheetPicture, View
from evenodds.validation import counted

WITHHELD: Final = "these data cannot tell"
NO_CURVE: Final = "fits no curve to all rows, only the labels around each anchor"


def asymmetry_sheet(result: AsymmetryTestResult, view: View) -> Sheet:
    """Return the sheet of an asymmetry test."""
    smallest = result.smallest_margin(view.significance)
    answers = wording.interval_answers(result, view, "confidence_interval")
    pvalue: float | None = result.equivalence(view.margin).pvalue
    page_facts = [wording.equivalence_fact(result, view)]
    if result.withheld:
        page_facts, pvalue = [], None
        answers = {"confidence_interval": {"low": None, "high": None, "level": view.level}}
    elif smallest:
        page_facts.append(("", wording.never_shown(smallest)))
    answers["equivalence"] = {
        "margin": view.margin,
        "pvalue": pvalue,
        "smallest_margin": None if result.withheld else smallest,
    }
    return Sheet(
        result=result,
        view=view,
        question=wording.QUESTION,
        headline=wording.headline(result, view.significance, view.margin),
        verdict=wording.verdict(result, view.significance),
        keys=wording.profile_keys(
            result,
            view,
            test=f"{result.method} test",
            flipped="Flipped, by estimate",
            aside=", too large where labels are noisy" if METHODS[result.method].overstates else "",
        ),
        facts=_facts(result, view),
        page_facts=tuple(page_facts),
        answers=answers,
        next_steps=next_steps(result, view.significance, view.margin),
        takes=_assumptions(result),
        made_with=[
            ("method", result.method),
            *result.settings.items(),
            ("alternative", result.alternative),
        ],
        formulas="asymmetry_formulas.html",
        python=python_call(result),
        words=wording.explained(
            *wording.NOISES,
            *wording.RATES,
            "Posterior",
            "Anchor, toss-up",
            "Tolerance",
            *(["Audit"] if result.n_audited else []),
            *wording.NUMBERS,
        ),
        holds="counts of rows and where the toss-ups lie, no rows",
        pictures=_pictures(result),
    )


def next_steps(
    result: AsymmetryTestResult, significance: float = 0.05, margin: float | None = None
) -> list[str]:
    """Return what a user can do now, most useful first.

    With a `margin`, what it already shows is not asked for again.
    """
    if wording.is_withheld(result, significance):
        return [
            "Add columns that take more values."
            if result.withheld == TOO_FEW_PLACES
            else "Collect more rows, or use fewer columns: those that an expert would look at.",
            "Or look up the true label of some rows, and test these with audit_test.",
        ]
    settle = "Settle the doubts first: a wrong curve or a wrong anchor can look like unequal flips"
    if result.pvalue >= significance:
        steps = [f"{settle}, and can hide them."] if wording.is_doubted(result) else []
        if wording.leans_away(result, significance):
            steps.append("To ask about either class, test again with alternative 'two-sided'.")
        steps.append(f"{wording.SMALLER} collect more rows or more toss-up cases.")
        if not result.withheld and (
            margin is None or result.equivalence(margin).pvalue >= significance
        ):
            steps += wording.equivalence_step(result.smallest_margin(significance))
        return steps
    more, less = wording.flipped_more(result)
    doubts = [f"{settle}."] if wording.is_doubted(result) else []
    if result.withheld or _lacks_rates(result):
        return [
            *doubts,
            "To learn how much more often, look up the true label of some rows of either label and "
            "test these with audit_test.",
            f"Relabel: have an expert look again at rows labelled {less} that look like {more}.",
        ]
    return [
        *doubts,
        f"Relabel: have an expert look again at rows labelled {less} that look like {more}; "
        "evenodds test --flips flips.csv or result.flip_probability(X, y) ranks them.",
        f"{wording.train_robustly()} from these labels; corrected_loss does the same for other "
        "losses (docs/robust.md).",
        "Drop: leave out the rows most likely flipped, if enough remain.",
    ]


def refused_margin(result: AsymmetryTestResult, margin: float, significance: float) -> str | None:
    """Return why a gate of this margin could never pass; None where it could."""
    smallest = result.smallest_margin(significance)
    if not margin < smallest or result.equivalence(margin).pvalue < significance:
        return None
    wider = "" if smallest >= 1 else f"give a margin above {wording.rounded_up(smallest):g}, or "
    return (
        f"--margin is {margin:g} but {counted(result.n_anchors, 'anchor')} known to "
        f"±{result.tolerance[1]:.2g} each and ±{result.shared_tolerance:.2g} together cannot show "
        f"that, however many rows there are: {wider}state surer anchors (--tolerance, "
        "--shared-tolerance)."
    )


def _lacks_rates(result: AsymmetryTestResult) -> bool:
    """Tell whether the rows could not tell the rates that the method estimates."""
    return METHODS[result.method].has_rates and result.alpha is None


def _assumptions(result: AsymmetryTestResult) -> list[tuple[str, ...]]:
    """Return the assumptions of a test, those it rests on most first."""
    stated: list[tuple[str, ...]] = [
        (f"{wording.NOT_ON_FEATURES} Noise that depends on them can balance just at the anchors.",)
    ]
    if result.n_anchors:
        right = "The expert's posteriors are right, within their tolerance."
        stated += [(right, "anchors and curve", "tipping point"), (wording.CHOSEN_BLINDLY,)]
    if result.n_audited:
        right = "The looked-up labels are right, and audited rows are flipped as often as others."
        stated.append((right, "audit", "audit size"))
    far_more = "There are far more rows than parameters, also on the slope of the curve."
    shape = _SHAPES.get(result.method, _LOGISTIC)
    return [
        *stated,
        shape,
        (wording.INDEPENDENT, "groups"),
        (far_more, "rows per parameter", "step"),
    ]


# What a method needs of the curve, and the checks that speak to it.
_LOGISTIC: Final = (
    "The true posterior is logistic in the columns given. Where it levels off, that is taken "
    "as flips; no check can tell.",
    "link",
)
_SHAPES: Final = {
    "wald": (
        "Labels are nearly clean, or rows lie evenly about the boundary; else the plain logistic "
        "curve of this test moves under equal flips too.",
        "curve",
    ),
    "local": (
        "The log-odds of a label are nearly straight within a bandwidth of each anchor.",
        "bandwidth",
    ),
}


def python_call(result: AsymmetryTestResult) -> str:
    """Return the Python that repeats a test, given its rows and anchors."""
    features = counted(result.n_features, "feature")
    comments = [f"# X: {result.n_rows:,} rows of {features}; y: their labels"]
    if result.n_anchors:
        comments += [f"# points: {counted(result.n_anchors, 'toss-up')}", _anchors_call(result)]
    arguments = [
        "X, y, anchors" if result.n_anchors else "X, y",
        f"method={_method(result)}",
        f"alternative={result.alternative!r}",
        f"positive={result.positive!r}",
    ]
    if result.n_audited:
        comments.append(f"# audit: eo.Audit of the {result.n_audited:,} rows with true labels")
        arguments.append("audit=audit")
    if _grouped(result):
        arguments.append("groups=groups")
    return wording.repeat_call(comments, "asymmetry_test", arguments)


def _grouped(result: AsymmetryTestResult) -> bool:
    return any(check.name == "groups" for check in result.diagnostics)


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


def _facts(result: AsymmetryTestResult, view: View) -> list[tuple[str, str]]:
    """Return the numbers of an asymmetry test, named for a reader."""
    settings = dict(result.settings)
    seed = settings.pop("seed", None)
    words = [f"{value} {name}" for name, value in settings.items()]
    if seed is not None:
        words.append(f"seed {seed}")
    lines = [
        ("test", f"{result.method} ({', '.join(words)})"),
        *wording.profile_facts(result, view),
    ]
    if result.alpha is not None and result.beta is not None:
        lines += [
            ("flip rates", f"alpha = {result.alpha:.3f} of the {result.positive!r}"),
            ("", f"beta  = {result.beta:.3f} of the {result.negative!r}"),
        ]
    region = result.retention_region(view.significance)
    if region is not None and result.mean_posterior is not None:
        lines += [
            ("at the anchors", f"posterior {result.mean_posterior:.3f} if the noise is uniform"),
            ("", f"not rejected from {region.low:.3f} to {region.high:.3f}"),
        ]
    known = f", {wording.known_to(result)}" if result.n_anchors else ""
    lines += [wording.rows_fact(result), ("anchors", f"{result.n_anchors}{known}")]
    if result.n_audited:
        lines.append(("audit", f"{result.n_audited:,} rows with true labels"))
    return [*lines, wording.label_fact(result)]


def _pictures(result: AsymmetryTestResult) -> dict[str, SheetPicture]:
    """Return the figures of a result, the one for a reader in a hurry first."""
    method = f"method {result.method!r}"
    no_anchors = "" if result.n_anchors else "there are no anchors to draw"
    no_curve = "" if METHODS[result.method].fits_curve else f"{method} {NO_CURVE}"
    overstates = f"{method} overstates asymmetries, and what it could have found"
    no_plane = "" if result.sketch.plane is not None else "fewer than two features matter"
    if _lacks_rates(result):
        no_curve = no_plane = "the rows do not tell the flip rates"
    elif result.alpha is None:
        no_plane = f"{method} estimates no flip rates, so it knows no clean boundary"
    known = {
        "anchors": SheetPicture("Where do the toss-ups fall?", _anchors_caption, no_anchors),
        **wording.profile_pictures("data", overstates if METHODS[result.method].overstates else ""),
        "fit": SheetPicture("Does the curve fit?", _fit_caption, no_curve),
        "boundary": SheetPicture(
            "What would the noise do?", _boundary_caption, no_curve or no_plane
        ),
    }
    if result.mean_posterior is None:  # no row for all anchors together
        known = {"evidence": known["evidence"], **known}
    if result.withheld:
        known = {kind: replace(one, why_not=WITHHELD) for kind, one in known.items()}
    return known


def _anchors_caption(result: AsymmetryTestResult, view: View) -> Caption:
    shown, outside = result.sketch.anchors, 0
    for anchor in shown:
        region = result.anchor_region(anchor, view.significance)
        outside += not region.low <= anchor.posterior <= region.high
    noun = "toss-up" if result.sketch.only_toss_ups else "anchor"
    sentences = [
        f"The {noun} lies {'outside' if outside else 'within'} its bar."
        if len(shown) == 1
        else f"{outside} of {len(shown)} {noun}s lie{'s' * (outside == 1)} outside "
        f"{'its' if outside == 1 else 'their'} bar."
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
            f"{high} is compatible with uniform noise."
        )
    put = "the mark is where these labels put it"
    if pooled is None:
        shape = ["the shape of the curve"] if METHODS[result.method].reads_shape else []
        besides = " and ".join([*shape, *(["the audit"] if result.n_audited else [])])
        reading = (
            f"Each row is one {noun} by itself: the bar is where equal flips of both classes would "
            f"leave it, {put}. The {result.method} test weighs them together with {besides}."
        )
    else:
        called, shared = (
            "of which the expert stated the chance",
            "All rows rest on one fitted curve",
        )
        if result.sketch.only_toss_ups:
            called = "that the expert called a toss-up"
        if not METHODS[result.method].fits_curve:
            shared = "Anchors near each other share the rows around them"
        reading = (
            f"Each row is a case {called}. The bar is where equal flips of both classes would "
            f"leave it {100 * view.level:g} times out of 100; {put}. {shared}, so they err "
            "together: rely on the last row, not on their number."
        )
    return Caption(reading, " ".join(sentences))


def _fit_caption(result: AsymmetryTestResult, view: View) -> Caption:
    bins = result.sketch.bins
    missed = sum(not seen.low <= seen.fitted <= seen.high for seen in bins)
    sampled = (
        f" (a sample of {result.sketch.n_rows_seen:,.0f})"
        if result.sketch.n_rows_seen < 0.99 * result.n_rows
        else ""
    )
    aside = "; the intervals do not know of the groups" if _grouped(result) else ""
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


def _boundary_caption(result: AsymmetryTestResult, view: View) -> Caption:
    plane = result.sketch.plane
    counted = (
        ""
        if plane is None or plane.n_others == 0
        else " The other features are counted into the second axis, so that every case keeps its "
        "side of both lines."
    )
    reading = (
        "Rows on the two features that matter most; the size of a mark shows how many rows "
        "it stands for, its strength how far their labels agree. The black line is where a case is "
        f"truly undecided, the dashed one where its label is.{counted}"
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
