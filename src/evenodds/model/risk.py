"""The linear score of least mean loss, for losses that see through noise of known rates too.

The corrections are of the loss, not of the labels: any learner that minimises a loss can use
them. What each needs and gives is on the page docs/robust.md.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.optimize import NonlinearConstraint, minimize

from evenodds.errors import ConvergenceError, ImprecisionWarning, InputError
from evenodds.model.logistic import measure_columns, refuse_repeats
from evenodds.model.losses import (
    Link,
    Loss,
    MarginLoss,
    Psi,
    find_loss,
    find_margin_loss,
    margin_losses,
    signs_and_scores,
)
from evenodds.model.sums import ColumnMoments, counts_of, shifted, unshifted
from evenodds.noise import ClassConditionalNoise, check_noise
from evenodds.rows.base import Block, Rows
from evenodds.rows.read import read_data
from evenodds.validation import FloatArray, check_choice, check_number, counted, join_quoted

Correction = Literal["backward", "forward", "costs"]


@dataclass(frozen=True, slots=True)
class WeightedLoss:
    """A margin loss of the given label, less that of the other, by factors of either label.

    Costs weigh the given label alone. The factors of the backward correction make its mean over
    the noise the loss of the true label; it may be negative.
    """

    loss: MarginLoss
    remedy: str
    own: tuple[float, float]  # factors where the given label is positive, and negative
    other: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def backward(cls, loss: MarginLoss, noise: ClassConditionalNoise) -> "WeightedLoss":
        """Return the backward correction."""
        alpha, beta = noise.alpha, noise.beta
        left = 1 - alpha - beta
        own, other = ((1 - beta) / left, (1 - alpha) / left), (alpha / left, beta / left)
        return cls(loss, "corrected backward", own, other)

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.loss.name}, {self.remedy}"

    @property
    def convex(self) -> bool:
        """Whether it is known to be convex: a multiple of the mirrored loss may be subtracted."""
        return self.loss.convex and (self.loss.linear_odd or not any(self.other))

    def values(self, scores: ArrayLike, labels: ArrayLike) -> FloatArray:
        """Return the loss of each score where the given label is 1 or 0; it may be negative."""
        return self._weighed(self.loss.psi, scores, labels, -1.0)

    def slopes(self, scores: ArrayLike, labels: ArrayLike) -> FloatArray:
        """Return the derivative in the score."""
        signs, _ = signs_and_scores(scores, labels)
        return signs * self._weighed(self.loss.psi_slope, scores, labels, 1.0)

    def _weighed(
        self, psi: Psi, scores: ArrayLike, labels: ArrayLike, mirrored: float
    ) -> FloatArray:
        signs, scores = signs_and_scores(scores, labels)
        found = np.where(signs > 0, *self.own) * psi(signs * scores)
        if any(self.other):
            found += mirrored * np.where(signs > 0, *self.other) * psi(-signs * scores)
        return found


@dataclass(frozen=True, slots=True)
class ForwardLoss:
    """A proper loss of the noisy posterior that a score implies; least at the clean one."""

    loss: MarginLoss
    noise: ClassConditionalNoise
    link: Link

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.loss.name}, corrected forward"

    @property
    def convex(self) -> bool:
        """Whether it is known to be convex: a straight line into a convex loss is."""
        straight = self.link.linear or self.noise.alpha + self.noise.beta == 0
        return self.loss.convex and straight

    def values(self, scores: ArrayLike, labels: ArrayLike) -> FloatArray:
        """Return the loss of each score where the given label is 1 or 0."""
        noisy = self.link.noisy_scores(np.asarray(scores, dtype=np.float64), self.noise)
        return self.loss.values(noisy, labels)

    def slopes(self, scores: ArrayLike, labels: ArrayLike) -> FloatArray:
        """Return the derivative in the score."""
        scores = np.asarray(scores, dtype=np.float64)
        noisy = self.link.noisy_scores(scores, self.noise)
        return self.loss.slopes(noisy, labels) * self.link.noisy_slopes(scores, self.noise)


def corrected_loss(
    loss: str | MarginLoss, noise: ClassConditionalNoise, *, correction: Correction = "backward"
) -> WeightedLoss | ForwardLoss:
    r"""Return a loss for labels with noise whose rates are known.

    Parameters
    ----------
    loss : str or MarginLoss
        The loss that clean labels would have; see `margin_losses`.
    noise : ClassConditionalNoise
        Flip rates of the positives and the negatives, for instance from an audit or from
        `asymmetry_test`. They are taken as exact.
    correction : {"backward", "forward", "costs"}
        "backward" is unbiased for any loss, and may be negative and not convex. "forward" is
        for losses whose score states a posterior; it is never negative, and is right where
        scores can follow the true posterior. "costs" is for losses with
        ``psi(m) + psi(-m) = K``, and uses the difference of the flip rates alone.

    Returns
    -------
    WeightedLoss or ForwardLoss
        With ``values(scores, labels)`` and ``slopes(scores, labels)``, labels 0 or 1 as given.

    Raises
    ------
    InputError
        If the forward correction is asked of a loss whose score states no posterior, or costs
        of one that is not symmetric.

    Notes
    -----
    With ``a`` the flip rate of the class given and ``b`` that of the other, the backward
    correction [1]_ of a label ``y`` is

    .. math:: \frac{(1 - b)\,\psi(yf) - a\,\psi(-yf)}{1 - \alpha - \beta}.

    The forward correction [2]_ puts the score through the noise before the loss sees it; for
    the logistic loss it is the likelihood that `NoiseAwareLogisticRegression` maximises. Costs
    are :math:`1 - \Delta` under positive and :math:`1 + \Delta` under negative labels,
    :math:`\Delta = \beta - \alpha`; the noisy risk is then :math:`1 - \alpha - \beta` times
    the clean one, plus what no score changes.

    References
    ----------
    .. [1] Natarajan, N., Dhillon, I. S., Ravikumar, P., Tewari, A. (2013). Learning with noisy
           labels. Advances in Neural Information Processing Systems 26.
    .. [2] Patrini, G., Rozza, A., Menon, A. K., Nock, R., Qu, L. (2017). Making deep neural
           networks robust to label noise: a loss correction approach. CVPR.

    Examples
    --------
    >>> import evenodds as eo
    >>> noise = eo.ClassConditionalNoise(alpha=0.25, beta=0.05)
    >>> loss = corrected_loss("logistic", noise)
    >>> given_right, given_wrong = loss.values([1.0, 1.0], [1, 0])  # of a true positive
    >>> round(float(0.75 * given_right + 0.25 * given_wrong), 6)  # on average, the clean loss:
    0.313262
    >>> float(eo.margin_losses["logistic"].values(1.0, 1).round(6))
    0.313262
    """
    found, checked = find_margin_loss(loss), check_noise(noise)
    check_choice(correction, "correction", get_args(Correction))
    if correction == "forward":
        return ForwardLoss(found, checked, _link_of(found))
    if correction == "costs":
        _check_symmetric(found)
        return WeightedLoss(found, "by costs", (1 - checked.asymmetry, 1 + checked.asymmetry))
    return WeightedLoss.backward(found, checked)


def _link_of(loss: MarginLoss) -> Link:
    if loss.link is None:
        proper = [name for name, known in margin_losses.items() if known.link is not None]
        raise InputError(
            f"the score of loss {loss.name!r} states no posterior that noise could be put "
            f"through: use correction='backward', or one of {join_quoted(proper, 'or')}."
        )
    return loss.link


def _check_symmetric(loss: MarginLoss) -> None:
    symmetry = loss.symmetry()
    if not symmetry.holds:
        raise InputError(
            f"costs correct a symmetric loss only, and for {loss.name!r} {symmetry} Use "
            "correction='backward', which corrects any loss."
        )


# From a place to the risk there and its slope.
Risk = Callable[[FloatArray], tuple[float, FloatArray]]

# A loss that is not convex is descended from least squares stretched by each of these.
STRETCHES = (1.0, 4.0, 16.0)
# What a step too long costs, where the loss overflows: finite, so that a search turns back.
FORBIDDING = 1e100
# Scores at which a loss is looked at, none of them a usual kink.
LOOKED_AT = np.linspace(-3, 3, 61) + 0.0123
# Scores of this size on average mean that larger ones are better still, without end.
ENDLESS = 200.0
# The smallest gain worth another step, without and with a bound; the latter search jitters below.
LAST_GAIN = 1e-13
LAST_GAIN_WITHIN = 1e-11
PATIENCE = 1000
# How the two searches say that they ran out of steps.
OUT_OF_STEPS = {"L-BFGS-B": 1, "SLSQP": 9}


class Minimum(NamedTuple):
    """Where a descent ended, and how low."""

    place: FloatArray
    risk: float
    settled: bool


def descend(risk: Risk, least_squares: FloatArray, loss: Loss, radius: float | None) -> Minimum:
    """Return the lowest minimum found, in coordinates whose length is the size of scores."""
    starts = [least_squares * stretch for stretch in (STRETCHES[:1] if loss.convex else STRETCHES)]
    if not (loss.convex or least_squares.any()):
        # Stretching zero leads nowhere, and what is not convex may be lower along an axis.
        starts = [least_squares, *np.eye(len(least_squares))]
    if radius is not None:
        starts = [_drawn_in(start, radius) for start in starts]
    heights, slopes = zip(*map(risk, starts), strict=True)
    if not any(slope.any() for slope in slopes):
        _refuse_without_slope(loss, min(heights))
    found = [_descend_from(risk, start, radius) for start in starts]
    best = min(found, key=lambda minimum: minimum.risk)
    if radius is None and np.linalg.norm(best.place) > ENDLESS:
        raise endless(loss)
    if not best.settled:
        warnings.warn(
            f"the risk of loss {loss.name!r} was still falling after {PATIENCE} steps: its "
            "boundary may be off; a smaller radius helps.",
            ImprecisionWarning,
            stacklevel=4,
        )
    return best


def _drawn_in(start: FloatArray, radius: float) -> FloatArray:
    """Return the start, or where its direction meets the radius."""
    length = float(np.linalg.norm(start))
    return start if length <= radius else start * (radius / length)


def _refuse_without_slope(loss: Loss, lowest: float) -> None:
    """Say why there is no slope at any start, unless a start is the minimum."""
    scores, labels = np.tile(LOOKED_AT, 2), np.repeat([0.0, 1.0], len(LOOKED_AT))
    with np.errstate(over="ignore", invalid="ignore"):
        slopes, values = loss.slopes(scores, labels), loss.values(scores, labels)
    for what, numbers in (("slope", slopes), ("value", values)):
        if np.isnan(numbers).any():
            raise InputError(
                f"the {what} of loss {loss.name!r} is nan at a score of "
                f"{scores[np.isnan(numbers)][0]:.3g}: it must be a number at every score."
            )
    if not slopes.any():
        raise InputError(
            f"loss {loss.name!r} is flat, so there is no slope to follow: use 'sigmoid' or 'ramp'."
        )
    if lowest >= FORBIDDING:
        raise InputError(
            f"the risk of loss {loss.name!r} overflows already at the scores of least squares: "
            "some rows lie too far out, so leave them out or use a loss that grows more slowly, "
            "such as 'logistic'."
        )


def endless(loss: Loss) -> ConvergenceError:
    """Return the error for a risk that has no minimum."""
    return ConvergenceError(
        f"the risk of loss {loss.name!r} still falls where scores are {ENDLESS:g} on average, so "
        "these rows give it no minimum of any use: give radius, the largest root-mean-square "
        "score, such as radius=5."
    )


def _descend_from(risk: Risk, start: FloatArray, radius: float | None) -> Minimum:
    """Return the minimum reached from one start."""
    options = {"ftol": LAST_GAIN, "gtol": 1e-10, "maxiter": PATIENCE}
    search: dict[str, Any] = {"method": "L-BFGS-B", "callback": _stop_far_out, "options": options}
    if radius is not None:
        within = NonlinearConstraint(
            lambda place: place @ place, -np.inf, radius**2, jac=lambda place: 2 * place
        )
        options = {"ftol": LAST_GAIN_WITHIN, "maxiter": PATIENCE}
        search = {"method": "SLSQP", "constraints": [within], "options": options}
    result = minimize(risk, start, jac=True, **search)
    return Minimum(result.x, float(result.fun), result.status != OUT_OF_STEPS[search["method"]])


def _stop_far_out(xk: FloatArray) -> None:
    """End a descent that has no end; the optimiser looks at the name of the argument."""
    if np.linalg.norm(xk) > ENDLESS:
        raise StopIteration


# Root-mean-square scores beyond these are no scores, and their squares over- or underflow.
SMALLEST_RADIUS, LARGEST_RADIUS = 1e-6, 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearScore:
    """A linear score of least risk.

    Attributes
    ----------
    coefficients : ndarray of shape (n_features + 1,)
        Intercept first, on the scale of the data.
    risk : float
        Mean loss over the rows, each counted with its weight.
    root_mean_square : float
        Of the scores of the rows.
    loss : str
        Name of the loss.
    n_rows : int
        Rows, as stored.
    positive, negative : object
        The labels; a score above 0 speaks for the positive one.
    """

    coefficients: FloatArray
    risk: float
    root_mean_square: float
    loss: str
    n_rows: int
    positive: Any
    negative: Any

    def scores(self, points: ArrayLike) -> FloatArray:
        """Return the scores of points given on the scale of the data, one row each."""
        known = np.asarray(points, dtype=np.float64)
        n_features = len(self.coefficients) - 1
        if known.ndim != 2 or known.shape[1] != n_features:
            raise InputError(
                f"points has shape {known.shape} but the score was fitted to "
                f"{counted(n_features, 'feature')}: give an array of shape (n_points, "
                f"{n_features})."
            )
        return np.asarray(self.coefficients[0] + known @ self.coefficients[1:])


def _loss_in(
    loss: Loss, coefficients: FloatArray, shift: FloatArray | None, block: Block
) -> tuple[float, FloatArray]:
    """Return the total loss of a block at some coefficients (intercept first), and its slope."""
    features = shifted(block.features, shift)
    scores = features @ coefficients[1:] + coefficients[0]
    counts = counts_of(block)
    values = loss.values(scores, block.labels) * counts
    slopes = loss.slopes(scores, block.labels) * counts
    return float(values.sum()), np.append(slopes.sum(), slopes @ features)


def minimise_risk(
    X: Any,
    y: Any,
    loss: str | Loss,
    *,
    radius: float | None = None,
    positive: Any = None,
    sample_weight: ArrayLike | str | None = None,
) -> LinearScore:
    """Find the linear score whose mean loss over the rows is least.

    Parameters
    ----------
    X : array, data frame or path
        Features, without an intercept column; as for `fit_logistic`.
    y : array-like of shape (n_rows,) or str
        Two labels, or the name of their column in X.
    loss : str or Loss
        Name of a margin loss (see `margin_losses`), or what `corrected_loss` returns.
    radius : float, optional
        Largest root-mean-square score over the rows. Losses that reward ever larger scores
        need it: the unhinged always, the sigmoid and the ramp nearly always.
    positive : object, optional
        The positive label; default the larger, True, or the later in sort order.
    sample_weight : array-like or str, optional
        Weight of each row, such as the cost of an error there. Or their column in X.

    Returns
    -------
    LinearScore

    Raises
    ------
    InputError
        If the data cannot be used, or the loss is flat, as the zero-one loss is.
    ConvergenceError
        If the risk falls on and on as scores grow.

    Notes
    -----
    The radius, unlike a penalty, leaves the minimiser of a symmetric loss in its place under
    uniform noise. A loss that is not convex is descended from three starts; a lower minimum
    elsewhere cannot be ruled out. For the logistic loss `fit_logistic` is quicker and
    more exact, and for its forward correction `NoiseAwareLogisticRegression`.

    Examples
    --------
    >>> import numpy as np
    >>> import evenodds as eo
    >>> rng = np.random.default_rng(3)
    >>> X = rng.normal(size=(20_000, 1))
    >>> true = (rng.random(20_000) < 1 / (1 + np.exp(-3 * X[:, 0]))).astype(int)
    >>> noise = eo.ClassConditionalNoise(alpha=0.4, beta=0.1)
    >>> given = noise.flip(true, rng)
    >>> def boundary(loss):
    ...     intercept, slope = eo.minimise_risk(X, given, loss).coefficients
    ...     return round(float(-intercept / slope), 2)
    >>> boundary("logistic"), boundary(eo.corrected_loss("logistic", noise))  # the truth is 0
    (0.84, 0.02)
    """
    found = find_loss(loss)
    limit = None if radius is None else check_number(radius, "radius")
    if limit is not None and limit <= 0:
        raise InputError(f"radius is {limit:g} but must be above 0: it is the size of a score.")
    if limit is not None and not SMALLEST_RADIUS <= limit <= LARGEST_RADIUS:
        raise InputError(
            f"radius is {limit:g} but must lie between {SMALLEST_RADIUS:g} and "
            f"{LARGEST_RADIUS:g}: it is the size of a score, and 1 to 20 is usual."
        )
    rows = read_data(X, y, positive=positive, sample_weight=sample_weight)
    return least_risk(rows, found, limit)


def least_risk(rows: Rows, loss: Loss, radius: float | None = None) -> LinearScore:
    """Find the linear score of least risk for any source of rows."""
    moments, shift = measure_columns(rows)
    refuse_repeats(rows, moments, shift)
    # In coordinates where E[xx'] is the identity, the length of a vector is the root-mean-square
    # score, and least squares is the mean of the signed rows.
    root = np.linalg.cholesky(_second_moments(moments))

    def outside(inside: FloatArray) -> FloatArray:
        return solve_triangular(root, inside, lower=True, trans=1)

    def risk(inside: FloatArray) -> tuple[float, FloatArray]:
        with np.errstate(over="ignore", invalid="ignore"):
            total, slopes = rows.totals(partial(_loss_in, loss, outside(inside), shift))
        if total < -FORBIDDING:
            raise endless(loss)
        if not (np.isfinite(total) and np.isfinite(slopes).all()):
            return FORBIDDING, np.zeros_like(inside)
        slope: FloatArray = solve_triangular(root, slopes, lower=True)
        return total / moments.weight, slope / moments.weight

    least_squares = solve_triangular(root, _signed_mean(moments), lower=True)
    best = descend(risk, least_squares, loss, radius)
    return LinearScore(
        coefficients=unshifted(outside(best.place), shift),
        risk=best.risk,
        root_mean_square=float(np.linalg.norm(best.place)),
        loss=loss.name,
        n_rows=rows.n_rows,
        positive=rows.positive,
        negative=rows.negative,
    )


def _second_moments(moments: ColumnMoments) -> FloatArray:
    """Return the mean of ``[1, x] [1, x]'``."""
    means = np.concatenate([[1.0], moments.means])
    second: FloatArray = np.outer(means, means)
    second[1:, 1:] += moments.products / moments.weight
    return second


def _signed_mean(moments: ColumnMoments) -> FloatArray:
    """Return the mean of ``[1, x]``, negated where the label is negative."""
    labels = moments.labels / moments.weight
    means = np.concatenate([[1.0], moments.means])
    signed: FloatArray = (2 * labels - 1) * means
    signed[1:] += 2 * moments.by_label / moments.weight
    return signed
