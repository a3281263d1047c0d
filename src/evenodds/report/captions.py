"""What each figure shows, in words: how to read it, and what it says of this result."""

from collections.abc import Callable

from evenodds.inference.profiled import Profiled
from evenodds.inference.results import AsymmetryTestResult
from evenodds.planning.hindsight import could_have_found
from evenodds.report.sheet import Caption
from evenodds.report.verdict import show_interval, show_pvalue
from evenodds.report.view import View


def caption(result: AsymmetryTestResult, kind: str, view: View) -> Caption:
    """Return the words for one figure of a result."""
    return _CAPTIONS[kind](result, view)


def _anchors(result: AsymmetryTestResult, view: View) -> Caption:
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
    if result.method == "local":
        return "Anchors near each other share the rows around them, so they lean together"
    return "All rows rest on one fitted curve, so they lean together"


def _besides(result: AsymmetryTestResult) -> str:
    """Say what a test looks at besides the anchors."""
    audit = "the audit" if result.n_audited else ""
    shape = "the shape of the curve" if result.method == "joint" else ""
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
    "anchors": _anchors,
    "evidence": evidence_caption,
    "power": power_caption,
    "fit": _fit,
    "boundary": _boundary,
}
