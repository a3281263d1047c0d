"""Three classes and more along a score: files of probabilities, sheets, and tests on answers."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenodds.cli.options import RowOptions
from evenodds.cli.output import tell

if TYPE_CHECKING:
    import pyarrow as pa

    from evenodds.inference.cases.judged import JudgedCases
    from evenodds.inference.line.class_line import ClassLineResult
    from evenodds.inference.multiclass.confusion_strata import StratifiedConfusionResult
    from evenodds.rows.labels import Classes
    from evenodds.validation import FloatArray


@dataclass(frozen=True, slots=True)
class ClassesScored:
    """Labels of several classes in a table, and a probability of each class for every row."""

    table: "pa.Table"
    classes: "Classes"
    scores: "FloatArray"
    name: str

    @property
    def labels(self) -> Any:
        """The given label of each row, as the file has it."""
        import numpy as np

        return np.array(self.classes.names, dtype=object)[self.classes.codes]


def read_classes_scored(
    sources: list[str], label: str, scores: str, rows: RowOptions, *, shown: Sequence[str] | None
) -> ClassesScored | None:
    """Read labels, the columns `shown` (None: all), and probabilities; None of two classes.

    Several classes are told by a file of scores with three columns and more.
    """
    import pyarrow as pa

    from evenodds.errors import InputError
    from evenodds.rows.labels import distinct_labels, read_classes
    from evenodds.rows.open_table import open_table
    from evenodds.validation import check_column

    found = _read_columns(Path(scores))
    if found is None:
        return None
    source = sources[0] if len(sources) == 1 else sources
    wanted: list[str] = []
    mixed: set[str] = set()

    def choose(names: tuple[str, ...]) -> list[str]:
        for name in (label, *(shown or ())):
            check_column(name, names, source)
        wanted[:] = names if shown is None else dict.fromkeys((*shown, label))
        mixed.update(wanted)
        return wanted

    opened = open_table(source, choose, text_if_mixed=mixed)
    table = pa.Table.from_batches([batch for _, batch in opened.batches(wanted)])
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


def _read_columns(path: Path) -> "tuple[list[str] | None, FloatArray] | None":
    """Return columns of a file of probabilities, with names where it has them; None of fewer."""
    import numpy as np

    from evenodds.cli.scores import COLUMN, SCORE_FILES
    from evenodds.errors import InputError
    from evenodds.rows.anchor_points import whole
    from evenodds.rows.open_table import map_npy, open_table
    from evenodds.rows.tables import as_numpy, kind_of

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
    found: "tuple[list[str] | None, FloatArray]", classes: tuple[Any, ...], path: str
) -> "FloatArray":
    """Return probabilities in the order of the classes."""
    from evenodds.errors import InputError
    from evenodds.inference.cases.record import read_probabilities
    from evenodds.validation import join_quoted

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


def draw_class_sheet(
    read: ClassesScored,
    written: tuple[Path, Path],
    shown: Sequence[str],
    asked: Sequence[str],
    *,
    settings: dict[str, Any],
    looked_up: bool,
) -> None:
    """Draw cases, write the sheet with a column for each class, and say what to do with it.

    Where the truth will be looked up cases are drawn by given label too. `asked` is what the
    command was given to find the rows.
    """
    from evenodds.files import write_csv
    from evenodds.inference.cases.choose import choose_cases
    from evenodds.inference.cases.judged import ROW, STATED

    out, record = written
    drawn = choose_cases(read.scores, given=read.labels if looked_up else None, **settings)
    drawn.save(record)
    rows = read.table.select(list(shown)).take(drawn.rows).to_pylist()
    columns = [f"{STATED}_{name}" for name in read.classes.names]
    empty = [None] * len(columns)
    cells = (
        (row + 1, *values.values(), *empty) for row, values in zip(drawn.rows, rows, strict=True)
    )
    write_csv(out, [ROW, *shown, *columns], cells)
    for path in written:
        tell(f"wrote {path}")
    fill = (
        "look the true class up and write 1 below it"
        if looked_up
        else "how likely each class is, from 0 to 1 and 1 in all, nothing for 0"
    )
    n_strata = len(set(drawn.strata.tolist()))
    print(
        f"{len(drawn)} rows drawn in {n_strata} strata of the score. Fill in the columns "
        f"{columns[0]!r} to {columns[-1]!r} from the top down: {fill}."
    )
    kind = "looked-up" if looked_up else "probability"
    print(f"Next: evenodds line {shlex.join([*asked, '--answers', str(out)])} --kind {kind}")


def judge_classes(
    read: ClassesScored, judged: "JudgedCases", *, shared_tolerance: float | None
) -> "ClassLineResult | StratifiedConfusionResult":
    """Test answers about several classes: stated ones by the line, looked-up ones as they are."""
    import numpy as np

    from evenodds.errors import InputError
    from evenodds.inference.line.class_line import ClassLineResult
    from evenodds.inference.line.line_test import line_test
    from evenodds.inference.multiclass.confusion import confusion_test

    if judged.kind == "probability":
        result = line_test(
            read.scores,
            read.labels,
            judged.cases,
            judged.stated,
            answers="probability",
            shared_tolerance=shared_tolerance,
        )
        if not isinstance(result, ClassLineResult):
            raise InputError("these cases are of two classes: give their scores.")
        return result
    if shared_tolerance:
        raise InputError(
            "--shared-tolerance is for stated probabilities: what was looked up does not lean. "
            "Leave it out."
        )
    if len(judged.experts) > 1:
        raise InputError(
            "several experts looked true classes up: say whose answers count, --expert NAME."
        )
    said = judged.stated[judged.answered[:, 0], :, 0]
    odd = np.flatnonzero((np.sort(said, axis=1)[:, :-1] != 0).any(axis=1) | (said.max(axis=1) != 1))
    if len(odd):
        raise InputError(
            f"case {odd[0] + 1} has no single class with 1 and 0 for the others, as a looked-up "
            "answer has: say --kind probability for stated chances."
        )
    true = np.array(read.classes.names, dtype=object)[said.argmax(axis=1)]
    return confusion_test(true, read.labels, strata=judged.cases, scores=read.scores)
