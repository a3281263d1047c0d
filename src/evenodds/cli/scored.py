"""Scores and answers along them: files of scores made and read, and answers tested."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evenodds.bridges.label_studio import looks_like_export
from evenodds.cli.input import read_columns, read_export
from evenodds.cli.options import RowOptions
from evenodds.cli.output import check_output, pass_progress, tell
from evenodds.elicit.plan import fingerprint
from evenodds.errors import InputError
from evenodds.files import whole_file, write_columns
from evenodds.inference.audit.audit_test import audit_test
from evenodds.inference.audit.result import AuditTestResult
from evenodds.inference.cases.judged import JudgedCases, read_class_sheet, read_sheet
from evenodds.inference.cases.record import Cases, read_probabilities, read_scores
from evenodds.inference.cases.shown import read_shown, refuse_other_rows
from evenodds.inference.line.class_line import ClassLineResult
from evenodds.inference.line.line_test import line_test
from evenodds.inference.line.result import LineTestResult
from evenodds.inference.looks import look_reached
from evenodds.inference.multiclass.confusion import confusion_test
from evenodds.inference.multiclass.confusion_strata import StratifiedConfusionResult
from evenodds.inference.results import Diagnostic
from evenodds.model.scores import FEWEST_FOLDS, MOST_FOLDS, area_under_curve, score_rows
from evenodds.rows.anchor_points import whole
from evenodds.rows.base import Block, Rows, refuse_missing
from evenodds.rows.labels import Classes, distinct_labels, read_classes
from evenodds.rows.memory import free_name
from evenodds.rows.open_table import map_npy, open_table
from evenodds.rows.read import read_data
from evenodds.rows.table_rows import Reading, read_table
from evenodds.rows.tables import as_numpy, hold, kind_of
from evenodds.validation import FloatArray, check_whole, counted, join_quoted

COLUMN, FOLDS = "score", 5
KINDS = (".parquet", ".csv", ".npy")
# What a file of scores is called; any other name is that of a column.
SCORE_FILES = (".parquet", ".pq", ".csv", ".tsv", ".feather", ".arrow", ".npy")
# An AUC below this, or within so many standard errors of 1/2, is said to be poor.
POOR, ERRORS = 0.6, 3.0
# Two answers to one case that differ by more than this on average are doubted: two random numbers
# differ by 1/3.
FAR_APART = 0.3
Judged = LineTestResult | AuditTestResult | ClassLineResult | StratifiedConfusionResult


def check_scores_file(path: Path, data: list[str], option: str = "--out") -> None:
    """Refuse, before any work, a file of scores that cannot or must not be written."""
    if path.suffix.lower() not in KINDS:
        raise InputError(f"{option} {path} must end in {join_quoted(KINDS, 'or')}.")
    check_output(path, option, data)


def make_scores(
    path: Path,
    data: list[str],
    label: str | None,
    own: RowOptions,
    *,
    features: tuple[str, ...] | None,
    formula: str | None = None,
    folds: int = FOLDS,
    seed: int = 0,
) -> tuple[str, list[str]]:
    """Score rows out of fold and write a file that is read back to the last digit.

    Returns the label, what was scored, and how well the scores tell the given labels apart.
    """
    try:
        rows = read_data(
            data,
            label,
            features=features,
            formula=formula,
            positive=own.positive,
            sample_weight=own.weight,
            groups=own.group,
        )
    except InputError as error:
        said, several, _ = str(error).partition(" but this test needs 2:")
        if not several:
            raise
        raise InputError(
            f"{said} but scores are made of 2: for more, write a file of probabilities yourself, a "
            "column for each class and named like it, as scikit-learn's cross_val_predict(model, "
            "X, y, method='predict_proba') gives them."
        ) from None
    n_folds = check_whole(folds, "--folds", at_least=FEWEST_FOLDS, at_most=MOST_FOLDS)
    rng = np.random.default_rng(check_whole(seed, "--seed"))
    with pass_progress(rows):
        scores = score_rows(rows, n_folds, rng)
    if path.suffix.lower() == ".npy":
        with whole_file(path) as file:
            np.save(file.buffer, scores)
    else:
        write_columns(path, {COLUMN: scores})
    tell(f"wrote {path}")
    return rows.label_names[0], _summary(rows, scores, folds)


def _summary(rows: Rows, scores: FloatArray, folds: int) -> list[str]:
    """Say what was scored, and how well the scores tell the given labels apart."""
    area, error = area_and_error(rows, scores)
    lines = [
        f"{rows.n_rows:,} rows scored in {folds} folds, each by a curve that has not seen its "
        f"label, from {join_quoted(_sources(rows))}. Out of fold, a row labelled "
        f"{rows.positive!r} scores above one labelled {rows.negative!r} with probability "
        f"{area:.3f} (AUC)."
    ]
    if area < max(POOR, 0.5 + ERRORS * error):
        lines.append(
            "These scores hardly tell the labels apart. Cases drawn along them give a valid test "
            "that finds large differences only: add features, or score the rows by another model."
        )
    return lines


def _sources(rows: Rows) -> tuple[str, ...]:
    """Return the columns that features are made of."""
    return rows.feature_names or () if rows.encoding is None else rows.encoding.columns


class _Given:
    """Labels and weights of all rows, each with the number of its first row."""

    def __init__(self) -> None:
        self.parts: list[tuple[int, Any, Any]] = []

    def add(self, block: Block) -> None:
        weights = None if block.weights is None else block.weights.copy()
        self.parts.append((block.start, block.labels.copy(), weights))

    def merge(self, other: Self) -> None:
        self.parts += other.parts


def area_and_error(rows: Rows, scores: FloatArray) -> tuple[float, float]:
    """Return how often a positive row scores above a negative one, and its error by chance."""
    labels, weights = np.empty(len(scores)), np.ones(len(scores))
    for start, part, weight in rows.sum_over_rows(_Given()).parts:
        labels[start : start + len(part)] = part
        if weight is not None:
            weights[start : start + len(part)] = weight
    n_positive, n_negative = int(labels.sum()), int(len(labels) - labels.sum())
    error = float(np.sqrt((len(labels) + 1) / (12 * n_positive * n_negative)))
    return area_under_curve(scores, labels, weights), error


def read_scores_file(path: Path) -> FloatArray:
    """Read a file of scores: its column `score`, its only column, or an array."""
    if not path.is_file():
        raise InputError(f"there is no file of scores {path}.")
    if path.suffix.lower() == ".npy":
        array = np.array(map_npy(path))
        return read_scores(array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array)
    table = whole(open_table(path))
    names = table.column_names
    if COLUMN not in names and len(names) > 1:
        raise InputError(
            f"{path} has columns {join_quoted(names)} but none called {COLUMN!r}: name the one "
            "with the scores so."
        )
    column = table[COLUMN if COLUMN in names else names[0]]
    if kind_of(column.type) != "number" or column.null_count:
        raise InputError(f"{path} must hold a number for every row, its score, and nothing else.")
    return read_scores(as_numpy(column))


@dataclass(frozen=True, slots=True)
class ClassesScored:
    """Labels of several classes in a table, and a probability of each class for every row."""

    table: pa.Table
    classes: Classes
    scores: FloatArray
    name: str
    # None of the classes is positive, and rows count alike.
    positive: None = None
    weights: None = None
    groups: None = None

    @property
    def names(self) -> tuple[Any, ...]:
        """The classes, in their order."""
        return self.classes.names

    @property
    def labels(self) -> Any:
        """The given label of each row, as the file has it."""
        return np.array(self.classes.names, dtype=object)[self.classes.codes]


def _read_classes(
    sources: list[str],
    label: str,
    scores: str,
    rows: RowOptions,
    *,
    shown: Sequence[str] | None,
    if_there: Sequence[str],
) -> ClassesScored | None:
    """Read labels, the columns `shown` (None: all), and probabilities; None of two classes."""
    found = _read_columns(Path(scores))
    if found is None:
        return None
    needed = (*(shown or ()), label)
    table, opened = read_columns(sources, needed, if_there=if_there, everything=shown is None)
    column = table[label].to_numpy()
    if len(distinct_labels(column, f"column {label!r}")) < 3:
        return None
    for name in ("positive", "weight", "group"):
        if getattr(rows, name) is not None:
            raise InputError(
                f"--{name} does not go with three classes and more: every pair of classes is "
                "tested, and every row counts as one. Leave it out."
            )
    classes = read_classes(column, f"column {label!r}")
    values = _by_class(found, classes.names, scores)
    if len(values) != table.num_rows:
        raise InputError(
            f"{scores} has {len(values):,} rows but {opened.name} has {table.num_rows:,}: give "
            "probabilities for each row, in the same order."
        )
    return ClassesScored(table, classes, values, opened.name)


def _read_columns(path: Path) -> tuple[list[str] | None, FloatArray] | None:
    """Return columns of a file of probabilities, with names where it has them; None of fewer."""
    if path.suffix.lower() not in SCORE_FILES or not path.is_file():
        return None
    if path.suffix.lower() == ".npy":
        array = np.array(map_npy(path))
        return (None, array) if array.ndim == 2 and array.shape[1] > 2 else None
    table = whole(open_table(path))
    names = table.column_names
    if COLUMN in names or len(names) < 3:
        return None
    for name in names:
        if kind_of(table[name].type) != "number" or table[name].null_count:
            raise InputError(f"column {name!r} of {path} must hold a probability for every row.")
    return names, np.column_stack([as_numpy(table[name]) for name in names])


def _by_class(
    found: tuple[list[str] | None, FloatArray], classes: tuple[Any, ...], path: str
) -> FloatArray:
    """Return probabilities in the order of the classes."""
    names, values = found
    own = [str(name) for name in classes]
    if names is None and values.shape[1] == len(own):
        return read_probabilities(values)
    if names is None or sorted(names) != sorted(own):
        has = f"{values.shape[1]} columns" if names is None else f"columns {join_quoted(names)}"
        raise InputError(
            f"{path} has {has} but the classes are {join_quoted(own)}: give a column of "
            "probabilities for each class, named like it."
        )
    return read_probabilities(values[:, [names.index(name) for name in own]])


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """Labels, weights and groups of a table, and a score of each row."""

    table: pa.Table
    block: Block  # its only feature is the score
    positive: Any
    negative: Any
    name: str

    @property
    def names(self) -> tuple[Any, ...]:
        """The negative and the positive label."""
        return self.negative, self.positive

    @property
    def weights(self) -> FloatArray | None:
        """How often each row counts."""
        return self.block.weights

    @property
    def groups(self) -> NDArray[Any] | None:
        """Which rows belong together."""
        return self.block.groups

    @property
    def scores(self) -> FloatArray:
        """The score of each row."""
        values: FloatArray = self.block.features[:, 0]
        return values

    @property
    def labels(self) -> Any:
        """The given label of each row, as the file has it."""
        return self.in_words(self.block.labels)

    def in_words(self, positive: FloatArray) -> Any:
        """Return 0 and 1 as the labels of the file."""
        both = np.array([self.negative, self.positive], dtype=object)
        return both[positive.astype(int)]


def read_scored(
    sources: list[str],
    label: str,
    scores: str,
    rows: RowOptions,
    *,
    shown: Sequence[str] | None = (),
    if_there: Sequence[str] = (),
) -> ScoredRows:
    """Read labels, weights, groups, and scores of two classes.

    Also the columns `shown` (None: all), and those of `if_there` that there are.
    """
    weight, group = rows.weight, rows.group
    of_file = Path(scores).suffix.lower() in SCORE_FILES
    values = read_scores_file(Path(scores)) if of_file else None
    named = [name for name in (label, weight, group) if name is not None]
    numbers = {name for name in (weight, None if of_file else scores) if name is not None}
    needed = dict.fromkeys((*named, *(shown or ())), "")
    if not of_file:
        needed[scores] = " Or name a file of scores, as evenodds scores writes one."
    table, opened = read_columns(
        sources, needed, numbers=numbers, if_there=if_there, everything=shown is None
    )
    if not of_file and kind_of(table[scores].type) != "number":
        raise InputError(f"column {scores!r} of {opened.name} holds no numbers, so no scores.")
    if values is not None and len(values) != table.num_rows:
        raise InputError(
            f"{scores} has {len(values):,} scores but {opened.name} has {table.num_rows:,} rows: "
            "give one score a row, in the same order."
        )
    held = table.select(list(dict.fromkeys([*named, *([] if of_file else [scores])])))
    column = scores
    if values is not None:
        column = free_name("scores", tuple(held.column_names))
        held = held.append_column(column, [values])
    parts = {"y": label, "sample_weight": weight, "groups": group}
    reading = Reading.of(parts, {"features": (column,), "positive": rows.positive})
    reading.needed(tuple(held.column_names), opened.name)
    made = read_table(hold(held, opened.name, opened.counted), reading)
    made.advice_on_missing = ""  # these commands cannot drop rows: scores go by their order
    refuse_missing(made)
    return ScoredRows(table, made.to_memory(), made.positive, made.negative, opened.name)


def read_scored_or_classes(
    sources: list[str],
    label: str,
    scores: str,
    rows: RowOptions,
    *,
    shown: Sequence[str] | None = (),
    if_there: Sequence[str] = (),
) -> ScoredRows | ClassesScored:
    """Read labels and scores of two classes or several: these come as a file of three columns."""
    columns: dict[str, Any] = {"shown": shown, "if_there": if_there}
    several = _read_classes(sources, label, scores, rows, **columns)
    return several or read_scored(sources, label, scores, rows, **columns)


def read_page(answers: Path, cases: Path | None, kind: str | None) -> JudgedCases | None:
    """Return what the page wrote; None where answers are a sheet or an export."""
    if answers.suffix.lower() != ".json" or looks_like_export(answers):
        return None
    judged = JudgedCases.read(answers)
    if cases is not None:
        raise InputError(f"--cases is needless: {answers} holds its own draw. Leave it out.")
    if kind is not None and kind != judged.kind:
        raise InputError(
            f"--kind is {kind!r} but {answers} holds answers of the kind {judged.kind!r}, as they "
            "were asked for."
        )
    return judged


def read_answers(
    read: ScoredRows | ClassesScored,
    answers: Path,
    cases: Path | None,
    kind: Any,
    experts: tuple[str, ...] | None,
    sheet: pa.Table | None = None,
) -> JudgedCases:
    """Return what experts say in a table or an export, by the draw beside it.

    A `sheet` that shows other values of its rows than the data have is refused.
    """
    judged = _read_answers(read, answers, cases, kind, experts)
    if sheet is not None:
        refuse_other_rows(answers, sheet, read.table, read.name)
    return judged


def _read_answers(
    read: ScoredRows | ClassesScored,
    answers: Path,
    cases: Path | None,
    kind: Any,
    experts: tuple[str, ...] | None,
) -> JudgedCases:
    drawn = _read_draw(answers, cases, kind)
    if isinstance(read, ClassesScored):
        judged = read_class_sheet(answers, drawn, kind, read.names)
        return judged if experts is None else judged.of(experts)
    export = read_export([str(answers)])
    classes = (read.negative, read.positive)
    if export is not None:
        return export.judged(drawn, kind=kind, classes=classes, experts=experts)
    return read_sheet(answers, drawn, kind, classes, experts)


def read_column_or_file(scores: str, data: list[str] | None) -> FloatArray:
    """Read scores from a file, or from a column of the data."""
    if Path(scores).suffix.lower() in SCORE_FILES:
        return read_scores_file(Path(scores))
    if not data:
        raise InputError(
            f"--scores {scores} is no file of scores (.parquet, .csv, .npy): for a column, name "
            "the file that has it by --data."
        )
    table, _ = read_columns(data, [scores], numbers=[scores])
    return read_scores(as_numpy(table[scores]))


def read_sheet_shown(answers: Path) -> pa.Table | None:
    """Return what a sheet shows beside the answers; None of another file, of any kind."""
    if answers.suffix.lower() in (".json", ".jsonl"):
        return None
    with suppress(InputError):  # what is wrong is told when the answers are read
        return read_shown(answers)
    return None


def draw_of(answers: Path, cases: Path | None) -> Path:
    """Return where the draw of a table of answers is: beside it, if it is not named."""
    return answers.parent / f"{answers.stem}.json" if cases is None else cases


def _read_draw(answers: Path, cases: Path | None, kind: Any) -> Cases:
    """Return the draw of a table of answers or an export, which must be named or beside it."""
    if kind is None:
        raise InputError(
            "--kind is missing: say 'probability' where each answer is how likely the case is "
            "truly positive, 'looked-up' where it is the truth. Guesses of yes or no are neither."
        )
    is_export = answers.suffix.lower() in (".json", ".jsonl")
    draw = draw_of(answers, cases)
    if cases is None and (is_export or not draw.is_file()):
        raise InputError(
            f"--cases is missing: name the draw that {answers} was made from, as evenodds cases or "
            "choose_cases(...).save(path) wrote it."
        )
    return Cases.read(draw)


def refuse_other_options(about: Any, answers: Path, **wished: str | None) -> None:
    """Refuse a label, a class or weights that the answers are not about."""
    for wish, now in wished.items():
        then = getattr(about, wish)
        if (now or None) != (then or None) and not (wish == "positive" and now is None):
            started = f"--{wish} {then}" if then else f"no --{wish}"
            raise InputError(
                f"{answers} was made with {started}, not {now or 'without'}: give the same here."
            )


def refuse_other_data(
    read: ScoredRows | ClassesScored, about: Any, judged: JudgedCases, answers: Path
) -> None:
    """Refuse rows, or classes, that are not those that experts were shown."""
    classes, asked = tuple(map(str, read.names)), about.classes or (about.negative, about.positive)
    if classes != asked:
        raise InputError(
            f"{answers} holds answers about {join_quoted(asked)} but the labels of {read.name} are "
            f"{join_quoted(classes)}: give the data that experts were shown."
        )
    rows = tuple(judged.cases.rows.tolist())
    if judged.cases.n_rows == read.table.num_rows:
        table = read.table.select([*about.shown, about.label])
        if fingerprint(table, about.label, rows) == about.digest:
            return
    raise InputError(
        f"{answers} holds answers about other rows than those of {read.name}: give the data that "
        "experts were shown, in the same order."
    )


def judge_answers(
    read: ScoredRows | ClassesScored,
    judged: JudgedCases,
    *,
    alternative: Any,
    shared_tolerance: Any,
) -> Judged:
    """Test answers of either kind, and say what else is known of them.

    Looked-up answers are read as an audit within strata, which is right whatever flips depend on,
    of several experts by their majority; rows with weights or groups are read by the line.
    """
    if isinstance(read, ClassesScored) and judged.cases.n_classes is None:
        raise InputError("these cases are of two classes: give their scores.")
    result: Judged
    plain = read.weights is None and read.groups is None
    if judged.kind == "looked-up" and plain:
        if shared_tolerance:
            raise InputError(
                "--shared-tolerance is for stated probabilities: what was looked up does not "
                "lean. Leave it out."
            )
        result = _looked_up(read, judged, alternative)
    elif judged.looks:
        raise InputError(
            "--weight and --group do not go with answers that are read at planned looks: leave "
            "them out."
        )
    else:
        result = line_test(
            read.scores,
            read.labels,
            judged.cases,
            judged.stated,
            answers=judged.kind,
            positive=read.positive,
            alternative=alternative,
            shared_tolerance=shared_tolerance,
            sample_weight=read.weights,
            groups=read.groups,
        )
    return replace(result, diagnostics=(*result.diagnostics, *_notes(judged)))


def _looked_up(
    read: ScoredRows | ClassesScored, judged: JudgedCases, alternative: Any
) -> AuditTestResult | StratifiedConfusionResult:
    """Test answers that are the truth, which need no line."""
    if isinstance(read, ClassesScored):
        if len(judged.experts) > 1:
            raise InputError(
                "several experts looked true classes up: say whose answers count, --expert NAME."
            )
        said = judged.stated[judged.answered[:, 0], :, 0]
        odd = (np.sort(said, axis=1)[:, :-1] != 0).any(axis=1) | (said.max(axis=1) != 1)
        if odd.any():
            raise InputError(
                f"case {odd.argmax() + 1} has no single class with 1 and 0 for the others, as a "
                "looked-up answer has: say --kind probability for stated chances."
            )
        true = np.array(read.names, dtype=object)[said.argmax(axis=1)]
        return confusion_test(true, read.labels, strata=judged.cases, scores=read.scores)
    between = judged.stated[~np.isin(judged.stated, (0, 1)) & ~np.isnan(judged.stated)]
    if len(between):
        raise InputError(
            f"an answer is {between[0]:g} but looked-up answers are 0 or 1: say --kind probability "
            "for stated probabilities."
        )
    said = judged.stated[judged.answered.all(axis=1)]
    if judged.looks:
        said = said[: look_reached(judged.looks, len(said))]
    return audit_test(
        read.in_words(said if len(judged.experts) > 1 else said[:, 0]),
        read.labels,
        strata=judged.cases,
        scores=read.scores,
        positive=read.positive,
        alternative=alternative,
        looks=judged.looks or None,
    )


def _notes(judged: JudgedCases) -> list[Diagnostic]:
    """Say which answers were not used, and how well repeats agree."""
    notes = []
    counts = judged.n_answers
    fewest, most = min(counts.values()), max(counts.values())
    if fewest < most:
        message = (
            f"{next(name for name, n in counts.items() if n == fewest)!r} answered "
            f"{counted(fewest, 'case')} and others up to {most}: only cases that all experts "
            "answered count. --expert leaves somebody out."
        )
        notes.append(Diagnostic(name="unused answers", message=message, concern=True))
    waiting = [n for n in judged.looks if n > fewest]
    if judged.looks and waiting and fewest not in judged.looks:
        message = f"Answers after the last look wait for the next, at case {waiting[0]}."
        notes.append(Diagnostic(name="looks", message=message, concern=False))
    apart = judged.repeat_difference
    if apart is not None:
        message = (
            f"Judged twice: {counted(len(judged.repeats), 'case')}. The two answers differ by "
            f"{apart:.2f} on average."
        )
        far = apart > FAR_APART
        if far:
            message += " Answers that change so much tell little of a case."
        notes.append(Diagnostic(name="repeats", message=message, concern=far))
    return notes
