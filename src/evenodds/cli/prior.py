"""`evenodds prior`: what the share of positive labels says, when the true share is known."""

from typing import Annotated, Literal

from evenodds.cli import options
from evenodds.cli.options import DATA, TEST, argument, optional
from evenodds.cli.output import guarded, show

EXAMPLES = """\
evenodds prior 800 2000 0.5
evenodds prior 800 2000 0.5 --prior-standard-error 0.01 --null clean"""


@guarded
def run_prior(
    n_positive: Annotated[int, argument("Number of positive labels.", "POSITIVE")],
    n_rows: Annotated[int, argument("Number of labels.", "ROWS")],
    prior: Annotated[float, argument("True share of positives.", "SHARE")],
    prior_standard_error: float = optional(
        DATA, "Standard error of the true share, if it is an estimate.", "SIZE", default=0.0
    ),
    null: Literal["uniform", "clean"] = optional(
        TEST, "What to test: uniform (equal flips) or clean (no flips).", default="uniform"
    ),
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
        null=null,
        prior_standard_error=prior_standard_error,
    )
    sheet = sheet_of(result, View(significance=significance))
    show(result, sheet, output_format, significance=significance, reject=sheet.rejected)
