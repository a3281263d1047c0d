"""What a session is about: the cases, the two classes, what experts are shown, what is asked for.

The test takes an anchor's posterior as that given the features. An expert judges by what is
shown. Where the two differ, toss-ups lie off the test's 1/2 by more than their tolerance says
(docs/elicit.md, "What experts see and what the test goes by").
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from evenodds.elicit.questions import Queue, choose_candidates, fitted_posterior
from evenodds.errors import InputError
from evenodds.model.logistic import climb, fit_rows
from evenodds.rows.anchor_points import STATED
from evenodds.rows.base import Rows, refuse_missing
from evenodds.rows.memory import read_rows
from evenodds.validation import FloatArray, check_whole, join_quoted

if TYPE_CHECKING:
    import pyarrow as pa


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


# Rows that cases are chosen from; more of them would only slow the start.
MOST_ROWS = 50_000
# With more features than this, cases are spaced along one index of them.
MANY_FEATURES = 30
# What a session has where nothing else is wished for.
N_CASES, N_REPEATS, SEED = 60, 12, 0


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
        Columns that the test will go by.
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

    def queue(self) -> Queue:
        """Return the order of questions."""
        return Queue(self.cases, min(self.n_repeats, len(self.cases)), self.seed)

    def to_json(self) -> str:
        """Write it down."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read it back."""
        known: dict[str, Any] = json.loads(text)
        lists = {name: tuple(known[name]) for name in ("features", "shown", "cases")}
        return cls(**{**known, **lists})


def plan_session(
    table: "pa.Table",
    *,
    label: str,
    features: tuple[str, ...],
    shown: tuple[str, ...] | None = None,
    positive: str | None = None,
    n_cases: int = N_CASES,
    n_repeats: int = N_REPEATS,
    seed: int = SEED,
) -> SessionPlan:
    """Choose the cases of a session.

    Parameters
    ----------
    table : pyarrow.Table
        The data.
    label : str
        Column of given labels, used to space the cases and never shown.
    features : tuple of str
        Columns that the test will go by; they must be numbers.
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
    chosen = choose_candidates(matrix, posterior, n_cases=n_cases, seed=seed)
    cases = tuple(int(row) for row in kept[chosen.rows])
    return SessionPlan(
        label=label,
        negative=str(rows.negative),
        positive=str(rows.positive),
        features=features,
        shown=features if shown is None else shown,
        cases=cases,
        breadth=chosen.breadth,
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


# Levels at nominal 5 % where one side alone sees a column that tells as much as a feature does,
# as `python -m tests.calibration.elicited --only columns` measures them.
LEVEL_SEEING_MORE, LEVEL_SEEING_LESS = 0.23, 0.14


def information_lines(plan: SessionPlan) -> list[str]:
    """Return warnings where experts see other columns than the test goes by."""
    shown, used = set(plan.shown), set(plan.features)
    lines = []
    more = [name for name in plan.shown if name not in used]
    if more:
        lines.append(
            f"Warning: experts are shown {join_quoted(more)}, which the test does not go by. A "
            f"toss-up to them need not be one given {join_quoted(plan.features)}, and the test "
            f"then rejects too often: in {LEVEL_SEEING_MORE:.0%} of simulated sessions instead of "
            "5% where one such column told as much as a feature. Show the features only, or make "
            "what else is shown a feature; else doubt any rejection, and more so where the check "
            '"anchors and curve" of the test raises a concern.'
        )
    less = [name for name in plan.features if name not in shown]
    if less:
        lines.append(
            f"Warning: experts are not shown {join_quoted(less)}, which the test goes by. Their "
            "toss-ups are off by what it would have told them, and the test rejects too often: in "
            f"{LEVEL_SEEING_LESS:.0%} of simulated sessions instead of 5% where one such column "
            "told as much as another feature. Show every feature, or leave it out of --features."
        )
    return lines


def hidden_line(plan: SessionPlan, columns: list[str]) -> str | None:
    """Return which columns of the data nobody sees, where some are left out."""
    known = {*plan.shown, *plan.features, plan.label}
    hidden = [name for name in columns if name not in known]
    if not hidden:
        return None
    return (
        f"Experts are shown {join_quoted(plan.shown)}, and not {join_quoted(hidden)}; "
        "--show names what to show."
    )
