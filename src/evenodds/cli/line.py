"""`evenodds cases` and `evenodds line`: rows to judge along a score, and the test on answers."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from evenodds.cli import options
from evenodds.cli.options import CASES, OUTPUT, option, optional
from evenodds.cli.output import Delivery, check_output, deliver, guarded, name_data, tell

if TYPE_CHECKING:
    import pyarrow as pa

    from evenodds.cli.classes import ClassesScored
    from evenodds.inference.audit.result import AuditTestResult
    from evenodds.inference.cases.judged import JudgedCases
    from evenodds.inference.cases.record import Cases
    from evenodds.inference.line.class_line import ClassLineResult
    from evenodds.inference.line.result import LineTestResult
    from evenodds.inference.multiclass.confusion_strata import StratifiedConfusionResult
    from evenodds.inference.results import Diagnostic
    from evenodds.rows.base import Block
    from evenodds.validation import FloatArray

    Judged = LineTestResult | ClassLineResult | AuditTestResult

CASES_EXAMPLES = """\
evenodds cases patients.csv --label diagnosis --scores scores.csv --out sheet.csv
evenodds cases patients.csv --label diagnosis --scores scores.csv --out few.csv --cases 30"""
LINE_EXAMPLES = """\
evenodds line patients.csv --label diagnosis --scores scores.csv \\
    --answers answers.csv --kind probability
evenodds line patients.csv --label diagnosis --scores scores.csv \\
    --answers answers.csv --kind probability --report line.html --margin 0.2"""


@guarded
def run_cases(
    data: options.Data,
    label: options.GivenLabel,
    scores: options.Scores,
    rows: options.RowOptions,
    out: Annotated[
        Path,
        option(
            OUTPUT,
            "Sheet to write, .csv, with an empty column to fill in; the draw is written beside "
            "it, as .json. Or tasks, see --format.",
            "FILE",
        ),
    ],
    sheet_format: options.CasesFormat = "csv",
    kind: options.AnswerKind | None = optional(
        CASES,
        "For tasks, and three classes and more: whether to ask for probabilities, or for the "
        "truth.",
    ),
    cases: int = optional(CASES, "How many rows to judge.", "N", default=60),
    strata: int | None = optional(CASES, "Strata of the score. Default: 5 for 60 cases.", "N"),
    seed: int = optional(CASES, "Seed of the draw.", "N", default=0),
    show: str | None = optional(
        OUTPUT, "Columns to show, as a,b,c. Default: all but the label.", "COLS"
    ),
) -> None:
    """Draw rows along a score for an expert to judge in a spreadsheet, Label Studio or Prodigy.

    The expert fills in the column 'stated' from the top down: how likely the case is truly
    positive, from 0 to 1, or the truth where it was looked up. evenodds elicit asks the same on
    a page; evenodds line tests the answers.
    """
    from evenodds.bridges.label_studio import labelling_config
    from evenodds.cli.classes import ClassesScored, draw_class_sheet, read_classes_scored
    from evenodds.cli.input import split_names
    from evenodds.elicit.judging import HOW, detectable, prospect_line
    from evenodds.elicit.show import choose_shown
    from evenodds.errors import InputError
    from evenodds.inference.cases.choose import FEWEST_CASES, FEWEST_STRATA, choose_cases
    from evenodds.inference.cases.judged import ROW, STATED
    from evenodds.validation import check_whole

    for value, name, least in (
        (cases, "--cases", FEWEST_CASES),
        (FEWEST_STRATA if strata is None else strata, "--strata", FEWEST_STRATA),
        (seed, "--seed", 0),
    ):
        check_whole(value, name, at_least=least)
    suffix, reader = TASK_FILES[sheet_format]
    if out.suffix.lower() != suffix:
        raise InputError(f"--out {out} must end in {suffix!r}: {reader} reads it.")
    record = out.with_suffix(".json" if sheet_format == "csv" else ".cases.json")
    interface = [out.with_suffix(".xml")] if sheet_format == "label-studio" else []
    written = (out, record, *interface)
    for path in written:
        check_output(path, "--out", data)
        if path.exists():
            raise InputError(f"{path} exists and may hold answers: name another --out.")
    several = read_classes_scored(data, label, scores, rows, shown=None)
    if several is None and (kind is None) != (sheet_format == "csv"):
        raise InputError(
            "--kind goes with --format label-studio or prodigy, which need it: whether tasks ask "
            "for a 'probability', or for the truth, 'looked-up'."
        )
    read = several or read_scored(data, label, scores, rows, everything=True)
    hidden = [name for name in (scores, rows.weight, rows.group) if name is not None]
    shown = choose_shown(read.table, label, hidden, split_names(show, "--show"), read.name)
    clash = [name for name in shown if name == ROW or name.lower().startswith(STATED)]
    if clash:
        raise InputError(f"the sheet has a column {clash[0]!r} of its own: leave it out of --show.")
    if isinstance(read, ClassesScored):
        if sheet_format != "csv":
            raise InputError("--format is csv for three classes and more: leave it out.")
        draw_class_sheet(
            read,
            (out, record),
            shown,
            [*data, "--label", label, "--scores", scores],
            settings={"n_cases": cases, "n_strata": strata, "seed": seed},
            looked_up=kind == "looked-up",
        )
        return
    drawn = choose_cases(
        read.scores,
        n_cases=cases,
        n_strata=strata,
        groups=read.block.groups,
        sample_weight=read.block.weights,
        seed=seed,
    )
    drawn_rows = read.table.select(list(shown)).take(drawn.rows).to_pylist()
    classes = (read.negative, read.positive)
    if interface and kind is not None:
        labelling_config(kind, classes)  # refuses some, before anything is written
    drawn.save(record)
    todo = _write_cases(written, drawn, drawn_rows, shown, classes, sheet_format, kind)
    for path in written:
        tell(f"wrote {path}")
    print(f"{len(drawn)} rows drawn in {drawn.n_strata} strata of the score. {todo}")
    found = {one: detectable(read.scores, read.labels, cases, one) for one in HOW}
    print(prospect_line(cases, found))
    asked = [*data, "--label", label, "--scores", scores, *_same_rows(rows)]
    if kind is None:
        asked += ["--answers", str(out)]
        print(f"Next: evenodds line {shlex.join(asked)} --kind probability (or looked-up)")
        return
    asked += ["--answers", f"EXPORT{suffix}", "--cases", str(record), "--kind", kind]
    print(f"Next: evenodds line {shlex.join(asked)}")


def _same_rows(rows: options.RowOptions) -> list[str]:
    """Return the options about rows as they were given."""
    same: list[str] = []
    for name in ("positive", "weight", "group"):
        value = getattr(rows, name)
        same += [] if value is None else [f"--{name}", value]
    return same


# How the file for each tool ends, and who reads it.
TASK_FILES = {
    "csv": (".csv", "a spreadsheet"),
    "label-studio": (".json", "Label Studio"),
    "prodigy": (".jsonl", "Prodigy"),
}


def _write_cases(
    written: tuple[Path, ...],
    drawn: "Cases",
    rows: list[dict[str, Any]],
    shown: Sequence[str],
    classes: tuple[Any, Any],
    sheet_format: str,
    kind: str | None,
) -> str:
    """Write drawn rows as a sheet or as tasks, and say what to do with them."""
    from evenodds.bridges import label_studio, prodigy
    from evenodds.files import whole_file, write_csv
    from evenodds.inference.cases.judged import ROW, STATED

    out, interface = written[0], written[-1]
    negative, positive = classes
    if kind is None:
        numbered = zip(drawn.rows, rows, strict=True)
        cells = ((row + 1, *values.values(), None) for row, values in numbered)
        write_csv(out, [ROW, *shown, STATED], cells)
        return (
            f"Fill in {STATED!r} from the top down: how likely each is truly {positive!r}, from 0 "
            f"to 1; or look the truth up and write {positive!r} or {negative!r}."
        )
    if sheet_format == "label-studio":
        label_studio.write_tasks(out, drawn, rows)
        with whole_file(interface) as file:
            file.write(label_studio.labelling_config(kind, classes) + "\n")
        return (
            f"Import {out} into a Label Studio project with the labelling interface of "
            f"{interface}, label tasks in their order, and export as JSON."
        )
    prodigy.write_tasks(out, drawn, rows, kind=kind, positive=positive)
    view = "choice" if kind == "probability" else "classification"
    return (
        f"Judge them by prodigy mark NAME {out} --view-id {view}, and export by prodigy db-out "
        "NAME > EXPORT.jsonl."
    )


@guarded
def run_line(
    data: options.Data,
    label: options.GivenLabel,
    scores: options.Scores,
    rows: options.RowOptions,
    answers: Annotated[
        Path,
        option(
            CASES,
            "Answers: the .json of evenodds elicit, a table with columns row and stated "
            "(stated_NAME for several experts), or an export of Label Studio (.json) or Prodigy "
            "(.jsonl).",
            "FILE",
        ),
    ],
    cases: Path | None = optional(
        CASES, "With a table or an export: the draw. Default: the table's name with .json.", "FILE"
    ),
    kind: options.Kind = None,
    expert: str | None = optional(
        CASES, "Whose answers count, as a,b. Default: everybody's.", "NAMES"
    ),
    shared_tolerance: float | None = optional(
        CASES,
        "How far an expert may lean the same way in every answer. Default: 0.05 for "
        "probabilities, 0 for looked-up answers.",
        "WIDTH",
    ),
    alternative: options.Alternative = "two-sided",
    *,
    output: options.GatedOptions,
) -> None:
    """Test whether one class is flipped more often, by cases judged along a score.

    For embeddings, boosted trees or many columns. Cases are drawn by evenodds elicit --scores (a
    page) or by evenodds cases (a sheet).

    Exit code 0: the test ran, whatever its verdict. 1: a gate failed. 2: bad input.
    """
    from evenodds.cli.classes import read_classes_scored
    from evenodds.cli.input import say_positive, split_names
    from evenodds.errors import InputError

    others = [*data, str(answers), scores, *([] if cases is None else [str(cases)])]
    wanted = Delivery(output, others)
    judged = _read_page(answers, cases, kind)
    about = None if judged is None else judged.about
    several = None
    if about is None or about.classes:
        shown = () if about is None else about.shown
        several = read_classes_scored(data, label, scores, rows, shown=shown)
    if several is not None:
        if alternative != "two-sided":
            raise InputError("every pair of classes is tested, both ways: leave --alternative out.")
        found = _judged_classes(
            several, judged, label, (answers, cases, kind, expert), shared_tolerance
        )
        deliver(found, wanted, name=name_data(data, label))
        return
    if about is not None:
        _refuse_other_options(
            about, answers, label=label, positive=rows.positive, weight=rows.weight
        )
        rows = replace(rows, positive=about.positive)
    read = read_scored(data, label, scores, rows, also=() if about is None else about.shown)
    names = split_names(expert, "--expert")
    if judged is None:
        judged = _read_sheet(answers, cases, kind, (read.negative, read.positive), names)
    else:
        if about is not None:
            _refuse_other_data(read, about, judged, answers)
        judged = judged if names is None else judged.of(names)
    result = judge_answers(read, judged, alternative=alternative, shared_tolerance=shared_tolerance)
    # A sheet of probabilities does not say of which class they are.
    unsaid = about is None and judged.kind == "probability"
    say_positive(read, rows.positive, one_sided=alternative != "two-sided", stated=unsaid)
    deliver(result, wanted, name=name_data(data, label))


def _judged_classes(
    read: "ClassesScored",
    judged: "JudgedCases | None",
    label: str,
    asked: tuple[Path, Path | None, Any, str | None],
    shared_tolerance: float | None,
) -> "ClassLineResult | StratifiedConfusionResult":
    """Test answers about several classes, of the page or of a sheet."""
    from evenodds.cli.classes import judge_classes
    from evenodds.cli.input import split_names
    from evenodds.inference.cases.judged import read_class_sheet

    answers, cases, kind, expert = asked
    if judged is None:
        drawn = _read_draw(answers, cases, kind)
        judged = read_class_sheet(answers, drawn, kind, read.classes.names)
    elif judged.about is not None:
        _refuse_other_options(judged.about, answers, label=label)
        _refuse_other_data(read, judged.about, judged, answers)
    names = split_names(expert, "--expert")
    judged = judged if names is None else judged.of(names)
    with naming_options():
        result = judge_classes(read, judged, shared_tolerance=shared_tolerance)
    return replace(result, diagnostics=(*result.diagnostics, *_notes(judged)))


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """Labels, weights and groups of a table, and a score of each row."""

    table: "pa.Table"
    block: "Block"  # its only feature is the score
    positive: Any
    negative: Any
    name: str

    @property
    def scores(self) -> "FloatArray":
        """The score of each row."""
        values: FloatArray = self.block.features[:, 0]
        return values

    @property
    def labels(self) -> Any:
        """The given label of each row, as the file has it."""
        return self.in_words(self.block.labels)

    def in_words(self, positive: "FloatArray") -> Any:
        """Return 0 and 1 as the labels of the file."""
        import numpy as np

        both = np.array([self.negative, self.positive], dtype=object)
        return both[positive.astype(int)]


def read_scored(
    sources: list[str],
    label: str,
    scores: str,
    rows: options.RowOptions,
    *,
    also: Sequence[str] = (),
    everything: bool = False,
) -> ScoredRows:
    """Read labels, weights, groups and `also` other columns, and scores of a column or a file."""
    import pyarrow as pa

    from evenodds.cli.scores import SCORE_FILES
    from evenodds.errors import InputError
    from evenodds.rows.base import refuse_missing
    from evenodds.rows.memory import free_name
    from evenodds.rows.open_table import open_table
    from evenodds.rows.table_rows import Reading, read_table
    from evenodds.rows.tables import hold, kind_of
    from evenodds.validation import check_column

    weight, group = rows.weight, rows.group
    of_file = Path(scores).suffix.lower() in SCORE_FILES
    values = read_scores_file(Path(scores)) if of_file else None
    source = sources[0] if len(sources) == 1 else sources
    named = [name for name in (label, weight, group) if name is not None]
    wanted: list[str] = []
    mixed: set[str] = set()

    def choose(names: tuple[str, ...]) -> list[str]:
        for name in (*named, *also):
            check_column(name, names, source)
        if not of_file:
            advice = " Or name a file of scores, as evenodds scores writes one."
            check_column(scores, names, source, advice=advice)
        own = () if of_file else (scores,)
        wanted[:] = names if everything else dict.fromkeys((*named, *also, *own))
        mixed.update({*wanted} - {weight, *own})
        return wanted

    opened = open_table(source, choose, text_if_mixed=mixed)
    table = pa.Table.from_batches([batch for _, batch in opened.batches(wanted)])
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
    refuse_missing(made)
    return ScoredRows(table, made.to_memory(), made.positive, made.negative, opened.name)


def read_scores_file(path: Path) -> "FloatArray":
    """Read a file of scores: its column `score`, its only column, or an array."""
    import numpy as np

    from evenodds.cli.scores import COLUMN
    from evenodds.errors import InputError
    from evenodds.inference.cases.record import read_scores
    from evenodds.rows.anchor_points import whole
    from evenodds.rows.open_table import map_npy, open_table
    from evenodds.rows.tables import as_numpy, kind_of
    from evenodds.validation import join_quoted

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


def _read_page(answers: Path, cases: Path | None, kind: str | None) -> "JudgedCases | None":
    """Return what the page wrote; None where answers are a sheet or an export."""
    from evenodds.bridges.label_studio import looks_like_export
    from evenodds.errors import InputError
    from evenodds.inference.cases.judged import JudgedCases

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


def _read_sheet(
    answers: Path,
    cases: Path | None,
    kind: Any,
    classes: tuple[Any, Any],
    experts: tuple[str, ...] | None,
) -> "JudgedCases":
    """Return what experts say in a table or an export, by the draw beside it."""
    from evenodds.cli.input import read_export
    from evenodds.inference.cases.judged import read_sheet

    drawn, export = _read_draw(answers, cases, kind), read_export([str(answers)])
    if export is not None:
        return export.judged(drawn, kind=kind, classes=classes, experts=experts)
    return read_sheet(answers, drawn, kind, classes, experts)


def _read_draw(answers: Path, cases: Path | None, kind: Any) -> "Cases":
    """Return the draw of a table of answers or an export, which must be named or beside it."""
    from evenodds.errors import InputError
    from evenodds.inference.cases.record import Cases

    if kind is None:
        raise InputError(
            "--kind is missing: say 'probability' where each answer is how likely the case is "
            "truly positive, 'looked-up' where it is the truth. Guesses of yes or no are neither."
        )
    is_export = answers.suffix.lower() in (".json", ".jsonl")
    draw = answers.parent / f"{answers.stem}.json" if cases is None else cases
    if cases is None and (is_export or not draw.is_file()):
        raise InputError(
            f"--cases is missing: name the draw that {answers} was made from, as evenodds cases or "
            "choose_cases(...).save(path) wrote it."
        )
    return Cases.read(draw)


def _refuse_other_options(about: Any, answers: Path, **wished: str | None) -> None:
    """Refuse a label, a class or weights that the answers are not about."""
    from evenodds.errors import InputError

    for wish, now in wished.items():
        then = getattr(about, wish)
        if now != then and not (wish == "positive" and now is None):
            started = f"--{wish} {then}" if then else f"no --{wish}"
            raise InputError(
                f"{answers} was made with {started}, not {now or 'without'}: give the same here."
            )


def _refuse_other_data(
    read: "ScoredRows | ClassesScored", about: Any, judged: "JudgedCases", answers: Path
) -> None:
    """Refuse rows that are not those that experts were shown."""
    from evenodds.elicit.plan import fingerprint
    from evenodds.errors import InputError

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
    read: ScoredRows, judged: "JudgedCases", *, alternative: Any, shared_tolerance: float | None
) -> "Judged":
    """Test answers of either kind, and say what else is known of them.

    Looked-up answers are read as an audit within strata, which is right whatever flips depend on,
    of several experts by their majority; rows with weights or groups are read by the line.
    """
    with naming_options():
        result = _judged(read, judged, alternative, shared_tolerance)
    return replace(result, diagnostics=(*result.diagnostics, *_notes(judged)))


# What Python calls by another name than an option.
NAMES = {
    "answers='probability'": "--kind probability",
    "answers='looked-up'": "--kind looked-up",
    "sample_weight": "--weight",
    "groups": "--group",
    "shared_tolerance": "--shared-tolerance",
}


@contextmanager
def naming_options() -> Iterator[None]:
    """Have messages name the options of the command line."""
    from evenodds.errors import InputError

    try:
        yield
    except InputError as error:
        said = str(error)
        for name, option_name in NAMES.items():
            said = said.replace(name, option_name)
        raise type(error)(said) from None


def _judged(
    read: ScoredRows, judged: "JudgedCases", alternative: Any, shared_tolerance: float | None
) -> "Judged":
    """Test answers by the test for their kind."""
    from evenodds.errors import InputError
    from evenodds.inference.audit.audit_test import audit_test
    from evenodds.inference.line.line_test import line_test
    from evenodds.inference.looks import look_reached

    plain = read.block.weights is None and read.block.groups is None
    if judged.kind == "looked-up" and plain:
        if shared_tolerance:
            raise InputError(
                "--shared-tolerance is for stated probabilities: what was looked up does not lean. "
                "Leave it out."
            )
        _refuse_between(judged.stated)
        said = judged.stated[(judged.stated >= 0).all(axis=1)]
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
    if judged.looks:
        raise InputError(
            "--weight and --group do not go with answers that are read at planned looks: leave "
            "them out."
        )
    return line_test(
        read.scores,
        read.labels,
        judged.cases,
        judged.stated,
        answers=judged.kind,
        positive=read.positive,
        alternative=alternative,
        shared_tolerance=shared_tolerance,
        sample_weight=read.block.weights,
        groups=read.block.groups,
    )


def _refuse_between(said: "FloatArray") -> None:
    """Refuse looked-up answers that are no truth; nan is none yet."""
    from evenodds.errors import InputError

    between = said[(said > 0) & (said < 1) | (said < 0) | (said > 1)]
    if len(between):
        raise InputError(
            f"an answer is {between[0]:g} but looked-up answers are 0 or 1: say --kind probability "
            "for stated probabilities."
        )


def _notes(judged: "JudgedCases") -> "list[Diagnostic]":
    """Say which answers were not used, and how well repeats agree."""
    from evenodds.inference.results import Diagnostic
    from evenodds.validation import counted

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
        notes.append(Diagnostic(name="repeats", message=message, concern=False))
    return notes
