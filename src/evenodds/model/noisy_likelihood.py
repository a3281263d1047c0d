"""The noisy-logistic likelihood: of rows, of audited rows, and what anchors say beside it.

``A theta = t + e`` with ``t = logit(stated posterior)`` and ``e ~ N(0, V)``. Directions in
which V is zero are exact linear constraints; the others add a Gaussian term.

The curve is ``p = tau + Delta/2 + (1 - 2 tau) s(theta'x)``: a logistic curve squeezed
between two plateaus. Derivatives are taken in (theta, tau, Delta), in this order.

A row whose true label is known says two things: how often its class is flipped, and, where its
features are known too, where the clean curve runs. Its given label alone then says nothing more.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenodds.errors import AnchorError
from evenodds.model.newton import Evaluation
from evenodds.model.sums import Scaling, Sums, WeightedGram, logits_there, shifted, weigh
from evenodds.rows.base import Block, Rows, against, exactly, on_host, sampling_step
from evenodds.validation import FloatArray, counted

# Eigenvalues of V below this share of the largest are zero.
ZERO_VARIANCE = 1e-10
# Constraints that disagree by more than this (in log-odds) contradict each other.
CONTRADICTION = 1e-8
# Added to the length of slopes, which may be none.
SLIGHT = 1e-12


@dataclass(frozen=True, slots=True)
class Evidence:
    """Constraints and a Gaussian term on d coefficients.

    The coefficients are ``origin + basis @ free``; the columns of the basis are orthonormal, and
    orthogonal to the origin. The Gaussian term takes ``|roots * free - wanted|^2 / 2 + constant``
    off the log-likelihood. The basis runs along its axes, so that one direction may be known ten
    thousand times better than another and no digit of the other is lost.

    Cases that were looked for and found at a posterior are off in their place: the steeper the
    curve, the closer they lie. So their density has the length of the slopes for a factor, each;
    without it a flatter curve would always explain them better. `found` counts those beyond the
    coefficients, which are left to tell of steepness when others have told where the curve runs.
    """

    origin: FloatArray
    basis: FloatArray
    roots: FloatArray
    wanted: FloatArray
    constant: float
    found: float = 0.0
    spreads: FloatArray | float = 1.0  # of the columns: slopes are as long as in their units

    @classmethod
    def none(cls, n_parameters: int) -> "Evidence":
        """Return evidence that says nothing."""
        return cls.pulling(np.zeros(n_parameters))

    @classmethod
    def pulling(cls, precision: FloatArray) -> "Evidence":
        """Return a Gaussian pull of each coefficient towards zero, of these precisions."""
        zero = np.zeros(len(precision))
        return cls(zero, np.eye(len(precision)), np.sqrt(precision), zero, 0.0)

    @classmethod
    def of(
        cls,
        design: FloatArray,
        targets: FloatArray,
        covariance: FloatArray,
        *,
        found: bool = False,
        spreads: FloatArray | float = 1.0,
    ) -> "Evidence":
        """Split anchor equations into constraints and a Gaussian term.

        Raises
        ------
        AnchorError
            If exact equations contradict each other or leave no slope free.
        """
        exact, loose = _split(covariance)
        rows, values = loose.T @ design, loose.T @ targets
        fixed, fixed_values = exact.T @ design, exact.T @ targets
        origin, basis = _solve_constraints(fixed, fixed_values)
        left, sizes, axes = np.linalg.svd(rows @ basis)
        roots, wanted = np.zeros(len(axes)), np.zeros(len(axes))
        roots[: len(sizes)] = sizes
        seen = left.T @ (values - rows @ origin)
        wanted[: len(sizes)] = seen[: len(sizes)]
        rest = seen[len(sizes) :]
        constant = float(rest @ rest) / 2
        beyond = float(len(rest)) if found else 0.0
        return cls(origin, basis @ axes.T, roots, wanted, constant, beyond, spreads)

    @property
    def precision(self) -> FloatArray:
        """What the Gaussian term adds to the information of the coefficients."""
        return (self.basis * self.roots**2) @ self.basis.T

    @property
    def pull(self) -> FloatArray:
        """The score of the Gaussian term at the origin."""
        return self.basis @ (self.roots * self.wanted)

    def pulls_of(
        self, design: FloatArray, targets: FloatArray, covariance: FloatArray
    ) -> FloatArray:
        """Return the pull for other targets of the same equations, a row for each set of them."""
        _, loose = _split(covariance)
        rows = loose.T @ design
        return (targets @ loose - rows @ self.origin) @ rows

    def scaled(self, share: float) -> "Evidence":
        """Return evidence weakened to go with a share of the rows."""
        root = float(np.sqrt(share))
        return replace(
            self,
            roots=self.roots * root,
            wanted=self.wanted * root,
            constant=self.constant * share,
            found=self.found * share,
        )

    def scattered(self, slopes: FloatArray) -> "Evidence":
        """Return what is expected of cases found as far off as they err, where these lie exactly.

        They lie off across the contours of the true slopes, and the steeper a curve is the more
        that is in its log-odds.
        """
        across = self._steeper(slopes)
        precision = np.diag(self.roots**2) + self.found * np.multiply.outer(across, across)
        squares, axes = np.linalg.eigh(precision)
        roots = np.sqrt(np.maximum(squares, 0.0))
        pull = axes.T @ (self.roots * self.wanted)
        wanted = np.divide(pull, roots, out=np.zeros(len(roots)), where=roots > SLIGHT)
        return replace(self, basis=self.basis @ axes, roots=roots, wanted=wanted)

    def _off(self, coefficients: FloatArray) -> FloatArray:
        return self.roots * (self.basis.T @ coefficients) - self.wanted

    def penalty(self, coefficients: FloatArray) -> float:
        """Return what the Gaussian term takes off the log-likelihood."""
        off = self._off(coefficients)
        penalty = float(off @ off) / 2 + self.constant
        if self.found:
            length = float(np.linalg.norm(coefficients[1:] * self.spreads))
            penalty -= self.found * float(np.log(length + SLIGHT))
        return penalty

    def _steeper(self, slopes: FloatArray) -> FloatArray:
        """Return the derivative of the log of the length of the slopes along free coefficients."""
        squared = slopes * self.spreads**2
        return self.basis[1:].T @ squared / (slopes @ squared + SLIGHT)

    def free_score(self, coefficients: FloatArray) -> FloatArray:
        """Return the derivative of minus the penalty along the free coefficients."""
        score = -self.roots * self._off(coefficients)
        return score + self.found * self._steeper(coefficients[1:]) if self.found else score

    def free_information(self, coefficients: FloatArray) -> FloatArray:
        """Return what evidence adds to the information of the free coefficients."""
        information = np.diag(self.roots**2)
        if self.found:
            steeper = self._steeper(coefficients[1:])
            information += self.found * np.multiply.outer(steeper, steeper)
        return information

    def onto(self, coefficients: FloatArray) -> FloatArray:
        """Return the nearest coefficients that obey the constraints, for one row or many."""
        return self.origin + coefficients @ self.basis @ self.basis.T


def _split(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the directions without error, and the others divided by their standard error."""
    variances, directions = np.linalg.eigh(covariance)
    exact = variances <= ZERO_VARIANCE * variances.max(initial=0.0)
    return directions[:, exact], directions[:, ~exact] / np.sqrt(variances[~exact])


def _solve_constraints(rows: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return one solution of ``rows @ theta = values`` and a basis of the rest."""
    n_parameters = rows.shape[1]
    if len(rows) == 0:
        return np.zeros(n_parameters), np.eye(n_parameters)
    scale = float(np.abs(rows).max())
    left, sizes, right = np.linalg.svd(rows)
    rank = int((sizes > 1e-9 * scale).sum())
    coordinates = left.T @ values
    gap = float(np.abs(coordinates[rank:]).max(initial=0.0))
    if gap > CONTRADICTION * max(1.0, float(np.abs(values).max())):
        raise AnchorError(
            f"the {len(rows)} strict anchors contradict each other: no straight boundary passes "
            "through all of them. Give a tolerance, such as 0.05."
        )
    if rank == n_parameters:
        raise AnchorError(
            f"no straight boundary in {counted(n_parameters - 1, 'feature')} passes through all "
            f"{len(rows)} strict anchors, so nothing is left to fit. Give a tolerance, such as "
            "0.05, or fewer anchors."
        )
    origin = right[:rank].T @ (coordinates[:rank] / sizes[:rank])
    return origin, right[rank:].T


# Beyond this the logistic curve is flat to rounding; it keeps 1 / (p (1 - p)) finite at tau = 0.
FLAT_BEYOND = 30.0


@dataclass(frozen=True, slots=True)
class NoisyPoint:
    """A noisy-logistic curve: coefficients (intercept first), noise rate and asymmetry."""

    coefficients: FloatArray
    rate: float
    asymmetry: float

    @property
    def alpha(self) -> float:
        """Chance that a positive label is flipped."""
        return self.rate - self.asymmetry / 2

    @property
    def beta(self) -> float:
        """Chance that a negative label is flipped."""
        return self.rate + self.asymmetry / 2

    def squeeze(self, steps: FloatArray) -> FloatArray:
        """Return the noisy posterior where the clean one is `steps`."""
        fitted = (1 - 2 * self.rate) * steps
        fitted += self.beta
        return fitted


class NoisySums(Sums):
    """Log-likelihood, score and expected information at a point.

    Attributes
    ----------
    log_likelihood : float
    score, information : ndarray
        First derivative and expected information.
    transition : float
        Weight of rows on the slope of the curve, ``sum of 4 s (1 - s)``; near zero for a
        curve that is a step.
    """

    summed = ("log_likelihood", "transition", "_score", "_gram", "_borders", "_corner")
    on_device = True

    def __init__(self, point: NoisyPoint, shift: FloatArray | None = None) -> None:
        n_parameters = len(point.coefficients)
        self.point = point
        self.shift = shift
        self.log_likelihood = 0.0
        self.transition = 0.0
        self._score = np.zeros(2)  # of tau and Delta
        self._gram = WeightedGram(n_parameters - 1)
        self._borders = np.zeros((3, n_parameters))  # of theta: its score, with tau, with Delta
        self._corner = np.zeros(3)  # tau tau, tau Delta, Delta Delta

    def add(self, block: Block) -> None:
        point, xp = self.point, block.xp
        features = shifted(exactly(block.features), self.shift)
        steps = squeezed(features, point.coefficients)
        slopes = steps * (1 - steps)
        fitted = point.squeeze(steps)
        residuals = block.labels - fitted
        precision = 1 / (fitted * (1 - fitted))
        log_chances = xp.log((1 - abs(residuals)).clip(min=1e-300))
        if block.weights is not None:
            precision *= block.weights
            log_chances *= block.weights
            self.transition += 4 * float(block.weights @ slopes)
        else:
            self.transition += 4 * float(slopes.sum())
        self.log_likelihood += float(log_chances.sum())
        by_theta = (1 - 2 * point.rate) * slopes  # dp / d(theta'x)
        by_rate = 1 - 2 * steps  # dp / dtau; dp / dDelta is 1/2
        weighted = residuals * precision
        self._score += (float(weighted @ by_rate), float(weighted.sum()) / 2)
        rated = precision * by_rate
        corner = rated @ by_rate, rated.sum() / 2, precision.sum() / 4
        self._corner += tuple(map(float, corner))
        # Sums against the intercept and the features, in one product: the score of theta,
        # then its information with tau and with Delta.
        levers = xp.stack([weighted, rated, precision])
        levers *= by_theta
        self._borders[:, 0] += on_host(levers.sum(axis=1))
        self._borders[:, 1:] += against(levers, features)
        self._gram.add(features, levers[2] * by_theta)

    @property
    def score(self) -> FloatArray:
        """First derivative in (theta, tau, Delta)."""
        return np.concatenate([self._borders[0], self._score])

    @property
    def information(self) -> FloatArray:
        """Expected information of (theta, tau, Delta)."""
        n_parameters = self._borders.shape[1]
        with_rate, with_asymmetry = self._borders[1], self._borders[2] / 2
        full = np.empty((n_parameters + 2, n_parameters + 2))
        full[:n_parameters, :n_parameters] = self._gram.total()
        full[n_parameters, :n_parameters] = full[:n_parameters, n_parameters] = with_rate
        full[-1, :n_parameters] = full[:n_parameters, -1] = with_asymmetry
        rate, mixed, asymmetry = self._corner
        full[n_parameters:, n_parameters:] = [[rate, mixed], [mixed, asymmetry]]
        return full


class NoisyScore(Sums):
    """Score of (theta, tau) alone, for cheap passes."""

    summed = ("score",)
    on_device = True

    def __init__(self, point: NoisyPoint, shift: FloatArray | None = None) -> None:
        self.point = point
        self.shift = shift
        self.score = np.zeros(len(point.coefficients) + 1)

    def add(self, block: Block) -> None:
        features, steps, weighted = weighted_residuals(block, self.point, self.shift)
        along = weighted * steps
        along *= (1 - 2 * self.point.rate) * (1 - steps)
        self.score[0] += float(along.sum())
        self.score[1:-1] += against(along, features)
        self.score[-1] += float(weighted.sum()) - 2 * float(weighted @ steps)


def weighted_residuals(
    block: Block, point: NoisyPoint, shift: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return shifted features, clean posteriors, and residuals over their variance."""
    features = shifted(block.features, shift)
    steps = squeezed(features, point.coefficients)
    fitted = point.squeeze(steps)
    residuals = (block.labels - fitted) / (fitted * (1 - fitted))
    weigh(block, residuals)
    return features, steps, residuals


def squeezed(features: Any, coefficients: FloatArray) -> Any:
    """Return the logistic curve of the linear predictor, flat beyond `FLAT_BEYOND`."""
    if not isinstance(features, np.ndarray):
        return logits_there(features, coefficients).clip(-FLAT_BEYOND, FLAT_BEYOND).sigmoid()
    linear = features @ coefficients[1:]
    linear += coefficients[0]
    np.clip(linear, -FLAT_BEYOND, FLAT_BEYOND, out=linear)
    np.negative(linear, out=linear)
    np.exp(linear, out=linear)
    linear += 1
    return np.reciprocal(linear, out=linear)


# Flip rates are kept this far from 0 and 1, where a flip seen would be impossible.
SMALLEST_RATE = 1e-9


@dataclass(frozen=True, slots=True)
class KnownRows:
    """Audited rows that are among the rows of the fit, on the solver's scale."""

    features: FloatArray  # without a leading 1
    true: FloatArray
    given: FloatArray
    by_given: bool = False  # chosen by their given label, not at random or by features


@dataclass(frozen=True, slots=True)
class AuditTerms:
    """Flips counted in an audit, and its rows where they are among those of the fit."""

    n_positive: float
    flipped_positive: float
    n_negative: float
    flipped_negative: float
    known: KnownRows | None = None

    def scaled(self, share: float) -> "AuditTerms":
        """Return an audit weakened to go with a share of the rows, none of them its own."""
        positive = self.n_positive * share, self.flipped_positive * share
        return AuditTerms(*positive, self.n_negative * share, self.flipped_negative * share)

    def at(self, point: NoisyPoint) -> Evaluation:
        """Return what the audit adds to rows that include its own, with their given labels."""
        own = self.own_at(point)
        if self.known is None:
            return own
        added = own + -_sums(self.known.features, self.known.given, point)
        if not self.known.by_given:
            return added
        return replace(added, information=self._given_labels_known(self.known, point))

    def _given_labels_known(self, known: KnownRows, point: NoisyPoint) -> FloatArray:
        """Return the information of the true labels where the given ones chose the rows.

        A true label is positive with probability r given features and given label, and moves
        the score by d: the score's variance is r (1 - r) d d'.
        """
        flipped = np.array([self.flipped_positive, self.flipped_negative])
        n = np.array([self.n_positive, self.n_negative])
        alpha, beta = _spread(np.array([point.alpha, point.beta]), flipped, n)
        labelled = known.given == 1
        clean = squeezed(known.features, point.coefficients)
        positive = clean * np.where(labelled, 1 - alpha, alpha)
        negative = (1 - clean) * np.where(labelled, beta, 1 - beta)
        chance = positive / (positive + negative)
        by_alpha = np.where(labelled, -1 / (1 - alpha), 1 / alpha)
        by_beta = np.where(labelled, -1 / beta, 1 / (1 - beta))
        moves = np.column_stack(
            [
                np.ones(len(clean)),
                known.features,
                by_alpha + by_beta,
                (by_beta - by_alpha) / 2,
            ]
        )
        return np.asarray(moves.T @ (moves * (chance * (1 - chance))[:, None]))

    def own_at(self, point: NoisyPoint) -> Evaluation:
        """Return the likelihood of the audited rows by themselves."""
        flips = self.flips_at(point)
        return flips if self.known is None else flips + _clean(self.known, point)

    def flips_at(self, point: NoisyPoint) -> Evaluation:
        """Return the part of the counted flips, which know of tau and Delta alone."""
        rates = self.rates_at(point)
        size = len(point.coefficients) + 2
        score, information = np.zeros(size), np.zeros((size, size))
        score[-2:] = RATE_MOVES.T @ rates.score
        information[-2:, -2:] = RATE_MOVES.T @ rates.information @ RATE_MOVES
        return Evaluation(rates.log_likelihood, score, information)

    def rates_at(self, point: NoisyPoint) -> Evaluation:
        """Return the part of the counted flips in (alpha, beta), which may lie on their bounds."""
        n = np.array([self.n_positive, self.n_negative])
        flipped = np.array([self.flipped_positive, self.flipped_negative])
        rates, stayed = np.array([point.alpha, point.beta]), n - flipped
        inside, spread = _inside(rates), _spread(rates, flipped, n)
        chances = flipped * np.log(inside) + stayed * np.log1p(-inside)
        score = flipped / inside - stayed / (1 - inside)
        return Evaluation(float(chances.sum()), score, np.diag(n / (spread * (1 - spread))))


# Derivatives of (alpha, beta) in (tau, Delta).
RATE_MOVES = np.array([[1.0, -0.5], [1.0, 0.5]])


def _inside(rates: FloatArray) -> FloatArray:
    """Return flip rates off their bounds."""
    return np.clip(rates, SMALLEST_RATE, 1 - SMALLEST_RATE)


def _spread(rates: FloatArray, flipped: FloatArray, n: FloatArray) -> FloatArray:
    """Return the rates at which the information of some flips is taken.

    Where no flip was seen a rate may be 0, and its information without bound: as if half a flip
    had been seen keeps it finite.
    """
    inside = _inside(rates)
    return np.where(flipped == 0, np.maximum(inside, 0.5 / (n + 1)), inside)


def _clean(known: KnownRows, point: NoisyPoint) -> Evaluation:
    """Return the likelihood of the true labels given the features: a logistic curve."""
    at_truth = NoisyPoint(point.coefficients, 0.0, 0.0)
    part = _sums(known.features, known.true, at_truth)
    # Without noise only theta is left.
    part.score[-2:] = 0
    part.information[-2:] = 0
    part.information[:, -2:] = 0
    return part


def _sums(features: FloatArray, labels: FloatArray, point: NoisyPoint) -> Evaluation:
    """Return the sums of the noisy-logistic curve over a few rows."""
    sums = NoisySums(point)
    sums.add(Block(features=features, labels=labels, weights=None, groups=None, start=0))
    return Evaluation(sums.log_likelihood, sums.score, sums.information)


# From this many rows on, starts are searched on a small sample and carried to a larger one.
MANY_ROWS = 128_000
SMALL_SAMPLE = 8000
SMALL_SAMPLE_A_PARAMETER = 200
THINNING = 16
SAMPLE_SEED = 19981016
# When a climb that starts near its end may stop; see `NoisyProblem.last_gain`.
LAST_GAIN_NEARBY = 1e-8
LAST_GAIN_MANY_ROWS = 0.05


@dataclass(frozen=True, slots=True)
class NoisyEvaluation(Evaluation):
    """The likelihood at a point, on the solver's scale, without the evidence of anchors.

    Derivatives are in (theta, tau, Delta).
    """

    point: NoisyPoint
    transition: float

    def __add__(self, other: Evaluation) -> "NoisyEvaluation":
        """Return the likelihood of rows and audit together."""
        both = Evaluation.__add__(self, other)
        return NoisyEvaluation(
            both.log_likelihood, both.score, both.information, self.point, self.transition
        )


@dataclass(frozen=True, slots=True)
class NoisyProblem:
    """The noisy-logistic likelihood of `rows` on the solver's scale."""

    rows: Rows
    scaling: Scaling
    samples: tuple["NoisyProblem", ...] = ()  # of fewer rows, the smallest first
    audit: AuditTerms | None = None

    @classmethod
    def of(cls, rows: Rows, scaling: Scaling) -> "NoisyProblem":
        """Return the problem, with samples to search on when there are many rows."""
        if rows.n_rows < MANY_ROWS:
            return cls(rows, scaling)
        rng = np.random.default_rng(SAMPLE_SEED)
        chosen = [_thin(rows, rng), rows.thinned(sampling_step(rows, THINNING), rng)]
        samples = sorted((cls(sample, scaling) for sample in chosen), key=lambda s: s.rows.n_rows)
        return cls(rows, scaling, tuple(samples))

    def with_audit(self, audit: AuditTerms) -> "NoisyProblem":
        """Return the problem with an audit in its likelihood, weakened in its samples."""
        total = self.rows.total_weight
        samples = tuple(
            replace(sample, audit=audit.scaled(sample.rows.total_weight / total))
            for sample in self.samples
        )
        return replace(self, samples=samples, audit=audit)

    @property
    def small(self) -> "NoisyProblem":
        """The smallest sample, or the problem itself: for checks that need not see every row."""
        return self.samples[0] if self.samples else self

    @property
    def last_gain(self) -> float:
        """When a climb that starts nearby may stop.

        Statistics are flat in the nuisance parameters, the more so the more rows: with 130,000,
        stopping a fifth of a standard error short changes z by less than 1e-4.
        """
        return LAST_GAIN_MANY_ROWS if self.samples else LAST_GAIN_NEARBY

    def evaluate(self, point: NoisyPoint) -> NoisyEvaluation:
        """Return log-likelihood, score and expected information (one full pass)."""
        sums = self.rows.sum_over_rows(NoisySums(self.outside(point), self.scaling.shift))
        factors = self.factors
        information = sums.information * factors * factors[:, None]
        rows = NoisyEvaluation(
            sums.log_likelihood, sums.score * factors, information, point, sums.transition
        )
        return rows if self.audit is None else rows + self.audit.at(point)

    def score(self, point: NoisyPoint) -> FloatArray:
        """Return the score of (theta, tau) (one cheap pass)."""
        sums = self.rows.sum_over_rows(NoisyScore(self.outside(point), self.scaling.shift))
        rows = sums.score * self.factors[:-1]
        return rows if self.audit is None else rows + self.audit.at(point).score[:-1]

    def design(self, points: FloatArray) -> FloatArray:
        """Return anchor points in the solver's coordinates, with a leading 1."""
        moved = points if self.scaling.shift is None else points - self.scaling.shift
        return np.column_stack([np.ones(len(points)), moved]) * self.scaling.factors

    def outside(self, point: NoisyPoint) -> NoisyPoint:
        """Return a point for the sums, whose features are shifted but not scaled."""
        coefficients = self.scaling.rescaled(point.coefficients)
        return NoisyPoint(coefficients, point.rate, point.asymmetry)

    @property
    def factors(self) -> FloatArray:
        """Scale of the derivatives in (theta, tau, Delta)."""
        return np.concatenate([self.scaling.factors, [1.0, 1.0]])


def small_sample(rows: Rows) -> Rows:
    """Return the rows, or a sample where they are many: for what need not see every row."""
    if rows.n_rows < MANY_ROWS:
        return rows
    return _thin(rows, np.random.default_rng(SAMPLE_SEED))


def _thin(rows: Rows, rng: np.random.Generator) -> Rows:
    """Draw some thousand rows, more of them where there are many parameters."""
    n_small = max(SMALL_SAMPLE, SMALL_SAMPLE_A_PARAMETER * (rows.n_features + 1))
    return rows.thinned(max(rows.n_rows // n_small, 2), rng)
