"""`evenodds audit` and `evenodds audit plan`: rows whose true label was looked up, or will be."""

from pathlib import Path
from typing import Annotated

from evenodds.cli import options
from evenodds.cli.options import DATA, PLAN, TEST, argument, option, optional
from evenodds.cli.output import check_delivery, deliver, guarded, name_data, refuse_given, show_plan
from evenodds.errors import InputError

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
        argument(
            "Audited rows: CSV, TSV, Parquet or Feather files, or - for CSV on standard input. "
            "Rows without a true label are counted as not audited. Or an export of Label Studio "
            "(.json) or Prodigy (.jsonl), with columns item and annotator."
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
        say_positive,
    )
    from evenodds.inference.audit.result import AuditTestResult

    if annotator is not None and group:
        raise InputError(
            "--group goes with the test of all rows, and --annotator makes one test for each: "
            f"leave one out, or declare both as groups: --group {group[0]} --group {annotator}."
        )
    if (cases is None) != (scores is None):
        absent, there = ("--cases", "--scores") if cases is None else ("--scores", "--cases")
        raise InputError(f"{there} goes with {absent}: the record of cases, and their scores.")
    if stratum is not None and cases is not None:
        raise InputError("--stratum and --cases both say what rows were drawn within: leave one.")
    needless: dict[str, object] = {"--annotator": annotator, "--given-counts": given_counts}
    if stratum is not None or cases is not None:
        refuse_given(
            needless,
            "does not go with strata: rows of every stratum are counted in DATA, and tested "
            "together. Leave it out.",
        )
    if inclusion is not None:
        others: dict[str, object] = {"--stratum": stratum, "--cases": cases, **needless}
        others |= {"--group": group or None}
        others |= {"--sampled-by": None if sampled_by == "random" else sampled_by}
        refuse_given(
            others,
            "does not go with --inclusion, which says all of how rows were drawn: leave one out.",
        )
    if annotator is not None and looks is not None:
        raise InputError("--looks goes with the test of all rows, not with --annotator: leave one.")
    if corrected_share:
        asked: dict[str, object] = {"--gate": output.gate, "--margin": output.margin}
        asked |= {"--alternative": None if alternative == "two-sided" else alternative}
        refuse_given(asked, "goes with the test, and --corrected-share makes none: leave one.")
    check_delivery(output, [*data, *([] if cases is None else [str(cases)])])
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
    if isinstance(result, AuditTestResult):
        say_positive(result, positive, one_sided=alternative != "two-sided")
    shown = correct_share(rows, result) if corrected_share else result
    deliver(shown, output, name=name_data(data, given))


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
    from evenodds.cli.scored import read_column_or_file
    from evenodds.noise import ClassConditionalNoise
    from evenodds.planning.audit_size import audit_size

    size = audit_size(
        ClassConditionalNoise(alpha, beta),
        prior=prior,
        scores=None if scores is None else read_column_or_file(scores, data),
        sampled_by=sampled_by,
        share=share,
        power=power,
        alternative=alternative,
        significance=significance,
        runs=runs,
        seed=seed,
    )
    show_plan(size, output_format)
