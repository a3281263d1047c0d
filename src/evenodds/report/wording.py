"""The words, in one place: what a test has shown, what it has not, what to do next.

A verdict never claims more than the test shows. A rejection speaks against uniform
noise; anything else is a failure to reject, with what could still be true.
"""

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final

from evenodds.anchors import tolerance_words
from evenodds.inference.profile import ConfidenceInterval
from evenodds.inference.results import AsymmetryTestResult, Profiled
from evenodds.planning.achieved_power import could_have_found
from evenodds.report.sheet import Caption, Key, SheetPicture, View
from evenodds.validation import counted, signed, with_minus

# A label longer than this is cut in sentences; the table of settings has it whole.
LONGEST_LABEL: Final = 60
# Annotators beyond these stand in the table alone, not in the figure.
MOST_SHOWN: Final = 40
# Decimals of an interval, however small its ends.
MOST_DIGITS: Final = 5
NOT_SHOWN: Final = "That does not show that"
SMALLER: Final = "To find smaller asymmetries,"
RESERVE: Final = ", with reasons to doubt"
CANNOT_TELL: Final = "These data cannot tell"
DOUBTED: Final = "See what to doubt before acting on it."
HARDLY: Final = "These data could hardly have found an asymmetry of any size."

JUDGE_AGAIN: Final = (
    "Check that each answer stands beside its own case, and have the cases judged again by "
    "somebody who can tell them, or look their truth up."
)


def verdict(result: Profiled, significance: float = 0.05) -> str:
    """Return the outcome of a test of an asymmetry in two or three sentences."""
    if is_withheld(result, significance):
        return f"{CANNOT_TELL}: {result.withheld}."
    interval = result.confidence_interval(1 - significance)
    if result.pvalue < significance:
        sentences = [_rejection(result, significance), _size(result, interval)]
        if is_doubted(result):
            sentences.append(DOUBTED)
    elif leans_away(result, significance):
        sentences = [
            f"Not that way round ({show_pvalue(result.pvalue)}): {_asked_about(result)}; the "
            "labels lean the other way.",
            _size(result, interval),
            "A two-sided test would say whether equal flips are ruled out.",
        ]
    else:
        sentences = [
            f"Uniform noise is not rejected ({show_pvalue(result.pvalue)}).",
            f"{NOT_SHOWN} both classes are flipped equally often: {_possible(result, interval)}.",
            _could_have_found(result, significance),
        ]
        if is_doubted(result):
            sentences.append("See what to doubt before relying on it.")
    return " ".join(sentence for sentence in sentences if sentence)


def headline(result: Profiled, significance: float = 0.05, margin: float = 0.05) -> str:
    """Return the outcome in one line, for a reader who reads no further."""
    if is_withheld(result, significance):
        return f"{CANNOT_TELL} whether one class is flipped more often."
    more, less = flipped_more(result)
    doubted = is_doubted(result)
    small = result.equivalence(margin).pvalue < significance
    size = f"{100 * margin:g} in 100"
    if result.pvalue < significance:
        is_so = "looks" if doubted else "is"
        by_how_much = f", though by less than {size}" if small else ""
        return f"{shown_so(result)}: {more} {is_so} flipped more often than {less}{by_how_much}."
    if small:
        return (
            f"It seems not by much{RESERVE}: any difference looks below {size}."
            if doubted
            else f"Not by much: any difference is shown to be below {size}, though not to be none."
        )
    if leans_away(result, significance):
        return f"Not that way round: {_asked_about(result)}; the labels lean the other way."
    return f"{not_shown(result)}: these labels fit equal flips, and unequal ones too."


def shown_so(result: Any) -> str:
    """Begin a headline of what is shown, or seems so."""
    return f"It seems so{RESERVE}" if is_doubted(result) else "Yes"


def not_shown(result: Any) -> str:
    """Begin a headline of what is not shown."""
    return f"Not shown{RESERVE}" if is_doubted(result) else "Not shown"


def train_robustly(rates: str = "alpha, beta") -> str:
    """Begin the advice to allow for the flips."""
    return f"Train robustly: NoiseAwareLogisticRegression({rates}) learns the clean curve"


def equivalence_step(smallest: float = 0.0) -> list[str]:
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
        return "no margin can be shown with these tolerances, however many rows"
    least = rounded_up(smallest)
    return f"none below {least:g} can be shown with these tolerances, however many rows"


def rounded_up(margin: float) -> float:
    """Return a margin to three digits, no smaller than it is."""
    return math.ceil(1000 * margin) / 1000


def is_withheld(result: Profiled, significance: float) -> bool:
    """Tell whether a result has nothing to say: no number, or no size and no rejection."""
    return math.isnan(result.pvalue) or (
        result.withheld is not None and result.pvalue >= significance
    )


def show_pvalue(pvalue: float) -> str:
    """Write a p-value with the digits that matter."""
    if pvalue < 0.0001:
        return "p < 0.0001"
    digits = 4 if pvalue < 0.001 else 3 if pvalue < 0.1 else 2
    return f"p = {pvalue:.{digits}f}"


def show_interval(
    interval: ConfidenceInterval, digits: int = 2, written: Callable[[float, int], str] = signed
) -> str:
    """Write an interval, saying in words where it has no bound."""
    if max(abs(interval.low), abs(interval.high)) < 0.05:
        digits = max(digits, 3)  # two would show a narrow one as -0.00 to +0.01
    told = [
        end
        for end, is_limit in (
            (interval.low, interval.low_is_limit),
            (interval.high, interval.high_is_limit),
        )
        if end and not is_limit
    ]
    while digits < MOST_DIGITS and any(round(end, digits) == 0 for end in told):
        digits += 1  # else its sign is lost
    low, high = written(interval.low, digits), written(interval.high, digits)
    if interval.low_is_limit and interval.high_is_limit:
        return "of any size and sign"
    if interval.low_is_limit:
        return f"up to {high} (no lower bound)"
    if interval.high_is_limit:
        return f"from {low} (no upper bound)"
    return f"from {low} to {high}"


def name_interval(interval: ConfidenceInterval) -> str:
    """Write an interval with its level, for a page."""
    return f"{100 * interval.level:g}% interval {show_interval(interval)}"


def interval_in_full(
    interval: ConfidenceInterval, written: Callable[[float, int], str] = signed
) -> str:
    """Write an interval with its level and three digits."""
    return f"{interval.level:.0%} interval {show_interval(interval, 3, written)}"


def planned_flips(alpha: float, beta: float) -> str:
    """Write two flip rates and their difference, with the digits that tell them apart."""
    digits = 1
    while alpha != beta and f"{alpha:.{digits}%}" == f"{beta:.{digits}%}":
        digits += 1
    return (
        f"flips of {alpha:.{digits}%} of positives and {beta:.{digits}%} of negatives "
        f"(beta − alpha {signed(beta - alpha, digits + 2)})"
    )


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
    if result.withheld:
        return f"How much more often, these data cannot tell: {result.withheld}."
    if _overstates(result):
        return ""  # the plain curve's estimate overstates the asymmetry of noisy labels
    more, less = flipped_more(result)
    sign = -1 if result.statistic < 0 else 1
    ends = (interval.low, interval.low_is_limit), (interval.high, interval.high_is_limit)
    (few, no_least), (many, no_most) = ends[::sign]
    few, many = 100 * sign * few, 100 * sign * many
    if (no_least and no_most) or (few < 0.5 and not no_least):
        return ""  # nothing to count: the interval reaches down to none
    count = f"at least {few:.0f}" if no_most else f"{few:.0f} to {many:.0f}"
    count = f"at most {many:.0f}" if no_least else count
    if result.alpha is None or result.beta is None:
        return f"Of every 100, {count} more true {more} are flipped than true {less}."
    rates = (100 * result.alpha, 100 * result.beta)[::-sign]
    return (
        f"Of every 100 that are truly {more}, about {_are(rates[0])} labelled {less}; of every "
        f"100 truly {less}, about {_are(rates[1])} labelled {more}. The difference is {count} in "
        "100."
    )


def _are(count: float) -> str:
    """Return a whole number with its verb."""
    return "1 is" if round(count) == 1 else f"{count:.0f} are"


def _possible(result: Profiled, interval: ConfidenceInterval) -> str:
    """Say which differences the labels do not rule out, either way, in cases out of a hundred."""
    positive, negative = show_label(result.positive), show_label(result.negative)

    def many(size: float, is_limit: bool) -> str:
        count = f"{100 * size:.0f}" if size >= 0.01 else f"{100 * size:.1f}"
        return "any number" if is_limit else f"up to {count}"

    if interval.low_is_limit and interval.high_is_limit:
        return "differences of any size and sign fit these labels too"
    return (
        f"of every 100, {many(-interval.low, interval.low_is_limit)} more true {positive} than "
        f"true {negative} could be flipped, or {many(interval.high, interval.high_is_limit)} more "
        f"true {negative} than true {positive}"
    )


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
        return HARDLY
    size = f"{100 * reach:.0f}" if reach >= 0.01 else f"{100 * reach:.1f}"
    way = "" if result.alternative == "two-sided" else ", the way that was asked about,"
    return f"A difference of about {size} in 100{way} would have been found four times out of five."


def is_doubted(result: Any) -> bool:
    """Tell whether anything that was checked gives reason to doubt."""
    return any(check.concern for check in result.diagnostics)


def leans_away(result: Profiled, significance: float) -> bool:
    """Tell whether a one-sided test would have rejected, had it been asked the other way."""
    return result.alternative != "two-sided" and result.pvalue > 1 - significance


def _asked_about(result: Profiled) -> str:
    """Say what a one-sided test was asked."""
    asked = (result.negative, result.positive)
    more, less = asked if result.alternative == "greater" else asked[::-1]
    return (
        f"the test asked whether {show_label(more)} is flipped more often than {show_label(less)}"
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

GLOSSARY: Final = {
    "Flip": "A label that is not the true class.",
    "Uniform noise": "Labels of both classes are flipped equally often, however often that is.",
    "Class-conditional noise": "One class is flipped more often than the other. What is learned "
    "from such labels is biased.",
    "Anchor, toss-up": "A case that an expert calls as likely of either class.",
    "Not rejected": "The labels do not speak against equal flips. It never means that flips are "
    "equal: see which asymmetries remain possible.",
    "p-value": "How often equal flips alone would give a result at least this far out. It is not "
    "the probability that flips are equal.",
    "Audit": "A sample of rows whose true class was looked up.",
    "Posterior": "The probability that a case with these features is truly positive.",
    "alpha, beta": "Flip rates: the shares of true positives and of true negatives whose label is "
    "wrong.",
    "Asymmetry": "beta − alpha. At −0.20, 20 more in 100 of the positives are flipped than of the "
    "negatives.",
    "Tolerance": "How far a stated posterior may be off, either way. The shared tolerance is an "
    "error that all anchors have in common, which more anchors do not average out.",
    "Interval": "The asymmetries that the test does not reject. At 95%, such intervals hold the "
    "true one about 95 times out of 100.",
    "Equivalence, margin": "A test that shows the asymmetry to be smaller than a margin: the size "
    "that you call harmless.",
    "Power": "How often a test finds an asymmetry that is there.",
    "z": "How far the labels are from equal flips, in standard errors; beyond about ±2 equal flips "
    "are rejected at 5%.",
    "Score": "A model's probability that the given label is positive, of a row that it was not "
    "fitted to.",
    "Stratum": "Rows of similar score.",
    "The line": "Where flips depend on the class alone, the share of positive labels is a straight "
    "line in the share truly positive, from beta at 0 to 1 − alpha at 1.",
}
NOISES: Final = ("Flip", "Uniform noise", "Class-conditional noise")
RATES: Final = ("alpha, beta", "Asymmetry")
OUTCOMES: Final = ("Not rejected", "p-value")
NUMBERS: Final = ("z", *OUTCOMES, "Interval", "Equivalence, margin", "Power")
NOT_ON_FEATURES: Final = "A flip depends on the true class alone, not on the features."
CHOSEN_BLINDLY: Final = "Anchors were chosen without a look at the labels, or at a model of them."
INDEPENDENT: Final = "Rows are independent of each other, or groups of them are named."
FLIPPED_INDEPENDENTLY: Final = "Rows are flipped independently of each other."


def explained(*terms: str) -> list[tuple[str, str]]:
    """Return terms with their meanings."""
    return [(term, GLOSSARY[term]) for term in terms]


def known_to(result: Any) -> str:
    """Say how well the anchors of a result are known: each, and all together."""
    return tolerance_words(result.tolerance, result.shared_tolerance, result.shared_is_default)


def label_fact(result: Any) -> tuple[str, str]:
    """Say which of the two labels is the positive one."""
    return "positive label", f"{result.positive!r} (the other is {result.negative!r})"


def rows_fact(result: Any) -> tuple[str, str]:
    """Say how many rows and features there are."""
    return "rows", f"{result.n_rows:,} with {counted(result.n_features, 'feature')}"


def profile_facts(result: Profiled, view: View) -> list[tuple[str, str]]:
    """Return statistic, estimate and interval, as far as they are not withheld."""
    lines = [("alternative", ALTERNATIVES[result.alternative])]
    if not is_withheld(result, view.significance):
        lines.append(
            (
                "statistic",
                f"z = {with_minus(f'{result.statistic:.3f}')}, {show_pvalue(result.pvalue)}",
            )
        )
    if not result.withheld:
        interval = result.confidence_interval(view.level)
        lines += [
            ("asymmetry", f"beta − alpha = {signed(result.asymmetry)}"),
            ("", interval_in_full(interval)),
        ]
    return lines


def equivalence_fact(result: Profiled, view: View) -> tuple[str, str]:
    """Say whether the asymmetry is shown to be small."""
    shown = result.equivalence(view.margin)
    return "equivalence", f"size below {view.margin:g}: {show_pvalue(shown.pvalue)}"


def asymmetry_key(estimate: float | None, interval: ConfidenceInterval, aside: str = "") -> Key:
    """Return the estimate with its interval, for a reader in a hurry."""
    shown = f"{name_interval(interval)}{aside}"
    return Key("Asymmetry, beta − alpha", signed(estimate), shown)


def profile_keys(
    result: Profiled, view: View, *, test: str, flipped: str, aside: str = ""
) -> tuple[Key, ...]:
    """Return evidence, estimate and flip rates, for a reader in a hurry."""
    z = with_minus(f"{result.statistic:.2f}")
    evidence = Key("Evidence against equal flips", show_pvalue(result.pvalue), f"z = {z}, {test}")
    if result.withheld:
        return (evidence,) if result.pvalue < view.significance else ()
    interval = result.confidence_interval(view.level)
    keys = (evidence, asymmetry_key(result.asymmetry, interval, aside))
    if result.alpha is None or result.beta is None:
        return keys
    shares = f"{100 * result.alpha:.1f}% / {100 * result.beta:.1f}%"
    positive, negative = show_label(result.positive), show_label(result.negative)
    return (
        *keys,
        Key(flipped, shares, f"alpha, of true {positive} / beta, of true {negative}"),
    )


def interval_answers(result: Any, view: View, *names: str) -> dict[str, Any]:
    """Return intervals by the names of the methods that give them, for programs."""
    return {name: asdict(getattr(result, name)(view.level)) for name in names}


def profile_pictures(what: str, why_no_power: str = "") -> dict[str, SheetPicture]:
    """Return the figures of z and of power; `what` could have found something."""
    return {
        "evidence": SheetPicture(
            "How strong is the evidence for each asymmetry?", evidence_caption
        ),
        "power": SheetPicture(f"What could this {what} have found?", power_caption, why_no_power),
    }


def evidence_caption(result: Profiled, view: View) -> Caption:
    """Return the words for z by asymmetry."""
    interval = result.confidence_interval(view.level)
    shown = result.equivalence(view.margin)
    within = "is shown" if shown.pvalue < view.significance else "is not shown"
    reading = (
        "The line is z for every asymmetry that could be supposed. Where it runs inside the grey "
        "band the labels do not speak against that asymmetry; where it is zero they fit it best. "
        "The square, at no asymmetry, is the test."
    )
    finding = (
        f"The best fit is {signed(result.profile.estimate)}; asymmetries "
        f"{show_interval(interval, 3)} are not rejected. That the asymmetry is smaller than "
        f"{view.margin:g} in size {within} ({show_pvalue(shown.pvalue)})."
    )
    return Caption(reading, finding)


def power_caption(result: Profiled, view: View) -> Caption:
    """Return the words for what a test could have found."""
    reach = could_have_found(result, significance=view.significance)
    finding = (
        HARDLY
        if reach is None
        else f"An asymmetry of {reach:.3f} would be found four times out of five: smaller ones "
        "may well be missed."
    )
    reading = (
        "How often a test as precise as this one rejects, by the size of the true asymmetry. It "
        "says how precise the test is, and nothing about what it found."
    )
    return Caption(reading, finding)


def repeat_call(comments: list[str], function: str, arguments: list[str]) -> str:
    """Return the Python that makes a result again, given its data."""
    return "\n".join(
        [
            "import evenodds as eo",
            "",
            *comments,
            f"result = eo.{function}(",
            *(f"    {part}," for part in arguments),
            ")",
        ]
    )
