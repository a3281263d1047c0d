"""A plan in words: the answer first, then how far to trust it."""

from evenodds.planning.plan import Plan
from evenodds.report.text import listed, wrapped
from evenodds.simulation.rejection import RejectionRate

# A simulated power further from the formula than this, chance allowed for, is worth a remark.
CLOSE = 0.04


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
        "rows": f"You need about {plan.n_rows or 0:,} rows.",
        "anchors": f"You need {anchors}.",
        "asymmetry": f"An asymmetry of {abs(plan.noise.asymmetry):.3f} could be found.",
        "power": f"The power is {plan.power:.2f}.",
    }[plan.unknown]
    return f"{answer} With {with_what}, {noise} {found} by {test}."


def plan_checks(plan: Plan) -> list[str]:
    """Return what the simulation says about the formula and about the level."""
    sentences = []
    if plan.simulated is not None:
        apart = _apart(plan.power, plan.simulated)
        agrees = (
            f"which differs from the formula's {plan.power:.2f}: trust the simulation"
            if apart > CLOSE
            else "which agrees with the formula"
        )
        sentences.append(f"Simulated power: {_show(plan.simulated)}, {agrees}.")
    if plan.level is not None:
        rate = (plan.noise.alpha + plan.noise.beta) / 2
        holds = (
            f"it does not hold its level on data like these: {_instead(plan)}"
            if plan.level.low > 1.6 * plan.significance
            else f"nominal {plan.significance:g}"
        )
        sentences.append(
            f"Where both classes are flipped at {rate:.1%} the test rejects "
            f"{_show(plan.level)}; {holds}."
        )
    failures = sum(rate.failures for rate in (plan.simulated, plan.level) if rate is not None)
    if failures:
        sentences.append(
            f"In {failures} simulated data sets no curve could be fitted: plan for more rows."
        )
    if plan.simulated is None and plan.data != "summary numbers":
        sentences.append("Not checked by simulation: --runs 400 does that.")
    return sentences


def _known_to(plan: Plan) -> str:
    """Say how well the anchors are known."""
    if plan.tolerance == 0 and plan.shared_tolerance == 0:
        return " (strict)"
    shared = f" each and +-{plan.shared_tolerance:g} together" if plan.shared_tolerance else ""
    return f" known to +-{plan.tolerance:g}{shared}"


def _show(rate: RejectionRate) -> str:
    return f"{rate.rate:.2f} ({rate.low:.2f} to {rate.high:.2f}, {rate.runs} runs)"


def _apart(formula: float, simulated: RejectionRate) -> float:
    """Return how far the formula is outside the simulation's interval."""
    return max(simulated.low - formula, formula - simulated.high, 0.0)


def _instead(plan: Plan) -> str:
    return "use method boundary" if plan.method != "boundary" else "plan for more rows"
