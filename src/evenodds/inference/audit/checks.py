"""What to know of an audit before acting on it."""

from evenodds.inference.audit.by_given import AuditByGiven
from evenodds.inference.audit.counts import Flips
from evenodds.inference.audit.exact_given import fewest_wrong
from evenodds.inference.results import Diagnostic


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


def given_size_check(audit: AuditByGiven, method: str) -> Diagnostic:
    """Say on what the p-value rests, and doubt what is not exact with few wrong labels."""
    fewest = fewest_wrong(audit)
    consequence = {
        "score": "enough for the score test",
        "exact": "p-value and interval of the asymmetry are exact for the counts given, and "
        "cautious; intervals of the flip rates are those of the likelihood ratio",
        "likelihood": "too few for the score test, and too many rows for an exact one: p-value "
        "and intervals are those of the likelihood ratio, which is approximate here; audit "
        "more rows of that label",
    }[method]
    return Diagnostic(
        name="audit size",
        message=f"In one given class {fewest:.1f} labels are wrong (or right), as seen or as equal "
        f"flips would have it: {consequence}.",
        concern=method == "likelihood",
        statistic=fewest,
    )
