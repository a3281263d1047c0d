"""The local test: is the share of positive labels at the toss-ups one half?

Class-conditional noise makes ``E e_j = (1 + Delta)/2 + gamma (p_j - 1/2)`` with
``gamma = 1 - alpha - beta``: Delta is the height of the line at 1/2, gamma its slope. At
anchors that are all toss-ups the slope never shows; at others it is a nuisance, estimated with
the height. Read at 0 and 1 the line is beta and 1 - alpha (theory page, "Local likelihood").
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import chdtrc, ndtri

from evenodds.anchors import TOSS_UP, Anchors
from evenodds.errors import AnchorError
from evenodds.inference import diagnostics
from evenodds.inference.figure_data import spread_out
from evenodds.inference.method import Known, Method, all_checks
from evenodds.inference.noise_aware import FittedRows
from evenodds.inference.profile import Alternative, Reference, pvalue_of, trace_line
from evenodds.inference.results import AsymmetryTestResult, Diagnostic, FlipRate, Sketch
from evenodds.model.local_fit import (
    LocalPosteriors,
    LocalRows,
    check_settings,
    hold_locally,
    refuse_lonely,
    rows_needed,
)
from evenodds.model.neighbours import Kernel
from evenodds.model.sums import chi_squared
from evenodds.rows.base import Rows
from evenodds.validation import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class AnchorLine:
    """Noisy posteriors `noisy` at anchors stated at `stated`, with their covariances.

    `error` is the covariance of the stated posteriors.
    """

    stated: FloatArray
    noisy: FloatArray
    covariance: FloatArray
    error: FloatArray

    @classmethod
    def of(cls, anchors: Anchors, found: LocalPosteriors) -> "AnchorLine":
        """Set what the labels say beside what was stated; 0 and 1 are read as exact."""
        inside = (anchors.posterior > 0) & (anchors.posterior < 1)
        error = anchors.error_covariance() * np.outer(inside, inside)
        return cls(anchors.posterior, found.posterior, found.covariance, error)

    @property
    def has_slope(self) -> bool:
        """Whether anchors are stated at different posteriors."""
        return bool(np.ptp(self.stated) > 0)

    def weights_at(self, posterior: float) -> FloatArray:
        """Return the weights whose mean of `noisy` is the least-squares line at a posterior.

        For toss-ups, and the posterior 1/2, they are equal.
        """
        n_anchors = len(self.stated)
        weights = np.full(n_anchors, 1 / n_anchors)
        if self.has_slope:
            centred = self.stated - self.stated.mean()
            weights += (posterior - self.stated.mean()) * centred / (centred @ centred)
        return weights

    @property
    def slope(self) -> float | None:
        """Estimate of ``1 - alpha - beta``; None where all anchors are stated alike."""
        if not self.has_slope:
            return None
        return float((self.weights_at(1.0) - self.weights_at(0.0)) @ self.noisy)

    def height(self, posterior: float = TOSS_UP) -> float:
        """Return the line at a stated posterior."""
        return float(self.weights_at(posterior) @ self.noisy)

    def error_share(self, asymmetry: float) -> float:
        """Return how much of an error on a stated posterior reaches the labels, at most.

        That is ``1 - alpha - beta``, never more than ``1 - |Delta|``.
        """
        most = 1 - abs(asymmetry)
        return most if self.slope is None else min(max(self.slope, 0.0), most)

    def total_covariance(self, asymmetry: float) -> FloatArray:
        """Return the covariance of `noisy` about the line."""
        return self.covariance + self.error_share(asymmetry) ** 2 * self.error

    def standard_error(self, asymmetry: float, posterior: float = TOSS_UP) -> float:
        """Return the error of the line at a posterior."""
        weights = self.weights_at(posterior)
        return float(np.sqrt(weights @ self.total_covariance(asymmetry) @ weights))

    def z(self, asymmetry: float) -> float:
        """Return the statistic at a hypothesised asymmetry."""
        return (self.height() - (1 + asymmetry) / 2) / self.standard_error(asymmetry)

    def without(self, anchor: int) -> "AnchorLine":
        """Return the line without one anchor."""
        kept = np.arange(len(self.stated)) != anchor
        both = np.ix_(kept, kept)
        return AnchorLine(
            self.stated[kept], self.noisy[kept], self.covariance[both], self.error[both]
        )

    def departure(self, asymmetry: float) -> tuple[float, float, int] | None:
        """Test whether the anchors lie on one line; None with too few to tell.

        Returns the statistic, its p-value and the anchor furthest off.
        """
        design = np.ones((len(self.stated), 2 if self.has_slope else 1))
        design[:, 1:] = self.stated[:, None] - TOSS_UP
        if len(design) <= design.shape[1]:
            return None
        covariance = self.total_covariance(asymmetry)
        # What the least-squares line leaves over, whatever its height and slope.
        leaving = np.eye(len(design)) - design @ np.linalg.pinv(design)
        gaps, spread = leaving @ self.noisy, leaving @ covariance @ leaving
        statistic, rank = chi_squared(gaps, spread)
        if rank == 0:
            return None
        worst = int(np.argmax(np.abs(gaps) / np.sqrt(np.maximum(spread.diagonal(), 1e-300))))
        return statistic, float(chdtrc(rank, statistic)), worst


def check_stated(anchors: Anchors) -> None:
    """Refuse anchors whose line says nothing at 1/2."""
    low, high = float(anchors.posterior.min()), float(anchors.posterior.max())
    if low <= TOSS_UP <= high:
        return
    where = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    raise AnchorError(
        f"anchors are stated at {where} but method 'local' needs toss-ups (0.5), or posteriors on "
        "both sides of 0.5: elsewhere uniform noise moves the labels too, by an unknown amount."
    )


def refuse_contradictions(anchors: Anchors, points: FloatArray) -> None:
    """Refuse strict anchors that state two posteriors for one point."""
    if not anchors.strict:
        return
    first_at: dict[bytes, int] = {}
    for number, point in enumerate(points + 0.0):  # which makes -0 a 0
        first = first_at.setdefault(point.tobytes(), number)
        if anchors.posterior[first] != anchors.posterior[number]:
            raise AnchorError(
                f"anchors {first + 1} and {number + 1} are the same point, stated at "
                f"{anchors.posterior[first]:g} and at {anchors.posterior[number]:g}, and strict: "
                "they contradict each other. Leave one out, or give a tolerance."
            )


# Below this many effective rows a parameter the normal approximation is poor.
FEW_ROWS_A_PARAMETER = 10


def line_check(line: AnchorLine, asymmetry: float) -> Diagnostic | None:
    """Say whether the anchors agree with each other; None with too few to tell."""
    found = line.departure(asymmetry)
    if found is None:
        return None
    statistic, pvalue, worst = found
    return diagnostics.doubt_check(
        "anchors and curve",
        statistic,
        pvalue,
        doubt=f"The anchors do not agree with each other (p = {pvalue:.2g}); anchor {worst + 1} is "
        "furthest off. That anchor or the tolerance is wrong, or flips depend on the features.",
        fine=f"The anchors agree with each other (p = {pvalue:.2g}).",
    )


def left_out_check(line: AnchorLine, alternative: Alternative) -> Diagnostic | None:
    """Say whether any single anchor decides the verdict; None where none can be missed."""
    remaining = [line.without(anchor) for anchor in range(len(line.stated))]
    if not all(
        len(rest.stated) and rest.stated.min() <= TOSS_UP <= rest.stated.max() for rest in remaining
    ):
        return None
    return diagnostics.leave_one_out_check(
        {place: pvalue_of(rest.z(0.0), alternative) for place, rest in enumerate(remaining)}
    )


def tipping_check(line: AnchorLine, alternative: Alternative, declared: float) -> Diagnostic:
    """Say how far all anchors would have to be off, together, to change the verdict."""
    error = line.standard_error(0.0) / max(line.error_share(0.0), 1e-3)
    return diagnostics.tipping_point(
        line.z(0.0),
        lambda fall: TOSS_UP + fall * error,
        TOSS_UP,
        alternative,
        reference=Reference(),
        declared=declared,
        whose="toss-ups",
    )


def bandwidth_check(
    chosen: float,
    pvalue: float,
    others: dict[float, float],
) -> Diagnostic:
    """Say whether another bandwidth, of those with rows enough, would change the verdict."""
    differ = any((p < diagnostics.LEVEL) != (pvalue < diagnostics.LEVEL) for p in others.values())
    tried = " and ".join(f"{p:.2g} at {width:.2g}" for width, p in others.items())
    verdict = "the verdict depends on it" if differ else "the verdict is the same"
    message = f"The bandwidth is {chosen:.2g} spreads of the features"
    message += f"; the p-value is {tried}: {verdict}." if others else "; no other could be tried."
    return Diagnostic(name="bandwidth", message=message, concern=differ, statistic=chosen)


def nearby_check(found: LocalPosteriors, n_features: int) -> Diagnostic:
    """Say how many rows the posterior at each anchor rests on."""
    low, high = float(found.effective_rows.min()), float(found.effective_rows.max())
    fewest = float(found.distinct_rows.min())
    enough = FEW_ROWS_A_PARAMETER * (n_features + 1)
    span = f"{low:,.0f}" if round(low) == round(high) else f"{low:,.0f} to {high:,.0f}"
    if low < enough:
        anchor = int(np.argmin(found.effective_rows))
        needed = rows_needed(n_features)
        verdict = f": few (anchor {anchor + 1} has the fewest; at least {needed} are needed)."
    elif fewest < enough:
        anchor = int(np.argmin(found.distinct_rows))
        verdict = (
            f", but anchor {anchor + 1} on {fewest:,.0f} distinct ones: the rest is weight, and "
            "single rows of large weight decide."
        )
    else:
        verdict = "."
    return Diagnostic(
        name="rows per parameter",
        message=f"Each anchor rests on {span} effective rows around it{verdict}",
        concern=min(low, fewest) < enough,
        statistic=min(low, fewest),
    )


def rates_check(rates: tuple[FlipRate, ...], line: AnchorLine) -> Diagnostic | None:
    """Say what the anchors away from 1/2 tell of each rate; None without any."""
    if not rates:
        return None
    parts = [
        f"{rate.name} = {rate.estimate:.3f} ({rate.level:.0%} interval {rate.low:.3f} to "
        f"{rate.high:.3f})"
        for rate in rates
    ]
    slope = line.slope or 0.0
    backwards = slope <= 0
    message = f"By the line through the anchors, {' and '.join(parts)}."
    if backwards:
        message += " The line falls: the stated posteriors, or the labels, are the wrong way round."
    return Diagnostic(name="flip rates", message=message, concern=backwards, statistic=slope)


CONFIDENCE = 0.95
CRITICAL = float(-ndtri((1 - CONFIDENCE) / 2))


def flip_rates(line: AnchorLine, asymmetry: float) -> tuple[FlipRate, ...]:
    """Return alpha and beta with intervals; nothing where all anchors are stated alike."""
    if not line.has_slope:
        return ()
    beta, alpha = line.height(0.0), 1 - line.height(1.0)
    return tuple(
        FlipRate(
            name=name,
            estimate=_kept(rate),
            low=_kept(rate - CRITICAL * line.standard_error(asymmetry, end)),
            high=_kept(rate + CRITICAL * line.standard_error(asymmetry, end)),
            level=CONFIDENCE,
            n_anchors=int((line.stated == end).sum()),
        )
        for name, rate, end in (("alpha", alpha, 1.0), ("beta", beta, 0.0))
    )


def _kept(rate: float) -> float:
    """Return a rate inside its scale, which a line may leave by chance."""
    return float(min(max(rate, 0.0), 1.0))


# Other bandwidths that are tried, to see whether the verdict hangs on this one.
ASIDE = (1 / 1.5, 1.5)
# What takes rows that a local fit does not.
INSTEAD = "method='boundary'"


@dataclass(frozen=True, slots=True)
class Local(Method):
    """Settings of the local test.

    Parameters
    ----------
    bandwidth : float, optional
        How far around an anchor rows count, in spreads of the features (the half-width of
        the middle 68% of each). By default chosen by cross-validated likelihood, then
        narrowed so that bias is small against the error.
    kernel : {"gaussian", "tricube"}
        How a row counts less with its distance. The Gaussian is cut at four bandwidths, the
        tricube ends at one.
    """

    name: ClassVar[str] = "local"
    fits_curve: ClassVar[bool] = False
    has_rates: ClassVar[bool] = False
    why_no_audit: ClassVar[str] = "which looks at the rows around anchors only"

    bandwidth: float | None = None
    kernel: Kernel = "gaussian"

    def __post_init__(self) -> None:
        check_settings(self.bandwidth, self.kernel)

    def null_statistic(
        self, rows: Rows, known: Known, fitted: FittedRows | None = None
    ) -> tuple[float, Reference]:
        return self.line(rows, self.anchors_of(known)).z(0.0), Reference()

    def line(self, rows: Rows, anchors: Anchors) -> AnchorLine:
        """Return all that the statistic needs, for simulations."""
        _, _, found = self._fit(rows, anchors)
        return AnchorLine.of(anchors, found)

    def _fit(self, rows: Rows, anchors: Anchors) -> tuple[LocalRows, FloatArray, LocalPosteriors]:
        """Fit around every anchor; refused where hardly any row is near one."""
        points = anchors.points_for(rows.feature_names, rows.n_features)
        check_stated(anchors)
        refuse_contradictions(anchors, points)
        held = hold_locally(rows, INSTEAD)
        found = held.posteriors(points, self.bandwidth or held.bandwidth(self.kernel), self.kernel)
        refuse_lonely(found, rows.n_features)
        return held, points, found

    def run(self, rows: Rows, known: Known, alternative: Alternative) -> AsymmetryTestResult:
        anchors = self.anchors_of(known)
        held, points, found = self._fit(rows, anchors)
        line, width = AnchorLine.of(anchors, found), found.bandwidth
        endless = replace(line, covariance=np.zeros_like(line.covariance))
        profile = trace_line(line.z, 2 * line.height() - 1)
        pvalue = pvalue_of(line.z(0.0), alternative)
        rates = flip_rates(line, profile.estimate)
        others: dict[float, float] = {}
        for aside in (factor * width for factor in ASIDE):
            nearby = held.posteriors(points, aside, self.kernel)
            if (nearby.effective_rows >= rows_needed(rows.n_features)).all():
                others[aside] = pvalue_of(AnchorLine.of(anchors, nearby).z(0.0), alternative)
        share = 1.0 if line.slope is None else max(line.error_share(0.0), 1e-3)
        checks = [
            tipping_check(line, alternative, anchors.declared_error),
            bandwidth_check(width, pvalue, others),
            left_out_check(line, alternative),
            line_check(line, profile.estimate),
            rates_check(rates, line),
            nearby_check(found, rows.n_features),
            diagnostics.range_check(rows, points),
            diagnostics.groups_check(rows.n_groups),
        ]
        errors = np.sqrt(line.total_covariance(0.0).diagonal()) / share
        settings = {"kernel": self.kernel, "bandwidth": f"{width:.6g}"}
        return AsymmetryTestResult(
            statistic=line.z(0.0),
            pvalue=pvalue,
            asymmetry=profile.estimate,
            alpha=rates[0].estimate if rates else None,
            beta=rates[1].estimate if rates else None,
            mean_posterior=float(_unmixed(line.height(), share)),
            standard_error=line.standard_error(0.0) / share,
            stated_posterior=TOSS_UP,
            diagnostics=all_checks(rows, checks),
            profile=profile,
            endless_z=tuple(map(endless.z, profile.asymmetries))
            if endless.standard_error(0.0) > 0
            else (),
            sketch=Sketch(
                n_rows_seen=rows.total_weight,
                anchors=spread_out(line.stated, _unmixed(line.noisy, share), errors),
                bins=(),
            ),
            flip_rates=rates,
            **self.asked(rows, known, alternative, settings),
        )


def _unmixed(noisy: FloatArray | float, share: float) -> FloatArray:
    """Return the true posterior behind a noisy one, if the noise is uniform."""
    return np.clip(TOSS_UP + (noisy - TOSS_UP) / share, 0.0, 1.0)
