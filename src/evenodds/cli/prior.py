"""`evenodds prior`: what the share of positive labels says, when the true share is known."""

import json
from typing import Annotated

import typer

from evenodds.cli import options
from evenodds.cli.output import guarded


@guarded
def run_prior(
    n_positive: Annotated[int, typer.Argument(help="Number of positive labels.")],
    n_rows: Annotated[int, typer.Argument(help="Number of labels.")],
    prior: Annotated[float, typer.Argument(help="True share of positives.")],
    null: Annotated[
        str, typer.Option(help="What to test: uniform (equal flips) or clean (no flips).")
    ] = "uniform",
    prior_standard_error: Annotated[
        float, typer.Option(help="Standard error of the true share, if it is an estimate.")
    ] = 0.0,
    significance: options.Significance = 0.05,
    output_format: options.Format = "text",
) -> None:
    """Test the labels from their share of positives, when the true share is known."""
    from evenodds.inference.prior import prior_test
    from evenodds.report.sheet import View, sheet_of
    from evenodds.validation import check_between

    check_between(significance, "--significance", 0, 1, closed="neither")
    result = prior_test(
        n_positive,
        n_rows,
        prior,
        null=null,  # type: ignore[arg-type]
        prior_standard_error=prior_standard_error,
    )
    sheet = sheet_of(result, View(significance=significance))
    if output_format == "json":
        answers = {
            "significance": significance,
            "reject": sheet.rejected,
            "verdict": sheet.verdict,
        }
        print(json.dumps({**result.to_dict(), **answers}, indent=2))
        return
    from evenodds.cli.show import show_sheet

    show_sheet(sheet)
