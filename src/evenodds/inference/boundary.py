"""The noise-aware tests: boundary, the default, and joint, its companion that reads the curve too.

Of any rows that are not chosen by their labels, a share of at least beta is labelled positive
and at least alpha negative: true negatives that are flipped, true positives that are. So no
beta is larger than the share of positive labels, among all rows or among those where it is
lowest, and no alpha larger than that of negative ones.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import ClassVar, Generic, TypeVar, get_args

import numpy as np
from scipy.special import expit, logit

from evenodds.errors import AnchorError
from evenodds.inference import diagnostics
from evenodds.inference.audit.as_evidence import check_stands_alone
from evenodds.inference.bootstrap import Bootstrap, Calibration, null_distribution, refuse_bootstrap
from evenodds.inference.figure_data import sketch_noise_aware
from evenodds.inference.method import Known, Method, all_checks
from evenodds.inference.noise_aware import (
    BoundaryStatistic,
    Direction,
    FittedRows,
    JointStatistic,
    Statistic,
    nuisance_inverse,
    rate_is_told,
)
from evenodds.inference.null_fits import (
    AnchorEquations,
    Weights,
    check_weights,
    equal_weights,
    optimal_weights,
)
from evenodds.inference.profile import (
    WIDEST,
    Alternative,
    Profile,
    Reference,
    find_root,
    pvalue_of,
    walk,
)
from evenodds.inference.results import AsymmetryTestResult, Diagnostic, Sketch
from evenodds.model.bent_curve import fit_free_rates
from evenodds.model.noisy_fit import NoisyFit, index_counts
from evenodds.rows.base import Rows
from evenodds.validation import FloatArray, check_choice, counted, signed

# A z this small rejects at no level in use.
UNLIKELY_TO_REJECT = 1.2

S = TypeVar("S", bound=Statistic)


@dataclass(frozen=True, slots=True, eq=False)
class Tested(Generic[S]):
    """What the checks of a test look at."""

    known: Known
    alternative: Alternative
    fitted: FittedRows
    equations: AnchorEquations  # one an anchor
    statistic: S
    null: Direction
    reference: Reference

    @property
    def pvalue(self) -> float:
        """The p-value of the test."""
        return self.reference.pvalue(self.null.z, self.alternative)


class NoiseAware(Method, Generic[S]):
    """A test whose curve has both flip rates, fitted for every hypothesised asymmetry."""

    __slots__ = ()

    calibration: Calibration
    bootstrap: Bootstrap

    @abstractmethod
    def check(self, known: Known) -> None:
        """Refuse what the test cannot use, before any fit."""

    @abstractmethod
    def statistic(self, fitted: FittedRows, equations: AnchorEquations) -> S:
        """Return the statistic."""

    @abstractmethod
    def first_checks(self, tested: Tested[S]) -> Sequence[Diagnostic | None]:
        """Return the checks that this test alone has."""

    def written(self) -> dict[str, str]:
        """Return what a result keeps of the settings: enough to draw the same draws again."""
        if self.calibration == "asymptotic":
            return {"calibration": self.calibration}
        draws, seed = str(self.bootstrap.draws), str(self.bootstrap.seed)
        return {"calibration": self.calibration, "draws": draws, "seed": seed}

    def reference(self, statistic: S) -> Reference:
        """Return what z is compared with: the normal law, or its own under uniform noise."""
        if self.calibration == "asymptotic":
            return Reference()
        return Reference(
            null_distribution(
                statistic.fits.problem,
                statistic.equations,
                statistic.fits.at(0.0),
                statistic.z_of,
                self.bootstrap,
            )
        )

    def null_statistic(
        self, rows: Rows, known: Known, fitted: FittedRows | None = None
    ) -> tuple[float, Reference]:
        self.check(known)
        points, whole = known.points_for(rows), fitted or FittedRows.of(rows)
        statistic = self.statistic(whole, AnchorEquations.of(known.anchors, points, whole.problem))
        return _shown(statistic, whole), self.reference(statistic)

    def run(self, rows: Rows, known: Known, alternative: Alternative) -> AsymmetryTestResult:
        points = known.points_for(rows)
        self.check(known)
        refuse_bootstrap(self.calibration, known.audit)
        fitted = FittedRows.of(rows).with_audit(known.audit)
        problem, plain = fitted.problem, fitted.plain_coefficients
        equations = AnchorEquations.of(known.anchors, points, problem)
        statistic = self.statistic(fitted, equations)
        at = cache(statistic.at)
        null, null_fit = at(0.0), statistic.fits.at(0.0)
        bounds = RateBounds.of(fitted)
        profile = walk(at, bounds.limits, sparing=bool(problem.samples))
        reference = self.reference(statistic)
        best = statistic.fits.at(profile.estimate)
        rate_told = rate_is_told(best, statistic.fits.evidence)
        free = fit_free_rates(problem.small, plain)
        tested = Tested(known, alternative, fitted, equations, statistic, null, reference)
        checks = [
            *self.first_checks(tested),
            diagnostics.anchor_check(problem, free, plain, equations),
            diagnostics.audit_check(statistic.seen(best), statistic.fits.evidence, problem.audit),
            diagnostics.audit_size_check(null_fit, problem.audit),
            diagnostics.curve_shape_check(problem, free),
            diagnostics.range_check(rows, points) if len(points) else None,
            bound_check(profile, best.point.rate if rate_told else 0.0, bounds),
            None if rate_told else diagnostics.rate_untold(),
            diagnostics.step_check(null_fit),
            diagnostics.rows_check(rows),
            diagnostics.groups_check(rows.n_groups),
        ]
        rate = bounds.rate_within(best.point.rate, profile.estimate)
        mean_posterior = standard_error = stated = None
        if len(points):
            stated = float(np.mean(statistic.equations.stated))
        if stated is not None and null.by_anchors:
            target = float(statistic.equations.targets[0])
            mean_posterior = float(expit(target + null.distance))
            standard_error = stated * (1 - stated) * null.standard_error
        result = AsymmetryTestResult(
            statistic=null.z,
            pvalue=tested.pvalue,
            asymmetry=profile.estimate,
            # tau sits on its bound up to rounding, which must not make a rate negative.
            alpha=max(rate - profile.estimate / 2, 0.0) if rate_told else None,
            beta=max(rate + profile.estimate / 2, 0.0) if rate_told else None,
            mean_posterior=mean_posterior,
            standard_error=standard_error,
            stated_posterior=stated,
            diagnostics=all_checks(rows, checks),
            profile=profile,
            endless_z=tuple(at(place).endless_z for place in profile.asymmetries)
            if null.anchor_error > 0
            else (),
            reference=reference,
            sketch=sketch_noise_aware(problem, null_fit, best, equations, points),
            **self.asked(rows, known, alternative, self.written()),
        )
        told = at(profile.estimate).determined
        at_estimate = profile.estimate, profile.at_estimate
        withheld = reason_to_withhold(null_fit, *at_estimate, bounds.limits)
        if not (null.determined and told):
            withheld = withheld or TOO_FEW_PLACES
        if withheld is None:
            return result
        # Where no asymmetry fits only because curves turn into steps, or several fit alike, the
        # null fit is sound: the test stands, and its size is not known.
        sound = null.usable and null.determined
        stands = sound and not (told and profile.estimate in bounds.limits)
        return _without_numbers(result, withheld, stands)


def _without_numbers(
    result: AsymmetryTestResult, withheld: str, stands: bool
) -> AsymmetryTestResult:
    """Return a result whose size is withheld, and where it does not stand the test too."""
    return replace(
        result,
        statistic=result.statistic if stands else math.nan,
        pvalue=result.pvalue if stands else math.nan,
        asymmetry=None,
        alpha=None,
        beta=None,
        withheld=withheld,
        mean_posterior=None,
        standard_error=None,
        diagnostics=tuple(check for check in result.diagnostics if check.name in KEPT),
        profile=Profile.unknown(),
        endless_z=(),
        sketch=Sketch(n_rows_seen=result.sketch.n_rows_seen, anchors=(), bins=()),
    )


def _shown(statistic: Statistic, fitted: FittedRows) -> float:
    """Return z(0), or nan where no number can be read off the test.

    Whether z has a root is asked only where it might reject.
    """
    z, null = statistic.at(0.0).z, statistic.fits.at(0.0)
    if not statistic.at(0.0).determined:
        return math.nan
    if abs(z) < UNLIKELY_TO_REJECT and not null.is_step:
        return z
    limits = RateBounds.of(fitted).limits
    root = (0.0, 0.0) if null.is_step else find_root(statistic.at, limits)
    sound = not null.is_step and root[0] not in limits
    return z if sound or reason_to_withhold(null, *root, limits) is None else math.nan


# The lowest share is looked for among many sets of rows, and has this many standard errors'
# room; fewer rows than this say nothing.
ROOM = 3.5
FEWEST_ROWS = 30


@dataclass(frozen=True, slots=True)
class RateBounds:
    """The largest flip rates that labels allow."""

    alpha: float
    beta: float

    @classmethod
    def of(cls, fitted: FittedRows) -> "RateBounds":
        """Return the largest flip rates that the labels allow, along the plain curve."""
        problem, rows = fitted.problem, fitted.problem.rows
        share = rows.positive_weight() / rows.total_weight
        alpha, beta = 1 - share, share
        if rows.n_groups is None:  # else the error of a share is not known so simply
            _, _, positives, negatives = index_counts(problem.small, fitted.plain_coefficients)
            beta = min(beta, _lowest_share(positives, negatives))
            alpha = min(alpha, _lowest_share(negatives[::-1], positives[::-1]))
        return cls(alpha, beta)

    @property
    def limits(self) -> tuple[float, float]:
        """The asymmetries that the labels allow."""
        return max(-self.alpha, WIDEST[0]), min(self.beta, WIDEST[1])

    def rate_within(self, rate: float, asymmetry: float) -> float:
        """Return the mean flip rate, no larger than either flip rate may be."""
        highest = min(self.beta - asymmetry / 2, self.alpha + asymmetry / 2)
        return max(min(rate, highest), abs(asymmetry) / 2)


def _lowest_share(counted: FloatArray, others: FloatArray) -> float:
    """Return an upper limit of the share of `counted` in the first bins, the lowest of all cuts."""
    total = np.cumsum(counted + others)
    enough = total >= FEWEST_ROWS
    share = np.cumsum(counted)[enough] / total[enough]
    room = ROOM**2 / total[enough]
    upper = share + room / 2 + np.sqrt(room * share * (1 - share) + room**2 / 4)
    return float(np.min(upper / (1 + room), initial=1.0))


# z at an estimate that is a root, up to where the search stops; and at one on a bound that only
# a contradiction explains.
ROOT, CONTRADICTION = 0.01, 3.0
# Checks that still speak where no number is shown.
KEPT = frozenset(
    {"anchors and curve", "range of the data", "rows per parameter", "groups", "step", "data"}
)


TOO_FEW_PLACES = (
    "rows lie in too few distinct places to tell unequal flips from the course of the curve; "
    "columns that take more values, or true labels of some rows, would"
)


def reason_to_withhold(
    null: NoisyFit, estimate: float, z_there: float, limits: tuple[float, float]
) -> str | None:
    """Say why no number can be read off a test, as the end of a sentence; None if all can.

    `estimate` is where z is zero, or as close to that as could be reached.
    """
    if null.is_step:
        return (
            f"the fitted curve is a step, with about {counted(round(null.here.transition), 'row')} "
            "on its slope: too few rows for so many columns and so much noise"
        )
    left = abs(z_there)
    if left < ROOT:
        return None
    if estimate not in limits:
        return (
            "no asymmetry fits: before one does, the fitted curve turns into a step or jumps to "
            "another course; there are too few rows, or an anchor is wrong"
        )
    if left < CONTRADICTION:
        return None
    return (
        f"labels and anchors contradict each other: asymmetries from {signed(limits[0], 2)} to "
        f"{signed(limits[1], 2)} are all that these labels allow, and none of them fits; an anchor "
        "is wrong, or the curve is not logistic"
    )


def bound_check(profile: Profile, rate: float, bounds: RateBounds) -> Diagnostic | None:
    """Say so where an estimate sits on the largest flip rate that the labels allow."""
    asymmetry = profile.estimate
    within = bounds.rate_within(rate, asymmetry)
    if asymmetry not in bounds.limits and within >= rate:
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


@dataclass(frozen=True, slots=True)
class Boundary(NoiseAware[BoundaryStatistic]):
    """Settings of the boundary test.

    Parameters
    ----------
    weights : {"equal", "optimal"}
        How anchors are averaged. "optimal" minimises the variance over non-negative
        weights, for strict anchors only.
    calibration : {"asymptotic", "bootstrap"}
        What z is compared with: a standard normal, or its own distribution in labels drawn
        from the null fit, for small samples.
    bootstrap : Bootstrap
        Number of draws, seed and progress of the bootstrap.
    """

    name: ClassVar[str] = "boundary"

    weights: Weights = "equal"
    calibration: Calibration = "asymptotic"
    bootstrap: Bootstrap = field(default_factory=Bootstrap)

    def __post_init__(self) -> None:
        check_choice(self.weights, "weights", get_args(Weights))
        check_choice(self.calibration, "calibration", get_args(Calibration))

    def written(self) -> dict[str, str]:
        return {"weights": self.weights, **NoiseAware.written(self)}

    def check(self, known: Known) -> None:
        if known.anchors is None and known.audit is not None:
            check_stands_alone(known.audit)
        else:
            check_weights(self.weights, self.anchors_of(known))

    def statistic(self, fitted: FittedRows, equations: AnchorEquations) -> BoundaryStatistic:
        """Return the statistic; optimal weights are fixed once, at the equal-weight null fit."""
        n_anchors, n_parameters = equations.design.shape
        if n_anchors == 0:
            return BoundaryStatistic(fitted, equations)
        equal = BoundaryStatistic(fitted, equations.averaged(equal_weights(n_anchors)))
        if self.weights == "equal":
            return equal
        covariance = nuisance_inverse(equal.fits.at(0.0))[:n_parameters, :n_parameters]
        weights = optimal_weights(covariance, equations.design)
        return BoundaryStatistic(fitted, equations.averaged(weights))

    def first_checks(self, tested: Tested[BoundaryStatistic]) -> Sequence[Diagnostic | None]:
        if tested.known.anchors is None:
            return ()
        companion = _companion(tested)
        if not tested.null.by_anchors:
            return (companion,)
        stated = float(tested.statistic.equations.stated[0])
        return (
            diagnostics.tipping_point(
                tested.null.z,
                lambda fall: float(expit(logit(stated) + fall * tested.null.standard_error)),
                stated,
                tested.alternative,
                reference=tested.reference,
                declared=tested.known.anchors.declared_error,
            ),
            companion,
            diagnostics.leave_one_out(
                tested.statistic, tested.equations, tested.alternative, tested.reference
            ),
        )


def _companion(tested: Tested[BoundaryStatistic]) -> Diagnostic:
    """Set the joint test, against the normal law, beside the boundary test as it was asked."""
    try:
        joint = JointStatistic(tested.fitted, tested.equations, near=tested.statistic.fits.at(0.0))
    except AnchorError as error:
        return diagnostics.companion_check(tested.pvalue, None, str(error))
    beside = joint.at(0.0)
    if not beside.determined:
        return diagnostics.companion_check(tested.pvalue, None, f"{TOO_FEW_PLACES}.")
    pvalue = pvalue_of(beside.z, tested.alternative)
    return diagnostics.companion_check(tested.pvalue, pvalue, why_not="")


@dataclass(frozen=True, slots=True)
class Joint(NoiseAware[JointStatistic]):
    """Settings of the joint test.

    Parameters
    ----------
    calibration : {"asymptotic", "bootstrap"}
        What z is compared with: a standard normal, or its own distribution in labels drawn
        from the null fit, for small samples.
    bootstrap : Bootstrap
        Number of draws, seed and progress of the bootstrap.
    """

    name: ClassVar[str] = "joint"
    reads_shape: ClassVar[bool] = True

    calibration: Calibration = "asymptotic"
    bootstrap: Bootstrap = field(default_factory=Bootstrap)

    def __post_init__(self) -> None:
        check_choice(self.calibration, "calibration", get_args(Calibration))

    def check(self, known: Known) -> None:
        """Take anything, or nothing: then the shape of the curve is all."""

    def statistic(self, fitted: FittedRows, equations: AnchorEquations) -> JointStatistic:
        return JointStatistic(fitted, equations)

    def first_checks(self, tested: Tested[JointStatistic]) -> Sequence[Diagnostic | None]:
        if tested.known.anchors is None:
            return (diagnostics.shape_alone(),) if tested.known.audit is None else ()
        mean = tested.equations.averaged(equal_weights(len(tested.known.anchors)))
        boundary = BoundaryStatistic(tested.fitted, mean).at(0.0)
        beside = pvalue_of(boundary.z, tested.alternative)
        return (diagnostics.companion_check(beside, tested.pvalue, why_not=""),)
