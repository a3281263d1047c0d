"""The record of a draw: which rows are judged, in which order, and of which scores.

It knows its scores, so that answers for other scores, or for rows that were not drawn, are
refused.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenodds.errors import InputError
from evenodds.files import as_path, whole_file
from evenodds.validation import FloatArray, as_array, check_choice, check_vector, index_of

Answers = Literal["probability", "looked-up"]
Ints = NDArray[np.intp]

# A line needs so many answers in every stratum.
FEWEST_ANSWERS: dict[Answers, int] = {"probability": 5, "looked-up": 3}

SCHEMA_VERSION = 1


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
    weights_hash : str or None
        Where cases were drawn in proportion to weights: tells these weights.
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
    weights_hash: str | None = None
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
        several = self.n_classes is not None
        values = read_probabilities(scores) if several else read_scores(scores, lent=True)
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
        strata = cut(values, self.edges) if not several else cut_classes(values, self.edges)
        if not np.array_equal(strata[self.rows], self.strata):
            raise InputError(
                "the record of the cases is damaged: some are not of the stratum that it says."
            )
        return strata

    def check_order(self, answers: Any, name: str) -> None:
        """Refuse answers that a pandas index tells are of these cases in another order."""
        index = index_of(answers)
        if index is None:
            return
        told, drawn = np.asarray(index), self.rows[: len(index)]
        if told.dtype.kind != "i" or np.array_equal(told, drawn):
            return
        if np.array_equal(np.sort(told), np.sort(drawn)):
            raise InputError(
                f"{name} has the rows of the cases for its index, in another order: give "
                f"{name}.loc[cases.rows]."
            )

    def check_weights(self, weights: FloatArray | None) -> None:
        """Refuse other weights than cases were drawn with: they stand for other rows."""
        if self.weights_hash == hash_of_weights(weights):
            return
        drawn = (
            "without" if self.weights_hash is None else "with" if weights is None else "by other"
        )
        raise InputError(
            f"these cases were drawn {drawn} weights: draw and test with the same sample_weight, "
            "or with none."
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
        with whole_file(as_path(path)) as file:
            file.write(json.dumps(self.to_dict(), indent=1))
        return as_path(path)

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
        return cls.from_dict(read_json(path, "cases"), str(path))

    @classmethod
    def from_dict(cls, record: Any, name: str = "record") -> "Cases":
        """Make cases of a record, refusing what `save` has not written."""
        wanted = {"schema_version", *cls.__dataclass_fields__}
        optional = {"given_hash", "weights_hash", "n_classes"}
        if not isinstance(record, dict) or set(record) | optional != wanted:
            raise InputError(
                f"{name} is no record of cases: evenodds cases or choose_cases(...).save(path) "
                "writes one."
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
            weights_hash=record.get("weights_hash"),
            n_classes=n_classes,
        )


def read_json(path: str | Path, what: str) -> Any:
    """Return what a file of JSON holds; `what` it should be is for the message."""
    file = as_path(path)
    try:
        return json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        reason = f"{error.strerror}."
    except UnicodeDecodeError:
        reason = "it is no text in UTF-8."
    except json.JSONDecodeError as error:
        reason = f"it is no JSON from line {error.lineno}, column {error.colno} on."
    except RecursionError:
        reason = "its lists are nested too deeply."
    except ValueError:  # of Python's limit on whole numbers
        reason = "it holds a number of thousands of digits."
    raise InputError(f"{path} cannot be read as {what}: {reason}")


def check_answers(value: Any, name: str = "answers") -> Answers:
    """Return a checked kind of answers."""
    kind: Answers = check_choice(value, name, get_args(Answers))  # type: ignore[assignment]
    return kind


def read_scores(scores: ArrayLike, *, lent: bool = False) -> FloatArray:
    """Return scores as probabilities, refusing what is none; no copy where they are only lent."""
    given = as_array(scores)
    if given.ndim == 2 and given.shape[1] == 2:
        raise InputError(
            "scores has two columns, one for each class as predict_proba gives them: give the "
            "column of the positive class, as scores[:, 1]."
        )
    n_rows = len(given) if given.ndim else 1
    values = check_vector(given, "scores", n_rows, "row", one_for_all=False, lent=lent)
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
            f"scores of row {off[0] + 1:,} of {len(values):,} are not probabilities that add up to "
            "1: give that of each class."
        )
    return values


def hash_of(scores: FloatArray) -> str:
    """Return a few letters that only these scores have."""
    return _hash(np.ascontiguousarray(scores, dtype="<f8").data)


def hash_of_weights(weights: FloatArray | None) -> str | None:
    """Return a few letters that only these weights have; none where all are equal."""
    return None if weights is None or np.ptp(weights) == 0 else hash_of(weights)


def hash_of_labels(labels: NDArray[Any]) -> str:
    """Return a few letters that only these labels have, whichever of the two is positive."""
    two = labels.dtype == np.bool_
    return _hash(np.packbits(labels != labels[0]).data if two else labels.astype("<u2").data)


def _hash(stored: memoryview) -> str:
    # Processors compute this one themselves: half the time of others on a million scores.
    return hashlib.sha256(stored).hexdigest()[:32]


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
