"""What to know of an audit before acting on it."""

from evenodds.inference.audit.by_given import AuditByGiven
from evenodds.inference.audit.counts import Flips
from evenodds.inference.profile import Alternative
from evenodds.inference.results import Diagnostic

# Below this many wrong labels expected, a score test is lopsided.
FEW_WRONG = 5.0


def better_than_chance(alpha: float, beta: float) -> Diagnostic:
    """Check that a given label says something about the true one."""
    total = alpha + beta
    if total < 1:
        return Diagnostic(
            name="better than chance",
            message=f"Labels follow the truth: alpha + beta is {total:.2f}, below 1.",
            concern=False,
            statistic=total,
        )
    return Diagnostic(
        name="better than chance",
        message=f"alpha + beta is {total:.2f}: these labels follow the truth no better than a "
        "coin. Are the columns of true and given labels the right ones, and their labels not "
        "swapped?",
        concern=True,
        statistic=total,
    )


def size_check(flips: Flips, exact: bool) -> Diagnostic:
    """Say on what the p-value rests."""
    fewest = flips.fewest_expected
    rests = (
        "so p-value and intervals are exact, and somewhat cautious"
        if exact
        else "enough for the score test"
    )
    return Diagnostic(
        name="audit size",
        message=f"With equal flips {fewest:.1f} rows are expected in the smallest cell of true "
        f"by flipped, {rests}.",
        concern=False,
        statistic=fewest,
    )


def given_size_check(audit: AuditByGiven, alternative: Alternative) -> Diagnostic:
    """Check that enough wrong labels are expected among either given class."""
    null = audit.constrained(0.0)
    fewest = min(
        null.wrong_positive * audit.flips.given_positive,
        null.wrong_negative * audit.flips.given_negative,
    )
    enough = fewest >= FEW_WRONG
    consequence = (
        "enough for the score test"
        if enough
        else "so that a two-sided p-value is about right but a one-sided one may be half or twice "
        "its true size; audit more rows of that label"
    )
    return Diagnostic(
        name="audit size",
        message=f"With equal flips {fewest:.1f} wrong labels are expected among the audited rows "
        f"of one given class, {consequence}.",
        concern=not enough and alternative != "two-sided",
        statistic=fewest,
    )
