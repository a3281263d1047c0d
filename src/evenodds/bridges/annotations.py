"""Who said what of which item: what the files of labelling tools are read into, and written from.

Two ways lead from here to a test. Annotators gave the labels, and the truth of some items is
known: `Annotations.audit`. Or drawn cases were judged in the tool: `Annotations.judged`.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import InputError
from evenodds.inference.cases.judged import ROW, JudgedCases, Said, experts_near, judged_of
from evenodds.inference.cases.record import Cases, check_answers
from evenodds.validation import counted, join_quoted, near_misses

# Beside the number of a row, a task keeps which scores its case was drawn from.
DRAW, TEXT = "draw", "text"
# What to call answers that several annotators gave, each about cases of their own.
EVERYBODY = "everybody"
# Probabilities to choose from: finer at the ends, where a tenth is much.
STEPS = (0.01, 0.05, *(tenth / 10 for tenth in range(1, 10)), 0.95, 0.99)


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """One answer about one item.

    Attributes
    ----------
    place : str
        Where in the file it stands, in words.
    item, annotator : str
        What was labelled, and by whom.
    said : str or None
        A label, a stated probability, or None where the annotator skipped the item.
    is_truth : bool
        Whether the tool marks it as the truth.
    """

    place: str
    item: str
    annotator: str
    said: str | None
    is_truth: bool = False


@dataclass(frozen=True, slots=True)
class Audited:
    """Labels of items whose truth is known.

    Attributes
    ----------
    true, given, annotators, items : array
        The true label, the given one, who gave it, and of what; one of each a label.
    """

    true: NDArray[Any]
    given: NDArray[Any]
    annotators: NDArray[Any]
    items: NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """All answers of a file.

    Attributes
    ----------
    source : str
        The file.
    answers : tuple of Annotation
        In the order of the file.
    items : dict
        What the tool knows of each item, also of those that nobody answered.
    """

    source: str
    answers: tuple[Annotation, ...]
    items: Mapping[str, Mapping[str, Any]]

    def __post_init__(self) -> None:
        if not self.answers:
            raise InputError(f"{self.source} holds no answers yet.")
        seen = set()
        for one in self.answers:
            if one.said is None:  # who skipped an item may answer it later
                continue
            key = (one.item, one.annotator, one.is_truth)
            if key in seen:
                raise InputError(
                    f"{one.place} of {self.source} is one more answer by {one.annotator!r} about "
                    f"{one.item}: keep one."
                )
            seen.add(key)

    @property
    def annotators(self) -> tuple[str, ...]:
        """Everybody who answered, in the order of the file."""
        return tuple(dict.fromkeys(one.annotator for one in self.answers))

    @property
    def skipped(self) -> tuple[Annotation, ...]:
        """Answers that were cancelled or ignored.

        Where an annotator could not tell, the item may be a toss-up: an expert should say, since
        items are skipped for other reasons too.
        """
        return tuple(one for one in self.answers if one.said is None)

    def toss_ups(self) -> NDArray[np.intp]:
        """Return rows that somebody skipped, to be offered to an expert as toss-ups.

        What the expert confirms, ``eo.Anchors.from_rows(X, rows)`` takes.
        """
        return np.array(
            list(dict.fromkeys(self._row(one.item) for one in self.skipped)), dtype=np.intp
        )

    def columns(self, *, truth: str | None = None, given: str | None = None) -> dict[str, Any]:
        """Return a table of given labels: columns item, annotator, given, and true where known.

        Parameters
        ----------
        truth : str, optional
            The annotator whose answers are the truth; default, what the tool marks as such.
        given : str, optional
            The field of an item that holds its given label, such as a model's verdict, which
            then stands for the annotator; default, what the other annotators said.
        """
        true = self._truth(truth, is_only=given is not None)
        if truth is None and given is None:
            self._refuse_marked_labels()
        if given is not None:
            known = [(item, given, self._field(item, given)) for item in self.items]
        else:
            known = [
                (one.item, one.annotator, one.said)
                for one in self.answers
                if one.said is not None and not self._is_truth(one, truth)
            ]
        if not known:
            raise InputError(
                f"{self.source} holds the truth and no given label beside it: name the field with "
                "the given labels, or let annotators label these items."
            )
        item, annotator, labels = zip(*known, strict=True)
        return {
            "item": list(item),
            "annotator": list(annotator),
            "given": [str(label) for label in labels],
            "true": [true.get(name) for name in item],
        }

    def audit(self, *, truth: str | None = None, given: str | None = None) -> Audited:
        """Return the labels whose truth is known, as `audit_test` and `annotator_audit` take them.

        Parameters are those of `columns`. Items should have been chosen at random for the truth
        to be found; several labels of an item, or of an annotator, are not independent:
        ``eo.audit_test(a.true, a.given, groups=(a.items, a.annotators))``.
        """
        table = self.columns(truth=truth, given=given)
        known = [number for number, label in enumerate(table["true"]) if label is not None]
        if not known:
            raise InputError(f"{self.source} has no label of an item whose truth is known.")
        order = ("true", "given", "annotator", "item")
        return Audited(*(np.array([table[name][n] for n in known]) for name in order))

    def judged(
        self,
        cases: Cases,
        *,
        kind: str,
        classes: tuple[Any, Any],
        experts: Sequence[str] | None = None,
    ) -> JudgedCases:
        """Return answers about drawn cases, in the order of ``cases.rows``.

        Parameters
        ----------
        cases : Cases
            The draw that the tasks were written from.
        kind : {"probability", "looked-up"}
            What the answers are.
        classes : pair
            The negative and the positive label of the data.
        experts : list of str, optional
            Whose answers count; default, everybody's.

        Returns
        -------
        JudgedCases
            Its ``stated`` goes into `line_test`, or its only column into `audit_test`.
        """
        asked = check_answers(kind, "kind")
        # A case that one annotator skipped may have gone to another; if not, it is a gap below.
        wanted = self.annotators if experts is None else experts
        self._check_known(wanted)
        answers = [one for one in self.answers if one.said is not None and one.annotator in wanted]
        if not answers:
            raise InputError(f"{self.source} holds no answers yet.")
        rows = [self._row(one.item) for one in answers]
        for one in answers:
            if self.items[one.item].get(DRAW, cases.scores_hash) != cases.scores_hash:
                raise InputError(
                    f"{one.place} of {self.source} was drawn from other scores than these cases: "
                    "give the draw that the tasks were written from."
                )
        # A truth is the same whoever looked it up: answers to different cases are one column.
        alone = len({*rows}) == len(rows) and len({one.annotator for one in answers}) > 1
        said: dict[str, dict[int, Any]] = {}
        opposite = {f"not {one}": str(two) for one, two in (classes, classes[::-1])}
        for row, one in zip(rows, answers, strict=True):
            own = said.setdefault(EVERYBODY if alone else one.annotator, {})
            if row in own:
                raise InputError(
                    f"{one.place} of {self.source} is one more answer by {one.annotator!r} about "
                    f"row {row}: keep one."
                )
            own[row] = opposite.get(str(one.said), one.said)
        numbers = list(dict.fromkeys(rows))
        columns = [
            Said(name, f"answers by {name!r}", [own.get(row) for row in numbers])
            for name, own in said.items()
        ]
        return judged_of(self.source, numbers, columns, cases, kind=asked, classes=classes)

    def _truth(self, truth: str | None, *, is_only: bool) -> dict[str, str]:
        """Return the truth of each item that has one."""
        self._check_known([] if truth is None else [truth])
        marked = [one for one in self.answers if self._is_truth(one, truth)]
        if not marked and is_only and len(self.annotators) == 1:
            marked = list(self.answers)
        if not marked:
            raise InputError(
                f"{self.source} marks no answer as the truth (ground_truth): name the annotator "
                f"who looked it up; answers are by {join_quoted(self.annotators)}."
            )
        found: dict[str, str] = {}
        for one in marked:
            if one.said is not None and found.setdefault(one.item, str(one.said)) != str(one.said):
                raise InputError(
                    f"{one.place} of {self.source} has two truths, {found[one.item]!r} and "
                    f"{str(one.said)!r}: keep one."
                )
        return found

    def _check_known(self, names: Sequence[str]) -> None:
        """Refuse names of nobody who answered."""
        for name in names:
            if name not in self.annotators:
                near = experts_near(name, self.annotators)
                raise InputError(f"{self.source} has no answers by {name!r}; {near}")

    def _refuse_marked_labels(self) -> None:
        """Refuse marks on labels that annotators gave: those that are right would go missing."""
        labels = [one for one in self.answers if one.said is not None and not one.is_truth]
        given = {(one.annotator, one.item) for one in labels}
        places = {one.annotator: one.place for one in reversed(labels)}
        for one in self.answers:
            who = one.annotator
            if one.is_truth and who in places and (who, one.item) not in given:
                raise InputError(
                    f"{self.source} has answers by {who!r} that are marked as the truth "
                    f"(ground_truth), as in {one.place}, and others that are not, as in "
                    f"{places[who]}: where right labels are marked, only wrong ones are left to "
                    "audit. Mark all answers of an account or none, or name the annotator who "
                    "looked the truth up."
                )

    @staticmethod
    def _is_truth(one: Annotation, truth: str | None) -> bool:
        return one.is_truth if truth is None else one.annotator == truth

    def _field(self, item: str, name: str) -> Any:
        if self.items[item].get(name) is None:
            near = near_misses(name, [field for field in self.items[item] if field != name])
            near = near.replace("the columns are", "its fields are").replace("columns", "fields")
            advice = "tasks that evenodds cases wrote have it." if name == ROW else near
            raise InputError(f"item {item} of {self.source} has no field {name!r}; {advice}")
        return self.items[item][name]

    def _row(self, item: str) -> int:
        row = self._field(item, ROW)
        if not isinstance(row, int) or isinstance(row, bool):
            raise InputError(f"item {item} of {self.source} has {row!r} as {ROW!r}: no row number.")
        return row


def missing(source: str, place: str, name: str, advice: str) -> str:
    """Say that a field is not there."""
    return f"{place} of {source} has no field {name!r}{advice}."


def read_json(text: str, source: str, place: str = "") -> Any:
    """Read JSON, refusing what is none, and numbers that are none."""

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is no number of JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        where, what = (f"{place} of {source}", "a record of JSON") if place else (source, "JSON")
        reason = str(error)
        if isinstance(error, json.JSONDecodeError):
            reason = f"it is none from line {error.lineno}, column {error.colno} on"
        raise InputError(f"{where} cannot be read as {what}: {reason}.") from None


def read_text(path: str | Path) -> str:
    """Read a file that is not empty."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} cannot be read: it is no text, or is compressed.") from None
    if not text.strip():
        raise InputError(f"{path} is empty.")
    return text


def tasks_of(cases: Cases, rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Return a task a case: its row, its draw, and what may be shown, as text and by column.

    `rows` are the drawn rows in the order of ``cases.rows``, without label and score.
    """
    if len(rows) != len(cases):
        raise InputError(
            f"rows has {counted(len(rows), 'row')} but {len(cases)} cases were drawn: give the "
            "drawn rows, in the order of cases.rows."
        )
    own = (ROW, DRAW)
    clash = next((name for values in rows for name in values if name in own), None)
    if clash is not None:
        raise InputError(f"a task has a field {clash!r} of its own: leave that column out.")
    for number, (row, values) in enumerate(zip(cases.rows.tolist(), rows, strict=True), 1):
        plain = {str(name): _plain(value) for name, value in values.items()}
        # The number keeps cases apart that look alike: tools may take them for one.
        lines = [f"Case {number} of {len(cases)}"]
        lines += [f"{name}: {'' if value is None else value}" for name, value in plain.items()]
        yield {**plain, TEXT: "\n".join(lines), ROW: row, DRAW: cases.scores_hash}


def _plain(value: Any) -> Any:
    """Return a value as JSON knows it."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
