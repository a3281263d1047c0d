"""Which rows an expert judges: drawn at random within strata of a score, and recorded.

The strata are fixed before anybody is asked. Cases come in one random order across strata, so
that the first of them are a valid, smaller design; the record knows its scores, so that answers
for other scores, or for rows that were not drawn, are refused.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenodds.errors import InputError
from evenodds.files import whole_file
from evenodds.rows.classes import read_classes
from evenodds.rows.labels import read_labels
from evenodds.rows.memory import read_groups, read_weights
from evenodds.validation import (
    FloatArray,
    as_array,
    check_choice,
    check_vector,
    check_whole,
    counted,
)

Answers = Literal["probability", "looked-up"]

SCHEMA_VERSION = 1
FEWEST_CASES, MOST_CASES = 12, 100_000
FEWEST_STRATA, MOST_STRATA = 2, 20
# Without a wish: three strata for 30 cases, five for 60, eight for 120 and more.
CASES_PER_STRATUM, USUAL_STRATA = 15, (3, 8)
# A stratum holds at least this many rows, and two for each of its cases.
FEWEST_ROWS = 15
# Steps of confidence within a predicted class: at most so many, with so many cases a cell.
CASES_PER_CELL, MOST_STEPS = 10, 3
# Cases of a cell go by this power of its rows; of several classes nearer to proportion, since
# flips of each pair may hide in the few cells that hold most rows.
OF_TWO, OF_SEVERAL = 0.5, 0.75
# Of every given label of a stratum, where cases are drawn by label.
FEWEST_OF_A_CELL = 2
# Steps of the probability lie between these, with one stratum beyond at either end.
FIRST_STEP, LAST_STEP = 0.1, 0.9
# Where fewer steps than this hold enough rows, strata are cut at quantiles of the score.
FEWEST_STEPS = 4

Ints = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """Rows to judge, in the order in which they are judged, and how they were drawn.

    Attributes
    ----------
    rows : array of int
        Numbers of the rows, counted from 0, in the order to show them.
    strata : array of int
        The stratum of each of them.
    edges : array of float
        Scores that divide the strata, rising; a score on an edge belongs above it.
    n_rows, seed : int
        Rows of the data, and what the draw was made with.
    scores_hash : str
        Tells the scores that the cases were drawn from.
    given_hash : str or None
        Where cases were drawn by given label too: tells these labels.
    n_classes : int or None
        Of probabilities of several classes: how many. Strata are then predicted class by
        predicted class, and edges those of the highest probability.
    """

    rows: Ints
    strata: Ints
    edges: FloatArray
    n_rows: int
    seed: int
    scores_hash: str
    given_hash: str | None = None
    n_classes: int | None = None

    def __len__(self) -> int:
        """Return the number of cases."""
        return len(self.rows)

    @property
    def n_strata(self) -> int:
        """The number of strata of the score."""
        return (len(self.edges) + 1) * (self.n_classes or 1)

    def strata_of(self, scores: ArrayLike) -> Ints:
        """Return the stratum of each score, refusing scores that the cases were not drawn from."""
        values = read_scores(scores) if self.n_classes is None else read_probabilities(scores)
        if len(values) != self.n_rows:
            raise InputError(
                f"scores has {len(values):,} rows but the cases were drawn from {self.n_rows:,}: "
                "give the scores that choose_cases had."
            )
        if hash_of(values) != self.scores_hash:
            raise InputError(
                "these are not the scores that the cases were drawn from: give those that "
                "choose_cases had, or draw cases anew from these and judge them."
            )
        return (
            cut(values, self.edges) if self.n_classes is None else cut_classes(values, self.edges)
        )

    def check_given(self, labels: NDArray[Any]) -> None:
        """Refuse labels, positive or not or numbers of classes, that cases were not drawn by."""
        if len(labels) != self.n_rows:
            raise InputError(
                f"given has {len(labels):,} labels but the cases were drawn from "
                f"{self.n_rows:,} rows: give the labels of all rows."
            )
        if self.given_hash not in (None, hash_of_labels(labels)):
            raise InputError(
                "these are not the given labels that the cases were drawn by: give those that "
                "choose_cases had, or draw cases anew by these and look them up."
            )

    def save(self, path: str | Path) -> Path:
        """Write the record as JSON; the file appears whole or not at all."""
        with whole_file(Path(path)) as file:
            file.write(json.dumps(self.to_dict(), indent=1))
        return Path(path)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON knows it."""
        record: dict[str, Any] = {"schema_version": SCHEMA_VERSION, **asdict(self)}
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in record.items()
            if value is not None
        }

    @classmethod
    def read(cls, path: str | Path) -> "Cases":
        """Read a record that `save` wrote."""
        try:
            record = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise InputError(f"{path} cannot be read as cases: {error}") from None
        return cls.from_dict(record, str(path))

    @classmethod
    def from_dict(cls, record: Any, name: str = "record") -> "Cases":
        """Make cases of a record, refusing what `save` has not written."""
        wanted = {"schema_version", *cls.__dataclass_fields__}
        optional = {"given_hash", "n_classes"}
        if not isinstance(record, dict) or set(record) | optional != wanted:
            raise InputError(
                f"{name} is no record of cases: choose_cases(...).save(path) writes one."
            )
        if record["schema_version"] != SCHEMA_VERSION:
            raise InputError(
                f"{name} is of schema version {record['schema_version']!r} but this version of "
                f"evenodds reads {SCHEMA_VERSION}."
            )
        try:
            rows = np.array(record["rows"], dtype=np.intp)
            strata = np.array(record["strata"], dtype=np.intp)
            edges = np.array(record["edges"], dtype=float)
            n_rows, seed = int(record["n_rows"]), int(record["seed"])
            n_classes = None if record.get("n_classes") is None else int(record["n_classes"])
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{name} is damaged: its numbers cannot be read.") from None
        drawn = np.unique(rows)
        whole = (
            rows.ndim == strata.ndim == edges.ndim == 1
            and len(rows) == len(strata) == len(drawn) > 0
            and drawn[0] >= 0
            and drawn[-1] < n_rows
            and bool(np.all(np.diff(edges) > 0))
            and set(np.unique(strata)) <= set(range((len(edges) + 1) * (n_classes or 1)))
        )
        if not whole:
            raise InputError(f"{name} is damaged: its rows, strata and edges do not fit together.")
        return cls(
            rows=rows,
            strata=strata,
            edges=edges,
            n_rows=n_rows,
            seed=seed,
            scores_hash=str(record["scores_hash"]),
            given_hash=record.get("given_hash"),
            n_classes=n_classes,
        )


def choose_cases(
    scores: ArrayLike,
    *,
    n_cases: int = 60,
    n_strata: int | None = None,
    given: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    seed: int = 0,
) -> Cases:
    """Draw the rows that an expert judges, at random within strata of a score.

    Parameters
    ----------
    scores : array-like of float
        For each row, the probability that its given label is positive, by a model that did not
        see that label: `out_of_fold_scores` makes them. Of three classes or more, a column for
        each in sort order (scikit-learn's ``cross_val_predict(..., method="predict_proba")``),
        with `given`.
    n_cases : int, default 60
        How many rows are judged.
    n_strata : int, optional
        Strata of the score; by default three for 30 cases, five for 60, eight for 120. Of several
        classes, steps of confidence within each predicted class: by default up to three, as long
        as cells of stratum and label have ten cases on average.
    given : array-like, optional
        Given labels of all rows, where the truth will be looked up: cases are then drawn from
        both labels of every stratum, as `audit_test` reads them best.
    groups : array-like, optional
        Rows that belong together (one patient); at most one row of each is judged.
    sample_weight : array-like, optional
        How many rows each row stands for; it is drawn in proportion.
    seed : int, default 0
        Of the draw.

    Returns
    -------
    Cases
        Numbers of the rows in the order to show them, their strata, and the edges of the strata.

    Raises
    ------
    InputError
        If the scores cannot be divided into strata, or hold fewer rows than cases.

    See Also
    --------
    line_test : The test on what was stated of these cases.
    audit_test : The test on what was looked up, valid whatever flips depend on.
    confusion_test : The same for three classes and more.

    Notes
    -----
    Steps of the score are even between 0.1 and 0.9, with a stratum beyond at either end; steps
    with too few rows are joined to their neighbours. Where fewer than four are left, strata
    are cut at quantiles of the score.

    With `given`, a stratum and label gets cases in proportion to the root of its rows, and at
    least two, or all of its rows. The order is random, and spreads each of them evenly from the
    first case to the last. Of several classes a cell is a predicted class, a step of the highest
    probability and a given label, and gets cases by the power 0.75 of its rows.

    Examples
    --------
    >>> import numpy as np
    >>> import evenodds as eo
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(2000)
    >>> given = rng.random(2000) < scores
    >>> cases = eo.choose_cases(scores, n_cases=60, given=given)
    >>> [int((cases.strata[given[cases.rows]] == stratum).sum()) for stratum in range(5)]
    [2, 5, 8, 9, 6]
    """
    several = np.ndim(scores) == 2 and np.shape(scores)[1] > 2
    values = read_probabilities(scores) if several else read_scores(scores)
    wanted = check_whole(n_cases, "n_cases", at_least=FEWEST_CASES, at_most=MOST_CASES)
    seed = check_whole(seed, "seed")
    if n_strata is not None:
        fewest = 1 if several else FEWEST_STRATA
        n_strata = check_whole(n_strata, "n_strata", at_least=fewest, at_most=MOST_STRATA)
    if len(values) < 2 * wanted:
        raise InputError(
            f"scores has {len(values):,} rows but {wanted} cases need at least {2 * wanted}: half "
            "of the rows must be left to count labels. Ask for fewer cases."
        )
    if several:
        if given is None or groups is not None or sample_weight is not None:
            raise InputError(
                "scores of several classes go with given, and without groups and sample_weight: "
                "cases are drawn by given label, and every row counts as one."
            )
        return _choose_by_class(values, given, wanted, n_strata, seed)
    edges = edges_of(values, wanted, n_strata)
    strata = cut(values, edges)
    rng = np.random.default_rng(seed)
    weights = read_weights(sample_weight, len(values))
    alike = None
    if groups is not None:
        alike = read_groups(groups, len(values), whose=f"scores has {len(values):,} rows")[0]
    labelled = None if given is None else _read_given(given, len(values))
    if labelled is None:
        rows = _draw(strata, wanted, weights, alike, rng)
    elif weights is None and alike is None:
        rows = _draw_by_label(2 * strata + labelled, wanted, rng)
    else:
        raise InputError(
            "given goes without groups and sample_weight: a stratified audit takes every row as "
            "one, independent of others."
        )
    return Cases(
        rows=rows,
        strata=strata[rows],
        edges=edges,
        n_rows=len(values),
        seed=seed,
        scores_hash=hash_of(values),
        given_hash=None if labelled is None else hash_of_labels(labelled),
    )


def _choose_by_class(
    values: FloatArray,
    given: ArrayLike,
    n_cases: int,
    n_steps: int | None,
    seed: int,
) -> Cases:
    """Draw cases by predicted class, step of confidence and given label."""
    n_rows, n_classes = values.shape
    labels = read_classes(given, "given")
    if len(labels.codes) != n_rows:
        raise InputError(f"given has {len(labels.codes):,} labels but scores has {n_rows:,} rows.")
    if len(labels.names) != n_classes:
        raise InputError(
            f"scores has {n_classes} columns but given has {len(labels.names)} classes: give a "
            "column for each, in sort order."
        )
    if n_steps is None:
        n_steps = int(np.clip(n_cases // (CASES_PER_CELL * n_classes**2), 1, MOST_STEPS))
    sure = values.max(axis=1)
    edges = np.unique(np.quantile(sure, np.arange(1, n_steps) / n_steps))
    edges = edges[edges > sure.min()]
    strata = cut_classes(values, edges)
    rng = np.random.default_rng(seed)
    rows = _draw_by_label(n_classes * strata + labels.codes, n_cases, rng, OF_SEVERAL)
    return Cases(
        rows=rows,
        strata=strata[rows],
        edges=edges,
        n_rows=n_rows,
        seed=seed,
        scores_hash=hash_of(values),
        given_hash=hash_of_labels(labels.codes),
        n_classes=n_classes,
    )


def check_answers(value: Any, name: str = "answers") -> Answers:
    """Return a checked kind of answers."""
    kind: Answers = check_choice(value, name, get_args(Answers))  # type: ignore[assignment]
    return kind


def read_scores(scores: ArrayLike) -> FloatArray:
    """Return scores as probabilities, refusing what is none."""
    values = check_vector(scores, "scores", np.size(as_array(scores)), "row", one_for_all=False)
    outside = np.flatnonzero((values < 0) | (values > 1))
    if len(outside):
        raise InputError(
            f"scores must lie between 0 and 1 but score {outside[0] + 1:,} of {len(values):,} is "
            f"{values[outside[0]]:g}: give the probability that the given label is positive."
        )
    return values


def read_probabilities(scores: ArrayLike) -> FloatArray:
    """Return probabilities of several classes, refusing what is none."""
    values = np.asarray(as_array(scores), dtype=np.float64)
    if values.ndim != 2 or values.shape[1] < 3:
        raise InputError(
            f"scores has shape {values.shape} but these cases are of several classes: give a "
            "column of probabilities for each class."
        )
    off = np.flatnonzero(~((values >= 0).all(axis=1) & (np.abs(values.sum(axis=1) - 1) < 0.01)))
    if len(off):
        raise InputError(
            f"scores of row {off[0]:,} are not probabilities that add up to 1: give that of each "
            "class."
        )
    return values


def hash_of(scores: FloatArray) -> str:
    """Return a few letters that only these scores have."""
    stored = np.ascontiguousarray(scores, dtype="<f8").data
    return hashlib.blake2b(stored, digest_size=16).hexdigest()


def hash_of_labels(labels: NDArray[Any]) -> str:
    """Return a few letters that only these labels have, whichever of the two is positive."""
    two = labels.dtype == np.bool_
    stored = np.packbits(labels != labels[0]).data if two else labels.astype("<u2").data
    return hashlib.blake2b(stored, digest_size=16).hexdigest()


def cut(scores: FloatArray, edges: FloatArray) -> Ints:
    """Return the stratum of each score."""
    strata = np.zeros(len(scores), dtype=np.uint8)
    for edge in edges:  # a few passes in order are faster than a search for each score
        strata += scores >= edge
    return strata.astype(np.intp)


def cut_classes(probabilities: FloatArray, edges: FloatArray) -> Ints:
    """Return the stratum of each row: its likeliest class, and how likely that is."""
    steps = cut(probabilities.max(axis=1), edges)
    return np.asarray(probabilities.argmax(axis=1) * (len(edges) + 1) + steps)


def _fewest_rows(n_cases: int, n_strata: int) -> int:
    """Return the rows that every stratum needs: twice its cases, so that some are left to count."""
    return max(FEWEST_ROWS, 2 * -(-n_cases // n_strata))


def edges_of(scores: FloatArray, n_cases: int, wished: int | None = None) -> FloatArray:
    """Return where strata end: even steps of the score that hold enough rows, or quantiles."""
    usual = int(np.clip(round(n_cases / CASES_PER_STRATUM) + 1, *USUAL_STRATA))
    n_strata = usual if wished is None else wished
    steps = np.linspace(FIRST_STEP, LAST_STEP, n_strata - 1) if n_strata > 2 else np.array([0.5])
    kept = _joined(scores, steps, n_cases)
    if len(kept) + 1 < min(FEWEST_STEPS, n_strata):
        quantiles = np.unique(np.quantile(scores, np.arange(1, n_strata) / n_strata))
        kept = _joined(scores, quantiles[quantiles > scores.min()], n_cases)
    if not len(kept):
        distinct = len(np.unique(scores))
        raise InputError(
            f"the scores cannot be divided: they have {counted(distinct, 'distinct value')}, and "
            f"{n_cases} cases need two strata of "
            f"{_fewest_rows(n_cases, 2)} rows each. Ask for fewer cases; a score that is the same "
            "for every row knows nothing of the labels."
        )
    return kept


def _joined(scores: FloatArray, edges: FloatArray, n_cases: int) -> FloatArray:
    """Return edges without those that leave a stratum with too few rows, the smallest first.

    The fewer strata are left, the more cases each of them has, and the more rows it needs.
    """
    kept = list(edges)
    while kept:
        sizes = np.bincount(cut(scores, np.array(kept)), minlength=len(kept) + 1)
        smallest = int(sizes.argmin())
        if sizes[smallest] >= _fewest_rows(n_cases, len(sizes)):
            break
        # Ends join inwards; others the smaller of their neighbours.
        below = smallest == len(kept) or (
            smallest > 0 and sizes[smallest - 1] <= sizes[smallest + 1]
        )
        kept.pop(smallest - 1 if below else smallest)
    return np.array(kept)


def _read_given(given: ArrayLike, n_rows: int) -> NDArray[np.bool_]:
    labels = read_labels(given, name="given")
    if len(labels) != n_rows:
        raise InputError(f"given has {len(labels):,} labels but scores has {n_rows:,} rows.")
    return np.asarray(labels.block(slice(None)) == 1)


def _draw_by_label(
    cells: Ints, n_cases: int, rng: np.random.Generator, power: float = OF_TWO
) -> Ints:
    """Return rows drawn within cells, in an order whose beginnings are spread over all cells."""
    shuffled = rng.permutation(len(cells))
    shuffled = shuffled[np.argsort(cells[shuffled], kind="stable")]
    _, starts, sizes = np.unique(cells[shuffled], return_index=True, return_counts=True)
    shares = shares_of_cells(sizes, n_cases, power)
    turn = np.arange(len(cells)) - np.repeat(starts, sizes)
    # A cell's first case falls into its first share of the order, and so on.
    place = (turn + rng.random(len(cells))) / np.repeat(shares, sizes)
    drawn = np.flatnonzero(turn < np.repeat(shares, sizes))
    return np.asarray(shuffled[drawn[np.argsort(place[drawn])]])


def shares_of_cells(sizes: Ints, n_cases: int, power: float = OF_TWO) -> Ints:
    """Return cases of each cell, near a power of its rows: at least two, or all that it has.

    Between equal numbers, which waste cases on small cells, and numbers in proportion, which
    leave small ones out.
    """
    shares = np.minimum(FEWEST_OF_A_CELL, sizes)
    if shares.sum() > n_cases:
        raise InputError(
            f"n_cases is {n_cases} but {len(sizes)} cells of stratum and given label need "
            f"{shares.sum()}: ask for more cases or fewer strata."
        )
    for _ in range(n_cases - int(shares.sum())):
        wanting = np.where(shares < sizes, sizes**power / (shares + 0.5), 0.0)
        shares[int(wanting.argmax())] += 1
    return shares


def _draw(
    strata: Ints,
    n_cases: int,
    weights: FloatArray | None,
    groups: Ints | None,
    rng: np.random.Generator,
) -> Ints:
    """Return rows drawn within strata, equally many from each, in one random order."""
    allowed = np.ones(len(strata), dtype=bool) if weights is None else weights > 0
    if not allowed.any():
        raise InputError("sample_weight is 0 for every row: nothing can be drawn.")
    present = np.unique(strata[allowed])
    shares = np.full(len(present), n_cases // len(present))
    shares[rng.permutation(len(present))[: n_cases - shares.sum()]] += 1
    if groups is not None:
        keys = rng.exponential(size=len(strata))
        if weights is not None:
            keys /= np.where(allowed, weights, 1.0)
        order = np.argsort(keys, kind="stable")
        wanted = dict(zip(present, shares, strict=True))
        drawn = _skipping_groups(order[allowed[order]], strata, wanted, groups)
    else:
        drawn = [
            _sampled(np.flatnonzero(allowed & (strata == one)), int(share), weights, rng)
            for one, share in zip(present, shares, strict=True)
        ]
    return rng.permutation(np.concatenate(drawn))


def _skipping_groups(order: Ints, strata: Ints, wanted: dict[int, int], groups: Ints) -> list[Ints]:
    """Return rows of each stratum in the order of a draw that skips groups it has met."""
    met: set[int] = set()
    drawn: dict[int, list[int]] = {one: [] for one in wanted}
    missing = sum(wanted.values())
    for row in order:
        of_row = drawn[strata[row]]
        if groups[row] not in met and len(of_row) < wanted[strata[row]]:
            met.add(groups[row])
            of_row.append(int(row))
            missing -= 1
            if not missing:
                break
    for one, rows in drawn.items():
        _refuse_too_few(len(rows), wanted[one])
    return [np.array(rows, dtype=np.intp) for rows in drawn.values()]


def _refuse_too_few(found: int, share: int) -> None:
    if found < share:
        raise InputError(
            f"a stratum has {found} rows that may be judged but {share} are needed: ask for fewer "
            "cases or fewer strata."
        )


def _sampled(rows: Ints, share: int, weights: FloatArray | None, rng: np.random.Generator) -> Ints:
    """Return some of the rows: each alike, or in proportion to its weight (systematically)."""
    _refuse_too_few(len(rows), share)
    if weights is None:
        return rng.choice(rows, share, replace=False)
    shuffled = rng.permutation(rows)
    ends = np.cumsum(weights[shuffled]) * share / weights[shuffled].sum()
    if (np.diff(ends, prepend=0.0) > 1).any():
        heaviest = shuffled[weights[shuffled].argmax()]
        raise InputError(
            f"row {heaviest + 1:,} of {len(weights):,} has so much of the weight of its stratum "
            "that it would be drawn more than once: ask for fewer cases, or drop sample_weight."
        )
    return shuffled[np.searchsorted(ends, rng.random() + np.arange(share), side="right")]
