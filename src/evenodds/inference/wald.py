"""The test of Poyiadzi et al. (2021), corrected: plain logistic curve, anchors at 1/2."""

from dataclasses import dataclass, replace
from typing import ClassVar, get_args

import numpy as np
from scipy.special import expit, ndtr

from evenodds.anchors import TOSS_UP, Anchors
from evenodds.errors import AnchorError
from evenodds.inference.diagnostics import doubt_check, rows_check
from evenodds.inference.figure_data import CurveOnRows, sketch_plain, spread_out
from evenodds.inference.method import Known, Method, all_checks
from evenodds.inference.noise_aware import FittedRows
from evenodds.inference.null_fits import Weights, check_weights, equal_weights, optimal_weights
from evenodds.inference.profile import Alternative, Reference, pvalue_of, trace_line
from evenodds.inference.results import AnchorPosition, AsymmetryTestResult, Diagnostic
from evenodds.model.curve_shape import flattening_statistic
from evenodds.model.logistic import Covariance, LogisticFit, fit_rows
from evenodds.model.noisy_likelihood import NoisyPoint, small_sample
from evenodds.rows.base import Rows
from evenodds.validation import FloatArray, check_choice, with_minus

# A curve is called flattened below this p-value.
FLATTENED_BELOW = 0.01


@dataclass(frozen=True, slots=True)
class Wald(Method):
    """Settings of the paper's test.

    Parameters
    ----------
    weights : {"equal", "optimal"}
        How anchors are averaged. "optimal" minimises the variance over non-negative
        weights, for strict anchors only.
    covariance : {"information", "sandwich"}
        Covariance of the fitted curve. The sandwich allows for a curve that is not
        quite logistic; with groups it is always the grouped sandwich.
    """

    name: ClassVar[str] = "wald"
    has_rates: ClassVar[bool] = False
    overstates: ClassVar[bool] = True
    why_no_audit: ClassVar[str] = "whose curve has no flip rates"

    weights: Weights = "equal"
    covariance: Covariance = "information"

    def __post_init__(self) -> None:
        check_choice(self.weights, "weights", get_args(Weights))
        check_choice(self.covariance, "covariance", get_args(Covariance))

    def null_statistic(
        self, rows: Rows, known: Known, fitted: FittedRows | None = None
    ) -> tuple[float, Reference]:
        _, curve = self._fit(rows, self.anchors_of(known))
        return curve.z(0.0), Reference()

    def run(self, rows: Rows, known: Known, alternative: Alternative) -> AsymmetryTestResult:
        anchors = self.anchors_of(known)
        fit, curve = self._fit(rows, anchors)
        profile = trace_line(curve.z, 2 * curve.mean_posterior - 1)
        robust = "grouped sandwich" if rows.n_groups is not None else self.covariance
        settings: dict[str, str] = {"weights": self.weights, "covariance": robust}
        inside = NoisyPoint(fit.inside.coefficients, 0, 0)
        return AsymmetryTestResult(
            statistic=curve.z(0.0),
            pvalue=pvalue_of(profile.at_zero, alternative),
            asymmetry=profile.estimate,
            alpha=None,
            beta=None,
            mean_posterior=curve.mean_posterior,
            standard_error=float(np.sqrt(curve.variance(0.0))),
            stated_posterior=TOSS_UP,
            diagnostics=all_checks(rows, [_curve_check(rows, fit), rows_check(rows)]),
            profile=profile,
            endless_z=() if anchors.strict else tuple(map(curve.endless_z, profile.asymmetries)),
            sketch=sketch_plain(
                CurveOnRows(small_sample(rows), inside, fit.inside.shift), _positions(curve)
            ),
            **self.asked(rows, known, alternative, settings),
        )

    def _fit(self, rows: Rows, anchors: Anchors) -> "tuple[LogisticFit, AnchoredCurve]":
        """Fit the plain curve, and see it at the anchors."""
        points = anchors.points_for(rows.feature_names, rows.n_features)
        check_anchors(anchors, self)
        fit = fit_rows(rows, covariance=self.covariance)
        return fit, anchored_curve(fit, anchors, points, self)


@dataclass(frozen=True, slots=True)
class AnchoredCurve:
    """All that the statistic needs of a fit and its anchors.

    The variance of the weighted mean posterior at a hypothesised asymmetry is
    ``u' S u`` with ``S = (g g') o M + E``, where ``M`` is the covariance of the fitted
    log-odds, ``E`` that of the stated posteriors, and ``g_j`` the mean slope
    ``p (1 - p)`` at anchor j (theory page, "Relaxed anchors").
    """

    posteriors: FloatArray
    log_odds_covariance: FloatArray
    error_covariance: FloatArray
    error_variances: FloatArray  # of tolerance and shared tolerance only
    weights: FloatArray

    @property
    def mean_posterior(self) -> float:
        """Weighted mean of the fitted posteriors."""
        return float(self.weights @ self.posteriors)

    def variance(self, asymmetry: float) -> float:
        """Return the variance of the mean posterior at a hypothesised asymmetry."""
        slopes = (1 - asymmetry**2) / 4 - self.error_variances
        pull = self.weights * slopes
        return float(
            pull @ self.log_odds_covariance @ pull
            + self.weights @ self.error_covariance @ self.weights
        )

    def z(self, asymmetry: float) -> float:
        """Return the statistic at a hypothesised asymmetry."""
        distance = self.mean_posterior - (1 + asymmetry) / 2
        return distance / float(np.sqrt(self.variance(asymmetry)))

    def endless_z(self, asymmetry: float) -> float:
        """Return the statistic if the curve were known exactly."""
        curve = replace(self, log_odds_covariance=np.zeros_like(self.log_odds_covariance))
        return curve.z(asymmetry)


def _positions(curve: AnchoredCurve) -> tuple[AnchorPosition, ...]:
    """Return where the curve is at each anchor, with the error of that anchor alone."""
    n_anchors = len(curve.posteriors)
    errors = [replace(curve, weights=alone).variance(0.0) ** 0.5 for alone in np.eye(n_anchors)]
    return spread_out(np.full(n_anchors, 0.5), curve.posteriors, np.array(errors))


def anchored_curve(
    fit: LogisticFit, anchors: Anchors, points: FloatArray, settings: Wald
) -> AnchoredCurve:
    """Combine a fit with anchors, in the order of the fit's features."""
    with np.errstate(over="ignore", invalid="ignore"):
        covariance = fit.log_odds_covariance(points)
    if not np.isfinite(covariance).all():
        raise AnchorError(
            "an anchor lies absurdly far from the data: check the units of its columns."
        )
    if settings.weights == "equal":
        weights = equal_weights(len(anchors))
    else:
        weights = optimal_weights(fit.inside.covariance, fit.inside.design(points))
    return AnchoredCurve(
        posteriors=expit(fit.log_odds(points)),
        log_odds_covariance=covariance,
        error_covariance=anchors.error_covariance(),
        error_variances=(anchors.tolerance**2 + anchors.shared_tolerance**2) / 3,
        weights=weights,
    )


def check_anchors(anchors: Anchors, settings: Wald) -> None:
    """Refuse anchors that the paper's test cannot use."""
    off = anchors.posterior != 0.5
    if off.any():
        value = float(anchors.posterior[np.argmax(off)])
        raise AnchorError(
            f"posterior is {value:g} but method 'wald' needs 0.5 everywhere: elsewhere uniform "
            "noise moves the posterior too, by an unknown amount. Give toss-up anchors only."
        )
    check_weights(settings.weights, anchors)


def _curve_check(rows: Rows, fit: LogisticFit) -> Diagnostic:
    """Say whether the curve is flattened as by noise, which the plain curve cannot follow."""
    statistic = flattening_statistic(rows, fit)
    z = with_minus(f"z = {statistic:.1f}")
    return doubt_check(
        "curve",
        statistic,
        float(ndtr(statistic)),
        doubt="The labels follow a curve flattened at its ends, as label noise makes it "
        f"({z}). The plain logistic curve of this test then moves even when both "
        "classes are flipped equally often, unless rows lie evenly about the boundary; with rare "
        "positives or skewed features it rejects far too often.",
        fine=f"No flattening of the curve such as noise makes was seen ({z}); "
        "little noise may go unseen.",
        below=FLATTENED_BELOW,
    )
