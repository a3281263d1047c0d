"""The words, in one place: what a test has shown, what it has not, what to do next.

A verdict never claims more than the test shows. A rejection speaks against uniform
noise; anything else is a failure to reject, with what could still be true.
"""

import math
from typing import Final

from evenodds.inference.prior import PriorTestResult
from evenodds.inference.profile import ConfidenceInterval
from evenodds.inference.results import AsymmetryTestResult, Profiled
from evenodds.planning.achieved_power import could_have_found

# A label longer than this is cut in sentences; the table of settings has it whole.
LONGEST_LABEL: Final = 60
CANNOT_TELL: Final = "These data cannot tell"


def verdict(result: Profiled, significance: float = 0.05) -> str:
    """Return the outcome of a test of an asymmetry in two or three sentences."""
    if is_withheld(result, significance):
        return f"{CANNOT_TELL}: {_reason(result)}."
    interval = result.confidence_interval(1 - significance)
    if result.pvalue < significance:
        sentences = [_rejection(result, significance), _size(result, interval)]
        if _doubted(result):
            sentences.append("See what to doubt before acting on it.")
    elif _leans_away(result, significance):
        sentences = [
            f"Not that way round ({show_pvalue(result.pvalue)}): {_asked_about(result)}, but the "
            "labels lean the other way.",
            f"Asymmetries (beta - alpha) {show_interval(interval)} fit them; a two-sided test says "
            "whether equal flips do.",
        ]
    else:
        sentences = [
            f"Uniform noise is not rejected ({show_pvalue(result.pvalue)}).",
            "That does not show that both classes are flipped equally often: "
            f"asymmetries (beta - alpha) {show_interval(interval)} fit these labels too.",
            _could_have_found(result, significance),
        ]
        if _doubted(result):
            sentences.append("See what to doubt before relying on it.")
    return " ".join(sentence for sentence in sentences if sentence)


def headline(result: Profiled, significance: float = 0.05, margin: float = 0.05) -> str:
    """Return the outcome in one line, for a reader who reads no further."""
    if is_withheld(result, significance):
        return f"{CANNOT_TELL} whether one class is flipped more often."
    more, less = flipped_more(result)
    doubted = _doubted(result)
    small = result.equivalence(margin).pvalue < significance
    size = f"{100 * margin:g} in 100"
    if result.pvalue < significance:
        by_how_much = f", though by less than {size}" if small else ""
        if doubted:
            return (
                f"It seems so, with reasons to doubt: {more} looks flipped more often than "
                f"{less}{by_how_much}."
            )
        return f"Yes: {more} is flipped more often than {less}{by_how_much}."
    if small:
        return (
            f"It seems not by much, with reasons to doubt: any difference looks below {size}."
            if doubted
            else f"Not by much: any difference is shown to be below {size}, though not to be none."
        )
    if _leans_away(result, significance):
        return f"Not that way round: {_asked_about(result)}; the labels lean the other way."
    reserve = ", with reasons to doubt" if doubted else ""
    return f"Not shown{reserve}: these labels fit equal flips, and unequal ones too."


def prior_verdict(result: PriorTestResult, significance: float = 0.05) -> str:
    """Return the outcome of a prior test in one or two sentences."""
    what = "Uniform noise" if result.null == "uniform" else "The hypothesis of clean labels"
    shares = f"{result.noisy_prior:.1%} of the labels are positive, {result.prior:.1%} should be"
    if result.pvalue < significance:
        return f"{what} is rejected ({show_pvalue(result.pvalue)}): {shares}."
    return (
        f"{what} is not rejected ({show_pvalue(result.pvalue)}): {shares}. Flips that cancel out "
        "leave no trace in a share, so this does not show that labels are right."
    )


def next_steps(
    result: AsymmetryTestResult, significance: float = 0.05, margin: float | None = None
) -> list[str]:
    """Return what a user can do now, most useful first.

    With a `margin`, what it already shows is not asked for again.
    """
    if is_withheld(result, significance):
        return [
            "Collect more rows, or use fewer columns: those that an expert would look at.",
            "Or look up the true label of some rows, and test these with audit_test.",
        ]
    settle = "Settle the doubts first: a wrong curve or a wrong anchor can look like unequal flips"
    if result.pvalue >= significance:
        steps = [f"{settle}, and can hide them."] if _doubted(result) else []
        if _leans_away(result, significance):
            steps.append("To ask about either class, test again with alternative 'two-sided'.")
        steps.append("To find smaller asymmetries, collect more rows or more toss-up cases.")
        if margin is None or result.equivalence(margin).pvalue >= significance:
            steps += _equivalence_step(result.smallest_margin(significance))
        return steps
    more, less = flipped_more(result)
    doubts = [f"{settle}."] if _doubted(result) else []
    if _sizeless(result):
        return [
            *doubts,
            "To learn how much more often, look up the true label of some rows of either label and "
            "test these with audit_test.",
            f"Relabel: have an expert look again at rows labelled {less} that look like {more}.",
        ]
    return [
        *doubts,
        f"Relabel: have an expert look again at rows labelled {less} that look like {more}; "
        "evenodds test --flips flips.csv ranks them.",
        "Train robustly: NoiseAwareLogisticRegression(alpha, beta) learns the clean curve from "
        "these labels; corrected_loss does the same for other losses (docs/robust.md).",
        "Drop: leave out the rows most likely flipped, if enough remain.",
    ]


def _equivalence_step(smallest: float) -> list[str]:
    """Return the advice to test equivalence, with a margin that can be shown."""
    margin = max(0.05, math.ceil(25 * smallest) / 20)  # a quarter of it above the smallest
    if margin >= 1:
        return []
    floor = f" ({never_shown(smallest)})" if smallest else ""
    return [
        f"To support uniform noise, test equivalence with a margin you can live with{floor}: "
        f"result.equivalence(margin={margin:g}), or --gate equivalence --margin {margin:g}."
    ]


def never_shown(smallest: float) -> str:
    """Say which margins no number of rows can show."""
    if smallest >= 1:
        return "no margin can be shown with these anchors, however many rows"
    least = _rounded_up(smallest)
    return f"none below {least:g} can be shown with these anchors, however many rows"


def refused_margin(result: AsymmetryTestResult, margin: float, significance: float) -> str | None:
    """Return why a gate of this margin could never pass; None where it could."""
    smallest = result.smallest_margin(significance)
    if margin >= smallest or result.equivalence(margin).pvalue < significance:
        return None
    wider = "" if smallest >= 1 else f"give a margin above {_rounded_up(smallest):g}, or "
    return (
        f"--margin is {margin:g} but {result.n_anchors} anchors known to "
        f"±{result.tolerance[1]:g} each and ±{result.shared_tolerance:g} together cannot show "
        f"that, however many rows there are: {wider}state surer anchors (--tolerance, "
        "--shared-tolerance)."
    )


def _rounded_up(margin: float) -> float:
    """Return a margin to three digits, no smaller than it is."""
    return math.ceil(1000 * margin) / 1000


def is_withheld(result: Profiled, significance: float) -> bool:
    """Tell whether a result has nothing to say: no number, or no size and no rejection."""
    return math.isnan(result.pvalue) or (_sizeless(result) and result.pvalue >= significance)


def _sizeless(result: Profiled) -> bool:
    """Tell whether estimate, rates and interval are withheld."""
    return isinstance(result, AsymmetryTestResult) and result.withheld is not None


def _reason(result: Profiled) -> str:
    """Say why numbers are withheld."""
    return (result.withheld if isinstance(result, AsymmetryTestResult) else None) or ""


def show_pvalue(pvalue: float) -> str:
    """Write a p-value with the digits that matter."""
    if pvalue < 0.0001:
        return "p < 0.0001"
    digits = 4 if pvalue < 0.001 else 3 if pvalue < 0.1 else 2
    return f"p = {pvalue:.{digits}f}"


def show_interval(interval: ConfidenceInterval, digits: int = 2) -> str:
    """Write an interval, saying in words where it has no bound."""
    if max(abs(interval.low), abs(interval.high)) < 0.05:
        digits = max(digits, 3)  # two would show a narrow one as -0.00 to +0.01
    low, high = f"{interval.low:+.{digits}f}", f"{interval.high:+.{digits}f}"
    if interval.low_is_limit and interval.high_is_limit:
        return "of any size and sign"
    if interval.low_is_limit:
        return f"up to {high} (no lower bound)"
    if interval.high_is_limit:
        return f"from {low} (no upper bound)"
    return f"from {low} to {high}"


def name_interval(interval: ConfidenceInterval) -> str:
    """Write an interval with its level, for a page."""
    return f"{100 * interval.level:g}% interval {with_minus(show_interval(interval))}"


def with_minus(number: str) -> str:
    """Write a negative number with a minus sign, not a hyphen."""
    return number.replace("-", "−")


def show_label(label: object) -> str:
    """Write a label as it would be typed, a very long one cut."""
    written = repr(label)
    return written if len(written) <= LONGEST_LABEL else f"{written[: LONGEST_LABEL - 2]}…'"


def _rejection(result: Profiled, significance: float) -> str:
    """Say which way the labels lean, and how strong the evidence is."""
    more, less = flipped_more(result)
    strength = "strongly rejected" if result.pvalue < significance / 50 else "rejected"
    shape_alone = isinstance(result, AsymmetryTestResult) and not (
        result.n_anchors or result.n_audited
    )
    basis = ", from the shape of the curve alone" if shape_alone else ""
    return (
        f"Uniform noise is {strength} ({show_pvalue(result.pvalue)}{basis}): rows that are truly "
        f"{more} are flipped more often than rows that are truly {less}."
    )


def _size(result: Profiled, interval: ConfidenceInterval) -> str:
    """Say how large the difference is, in cases out of a hundred."""
    if isinstance(result, AsymmetryTestResult) and result.withheld:
        return f"How much more often, these data cannot tell: {result.withheld}."
    if _overstates(result):
        return ""  # the plain curve's estimate overstates the asymmetry of noisy labels
    more, less = flipped_more(result)
    if result.statistic < 0:
        few, many, bounded = -interval.high, -interval.low, not interval.low_is_limit
    else:
        few, many, bounded = interval.low, interval.high, not interval.high_is_limit
    if few < 0.005:
        return ""  # nothing to count: the interval reaches down to none
    count = f"about {100 * few:.0f} to {100 * many:.0f}" if bounded else f"at least {100 * few:.0f}"
    return f"Of every 100, {count} more true {more} are flipped than true {less}."


def _overstates(result: Profiled) -> bool:
    """Tell whether a test is known to overstate asymmetries."""
    from evenodds.inference.asymmetry import METHODS

    return result.method in METHODS and METHODS[result.method].overstates


def _could_have_found(result: Profiled, significance: float) -> str:
    """Say what asymmetry this data would have found, four times out of five."""
    if _overstates(result):
        return ""  # the plain curve overstates asymmetries, and what it could have found
    reach = could_have_found(result, power=0.8, significance=significance)
    if reach is None:
        return "These data could hardly have found an asymmetry of any size."
    if result.alternative != "two-sided":
        reach = reach if result.alternative == "greater" else -reach
        return f"An asymmetry of about {reach:+.2f} would have been found four times out of five."
    return f"An asymmetry of about {reach:.2f} would have been found four times out of five."


def _doubted(result: Profiled) -> bool:
    """Tell whether anything that was checked gives reason to doubt."""
    return any(check.concern for check in result.diagnostics)


def _leans_away(result: Profiled, significance: float) -> bool:
    """Tell whether a one-sided test would have rejected, had it been asked the other way."""
    return result.alternative != "two-sided" and result.pvalue > 1 - significance


def _asked_about(result: Profiled) -> str:
    """Say what a one-sided test was asked, as what it has not shown."""
    asked = (result.negative, result.positive)
    more, less = asked if result.alternative == "greater" else asked[::-1]
    return (
        f"{show_label(more)} is not shown to be flipped more often than {show_label(less)}, as "
        "was asked"
    )


def flipped_more(result: Profiled) -> tuple[str, str]:
    """Return the class that loses more labels, and the other, as they are written."""
    if result.statistic < 0:
        return show_label(result.positive), show_label(result.negative)
    return show_label(result.negative), show_label(result.positive)


QUESTION: Final = "Is one class flipped more often than the other?"

ALTERNATIVES: Final = {
    "two-sided": "either class is flipped more",
    "greater": "negatives are flipped more (beta > alpha)",
    "less": "positives are flipped more (beta < alpha)",
}

FLIP: Final = ("Flip", "A label that is not the true class.")
UNIFORM_NOISE: Final = (
    "Uniform noise",
    "Labels of both classes are flipped equally often. Labels may be very noisy and still be so.",
)
CLASS_CONDITIONAL_NOISE: Final = (
    "Class-conditional noise",
    "One class is flipped more often than the other. What is learned from such labels is biased.",
)
ANCHOR: Final = (
    "Anchor, toss-up",
    "A case where an expert who knows the truth could not tell the class.",
)
NOT_REJECTED: Final = (
    "Not rejected",
    "The labels do not speak against equal flips. It never means that flips are equal: see which "
    "asymmetries remain possible.",
)
PVALUE: Final = (
    "p-value",
    "How often equal flips alone would give a result at least this far out. It is not the "
    "probability that flips are equal.",
)
AUDIT: Final = ("Audit", "A sample of rows whose true class was looked up.")


def known_to(tolerance: tuple[float, float], shared: float, *, by_default: bool) -> str:
    """Say how well anchors are known: each, and all together."""
    low, high = tolerance
    if high == 0 and shared == 0:
        return "taken as exact"
    own = f"±{low:g}" if low == high else f"±{low:g} to ±{high:g}"
    how = "by default" if by_default else "as stated"
    return f"tolerance {own}, shared {f'±{shared:g}' if shared else 'none'} ({how})"
