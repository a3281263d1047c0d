"""Plans in words: the answer first, then how far to trust it."""

from dataclasses import replace
from typing import Final

from evenodds.planning.audit_size import AuditSize
from evenodds.planning.plan import Plan, RowsRange
from evenodds.report.audit import DRAWN
from evenodds.report.sheet import Caption, Key, Sheet, SheetPicture, SheetTable, View, row_each
from evenodds.report.wording import planned_flips
from evenodds.simulation.rejection import RejectionRate
from evenodds.validation import counted

# A formula this close to all of the simulation's interval is said to agree with it.
CLOSE = 0.08
# A range of rows whose ends differ more than this is no plan.
WIDE = 5.0
# A test that rejects uniform noise more often than this many times its level has none.
FALSE_ALARMS = 1.6
# The simulation of an audit may differ from its formula by this much and still be close.
NEAR = 0.05
CLASSES: Final = {"random": "expected to be truly", "true": "truly", "given": "labelled"}
QUESTIONS: Final = {
    "rows": "How many rows are needed?",
    "anchors": "How many toss-up cases are needed?",
    "asymmetry": "How small an asymmetry could be found?",
    "power": "How likely is the asymmetry to be found?",
}


def plan_sheet(plan: Plan, view: View) -> Sheet:
    """Return the sheet of a plan, which is read at its own level."""
    return Sheet(
        result=plan,
        view=replace(view, significance=plan.significance),
        question=QUESTIONS[plan.unknown],
        headline=_answer(plan),
        verdict=plan_verdict(plan),
        keys=(Key("Power", f"{plan.power:.2f}", f"{plan.method} test"),),
        tables=(_power_table(plan),),
        trust=plan_checks(plan),
        made_with=[
            ("data", plan.data),
            ("method", plan.method),
            ("alternative", plan.alternative),
            ("tolerance", f"{plan.tolerance:g}"),
            ("shared tolerance", f"{plan.shared_tolerance:g}"),
        ],
        holds="a plan, no rows",
        pictures={
            "plan": SheetPicture(
                "How does the power change with rows and toss-ups?",
                _plan_caption,
                "it has no number of rows to draw against" if plan.n_rows is None else "",
            )
        },
    )


def audit_size_sheet(plan: AuditSize, view: View) -> Sheet:
    """Return the sheet of the size of an audit, which is read at its own level."""
    return Sheet(
        result=plan,
        view=replace(view, significance=plan.significance),
        question="How many rows should be audited?",
        headline=f"Audit {plan.n_rows:,} rows.",
        verdict=_audit_size_verdict(plan),
        keys=(Key("Power", f"{plan.power:.2f}", "of the audit test"),),
        page_facts=(
            ("rows", f"{plan.n_rows:,}"),
            ("", f"{plan.n_positive:,} {CLASSES[plan.sampled_by]} positive"),
            ("", f"{plan.n_negative:,} {CLASSES[plan.sampled_by]} negative"),
            ("flip rates", f"alpha = {plan.alpha:.3f}, beta = {plan.beta:.3f}"),
            ("power", f"{plan.power:.3f}"),
        ),
        tables=(_split_table(plan),) if plan.split else (),
        trust=_audit_size_checks(plan),
        made_with=[("rows drawn", DRAWN[plan.sampled_by]), ("alternative", plan.alternative)],
        holds="a plan, no rows",
    )


def _power_table(plan: Plan) -> SheetTable:
    """Return the power around a plan."""
    rows = (
        ("" if n is None else f"{n:,}", *(f"{power:.2f}" for power in powers))
        for n, powers in zip(plan.row_numbers, plan.powers, strict=True)
    )
    header = ("rows", *map(str, plan.anchor_numbers))
    return SheetTable("Power, by rows and toss-ups", header, tuple(rows))


def _plan_caption(plan: Plan, view: View) -> Caption:
    reading = (
        "Each line is the chance of rejecting uniform noise with so many toss-ups, by rows; the "
        "black dot is the plan."
    )
    return Caption(reading, _answer(plan))


def _answer(plan: Plan) -> str:
    """Return what was worked out."""
    return {
        "rows": f"You need about {plan.n_rows or 0:,} rows{_range(plan)}.",
        "anchors": f"You need {_toss_ups(plan)}.",
        "asymmetry": f"An asymmetry of {abs(plan.noise.asymmetry):.3f} could be found.",
        "power": f"The power is {plan.power:.2f}.",
    }[plan.unknown]


def _toss_ups(plan: Plan) -> str:
    return counted(plan.n_anchors, "toss-up")


def plan_verdict(plan: Plan) -> str:
    """Return the answer in one or two sentences."""
    rows = "" if plan.n_rows is None else f"{plan.n_rows:,} rows and "
    with_what = f"{rows}{_toss_ups(plan)}{_known_to(plan)}"
    if not plan.n_anchors:
        with_what = f"{plan.n_rows:,} rows"
    return (
        f"{_answer(plan)} With {with_what}, {planned_flips(plan.noise.alpha, plan.noise.beta)} "
        f"would be found with probability {plan.power:.2f} by the {plan.method} test at level "
        f"{plan.significance:g}."
    )


def plan_checks(plan: Plan) -> list[str]:
    """Return what formula and simulation say about power and level."""
    sentences = []
    if plan.rows_range is not None:
        sentences.append(_range_explained(plan.rows_range))
    if plan.few_rows and not plan.corrected:
        sentences.append(
            "There are few rows for so many columns and so much noise, where the formula is too "
            "optimistic: --runs corrects it by simulation."
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
        f"The pilot estimates the curve with error: the interval comes from {rows.pilots} "
        "simulated pilots of the same size"
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
    together = f"±{plan.shared_tolerance:g}" if plan.shared_tolerance else "exactly"
    return f" known to ±{plan.tolerance:g} each and {together} together"


def _show(rate: RejectionRate) -> str:
    return f"{rate.rate:.2f} ({rate.low:.2f} to {rate.high:.2f}, {rate.runs} runs)"


def _instead(plan: Plan) -> str:
    return "use method boundary" if plan.method != "boundary" else "plan for more rows"


def _split_table(plan: AuditSize) -> SheetTable:
    """Return the rows to audit of every stratum, by label."""
    return row_each(
        "Split over strata of the score",
        plan.split,
        {
            "score": lambda one: f"{one.low:.2f} to {one.high:.2f}",
            "labelled": lambda one: "positive" if one.labelled_positive else "negative",
            "audit": lambda one: f"{one.n_rows:,}",
            "wrong, if so": lambda one: f"{one.wrong:.3f}",
        },
    )


def _audit_size_verdict(plan: AuditSize) -> str:
    """Return the answer in two or three sentences."""
    drawn = CLASSES[plan.sampled_by]
    said = (
        f"Audit {plan.n_rows:,} rows: {plan.n_positive:,} {drawn} positive and "
        f"{plan.n_negative:,} {drawn} negative. F{planned_flips(plan.alpha, plan.beta)[1:]} are "
        f"then found with probability {plan.power:.2f} at level {plan.significance:g}."
    )
    if plan.saves is None:
        return said
    return (
        f"{said} Without the score, at random, it would take {plan.saves:.1f} times as many rows."
    )


def _audit_size_checks(plan: AuditSize) -> list[str]:
    """Return what speaks to the plan."""
    sentences = []
    if plan.simulated_power is not None and plan.simulated_interval is not None:
        low, high = plan.simulated_interval
        far = max(low - plan.power, plan.power - high, 0.0)
        agreement = (
            "as the formula says"
            if far == 0
            else "close to the formula"
            if far <= NEAR
            else "unlike the formula: go by this"
        )
        sentences.append(
            f"Simulated power: {plan.simulated_power:.2f} (95% interval {low:.2f} to {high:.2f}), "
            f"{agreement}."
        )
    sentences.append(
        "It holds for rows drawn as described; suspicious rows first would say nothing of the rest."
    )
    return sentences
