"""What a session asks: which cases, of which two classes, shown how, and who sees which next.

The queue must not steer the verdict. Cases are taken evenly from a wide band of the fitted
posterior, so that an expert's toss-ups lie about evenly to either side of wherever the expert
sees 1/2; cases where the fitted curve itself says 1/2 would hand the test its own opinion
back (docs/elicit.md, "Which cases are asked").

The test takes an anchor's posterior as that given the features. An expert judges by what is
shown. Where the two differ, toss-ups lie off the test's 1/2 by more than their tolerance says
(docs/elicit.md, "What experts see and what the test goes by").
"""

import hashlib
import json
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from evenodds.elicit.answers import Answer, Verdict
from evenodds.errors import ImprecisionWarning, InputError
from evenodds.inference.cases.record import Answers as AnswerKind
from evenodds.model.logistic import climb, fit_rows
from evenodds.model.robust import fit_robust
from evenodds.rows.anchor_points import STATED
from evenodds.rows.base import Rows, refuse_missing
from evenodds.rows.memory import read_rows
from evenodds.validation import FloatArray, check_whole, counted, join_quoted

if TYPE_CHECKING:
    import pyarrow as pa


IntArray = NDArray[np.int64]

# Fitted posteriors that cases are taken from, and into how many equal parts they are cut.
BAND = (0.1, 0.9)
PARTS = 12
# Fewer cases than this leave too few toss-ups for any test.
FEWEST_CASES = 8
# Rows of a part that are looked at: enough to choose from, few enough to be quick.
POOL = 200
# Cases nearer to each other than this share of the usual distance look alike to an expert.
ALIKE = 0.1
# Rows that cases are chosen from; more of them would only slow the start.
MOST_ROWS = 50_000
# With more features than this, cases are spaced along one index of them.
MANY_FEATURES = 30
# A case comes back after at least this many others, so that it is judged and not remembered.
GAP = 10
# Of the cases that come back, every third is no toss-up: else coming back would tell.
TOSS_UPS_IN_A_ROW = 2


@dataclass(frozen=True, slots=True)
class Question:
    """A case to ask about now."""

    case: int
    occasion: int
    number: int  # questions answered before this one


@dataclass(frozen=True, slots=True)
class Queue:
    """The cases of a session, in the order they were chosen.

    Every expert gets all of them, so that experts can be compared, and in an order of
    their own, so that tiredness does not fall on the same cases.
    """

    cases: tuple[int, ...]
    n_repeats: int
    seed: int
    in_order: bool = False  # the draw's own, of which every beginning is a smaller draw

    @property
    def n_questions(self) -> int:
        """How many questions a whole session has."""
        return len(self.cases) + self.n_repeats

    def next_question(self, expert: str, answered: Sequence[Answer]) -> Question | None:
        """Return what to ask an expert after these answers; None at the end."""
        number = len(answered)
        seen = {answer.case for answer in answered}
        fresh = next((case for case in self._order(expert) if case not in seen), None)
        if fresh is None or self._is_turn_of_a_repeat(number):
            again = self._repeat(expert, answered)
            if again is not None:
                return Question(again, 2, number)
        return None if fresh is None else Question(fresh, 1, number)

    def _order(self, expert: str) -> list[int]:
        """Shuffle within rounds over the band: a session broken off is spread evenly too."""
        if self.in_order:
            return list(self.cases)
        rng = np.random.default_rng([self.seed, _code(expert)])
        rounds = [self.cases[start : start + PARTS] for start in range(0, len(self.cases), PARTS)]
        return [int(case) for cases in rounds for case in rng.permutation(cases)]

    def _is_turn_of_a_repeat(self, number: int) -> bool:
        if self.n_repeats == 0:
            return False
        return number % max(self.n_questions // self.n_repeats, 2) == 1

    def _repeat(self, expert: str, answered: Sequence[Answer]) -> int | None:
        """Return a case to ask again, if any has been away long enough."""
        repeated = [answer for answer in answered if answer.occasion == 2]
        if len(repeated) == self.n_repeats:
            return None
        taken = {answer.case for answer in repeated}
        away = [
            answer
            for answer in answered[: max(len(answered) - GAP, 0)]
            if answer.occasion == 1
            and answer.case not in taken
            and answer.verdict is not Verdict.skip
        ]
        wants_toss_up = len(repeated) % (TOSS_UPS_IN_A_ROW + 1) < TOSS_UPS_IN_A_ROW
        liked = [a for a in away if (a.verdict is Verdict.toss_up) == wants_toss_up] or away
        if not liked:
            return None
        rng = np.random.default_rng([self.seed, _code(expert), len(answered)])
        return liked[int(rng.integers(len(liked)))].case


def _code(expert: str) -> int:
    """Return a number for a name, the same in every run."""
    return zlib.crc32(expert.encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorePlan:
    """How the cases of a session were drawn along a score, and what is asked of them.

    Attributes
    ----------
    draw : dict
        The record of the draw.
    scores : str
        What the user calls the scores: a column or a file.
    weight, group : str or None
        Columns that cases were drawn by.
    kind : {"probability", "looked-up"} or None
        What the answers are; None until somebody has said.
    preset : bool
        Whether that was said before the page was opened, so that it does not ask.
    looks : tuple of int
        Cases answered at each planned look; empty where answers are tested once.
    classes : tuple of str
        Three classes and more, in the order of the scores; empty where there are two.
    """

    draw: dict[str, Any]
    scores: str
    weight: str | None = None
    group: str | None = None
    kind: AnswerKind | None = None
    preset: bool = False
    looks: tuple[int, ...] = ()
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPlan:
    """Everything that must stay as it is until the last expert has finished.

    Attributes
    ----------
    label : str
        Column of given labels, which nobody is shown.
    negative, positive : str
        The two classes.
    features : tuple of str
        Columns that the test will use.
    shown : tuple of str
        Columns that experts see.
    cases : tuple of int
        Row numbers to ask about, in the order they were chosen.
    breadth : float
        How much of the posterior's range the cases are spread over.
    n_cases, n_repeats : int
        How many cases were asked for, and how many come back at most.
    seed : int
        What the choice and the order of cases come from.
    digest : str
        Fingerprint of the cases, without their labels.
    along : ScorePlan or None
        The draw, where cases are judged along a score; None where toss-ups are sought.
    """

    label: str
    negative: str
    positive: str
    features: tuple[str, ...]
    shown: tuple[str, ...]
    cases: tuple[int, ...]
    breadth: float
    n_cases: int
    n_repeats: int
    seed: int
    digest: str
    along: ScorePlan | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """Three classes and more; empty where there are two."""
        return () if self.along is None else self.along.classes

    @property
    def kind(self) -> AnswerKind | None:
        """What the answers about cases along a score are, once it is known."""
        return None if self.along is None else self.along.kind

    def queue(self) -> Queue:
        """Return the order of questions."""
        # What was looked up twice is the same twice.
        back = 0 if self.kind == "looked-up" else min(self.n_repeats, len(self.cases))
        return Queue(self.cases, back, self.seed, in_order=self.along is not None)

    def to_json(self) -> str:
        """Write it down."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read it back."""
        known: dict[str, Any] = json.loads(text)
        lists = {name: tuple(known[name]) for name in ("features", "shown", "cases")}
        along = known.get("along")
        if along is not None:
            lists_of_it = {name: tuple(along.get(name, ())) for name in ("looks", "classes")}
            along = ScorePlan(**along | lists_of_it)
        return cls(**known | lists | {"along": along})


def refuse_untestable(
    table: "pa.Table", label: str, features: tuple[str, ...], positive: str | None
) -> None:
    """Raise where the rows have no curve to test, or their columns cannot be named to a test."""
    clash = [name for name in STATED if name in features]
    if clash:
        raise InputError(
            f"the data has a feature named {join_quoted(clash)}, which an anchors file uses for "
            "what experts state: rename that column."
        )
    every = {*table.column_names} - {label}
    unspeakable = [name for name in features if "," in name or name != name.strip() or not name]
    if unspeakable and set(features) != every:
        raise InputError(
            f"the test will need --features, which cannot name {join_quoted(unspeakable)}: rename "
            "columns with commas, or spaces around their names."
        )
    rows = read_rows(table.select(list(features)), table[label].to_numpy(), positive=positive)
    refuse_missing(rows)
    climb(rows)


def plan_session(
    table: "pa.Table",
    *,
    label: str,
    features: tuple[str, ...],
    shown: tuple[str, ...] | None = None,
    positive: str | None = None,
    n_cases: int = 60,
    n_repeats: int = 12,
    seed: int = 0,
) -> SessionPlan:
    """Choose the cases of a session.

    Parameters
    ----------
    table : pyarrow.Table
        The data.
    label : str
        Column of given labels, used to space the cases and never shown.
    features : tuple of str
        Columns that the test will use; they must be numbers.
    shown : tuple of str, optional
        Columns that experts see; the features if not named.
    positive : str, optional
        The positive label.
    n_cases, n_repeats : int
        How many cases, and how many of them come back.
    seed : int
        The same seed gives the same session.

    Raises
    ------
    InputError
        If a test of these rows would be refused, or there are too few cases to ask about.
    """
    back = check_whole(n_repeats, "--repeats")
    refuse_untestable(table, label, features, positive)
    kept = _sample(table.num_rows, check_whole(seed, "--seed"))
    read = table.take(kept) if len(kept) < table.num_rows else table
    labels = read[label].to_numpy()
    rows = read_rows(read.select(list(features)), labels, positive=positive)
    matrix = np.column_stack([np.asarray(read[name].to_numpy(), float) for name in features])
    posterior = spacing_posterior(rows, matrix, labels)
    chosen, breadth = choose_candidates(matrix, posterior, n_cases=n_cases, seed=seed)
    cases = tuple(kept[chosen].tolist())
    return SessionPlan(
        label=label,
        negative=str(rows.negative),
        positive=str(rows.positive),
        features=features,
        shown=features if shown is None else shown,
        cases=cases,
        breadth=breadth,
        n_cases=n_cases,
        n_repeats=back,
        seed=seed,
        digest=fingerprint(table, label, cases),
    )


def spacing_posterior(rows: Rows, features: FloatArray, labels: Any) -> FloatArray:
    """Return a posterior to space cases by; of many features, along one index of them.

    Noise bends the curve more than it turns it, so the plain curve's direction will do, and
    flip rates are found along it in a moment where all slopes would take minutes.
    """
    if rows.n_features <= MANY_FEATURES:
        return fitted_posterior(rows, features)
    index = (features @ fit_rows(rows).coefficients[1:])[:, None]
    return fitted_posterior(read_rows(index, labels, positive=rows.positive), index)


def fingerprint(table: "pa.Table", label: str, cases: tuple[int, ...]) -> str:
    """Return a digest of the cases as they are shown, the labels left out."""
    shown = table.drop_columns([label]).take(list(cases))
    lines = [repr(shown.column_names), *(repr(row) for row in shown.to_pylist())]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _sample(n_rows: int, seed: int) -> Any:
    """Return the numbers of the rows that cases are chosen from."""
    if n_rows <= MOST_ROWS:
        return np.arange(n_rows)
    rng = np.random.default_rng([seed, 1])
    return np.sort(rng.choice(n_rows, MOST_ROWS, replace=False))


def fitted_posterior(rows: Rows, features: FloatArray) -> FloatArray:
    """Return a clean posterior to spread cases over, from labels that may be noisy."""
    with warnings.catch_warnings():
        # Without flip rates the band is spaced less evenly, which widens the tolerance at worst.
        warnings.simplefilter("ignore", ImprecisionWarning)
        return fit_robust(rows).posterior(features)


def choose_candidates(
    features: FloatArray, posterior: FloatArray, *, n_cases: int = 60, seed: int = 0
) -> tuple[IntArray, float]:
    """Choose cases to show an expert.

    Parameters
    ----------
    features : array of shape (n_rows, n_features)
        What the test will use.
    posterior : array of shape (n_rows,)
        A fitted posterior, used for spacing only.
    n_cases : int, default 60
        How many cases; fewer come where rows in the band are few or alike.
    seed : int, default 0
        The same seed gives the same cases.

    Returns
    -------
    rows : array of int
        Row numbers, in an order of which every beginning is spread evenly.
    breadth : float
        How much of the posterior's range they are spread evenly over.

    Raises
    ------
    InputError
        If rows are few or alike, or hardly any lies in the band: then the columns tell the
        classes apart, and a toss-up has to be described, not found.
    """
    if len(posterior) < FEWEST_CASES:
        raise InputError(
            f"the data has {counted(len(posterior), 'row')} but a session needs {FEWEST_CASES} to "
            "ask about."
        )
    wanted = check_whole(n_cases, "--cases", at_least=FEWEST_CASES)
    rng = np.random.default_rng(check_whole(seed, "--seed"))
    pools = _pools(posterior, rng)
    filled = [pool for pool in pools if len(pool)]
    n_near = sum(len(pool) for pool in filled)
    if n_near < FEWEST_CASES:
        raise InputError(
            f"of {len(posterior)} rows only {n_near} have a fitted posterior between {BAND[0]:g} "
            f"and {BAND[1]:g}: these columns tell the classes apart almost surely, so there are "
            "hardly any toss-ups to find among the rows. Use fewer features, or describe toss-ups "
            "in a file of anchors by hand."
        )
    near = np.concatenate(filled)
    places = _standardised(features[near])
    owner = np.repeat(np.arange(len(filled)), [len(pool) for pool in filled])
    chosen = _spread(places, owner, wanted, rng)
    if len(chosen) < FEWEST_CASES:
        raise InputError(
            f"only {len(chosen)} of {len(posterior)} rows differ enough to be asked about, and a "
            f"session needs {FEWEST_CASES}: rows that look alike are asked once. Use more "
            "features, or describe toss-ups in a file of anchors by hand."
        )
    breadth = (BAND[1] - BAND[0]) * len(filled) / PARTS
    return near[chosen].astype(np.int64), breadth


def _pools(posterior: FloatArray, rng: np.random.Generator) -> list[IntArray]:
    """Return the rows of each part of the band, a sample where they are many."""
    edges = np.linspace(*BAND, PARTS + 1)
    part = np.searchsorted(edges, posterior, side="right") - 1
    pools = [np.flatnonzero(part == number) for number in range(PARTS)]
    return [
        np.sort(rng.choice(pool, POOL, replace=False)) if len(pool) > POOL else pool
        for pool in pools
    ]


def _standardised(features: FloatArray) -> FloatArray:
    """Return features in which distance counts every direction alike."""
    centred = features - features.mean(axis=0)
    spread = centred.std(axis=0)
    centred = centred[:, spread > 0] / spread[spread > 0]
    if centred.shape[1] == 0:
        return np.zeros((len(features), 1))
    values, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    kept = values > 1e-8 * values[-1]
    whitened: FloatArray = centred @ vectors[:, kept] / np.sqrt(values[kept])
    return whitened


def _spread(
    places: FloatArray, owner: IntArray, wanted: int, rng: np.random.Generator
) -> list[int]:
    """Return cases that stand for the whole band, taken from its parts in turn.

    Each is the one that brings the energy distance between chosen cases and band down the
    most: drawn to the middle of the band, pushed away from cases chosen before. So their mean
    stays near the middle, where the curve is known best, and no region is left out.
    """
    n_parts = int(owner.max()) + 1
    # Every part counts alike, however many rows it has.
    share = (1 / np.bincount(owner))[owner] / n_parts
    pull = cdist(places, places) @ share
    alike = ALIKE * float(share @ pull)
    push = np.zeros(len(places))
    free = np.ones(len(places), dtype=bool)
    chosen: list[int] = []
    while len(chosen) < wanted and free.any():
        for part in rng.permutation(n_parts):
            open_ones = np.flatnonzero(free & (owner == part))
            if len(chosen) == wanted or len(open_ones) == 0:
                continue
            gain = pull[open_ones] - push[open_ones] / (len(chosen) + 1)
            best = int(open_ones[np.argmin(gain)])
            chosen.append(best)
            distance = np.linalg.norm(places - places[best], axis=1)
            push += distance
            free &= distance > alike
    return chosen


# Levels at nominal 5% where one side alone sees a column that tells as much as a feature does,
# as `python -m tests.calibration.elicited --only columns` measures them.
LEVEL_SEEING_MORE, LEVEL_SEEING_LESS = 0.23, 0.14


def information_lines(plan: SessionPlan) -> list[str]:
    """Return warnings where experts see other columns than the test goes by."""
    if plan.along is not None:
        return []  # whoever sees more than the score does no harm
    shown, used = set(plan.shown), set(plan.features)
    lines = []
    more = [name for name in plan.shown if name not in used]
    if more:
        lines.append(
            f"Warning: experts are shown {join_quoted(more)}, which the test does not use. A "
            f"toss-up to them need not be one given {join_quoted(plan.features)} alone, and the "
            f"test then rejects too often: in {LEVEL_SEEING_MORE:.0%} of simulated sessions "
            "instead of 5% where one such column told as much as a feature. Show the features "
            "only, or make what else is shown a feature; otherwise doubt any rejection, above all "
            "where the check "
            '"anchors and curve" of the test raises a concern.'
        )
    less = [name for name in plan.features if name not in shown]
    if less:
        lines.append(
            f"Warning: experts are not shown {join_quoted(less)}, which the test uses. Their "
            "toss-ups are off by what it would have told them, and the test rejects too often: in "
            f"{LEVEL_SEEING_LESS:.0%} of simulated sessions instead of 5% where one such column "
            "told as much as another feature. Show every feature, or leave it out of --features."
        )
    return lines


def hidden_lines(plan: SessionPlan, columns: list[str]) -> list[str]:
    """Return which columns of the data nobody sees, where some are left out."""
    known = {*plan.shown, plan.label, *(plan.features if plan.along is None else ())}
    hidden = [name for name in columns if name not in known]
    line = (
        f"Experts are shown {join_quoted(plan.shown)}, and not {join_quoted(hidden)}; "
        "--show names what to show."
    )
    return [line] if hidden else []
