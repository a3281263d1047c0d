"""Putting the outcome of a noise-aware test together, the same way for either."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from evenodds.anchors import Anchors
from evenodds.inference.audit.sample import Audit
from evenodds.inference.label_bounds import RateBounds
from evenodds.inference.noise_aware import Direction
from evenodds.inference.profile import Alternative, Profile, Reference
from evenodds.inference.results import AsymmetryTestResult, Diagnostic
from evenodds.inference.sketch import Sketch
from evenodds.inference.tracing import WIDEST
from evenodds.model.noisy import NoisyFit
from evenodds.rows.base import Rows
from evenodds.validation import join_quoted

# z at an estimate that is a root, up to where the search stops; and at one on a bound that only
# a contradiction explains.
ROOT, CONTRADICTION = 0.01, 3.0
# Checks that still speak where no number is shown.
KEPT = frozenset({"anchors and curve", "range of the data", "rows per parameter", "groups", "step"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AtAnchors:
    """What the labels say of the posterior at the anchors, for the parts of a result."""

    mean_posterior: float | None = None
    standard_error: float | None = None
    stated_posterior: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The question: which test of which rows and anchors, against what."""

    method: str
    settings: dict[str, str]
    alternative: Alternative
    rows: Rows
    anchors: Anchors | None
    audit: Audit | None = None


def outcome(
    asked: Asked,
    null: Direction,
    best: NoisyFit,
    profile: Profile,
    reference: Reference,
    *,
    bounds: RateBounds,
    withheld: str | None,
    endless_z: tuple[float, ...] = (),
    at_anchors: AtAnchors,
    checks: Iterable[Diagnostic | None],
    sketch: Sketch,
) -> AsymmetryTestResult:
    """Return the result of a test from its statistic, its best fit and its profile."""
    rows, anchors = asked.rows, asked.anchors
    if withheld is not None:
        # Where no asymmetry fits only because curves turn into steps, the null fit is sound: the
        # test stands, and its size is not known.
        if not null.usable or profile.estimate in bounds.limits(WIDEST):
            null = replace(null, z=math.nan)
        profile = Profile.unknown()
        endless_z, at_anchors = (), AtAnchors(stated_posterior=at_anchors.stated_posterior)
        checks = [check for check in checks if check is not None and check.name in KEPT]
        sketch = Sketch(n_rows_seen=sketch.n_rows_seen, anchors=(), bins=())
    rate = bounds.rate_within(best.point.rate, profile.estimate)
    return AsymmetryTestResult(
        statistic=null.z,
        pvalue=math.nan if math.isnan(null.z) else reference.pvalue(null.z, asked.alternative),
        asymmetry=None if withheld else profile.estimate,
        # tau sits on its bound up to rounding, which must not make a rate negative.
        alpha=None if withheld else max(rate - profile.estimate / 2, 0.0),
        beta=None if withheld else max(rate + profile.estimate / 2, 0.0),
        withheld=withheld,
        mean_posterior=at_anchors.mean_posterior,
        standard_error=at_anchors.standard_error,
        stated_posterior=at_anchors.stated_posterior,
        method=asked.method,
        alternative=asked.alternative,
        settings=asked.settings,
        positive=rows.positive,
        negative=rows.negative,
        n_rows=round(rows.total_weight),
        n_features=rows.n_features,
        n_anchors=0 if anchors is None else len(anchors),
        n_audited=0 if asked.audit is None else len(asked.audit),
        tolerance=(0.0, 0.0) if anchors is None else anchors.tolerance_range(),
        shared_tolerance=0.0 if anchors is None else anchors.shared_tolerance,
        shared_is_default=anchors is not None and anchors.shared_is_default,
        diagnostics=(*(check for check in checks if check is not None), *data_notes(rows)),
        profile=profile,
        endless_z=endless_z,
        reference=reference,
        sketch=sketch,
    )


def reason_to_withhold(
    null: NoisyFit, estimate: float, z_there: float, limits: tuple[float, float]
) -> str | None:
    """Say why no number can be read off a test, as the end of a sentence; None if all can.

    `estimate` is where z is zero, or as close to that as could be reached.
    """
    if null.is_step:
        return (
            f"the fitted curve is a step, with about {null.here.transition:.0f} rows on its slope: "
            "too few rows for so many columns and so much noise"
        )
    left = abs(z_there)
    if left < ROOT:
        return None
    if estimate not in limits:
        return (
            "no asymmetry fits: before one does, the fitted curve turns into a step; there are too "
            "few rows, or an anchor is wrong"
        )
    if left < CONTRADICTION:
        return None
    return (
        f"labels and anchors contradict each other: asymmetries from {limits[0]:+.2f} to "
        f"{limits[1]:+.2f} are all that these labels allow, and none of them fits; an anchor is "
        "wrong, or the curve is not logistic"
    )


def bound_check(
    profile: Profile, rate: float, bounds: RateBounds, limits: tuple[float, float]
) -> Diagnostic | None:
    """Say so where an estimate sits on the largest flip rate that the labels allow."""
    asymmetry = profile.estimate
    within = bounds.rate_within(rate, asymmetry)
    if asymmetry not in limits and within >= rate:
        return None
    alpha, beta = within - asymmetry / 2, within + asymmetry / 2
    name, labels, largest = "alpha", "negative", bounds.alpha
    if bounds.beta - beta < bounds.alpha - alpha:
        name, labels, largest = "beta", "positive", bounds.beta
    return Diagnostic(
        name="largest rate",
        message=(
            f"The estimate sits on a bound: {name} cannot exceed {largest:.3f}, the share of "
            f"{labels} labels where these are rarest."
        ),
        concern=False,
        statistic=largest,
    )


def ignored_check(ignored: Iterable[str]) -> tuple[Diagnostic, ...]:
    """Name columns of anchors that an expert may have judged by and the test does not use."""
    names = tuple(dict.fromkeys(ignored))
    if not names:
        return ()
    them = "them" if len(names) > 1 else "it"
    message = (
        f"The anchors have {join_quoted(names)}, which the test does not use: an expert who judged "
        f"by {them} called other cases toss-ups than these features do. Test with the columns that "
        "the expert saw, or have cases judged by those of the test alone."
    )
    return (Diagnostic(name="columns", message=message, concern=True),)


def data_notes(rows: Rows) -> tuple[Diagnostic, ...]:
    """Return what a reader should know of how the rows were read."""
    return tuple(Diagnostic(name="data", message=note, concern=False) for note in rows.notices)
