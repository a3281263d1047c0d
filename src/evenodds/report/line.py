"""What there is to say about a line test: cases along a score."""

import math
from dataclasses import asdict, replace
from typing import Final

from evenodds.inference.contour.contour_test import list_noise
from evenodds.inference.line.result import LineTestResult
from evenodds.planning.line_plan import LinePlan
from evenodds.report import wording
from evenodds.report.plan import QUESTIONS
from evenodds.report.sheet import (
    Caption,
    Key,
    Sheet,
    SheetPicture,
    SheetTable,
    View,
    row_each,
)
from evenodds.validation import signed

TEST: Final = "line test"
SAID: Final = {"probability": "stated", "looked-up": "looked up"}
RUNGS: Final = {
    "clean": "no flips at all (the diagonal)",
    "uniform": "uniform noise (a line through the centre)",
    "class-conditional": "two flip rates (any line)",
}
PLANNED: Final = {**QUESTIONS, "cases": "How many cases should be judged?"}


def line_sheet(result: LineTestResult, view: View) -> Sheet:
    """Return the sheet of a line test."""
    return Sheet(
        result=result,
        view=view,
        question=wording.QUESTION,
        headline=wording.headline(result, view.significance, view.margin),
        verdict=_verdict(result, view),
        keys=wording.profile_keys(result, view, test=TEST, flipped="Flipped, by the line"),
        facts=_facts(result, view),
        page_facts=() if result.withheld else (wording.equivalence_fact(result, view),),
        answers={
            **wording.interval_answers(result, view, "confidence_interval"),
            "equivalence": asdict(result.equivalence(view.margin)),
            "line_pvalue": result.line_pvalue,
            "reached": result.reached(view.significance),
        },
        tables=(_strata(result), *([] if math.isnan(result.pvalue) else [_ladder(result)])),
        next_steps=_next_steps(result, view.significance),
        takes=_assumptions(result),
        made_with=[
            ("test", TEST),
            ("answers", result.answers),
            ("alternative", result.alternative),
            ("shared tolerance", f"{result.shared_tolerance:g}"),
        ],
        formulas="line_formulas.html",
        python=_python(result),
        words=wording.explained(
            *wording.NOISES, *wording.RATES, "Score", "Stratum", "The line", *wording.NUMBERS
        ),
        holds="counts of rows and means of answers in each stratum, no rows",
        pictures={}
        if result.withheld
        else {
            "line": SheetPicture("Do labels and answers lie on a line, and where?", line_caption),
            **wording.profile_pictures("test", ""),
        },
    )


def _verdict(result: LineTestResult, view: View) -> str:
    said = wording.verdict(result, view.significance)
    if math.isnan(result.pvalue):
        return said
    return f"{said} This assumes that a flip depends on the true class alone."


def _facts(result: LineTestResult, view: View) -> list[tuple[str, str]]:
    lines = [("test", TEST), *wording.profile_facts(result, view)]
    if not result.withheld:
        lines += [
            ("flip rates", f"of the true {result.positive!r}: alpha = {result.alpha:.3f}"),
            ("", f"of the true {result.negative!r}: beta = {result.beta:.3f}"),
        ]
    if not math.isnan(result.pvalue):
        lines.append(("kind of noise", _kind(result, view.significance)))
    said, n = SAID[result.answers], result.n_experts
    experts = f" by {n} experts" if n > 1 else ""
    lines += [
        (
            "cases",
            f"{result.n_cases:,} {said}{experts}, in {result.n_strata} strata",
        ),
        ("rows", f"{result.n_rows:,}"),
        wording.label_fact(result),
    ]
    if result.shared_tolerance:
        lines.append(("shared tolerance", f"±{result.shared_tolerance:g} in every answer"))
    if result.design_effect > 1:
        lines.append(("groups", f"variance {result.design_effect:.2f} times that of single rows"))
    return lines


def _kind(result: LineTestResult, significance: float) -> str:
    """Say how far up the ladder the data lead, and what would have gone unseen."""
    kept, unseen = result.not_rejected(significance), result.not_ruled_out(significance)
    if kept == "instance-dependent":
        return "no line fits: flips depend on the case, or answers are wrong in some strata"
    fits = f"{RUNGS[kept].partition(' (')[0]} would explain these labels"
    if not unseen:
        return fits
    return f"{fits}; these cases do not rule out {list_noise(unseen, 'or', sizes=False)}"


def _strata(result: LineTestResult) -> SheetTable:
    return row_each(
        "Strata of the score",
        result.strata,
        {
            "score": lambda one: f"{one.low:.2f} to {one.high:.2f}",
            "rows": lambda one: f"{one.n_rows:,.0f}",
            f"labelled {result.positive!r}": lambda one: f"{one.given:.3f}",
            "cases": lambda one: f"{one.n_cases}",
            SAID[result.answers]: lambda one: f"{one.stated:.3f} ± {one.stated_error:.3f}",
            **({} if result.withheld else {"line": lambda one: f"{one.fitted:.3f}"}),
        },
    )


def _ladder(result: LineTestResult) -> SheetTable:
    return row_each(
        "Noise models, each against shares that lie anywhere",
        result.rungs,
        {
            "noise": lambda rung: RUNGS[rung.noise],
            "statistic": lambda rung: f"{rung.statistic:.2f}",
            "df": lambda rung: f"{rung.df}",
            "p-value": lambda rung: (
                wording.show_pvalue(rung.pvalue).removeprefix("p ").removeprefix("= ")
            ),
        },
    )


def _next_steps(result: LineTestResult, significance: float) -> list[str]:
    look = (
        "Where the truth of these cases can be looked up, audit_test(true, given, strata=cases, "
        "scores=scores) needs no assumption on what flips depend on."
    )
    if math.isnan(result.pvalue) and "answers" in str(result.withheld):
        return [wording.JUDGE_AGAIN, look]
    if math.isnan(result.pvalue):
        return ["Make a score that tells the labels apart, draw cases anew and judge those.", look]
    if wording.is_withheld(result, significance) or result.pvalue >= significance:
        return [
            f"{wording.SMALLER} judge more cases, or make a score that tells the classes apart "
            "better.",
            *(
                []
                if result.smallest_margin is None
                else wording.equivalence_step(result.smallest_margin)
            ),
            look,
        ]
    more, less = wording.flipped_more(result)
    rates = "" if result.withheld else f"alpha={result.alpha:.3f}, beta={result.beta:.3f}"
    return [
        f"Relabel: rows labelled {less} hide the missing {more}; look at those first.",
        *([wording.train_robustly(rates) + "."] if rates else []),
        look,
    ]


def refused_margin(result: LineTestResult, margin: float, significance: float) -> str | None:
    """Return why a gate of this margin could never pass; None where it could."""
    smallest = result.smallest_margin
    if smallest is None or margin >= smallest or result.equivalence(margin).pvalue < significance:
        return None
    return (
        f"--margin is {margin:g} but an expert who may lean by ±{result.shared_tolerance:g} cannot "
        "show that, however many cases are judged: give a margin above "
        f"{wording.rounded_up(smallest):g}, or claim less lean (--shared-tolerance)."
    )


def _assumptions(result: LineTestResult) -> list[str | tuple[str, str]]:
    honest = (
        "The looked-up label is right."
        if result.answers == "looked-up"
        else "In each stratum the expert's answers are right on average"
        + (f", up to ±{result.shared_tolerance:g}." if result.shared_tolerance else ".")
    )
    return [
        (wording.NOT_ON_FEATURES, "line"),
        (honest, "experts"),
        "Whoever judged the cases saw neither their labels nor their scores.",
        "No row's score has seen the row's own label.",
        wording.INDEPENDENT,
    ]


def _python(result: LineTestResult) -> str:
    """Return the call that repeats the test."""
    comments = [
        f"# scores: out-of-fold probabilities of the {result.n_rows:,} rows; y: their labels",
        f"# cases: as choose_cases drew them; stated: the {result.n_cases} answers in their order",
    ]
    arguments = [
        "scores, y, cases, stated",
        f"answers={result.answers!r}",
        f"alternative={result.alternative!r}",
        f"positive={result.positive!r}",
        f"shared_tolerance={result.shared_tolerance!r}",
    ]
    return wording.repeat_call(comments, "line_test", arguments)


def line_caption(result: LineTestResult, view: View) -> Caption:
    """Return how the figure is read, and what it says."""
    reading = (
        "A point is a stratum of the score: across, the share truly positive as judged; up, the "
        f"share labelled {result.positive!r}; bars are {view.level:.0%} intervals. Clean labels "
        "lie on the diagonal, uniform noise on a line through the centre; the line's height above "
        "the centre is half the asymmetry, its ends are the flip rates."
    )
    half = 50 * (result.asymmetry or 0.0)
    above = "above" if half >= 0 else "below"
    finding = (
        f"The line passes {abs(half):.1f} points in 100 {above} the centre, so beta − alpha is "
        f"{signed(result.asymmetry)}."
    )
    return Caption(reading, finding)


def line_plan_sheet(plan: LinePlan, view: View) -> Sheet:
    """Return the sheet of a planned line test, which is read at its own level."""
    answer = {
        "cases": f"Have {plan.n_cases:,} cases judged.",
        "asymmetry": f"An asymmetry of {abs(plan.noise.asymmetry):.3f} could be found.",
        "power": f"The power is {plan.power:.2f}.",
    }[plan.unknown]
    numbers = zip(plan.case_numbers, plan.powers, strict=True)
    return Sheet(
        result=plan,
        view=replace(view, significance=plan.significance),
        question=PLANNED[plan.unknown],
        headline=answer,
        verdict=(
            f"{answer} {plan.n_cases:,} cases in {plan.n_strata} strata of these scores would find "
            f"{wording.planned_flips(plan.noise.alpha, plan.noise.beta)} with probability "
            f"{plan.power:.2f}, at level {plan.significance:g}."
        ),
        keys=(Key("Power", f"{plan.power:.2f}", TEST),),
        tables=(
            SheetTable(
                "Power, by cases",
                ("cases", "power"),
                tuple((f"{n_cases:,}", f"{power:.2f}") for n_cases, power in numbers),
            ),
        ),
        trust=[
            f"The variance of answers is taken as {plan.dispersion:g} times that of yes and no; an "
            "expert who is less sure finds less."
            if plan.answers == "probability"
            else "Answers are taken to be the truth, looked up."
        ],
        made_with=[
            ("rows", f"{plan.n_rows:,}"),
            ("answers", plan.answers),
            ("alternative", plan.alternative),
            ("shared tolerance", f"{plan.shared_tolerance:g}"),
            ("dispersion", f"{plan.dispersion:g}"),
        ],
        holds="a plan, no rows",
    )
