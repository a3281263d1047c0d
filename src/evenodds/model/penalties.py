"""The penalty of a ridge curve, chosen for each fold by curves that have not seen it.

A curve a penalty is fitted to an even part of the rows; leaving out two neighbouring folds moves
each of them a little, and how well it then tells the labels of the one decides the penalty for the
other. All of it is products of arrays, of NumPy or on a device.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from evenodds.errors import ConvergenceError
from evenodds.model.sums import counts_of, pieces, without_chance
from evenodds.rows.base import Block, IntArray, Rows, beside, on_host, xp_of
from evenodds.validation import FloatArray

# Penalties tried, as shares of the rows, the largest first; features have spread 1.
PENALTIES = np.geomspace(1.0, 1e-5, 8)
# The penalty is chosen on about this many rows, and ends a search when this near.
FEWEST_CHOICE_ROWS, CHOICE_ROWS_PER_COLUMN = 4000, 10
MOST_CHORDS, NEAR_ENOUGH = 60, 1e-4
# A Hessian is at least this share of the usual one: curves gone astray have next to none.
LEAST_SHARE = 1e-3
# Points that the next one is a mix of.
MOST_PAST = 4
# Beyond these log-odds a chance is 0 or 1 to the last digit.
MOST_LOGIT = 40.0
# Products of columns so many spreads from 0 lose the digits that their values differ in.
FAR = 1e6

Folds = NDArray[np.int8]


def chances_of(logits: Any) -> Any:
    """Return the logistic curve, in place of what is given; far out it is 0 or 1."""
    if not isinstance(logits, np.ndarray):
        return logits.clip_(-MOST_LOGIT, MOST_LOGIT).sigmoid_()
    np.clip(logits, -MOST_LOGIT, MOST_LOGIT, out=logits)
    np.exp(np.negative(logits, out=logits), out=logits)
    logits += 1
    return np.reciprocal(logits, out=logits)


class Division:
    """The fold of each row, kept beside rows on a device too."""

    def __init__(self, folds: Folds) -> None:
        self.folds, self.n_folds = folds, int(folds.max()) + 1
        self._there: dict[Any, Any] = {}

    def of(self, block: Block) -> tuple[Any, Any]:
        """Return the rows of a block from 0 on, and the fold of each."""
        rows = slice(block.start, block.start + len(block.labels))
        if isinstance(block.features, np.ndarray):
            return np.arange(len(block.labels)), self.folds[rows]
        device = block.features.device
        if device not in self._there:
            self._there[device] = block.xp.as_tensor(self.folds).to(device).long()
        return block.xp.arange(len(block.labels), device=device), self._there[device][rows]


@dataclass(frozen=True, slots=True)
class Scale:
    """Features made comparable: means taken off, spreads made 1, an intercept in front."""

    means: FloatArray
    spreads: FloatArray

    def design(self, features: Any) -> Any:
        if isinstance(features, np.ndarray):
            made: Any = np.empty((len(features), len(self.means) + 1))
        else:
            made = features.new_empty((len(features), len(self.means) + 1)).double()
        made[:, 0] = 1.0
        made[:, 1:] = features
        made[:, 1:] -= beside(self.means, made)
        made[:, 1:] /= beside(self.spreads, made)
        return made

    @property
    def far(self) -> NDArray[np.bool_]:
        """Which features lie so far from 0 that their means are taken off before any product."""
        return np.asarray(np.abs(self.means) > FAR * self.spreads)

    def near(self, features: Any) -> Any:
        """Return features as they are, but for those far from 0."""
        far = np.flatnonzero(self.far).tolist()
        if far:
            features = features + 0  # a copy: blocks are lent
            features[:, far] -= beside(self.means[far], features)
        return features

    def slopes(self, coefficients: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return slopes and intercepts of some curves for features that are `near`."""
        slopes = coefficients[1:] / self.spreads[:, None]
        return slopes, coefficients[0] - np.where(self.far, 0, self.means) @ slopes

    def products(self, totals: FloatArray, inner: FloatArray) -> FloatArray:
        """Return the design's products with columns, from their totals and those of `near`."""
        centred = inner - np.outer(np.where(self.far, 0, self.means), totals)
        return np.vstack([totals, centred / self.spreads[:, None]])


@dataclass(frozen=True, slots=True)
class Choice:
    """The penalty for each fold, and where its curve starts from."""

    penalties: FloatArray
    start: FloatArray  # (features + 1, folds)
    hessian: Any  # of all rows held, without the penalty, and where they are
    weight: float


@dataclass(frozen=True, slots=True)
class _Held:
    """The rows on which penalties are chosen, fold after fold, in memory or on a device."""

    design: Any
    labels: Any
    weights: Any
    ends: tuple[int, ...]  # where each fold begins, and where the last one ends

    @property
    def n_folds(self) -> int:
        return len(self.ends) - 1

    def fold(self, number: int) -> slice:
        """Return the rows of a fold."""
        return slice(self.ends[number], self.ends[number + 1])

    def rises(self, curves: Any, *left_out: int) -> tuple[Any, Any]:
        """Return the rise at each curve and how much labels vary along it, less some folds."""
        rise, spread = 0 * curves, 0 * curves[0]
        for fold in (fold for fold in range(self.n_folds) if fold not in left_out):
            for rows in pieces(self.design, self.fold(fold)):
                design, weights = self.design[rows], self.weights[rows]
                chances = chances_of(design @ curves)
                missed = (self.labels[rows, None] - chances) * weights[:, None]
                rise += (missed.T @ design).T
                chances *= 1 - chances
                spread += weights @ chances
        return rise, spread

    def grams(self, curve: Any) -> Any:
        """Return the Gram of each fold at one curve."""
        chances = chances_of(self.design @ curve)
        spread = (chances * (1 - chances) * self.weights) ** 0.5
        parts = map(self.fold, range(self.n_folds))
        scaled = (self.design[part] * spread[part, None] for part in parts)
        return xp_of(chances).stack([part.T @ part for part in scaled])


def hold(rows: Rows, folds: Division, scale: Scale) -> _Held:
    """Return an even part of the rows; all of them where they are few beside the columns."""
    wanted = max(FEWEST_CHOICE_ROWS, CHOICE_ROWS_PER_COLUMN * rows.n_features)
    picked = rows.sum_over_rows(_Picked(max(1, rows.n_rows // wanted), folds)).parts
    xp = xp_of(picked[0][0])
    features, labels, weights, own = (xp.concatenate(part) for part in zip(*picked, strict=True))
    order, counts = xp.argsort(own, stable=True), xp.bincount(own, minlength=folds.n_folds)
    ends = tuple(np.cumsum(np.r_[0, on_host(counts)]).astype(int).tolist())
    return _Held(scale.design(features[order]), labels[order], weights[order], ends)


class _Picked:
    """One row in `step`, by its number."""

    on_device = True

    def __init__(self, step: int, folds: Division) -> None:
        self.step, self.folds = step, folds
        self.parts: list[tuple[Any, ...]] = []

    def add(self, block: Block) -> None:
        kept = slice(-block.start % self.step, None, self.step)
        _, folds = self.folds.of(block)
        columns = block.features[kept], block.labels[kept], counts_of(block)[kept], folds[kept]
        self.parts.append(tuple(column + 0 for column in columns))  # copies: blocks are lent

    def merge(self, other: Self) -> None:
        self.parts += other.parts


def choose_penalties(held: _Held) -> Choice:
    """Choose each fold's penalty by curves that leave that fold and one more out.

    A penalty is the precision of a prior on the coefficients, which does not grow with the rows:
    one that is best for a part of the rows serves them all.
    """
    weight, path = float(held.weights.sum()), _Path.of(held)
    n_folds, n_penalties = held.n_folds, len(path.penalties)
    deviances = np.zeros((n_folds, n_penalties))
    for a, b in _neighbours(n_folds):
        curves, unsettled = path.without(held, a, b)
        for judged, chosen_for in ((a, b), (b, a)):
            rows = held.fold(judged)
            logits = held.design[rows] @ curves
            heights = held.labels[rows, None] * logits - xp_of(logits).logaddexp(logits * 0, logits)
            deviances[chosen_for] -= on_host(held.weights[rows] @ heights)
            deviances[chosen_for, unsettled] = np.inf  # it may still know what it leaves out
    if not np.isfinite(deviances).any(axis=1).all():
        raise ConvergenceError(
            "no penalty gives curves that settle: scale or drop columns with values far out, or "
            "give an estimator."
        )
    best = deviances.argmin(axis=1)
    hessian = _without_chance(path.grams.sum(axis=0), held.ends[-1]) * path.shares[best].mean()
    return Choice(on_host(path.penalties)[best], on_host(path.curves)[:, best], hessian, weight)


def _without_chance(gram: Any, n_rows: int) -> Any:
    """Return a Gram less what chance adds to its products; the intercept comes first."""
    sums = gram[0] / gram[0, 0] ** 0.5
    through_means = sums[:, None] * sums
    shrunk = gram + 0
    shrunk[1:, 1:] = without_chance((gram - through_means)[1:, 1:], n_rows) + through_means[1:, 1:]
    return shrunk


@dataclass(frozen=True, slots=True)
class _Path:
    """Curves of all rows held, a column a penalty."""

    penalties: Any
    rates: Any  # (features + 1, penalties): the intercept has none
    curves: Any
    grams: Any  # of each fold, at one curve in the middle
    shares: Any  # a Hessian is nearly this share of them: as labels vary along its curve
    by_fold: Any  # what each fold adds to the rise at each curve

    @classmethod
    def of(cls, held: _Held) -> "_Path":
        xp, size = xp_of(held.design), held.design.shape[1]
        weight = float(held.weights.sum())
        rates = beside(np.r_[0.0, np.ones(size - 1)][:, None] * (PENALTIES * weight), held.design)
        share = float(np.clip(float(held.weights @ held.labels) / weight, 1e-6, 1 - 1e-6))
        flat = np.r_[np.log(share / (1 - share)), np.zeros(size - 1)][:, None]
        middle = beside(flat, held.design)
        for _ in range(2):  # where the Hessian is taken need not be exact
            grams = held.grams(middle[:, 0])
            whole, usual = grams.sum(axis=0), rates[:, [len(PENALTIES) // 2]]
            rise, usual_spread = held.rises(middle)
            middle = middle + Solvers.of(whole[None], usual).steps(rise - usual * middle)
        spreads = 0 * rates[0]
        walk = Steps(middle + 0 * rates)
        for _ in range(MOST_CHORDS):
            rise, here = held.rises(walk.curves)
            if (abs(here - spreads) > 0.1 * spreads).any():
                spreads, walk = here, Steps(walk.curves)
                shares = (spreads / usual_spread).clip(min=LEAST_SHARE)
                solvers = Solvers.of(whole * shares[:, None, None], rates)
            steps = solvers.steps(rise - rates * walk.curves)
            walk.take(steps)
            if abs(steps).max() < NEAR_ENOUGH:
                break
        folds = range(held.n_folds)
        parts = [held.rises(walk.curves, *{*folds} - {fold}) for fold in folds]
        by_fold, spreads = xp.stack([rise for rise, _ in parts]), sum(here for _, here in parts)
        shares = (spreads / usual_spread).clip(min=LEAST_SHARE)
        return cls(rates[-1], rates, walk.curves, grams, shares, by_fold)

    def without(self, held: _Held, *folds: int) -> tuple[Any, IntArray]:
        """Return the curves of the other folds, and the places of those that did not settle.

        To the end: what a curve has not unlearnt of the folds it leaves out would leak.
        """
        rest = self.grams.sum(axis=0) - self.grams[list(folds)].sum(axis=0)
        solvers = Solvers.of(rest * self.shares[:, None, None], self.rates)
        curves = self.curves - solvers.steps(self.by_fold[list(folds)].sum(axis=0))
        left, walk = np.arange(curves.shape[1]), Steps(curves + 0)
        for _ in range(MOST_CHORDS):
            rise, _ = held.rises(walk.curves, *folds)
            steps = solvers.only(left).steps(rise - self.rates[:, left] * walk.curves)
            walk.take(steps)
            curves[:, left] = walk.curves
            moving = ~(on_host(abs(steps)).max(axis=0) < NEAR_ENOUGH)
            left = left[moving]
            if not len(left):
                break
            walk.keep(np.flatnonzero(moving))
        return curves, left


def _neighbours(n_folds: int) -> set[tuple[int, int]]:
    """Return pairs of folds round in a circle: each is left out with the one before and after."""
    return {(min(k, after), max(k, after)) for k in range(n_folds) for after in [(k + 1) % n_folds]}


@dataclass(frozen=True, slots=True)
class Solvers:
    """Hessians that can be divided by, one a curve: those of SciPy, or a stack on a device."""

    factors: Any

    @classmethod
    def of(cls, hessians: Any, rates: Any) -> "Solvers":
        """Factor a stack of Hessians with penalties added, a column of `rates` each."""
        if not isinstance(hessians, np.ndarray):
            xp = xp_of(hessians)
            return cls(xp.linalg.cholesky(hessians + xp.diag_embed(rates.T)))
        made = hessians.copy()
        made.reshape(len(made), -1)[:, :: len(rates) + 1] += rates.T
        # Turned, so that the factor takes the copy's place instead of one more.
        return cls([cho_factor(each.T, overwrite_a=True, check_finite=False) for each in made])

    def only(self, places: IntArray) -> "Solvers":
        """Return those of some curves."""
        if isinstance(self.factors, list):
            return Solvers([self.factors[place] for place in places])
        return Solvers(self.factors[places])

    def steps(self, rises: Any) -> Any:
        """Return one step a column, each by its own Hessian."""
        if isinstance(self.factors, list):
            return np.column_stack(
                [
                    cho_solve(factor, rises[:, place], check_finite=False)
                    for place, factor in enumerate(self.factors)
                ]
            )
        return xp_of(rises).cholesky_solve(rises.T[:, :, None], self.factors)[:, :, 0].T


class Steps:
    """Steps by an old Hessian, a column a curve, helped by what the last ones have shown.

    Of all mixes of the last points, the one whose own step is shortest is ahead of them all
    (Anderson's acceleration).
    """

    def __init__(self, curves: Any) -> None:
        self.curves = curves
        self.past: list[tuple[Any, Any]] = []

    def take(self, steps: Any) -> None:
        """Go on by a step for each curve."""
        curves, ahead, xp = self.curves, self.curves + steps, xp_of(steps)
        if self.past:
            moved = xp.stack([curves - old for old, _ in self.past])
            changed = xp.stack([steps - old for _, old in self.past])
            products = xp.einsum("ipk,jpk->kij", changed, changed)
            sizes = xp.einsum("kii->k", products)[:, None, None].clip(min=1e-300)
            products = products + 1e-12 * sizes * beside(np.eye(len(self.past)), steps)
            aims = xp.einsum("ipk,pk->ki", changed, steps)
            shares = xp.linalg.solve(products, aims[..., None])[..., 0]
            ahead = ahead - xp.einsum("ki,ipk->pk", shares, moved + changed)
        self.past = [(curves, steps), *self.past[: MOST_PAST - 1]]
        self.curves = ahead

    def keep(self, columns: IntArray) -> None:
        """Go on with some of the curves."""
        self.curves = self.curves[:, columns]
        self.past = [(old[:, columns], step[:, columns]) for old, step in self.past]
