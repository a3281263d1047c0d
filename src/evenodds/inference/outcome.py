"""Putting the outcome of a noise-aware test together, the same way for either."""

from collections.abc import Iterable
from dataclasses import dataclass

from evenodds.anchors import Anchors
from evenodds.inference.audit.sample import Audit
from evenodds.inference.noise_aware import Direction
from evenodds.inference.profile import Alternative, Profile, Reference
from evenodds.inference.results import AsymmetryTestResult, Diagnostic
from evenodds.inference.sketch import Sketch
from evenodds.model.noisy import NoisyFit
from evenodds.rows.base import Rows


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
    endless_z: tuple[float, ...] = (),
    at_anchors: AtAnchors,
    checks: Iterable[Diagnostic | None],
    sketch: Sketch,
) -> AsymmetryTestResult:
    """Return the result of a test from its statistic, its best fit and its profile."""
    rows, anchors = asked.rows, asked.anchors
    return AsymmetryTestResult(
        statistic=null.z,
        pvalue=reference.pvalue(null.z, asked.alternative),
        asymmetry=profile.estimate,
        # tau sits on its bound up to rounding, which must not make a rate negative.
        alpha=max(best.point.rate - profile.estimate / 2, 0.0),
        beta=max(best.point.rate + profile.estimate / 2, 0.0),
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


def data_notes(rows: Rows) -> tuple[Diagnostic, ...]:
    """Return what a reader should know of how the rows were read."""
    return tuple(Diagnostic(name="data", message=note, concern=False) for note in rows.notices)
