"""`evenodds audit`: the test on rows whose true label was looked up."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from evenodds.cli import options
from evenodds.cli.output import Delivery, deliver, guarded, name_data


@guarded
def run_audit(
    data: Annotated[
        list[str] | None,
        typer.Argument(
            help="Audited rows: CSV, TSV, Parquet or Feather files, or - for CSV on standard "
            "input. Rows without a true label are counted as not audited. Or an export of Label "
            "Studio (.json) or Prodigy (.jsonl), with columns item and annotator."
        ),
    ] = None,
    true: Annotated[
        str | None,
        typer.Option(
            help="Column of true labels. Of an export: the annotator who looked them up. Default: "
            "what is marked as ground truth."
        ),
    ] = None,
    given: Annotated[
        str | None,
        typer.Option(
            help="Column of given labels. Of an export: a field of the items. Default: what the "
            "other annotators said."
        ),
    ] = None,
    annotator: Annotated[
        str | None, typer.Option(help="Column of annotators: one test for each of them.")
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of groups: rows of one item, or of one annotator, are not independent. "
            "Twice for both."
        ),
    ] = None,
    sampled_by: Annotated[
        options.Drawn,
        typer.Option(help="How rows were chosen: at random, by true class, or by given label."),
    ] = "random",
    given_counts: Annotated[
        str | None,
        typer.Option(
            help="For --sampled-by given: rows of the whole data by given label, as "
            "no=9000,yes=1000. Default: counted in DATA, if it holds rows that were not audited."
        ),
    ] = None,
    stratum: Annotated[
        str | None,
        typer.Option(
            help="Column of strata that rows were drawn within, at random or by given label "
            "(--sampled-by); DATA holds the rows that were not audited too."
        ),
    ] = None,
    cases: Annotated[
        Path | None,
        typer.Option(
            help="Record of cases drawn along a score (choose_cases), with --scores: the audited "
            "rows of DATA are those."
        ),
    ] = None,
    scores: Annotated[
        str | None, typer.Option(help="For --cases: column of the scores they were drawn by.")
    ] = None,
    inclusion: Annotated[
        str | None,
        typer.Option(
            help="Column of the chance with which each row was drawn, where these differ; DATA "
            "holds the rows that were not drawn too."
        ),
    ] = None,
    looks: Annotated[
        str | None,
        typer.Option(
            help="Where the audit is read while it grows: audited rows at each planned look, as "
            "50,100,150,200."
        ),
    ] = None,
    corrected_share: Annotated[
        bool,
        typer.Option(
            "--corrected-share",
            help="Instead of the test: the share truly positive, from the labels of all rows of "
            "DATA and the audited ones. With --annotator COL for each group of that column.",
        ),
    ] = False,
    alternative: options.Alternative = "two-sided",
    positive: options.Positive = None,
    significance: options.Significance = 0.05,
    output_format: options.Format = "text",
    gate: options.GateCondition = None,
    margin: options.Margin = None,
    report: options.Report = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Instead: how many rows to audit, with --alpha, --beta.")
    ] = False,
    alpha: Annotated[
        float | None, typer.Option(help="For --plan: share of positives flipped, to be found.")
    ] = None,
    beta: Annotated[
        float | None, typer.Option(help="For --plan: share of negatives flipped, to be found.")
    ] = None,
    prior: Annotated[
        float | None, typer.Option(help="For --plan: share of rows that are truly positive.")
    ] = None,
    share: Annotated[
        float | None,
        typer.Option(help="For --plan by class: share of the audit drawn from the positives."),
    ] = None,
    power: Annotated[
        float | None, typer.Option(help="For --plan: probability of finding it. Default: 0.8.")
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            help="For --plan: simulated audits to check it with; 0 for none. Default: 200."
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="For --plan: seed of the simulation. Default: 0.")
    ] = None,
) -> None:
    """Test whether one class is flipped more often, on rows whose true label was looked up.

    Exit code 0: the test ran, whatever its verdict. 1: a gate failed. 2: bad input.
    """
    from evenodds.errors import InputError

    if plan:
        if data:
            raise InputError(
                "--plan goes without DATA: it tells how many rows to audit, before they are."
            )
        for_tests = {"--report": report, "--gate": gate, "--margin": margin, "--true": true}
        for_tests |= {"--given": given, "--annotator": annotator, "--given-counts": given_counts}
        for_tests |= {"--positive": positive, "--group": group[0] if group else None}
        for_tests |= {"--stratum": stratum, "--cases": cases, "--scores": scores}
        for_tests |= {"--corrected-share": corrected_share or None, "--inclusion": inclusion}
        for_tests |= {"--looks": looks}
        unused = [option for option, value in for_tests.items() if value is not None]
        if unused:
            raise InputError(
                f"{unused[0]} goes with a test, and --plan makes none: it tells how many rows to "
                "audit. Leave it out."
            )
        _plan(
            alpha,
            beta,
            output_format,
            prior=prior,
            share=share,
            power=0.8 if power is None else power,
            runs=200 if runs is None else runs,
            seed=seed or 0,
            sampled_by=sampled_by,
            alternative=alternative,
            significance=significance,
        )
        return
    for_plans = {"--alpha": alpha, "--beta": beta, "--prior": prior, "--share": share}
    for_plans |= {"--power": power, "--runs": runs, "--seed": seed}
    needless = [option for option, value in for_plans.items() if value is not None]
    if needless:
        raise InputError(f"{needless[0]} goes with --plan, which tells how many rows to audit.")
    if not data:
        raise InputError(
            "name a file of audited rows, with --true COL and --given COL; or --plan with --alpha "
            "and --beta, to learn how many rows to audit."
        )
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
    if corrected_share and gate is not None:
        raise InputError("--gate goes with the test, and --corrected-share makes none: leave one.")
    wanted = Delivery(output_format, significance, data, report, gate, margin)
    from evenodds.cli.input import (
        audit_file,
        correct_share,
        read_audit_file,
        read_counts,
        read_sizes,
    )

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
    shown = correct_share(rows, result) if corrected_share else result
    deliver(shown, wanted, name=name_data(data, given))


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


def _plan(alpha: float | None, beta: float | None, output_format: str, **options: object) -> None:
    """Print how many rows to audit."""
    from evenodds.errors import InputError
    from evenodds.noise import ClassConditionalNoise
    from evenodds.planning.audit_size import audit_size
    from evenodds.report.sheet import View, sheet_of

    if alpha is None or beta is None:
        raise InputError("--plan needs --alpha and --beta: the flip rates that should be found.")
    size = audit_size(ClassConditionalNoise(alpha, beta), **options)  # type: ignore[arg-type]
    if output_format == "json":
        document = {**size.to_dict(), "verdict": sheet_of(size, View()).verdict}
        print(json.dumps(document, indent=2))
        return
    print(str(size))
