"""What to know of an audit before acting on it."""

from evenodds.inference.audit.by_given import AuditByGiven
from evenodds.inference.audit.counts import Flips
from evenodds.inference.audit.exact_given import fewest_wrong
from evenodds.inference.audit.grouped_rows import GroupedRows
from evenodds.inference.audit.groups import Groupings, degrees_of_freedom
from evenodds.inference.results import Diagnostic

# With fewer degrees of freedom than this the t distribution costs much power.
FEW_DEGREES = 10.0
# With flips in fewer groups than this, how they go together in that class is hardly seen.
FEW_FLIPPED = 5


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


def size_check(flips: Flips, exact: bool, design_effect: float = 1.0) -> Diagnostic:
    """Say on what the p-value rests."""
    fewest = flips.fewest_expected / design_effect
    rests = "enough for the score test"
    rows = "rows"
    if exact:
        rests = "so p-value and intervals are exact, and somewhat cautious"
    elif design_effect > 1:
        rests, rows = "for the score test by groups", "rows' worth of independent answers"
    return Diagnostic(
        name="audit size",
        message=f"With equal flips {fewest:.1f} {rows} are expected in the smallest cell of true "
        f"by flipped, {rests}.",
        concern=False,
        statistic=fewest,
    )


def groups_check(
    grouped: GroupedRows | None, groupings: Groupings, design_effect: float
) -> tuple[Diagnostic, ...]:
    """Say what groups do to the variance, and doubt an answer that rests on few of them."""
    if grouped is None:
        return ()
    if not groupings:
        message = "No group has two rows: they are tested as independent rows."
        return (Diagnostic(name="groups", message=message, concern=False),)
    sizes = " and ".join(f"{one.n_groups:,} of up to {one.largest:,} rows" for one in groupings)
    degrees = degrees_of_freedom(groupings)
    message = (
        f"Groups: {sizes}. The variance is {design_effect:.2f} times that of independent rows, "
        f"and z is the normal deviate of a t statistic with {degrees:,.1f} degrees of freedom."
    )
    few = degrees < FEW_DEGREES
    flipped = min(min(one.flipped) for one in groupings)
    if few:
        message += (
            " So few groups carry the variance that only large asymmetries can be found: audit "
            "more groups, not more rows of these."
        )
    if flipped < FEW_FLIPPED:
        message += (
            f" In one true class {flipped} group{'s hold' if flipped != 1 else ' holds'} a flip: "
            "how flips go together there is hardly seen, and the test is cautious."
        )
    doubt = few or flipped < FEW_FLIPPED
    return (Diagnostic(name="groups", message=message, concern=doubt, statistic=degrees),)


def given_size_check(audit: AuditByGiven, method: str) -> Diagnostic:
    """Say on what the p-value rests, and doubt what is not exact with few wrong labels."""
    fewest = fewest_wrong(audit)
    consequence = {
        "score": "enough for the score test",
        "exact": "p-value and interval of the asymmetry are exact for the counts given, and "
        "cautious; intervals of the flip rates are those of the likelihood ratio",
        "likelihood": "too few for the score test, and "
        + ("groups allow no exact one" if audit.groupings else "too many rows for an exact one")
        + ": p-value and intervals are those of the likelihood ratio, which is approximate here; "
        "audit more rows of that label",
    }[method]
    return Diagnostic(
        name="audit size",
        message=f"In one given class {fewest:.1f} labels are wrong (or right), as seen or as equal "
        f"flips would have it: {consequence}.",
        concern=method == "likelihood",
        statistic=fewest,
    )
