"""A result as text: the verdict first, then the numbers, then what to doubt."""

import textwrap
from collections.abc import Sequence

from evenodds.inference.prior import PriorTestResult
from evenodds.inference.results import AsymmetryTestResult
from evenodds.report.verdict import next_steps, prior_verdict, show_interval, show_pvalue, verdict

WIDTH = 88

ALTERNATIVES = {
    "two-sided": "either class is flipped more",
    "greater": "negatives are flipped more (beta > alpha)",
    "less": "positives are flipped more (beta < alpha)",
}


def describe(
    result: AsymmetryTestResult, significance: float = 0.05, notes: Sequence[str] = ()
) -> str:
    """Return an asymmetry test as plain text; `notes` join what was checked."""
    doubts = [check.message for check in result.diagnostics if check.concern]
    passed = [check.message for check in result.diagnostics if not check.concern]
    return "\n".join(
        [
            wrapped(verdict(result, significance)),
            "",
            *aligned(facts(result, significance)),
            *listed("What to doubt", doubts),
            *listed("What was checked", [*passed, *notes]),
            *listed("What to do next", next_steps(result, significance)),
        ]
    )


def describe_prior(result: PriorTestResult, significance: float = 0.05) -> str:
    """Return a prior test as plain text."""
    lines = [wrapped(prior_verdict(result, significance)), "", *aligned(prior_facts(result))]
    return "\n".join(lines)


def facts(result: AsymmetryTestResult, significance: float = 0.05) -> list[tuple[str, str]]:
    """Return the numbers of an asymmetry test, named for a reader."""
    interval = result.confidence_interval(1 - significance)
    lines = [
        ("test", f"{result.method} ({_settings(result)})"),
        ("alternative", ALTERNATIVES[result.alternative]),
        ("statistic", f"z = {result.statistic:.3f}, {show_pvalue(result.pvalue)}"),
        ("asymmetry", f"beta - alpha = {result.asymmetry:+.3f}"),
        ("", f"{interval.level:.0%} interval {show_interval(interval, digits=3)}"),
    ]
    if result.alpha is not None and result.beta is not None:
        lines += [
            ("flip rates", f"alpha = {result.alpha:.3f} of the {result.positive!r}"),
            ("", f"beta  = {result.beta:.3f} of the {result.negative!r}"),
        ]
    region = result.retention_region(significance)
    if region is not None and result.mean_posterior is not None:
        lines += [
            ("at the anchors", f"posterior {result.mean_posterior:.3f} if the noise is uniform"),
            ("", f"not rejected from {region.low:.3f} to {region.high:.3f}"),
        ]
    lines += [
        ("rows", f"{result.n_rows:,} with {result.n_features} features"),
        ("anchors", f"{result.n_anchors}{_tolerance(result)}"),
        ("positive label", f"{result.positive!r} (the other is {result.negative!r})"),
    ]
    return lines


def prior_facts(result: PriorTestResult) -> list[tuple[str, str]]:
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
        lines.append(("asymmetry", f"beta - alpha = {result.asymmetry:+.3f}"))
    return lines


def _settings(result: AsymmetryTestResult) -> str:
    written = dict(result.settings)
    seed = written.pop("seed", None)
    words = [f"{value} {name}" for name, value in written.items()]
    return ", ".join(words if seed is None else [*words, f"seed {seed}"])


def _tolerance(result: AsymmetryTestResult) -> str:
    if result.n_anchors == 0:
        return ""
    low, high = result.tolerance
    own = f"±{low:g}" if low == high else f"±{low:g} to ±{high:g}"
    if high == 0 and result.shared_tolerance == 0:
        return ", taken as exact"
    shared = f", shared ±{result.shared_tolerance:g}" if result.shared_tolerance else ""
    return f", tolerance {own}{shared}"


def wrapped(text: str) -> str:
    """Break a paragraph into lines."""
    return textwrap.fill(text, WIDTH)


def aligned(pairs: list[tuple[str, str]]) -> list[str]:
    """Return names and values in two columns."""
    width = max(len(name) for name, _ in pairs)
    return [f"  {name:<{width}}  {value}" for name, value in pairs]


def listed(title: str, sentences: list[str]) -> list[str]:
    """Return a titled list, or nothing where there is nothing to list."""
    if not sentences:
        return []
    bullets = [
        textwrap.fill(sentence, WIDTH, initial_indent="  - ", subsequent_indent="    ")
        for sentence in sentences
    ]
    return ["", f"{title}:", *bullets]
