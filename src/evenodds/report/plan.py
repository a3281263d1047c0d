"""A plan in words: the answer first, then how far to trust it."""

from evenodds.planning.plan import Plan, RowsRange
from evenodds.report.text import listed, wrapped
from evenodds.simulation.rejection import RejectionRate

# A formula this close to all of the simulation's interval is said to agree with it.
CLOSE = 0.08
# A range of rows whose ends differ more than this is no plan.
WIDE = 5.0
# A test that rejects uniform noise more often than this many times its level has none.
FALSE_ALARMS = 1.6


def describe_plan(plan: Plan) -> str:
    """Return a plan as plain text: the answer, power around it, what a simulation says."""
    return "\n".join(
        [
            wrapped(plan_verdict(plan)),
            "",
            "  Power, by rows and toss-ups:",
            *power_lines(plan),
            *listed("How far to trust it", plan_checks(plan)),
        ]
    )


def power_lines(plan: Plan) -> list[str]:
    """Return the power around a plan as a table."""
    rows = ["" if n is None else f"{n:,}" for n in plan.row_numbers]
    width = max(len(n) for n in (*rows, "rows"))
    lines = [f"  {'rows':>{width}}" + "".join(f"{k:>8}" for k in plan.anchor_numbers)]
    for n, powers in zip(rows, plan.powers, strict=True):
        lines.append(f"  {n:>{width}}" + "".join(f"{power:>8.2f}" for power in powers))
    return lines


def plan_verdict(plan: Plan) -> str:
    """Return the answer in one or two sentences."""
    anchors = f"{plan.n_anchors} toss-up{'' if plan.n_anchors == 1 else 's'}"
    rows = "" if plan.n_rows is None else f"{plan.n_rows:,} rows and "
    with_what = f"{rows}{anchors}{_known_to(plan)}" if plan.n_anchors else f"{plan.n_rows:,} rows"
    noise = (
        f"flips of {plan.noise.alpha:.1%} of positives and {plan.noise.beta:.1%} of negatives "
        f"(beta - alpha {plan.noise.asymmetry:+.3f})"
    )
    test = f"the {plan.method} test at level {plan.significance:g}"
    found = f"would be found with probability {plan.power:.2f}"
    answer = {
        "rows": f"You need about {plan.n_rows or 0:,} rows{_range(plan)}.",
        "anchors": f"You need {anchors}.",
        "asymmetry": f"An asymmetry of {abs(plan.noise.asymmetry):.3f} could be found.",
        "power": f"The power is {plan.power:.2f}.",
    }[plan.unknown]
    return f"{answer} With {with_what}, {noise} {found} by {test}."


def plan_checks(plan: Plan) -> list[str]:
    """Return what formula and simulation say about power and level."""
    sentences = []
    if plan.rows_range is not None:
        sentences.append(_range_explained(plan.rows_range))
    if plan.few_rows and not plan.corrected:
        sentences.append(
            "Rows are few beside columns and noise, where the formula promises too much: --runs "
            "corrects it by simulation."
        )
    if plan.simulated is not None:
        sentences.append(f"Simulated power: {_show(plan.simulated)}, {_agreement(plan)}.")
    rate = (plan.noise.alpha + plan.noise.beta) / 2
    if plan.level is not None:
        holds = plan.level.low <= plan.significance
        verdict = f"nominal {plan.significance:g}" if holds else f"too often: {_instead(plan)}"
        sentences.append(
            f"Where both classes are flipped at {rate:.1%} the test rejects "
            f"{_show(plan.level)}; {verdict}."
        )
    elif plan.false_alarms > FALSE_ALARMS * plan.significance:
        sentences.append(
            f"Where both classes are flipped at {rate:.1%} the test rejects with probability "
            f"{plan.false_alarms:.2f}, so this is no power: {_instead(plan)}."
        )
    failures = sum(rate.failures for rate in (plan.simulated, plan.level) if rate is not None)
    if failures:
        sentences.append(
            f"In {failures} simulated data sets no curve could be fitted: plan for more rows."
        )
    if plan.interrupted:
        sentences.append("The simulation was interrupted.")
    if plan.simulated is None and plan.data != "summary numbers":
        sentences.append("Not checked by simulation: --runs does that, up to 100,000 rows.")
    return sentences


def _agreement(plan: Plan) -> str:
    """Say how the simulated power compares with the formula, and how surely."""
    seen = plan.simulated
    if seen is None:
        return ""
    formula = "the corrected formula's" if plan.corrected else "the formula's"
    if not seen.low <= plan.power <= seen.high:
        return f"which differs from {formula} {plan.power:.2f}: trust the simulation"
    if max(plan.power - seen.low, seen.high - plan.power) > CLOSE:
        return f"which {formula} {plan.power:.2f} fits; more --runs would tell more closely"
    return f"which agrees with {formula} {plan.power:.2f}"


def _range(plan: Plan) -> str:
    """Return the range of rows that a pilot leaves open, in brackets."""
    if plan.rows_range is None:
        return ""
    low, high, level = plan.rows_range.low, plan.rows_range.high, plan.rows_range.level
    end = "no number that is enough" if high is None else f"{high:,}"
    return f" ({level:.0%} interval from the pilot: {low:,} to {end})"


def _range_explained(rows: RowsRange) -> str:
    """Say where the range of rows comes from, and what to make of it."""
    found = (
        f"The pilot knows the curve only so well: the interval is from {rows.pilots} pilots of its "
        "size, simulated from its own fit"
    )
    if rows.high is None:
        return f"{found}; some of them find no number of rows enough. Collect a larger pilot."
    if rows.high > WIDE * rows.low:
        return f"{found}. Its ends differ {rows.high / rows.low:.0f}-fold: collect a larger pilot."
    return f"{found}."


def _known_to(plan: Plan) -> str:
    """Say how well the anchors are known."""
    if plan.tolerance == 0 and plan.shared_tolerance == 0:
        return " (strict)"
    together = f"+-{plan.shared_tolerance:g}" if plan.shared_tolerance else "exactly"
    return f" known to +-{plan.tolerance:g} each and {together} together"


def _show(rate: RejectionRate) -> str:
    return f"{rate.rate:.2f} ({rate.low:.2f} to {rate.high:.2f}, {rate.runs} runs)"


def _instead(plan: Plan) -> str:
    return "use method boundary" if plan.method != "boundary" else "plan for more rows"
