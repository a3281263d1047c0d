"""What there is to say about a test of the share of positive labels."""

from evenodds.inference.prior import PriorTestResult
from evenodds.report.sheet import Assumption, Key, Sheet, View
from evenodds.report.wording import explained, repeat_call, show_pvalue
from evenodds.validation import signed


def prior_sheet(result: PriorTestResult, view: View) -> Sheet:
    """Return the sheet of a prior test."""
    rejected = result.pvalue < view.significance
    outcome = "rejected" if rejected else "not rejected"
    shares = f"{result.noisy_prior:.1%} of the labels are positive, {result.prior:.1%} should be"
    verdict = f"{_what(result)} is {outcome} ({show_pvalue(result.pvalue)}): {shares}."
    if not rejected:
        verdict += (
            " Flips that cancel out leave no trace in a share, so this does not show that labels "
            "are right."
        )
    return Sheet(
        result=result,
        view=view,
        question="Are as many labels positive as there should be?",
        headline=f"{_what(result)} is {outcome}.",
        verdict=verdict,
        keys=(
            Key("Evidence", show_pvalue(result.pvalue), f"against the null {result.null!r}"),
            Key("Labelled positive", f"{result.noisy_prior:.1%}", f"{result.prior:.1%} should be"),
        ),
        facts=_facts(result),
        assumptions=[
            Assumption("The true share of positives is known as well as was said."),
            Assumption("Labels are independent of each other."),
        ],
        made_with=[("null", result.null)],
        formulas="prior_formulas.html",
        python=repeat_call(
            [],
            "prior_test",
            [
                f"{result.n_positive}, {result.n_rows}, {result.prior!r}",
                f"null={result.null!r}",
                f"prior_standard_error={result.prior_standard_error!r}",
            ],
        ),
        words=explained(
            *("Flip", "Uniform noise", "alpha, beta", "Asymmetry"),
            *(["p-value"] if result.null == "uniform" else []),  # whose words are of equal flips
        ),
        holds="two counts and a share, no rows",
    )


def _what(result: PriorTestResult) -> str:
    return "Uniform noise" if result.null == "uniform" else "The hypothesis of clean labels"


def _facts(result: PriorTestResult) -> list[tuple[str, str]]:
    """Return the numbers of a prior test, named for a reader."""
    error = f" ± {result.prior_standard_error:g}" if result.prior_standard_error else ""
    lines = [
        ("null", result.null),
        ("labels", f"{result.n_positive:,} of {result.n_rows:,} positive"),
        ("share", f"{result.noisy_prior:.4f} observed, {result.prior:g}{error} stated"),
        ("p-value", f"{result.pvalue:.4g}"),
    ]
    if result.noise_rate is not None:
        lines.append(("noise rate", f"{result.noise_rate:.3f}, if the noise is uniform"))
    if result.asymmetry is not None:
        lines.append(("asymmetry", f"beta − alpha = {signed(result.asymmetry)}"))
    return lines
