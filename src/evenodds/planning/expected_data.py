"""What a test would see on average: exemplary data, every row with both labels.

Each row counts as positive with the probability that it is labelled so, and as negative
with the rest. The statistic of such data is where the statistic of real data is centred
(O'Brien 1986, Proc. 11th SUGI, 778-784; theory page, "Power").
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from evenodds.anchors import Anchors
from evenodds.errors import InputError
from evenodds.inference.method import Method
from evenodds.inference.noise_aware import FittedRows, boundary_direction, joint_direction
from evenodds.inference.null_fits import AnchorEquations, NullFits, equal_weights
from evenodds.inference.wald import Wald
from evenodds.model.anchor_evidence import Evidence
from evenodds.model.logistic import LogisticFit, fit_rows
from evenodds.model.noisy_fit import NoisyFit, climb_noisy
from evenodds.noise import ClassConditionalNoise, UniformNoise
from evenodds.planning.paper_power import Centre
from evenodds.rows.base import Rows
from evenodds.rows.memory import read_rows
from evenodds.simulation.world import World
from evenodds.validation import FloatArray

MOST_ANCHORS = 1000


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


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Cases and toss-ups that stand for a world, always the same for a seed."""

    world: World
    seed: int
    features: FloatArray
    grain: Grain = FINE

    @classmethod
    def of(cls, world: World, n: int, seed: int, grain: Grain = FINE) -> "Examples":
        """Draw n cases from a world."""
        features = world.draw_features(n, np.random.default_rng([seed, 0]))
        return cls(world, seed, features, grain)

    def rows(self, noise: ClassConditionalNoise) -> Rows:
        """Return every case with both labels, weighted by their probabilities."""
        chance = self.world.noisy_posterior(self.features, noise)
        return read_rows(
            np.concatenate([self.features, self.features]),
            np.repeat([1, 0], len(self.features)),
            sample_weight=np.concatenate([chance, 1 - chance]),
        )

    def share(self, n_rows: float) -> float:
        """Return how many examples stand for one row; copies of a case carry no news."""
        return len(self.features) * self.world.row_copies / n_rows

    def anchor_sets(self, plan: AnchorPlan, *, erring: bool) -> Iterator[Anchors]:
        """Return sets of anchors; those of a smaller plan are among those of a larger one.

        `erring` ones lie where an expert of this tolerance would put them, others where the
        true posterior is 1/2 but for the expert's bias.
        """
        tolerance, shared = plan.tolerance, plan.shared_tolerance
        grain = self.grain
        for number in range(max(grain.fewest_sets, grain.single_sets // plan.n_anchors)):
            rng = np.random.default_rng([self.seed, 1, number])
            drawn = self.world.draw_anchors(
                MOST_ANCHORS,
                rng,
                tolerance=tolerance if erring else 0.0,
                shared_tolerance=shared if erring else 0.0,
            )
            points = drawn.points[: plan.n_anchors]
            yield Anchors(points, tolerance=tolerance, shared_tolerance=shared)


class NoiseAwareCentres:
    """Where z(0) of the boundary or joint test is centred, for each set of anchors."""

    def __init__(
        self,
        world: World,
        noise: ClassConditionalNoise,
        method: Method,
        seed: int,
        grain: Grain = FINE,
    ) -> None:
        self.method = method
        self.examples = Examples.of(world, grain.noise_aware_rows, seed, grain)
        rows = self.examples.rows(noise)
        self.fitted = FittedRows.of(rows)
        self.clean = fit_rows(self.examples.rows(UniformNoise(0.0)))
        # Every fit starts from the one without anchors, so that an answer does not depend on
        # what was asked before.
        nothing = Evidence.none(rows.n_features + 1)
        null_fits = NullFits(self.fitted.problem, nothing, self.fitted.plain_coefficients)
        self.start: NoisyFit = null_fits.at(0.0)
        if self.start.is_step:
            raise InputError(
                "these cases are too few, or too cleanly separated, to plan from: no curve with "
                "noise could be fitted to them. Give a larger pilot sample."
            )
        self._sets: dict[AnchorPlan, list[Anchors]] = {}
        self._known: dict[tuple[float, AnchorPlan], list[Centre]] = {}

    def at(self, n_rows: float, plan: AnchorPlan) -> list[Centre]:
        """Return the centres for a number of rows."""
        if (n_rows, plan) not in self._known:
            share = self.examples.share(n_rows)
            sets: list[Anchors | None] = [None]
            if plan.n_anchors > 0:
                if plan not in self._sets:
                    self._sets[plan] = self._typical_sets(plan)
                sets = [*self._sets[plan]]
            self._known[n_rows, plan] = [self._centre(anchors, share) for anchors in sets]
        return self._known[n_rows, plan]

    def _typical_sets(self, plan: AnchorPlan) -> list[Anchors]:
        """Return sets of anchors spread evenly over all, in the order of how much they can show.

        How well a curve without noise is known at the mean anchor ranks the sets much as the
        test itself does, the same for every noise, so that power rises smoothly with it.
        """
        sets = list(self.examples.anchor_sets(plan, erring=False))
        means = np.array([anchors.points.mean(axis=0) for anchors in sets])
        design = self.clean.inside.design(means)
        variances = np.einsum("sd,de,se->s", design, self.clean.inside.covariance, design)
        order = np.argsort(variances, kind="stable")
        step = len(sets) // self.examples.grain.picked
        return [sets[number] for number in order[step // 2 :: step]]

    def _centre(self, anchors: Anchors | None, share: float) -> Centre:
        equations = self._equations(anchors)
        # Few examples stand for many rows: the anchors' word is weakened to match, and the
        # variance of the curve is that of the rows.
        evidence = equations.evidence().scaled(share)
        fit = self._fit(evidence)
        if self.method.reads_shape:
            return Centre(joint_direction(fit, evidence).z / float(np.sqrt(share)))
        here = boundary_direction(fit, equations)
        of_anchors = float(equations.covariance[0, 0])
        of_curve = (here.standard_error**2 - of_anchors) * share
        return Centre(here.distance / float(np.sqrt(of_curve + of_anchors)))

    def _equations(self, anchors: Anchors | None) -> AnchorEquations:
        """Return what the anchors say; the boundary test sees their mean alone."""
        problem = self.fitted.problem
        points = np.empty((0, problem.rows.n_features)) if anchors is None else anchors.points
        equations = AnchorEquations.of(anchors, points, problem)
        if anchors is None or self.method.reads_shape:
            return equations
        return equations.averaged(equal_weights(len(anchors)))

    def _fit(self, evidence: Evidence) -> NoisyFit:
        """Return the null fit with this evidence."""
        problem = self.fitted.problem
        return climb_noisy(problem, evidence, 0.0, self.start.point, problem.last_gain)


class WaldCentres:
    """Where z(0) of the paper's test is centred, and its spread, for each set of anchors.

    The plain curve is not the true one, so its limit and its sandwich covariance are used, and
    anchors lie off the boundary as experts err: where the curve is flatter than the truth, an
    error of the expert moves it less than the test allows for.
    """

    def __init__(
        self,
        world: World,
        noise: ClassConditionalNoise,
        method: Wald,
        seed: int,
        grain: Grain = FINE,
    ) -> None:
        self.examples = Examples.of(world, grain.wald_rows, seed, grain)
        rows = self.examples.rows(noise)
        self.robust: LogisticFit = fit_rows(rows, covariance="sandwich")
        # The fit as the test sees it; where cases are copied it knows the groups.
        sandwich = method.covariance == "sandwich" or world.row_copies > 1
        self.fit: LogisticFit = self.robust if sandwich else fit_rows(rows)
        self._at_sets: dict[AnchorPlan, tuple[FloatArray, FloatArray, FloatArray]] = {}

    def at(self, n_rows: float, plan: AnchorPlan) -> list[Centre]:
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
        sets = self.examples.anchor_sets(plan, erring=True)
        points = np.stack([anchors.points for anchors in sets])
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


def centres(
    world: World,
    noise: ClassConditionalNoise,
    method: Method,
    seed: int,
    grain: Grain = FINE,
) -> NoiseAwareCentres | WaldCentres:
    """Return where a test's statistic is centred, as a function of rows and anchors."""
    if isinstance(method, Wald):
        return WaldCentres(world, noise, method, seed, grain)
    return NoiseAwareCentres(world, noise, method, seed, grain)
