"""What a test would see on average: exemplary data, every row with both labels.

Each row counts as positive with the probability that it is labelled so, and as negative
with the rest. The statistic of such data is where the statistic of real data is centred
(O'Brien 1986, Proc. 11th SUGI, 778-784; theory page, "Power"). The paper's test is also planned
from its summary numbers: with ``v`` the variance of the mean posterior at the anchors, it rejects
when that mean is further than ``z_c sqrt(v)`` from 1/2, and under class-conditional noise the mean
is centred at ``1/2 + shift`` instead, with a variance of its own.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.special import expit, ndtr, ndtri

from evenodds.anchors import Anchors
from evenodds.errors import InputError
from evenodds.inference.method import Method
from evenodds.inference.noise_aware import FittedRows, boundary_direction, joint_direction
from evenodds.inference.null_fits import AnchorEquations, NullFits, equal_weights
from evenodds.inference.profile import Alternative
from evenodds.inference.wald import Wald
from evenodds.model.logistic import LogisticFit, fit_rows
from evenodds.model.noisy_fit import NoisyFit, climb_noisy
from evenodds.model.noisy_likelihood import Evidence
from evenodds.noise import ClassConditionalNoise, UniformNoise
from evenodds.rows.base import Rows
from evenodds.rows.memory import read_rows
from evenodds.simulation.world import World
from evenodds.validation import FloatArray, check_between, check_whole

MOST_ANCHORS = 1000


@dataclass(frozen=True, slots=True)
class Centre:
    """Where a statistic is centred, and its standard deviation."""

    mean: float
    spread: float = 1.0

    def power(self, significance: float, alternative: Alternative) -> float:
        """Return the probability that the statistic rejects."""
        tail = significance / 2 if alternative == "two-sided" else significance
        critical = float(-ndtri(tail))
        above = float(ndtr((self.mean - critical) / self.spread))
        below = float(ndtr((-self.mean - critical) / self.spread))
        return {"two-sided": above + below, "greater": above, "less": below}[alternative]


@dataclass(frozen=True, slots=True)
class Grain:
    """How finely a world is sampled.

    Cases drawn to stand for all its cases, and sets of anchors that the power is averaged over:
    more of them where a set is a single case and its luck is not averaged. Where each set needs
    a fit of its own, a few are picked to stand for all.
    """

    wald_rows: int
    noise_aware_rows: int
    fewest_sets: int
    single_sets: int
    picked: int


FINE: Grain = Grain(
    wald_rows=20_000, noise_aware_rows=4000, fewest_sets=512, single_sets=2048, picked=32
)
# For comparing many worlds: a few per cent off in rows, at a hundredth of the work.
COARSE = Grain(wald_rows=2000, noise_aware_rows=2000, fewest_sets=32, single_sets=32, picked=4)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorPlan:
    """How many anchors there are to be, and how well they are known."""

    n_anchors: int
    tolerance: float = 0.0
    shared_tolerance: float = 0.0


class Centres(Protocol):
    """Where the statistic of a test is centred, under some noise."""

    def at(self, n_rows: float | None, plan: AnchorPlan) -> list[Centre]:
        """Return the centres for a number of rows, one a typical set of anchors."""

    def under(self, noise: ClassConditionalNoise) -> "Centres":
        """Return the same for another noise."""


class Examples:
    """Cases and toss-ups that stand for a world, always the same for a seed, under any noise."""

    def __init__(self, world: World, n: int, seed: int, grain: Grain = FINE) -> None:
        self.world, self.seed, self.grain = world, seed, grain
        self.features = world.draw_features(n, np.random.default_rng([seed, 0]))
        self._points: dict[AnchorPlan, FloatArray] = {}
        self._typical: dict[AnchorPlan, list[Anchors]] = {}

    def rows(self, noise: ClassConditionalNoise) -> Rows:
        """Return every case with both labels, weighted by their probabilities."""
        chance = self.world.noisy_posterior(self.features, noise)
        return read_rows(
            np.concatenate([self.features, self.features]),
            np.repeat([1, 0], len(self.features)),
            sample_weight=np.concatenate([chance, 1 - chance]),
        )

    def share(self, n_rows: float | None) -> float:
        """Return how many examples stand for one row; copies of a case carry no news."""
        if n_rows is None:
            raise ValueError("a world has no number of rows")  # which check_rows sees to
        return len(self.features) * self.world.row_copies / n_rows

    def anchor_points(self, plan: AnchorPlan, *, erring: bool) -> FloatArray:
        """Return sets of anchors; those of a smaller plan are among those of a larger one.

        `erring` ones lie where an expert of this tolerance would put them, others where the
        true posterior is 1/2 but for the expert's bias.
        """
        drawn = plan if erring else replace(plan, tolerance=0.0, shared_tolerance=0.0)
        if drawn not in self._points:
            errors = {
                "tolerance": drawn.tolerance,
                "shared_tolerance": drawn.shared_tolerance,
            }
            n_sets = max(self.grain.fewest_sets, self.grain.single_sets // plan.n_anchors)
            streams = (np.random.default_rng([self.seed, 1, number]) for number in range(n_sets))
            self._points[drawn] = np.stack(
                [
                    self.world.draw_anchors(MOST_ANCHORS, rng, **errors).points[: plan.n_anchors]
                    for rng in streams
                ]
            )
        return self._points[drawn]

    @cached_property
    def clean(self) -> LogisticFit:
        """The curve of the world without noise."""
        return fit_rows(self.rows(UniformNoise(0.0)))

    def typical_sets(self, plan: AnchorPlan) -> list[Anchors]:
        """Return sets of anchors spread evenly over all, in the order of how much they can show.

        How well a curve without noise is known at the mean anchor ranks the sets much as the
        test itself does, the same for every noise, so that power rises smoothly with it.
        """
        if plan not in self._typical:
            points = self.anchor_points(plan, erring=False)
            design = self.clean.inside.design(points.mean(axis=1))
            variances = np.einsum("sd,de,se->s", design, self.clean.inside.covariance, design)
            order = np.argsort(variances, kind="stable")
            step = len(points) // self.grain.picked
            self._typical[plan] = [
                Anchors(
                    points[number],
                    tolerance=plan.tolerance,
                    shared_tolerance=plan.shared_tolerance,
                )
                for number in order[step // 2 :: step]
            ]
        return self._typical[plan]


class NoiseAwareCentres:
    """Where z(0) of the boundary or joint test is centred, for each set of anchors."""

    def __init__(self, examples: Examples, noise: ClassConditionalNoise, method: Method) -> None:
        self.examples, self.method = examples, method
        rows = examples.rows(noise)
        self.fitted = FittedRows.of(rows)
        # Fits start from the one without anchors, so that an answer does not depend on what was
        # asked before.
        nothing = Evidence.none(rows.n_features + 1)
        null_fits = NullFits(self.fitted.problem, nothing, self.fitted.plain_coefficients)
        self.start: NoisyFit = null_fits.at(0.0)
        if self.start.is_step:
            raise InputError(
                "these cases are too few, or too cleanly separated, to plan from: no curve with "
                "noise could be fitted to them. Give a larger pilot sample."
            )
        self._known: dict[tuple[float | None, AnchorPlan], list[Centre]] = {}

    def under(self, noise: ClassConditionalNoise) -> "NoiseAwareCentres":
        """Return the same for another noise."""
        return NoiseAwareCentres(self.examples, noise, self.method)

    def at(self, n_rows: float | None, plan: AnchorPlan) -> list[Centre]:
        """Return the centres for a number of rows."""
        if (n_rows, plan) not in self._known:
            share = self.examples.share(n_rows)
            sets = self.examples.typical_sets(plan) if plan.n_anchors else [None]
            found, start = [], self.start
            for anchors in sets:  # neighbours have much the same curve
                centre, start = self._centre(anchors, share, start)
                found.append(centre)
            self._known[n_rows, plan] = found
        return self._known[n_rows, plan]

    def _centre(
        self, anchors: Anchors | None, share: float, start: NoisyFit
    ) -> tuple[Centre, NoisyFit]:
        problem = self.fitted.problem
        points = np.empty((0, problem.rows.n_features)) if anchors is None else anchors.points
        equations = AnchorEquations.of(anchors, points, problem)
        if anchors is not None and not self.method.reads_shape:  # it sees their mean alone
            equations = equations.averaged(equal_weights(len(anchors)))
        # Few examples stand for many rows: the anchors' word is weakened to match, and the
        # variance of the curve is that of the rows.
        evidence = equations.evidence().scaled(share)
        if evidence.found:
            factors = problem.scaling.factors[1:]
            evidence = evidence.scattered(self.examples.clean.coefficients[1:] / factors)
        fit = climb_noisy(problem, evidence, 0.0, start.point, problem.last_gain)
        if self.method.reads_shape:
            return Centre(joint_direction(fit, evidence).z / float(np.sqrt(share))), fit
        here = boundary_direction(fit, equations)
        of_anchors = float(equations.covariance[0, 0])
        of_curve = (here.standard_error**2 - of_anchors) * share
        return Centre(here.distance / float(np.sqrt(of_curve + of_anchors))), fit


class WaldCentres:
    """Where z(0) of the paper's test is centred, and its spread, for each set of anchors.

    The plain curve is not the true one, so its limit and its sandwich covariance are used, and
    anchors lie off the boundary as experts err: where the curve is flatter than the truth, an
    error of the expert moves it less than the test allows for.
    """

    def __init__(self, examples: Examples, noise: ClassConditionalNoise, method: Wald) -> None:
        self.examples, self.method = examples, method
        rows = examples.rows(noise)
        self.robust: LogisticFit = fit_rows(rows, covariance="sandwich")
        # The fit as the test sees it; where cases are copied it knows the groups.
        sandwich = method.covariance == "sandwich" or examples.world.row_copies > 1
        self.fit: LogisticFit = self.robust if sandwich else fit_rows(rows)
        self._at_sets: dict[AnchorPlan, tuple[FloatArray, FloatArray, FloatArray]] = {}

    def under(self, noise: ClassConditionalNoise) -> "WaldCentres":
        """Return the same for another noise."""
        return WaldCentres(self.examples, noise, self.method)

    def at(self, n_rows: float | None, plan: AnchorPlan) -> list[Centre]:
        """Return the centres for a number of rows."""
        share = self.examples.share(n_rows)
        if plan not in self._at_sets:
            self._at_sets[plan] = self._sets_of(plan)
        distances, stated, actual = self._at_sets[plan]
        own, shared = plan.tolerance**2 / 3, plan.shared_tolerance**2 / 3
        slope = 0.25 - own - shared
        null_variance = slope**2 * share * stated + own / plan.n_anchors + shared
        means = distances / np.sqrt(null_variance)
        spreads = np.sqrt(share * actual / null_variance)
        return [Centre(*pair) for pair in zip(means.tolist(), spreads.tolist(), strict=True)]

    def _sets_of(self, plan: AnchorPlan) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what no number of rows changes, for every set of anchors.

        The distance of the mean posterior from 1/2; the variance of the log-odds at the mean
        anchor as the test states it; and that of the mean posterior as it is.
        """
        points = self.examples.anchor_points(plan, erring=True)
        flat = points.reshape(-1, points.shape[2])
        posteriors = expit(self.fit.log_odds(flat)).reshape(points.shape[:2])
        design = self.fit.inside.design(flat).reshape(*points.shape[:2], -1)
        mean_anchors = design.mean(axis=1)
        levers = np.einsum("sk,skd->sd", posteriors * (1 - posteriors), design) / plan.n_anchors
        return (
            posteriors.mean(axis=1) - 0.5,
            np.einsum("sd,de,se->s", mean_anchors, self.fit.inside.covariance, mean_anchors),
            np.einsum("sd,de,se->s", levers, self.robust.inside.covariance, levers),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorVariance:
    """Variance of the mean posterior for random anchors on the boundary.

    Parameters
    ----------
    single : float
        Expected variance with one anchor.
    floor : float, default 0
        Variance at the centre of the anchor region. Every anchor carries the intercept,
        so averaging anchors cannot remove it: ``v_k = floor + (single - floor) / k``.
    n_rows : int, optional
        Number of rows these variances are for; with more rows they shrink in proportion.
    """

    single: float
    floor: float = 0.0
    n_rows: int | None = None

    def __post_init__(self) -> None:
        check_between(self.single, "single", 0, np.inf, closed="neither")
        check_between(self.floor, "floor", 0, self.single)
        if self.n_rows is not None:
            check_whole(self.n_rows, "n_rows", at_least=1)

    def of(self, n_anchors: int, n_rows: float | None = None) -> float:
        """Return the expected variance with this many anchors, and rows where they are given."""
        k = check_whole(n_anchors, "n_anchors", at_least=1)
        variance = self.floor + (self.single - self.floor) / k
        if n_rows is None:
            return variance
        if self.n_rows is None:
            raise InputError(
                "AnchorVariance has no n_rows, so how its variance shrinks with more rows is "
                "unknown: say how many rows it is for."
            )
        return variance * self.n_rows / n_rows


def wald_centre(
    noise: ClassConditionalNoise, variance: float, anchor_variance: float = 0.0
) -> Centre:
    r"""Return where z(0) of the paper's test is centred, and its spread.

    Parameters
    ----------
    noise : ClassConditionalNoise
        The flip rates.
    variance : float
        Variance of the mean posterior at the anchors under the null, from the fitted
        curve alone: the paper's v, or `AnchorVariance.of`.
    anchor_variance : float, default 0
        Variance of the mean of the stated posteriors: ``tolerance^2 / (3 k)`` plus
        ``shared_tolerance^2 / 3``.

    Notes
    -----
    With :math:`v` the null variance, :math:`\tilde v` that under the noise, and
    :math:`h = (\beta - \alpha) / 2` the shift, as in the paper (a plain logistic curve settles
    further out: theory page, "Corrections"), the probability of a type II error is

    .. math:: b = \Phi\!\left(\frac{z_c \sqrt v - h}{\sqrt{\tilde v}}\right)
                - \Phi\!\left(\frac{-z_c \sqrt v - h}{\sqrt{\tilde v}}\right).

    Examples
    --------
    >>> from evenodds.noise import ClassConditionalNoise
    >>> centre = wald_centre(ClassConditionalNoise(0.3, 0.1), variance=0.001)
    >>> round(centre.power(0.05, "two-sided"), 2)
    0.89
    """
    # p (1 - p) at the anchor, relative to its 1/4 under the null, scales the curve's error.
    relative_slope = (1 - noise.asymmetry**2) ** 2
    signal = (1 - noise.alpha - noise.beta) ** 2
    null_error = float(np.sqrt(variance + anchor_variance))
    noisy_error = float(np.sqrt(variance * relative_slope + signal * anchor_variance))
    return Centre(noise.asymmetry / 2 / null_error, noisy_error / null_error)


@dataclass(frozen=True, slots=True)
class SummaryCentres:
    """Where z(0) of the paper's test is centred, from its summary numbers."""

    variance: AnchorVariance
    noise: ClassConditionalNoise

    def under(self, noise: ClassConditionalNoise) -> "SummaryCentres":
        """Return the same for another noise."""
        return SummaryCentres(self.variance, noise)

    def at(self, n_rows: float | None, plan: AnchorPlan) -> list[Centre]:
        """Return the centre for a number of rows, or for those that the numbers are for."""
        curve = self.variance.of(plan.n_anchors, n_rows)
        own, shared = plan.tolerance**2 / (3 * plan.n_anchors), plan.shared_tolerance**2 / 3
        return [wald_centre(self.noise, curve, own + shared)]


def centres(
    design: World | AnchorVariance,
    noise: ClassConditionalNoise,
    method: Method,
    seed: int,
    grain: Grain = FINE,
) -> Centres:
    """Return where a test's statistic is centred, as a function of rows and anchors."""
    if isinstance(design, AnchorVariance):
        return SummaryCentres(design, noise)
    if isinstance(method, Wald):
        return WaldCentres(Examples(design, grain.wald_rows, seed, grain), noise, method)
    return NoiseAwareCentres(Examples(design, grain.noise_aware_rows, seed, grain), noise, method)
