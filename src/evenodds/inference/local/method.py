"""The local test: is the share of positive labels at the toss-ups one half?"""

from dataclasses import dataclass, replace

import numpy as np

from evenodds.anchors import TOSS_UP, Anchors
from evenodds.inference.diagnostics import groups_check, range_check
from evenodds.inference.local.checks import (
    bandwidth_check,
    left_out_check,
    line_check,
    nearby_check,
    rates_check,
    tipping_check,
)
from evenodds.inference.local.line import AnchorLine, check_stated, refuse_contradictions
from evenodds.inference.local.rates import flip_rates
from evenodds.inference.outcome import data_notes
from evenodds.inference.profile import Alternative, Profile, pvalue_of
from evenodds.inference.results import AsymmetryTestResult
from evenodds.inference.sketch import Sketch
from evenodds.inference.sketching import spread_out
from evenodds.inference.tracing import tabulate
from evenodds.model.local.holding import hold_locally
from evenodds.model.local.kernels import Kernel
from evenodds.model.local.posteriors import (
    LocalPosteriors,
    LocalRows,
    check_settings,
    refuse_lonely,
    rows_needed,
)
from evenodds.rows.base import Rows
from evenodds.validation import FloatArray

# Other bandwidths that are tried, to see whether the verdict hangs on this one.
ASIDE = (1 / 1.5, 1.5)
# What takes rows that a local fit does not.
INSTEAD = "method='boundary'"


@dataclass(frozen=True, slots=True)
class Local:
    """Settings of the local test.

    Parameters
    ----------
    bandwidth : float, optional
        How far around an anchor rows count, in spreads of the features (the half-width of
        the middle 68 % of each). By default chosen by cross-validated likelihood, then
        narrowed so that bias is small against the error.
    kernel : {"gaussian", "tricube"}
        How a row counts less with its distance. The Gaussian is cut at four bandwidths, the
        tricube ends at one.
    """

    bandwidth: float | None = None
    kernel: Kernel = "gaussian"

    def __post_init__(self) -> None:
        check_settings(self.bandwidth, self.kernel)


def local_test(
    rows: Rows, anchors: Anchors, settings: Local, alternative: Alternative
) -> AsymmetryTestResult:
    """Run the local test on checked rows; see `asymmetry_test`."""
    near = AnchoredRows.of(rows, anchors, settings.kernel)
    width = settings.bandwidth or near.held.bandwidth(settings.kernel)
    found = near.posteriors(width)
    refuse_lonely(found, rows.n_features)
    line = near.line(found)
    endless = replace(line, covariance=np.zeros_like(line.covariance))
    profile = trace_local(line)
    pvalue = pvalue_of(line.z(0.0), alternative)
    rates = flip_rates(line, profile.estimate)
    others = {factor * width: near.pvalue(factor * width, alternative) for factor in ASIDE}
    share = 1.0 if line.slope is None else max(line.error_share(0.0), 1e-3)
    return AsymmetryTestResult(
        statistic=line.z(0.0),
        pvalue=pvalue,
        asymmetry=profile.estimate,
        alpha=rates[0].estimate if rates else None,
        beta=rates[1].estimate if rates else None,
        mean_posterior=_unmixed(line.height(), share),
        standard_error=line.standard_error(0.0) / share,
        stated_posterior=TOSS_UP,
        method="local",
        alternative=alternative,
        settings={"kernel": settings.kernel, "bandwidth": f"{width:.6g}"},
        positive=rows.positive,
        negative=rows.negative,
        n_rows=round(rows.total_weight),
        n_features=rows.n_features,
        n_anchors=len(anchors),
        tolerance=anchors.tolerance_range(),
        shared_tolerance=anchors.shared_tolerance,
        shared_is_default=anchors.shared_is_default,
        diagnostics=tuple(
            check
            for check in (
                tipping_check(line, alternative, anchors.declared_error),
                bandwidth_check(width, pvalue, others),
                left_out_check(line, alternative),
                line_check(line, profile.estimate),
                rates_check(rates, line),
                nearby_check(found, rows.n_features),
                range_check(rows, near.points),
                groups_check(rows),
                *data_notes(rows),
            )
            if check is not None
        ),
        profile=profile,
        endless_z=tuple(map(endless.z, profile.asymmetries))
        if endless.standard_error(0.0) > 0
        else (),
        sketch=Sketch(
            n_rows_seen=rows.total_weight,
            anchors=spread_out(
                line.stated,
                np.clip(TOSS_UP + (line.noisy - TOSS_UP) / share, 0.0, 1.0),
                np.sqrt(line.total_covariance(0.0).diagonal()) / share,
            ),
            bins=(),
        ),
        flip_rates=rates,
    )


def local_line(rows: Rows, anchors: Anchors, settings: Local) -> AnchorLine:
    """Return all that the statistic needs, for simulations."""
    near = AnchoredRows.of(rows, anchors, settings.kernel)
    found = near.posteriors(settings.bandwidth or near.held.bandwidth(settings.kernel))
    refuse_lonely(found, rows.n_features)
    return near.line(found)


@dataclass(frozen=True, slots=True, eq=False)
class AnchoredRows:
    """Rows in memory with the anchors to fit at."""

    held: LocalRows
    anchors: Anchors
    points: FloatArray
    kernel: str

    @classmethod
    def of(cls, rows: Rows, anchors: Anchors, kernel: str) -> "AnchoredRows":
        """Check the anchors, then bring the rows into memory."""
        points = anchors.points_for(rows.feature_names, rows.n_features)
        check_stated(anchors)
        refuse_contradictions(anchors, points)
        return cls(hold_locally(rows, INSTEAD), anchors, points, kernel)

    def posteriors(self, bandwidth: float) -> LocalPosteriors:
        """Fit at every anchor."""
        return self.held.posteriors(self.points, bandwidth, self.kernel)

    def line(self, found: LocalPosteriors) -> AnchorLine:
        """Set the fits beside what was stated."""
        return AnchorLine.of(self.anchors, found.posterior, found.covariance)

    def pvalue(self, bandwidth: float, alternative: Alternative) -> float | None:
        """Return the p-value at another bandwidth; None where rows are too few for it."""
        found = self.posteriors(bandwidth)
        if (found.effective_rows < rows_needed(self.points.shape[1])).any():
            return None
        return pvalue_of(self.line(found).z(0.0), alternative)


def trace_local(line: AnchorLine) -> Profile:
    """Tabulate the statistic over the asymmetries that labels can have."""
    # At an asymmetry of 1 there is no room for tolerances; stop a hair before it.
    end = 1 - 1e-9
    estimate = min(max(2 * line.height() - 1, -0.999 * end), 0.999 * end)
    return tabulate(line.z, estimate, (-end, end))


def _unmixed(noisy: float, share: float) -> float:
    """Return the true posterior behind a noisy one, if the noise is uniform."""
    return min(max(TOSS_UP + (noisy - TOSS_UP) / share, 0.0), 1.0)
