"""A running session: opened after every check, resumed only as it was started, told in words."""

import shlex
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from evenodds.elicit.answers import (
    MOST_SHARED,
    UNSEEN_LEAN,
    Answer,
    Chances,
    Judgement,
    Verdict,
    judge,
    toss_ups,
)
from evenodds.elicit.plan import (
    MOST_ROWS,
    Question,
    SessionPlan,
    fingerprint,
    hidden_lines,
    information_lines,
    plan_session,
)
from evenodds.elicit.show import LARGEST, Showing, choose_columns
from evenodds.elicit.store import (
    JUDGED_FILES,
    Outputs,
    Store,
    anchor_table,
    utc_now,
    write_anchors,
    write_answers,
)
from evenodds.errors import ImprecisionWarning, InputError
from evenodds.files import FORMULA_STARTS
from evenodds.planning.expected_data import AnchorPlan
from evenodds.planning.power import detectable_asymmetry
from evenodds.rows.labels import read_classes, read_labels
from evenodds.simulation.own_data import data_world
from evenodds.validation import check_between, check_column, counted, join_quoted

if TYPE_CHECKING:
    import pyarrow as pa


# Numbers of toss-ups that are worked out; between them the lower one is shown, which is safe.
STEPS = (3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128)


def prospect_of(judgement: Judgement) -> AnchorPlan | None:
    """Round what there is to what is worth working out; None below the first step."""
    reached = [step for step in STEPS if step <= len(judgement.toss_ups)]
    if not reached:
        return None
    typical = (judgement.width**2 + 3 * judgement.blur**2) ** 0.5
    # Rounded up to steps of 0.02 and 0.01, so that an answer seldom starts new work.
    own, shared = -(-typical // 0.02) * 0.02, -(-judgement.shared_tolerance // 0.01) * 0.01
    own, shared = min(round(own, 2), 0.3), round(shared, 2)
    return AnchorPlan(n_anchors=reached[-1], tolerance=own, shared_tolerance=shared)


# Works out the asymmetry that a test would find; raises InputError where it would find none.
Detect = Callable[[AnchorPlan], float]


@dataclass(frozen=True, slots=True)
class View:
    """What can be said now: nothing yet, nothing ever, or the latest that was worked out."""

    state: Literal["unknown", "unavailable", "known"]
    asymmetry: float | None = None  # None where no asymmetry could be found
    working: bool = False  # something newer is on its way


class Preview:
    """Remembers what could be found, and works out the latest question in a thread.

    Parameters
    ----------
    prepare : callable
        Returns what works questions out; called in the thread, once, as it takes a while.
    """

    def __init__(self, prepare: Callable[[], Detect]) -> None:
        self._prepare = cache(prepare)
        self._broken = False
        self._known: dict[AnchorPlan, float | None] = {}
        self._asked: AnchorPlan | None = None
        self._last = View("unknown")
        self._working = False
        self._lock = threading.Lock()

    def ask(self, prospect: AnchorPlan) -> View:
        """Return what is known of it; until it is, what was last known of others."""
        with self._lock:
            if prospect in self._known:
                self._last = View("known", self._known[prospect])
                return self._last
            if self._broken:
                return View("unavailable")
            self._asked = prospect
            if not self._working:
                self._working = True
                threading.Thread(target=self._work, daemon=True).start()
            return replace(self._last, working=True)

    def _work(self) -> None:
        """Work until nothing new is asked; questions overtaken meanwhile are left out."""
        while True:
            found = None
            with self._lock:
                prospect = self._asked
                if prospect is None or prospect in self._known or self._broken:
                    self._working = False
                    return
            try:
                detect = self._prepare()
                with suppress(InputError):
                    found = detect(prospect)
            except Exception:  # a preview is an extra: whatever goes wrong, the session goes on
                with self._lock:
                    self._broken = True
                continue
            with self._lock:
                self._known[prospect] = found


# Fewer repeats than this say nothing about consistency.
FEW = 4


def running_line(n_own: int, n_rows: int, preview: View, *, alone: bool = True) -> str:
    """Return how many toss-ups an expert found, and what could be detected with all of them.

    How many others found stays untold: an expert who knows may follow.
    """
    if n_own == 0:
        return "No toss-up found yet."
    found = f"{counted(n_own, 'toss-up')} found so far."
    if preview.state == "unavailable":
        return found
    if preview.state == "unknown":
        return f"{found} What they can show appears here after a few more."
    if preview.asymmetry is None:
        return f"{found} That is not enough yet to find a difference of any size."
    return (
        f"{found} With {'them' if alone else 'those of all experts'}, a test of these {n_rows:,} "
        "rows would probably notice if the shares of wrong labels in the two classes differed by "
        f"{100 * preview.asymmetry:.0f} in 100."
    )


def opening_lines(session: "Session") -> list[str]:
    """Return what to know before anyone is asked: what experts see, and what they cannot."""
    lines = information_lines(session.plan)
    lines += hidden_lines(session.plan, session.table.column_names)
    cases = session.plan.cases
    without = session.showing.n_without_picture(session.table, cases)
    if without:
        lines.append(
            f"Warning: no picture can be shown for {without} of {len(cases)} cases: what they name "
            f"is not in {session.showing.folder}, larger than {LARGEST / 1e6:g} MB, or no picture."
        )
    return lines


def closing_lines(plan: SessionPlan, known: Judgement) -> list[str]:
    """Return what to know of the files that a session ends in."""
    return [*judgement_lines(known), *information_lines(plan)]


def judgement_lines(known: Judgement) -> list[str]:
    """Return what the answers say about the experts' judgement."""
    lines = []
    if known.consistency is None:
        lines.append("No toss-up was shown twice yet: how consistent answers are is not known.")
    else:
        again = round(known.consistency * known.n_repeats)
        lines.append(
            f"Shown twice: {counted(known.n_repeats, 'toss-up')}, of which {again} "
            f"{'was' if again == 1 else 'were'} called a toss-up again."
        )
        if known.n_repeats >= FEW and known.consistency < 0.5:
            lines.append(
                "Answers changed so often that they tell little: discuss what makes a case a "
                "toss-up, and repeat the session."
            )
    if known.agreement is not None:
        lines.append(
            f"Of one expert's toss-ups, others called {known.agreement:.0%} a toss-up too."
        )
    if known.toss_ups:
        widest = max(known.tolerance(toss_up) for toss_up in known.toss_ups)
        lines.append(
            f"A toss-up is taken to be within ±{widest:.2f} of 1/2, and the error that all share "
            f"within ±{known.shared_tolerance:.2f}."
        )
    return lines


LONGEST_NAME = 60
NOT_OURS = "This is not an answer the page could have sent."


@dataclass(frozen=True, slots=True)
class Closing:
    """What a session has come to: for whoever prepared it."""

    found: str  # in one sentence
    lines: list[str]  # what to know of it
    missing: str  # why there is nothing to test yet; empty where there is
    due: bool = False  # whether a planned look is due now


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session in progress.

    Attributes
    ----------
    table : pyarrow.Table
        The data.
    showing : Showing
        What experts see of it.
    store : Store
        The answers.
    outputs : Outputs
        Where anchors and answers are written to.
    unseen_lean : float
        How far one expert may lean unseen.
    test_command : str
        What to run on the result.
    preview : Preview or None
        What could be found with the toss-ups so far.
    """

    table: "pa.Table"
    showing: Showing
    store: Store
    outputs: Outputs
    unseen_lean: float
    test_command: str
    preview: Preview | None = None

    # What the pages of this kind of session are made of.
    question_page: ClassVar[str] = "ask.html"
    start_page: ClassVar[str] = "start.html"

    @property
    def plan(self) -> SessionPlan:
        """What the session is about."""
        return self.store.plan

    def expert(self, name: str) -> str:
        """Return a name as its owner first wrote it; refuse what is none."""
        tidy = " ".join(name.split())
        if not tidy or not any(letter.isalnum() for letter in tidy):
            raise InputError("Please enter your name: at least one letter or number.")
        if len(tidy) > LONGEST_NAME:
            raise InputError(f"Please enter a name of at most {LONGEST_NAME} characters.")
        if tidy[0] in FORMULA_STARTS or not tidy.isprintable() or set(tidy) & set("/\\?#"):
            raise InputError("Please enter your name without special characters.")
        known = {other.casefold(): other for other in self.store.experts()}
        return known.get(tidy.casefold(), tidy)

    def start(self) -> dict[str, Any]:
        """Return what the first page says beside the names of the classes."""
        return {}

    def prospects(self) -> list[str]:
        """Return what could be found, for whoever prepares the session: nothing is known yet."""
        return []

    def settle(self, kind: str | None) -> None:
        """Keep what was chosen on the first page: nothing, where toss-ups are sought."""

    def said(self, form: dict[str, str]) -> str:
        """Return what a form of the page says."""
        return form.get("verdict", "")

    def refusal(self, verdict: str, chance: float | None) -> str | None:
        """Return why this is no answer to any question here; None if it is one."""
        known = {*Verdict} - {Verdict.stated}
        return None if verdict in known else NOT_OURS

    def question(self, expert: str, answered: list[Answer]) -> Question | None:
        """Return what to ask an expert now."""
        return self.plan.queue().next_question(expert, answered)

    def answer(
        self,
        expert: str,
        *,
        number: int,
        case: int,
        verdict: Verdict | Chances,
        chance: float | None,
    ) -> bool:
        """Keep an answer about the case that question `number` showed; False if it cannot be kept.

        An answer that comes twice (a double click, a page sent again) is kept once. One to
        another case, or another one to the same case (a second window, the back button), is not.
        """
        given = self.store.answers(expert)
        if number < len(given):
            kept = given[number]
            return (kept.case, kept.verdict, kept.chance) == (case, verdict, chance)
        question = self.question(expert, given)
        if question is None or (question.number, question.case) != (number, case):
            return False
        answer = Answer(
            expert=expert,
            case=case,
            occasion=question.occasion,
            verdict=verdict,
            chance=chance,
            time=utc_now(),
        )
        return self.store.add(number, answer)

    def judgement(self) -> Judgement:
        """Return what all answers so far amount to."""
        answers, breadth = self.store.answers(), self.plan.breadth
        return judge(answers, breadth=breadth, unseen_lean=self.unseen_lean)

    def running_line(self, expert: str) -> tuple[str, bool]:
        """Return the line under an expert's question, and whether more is being worked out."""
        prospect = prospect_of(self.judgement())
        view = View("unknown")
        if prospect is not None and self.preview is not None:
            view = self.preview.ask(prospect)
        own = len(toss_ups(self.store.answers(expert)))
        alone = len(self.store.experts()) < 2
        return running_line(own, self.table.num_rows, view, alone=alone), view.working

    def own_line(self, answered: list[Answer]) -> str:
        """Return what an expert has done, after the number of answers."""
        own = len(toss_ups(answered))
        return f"named {counted(own, 'toss-up') if own else 'no toss-ups'}"

    def closing(self) -> Closing:
        """Return what all answers so far amount to, in words."""
        found = self.judgement()
        n = len(found.toss_ups)
        missing = "" if n else "Without a toss-up there are no anchors to write yet."
        return Closing(f"{counted(n, 'toss-up')} found.", closing_lines(self.plan, found), missing)

    def export(self) -> list[Path]:
        """Write the raw answers, and anchors where there are toss-ups; return what was written."""
        write_answers(self.outputs.answers, self.store.answers(), self.plan)
        found = self.judgement()
        if not found.toss_ups or self.outputs.anchors is None:
            return [self.outputs.answers]
        anchors = anchor_table(self.table, self.plan.features, found)
        write_anchors(self.outputs.anchors, anchors)
        return [self.outputs.anchors, self.outputs.answers]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """The options of `evenodds elicit`; None where one was left out.

    A session that has begun goes on as it was started: an option left out takes its value from
    there, and one that says otherwise is refused.
    """

    data: Path
    label: str
    out: Path
    raw: Path | None = None
    show: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    positive: str | None = None
    n_cases: int | None = None
    n_repeats: int | None = None
    seed: int | None = None
    unseen_lean: float = UNSEEN_LEAN
    images: Path | None = None
    looks: tuple[int, ...] | None = None

    def outputs(self) -> Outputs:
        """Return where results are written to, refusing the data itself."""
        if not self.out.name:
            raise InputError(f"--out {self.out} is no file: name one, as anchors.csv.")
        answers = self.raw or self.out.with_name(f"{self.out.stem}_answers.csv")
        outputs = Outputs(None, self.out) if self.along_score else Outputs(self.out, answers)
        if self.data.resolve() in {self.out.resolve(), outputs.answers.resolve()}:
            raise InputError(f"--out or --raw would overwrite {self.data}: name another file.")
        written = [path for path in (outputs.anchors, outputs.answers) if path and path.exists()]
        if written and not Store.has_begun(self.database):
            raise InputError(
                f"{written[0]} is there already, and no session of {self.database} wrote it: name "
                "another file, or delete it."
            )
        return outputs

    @property
    def along_score(self) -> bool:
        """Whether cases are judged along a score, which is told by the file to write."""
        return self.out.suffix.lower() in JUDGED_FILES

    @property
    def database(self) -> Path:
        """Where answers are kept as they come."""
        return self.out.with_name(f"{self.out.stem}{'' if self.along_score else '_answers'}.db")


def check_same(plan: SessionPlan, table: "pa.Table", wishes: Wishes) -> None:
    """Refuse to go on with a session about other data, or as it was not started."""
    where = wishes.database
    if (plan.along is not None) != wishes.along_score:
        raise InputError(f"{where} holds answers of another kind of session: name another --out.")
    same_rows = (
        wishes.label == plan.label
        and max(plan.cases) < table.num_rows
        and fingerprint(table, wishes.label, plan.cases) == plan.digest
    )
    if not same_rows:
        raise InputError(
            f"{where} holds answers about other rows, or another label than {wishes.label!r}: go "
            "on with the data it was started with, or name another --out."
        )
    column = table[wishes.label].to_numpy()
    asked = plan.classes or (plan.negative, plan.positive)
    if plan.classes:
        classes, positive = set(map(str, read_classes(column, repr(wishes.label)).names)), None
    else:
        labels = read_labels(column, wishes.positive, repr(wishes.label))
        classes = {str(labels.negative), str(labels.positive)}
        positive = wishes.positive and str(labels.positive)
    if classes != set(asked):
        raise InputError(
            f"{where} holds answers about {join_quoted(asked)} but the labels now are "
            f"{join_quoted(sorted(classes))}: name another --out."
        )
    wished = {
        "--positive": (positive, plan.positive),
        "--features": (_names(wishes.features), _names(plan.features)),
        "--show": (_names(wishes.show), _names(plan.shown)),
        "--cases": (wishes.n_cases, plan.n_cases),
        "--repeats": (wishes.n_repeats, plan.n_repeats),
        "--seed": (wishes.seed, plan.seed),
    }
    for option, (now, then) in wished.items():
        if now is not None and now != then:
            raise InputError(
                f"{where} was started with {option} {'none' if then == '' else then}, not {now}: "
                f"leave {option} out to go on with it, or name another --out to begin anew."
            )


def _names(columns: tuple[str, ...] | None) -> Any:
    """Return names as an option writes them, in an order that does not matter."""
    return None if columns is None else ",".join(sorted(columns))


def open_session(table: "pa.Table", wishes: Wishes, *, must_exist: bool = False) -> Session:
    """Check everything and return a session to sit at.

    With `must_exist`, only go on with answers that are there.
    """
    check_between(wishes.unseen_lean, "--lean", 0, MOST_SHARED)
    parts = opened(table, wishes, must_exist, partial(_plan, table, wishes))
    plan = parts["store"].plan
    return Session(
        **parts,
        preview=Preview(partial(_detector, table, plan)),
        test_command=_test_command(table, plan, wishes),
    )


def opened(
    table: "pa.Table", wishes: Wishes, must_exist: bool, make_plan: Callable[[], SessionPlan]
) -> dict[str, Any]:
    """Check everything, go on with the answers there are, or choose cases and begin.

    Returns what sessions of both kinds are made of.
    """
    outputs, path = wishes.outputs(), wishes.database
    if wishes.images is not None and not wishes.images.is_dir():
        raise InputError(f"--images {wishes.images} is no folder.")
    check_column(wishes.label, table.column_names, wishes.data)
    if Store.has_begun(path):
        store = Store.open(path)
    elif must_exist:
        raise InputError(f"there are no answers yet: {path} is not there.")
    else:
        # Another start may come first meanwhile: then its session is gone on with.
        store = Store.begin(path, make_plan())
    try:
        check_same(store.plan, table, wishes)
    except InputError:
        store.close()
        raise
    showing = Showing(store.plan.shown, wishes.images or wishes.data.resolve().parent)
    parts = {"table": table, "store": store, "outputs": outputs, "showing": showing}
    return {**parts, "unseen_lean": wishes.unseen_lean}


def _plan(table: "pa.Table", wishes: Wishes) -> SessionPlan:
    """Choose the cases of a session as wished for."""
    features = _features(table, wishes)
    numbers = {"n_cases": wishes.n_cases, "n_repeats": wishes.n_repeats, "seed": wishes.seed}
    return plan_session(
        table,
        label=wishes.label,
        features=features,
        shown=choose_columns(table, wishes.label, wishes.show or features, wishes.data),
        positive=wishes.positive,
        **{name: number for name, number in numbers.items() if number is not None},
    )


def _features(table: "pa.Table", wishes: Wishes) -> tuple[str, ...]:
    """Return the columns that the test will use: those named, or all numeric ones."""
    import pyarrow as pa

    if wishes.features is not None:
        for name in wishes.features:
            check_column(name, table.column_names, wishes.data)
        if not wishes.features or wishes.label in wishes.features:
            raise InputError("--features must name columns, and not the label.")
        return wishes.features
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    found = tuple(
        field.name
        for field in table.schema
        if field.name != wishes.label and any(is_number(field.type) for is_number in numbers)
    )
    if not found:
        raise InputError(
            f"{wishes.data} has no column of numbers beside {wishes.label!r} for a test to go by."
        )
    return found


def _detector(table: "pa.Table", plan: SessionPlan) -> Detect:
    """Return a function that works out what a test of these rows could find."""
    step = -(-table.num_rows // MOST_ROWS)
    some = table.take(np.arange(0, table.num_rows, step)) if step > 1 else table
    features, labels = some.select(list(plan.features)), some[plan.label].to_numpy()
    with warnings.catch_warnings():
        # Flip rates taken as 0 where the rows cannot tell: a preview need not be exact.
        warnings.simplefilter("ignore", ImprecisionWarning)
        world = data_world(features, labels, positive=plan.positive)

    def detect(prospect: AnchorPlan) -> float:
        # A preview need not be exact, but quick.
        return detectable_asymmetry(world, n_rows=table.num_rows, runs=0, **asdict(prospect))

    return detect


def _test_command(table: "pa.Table", plan: SessionPlan, wishes: Wishes) -> str:
    """Return what to run on the result; features need no names where all columns are."""
    words = ["evenodds", "test", str(wishes.data), "--label", plan.label]
    words += ["--anchors", str(wishes.out)]
    if set(plan.features) != {*table.column_names} - {plan.label}:
        words += ["--features", ",".join(plan.features)]
    # Sliders are about this class, so the test must be too.
    return shlex.join([*words, "--positive", plan.positive])
