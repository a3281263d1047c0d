"""Cases along a score: `evenodds scores` makes them, `cases` draws rows, `line` tests answers."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from evenodds.cli import options
from evenodds.cli.options import CASES, OUTPUT, option, optional
from evenodds.cli.output import check_delivery, check_output, deliver, guarded, name_data, tell
from evenodds.errors import InputError

if TYPE_CHECKING:
    from evenodds.inference.cases.record import Cases

MODEL = "Model"
SCORES_EXAMPLES = """\
evenodds scores patients.csv --label diagnosis --out own_scores.parquet
evenodds scores patients.csv --label diagnosis --formula 'poly(marker, 2) + score' \\
    --folds 10 --out own_scores.csv"""
CASES_EXAMPLES = """\
evenodds cases patients.csv --label diagnosis --scores scores.csv --out sheet.csv
evenodds cases patients.csv --label diagnosis --scores scores.csv --out few.csv --cases 30"""
LINE_EXAMPLES = """\
evenodds line patients.csv --label diagnosis --scores scores.csv \\
    --answers judged.csv --kind probability
evenodds line patients.csv --label diagnosis --scores scores.csv \\
    --answers judged.csv --kind probability --report line.html --margin 0.2"""


@guarded
def run_scores(
    data: options.Data,
    out: Annotated[
        Path,
        option(OUTPUT, "Scores to write, .parquet, .csv or .npy: one a row, in order.", "FILE"),
    ],
    label: options.LabelOrFormula = None,
    features: options.Features = None,
    formula: options.Formula = None,
    *,
    own: options.RowOptions,
    folds: int = optional(MODEL, "Parts that the rows are divided into.", "N", default=5),
    seed: int = optional(MODEL, "Seed of the division.", "N", default=0),
) -> None:
    """Score every row by a ridge logistic regression that has not seen its label.

    What evenodds elicit, cases and line draw cases along. Scores of any other model serve too, if
    no row's score has seen the row's own label.
    """
    from evenodds.cli.input import check_label, split_names
    from evenodds.cli.scored import check_scores_file, make_scores

    check_label(label, formula)
    check_scores_file(out, data)
    chosen, how = split_names(features), {"folds": folds, "seed": seed}
    given, lines = make_scores(out, data, label, own, features=chosen, formula=formula, **how)
    for line in lines:
        print(line)
    asked = shlex.join([*data, "--label", given, "--scores", str(out)])
    if len(data) == 1 and Path(data[0]).is_file():
        print(f"Next: evenodds elicit {asked} --out answers.json")
    else:
        print(f"Next: evenodds cases {asked} --out cases.csv")


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
    from evenodds.cli.input import split_names
    from evenodds.cli.scored import ClassesScored, read_scored_or_classes
    from evenodds.elicit.judging import HOW, detectable, prospect_line
    from evenodds.elicit.show import choose_shown
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
    read = read_scored_or_classes(data, label, scores, rows, shown=None)
    several = isinstance(read, ClassesScored)
    if several and sheet_format != "csv":
        raise InputError("--format is csv for three classes and more: leave it out.")
    if not several and (kind is None) != (sheet_format == "csv"):
        raise InputError(
            "--kind goes with --format label-studio or prodigy, which need it: whether tasks ask "
            "for a 'probability', or for the truth, 'looked-up'."
        )
    hidden = [name for name in (scores, rows.weight, rows.group) if name is not None]
    shown = choose_shown(read.table, label, hidden, split_names(show, "--show"), read.name)
    clash = [name for name in shown if name == ROW or name.lower().startswith(STATED)]
    if clash:
        raise InputError(f"the sheet has a column {clash[0]!r} of its own: leave it out of --show.")
    drawn = choose_cases(
        read.scores,
        n_cases=cases,
        n_strata=strata,
        # Of several classes a truth that is looked up is found sooner by given label.
        given=read.labels if several and kind == "looked-up" else None,
        groups=read.groups,
        sample_weight=read.weights,
        seed=seed,
    )
    if interface and kind is not None:
        labelling_config(kind, read.names)  # refuses some, before anything is written
    drawn.save(record)
    drawn_rows = read.table.select(list(shown)).take(drawn.rows).to_pylist()
    todo = _write_cases(written, drawn, drawn_rows, shown, read.names, sheet_format, kind)
    for path in written:
        tell(f"wrote {path}")
    n_strata = len(set(drawn.strata.tolist()))
    print(f"{len(drawn):,} rows drawn in {n_strata} strata of the score. {todo}")
    if not several:
        found = {one: detectable(read.scores, read.labels, cases, one) for one in HOW}
        print(prospect_line(cases, found))
    asked = [*data, "--label", label, "--scores", scores, *_same_rows(rows)]
    if sheet_format == "csv":
        asked += ["--answers", str(out), "--kind", kind or "probability"]
    else:
        asked += ["--answers", f"EXPORT{suffix}", "--cases", str(record), "--kind", str(kind)]
    other = "\nWhere the truth was looked up, say --kind looked-up there."
    print(f"Next: evenodds line {shlex.join(asked)}{'' if kind or several else other}")


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
    classes: tuple[Any, ...],
    sheet_format: str,
    kind: str | None,
) -> str:
    """Write drawn rows as a sheet or as tasks, and say what to do with them."""
    from evenodds.bridges import label_studio, prodigy
    from evenodds.files import whole_file, write_csv
    from evenodds.inference.cases.judged import ROW, STATED

    out, interface = written[0], written[-1]
    negative, positive = classes[0], classes[-1]
    if sheet_format == "csv":
        # A column, or one for each of several classes.
        columns = [STATED] if len(classes) == 2 else [f"{STATED}_{name}" for name in classes]
        numbered = zip(drawn.rows, rows, strict=True)
        cells = ((row + 1, *values.values(), *[None] * len(columns)) for row, values in numbered)
        write_csv(out, [ROW, *shown, *columns], cells)
        if len(classes) > 2:
            fill = (
                "look the true class up and write 1 below it"
                if kind == "looked-up"
                else "how likely each class is, from 0 to 1 and 1 in all, nothing for 0"
            )
            ends = f"{columns[0]!r} to {columns[-1]!r}"
            return f"Fill in the columns {ends} from the top down: {fill}."
        return (
            f"Fill in {STATED!r} from the top down: how likely each is truly {positive!r}, from 0 "
            f"to 1; or look the truth up and write {positive!r} or {negative!r}."
        )
    if sheet_format == "label-studio":
        label_studio.write_tasks(out, drawn, rows)
        with whole_file(interface) as file:
            file.write(label_studio.labelling_config(str(kind), (negative, positive)) + "\n")
        return (
            f"Import {out} into a Label Studio project with the labelling interface of "
            f"{interface}, label tasks in their order, and export as JSON."
        )
    prodigy.write_tasks(out, drawn, rows, kind=str(kind), positive=positive)
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
    from evenodds.cli import scored
    from evenodds.cli.input import say_positive, split_names

    check_delivery(output, [*data, str(answers), scores, str(scored.draw_of(answers, cases))])
    judged = scored.read_page(answers, cases, kind)
    about = None if judged is None else judged.about
    read_them: Any = scored.read_scored_or_classes
    if about is not None and not about.classes:
        scored.refuse_other_options(
            about, answers, label=label, positive=rows.positive, weight=rows.weight
        )
        read_them, rows = scored.read_scored, replace(rows, positive=about.positive)
    shown = () if about is None else about.shown
    sheet = scored.read_sheet_shown(answers) if judged is None else None
    beside = () if sheet is None else tuple(sheet.column_names)
    read = read_them(data, label, scores, rows, shown=shown, if_there=beside)
    several = isinstance(read, scored.ClassesScored)
    if several and alternative != "two-sided":
        raise InputError("every pair of classes is tested, both ways: leave --alternative out.")
    if several and output.margin is not None:
        raise InputError(
            "--margin is for two classes, and there are three or more, whose pairs have an "
            "asymmetry each: leave --margin and --gate equivalence out, and read the intervals."
        )
    names = split_names(expert, "--expert")
    if judged is None:
        judged = scored.read_answers(read, answers, cases, kind, names, sheet)
    else:
        if about is not None:
            scored.refuse_other_options(about, answers, label=label)
            scored.refuse_other_data(read, about, judged, answers)
        judged = judged if names is None else judged.of(names)
    how = {"alternative": alternative, "shared_tolerance": shared_tolerance}
    result = scored.judge_answers(read, judged, **how)
    if not several:
        # A sheet of probabilities does not say of which class they are.
        unsaid = about is None and judged.kind == "probability"
        say_positive(read, rows.positive, one_sided=alternative != "two-sided", stated=unsaid)
    deliver(result, output, name=name_data(data, label))
