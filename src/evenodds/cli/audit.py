"""`evenodds audit` and `evenodds audit plan`: rows whose true label was looked up, or will be."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenodds.cli import options
from evenodds.cli.options import DATA, PLAN, TEST, option, optional
from evenodds.cli.output import Delivery, deliver, guarded, name_data, show

if TYPE_CHECKING:
    from evenodds.validation import FloatArray

DRAWN = "How the audit was drawn"
EXAMPLES = """\
evenodds audit audit.csv --true true --given given
evenodds audit audit.csv --true true --given given --annotator annotator"""
PLAN_EXAMPLES = """\
evenodds audit plan --alpha 0.2 --beta 0.1 --prior 0.3
evenodds audit plan --alpha 0.2 --beta 0.1 --scores scores.csv"""


@guarded
def run_audit(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA",
            help="Audited rows: CSV, TSV, Parquet or Feather files, or - for CSV on standard "
            "input. Rows without a true label are counted as not audited. Or an export of Label "
            "Studio (.json) or Prodigy (.jsonl), with columns item and annotator.",
            rich_help_panel=DATA,
        ),
    ],
    true: str | None = optional(
        DATA,
        "Column of true labels. Of an export: the annotator who looked them up. Default: what "
        "is marked as ground truth.",
        "COL",
    ),
    given: str | None = optional(
        DATA,
        "Column of given labels. Of an export: a field of the items. Default: what the other "
        "annotators said.",
        "COL",
    ),
    positive: options.Positive = None,
    annotator: str | None = optional(
        DATA, "Column of annotators: one test for each of them.", "COL"
    ),
    group: list[str] | None = optional(
        DATA,
        "Column of groups: rows of one item, or of one annotator, are not independent. "
        "Twice for both.",
        "COL",
    ),
    sampled_by: options.Drawn = optional(
        DRAWN, "At random, by true class, or by given label.", default="random"
    ),
    given_counts: str | None = optional(
        DRAWN,
        "For --sampled-by given: rows of the whole data by given label, as no=9000,yes=1000. "
        "Default: counted in DATA, if it holds rows that were not audited.",
        "COUNTS",
    ),
    stratum: str | None = optional(
        DRAWN,
        "Column of strata that rows were drawn within, at random or by given label "
        "(--sampled-by); DATA holds the rows that were not audited too.",
        "COL",
    ),
    cases: Path | None = optional(
        DRAWN,
        "Record of cases drawn along a score (choose_cases), with --scores: the audited rows "
        "of DATA are those.",
        "FILE",
    ),
    scores: str | None = optional(
        DRAWN, "For --cases: column of the scores they were drawn by.", "COL"
    ),
    inclusion: str | None = optional(
        DRAWN,
        "Column of the chance with which each row was drawn, where these differ; DATA holds "
        "the rows that were not drawn too.",
        "COL",
    ),
    looks: str | None = optional(
        TEST,
        "Where the audit is read while it grows: audited rows at each planned look, as "
        "50,100,150,200.",
        "SIZES",
    ),
    corrected_share: bool = optional(
        TEST,
        "Instead of the test: the share truly positive, from the labels of all rows of DATA "
        "and the audited ones. With --annotator COL for each group of that column.",
        name="--corrected-share",
        default=False,
    ),
    alternative: options.Alternative = "two-sided",
    *,
    output: options.GatedOptions,
) -> None:
    """Test whether one class is flipped more often, on rows whose true label was looked up.

    evenodds audit plan tells how many rows to look up.

    Exit code 0: the test ran, whatever its verdict. 1: a gate failed. 2: bad input.
    """
    from evenodds.cli.input import (
        audit_file,
        correct_share,
        read_audit_file,
        read_counts,
        read_sizes,
    )
    from evenodds.errors import InputError

    if annotator is not None and group:
        raise InputError(
            "--group goes with the test of all rows, and --annotator makes one test for each: "
            f"leave one out, or declare both as groups: --group {group[0]} --group {annotator}."
        )
    _check_strata(
        stratum, cases, scores, {"--annotator": annotator, "--given-counts": given_counts}
    )
    _check_inclusion(
        inclusion,
        {"--stratum": stratum, "--cases": cases, "--annotator": annotator}
        | {"--given-counts": given_counts, "--group": group or None}
        | {"--sampled-by": None if sampled_by == "random" else sampled_by},
    )
    if annotator is not None and looks is not None:
        raise InputError("--looks goes with the test of all rows, not with --annotator: leave one.")
    if corrected_share and output.gate is not None:
        raise InputError("--gate goes with the test, and --corrected-share makes none: leave one.")
    wanted = Delivery(output, data)
    along = stratum or scores or inclusion
    rows = read_audit_file(data, true, given, annotator, group or (), along)
    result = audit_file(
        rows,
        sampled_by=sampled_by,
        given_counts=read_counts(given_counts),
        cases=cases,
        by_chances=inclusion is not None,
        alternative=alternative,
        positive=positive,
        **({} if looks is None else {"looks": read_sizes(looks)}),
    )
    _say_positive(result, positive, alternative)
    shown = correct_share(rows, result) if corrected_share else result
    deliver(shown, wanted, name=name_data(data, given))


@guarded
def run_audit_plan(
    alpha: Annotated[float, option(PLAN, "Share of positives flipped, to be found.", "RATE")],
    beta: Annotated[float, option(PLAN, "Share of negatives flipped, to be found.", "RATE")],
    prior: float | None = optional(PLAN, "Share of rows that are truly positive.", "SHARE"),
    scores: str | None = optional(
        PLAN,
        "Audit along a score: a file of out-of-fold scores, as evenodds scores writes one, or "
        "a column of --data. Instead of --prior.",
        "FILE|COL",
    ),
    data: list[str] | None = optional(PLAN, "For --scores: file with that column.", "FILE"),
    sampled_by: options.Drawn = optional(
        PLAN, "Draw rows at random, by true class, or by given label.", default="random"
    ),
    share: float | None = optional(
        PLAN, "By class: share of the audit drawn from the positives.", "SHARE"
    ),
    power: float = optional(PLAN, "Probability of finding it.", "SHARE", default=0.8),
    runs: int = optional(PLAN, "Simulated audits to check it with; 0 for none.", "N", default=200),
    seed: int = optional(PLAN, "Seed of the simulation.", "N", default=0),
    alternative: options.Alternative = "two-sided",
    significance: options.Significance = 0.05,
    output_format: options.Format = "text",
) -> None:
    """Tell how many rows to look up, to find flip rates of this size.

    With --scores, rows are split over steps of the score, which takes fewer of them.
    """
    from evenodds.noise import ClassConditionalNoise
    from evenodds.planning.audit_size import audit_size
    from evenodds.report.sheet import View, sheet_of

    size = audit_size(
        ClassConditionalNoise(alpha, beta),
        prior=prior,
        scores=None if scores is None else _scores(scores, data),
        sampled_by=sampled_by,
        share=share,
        power=power,
        alternative=alternative,
        significance=significance,
        runs=runs,
        seed=seed,
    )
    show(size, sheet_of(size, View()), output_format)


def _scores(scores: str, data: list[str] | None) -> "FloatArray":
    """Read scores from a file, or from a column of the data."""
    from evenodds.cli.line import read_scores_file
    from evenodds.cli.scores import SCORE_FILES
    from evenodds.errors import InputError
    from evenodds.inference.cases.record import read_scores
    from evenodds.rows.anchor_points import whole
    from evenodds.rows.open_table import open_table
    from evenodds.rows.tables import as_numpy
    from evenodds.validation import check_column

    if Path(scores).suffix.lower() in SCORE_FILES:
        return read_scores_file(Path(scores))
    if not data:
        raise InputError(
            f"--scores {scores} is no file of scores (.parquet, .csv, .npy): for a column, name "
            "the file that has it by --data."
        )
    source = data[0] if len(data) == 1 else data

    def choose(names: tuple[str, ...]) -> list[str]:
        check_column(scores, names, source)
        return [scores]

    return read_scores(as_numpy(whole(open_table(source, choose))[scores]))


def _say_positive(result: Any, asked: str | None, alternative: str) -> None:
    """Say which label was taken as positive, where a side was asked for."""
    from evenodds.cli.input import say_positive
    from evenodds.inference.audit.result import AuditTestResult

    if isinstance(result, AuditTestResult):
        say_positive(result, asked, one_sided=alternative != "two-sided")


def _check_strata(
    stratum: str | None, cases: Path | None, scores: str | None, others: dict[str, str | None]
) -> None:
    """Refuse strata that are told by halves or twice, and what does not go with them."""
    from evenodds.errors import InputError

    if (cases is None) != (scores is None):
        absent, there = ("--cases", "--scores") if cases is None else ("--scores", "--cases")
        raise InputError(f"{there} goes with {absent}: the record of cases, and their scores.")
    if stratum is not None and cases is not None:
        raise InputError("--stratum and --cases both say what rows were drawn within: leave one.")
    needless = [option for option, value in others.items() if value is not None]
    if (stratum is not None or cases is not None) and needless:
        raise InputError(
            f"{needless[0]} does not go with strata: rows of every stratum are counted in DATA, "
            "and tested together. Leave it out."
        )


def _check_inclusion(inclusion: str | None, others: Mapping[str, object]) -> None:
    """Refuse what chances to be drawn leave nothing to say of."""
    from evenodds.errors import InputError

    needless = [option for option, value in others.items() if value is not None]
    if inclusion is not None and needless:
        raise InputError(
            f"{needless[0]} does not go with --inclusion, which says all of how rows were drawn: "
            "leave one out."
        )
