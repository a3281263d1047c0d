"""The words, in one place: what a test has shown, what it has not, what to do next.

A verdict never claims more than the test shows. A rejection speaks against uniform
noise; anything else is a failure to reject, with what could still be true.
"""

from evenodds.inference.prior import PriorTestResult
from evenodds.inference.results import AsymmetryTestResult


def verdict(result: AsymmetryTestResult, significance: float = 0.05) -> str:
    """Return the outcome of an asymmetry test in one or two sentences."""
    rejected = result.pvalue < significance
    shaky = [check for check in result.diagnostics if check.concern]
    if rejected:
        more, less = _flipped_more(result)
        sentence = (
            f"Uniform noise is rejected ({show_pvalue(result.pvalue)}): rows that are truly "
            f"{more!r} seem to be flipped more often than rows that are truly {less!r}."
        )
        return f"{sentence} But see what to doubt below." if shaky else sentence
    interval = result.confidence_interval(1 - significance)
    return (
        f"Uniform noise is not rejected ({show_pvalue(result.pvalue)}). That does not show that "
        "both classes are flipped equally often: "
        f"{_compatible(interval.low, interval.high)} fit these labels too."
    )


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
    if result.pvalue < significance:
        more, _ = _flipped_more(result)
        return [
            f"Relabel: have an expert look again at rows labelled the opposite of {more!r}.",
            "Train robustly: use a loss that corrects for unequal flip rates.",
            "Drop: leave the doubtful rows out, if enough remain.",
        ]
    return [
        "To find smaller asymmetries, collect more rows or more toss-up cases.",
        "To support uniform noise, test equivalence with a margin you can live with.",
    ]


def show_pvalue(pvalue: float) -> str:
    """Write a p-value with the digits that matter."""
    if pvalue < 0.0001:
        return "p < 0.0001"
    digits = 4 if pvalue < 0.001 else 3 if pvalue < 0.1 else 2
    return f"p = {pvalue:.{digits}f}"


def _flipped_more(result: AsymmetryTestResult) -> tuple[object, object]:
    """Return the class that loses more labels, and the other."""
    if result.statistic < 0:
        return result.positive, result.negative
    return result.negative, result.positive


def _compatible(low: float, high: float) -> str:
    """Write the range of asymmetries in a test's interval."""
    return f"asymmetries (beta - alpha) from {low:+.2f} to {high:+.2f}"
