"""Out-of-fold scores: how likely each given label is positive, by a model that has not seen it.

Without an estimator the model is a ridge logistic regression whose penalty is chosen inside each
training part: every pair of folds is left out once, so that the penalty for a fold is judged on
the others by curves that saw neither. All of it is sums over rows, so files larger than memory
are scored like arrays. Sums of folds are differences of sums: one pass serves every fold.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from evenodds.errors import ConvergenceError, InputError, MissingExtraError
from evenodds.rows.base import Block, Rows, refuse_missing
from evenodds.rows.labels import read_labels
from evenodds.rows.memory import of_hugging_face
from evenodds.rows.read import read_data
from evenodds.validation import FloatArray, as_array, check_whole

# Penalties tried, as shares of the rows, the largest first; features have spread 1.
PENALTIES = np.geomspace(1.0, 1e-5, 8)
# The penalty is chosen on about this many rows, and ends a search when this near.
FEWEST_CHOICE_ROWS, CHOICE_ROWS_PER_COLUMN = 4000, 10
MOST_CHORDS, NEAR_ENOUGH = 60, 1e-4
# A fit ends where no coefficient moves by more than this, on the scale of spreads.
LAST_STEP = 1e-7
MOST_STEPS = 60
# Steps by an old Hessian that shrink less than this in two need a new one.
SLOW = 0.5
# Points that the next one is a mix of.
MOST_PAST = 4
# Beyond these log-odds a chance is 0 or 1 to the last digit.
MOST_LOGIT = 40.0
# Steps this small are near enough to take one Hessian for every fold, where it costs little.
ROUGHLY, FEW_COLUMNS = 0.03, 40

MOST_FOLDS = 100

Folds = NDArray[np.int8]
Progress = Callable[[float], None]


def assign_folds(
    labels: NDArray[np.bool_],
    n_folds: int,
    groups: NDArray[np.intp] | None,
    rng: np.random.Generator,
) -> Folds:
    """Return the fold of each row: labels evenly spread, groups kept together."""
    folds = np.empty(len(labels), dtype=np.int8)
    if groups is None:
        start = 0
        for label in (True, False):
            rows = rng.permutation(np.flatnonzero(labels == label))
            folds[rows] = (start + np.arange(len(rows))) % n_folds
            start += len(rows)
        return folds
    n_groups = int(groups.max()) + 1
    counts = np.column_stack(
        [np.bincount(groups, labels, n_groups), np.bincount(groups, ~labels, n_groups)]
    )
    order = rng.permutation(n_groups)
    order = order[np.argsort(-counts[order].sum(axis=1), kind="stable")]
    filled = np.zeros((n_folds, 2))
    wanted = np.maximum(counts.sum(axis=0), 1)
    of_group = np.empty(n_groups, dtype=np.int8)
    for group in order:
        # The fold that is emptiest in what this group brings.
        fold = int(((filled / wanted) @ counts[group]).argmin())
        filled[fold] += counts[group]
        of_group[group] = fold
    return of_group[groups]


def _chances(logits: FloatArray) -> FloatArray:
    """Return the logistic curve, in place of what is given; far out it is 0 or 1."""
    np.clip(logits, -MOST_LOGIT, MOST_LOGIT, out=logits)
    np.exp(np.negative(logits, out=logits), out=logits)
    logits += 1
    return np.reciprocal(logits, out=logits)


@dataclass(frozen=True, slots=True)
class _Scale:
    """Features made comparable: means taken off, spreads made 1, an intercept in front."""

    means: FloatArray
    spreads: FloatArray

    def design(self, features: FloatArray) -> FloatArray:
        made = np.empty((len(features), len(self.means) + 1))
        made[:, 0] = 1.0
        np.subtract(features, self.means, out=made[:, 1:])
        made[:, 1:] /= self.spreads
        return made

    def logits(self, features: FloatArray, coefficients: FloatArray) -> FloatArray:
        """Return the log-odds of some curves without making the design."""
        slopes = coefficients[1:] / self.spreads[:, None]
        made: FloatArray = features @ slopes
        made += coefficients[0] - self.means @ slopes
        return made

    def products(self, features: FloatArray, columns: FloatArray) -> FloatArray:
        """Return the design's products with some columns."""
        totals = columns.sum(axis=0)
        inner = features.T @ columns - np.outer(self.means, totals)
        return np.vstack([totals, inner / self.spreads[:, None]])


class _Moments:
    """Sums and squares of columns, about a first row, and of labels."""

    def __init__(self, about: FloatArray) -> None:
        self.about = about
        self.weight = self.labels = 0.0
        self.sums, self.squares = np.zeros(len(about)), np.zeros(len(about))

    def add(self, block: Block) -> None:
        weights = np.ones(len(block.labels)) if block.weights is None else block.weights
        moved = block.features - self.about
        self.weight += float(weights.sum())
        self.labels += float(weights @ block.labels)
        self.sums += weights @ moved
        self.squares += weights @ np.square(moved, out=moved)

    def merge(self, other: Self) -> None:
        self.weight += other.weight
        self.labels += other.labels
        self.sums += other.sums
        self.squares += other.squares

    def scale(self) -> _Scale:
        means = self.sums / self.weight
        spreads = np.sqrt(np.maximum(self.squares / self.weight - means**2, 0))
        constant = spreads <= 1e-12 * np.maximum(np.abs(means + self.about), 1e-300)
        return _Scale(means + self.about, np.where(constant, 1.0, spreads))


class _FoldScores:
    """The score of each training part at its own curve: column `k` leaves fold `k` out."""

    def __init__(self, coefficients: FloatArray, folds: Folds, scale: _Scale) -> None:
        self.coefficients, self.folds, self.scale = coefficients, folds, scale
        self.scores = np.zeros(coefficients.shape)

    def add(self, block: Block) -> None:
        folds = self.folds[block.start : block.start + len(block.labels)]
        missed = _chances(self.scale.logits(block.features, self.coefficients))
        np.subtract(block.labels[:, None], missed, out=missed)
        if block.weights is not None:
            missed *= block.weights[:, None]
        missed[np.arange(len(folds)), folds] = 0.0
        self.scores += self.scale.products(block.features, missed)

    def merge(self, other: Self) -> None:
        self.scores += other.scores


class _FoldGrams:
    """The Gram of each fold at one curve."""

    def __init__(self, coefficients: FloatArray, folds: Folds, scale: _Scale) -> None:
        self.coefficients, self.folds, self.scale = coefficients, folds, scale
        size = len(coefficients)
        self.grams = np.zeros((int(folds.max()) + 1, size, size))

    def add(self, block: Block) -> None:
        design = self.scale.design(block.features)
        folds = self.folds[block.start : block.start + len(block.labels)]
        chances = _chances(design @ self.coefficients[:, 0])
        spread = chances * (1 - chances)
        if block.weights is not None:
            spread *= block.weights
        design *= np.sqrt(spread)[:, None]
        for fold in range(len(self.grams)):
            part = design[folds == fold]
            self.grams[fold] += part.T @ part

    def merge(self, other: Self) -> None:
        self.grams += other.grams


class _Scored:
    """Probabilities of rows, each by the curve that has not seen it."""

    def __init__(self, coefficients: FloatArray, folds: Folds, scale: _Scale) -> None:
        self.coefficients, self.folds, self.scale = coefficients, folds, scale
        self.parts: list[tuple[int, FloatArray]] = []

    def add(self, block: Block) -> None:
        folds = self.folds[block.start : block.start + len(block.labels)]
        logits = self.scale.logits(block.features, self.coefficients)
        own = logits[np.arange(len(folds)), folds]
        self.parts.append((block.start, _chances(own)))

    def merge(self, other: Self) -> None:
        self.parts += other.parts


@dataclass(frozen=True, slots=True)
class _Choice:
    """The penalty for each fold, and where its curve starts from."""

    penalties: FloatArray
    start: FloatArray  # (features + 1, folds)
    hessian: FloatArray  # of all rows held, without the penalty
    weight: float


def ridge_scores(rows: Rows, folds: Folds, progress: Progress | None = None) -> FloatArray:
    """Return the out-of-fold probability of the positive label for each row."""
    told = progress or (lambda share: None)
    first = rows.sum_over_rows(_Moments(np.zeros(rows.n_features)))
    if not np.isfinite(first.sums).all():
        refuse_missing(rows)
    scale = rows.sum_over_rows(_Moments(first.sums / first.weight)).scale()
    told(0.1)
    chosen = _choose_penalties(_held(rows, folds, scale))
    told(0.5)
    fits = _fit_folds(rows, folds, scale, chosen, first.weight)
    told(0.95)
    scored = rows.sum_over_rows(_Scored(fits, folds, scale))
    values = np.empty(rows.n_rows)
    for start, part in scored.parts:
        values[start : start + len(part)] = part
    told(1.0)
    return values


@dataclass(frozen=True, slots=True)
class _Held:
    """The rows on which penalties are chosen, in memory."""

    design: FloatArray
    labels: FloatArray
    weights: FloatArray
    folds: Folds

    def missed(self, coefficients: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return labels less chances, weighted, a column a curve, and what each curve varies by."""
        chances = _chances(self.design @ coefficients)
        missed = (self.labels[:, None] - chances) * self.weights[:, None]
        chances *= 1 - chances
        return missed, self.weights @ chances

    def grams(self, coefficients: FloatArray) -> FloatArray:
        """Return the Gram of each fold at one curve."""
        chances = _chances(self.design @ coefficients)
        spread = np.sqrt(chances * (1 - chances) * self.weights)
        made = []
        for fold in range(int(self.folds.max()) + 1):
            rows = np.flatnonzero(self.folds == fold)
            part = self.design[rows] * spread[rows, None]
            made.append(part.T @ part)
        return np.stack(made)


def _held(rows: Rows, folds: Folds, scale: _Scale) -> _Held:
    """Return an even part of the rows; all of them where they are few beside the columns."""
    wanted = max(FEWEST_CHOICE_ROWS, CHOICE_ROWS_PER_COLUMN * rows.n_features)
    picked = rows.sum_over_rows(_Picked(max(1, rows.n_rows // wanted)))
    features, labels, weights, numbers = (
        np.concatenate([part[place] for part in picked.parts]) for place in range(4)
    )
    return _Held(scale.design(features), labels, weights, folds[numbers.astype(np.intp)])


class _Picked:
    """One row in `step`, by its number."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.parts: list[tuple[NDArray[Any], ...]] = []

    def add(self, block: Block) -> None:
        numbers = np.arange(block.start, block.start + len(block.labels))
        kept = np.flatnonzero(numbers % self.step == 0)
        weights = np.ones(len(numbers)) if block.weights is None else block.weights
        self.parts.append(
            (block.features[kept].copy(), block.labels[kept], weights[kept], numbers[kept])
        )

    def merge(self, other: Self) -> None:
        self.parts += other.parts


def _choose_penalties(held: _Held) -> _Choice:
    """Choose each fold's penalty by curves that leave that fold and one more out.

    A penalty is the precision of a prior on the coefficients, which does not grow with the rows:
    one that is best for a part of the rows serves them all.
    """
    weight, path = float(held.weights.sum()), _Path.of(held)
    n_folds, n_penalties = len(path.grams), len(path.penalties)
    deviances = np.zeros((n_folds, n_penalties))
    for a, b in _neighbours(n_folds):
        curves, unsettled = path.without(held, (held.folds == a) | (held.folds == b), (a, b))
        for judged, chosen_for in ((a, b), (b, a)):
            rows = held.folds == judged
            logits = held.design[rows] @ curves
            heights = held.labels[rows, None] * logits - np.logaddexp(0, logits)
            deviances[chosen_for] -= held.weights[rows] @ heights
            deviances[chosen_for, unsettled] = np.inf  # it may still know what it leaves out
    if not np.isfinite(deviances).any(axis=1).all():
        raise ConvergenceError(
            "no penalty gives curves that settle: scale or drop columns with values far out, or "
            "give an estimator."
        )
    best = deviances.argmin(axis=1)
    hessian = path.grams.sum(axis=0) * path.shares[best].mean()
    return _Choice(path.penalties[best], path.curves[:, best], hessian, weight)


@dataclass(frozen=True, slots=True)
class _Path:
    """Curves of all rows held, a column a penalty."""

    penalties: FloatArray
    rates: FloatArray  # (features + 1, penalties): the intercept has none
    curves: FloatArray
    grams: FloatArray  # of each fold, at one curve in the middle
    shares: FloatArray  # a Hessian is nearly this share of them: as labels vary along its curve
    by_fold: FloatArray  # what each fold adds to the rise at each curve

    @classmethod
    def of(cls, held: _Held) -> "_Path":
        size, n_folds = held.design.shape[1], int(held.folds.max()) + 1
        weight = float(held.weights.sum())
        penalties = PENALTIES * weight
        rates = np.r_[0.0, np.ones(size - 1)][:, None] * penalties
        share = float(np.clip(held.weights @ held.labels / weight, 1e-6, 1 - 1e-6))
        middle = np.r_[np.log(share / (1 - share)), np.zeros(size - 1)]
        for _ in range(2):  # where the Hessian is taken need not be exact
            grams = held.grams(middle)
            whole, usual = grams.sum(axis=0), rates[:, len(penalties) // 2]
            missed, usual_spread = held.missed(middle[:, None])
            rise = held.design.T @ missed[:, 0]
            middle = middle + _solve(whole, usual, rise - usual * middle)
        spreads = np.zeros(len(penalties))
        walk = _Steps(np.tile(middle[:, None], len(penalties)))
        for _ in range(MOST_CHORDS):
            missed, here = held.missed(walk.curves)
            if (np.abs(here - spreads) > 0.1 * spreads).any():
                spreads, walk = here, _Steps(walk.curves)
                solvers = _factors(whole, spreads / usual_spread, rates)
            steps = _each(solvers, held.design.T @ missed - rates * walk.curves)
            walk.take(steps)
            if np.abs(steps).max() < NEAR_ENOUGH:
                break
        missed, spreads = held.missed(walk.curves)
        folds = [held.folds == k for k in range(n_folds)]
        by_fold = np.stack([held.design[fold].T @ missed[fold] for fold in folds])
        return cls(penalties, rates, walk.curves, grams, spreads / usual_spread, by_fold)

    def without(
        self, held: _Held, out: NDArray[np.bool_], folds: tuple[int, int]
    ) -> tuple[FloatArray, NDArray[np.intp]]:
        """Return the curves of the other folds, and the places of those that did not settle.

        To the end: what a curve has not unlearnt of the folds it leaves out would leak.
        """
        rest = self.grams.sum(axis=0) - self.grams[list(folds)].sum(axis=0)
        solvers = _factors(rest, self.shares, self.rates)
        curves = self.curves - _each(solvers, self.by_fold[list(folds)].sum(axis=0))
        left, walk = np.arange(len(self.penalties)), _Steps(curves.copy())
        for _ in range(MOST_CHORDS):
            missed, _ = held.missed(walk.curves)
            missed[out] = 0.0
            rise = held.design.T @ missed - self.rates[:, left] * walk.curves
            steps = _each([solvers[place] for place in left], rise)
            walk.take(steps)
            curves[:, left] = walk.curves
            moving = np.abs(steps).max(axis=0) >= NEAR_ENOUGH
            left = left[moving]
            walk.keep(moving)
            if not len(left):
                break
        return curves, left


def _neighbours(n_folds: int) -> set[tuple[int, int]]:
    """Return pairs of folds round in a circle: each is left out with the one before and after."""
    return {(min(k, after), max(k, after)) for k in range(n_folds) for after in [(k + 1) % n_folds]}


def _factors(gram: FloatArray, shares: FloatArray, rates: FloatArray) -> list[Any]:
    """Return a solver a penalty: shares of a Gram, and the penalties."""
    return [
        cho_factor(gram * share + np.diag(rates[:, place]), check_finite=False)
        for place, share in enumerate(shares)
    ]


class _Steps:
    """Steps by an old Hessian, a column a curve, helped by what the last ones have shown.

    Of all mixes of the last points, the one whose own step is shortest is ahead of them all
    (Anderson's acceleration).
    """

    def __init__(self, curves: FloatArray) -> None:
        self.curves = curves
        self.past: list[tuple[FloatArray, FloatArray]] = []

    def take(self, steps: FloatArray) -> None:
        """Go on by a step for each curve."""
        curves, ahead = self.curves, self.curves + steps
        if self.past:
            moved = np.stack([curves - old for old, _ in self.past])
            changed = np.stack([steps - old for _, old in self.past])
            products = np.einsum("ipk,jpk->kij", changed, changed)
            sizes = np.einsum("kii->k", products)[:, None, None]
            products += 1e-12 * np.maximum(sizes, 1e-300) * np.eye(len(self.past))
            aims = np.einsum("ipk,pk->ki", changed, steps)
            shares = np.linalg.solve(products, aims[..., None])[..., 0]
            ahead = ahead - np.einsum("ki,ipk->pk", shares, moved + changed)
        self.past = [(curves, steps), *self.past[: MOST_PAST - 1]]
        self.curves = ahead

    def keep(self, columns: NDArray[np.bool_]) -> None:
        """Go on with some of the curves."""
        self.curves = self.curves[:, columns]
        self.past = [(old[:, columns], step[:, columns]) for old, step in self.past]


def _each(solvers: list[Any], rises: FloatArray) -> FloatArray:
    """Return one step a column, each by its own solver."""
    return np.column_stack(
        [
            cho_solve(solver, rises[:, place], check_finite=False)
            for place, solver in enumerate(solvers)
        ]
    )


def _fit_folds(
    rows: Rows, folds: Folds, scale: _Scale, chosen: _Choice, weight: float
) -> FloatArray:
    """Return the ridge curve of each training part, by chords that end as fits from scratch."""
    size, n_folds = chosen.start.shape
    ridge = np.r_[0.0, np.ones(size - 1)][:, None] * chosen.penalties
    part = (n_folds - 1) / n_folds * weight / chosen.weight
    solvers = _factors(chosen.hessian, np.full(n_folds, part), ridge)
    rough, few_columns = True, size <= FEW_COLUMNS
    walk, last = _Steps(chosen.start), np.full((2, n_folds), np.inf)
    for _ in range(MOST_STEPS):
        rise = rows.sum_over_rows(_FoldScores(walk.curves, folds, scale)).scores
        steps = _each(solvers, rise - ridge * walk.curves)
        sizes = np.abs(steps).max(axis=0)
        walk.take(steps)
        if (sizes < LAST_STEP).all():
            break
        slow = (sizes > SLOW * last[0]) & (sizes >= LAST_STEP)
        if rough and ((few_columns and sizes.max() < ROUGHLY) or slow.any()):
            # Near enough for one Hessian to serve every fold; each is a difference of sums.
            middle = walk.curves.mean(axis=1, keepdims=True)
            grams = rows.sum_over_rows(_FoldGrams(middle, folds, scale)).grams
            hessians = grams.sum(axis=0) - grams
            solvers = [cho_factor(hessians[k] + np.diag(ridge[:, k])) for k in range(n_folds)]
            rough, slow[:], walk = False, True, _Steps(walk.curves)
        elif slow.any():
            fresh = rows.sum_over_rows(_OwnGrams(walk.curves, folds, scale, slow)).grams
            for k in np.flatnonzero(slow):
                solvers[k] = cho_factor(fresh[k] + np.diag(ridge[:, k]))
            walk = _Steps(walk.curves)
        last = np.stack([last[1], sizes])
        last[:, slow] = np.inf
    else:
        raise ConvergenceError(
            f"the scores did not settle in {MOST_STEPS} passes: scale or drop columns with values "
            "far out, or give an estimator."
        )
    return walk.curves


class _OwnGrams:
    """The Gram of each training part at its own curve, for the curves that are asked for."""

    def __init__(
        self, coefficients: FloatArray, folds: Folds, scale: _Scale, asked: NDArray[np.bool_]
    ) -> None:
        self.coefficients, self.folds, self.scale, self.asked = coefficients, folds, scale, asked
        size, n_folds = coefficients.shape
        self.grams = np.zeros((n_folds, size, size))

    def add(self, block: Block) -> None:
        design = self.scale.design(block.features)
        folds = self.folds[block.start : block.start + len(block.labels)]
        for fold in np.flatnonzero(self.asked):
            part = design[folds != fold]
            chances = _chances(part @ self.coefficients[:, fold])
            spread = chances * (1 - chances)
            if block.weights is not None:
                spread *= block.weights[folds != fold]
            part *= np.sqrt(spread)[:, None]
            self.grams[fold] += part.T @ part

    def merge(self, other: Self) -> None:
        self.grams += other.grams


def _solve(gram: FloatArray, ridge: FloatArray, rise: FloatArray) -> FloatArray:
    solved: FloatArray = cho_solve(cho_factor(gram + np.diag(ridge)), rise)
    return solved


def estimator_scores(
    estimator: Any, X: Any, labels: NDArray[np.bool_], folds: Folds, progress: Progress | None
) -> FloatArray:
    """Return out-of-fold probabilities of the positive label by a scikit-learn classifier."""
    try:
        from sklearn.base import clone
        from sklearn.utils import _safe_indexing
    except ImportError:
        raise MissingExtraError(
            "scores of a scikit-learn estimator need the 'sklearn' extra: install "
            "evenodds[sklearn], or leave estimator out."
        ) from None
    if not hasattr(estimator, "predict_proba"):
        raise InputError(
            f"{type(estimator).__name__} has no predict_proba: give a classifier that states "
            "probabilities."
        )
    values = np.empty(len(labels))
    n_folds = int(folds.max()) + 1
    for fold in range(n_folds):
        out, kept = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        fitted = clone(estimator).fit(_safe_indexing(X, kept), labels[kept].astype(int))
        values[out] = fitted.predict_proba(_safe_indexing(X, out))[:, 1]
        if progress is not None:
            progress((fold + 1) / n_folds)
    return values


def out_of_fold_scores(
    X: Any,
    y: Any,
    *,
    estimator: Any = None,
    folds: int = 5,
    groups: Any = None,
    seed: int = 0,
    positive: Any = None,
    sample_weight: Any = None,
    progress: Progress | None = None,
) -> FloatArray:
    """Return, for each row, how likely its given label is positive by a model that has not seen it.

    Parameters
    ----------
    X : array, data frame, Dask collection, or path
        Features. A path names a table, which may be larger than memory.
    y : array-like or str
        Given labels, or the name of their column.
    estimator : scikit-learn classifier, optional
        A model with ``predict_proba``; it is cloned for every fold. By default a ridge logistic
        regression, whose penalty is chosen inside each training part.
    folds : int, default 5
        Parts that the rows are divided into; labels are evenly spread over them.
    groups : array-like or str, optional
        Rows that belong together (one patient): no group is split over folds.
    seed : int, default 0
        Of the division.
    positive : object, optional
        The positive label. Default: the larger, True, or the later in sort order.
    sample_weight : array-like or str, optional
        How many rows each row stands for; the default model takes it into account.
    progress : callable, optional
        Told the share of the work that is done.

    Returns
    -------
    array of float
        Probabilities, in the order of the rows.

    Raises
    ------
    InputError
        If a label or the groups cannot be spread over the folds, or data are missing.

    See Also
    --------
    choose_cases : The rows to judge, drawn along these scores.

    Notes
    -----
    A model or a penalty that was chosen by the same folds has seen the row's own label: choose it
    inside the estimator (a search that is cloned and fitted with it), as the default does.

    Examples
    --------
    >>> import numpy as np
    >>> import evenodds as eo
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> y = (X[:, 0] + rng.logistic(size=500) > 0).astype(int)
    >>> scores = eo.out_of_fold_scores(X, y)
    >>> bool(scores[y == 1].mean() > scores[y == 0].mean())
    True
    """
    n_folds = check_whole(folds, "folds", at_least=2, at_most=MOST_FOLDS)
    rng = np.random.default_rng(check_whole(seed, "seed"))
    if estimator is None:
        rows = read_data(X, y, positive=positive, sample_weight=sample_weight, groups=groups)
        return score_rows(rows, n_folds, rng, progress)
    if sample_weight is not None:
        raise InputError(
            "sample_weight is for the default model: leave estimator out, or give the estimator "
            "what it needs itself."
        )
    labels = read_labels(y, positive).block(slice(None)) == 1
    ids = None if groups is None else np.unique(as_array(groups), return_inverse=True)[1]
    if ids is not None and len(ids) != len(labels):
        raise InputError(f"groups has {len(ids):,} values but y has {len(labels):,} labels.")
    table = of_hugging_face(X)
    X = X if table is X else table.to_pandas()  # which every scikit-learn can index
    return estimator_scores(estimator, X, labels, _divided(labels, ids, n_folds, rng), progress)


def score_rows(
    rows: Rows, n_folds: int, rng: np.random.Generator, progress: Progress | None = None
) -> FloatArray:
    """Return the out-of-fold probability of the positive label for each row, by our own model."""
    known = rows.sum_over_rows(_Known()).ordered()
    return ridge_scores(rows, _divided(*known, n_folds, rng), progress)


class _Known:
    """Labels and groups of all rows, a byte or a number each."""

    def __init__(self) -> None:
        self.parts: list[tuple[int, NDArray[np.bool_], NDArray[np.int64] | None]] = []

    def add(self, block: Block) -> None:
        groups = None if block.groups is None else block.groups.copy()
        self.parts.append((block.start, block.labels == 1, groups))

    def merge(self, other: Self) -> None:
        self.parts += other.parts

    def ordered(self) -> tuple[NDArray[np.bool_], NDArray[np.intp] | None]:
        """Return labels and groups in the order of the rows."""
        self.parts.sort(key=lambda part: part[0])
        labels = np.concatenate([part[1] for part in self.parts])
        groups = [part[2] for part in self.parts if part[2] is not None]
        return labels, np.concatenate(groups).astype(np.intp) if groups else None


def _divided(
    labels: NDArray[np.bool_],
    groups: NDArray[np.intp] | None,
    n_folds: int,
    rng: np.random.Generator,
) -> Folds:
    """Divide the rows, refusing what leaves a fold or a training part without a label."""
    rarest = int(min(labels.sum(), len(labels) - labels.sum()))
    if rarest < 2 * n_folds:
        raise InputError(
            f"the rarer label has {rarest} rows but {n_folds} folds need at least {2 * n_folds}: "
            "use fewer folds, or collect more of them."
        )
    divided = assign_folds(labels, n_folds, groups, rng)
    counts = np.bincount(2 * divided.astype(np.intp) + labels, minlength=2 * n_folds)
    if groups is not None and (counts.reshape(-1, 2).sum(axis=1) == 0).any():
        raise InputError(
            f"groups has {int(groups.max()) + 1} groups but {n_folds} folds need at least one each."
        )
    if (counts.reshape(-1, 2).max(axis=0) == counts.reshape(-1, 2).sum(axis=0)).any():
        raise InputError(
            "one group holds every row of a label, so no model can learn it without that group: "
            "leave groups out, or collect more."
        )
    return divided
