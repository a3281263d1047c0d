"""The words, in one place: what a test has shown, what it has not, what to do next.

A verdict never claims more than the test shows. A rejection speaks against uniform
noise; anything else is a failure to reject, with what could still be true.
"""

from evenodds.inference.prior import PriorTestResult
from evenodds.inference.profile import ConfidenceInterval
from evenodds.inference.results import AsymmetryTestResult
from evenodds.planning.hindsight import could_have_found


def verdict(result: AsymmetryTestResult, significance: float = 0.05) -> str:
    """Return the outcome of an asymmetry test in two or three sentences."""
    interval = result.confidence_interval(1 - significance)
    if result.pvalue < significance:
        sentences = [_rejection(result, significance), _size(result, interval)]
        if any(check.concern for check in result.diagnostics):
            sentences.append("See what to doubt before acting on it.")
    else:
        sentences = [
            f"Uniform noise is not rejected ({show_pvalue(result.pvalue)}).",
            "That does not show that both classes are flipped equally often: "
            f"asymmetries (beta - alpha) {show_interval(interval)} fit these labels too.",
            _could_have_found(result, significance),
        ]
    return " ".join(sentence for sentence in sentences if sentence)


def headline(result: AsymmetryTestResult, significance: float = 0.05, margin: float = 0.05) -> str:
    """Return the outcome in one line, for a reader who reads no further."""
    more, less = _flipped_more(result)
    doubted = any(check.concern for check in result.diagnostics)
    small = result.equivalence(margin).pvalue < significance
    size = f"{100 * margin:g} in 100"
    if result.pvalue < significance:
        by_how_much = f", though by less than {size}" if small else ""
        if doubted:
            return (
                f"It seems so, with reasons to doubt: {more!r} looks flipped more often than "
                f"{less!r}{by_how_much}."
            )
        return f"Yes: {more!r} is flipped more often than {less!r}{by_how_much}."
    if small and doubted:
        return f"It seems not by much, with reasons to doubt: any difference looks below {size}."
    if small:
        return f"Not by much: any difference is shown to be below {size}, though not to be none."
    return "Not shown: these labels fit equal flips, and unequal ones too."


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


def next_steps(result: AsymmetryTestResult, significance: float = 0.05) -> list[str]:
    """Return what a user can do now, most useful first."""
    if result.pvalue >= significance:
        return [
            "To find smaller asymmetries, collect more rows or more toss-up cases.",
            "To support uniform noise, test equivalence with a margin you can live with: "
            "result.equivalence(margin=0.05), or --gate equivalence --margin 0.05.",
        ]
    more, less = _flipped_more(result)
    doubted = any(check.concern for check in result.diagnostics)
    settle = "Settle the doubts first: a wrong curve or a wrong anchor can look like unequal flips."
    return [
        *([settle] if doubted else []),
        f"Relabel: have an expert look again at rows labelled {less!r} that look like {more!r}; "
        "evenodds test --flips flips.csv ranks them.",
        "Train robustly: NoiseAwareLogisticRegression(alpha, beta) learns the clean curve from "
        "these labels.",
        "Drop: leave out the rows most likely flipped, if enough remain.",
    ]


def show_pvalue(pvalue: float) -> str:
    """Write a p-value with the digits that matter."""
    if pvalue < 0.0001:
        return "p < 0.0001"
    digits = 4 if pvalue < 0.001 else 3 if pvalue < 0.1 else 2
    return f"p = {pvalue:.{digits}f}"


def show_interval(interval: ConfidenceInterval, digits: int = 2) -> str:
    """Write an interval, saying in words where it has no bound."""
    low, high = f"{interval.low:+.{digits}f}", f"{interval.high:+.{digits}f}"
    if interval.low_is_limit and interval.high_is_limit:
        return "of any size and sign"
    if interval.low_is_limit:
        return f"up to {high} (no lower bound)"
    if interval.high_is_limit:
        return f"from {low} (no upper bound)"
    return f"from {low} to {high}"


def _rejection(result: AsymmetryTestResult, significance: float) -> str:
    """Say which way the labels lean, and how strong the evidence is."""
    more, less = _flipped_more(result)
    strength = "strongly rejected" if result.pvalue < significance / 50 else "rejected"
    basis = "" if result.n_anchors else ", from the shape of the curve alone"
    return (
        f"Uniform noise is {strength} ({show_pvalue(result.pvalue)}{basis}): rows that are truly "
        f"{more!r} are flipped more often than rows that are truly {less!r}."
    )


def _size(result: AsymmetryTestResult, interval: ConfidenceInterval) -> str:
    """Say how large the difference is, in cases out of a hundred."""
    if result.method == "wald":
        return ""  # the plain curve's estimate overstates the asymmetry of noisy labels
    if any(check.name == "estimate" for check in result.diagnostics):
        return ""  # no asymmetry fits, so there is no size to speak of
    more, less = _flipped_more(result)
    if result.statistic < 0:
        few, many, bounded = -interval.high, -interval.low, not interval.low_is_limit
    else:
        few, many, bounded = interval.low, interval.high, not interval.high_is_limit
    if few < 0.005:
        return ""  # nothing to count: the interval reaches down to none
    count = f"about {100 * few:.0f} to {100 * many:.0f}" if bounded else f"at least {100 * few:.0f}"
    return f"Of every 100, {count} more true {more!r} are flipped than true {less!r}."


def _could_have_found(result: AsymmetryTestResult, significance: float) -> str:
    """Say what asymmetry this data would have found, four times out of five."""
    if result.method == "wald":
        return ""  # the plain curve overstates asymmetries, and what it could have found
    reach = could_have_found(result, power=0.8, significance=significance)
    if reach is None:
        return "These data could hardly have found an asymmetry of any size."
    return f"An asymmetry of about {reach:.2f} would have been found four times out of five."


def _flipped_more(result: AsymmetryTestResult) -> tuple[object, object]:
    """Return the class that loses more labels, and the other."""
    if result.statistic < 0:
        return result.positive, result.negative
    return result.negative, result.positive
