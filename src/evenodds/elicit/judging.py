"""A session along a score: every drawn case is judged, in the order of the draw, and none skipped.

The draw is made before anybody is asked (`choose_cases`), and every expert gets its cases in its
order, so that whoever stops early has judged a smaller draw. Some cases come back; what is said
of them again is compared and never counted.
"""

import shlex
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from evenodds.elicit.answers import Answer, Chances, Verdict
from evenodds.elicit.plan import Question, ScorePlan, SessionPlan, fingerprint
from evenodds.elicit.session import (
    NOT_OURS,
    Closing,
    Session,
    Wishes,
    opened,
)
from evenodds.elicit.show import choose_shown
from evenodds.errors import InputError
from evenodds.inference.cases.choose import FEWEST_CASES, choose_cases
from evenodds.inference.cases.judged import About, JudgedCases, Repeat
from evenodds.inference.cases.record import Answers as AnswerKind
from evenodds.inference.cases.record import Cases
from evenodds.inference.looks import look_line, read_looks
from evenodds.planning.line_plan import line_plan
from evenodds.rows.labels import read_classes, read_labels
from evenodds.validation import FloatArray, check_whole, counted

if TYPE_CHECKING:
    import pyarrow as pa


CASES, REPEATS = 60, 6
# Of three classes and more; and how many of them an answer names.
CASES_PER_CLASS, MOST_NAMED = 40, 3
POWER = 0.8
HOW: dict[AnswerKind, str] = {
    "probability": "stated probabilities",
    "looked-up": "looked-up truth",
}
# After so many answers an expert who only ever says 0, 50 or 100 is asked for more.
ROUNDING_SEEN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """Scores of all rows, and what cases are drawn by beside them."""

    scores: FloatArray
    name: str  # what the user calls them: a column or a file
    weight: str | None = None
    group: str | None = None
    weights: FloatArray | None = None
    groups: NDArray[Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingSession(Session):
    """A session where experts judge cases that were drawn along a score."""

    question_page: ClassVar[str] = "judge.html"
    start_page: ClassVar[str] = "start_judging.html"

    rounding: ClassVar[str] = (
        "So far every answer has been 0, 50 or 100. If you are not sure, say how sure: 20 or 85 "
        "are answers too."
    )

    scored: Scored | None = None  # where the scores were named again
    _found: dict[AnswerKind, float | None] = field(default_factory=dict)

    @property
    def along(self) -> ScorePlan:
        """How cases were drawn, and what is asked."""
        along = self.plan.along
        if along is None:
            raise InputError("this session seeks toss-ups.")
        return along

    def start(self) -> dict[str, Any]:
        """Return what the first page says and asks."""
        self.store.reread()
        settled = self.along.preset or bool(self.store.answers())
        return {
            "kind": self.along.kind,
            "asks_kind": not settled or self.along.kind is None,
            "lines": self.opening(),
        }

    def opening(self) -> list[str]:
        """Return what lies ahead, in sentences for the expert."""
        kind = self.along.kind
        about = "about " if kind is None else ""
        lines = [f"There are {about}{counted(self.plan.queue().n_questions, 'question')}."]
        size = None if kind is None else self._detectable(kind)
        if size is not None:
            lines.append(
                f"With all of them, a test of these {self.table.num_rows:,} rows would probably "
                "notice if the shares of wrong labels in the two classes differed by "
                f"{100 * size:.0f} in 100."
            )
        return lines

    def prospects(self) -> list[str]:
        """Return what could be found with these cases, for whoever prepares the session."""
        if self.scored is None:
            return []
        kinds = get_args(AnswerKind) if self.along.kind is None else (self.along.kind,)
        return [prospect_line(len(self.plan.cases), {one: self._detectable(one) for one in kinds})]

    def _detectable(self, kind: AnswerKind) -> float | None:
        """Return the asymmetry that would be found; None where none would, or none is known."""
        if self.scored is None:
            return None
        if kind not in self._found:
            labels = self.table[self.plan.label].to_numpy()
            n_cases = len(self.plan.cases)
            self._found[kind] = detectable(self.scored.scores, labels, n_cases, kind)
        return self._found[kind]

    def settle(self, kind: str | None) -> None:
        """Keep what kind of answers will be given, until somebody has given one."""
        self.store.reread()
        if kind is None:
            if self.along.kind is None:
                raise InputError("Please choose how you will answer.")
            return
        if kind not in get_args(AnswerKind):
            raise InputError(NOT_OURS)
        if kind != self.along.kind:
            chosen = replace(self.along, kind=kind)  # type: ignore[arg-type]
            settled = not self.along.preset and self.store.settle(replace(self.plan, along=chosen))
            if not settled:
                raise InputError("How to answer is already chosen: enter your name again to begin.")

    def question(self, expert: str, answered: list[Answer]) -> Question | None:
        """Return what to ask an expert now, once it is known how they answer."""
        if self.along.kind is None:
            self.settle(None)
        return super(JudgingSession, self).question(expert, answered)

    def refusal(self, verdict: str, chance: float | None) -> str | None:
        """Return why this is no answer to any question here; None if it is one."""
        if self.along.kind == "looked-up":
            known = verdict in (Verdict.negative, Verdict.positive) and chance is None
            return None if known else NOT_OURS
        if verdict != Verdict.stated:
            return NOT_OURS
        return "Please give a number from 0 to 100." if chance is None else None

    def running_line(self, expert: str) -> tuple[str, bool]:
        """Return the line under an expert's question; nothing more is worked out."""
        answers = self.store.answers(expert)
        if self.along.looks:
            return look_line(self.along.looks, len(answers)), False
        asked = self.along.kind == "probability" and len(answers) >= ROUNDING_SEEN
        return (self.rounding if asked and self.always_sure(answers) else ""), False

    def always_sure(self, answers: list[Answer]) -> bool:
        """Tell whether an expert only ever rounds."""
        return {answer.chance for answer in answers} <= {0.0, 0.5, 1.0}

    def own_line(self, answered: list[Answer]) -> str:
        """Return what an expert has done, after the number of answers."""
        judged = len({answer.case for answer in answered})
        return f"judged {judged} of {counted(len(self.plan.cases), 'case')}"

    def judged(self) -> JudgedCases | None:
        """Return all answers with the draw; None before the first."""
        answers = self.store.answers()
        kind = self.along.kind
        if not answers or kind is None:
            return None
        cases = Cases.from_dict(self.along.draw)
        place = {int(row): number for number, row in enumerate(cases.rows)}
        experts = tuple(dict.fromkeys(answer.expert for answer in answers))
        shape = (len(self.along.classes),) if self.along.classes else ()
        stated = np.full((len(cases), *shape, len(experts)), np.nan)
        for answer in answers:
            if answer.occasion == 1:
                stated[place[answer.case], ..., experts.index(answer.expert)] = _value(answer)
        return JudgedCases(
            cases=cases,
            kind=kind,
            experts=experts,
            stated=stated,
            repeats=tuple(
                Repeat(answer.expert, answer.case, _value(answer))
                for answer in answers
                if answer.occasion > 1
            ),
            about=self._about(),
            looks=self.along.looks,
        )

    def _about(self) -> About:
        plan, several = self.plan, bool(self.plan.classes)
        shown = self.table.select([*plan.shown, plan.label])
        return About(
            label=plan.label,
            negative="" if several else plan.negative,
            positive="" if several else plan.positive,
            weight=self.along.weight,
            shown=plan.shown,
            digest=fingerprint(shown, plan.label, plan.cases),
            classes=plan.classes,
        )

    def closing(self) -> Closing:
        """Return what all answers so far amount to, in words."""
        judged = self.judged()
        if judged is None:
            return Closing("No case judged yet.", [], "Without an answer there is nothing to test.")
        lines = [
            f"{name}: {n} of {counted(len(self.plan.cases), 'case')}."
            for name, n in judged.n_answers.items()
        ]
        apart = judged.repeat_difference
        if apart is not None:
            lines.append(
                f"Shown twice: {counted(len(judged.repeats), 'case')}. The two answers differ "
                f"by {100 * apart:.0f} in 100 on average."
            )
        most, fewest = max(judged.n_answers.values()), min(judged.n_answers.values())
        found, looks = f"{counted(most, 'case')} judged.", self.along.looks
        if not looks:
            return Closing(found, lines, "")
        lines.append(look_line(looks, fewest))
        missing = "No look is due yet, so there is nothing to test." if fewest < looks[0] else ""
        return Closing(found, lines, missing, due=fewest in looks)

    def export(self) -> list[Path]:
        """Write all answers with the draw; return what was written."""
        judged = self.judged()
        return [] if judged is None else [judged.save(self.outputs.answers, private=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassJudgingSession(JudgingSession):
    """A session where experts judge cases of three classes and more."""

    question_page: ClassVar[str] = "judge_classes.html"
    rounding: ClassVar[str] = (
        "So far every answer has been 100 for one class. If you are not sure, name a second class "
        "and say how sure."
    )

    def prospects(self) -> list[str]:
        """Return what could be found: nothing is known of several classes."""
        return []

    def _detectable(self, kind: AnswerKind) -> float | None:
        return None

    def said(self, form: dict[str, str]) -> str:
        """Return the chance of each class; what is left of 100 is shared evenly among others."""
        places = [str(place) for place in range(len(self.along.classes))]
        if self.along.kind == "looked-up":
            if form.get("verdict") not in places:
                raise InputError(NOT_OURS)
            return ",".join("100" if one == form["verdict"] else "0" for one in places)
        named: dict[str, int] = {}
        for slot in range(MOST_NAMED):
            number, place = form.get(f"chance_{slot}", ""), form.get(f"class_{slot}", "")
            if not number:
                continue
            if not (number.isdecimal() and len(number) <= 3 and int(number) <= 100):
                raise InputError("Please give whole numbers from 0 to 100.")
            if place not in places or place in named:
                raise InputError("Please choose another class for each number.")
            named[place] = int(number)
        left, others = 100 - sum(named.values()), len(places) - len(named)
        if not named:
            raise InputError("Please say how likely at least one class is.")
        if left < 0 or (left and not others):
            raise InputError("Please give numbers that add up to 100.")
        return ",".join(f"{named.get(one, left / max(others, 1)):g}" for one in places)

    def refusal(self, verdict: str, chance: float | None) -> str | None:
        """Return why this is no answer to any question here; None if it is one."""
        return None if "," in verdict and chance is None else NOT_OURS

    def always_sure(self, answers: list[Answer]) -> bool:
        """Tell whether an expert only ever names one class."""
        return all(max(_chances(answer)) == 1 for answer in answers)


def _chances(answer: Answer) -> tuple[float, ...]:
    """Return the chance of each class that an answer states."""
    return answer.verdict.shares if isinstance(answer.verdict, Chances) else ()


def detectable(scores: FloatArray, labels: Any, n_cases: int, kind: AnswerKind) -> float | None:
    """Return the asymmetry that so many cases would find, more often than not; None if none."""
    try:
        plan = line_plan(scores, labels, n_cases=n_cases, power=POWER, answers=kind)
    except InputError:
        return None
    return abs(plan.noise.asymmetry)


def prospect_line(n_cases: int, found: dict[AnswerKind, float | None]) -> str:
    """Say what so many cases would find with answers of either kind."""
    sizes = [
        f"{'no difference' if size is None else f'a difference of {100 * size:.0f} in 100 or more'}"
        f" with {HOW[kind]}"
        for kind, size in found.items()
    ]
    return (
        f"{counted(n_cases, 'case')} would probably reveal {' and '.join(sizes)}, if the better "
        f"class is flipped in 5% (power {POWER:g})."
    )


def _value(answer: Answer) -> float | tuple[float, ...]:
    """Return what an answer says: a chance, or the truth as 0 or 1; of each of several classes."""
    if isinstance(answer.verdict, Chances):
        return answer.verdict.shares
    if answer.chance is not None:
        return answer.chance
    return float(answer.verdict is Verdict.positive)


def open_judging(
    table: "pa.Table",
    wishes: Wishes,
    scored: Scored | None,
    kind: AnswerKind | None = None,
    *,
    must_exist: bool = False,
) -> JudgingSession:
    """Check everything and return a session along a score to sit at.

    Without `scored`, or with `must_exist`, only go on with answers that are there.
    """
    parts = opened(table, wishes, must_exist, partial(_plan, table, wishes, scored, kind))
    plan = parts["store"].plan
    kind_of_session = ClassJudgingSession if plan.classes else JudgingSession
    session = kind_of_session(**parts, scored=scored, test_command=_test_command(plan, wishes))
    try:
        _check_same(session, wishes, scored, kind)
    except InputError:
        session.store.close()
        raise
    return session


def _plan(
    table: "pa.Table", wishes: Wishes, scored: Scored | None, kind: AnswerKind | None
) -> SessionPlan:
    """Draw the cases of a session as wished for."""
    if scored is None:
        raise InputError(
            f"--out {wishes.out} is for cases along a score: give --scores COL or FILE, or --score "
            "to make them."
        )
    looks = _planned_looks(wishes, scored, kind)
    column = table[wishes.label].to_numpy()
    classes: tuple[str, ...] = ()
    if scored.scores.ndim == 2:
        classes = tuple(map(str, read_classes(column, repr(wishes.label)).names))
        negative, positive = classes[0], classes[-1]
    else:
        labels = read_labels(column, wishes.positive, repr(wishes.label))
        negative, positive = str(labels.negative), str(labels.positive)
    usual = looks[-1] if looks else CASES_PER_CLASS * len(classes) or CASES
    wanted = usual if wishes.n_cases is None else wishes.n_cases
    if looks and wanted != usual:
        raise InputError(f"--looks ends at {usual:,} but --cases is {wanted:,}: give the same.")
    back = REPEATS if wishes.n_repeats is None else wishes.n_repeats
    seed = check_whole(wishes.seed or 0, "--seed")
    hidden = [name for name in (scored.name, scored.weight, scored.group) if name is not None]
    draw = choose_cases(
        scored.scores,
        n_cases=check_whole(wanted, "--cases", at_least=FEWEST_CASES),
        # Of several classes a truth that is looked up is found sooner by given label.
        given=column if classes and kind == "looked-up" else None,
        groups=scored.groups,
        sample_weight=scored.weights,
        seed=seed,
    )
    cases = tuple(draw.rows.tolist())
    return SessionPlan(
        label=wishes.label,
        negative=negative,
        positive=positive,
        features=wishes.features or (),  # of which scores were made, if they were made here
        shown=choose_shown(table, wishes.label, hidden, wishes.show, wishes.data),
        cases=cases,
        breadth=1.0,
        n_cases=wanted,
        n_repeats=check_whole(back, "--repeats"),
        seed=seed,
        digest=fingerprint(table, wishes.label, cases),
        along=ScorePlan(
            draw=draw.to_dict(),
            scores=scored.name,
            weight=scored.weight,
            group=scored.group,
            kind=kind,
            preset=kind is not None,
            looks=looks,
            classes=classes,
        ),
    )


def _planned_looks(wishes: Wishes, scored: Scored, kind: AnswerKind | None) -> tuple[int, ...]:
    """Return the planned looks, refusing sessions that cannot have any."""
    if wishes.looks is None:
        return ()
    several = scored.scores.ndim == 2
    if several or kind != "looked-up" or scored.weight is not None or scored.group is not None:
        raise InputError(
            "--looks is for looked-up answers of two classes about rows that count as one each: "
            "say --kind looked-up, without --weight and --group."
        )
    return read_looks(wishes.looks, wishes.looks[-1])


def _check_same(
    session: JudgingSession, wishes: Wishes, scored: Scored | None, kind: AnswerKind | None
) -> None:
    """Refuse to go on with other scores, weights, groups or answers than the session began with."""
    along, where = session.along, wishes.database
    if wishes.looks is not None and wishes.looks != along.looks:
        planned = ", ".join(map(str, along.looks)) or "none"
        raise InputError(
            f"{where} was started with other looks ({planned}): they are planned before the first "
            "answer. Leave --looks out to go on, or name another --out to begin anew."
        )
    if scored is not None:
        Cases.from_dict(along.draw).strata_of(scored.scores)
        named = {"--weight": (scored.weight, along.weight), "--group": (scored.group, along.group)}
        for option, (now, then) in named.items():
            if now != then:
                raise InputError(
                    f"{where} was started with {option} {then}, not {now}: give the same, or name "
                    "another --out to begin anew."
                )
    if kind is not None and kind != along.kind:
        if "given_hash" in along.draw:
            raise InputError(
                f"{where} has cases drawn for answers that are looked up: name another --out to "
                "begin anew."
            )
        chosen = replace(along, kind=kind, preset=True)
        if not session.store.settle(replace(session.plan, along=chosen)):
            raise InputError(
                f"{where} holds answers of the kind {along.kind!r}, not {kind!r}: leave --kind out "
                "to go on with it, or name another --out to begin anew."
            )


def _test_command(plan: SessionPlan, wishes: Wishes) -> str:
    """Return what to run on the result."""
    words = ["evenodds", "line", str(wishes.data), "--label", plan.label]
    if plan.along is not None:
        words += ["--scores", plan.along.scores]
        for option, name in (("--weight", plan.along.weight), ("--group", plan.along.group)):
            words += [] if name is None else [option, name]
    return shlex.join([*words, "--answers", str(wishes.out)])
