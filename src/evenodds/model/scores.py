"""Out-of-fold scores: how likely each given label is positive, by a model that has not seen it.

Without an estimator the model is a ridge logistic regression whose penalty is chosen inside each
training part: every pair of folds is left out once, so that the penalty for a fold is judged on
the others by curves that saw neither. All of it is sums over rows, so files larger than memory
are scored like arrays. Sums of folds are differences of sums: one pass serves every fold.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import ConvergenceError, EvenoddsWarning, InputError, MissingExtraError
from evenodds.model.penalties import (
    Choice,
    Division,
    Folds,
    Scale,
    Solvers,
    Steps,
    chances_of,
    choose_penalties,
    hold,
)
from evenodds.model.sums import (
    LEAST_SPREAD,
    Sums,
    counts_of,
    first_constant,
    pieces,
    refuse_overflow,
    weigh,
)
from evenodds.rows.base import (
    Block,
    Rows,
    against,
    beside,
    exactly,
    on_host,
    refuse_missing,
    xp_of,
)
from evenodds.rows.labels import read_labels
from evenodds.rows.memory import of_hugging_face
from evenodds.rows.read import read_data
from evenodds.validation import FloatArray, as_array, check_same_order, check_whole, counted

# A fit ends where no coefficient moves by more than this, on the scale of spreads.
LAST_STEP = 1e-7
MOST_STEPS = 60
# Steps by old Hessians end after so many, or where one leads so far; Newton's then begin anew.
MOST_CHORDS, TOO_FAR = 25, 100.0
# A step is halved at most so often until it rises, but for this share of the height: rounding.
MOST_HALVINGS, ROUNDING = 40, 1e-13
# Steps by an old Hessian that shrink less than this in two need a new one.
SLOW = 0.5
# Steps this small are near enough to take one Hessian for every fold, where it costs little.
ROUGHLY, FEW_COLUMNS = 0.03, 40

MOST_FOLDS = 100
# The penalty of our own model is chosen by pairs of folds, and fitted to the others.
FEWEST_FOLDS = 3
# About its mean, a constant column's spread is rounding of rounding; ids of 10^15 have far more.
CONSTANT = 1e-15
# No model tells labels apart so well, unless a feature knows them: a few flips forbid it.
TOO_GOOD = 0.999

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
    # In the order of their first rows, which does not depend on what they are called.
    _, first, groups = np.unique(groups, return_index=True, return_inverse=True)
    groups = np.argsort(np.argsort(first))[groups]
    n_groups = len(first)
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


class _Moments:
    """Sums and squares of columns, about a first row, and of labels."""

    on_device = True

    def __init__(self, about: FloatArray) -> None:
        self.about = about
        self.weight = self.labels = 0.0
        self.sums, self.squares = np.zeros(len(about)), np.zeros(len(about))

    def add(self, block: Block) -> None:
        weights, features = counts_of(block), exactly(block.features)
        moved = features - beside(self.about, features)
        self.weight += float(weights.sum())
        self.labels += float(weights @ block.labels)
        self.sums += against(weights, moved)
        moved *= moved
        self.squares += against(weights, moved)

    def merge(self, other: Self) -> None:
        self.weight += other.weight
        self.labels += other.labels
        self.sums += other.sums
        self.squares += other.squares

    def scale(self) -> tuple[Scale, NDArray[np.intp]]:
        """Return how to make features comparable, and the columns that are constant."""
        means = self.sums / self.weight
        spreads = np.sqrt(np.maximum(self.squares / self.weight - means**2, 0))
        constant = spreads <= np.maximum(CONSTANT * np.abs(means + self.about), LEAST_SPREAD)
        scale = Scale(means + self.about, np.where(constant, 1.0, spreads))
        return scale, np.flatnonzero(constant)


class _FoldScores(Sums):
    """The score of each training part at its own curve: column `k` leaves fold `k` out."""

    summed = ("totals", "products")
    on_device = True

    def __init__(self, coefficients: FloatArray, folds: Division, scale: Scale) -> None:
        self.folds, self.scale = folds, scale
        self.slopes, self.intercepts = scale.slopes(coefficients)
        self.totals, self.products = np.zeros(len(self.intercepts)), np.zeros(self.slopes.T.shape)

    def add(self, block: Block) -> None:
        features, (numbers, folds) = self.scale.near(exactly(block.features)), self.folds.of(block)
        slopes, intercepts = beside(self.slopes, features), beside(self.intercepts, features)
        for rows in pieces(features):
            missed = features[rows] @ slopes
            missed += intercepts
            missed = chances_of(missed)
            missed -= block.labels[rows, None]
            if block.weights is not None:
                missed *= block.weights[rows, None]
            missed[numbers[: len(missed)], folds[rows]] = 0.0
            self.totals -= on_host(missed.sum(axis=0))
            self.products -= against(missed.T, features[rows])

    @property
    def scores(self) -> FloatArray:
        return self.scale.products(self.totals, self.products.T)


class _FoldHeights(Sums):
    """The log-likelihood of each training part at its own curve."""

    summed = ("heights",)
    on_device = True

    def __init__(self, coefficients: FloatArray, folds: Division, scale: Scale) -> None:
        self.folds, self.scale = folds, scale
        self.slopes, self.intercepts = scale.slopes(coefficients)
        self.heights = np.zeros(len(self.intercepts))

    def add(self, block: Block) -> None:
        features = self.scale.near(exactly(block.features))
        logits = features @ beside(self.slopes, features) + beside(self.intercepts, features)
        heights = block.labels[:, None] * logits - block.xp.logaddexp(logits * 0, logits)
        heights *= counts_of(block)[:, None]
        heights[self.folds.of(block)] = 0.0
        self.heights += on_host(heights.sum(axis=0))


class _FoldGrams:
    """The Gram of each fold at one curve."""

    on_device = True

    def __init__(self, coefficients: FloatArray, folds: Division, scale: Scale) -> None:
        self.coefficients, self.folds, self.scale = coefficients, folds, scale
        size = len(coefficients)
        self.grams = np.zeros((folds.n_folds, size, size))

    def add(self, block: Block) -> None:
        design, (_, folds) = self.scale.design(block.features), self.folds.of(block)
        chances = chances_of(design @ beside(self.coefficients[:, 0], design))
        spread = chances * (1 - chances)
        weigh(block, spread)
        design *= spread[:, None] ** 0.5
        for fold in range(len(self.grams)):
            part = design[folds == fold]
            self.grams[fold] += on_host(part.T @ part)

    def merge(self, other: Self) -> None:
        self.grams += other.grams


class _Scored:
    """Probabilities of rows, each by the curve that has not seen it."""

    on_device = True

    def __init__(self, coefficients: FloatArray, folds: Division, scale: Scale) -> None:
        self.folds, self.scale = folds, scale
        self.slopes, self.intercepts = scale.slopes(coefficients)
        self.parts: list[tuple[int, FloatArray]] = []

    def add(self, block: Block) -> None:
        features = self.scale.near(exactly(block.features))
        logits = features @ beside(self.slopes, features) + beside(self.intercepts, features)
        own = logits[self.folds.of(block)]
        self.parts.append((block.start, on_host(chances_of(own))))

    def merge(self, other: Self) -> None:
        self.parts += other.parts


def ridge_scores(rows: Rows, folds: Folds, progress: Progress | None = None) -> FloatArray:
    """Return the out-of-fold probability of the positive label for each row."""
    told, divided = progress or (lambda share: None), Division(folds)
    with np.errstate(invalid="ignore", over="ignore"):
        first = rows.sum_over_rows(_Moments(np.zeros(rows.n_features)))
        if not np.isfinite(first.squares).all():
            refuse_overflow(rows)
        moments = rows.sum_over_rows(_Moments(first.sums / first.weight))
    scale, constant = moments.scale()
    if len(constant):
        first_constant(rows, np.isin(np.arange(rows.n_features), constant))
        warnings.warn(
            f"{rows.columns(constant.tolist())} of {rows.called} never vary, so they tell nothing "
            "of the labels: leave them out."
            if len(constant) > 1
            else f"{rows.column(constant[0])} of {rows.called} is constant, so it tells nothing of "
            "the labels: leave it out.",
            EvenoddsWarning,
            stacklevel=4,
        )
    told(0.1)
    chosen = choose_penalties(hold(rows, divided, scale))
    told(0.5)
    fits = _fit_folds(rows, divided, scale, chosen, first.weight)
    told(0.95)
    scored = rows.sum_over_rows(_Scored(fits, divided, scale))
    values = np.empty(rows.n_rows)
    for start, part in scored.parts:
        values[start : start + len(part)] = part
    told(1.0)
    return values


def _fit_folds(
    rows: Rows, folds: Division, scale: Scale, chosen: Choice, weight: float
) -> FloatArray:
    """Return the ridge curve of each training part, as a fit from scratch would find it."""
    n_parameters, n_folds = chosen.start.shape
    ridge = np.r_[0.0, np.ones(n_parameters - 1)][:, None] * chosen.penalties
    climb = _FoldClimb(rows, folds, scale, ridge)
    part = (n_folds - 1) / n_folds * weight / chosen.weight
    curves = climb.by_chords(chosen.start, chosen.hessian * part)
    return climb.by_newton(like=chosen.hessian) if curves is None else curves


@dataclass(frozen=True, slots=True)
class _FoldClimb:
    """Two ways up to the ridge curves of all training parts, a column each."""

    rows: Rows
    folds: Division
    scale: Scale
    ridge: FloatArray  # (features + 1, folds): the intercept has none

    def by_chords(self, start: FloatArray, hessian: Any) -> FloatArray | None:
        """Climb by old Hessians, which few passes renew; None where that does not settle."""
        n_parameters, n_folds = start.shape
        hessians = xp_of(hessian).stack([hessian] * n_folds)
        solvers = self._solvers(hessians)
        rough, few_columns = True, n_parameters <= FEW_COLUMNS
        walk, last = Steps(start), np.full((2, n_folds), np.inf)
        for _ in range(MOST_CHORDS):
            steps = on_host(solvers.steps(beside(self._rise(walk.curves), hessians)))
            sizes = np.abs(steps).max(axis=0)
            if not (sizes < TOO_FAR).all():
                return None
            walk.take(steps)
            if (sizes < LAST_STEP).all():
                return on_host(walk.curves)
            slow = (sizes > SLOW * last[0]) & (sizes >= LAST_STEP)
            if rough and ((few_columns and sizes.max() < ROUGHLY) or slow.any()):
                # Near enough for one Hessian to serve every fold; each is a difference of sums.
                middle = walk.curves.mean(axis=1, keepdims=True)
                grams = self.rows.sum_over_rows(_FoldGrams(middle, self.folds, self.scale)).grams
                hessians = beside(grams.sum(axis=0) - grams, hessians)
                solvers = self._solvers(hessians)
                rough, slow[:], walk = False, True, Steps(walk.curves)
            elif slow.any():
                hessians[slow] = beside(self._own_grams(walk.curves, slow)[slow], hessians)
                solvers, walk = self._solvers(hessians), Steps(walk.curves)
            last = np.stack([last[1], sizes])
            last[:, slow] = np.inf
        return None

    def by_newton(self, like: Any) -> FloatArray:
        """Climb from level curves by exact steps, halved until they rise: slow, but it arrives.

        Systems are solved where the array `like` is.
        """
        curves, every = np.zeros(self.ridge.shape), np.ones(self.ridge.shape[1], dtype=bool)
        here = self._height(curves)
        for _ in range(MOST_STEPS):
            solvers = self._solvers(beside(self._own_grams(curves, every), like))
            steps = on_host(solvers.steps(beside(self._rise(curves), like)))
            for _ in range(MOST_HALVINGS):
                there = self._height(curves + steps)
                fell = there < here - ROUNDING * np.abs(here)
                if not fell.any():
                    break
                steps[:, fell] /= 2
            curves, here = curves + steps, there
            if np.abs(steps).max() < LAST_STEP:
                return curves
        raise ConvergenceError(
            f"the scores did not settle in {MOST_STEPS} passes: scale or drop columns with values "
            "far out, or give an estimator."
        )

    def _rise(self, curves: FloatArray) -> FloatArray:
        summed = self.rows.sum_over_rows(_FoldScores(curves, self.folds, self.scale))
        return summed.scores - self.ridge * curves

    def _height(self, curves: FloatArray) -> FloatArray:
        summed = self.rows.sum_over_rows(_FoldHeights(curves, self.folds, self.scale))
        return np.asarray(summed.heights - (self.ridge * curves**2).sum(axis=0) / 2)

    def _own_grams(self, curves: FloatArray, asked: NDArray[np.bool_]) -> FloatArray:
        return self.rows.sum_over_rows(_OwnGrams(curves, self.folds, self.scale, asked)).grams

    def _solvers(self, hessians: Any) -> Solvers:
        return Solvers.of(hessians, beside(self.ridge, hessians))


class _OwnGrams:
    """The Gram of each training part at its own curve, for the curves that are asked for."""

    on_device = True

    def __init__(
        self, coefficients: FloatArray, folds: Division, scale: Scale, asked: NDArray[np.bool_]
    ) -> None:
        self.coefficients, self.folds, self.scale, self.asked = coefficients, folds, scale, asked
        size, n_folds = coefficients.shape
        self.grams = np.zeros((n_folds, size, size))

    def add(self, block: Block) -> None:
        design, (_, folds) = self.scale.design(block.features), self.folds.of(block)
        for fold in np.flatnonzero(self.asked).tolist():
            part = design[folds != fold]
            chances = chances_of(part @ beside(self.coefficients[:, fold], part))
            spread = chances * (1 - chances)
            if block.weights is not None:
                spread *= block.weights[folds != fold]
            part *= spread[:, None] ** 0.5
            self.grams[fold] += on_host(part.T @ part)

    def merge(self, other: Self) -> None:
        self.grams += other.grams


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
    if isinstance(estimator, type):
        raise InputError(
            f"estimator is the class {estimator.__name__}: give an instance, as "
            f"{estimator.__name__}()."
        )
    if not hasattr(estimator, "predict_proba"):
        raise InputError(
            f"{type(estimator).__name__} has no predict_proba: give a classifier that states "
            "probabilities."
        )
    values = np.empty(len(labels))
    n_folds = int(folds.max()) + 1
    for fold in range(n_folds):
        out, kept = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        try:
            fitted = clone(estimator).fit(_safe_indexing(X, kept), labels[kept].astype(int))
            values[out] = fitted.predict_proba(_safe_indexing(X, out))[:, 1]
        except ValueError as error:
            if "NaN" in str(error) or "infinity" in str(error):  # which others take as they are
                refuse_missing(read_data(X, labels))
            raise
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
    device: str | None = None,
    progress: Progress | None = None,
) -> FloatArray:
    """Return, for each row, how likely its given label is positive by a model that has not seen it.

    Parameters
    ----------
    X : array, data frame, Dask collection, or path
        Features. A path names a table, which may be larger than memory. Tensors of torch and
        arrays of CuPy are scored on their device.
    y : array-like or str
        Given labels, or the name of their column.
    estimator : scikit-learn classifier, optional
        A model with ``predict_proba``; it is cloned for every fold. By default a ridge logistic
        regression, whose penalty is chosen inside each training part.
    folds : int, default 5
        Parts that the rows are divided into; labels are evenly spread over them. At least 3, or 2
        with an estimator.
    groups : array-like or str, optional
        Rows that belong together (one patient): no group is split over folds.
    seed : int, default 0
        Of the division.
    positive : object, optional
        The positive label. Default: the larger, True, or the later in sort order.
    sample_weight : array-like or str, optional
        How many rows each row stands for; the default model takes it into account.
    device : str, optional
        Where torch is to hold the rows of an array or a file, such as "cuda".
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

    Warns
    -----
    EvenoddsWarning
        If the scores tell the labels apart so well that a feature must have been told them.

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
    fewest = FEWEST_FOLDS if estimator is None else 2
    n_folds = check_whole(folds, "folds", at_least=fewest, at_most=MOST_FOLDS)
    rng = np.random.default_rng(check_whole(seed, "seed"))
    if estimator is None:
        parts: Any = {"sample_weight": sample_weight, "groups": groups, "device": device}
        rows = read_data(X, y, positive=positive, **parts)
        return score_rows(rows, n_folds, rng, progress)
    if device is not None:
        raise InputError("device is for the default model: leave estimator out, or leave it out.")
    if sample_weight is not None:
        raise InputError(
            "sample_weight is for the default model: leave estimator out, or give the estimator "
            "what it needs itself."
        )
    check_same_order(X=X, y=y, groups=groups)
    labels = read_labels(y, positive).block(slice(None)) == 1
    ids = None if groups is None else np.unique(as_array(groups), return_inverse=True)[1]
    if ids is not None and len(ids) != len(labels):
        raise InputError(f"groups has {len(ids):,} values but y has {len(labels):,} labels.")
    table = of_hugging_face(X)
    X = X if table is X else table.to_pandas()  # which every scikit-learn can index
    folded = _divided(labels, ids, n_folds, rng)
    values = estimator_scores(estimator, X, labels, folded, progress)
    _warn_if_too_good(labels, values, stacklevel=3)
    return values


def score_rows(
    rows: Rows, n_folds: int, rng: np.random.Generator, progress: Progress | None = None
) -> FloatArray:
    """Return the out-of-fold probability of the positive label for each row, by our own model."""
    labels, groups = rows.sum_over_rows(_Known()).ordered()
    values = ridge_scores(rows, _divided(labels, groups, n_folds, rng), progress)
    _warn_if_too_good(labels, values, stacklevel=4)
    return values


def _warn_if_too_good(labels: NDArray[np.bool_], scores: FloatArray, *, stacklevel: int) -> None:
    """Warn of scores that only a copy of the label could give."""
    area = area_under_curve(scores, labels)
    if area > TOO_GOOD:
        warnings.warn(
            f"the scores tell the given labels apart almost perfectly (AUC {area:.4f}), so a "
            "feature may be a copy of the label, or be made from it: leave such a feature out, "
            "for along these scores no flip can be found.",
            EvenoddsWarning,
            stacklevel=stacklevel,
        )


def area_under_curve(
    scores: FloatArray, labels: NDArray[Any], weights: FloatArray | None = None
) -> float:
    """Return how often a positive row scores above a negative one, ties counted half."""
    counts = np.ones(len(scores)) if weights is None else weights
    order = np.argsort(scores)
    ranked, positive = scores[order], (counts * labels)[order]
    starts = np.flatnonzero(np.append(True, ranked[1:] > ranked[:-1]))
    above = np.add.reduceat(positive, starts)
    below = np.add.reduceat(counts[order] - positive, starts)
    pairs = float(above @ (np.cumsum(below) - below / 2))
    return pairs / float(above.sum() * below.sum())


class _Known:
    """Labels and groups of all rows, a byte or a number each."""

    on_device = True

    def __init__(self) -> None:
        self.parts: list[tuple[int, NDArray[np.bool_], NDArray[np.int64] | None]] = []

    def add(self, block: Block) -> None:
        groups = None if block.groups is None else block.groups.copy()
        self.parts.append((block.start, on_host(block.labels) == 1, groups))

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
            f"the rarer label has {counted(rarest, 'row')} but {n_folds} folds need at least "
            f"{2 * n_folds}: use fewer folds, or collect more of them."
        )
    divided = assign_folds(labels, n_folds, groups, rng)
    counts = np.bincount(2 * divided.astype(np.intp) + labels, minlength=2 * n_folds)
    if groups is not None and (counts.reshape(-1, 2).sum(axis=1) == 0).any():
        raise InputError(
            f"groups has {counted(int(groups.max()) + 1, 'group')} but {n_folds} folds need at "
            "least one each."
        )
    if (counts.reshape(-1, 2).max(axis=0) == counts.reshape(-1, 2).sum(axis=0)).any():
        raise InputError(
            "one group holds every row of a label, so no model can learn it without that group: "
            "leave groups out, or collect more."
        )
    return divided
