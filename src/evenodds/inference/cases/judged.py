"""What experts said of cases: read for a test, and kept with the draw in the file of a page."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenodds.errors import InputError
from evenodds.files import as_path, whole_file
from evenodds.inference.cases.record import (
    FEWEST_ANSWERS,
    Answers,
    Cases,
    check_answers,
    read_json,
)
from evenodds.inference.looks import read_looks
from evenodds.rows.anchor_points import whole
from evenodds.rows.labels import plain
from evenodds.rows.open_table import open_table
from evenodds.validation import (
    FloatArray,
    as_array,
    check_column,
    counted,
    join_quoted,
    near_misses,
)

SCHEMA_VERSION = 1
# Columns of a sheet: the number of a row, and answers, of each expert where there are several.
ROW, STATED = "row", "stated"
NOTHING = ("", "None", "nan")
KEYS = ("schema_version", "kind", "label", "negative", "positive", "weight", "shown", "digest")
PARTS = (*KEYS, "cases", "answers", "repeats")
# Guesses dressed as truth: an expert who states probabilities states more than these.
THREE_WAY = (0.0, 0.5, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The data that a page showed: to tell them from others, and which class was asked about.

    Attributes
    ----------
    label, negative, positive : str
        Column of given labels, and its two classes; answers are about the positive one. Both are
        empty where there are more.
    weight : str or None
        Column of weights that cases were drawn by.
    shown : tuple of str
        Columns that experts saw.
    digest : str
        Fingerprint of what was shown.
    classes : tuple of str
        Three classes and more, in the order of the answers; empty where there are two.
    """

    label: str
    negative: str
    positive: str
    weight: str | None
    shown: tuple[str, ...]
    digest: str
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Repeat:
    """A case that was judged once more, which is compared and never counted."""

    expert: str
    row: int
    stated: float | tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCases:
    """Cases, and what experts said of them.

    Attributes
    ----------
    cases : Cases
        The draw.
    kind : {"probability", "looked-up"}
        What the answers are.
    experts : tuple of str
        Who answered.
    stated : array of shape (cases, experts)
        What each said of each case, in the order of ``cases.rows``; nan where nothing yet. Of
        several classes (cases, classes, experts): the chance of each, or 1 for the true one.
    repeats : tuple of Repeat
        Cases that came back.
    about : About, optional
        The data that were shown; a sheet filled in by hand does not tell.
    looks : tuple of int
        Answers at each planned look; empty where they are tested once.
    """

    cases: Cases
    kind: Answers
    experts: tuple[str, ...]
    stated: FloatArray
    repeats: tuple[Repeat, ...] = ()
    about: About | None = None
    looks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for expert, known in zip(self.experts, self.answered.T, strict=True):
            gaps = np.flatnonzero(known[1:] & ~known[:-1])
            if len(gaps):
                gap = int((~known).argmax())
                raise InputError(
                    f"{expert!r} has no answer for row {self.cases.rows[gap] + 1}, case {gap + 1} "
                    f"of {len(known)}, but has some for later ones: cases may be left out at the "
                    "end only, for whoever skips the hard ones changes the answer."
                )

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Which cases each expert has answered."""
        known = ~np.isnan(self.stated)
        return known if known.ndim == 2 else np.asarray(known.all(axis=1))

    @property
    def n_answers(self) -> dict[str, int]:
        """How many cases each expert has answered."""
        counts = self.answered.sum(axis=0).tolist()
        return dict(zip(self.experts, counts, strict=True))

    @property
    def repeat_difference(self) -> float | None:
        """How far two answers of one expert to one case differ on average; None without any.

        Of several classes, in the one where they differ most.
        """
        place = {int(row): number for number, row in enumerate(self.cases.rows)}
        apart = [
            np.max(np.abs(again.stated - self.stated[place[again.row], ..., number]))
            for again in self.repeats
            for number, expert in enumerate(self.experts)
            if again.expert == expert
        ]
        return float(np.mean(apart)) if apart else None

    def of(self, experts: Sequence[str]) -> "JudgedCases":
        """Return the answers of some experts."""
        _check_experts(experts, self.experts)
        kept = [self.experts.index(name) for name in experts]
        return replace(self, experts=tuple(experts), stated=self.stated[..., kept])

    def save(self, path: str | Path, *, private: bool = False) -> Path:
        """Write all of it as JSON; the file appears whole or not at all."""
        if self.about is None:
            raise InputError("answers from a sheet are kept in the sheet.")
        about = {name: getattr(self.about, name) for name in KEYS[2:]}
        columns = (
            [None if np.isnan(value).any() else value for value in said.tolist()]
            for said in np.moveaxis(self.stated, -1, 0)
        )
        record = {
            "schema_version": SCHEMA_VERSION,
            "kind": self.kind,
            **about,
            "cases": self.cases.to_dict(),
            "answers": dict(zip(self.experts, columns, strict=True)),
            "repeats": [
                {"expert": one.expert, "row": one.row, "stated": one.stated} for one in self.repeats
            ],
            **({"looks": list(self.looks)} if self.looks else {}),
            **({"classes": list(self.about.classes)} if self.about.classes else {}),
        }
        with whole_file(as_path(path), private=private) as file:
            file.write(json.dumps(record, indent=1, ensure_ascii=False))
        return as_path(path)

    @classmethod
    def read(cls, path: str | Path) -> "JudgedCases":
        """Read what `save`, or the page of ``evenodds elicit``, wrote."""
        record = read_json(path, "answers")
        if isinstance(record, dict) and "edges" in record:
            raise InputError(
                f"{path} holds cases and no answers: give the sheet of answers as --answers, and "
                "this file as --cases."
            )
        if not isinstance(record, dict) or set(record) - {"looks", "classes"} != set(PARTS):
            raise InputError(
                f"{path} is no file of answers: evenodds elicit with --scores writes one."
            )
        if record["schema_version"] != SCHEMA_VERSION:
            raise InputError(
                f"{path} is of schema version {record['schema_version']!r} but this version of "
                f"evenodds reads {SCHEMA_VERSION}."
            )
        return cls._of_record(record, path)

    @classmethod
    def _of_record(cls, record: dict[str, Any], path: str | Path) -> "JudgedCases":
        cases = Cases.from_dict(record["cases"], f"the draw in {path}")
        kind = check_answers(record["kind"], f"the kind of answers in {path}")
        try:
            classes = tuple(map(str, record.get("classes", ())))
            read = partial(_vector, len(classes)) if classes else _value
            answers = {
                str(name): np.array([read(value) for value in said])
                for name, said in record["answers"].items()
            }
            repeats = tuple(
                Repeat(str(one["expert"]), int(one["row"]), read(one["stated"]))
                for one in record["repeats"]
            )
            looks = tuple(map(int, record.get("looks", ())))
            about = {name: record[name] for name in KEYS[2:]}
            texts = [*(about[name] for name in KEYS[2:5]), about["digest"], *record["shown"]]
            if not all(isinstance(text, str) for text in (*texts, about["weight"] or "")):
                raise TypeError("text is needed")
            told = About(**{**about, "shown": tuple(record["shown"]), "classes": classes})
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
            raise InputError(f"{path} is damaged: its answers cannot be read.") from None
        if not answers:
            raise InputError(f"{path} holds no answers yet.")
        known = set(cases.rows.tolist())
        if any(said.shape[:1] != cases.rows.shape for said in answers.values()) or any(
            one.row not in known or one.expert not in answers for one in repeats
        ):
            raise InputError(f"{path} is damaged: its answers do not fit its cases.")
        for one in repeats:
            if not all(0 <= value <= 1 for value in np.atleast_1d(one.stated)):
                raise InputError(
                    f"{path} is damaged: an answer to a case that came back is {one.stated}, not "
                    "from 0 to 1."
                )
        return cls(
            cases=cases,
            kind=kind,
            experts=tuple(answers),
            stated=np.stack([*answers.values()], axis=-1),
            repeats=repeats,
            about=told,
            looks=looks if not looks else read_looks(looks, looks[-1]),
        )


def _value(said: Any) -> float:
    """Return an answer as a number; nan where there is none."""
    return np.nan if said is None else float(said)


def _vector(size: int, said: Any) -> tuple[float, ...]:
    """Return an answer as a chance for each class; nan where there is none."""
    if said is None:
        return (np.nan,) * size
    chances = tuple(map(float, said))
    if len(chances) != size:
        raise ValueError("a chance for each class is needed")
    return chances


def _check_experts(names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise InputError(f"no answers are by {name!r}; {experts_near(name, known)}")


def experts_near(name: str, experts: Sequence[str]) -> str:
    """Say whose answers there are, where somebody has none."""
    return near_misses(name, experts).replace("the columns are", "answers are by")


def read_sheet(
    path: str | Path,
    cases: Cases,
    kind: Answers,
    classes: tuple[Any, Any],
    experts: Sequence[str] | None = None,
) -> JudgedCases:
    """Read answers from a table: a column ``row``, and ``stated`` or ``stated_NAME`` an expert.

    Rows are counted from 1. Looked-up answers may be 0 and 1, or the two `classes`, the negative
    one first. Other columns are left alone, and rows without an answer count as not answered.
    """
    mixed: set[str] = set()

    def choose(names: tuple[str, ...]) -> tuple[str, ...]:
        if {"annotation_id", "lead_time", "draw"} <= {*names}:  # its rows are counted from 0
            raise InputError(f"{path} is a CSV export of Label Studio: export the project as JSON.")
        check_column(ROW, names, path, why=" to say which row an answer is about")
        wanted = tuple(name for name in names if name.lower().startswith(STATED))
        if not wanted:
            raise InputError(
                f"{path} has no column {STATED!r} of answers; {near_misses(STATED, names)}"
            )
        plain_name = next((name for name in wanted if name.lower().strip(" _") == STATED), None)
        if plain_name is not None and len(wanted) > 1 and experts is None:
            other = next(name for name in wanted if name != plain_name)
            raise InputError(
                f"{path} has columns {plain_name!r} and {other!r}, which would count as two "
                f"experts: leave one out, or call the first {STATED}_NAME if it is somebody "
                "else's."
            )
        mixed.update((ROW, *wanted))
        return (ROW, *wanted)

    table = whole(open_table(path, choose, text_if_mixed=mixed))
    columns = [
        Said(name[len(STATED) :].strip(" _") or name, f"column {name!r}", table[name].to_pylist())
        for name in table.column_names
        if name.lower().startswith(STATED)
    ]
    if experts is not None:
        known = {said.expert: said for said in columns}
        _check_experts(experts, tuple(known))
        columns = [known[name] for name in experts]
    return judged_of(
        path,
        table[ROW].to_pylist(),
        columns,
        cases,
        kind=kind,
        classes=classes,
        counted_from=1,
    )


def read_class_sheet(
    path: str | Path, cases: Cases, kind: Answers, classes: tuple[Any, ...]
) -> JudgedCases:
    """Read answers about several classes: columns ``row``, and ``stated_CLASS`` for each class.

    A cell may be empty where others of its row are not: that class has no chance.
    """
    wanted = [f"{STATED}_{name}" for name in classes]

    def choose(names: tuple[str, ...]) -> tuple[str, ...]:
        check_column(ROW, names, path, why=" to say which row an answer is about")
        for name in wanted:
            check_column(name, names, path, why=" with the chance of that class")
        return (ROW, *wanted)

    table = whole(open_table(path, choose, text_if_mixed={ROW, *wanted}))
    columns = [Said(name, f"column {name!r}", table[name].to_pylist()) for name in wanted]
    stated = _in_order(
        path, table[ROW].to_pylist(), columns, cases, kind=kind, classes=(0, 1), counted_from=1
    )
    some = ~np.isnan(stated).all(axis=1)
    if not some.any():
        raise InputError(f"{path} holds no answers yet: fill in its {columns[0].called} and so on.")
    stated[some] = np.nan_to_num(stated[some])
    return JudgedCases(cases=cases, kind=kind, experts=(STATED,), stated=stated[:, :, None])


@dataclass(frozen=True, slots=True)
class Said:
    """What one expert said of some rows, and what messages call it."""

    expert: str
    called: str
    values: Sequence[Any]


def judged_of(
    path: str | Path,
    numbers: Sequence[Any],
    columns: Sequence[Said],
    cases: Cases,
    *,
    kind: Answers,
    classes: tuple[Any, Any],
    counted_from: int = 0,
) -> JudgedCases:
    """Put what was said of rows with these numbers in the order of the draw."""
    stated = _in_order(
        path, numbers, columns, cases, kind=kind, classes=classes, counted_from=counted_from
    )
    answered = np.asarray(~np.isnan(stated).all(axis=0))
    if not answered.any():
        raise InputError(f"{path} holds no answers yet: fill in its {columns[0].called}.")
    experts = tuple(said.expert for said, has in zip(columns, answered, strict=True) if has)
    return JudgedCases(cases=cases, kind=kind, experts=experts, stated=stated[:, answered])


def _in_order(
    path: str | Path,
    numbers: Sequence[Any],
    columns: Sequence[Said],
    cases: Cases,
    *,
    kind: Answers,
    classes: tuple[Any, Any],
    counted_from: int,
) -> FloatArray:
    """Return answers in the order of the draw, a column each; nan where there is none."""
    place = {int(row): number for number, row in enumerate(cases.rows)}
    # A spreadsheet may end in rows without anything.
    told = [
        number
        for number, value in enumerate(numbers)
        if not is_nothing(value) or not all(is_nothing(said.values[number]) for said in columns)
    ]
    rows = [_drawn(numbers[number], place, path, counted_from) for number in told]
    twice = [row for row in rows if rows.count(row) > 1]
    if twice:
        raise InputError(
            f"{path} has row {twice[0] + counted_from} twice: give one answer for each row."
        )
    stated = np.full((len(cases), len(columns)), np.nan)
    for number, said in enumerate(columns):
        values = _read_column(said, path, kind, classes)
        stated[[place[row] for row in rows], number] = [values[one] for one in told]
    return stated


def _drawn(value: Any, place: dict[int, int], path: str | Path, counted_from: int) -> int:
    """Return the number of a row, refusing one that was not drawn."""
    try:
        row = int(value) - counted_from
        drawn = row + counted_from == float(value) and row in place
    except (TypeError, ValueError, OverflowError):
        drawn = False
    if not drawn:
        raise InputError(
            f"{path} has an answer for row {value!r}, which was not drawn: answers count for drawn "
            f"cases only, and rows are counted from {counted_from}."
        )
    return row


def _read_column(
    said: Said, path: str | Path, kind: Answers, classes: tuple[Any, Any]
) -> list[float]:
    """Return answers as numbers."""
    given = [None if is_nothing(value) else plain(value) for value in said.values]
    told = {str(value).strip() for value in given if value is not None}
    codes = {str(one): float(number) for number, one in enumerate(classes)}
    if kind == "looked-up" and told <= codes.keys():
        return [np.nan if value is None else codes[str(value).strip()] for value in given]
    try:
        return [np.nan if value is None else float(value) for value in given]
    except ValueError:
        odd = next(value for value in given if value is not None and not _is_number(value))
        needed = f"0 and 1, or {join_quoted(classes)}" if kind == "looked-up" else "0 to 1"
        raise InputError(
            f"{said.called} of {path} has {odd!r} but needs {needed}, and nothing where there is "
            "no answer."
        ) from None


def is_nothing(value: Any) -> bool:
    """Tell whether a cell is empty."""
    return str(value).strip() in NOTHING


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def read_statements(stated: ArrayLike, cases: Cases, answers: Answers) -> FloatArray:
    """Return what was stated of the first cases, a column an expert."""
    said = read_numbers(stated, "case")
    said = said[:, None] if said.ndim == 1 else said
    if said.ndim != 2 or len(said) > len(cases) or not said.size:
        _refuse_shape(said, cases)
    known = ~np.isnan(said)
    if (known[1:] & ~known[:-1]).any():
        expert = int((known[1:] & ~known[:-1]).any(axis=0).argmax())
        gap = int((~known[:, expert]).argmax())
        raise InputError(
            f"stated has no answer for case {gap + 1} but has some for later ones: cases may be "
            "left out at the end only, for whoever skips the hard ones changes the answer."
        )
    said = said[known.all(axis=1)]
    if not len(said):
        raise InputError(f"stated has no answers: give one for each of the {len(cases)} cases.")
    outside = np.argwhere((said < 0) | (said > 1))
    if len(outside):
        raise InputError(
            f"stated is {said[tuple(outside[0])]:g} for case {outside[0][0] + 1} but must lie "
            "between 0 and 1: it is a probability (divide percentages by 100), or the truth."
        )
    # Strata too small to draw cases from are left out, and need none.
    drawn = np.unique(cases.strata)
    counts = np.bincount(cases.strata[: len(said)], minlength=cases.n_strata)[drawn]
    fewest = FEWEST_ANSWERS[answers]
    if (counts < fewest).any():
        if len(known) != said.shape[1] == len(cases):  # a row an expert
            _refuse_shape(known, cases)
        raise InputError(
            f"stratum {drawn[counts.argmin()] + 1} of {cases.n_strata} has "
            f"{counted(counts.min(), 'answer')} and needs {fewest}: "
            f"{len(said)} of {len(cases)} cases are answered; answer some more."
        )
    refuse_other_kinds(said, answers)
    return np.asarray(said)


def _refuse_shape(said: NDArray[Any], cases: Cases) -> NoReturn:
    raise InputError(
        f"stated has shape {said.shape} but there are {len(cases)} cases: give one value for "
        "each, in the order of cases.rows, or a column for each expert."
    )


def read_numbers(stated: ArrayLike, of_what: str) -> FloatArray:
    """Return what was stated as real numbers."""
    try:
        given = as_array(stated)
        if given.dtype.kind != "c":
            return np.array(given, dtype=float)
    except (TypeError, ValueError):
        pass
    raise InputError(f"stated must hold numbers between 0 and 1, one a {of_what}.")


def refuse_other_kinds(said: FloatArray, answers: Answers) -> None:
    """Refuse guesses that are called something else."""
    if answers == "looked-up":
        between = np.argwhere((said > 0) & (said < 1))
        if len(between):
            raise InputError(
                f"stated is {said[tuple(between[0])]:g} for case {between[0][0] + 1} but looked-up "
                "answers are 0 or 1: say answers='probability' for stated probabilities."
            )
        return
    if (said == said[0, 0]).all() and said[0, 0] not in (0, 1):
        raise InputError(
            f"all {counted(said.size, 'answer')} are {said[0, 0]:g}: they say nothing of the cases."
        )
    if np.isin(said, THREE_WAY).all():
        values = "0 and 1" if np.isin(said, (0, 1)).all() else "0, 1/2 and 1"
        raise InputError(
            f"all answers are {values}: as probabilities these are guesses, which bias the test. "
            "Ask how likely each case is, or say answers='looked-up' where the truth was."
        )
