"""What there is to say about an asymmetry test."""

from dataclasses import asdict

from evenodds.inference.results import AsymmetryTestResult
from evenodds.report.assumptions import assumptions
from evenodds.report.reproduce import python_call
from evenodds.report.sheet import Key, Sheet, SheetPicture, versions
from evenodds.report.verdict import (
    headline,
    is_withheld,
    name_interval,
    never_shown,
    next_steps,
    show_interval,
    show_pvalue,
    verdict,
    with_minus,
)
from evenodds.report.view import View
from evenodds.report.words import (
    ALTERNATIVES,
    ANCHOR,
    CLASS_CONDITIONAL_NOISE,
    FLIP,
    NOT_REJECTED,
    PVALUE,
    QUESTION,
    UNIFORM_NOISE,
    known_to,
)


def asymmetry_sheet(result: AsymmetryTestResult, view: View) -> Sheet:
    """Return the sheet of an asymmetry test."""
    equivalence = result.equivalence(view.margin)
    smallest = result.smallest_margin(view.significance)
    return Sheet(
        question=QUESTION,
        headline=headline(result, view.significance, view.margin),
        verdict=verdict(result, view.significance),
        rejected=result.pvalue < view.significance,
        keys=_keys(result, view),
        facts=facts(result, view.significance),
        page_facts=()
        if result.withheld
        else (
            ("equivalence", f"size below {view.margin:g}: {show_pvalue(equivalence.pvalue)}"),
            *([("", never_shown(smallest))] if smallest else []),
        ),
        answers=_nothing(view)
        if result.withheld
        else {
            "confidence_interval": asdict(result.confidence_interval(1 - view.significance)),
            "equivalence": {**asdict(equivalence), "smallest_margin": smallest},
        },
        checks=result.diagnostics,
        next_steps=next_steps(result, view.significance, view.margin),
        assumptions=assumptions(result),
        settings=[
            ("method", result.method),
            *result.settings.items(),
            ("alternative", result.alternative),
            *view.settings(),
            ("positive label", repr(result.positive)),
            ("negative label", repr(result.negative)),
            *versions(result.versions),
        ],
        formulas="asymmetry_formulas.html",
        python=python_call(result),
        words=[FLIP, UNIFORM_NOISE, CLASS_CONDITIONAL_NOISE, ANCHOR, NOT_REJECTED, PVALUE],
        holds="counts of rows and where the toss-ups lie, no rows",
        version=result.versions["evenodds"],
        pictures=lambda: _pictures(result, view),
    )


def _nothing(view: View) -> dict[str, dict[str, float | None]]:
    """Return the answers of a test whose numbers are withheld."""
    return {
        "confidence_interval": {"low": None, "high": None, "level": 1 - view.significance},
        "equivalence": {"margin": view.margin, "pvalue": None, "smallest_margin": None},
    }


def facts(result: AsymmetryTestResult, significance: float = 0.05) -> list[tuple[str, str]]:
    """Return the numbers of an asymmetry test, named for a reader."""
    interval = result.confidence_interval(1 - significance)
    lines = [
        ("test", f"{result.method} ({_settings(result)})"),
        ("alternative", ALTERNATIVES[result.alternative]),
    ]
    if not is_withheld(result, significance):
        lines += [("statistic", f"z = {result.statistic:.3f}, {show_pvalue(result.pvalue)}")]
    if not result.withheld:
        lines += [
            ("asymmetry", f"beta - alpha = {result.profile.estimate:+.3f}"),
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
        *([("audit", f"{result.n_audited:,} rows with true labels")] if result.n_audited else []),
        ("positive label", f"{result.positive!r} (the other is {result.negative!r})"),
    ]
    return lines


def _keys(result: AsymmetryTestResult, view: View) -> tuple[Key, ...]:
    evidence = Key(
        "Evidence against equal flips",
        show_pvalue(result.pvalue),
        f"z = {with_minus(f'{result.statistic:.2f}')}, {result.method} test",
    )
    if result.withheld:
        return (evidence,) if result.pvalue < view.significance else ()
    interval = result.confidence_interval(1 - view.significance)
    keys = (
        evidence,
        Key(
            "Asymmetry, beta − alpha",
            with_minus(f"{result.profile.estimate:+.3f}"),
            name_interval(interval)
            + (", too large where labels are noisy" if result.method == "wald" else ""),
        ),
    )
    if result.alpha is None or result.beta is None:
        return keys
    rates = Key(
        "Flipped, by estimate",
        f"{100 * result.alpha:.1f} % / {100 * result.beta:.1f} %",
        f"of true {result.positive!r} / of true {result.negative!r}",
    )
    return (*keys, rates)


def _pictures(result: AsymmetryTestResult, view: View) -> dict[str, SheetPicture]:
    from evenodds.report.figures import pictures

    return pictures(result, view)


def _settings(result: AsymmetryTestResult) -> str:
    written = dict(result.settings)
    seed = written.pop("seed", None)
    words = [f"{value} {name}" for name, value in written.items()]
    return ", ".join(words if seed is None else [*words, f"seed {seed}"])


def _tolerance(result: AsymmetryTestResult) -> str:
    if result.n_anchors == 0:
        return ""
    shared, by_default = result.shared_tolerance, result.shared_is_default
    return f", {known_to(result.tolerance, shared, by_default=by_default)}"
