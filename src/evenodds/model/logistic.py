"""Exact maximum likelihood for plain logistic regression, with its covariance.

The sandwich ``H (sum of squared scores) H`` needs the logistic curve only as
the best approximation; with groups, scores are summed within a group before
they are squared, so repeated rows of one patient do not count as news.

Labels are separated when some combination of columns never disagrees with
them: the likelihood then grows without bound. One column that does it alone is
found from its extremes; a combination by linear programming (Konis 2007).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenodds.errors import ConvergenceError, InputError, RankError, SeparationError
from evenodds.model.newton import (
    Evaluation,
    Optimum,
    Pilot,
    Sample,
    chord,
    guided_newton,
    is_lost,
    newton,
    quasi_newton,
)
from evenodds.model.noisy_likelihood import NoisyPoint, weighted_residuals
from evenodds.model.sums import (
    FAR_FROM_ZERO,
    SINGLE_WILL_DO,
    ColumnMoments,
    Information,
    Moments,
    Scaling,
    Score,
    ShiftedCurve,
    Sums,
    WeightedGram,
    counts_of,
    error_in_single,
    first_constant,
    positive_inverse,
    probabilities,
    refuse_one_heavy_row,
    refuse_overflow,
    shifted,
    weigh,
    without_chance,
)
from evenodds.rows.base import Block, Rows, Span, sampling_step
from evenodds.rows.read import read_data
from evenodds.rows.table_rows import Missing
from evenodds.validation import FloatArray, check_choice


class SquaredScores(Sums):
    """Sum of ``w r^2 x x'``: a row of weight 3 is three rows, so the weight is not squared."""

    summed = ("gram",)

    def __init__(self, coefficients: FloatArray, shift: FloatArray | None) -> None:
        self.coefficients = coefficients
        self.shift = shift
        self.gram = WeightedGram(len(coefficients) - 1)

    def add(self, block: Block) -> None:
        features = shifted(block.features, self.shift)
        squares = (block.labels - probabilities(features, self.coefficients)) ** 2
        weigh(block, squares)
        self.gram.add(features, squares)

    def total(self) -> FloatArray:
        """Return the middle of the sandwich."""
        return self.gram.total()


class GroupedScores(Sums):
    """Sum within each group of the scores that a function returns for the rows of a block."""

    summed = ("scores",)

    def __init__(self, of: Callable[[Block], FloatArray], n_groups: int, n_parameters: int) -> None:
        self.of = of
        self.scores = np.zeros((n_groups, n_parameters))

    def add(self, block: Block) -> None:
        if block.groups is None:
            raise TypeError("these rows carry no groups")
        order = np.argsort(block.groups, kind="stable")
        ordered = block.groups[order]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        summed = np.add.reduceat(self.of(block)[order], starts, axis=0)
        self.scores[ordered[starts]] += summed

    def total(self) -> FloatArray:
        """Return the middle of the sandwich."""
        return self.scores.T @ self.scores


def plain_scores(coefficients: FloatArray, shift: FloatArray | None, block: Block) -> FloatArray:
    """Return the score of each row of a block."""
    features = shifted(block.features, shift)
    residuals = block.labels - probabilities(features, coefficients)
    weigh(block, residuals)
    return np.column_stack([residuals, features * residuals[:, None]])


def sandwich(
    rows: Rows, coefficients: FloatArray, shift: FloatArray | None, bread: FloatArray
) -> FloatArray:
    """Return ``bread @ middle @ bread``, summed by group where the rows have groups.

    `coefficients` and `bread` (the inverse information) are those of features that
    are shifted but not scaled.
    """
    empty: SquaredScores | GroupedScores
    if rows.n_groups is None:
        empty = SquaredScores(coefficients, shift)
    else:
        scores = partial(plain_scores, coefficients, shift)
        empty = GroupedScores(scores, rows.n_groups, len(coefficients))
    with np.errstate(over="ignore"):
        middle = rows.sum_over_rows(empty).total()
    return bread @ middle @ bread


def noisy_scores(point: NoisyPoint, shift: FloatArray | None, block: Block) -> FloatArray:
    """Return the score of (theta, tau, Delta) of each row of a block."""
    features, steps, weighted = weighted_residuals(block, point, shift)
    along = weighted * (1 - 2 * point.rate) * steps * (1 - steps)
    return np.column_stack(
        [along, features * along[:, None], weighted * (1 - 2 * steps), weighted / 2]
    )


# The linear programme sees at most this many numbers; beyond that, a sample of the rows.
LARGEST_PROGRAMME = 20_000_000
# How far on the wrong side (in standard deviations) still counts as on the line.
ON_THE_LINE = 1e-7


class Extremes:
    """Smallest and largest value of each column in either class."""

    def __init__(self, n_features: int) -> None:
        self.spans = Span(n_features), Span(n_features)

    def add(self, block: Block) -> None:
        for label, span in enumerate(self.spans):
            rows = np.flatnonzero(_counted(block) & (block.labels == label))
            if len(rows):
                span.add(block.taken(rows))

    def merge(self, other: Self) -> None:
        for own, others in zip(self.spans, other.spans, strict=True):
            own.merge(others)


@dataclass(frozen=True, slots=True)
class Frame:
    """Puts rows into [-1, 1] with a leading 1, and negates those of the negative class."""

    centre: FloatArray
    half_width: FloatArray

    def signed(self, block: Block) -> FloatArray:
        """Return the rows of a block so that agreeing with the label means being positive."""
        rows = _counted(block)
        scaled = (block.features[rows] - self.centre) / self.half_width
        design = np.column_stack([np.ones(len(scaled)), scaled])
        return np.asarray(design * (2 * block.labels[rows] - 1)[:, None])

    def disagreements(self, direction: FloatArray, block: Block) -> tuple[int]:
        """Return how many rows of a block a direction puts on the wrong side."""
        return (int((self.signed(block) @ direction < -ON_THE_LINE).sum()),)


def refuse_separation(rows: Rows) -> None:
    """Raise `SeparationError` naming the columns, if the labels are separated."""
    one, other = rows.sum_over_rows(Extremes(rows.n_features)).spans
    ordered = (one.high <= other.low) | (other.high <= one.low)
    if ordered.any():
        column = rows.column(int(np.argmax(ordered)))
        raise SeparationError(
            f"no maximum-likelihood fit exists: {column} alone separates the labels. "
            "Remove it, or collect overlapping rows."
        )
    low, high = np.minimum(one.low, other.low), np.maximum(one.high, other.high)
    direction = _separating_direction(rows, Frame((low + high) / 2, (high - low) / 2))
    if direction is not None:
        involved = rows.columns(np.flatnonzero(np.abs(direction[1:]) > 1e-6).tolist())
        raise SeparationError(
            f"no maximum-likelihood fit exists: {involved} together separate the labels. Remove "
            "some of them, or collect overlapping rows."
        )


def _separating_direction(rows: Rows, frame: Frame) -> FloatArray | None:
    """Return coefficients that never disagree with the labels, or None."""
    from scipy.optimize import linprog

    excess = rows.n_rows * (rows.n_features + 1) / LARGEST_PROGRAMME
    sample = rows if excess <= 1 else rows.thinned(int(np.ceil(excess)), np.random.default_rng(0))
    signed = frame.signed(sample.to_memory())
    solution = linprog(
        -signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=(-1, 1)
    )
    if not solution.success:
        return None
    direction = np.asarray(solution.x, dtype=np.float64)
    if signed.sum(axis=0) @ direction <= ON_THE_LINE * len(signed):
        return None
    # Overlap in a sample is overlap in the whole; separation in a sample must be checked.
    if sample is not rows and rows.totals(partial(frame.disagreements, direction))[0]:
        return None
    return direction


def _counted(block: Block) -> NDArray[np.bool_]:
    """Return which rows of a block have weight."""
    if block.weights is None:
        return np.ones(len(block.labels), dtype=bool)
    return np.asarray(block.weights > 0)


# Share of a column's variance not explained by the others below which it counts as a repeat.
REPEATED = 1e-13
# A constant column's spread is rounding only, far below this share of its mean.
CONSTANT = 1e-14


@dataclass(frozen=True, slots=True)
class LogisticProblem:
    """The log-likelihood of `rows` as a function of coefficients on the solver's scale."""

    rows: Rows
    scaling: Scaling
    single: bool = False  # whether the information is summed in single precision

    def curvatures(self, coefficients: FloatArray) -> tuple[float, float]:
        """Return the mean curvature of a row and that along the coefficients, from some thousand.

        The second counts a row by its squared log-odds.
        """
        curve = self.scaling.rescaled(coefficients)
        step = max(1, self.rows.n_rows // SAMPLE_ROWS)
        some = self.rows.peeked(step, np.random.default_rng(SAMPLE_SEED))
        bent, count, along, squares = some.totals(partial(_curvatures, curve, self.scaling.shift))
        return bent / count, along / max(squares, 1e-300)

    def score(self, coefficients: FloatArray) -> FloatArray:
        """Return the first derivative (one cheap pass)."""
        empty = Score(self.scaling.rescaled(coefficients), self.scaling.shift)
        with np.errstate(over="ignore"):
            return self.scaling.rescaled(self.rows.sum_over_rows(empty).score)

    def evaluate(self, coefficients: FloatArray) -> Evaluation:
        """Return log-likelihood, score and information (one full pass)."""
        curve = self.scaling.rescaled(coefficients)
        empty = Information(curve, self.scaling.shift, single=self.single)
        with np.errstate(over="ignore", divide="ignore"):
            sums = self.rows.sum_over_rows(empty)
        return Evaluation(
            log_likelihood=sums.log_likelihood,
            score=self.scaling.rescaled(sums.score),
            information=self.scaling.rescaled(sums.information),
        )


def _curvatures(
    coefficients: FloatArray, shift: FloatArray | None, block: Block
) -> tuple[float, float, float, float]:
    """Return sums of curvatures and counts of rows, plain and times squared log-odds."""
    log_odds = shifted(block.features, shift) @ coefficients[1:] + coefficients[0]
    fitted = 1 / (1 + np.exp(-np.abs(log_odds)))
    counts, squares = counts_of(block), log_odds**2
    bent = counts * fitted * (1 - fitted)
    return float(bent.sum()), float(counts.sum()), float(bent @ squares), float(counts @ squares)


def set_up(rows: Rows) -> tuple[LogisticProblem, FloatArray]:
    """Measure the columns; return the problem and a least-squares start.

    Raises
    ------
    InputError
        If values are missing or infinite.
    RankError
        If a column is constant, varies too little to compute with, or repeats others.
    """
    problem, start, _ = _measured(rows)
    return problem, start


def _measured(rows: Rows) -> tuple[LogisticProblem, FloatArray, ColumnMoments]:
    """Return the problem, a least-squares start and the moments of the columns."""
    moments, shift = measure_columns(rows)
    refuse_repeats(rows, moments, shift)
    scaling = Scaling.by(shift, moments.spreads)
    return LogisticProblem(rows, scaling), moments.start() / scaling.factors, moments


def refuse_repeats(rows: Rows, moments: ColumnMoments, shift: FloatArray | None) -> None:
    """Raise RankError where a column is constant or repeats others."""
    means = moments.means if shift is None else moments.means + shift
    flat = moments.spreads <= CONSTANT * np.abs(means)
    if flat.any():
        column = first_constant(rows, flat)
        raise RankError(
            f"{rows.column(column)} of {rows.called} is constant (always {means[column]:g}): "
            "the intercept is added for you, so remove it."
        )
    refuse_combinations(rows, moments.products)


def measure_columns(rows: Rows) -> tuple[ColumnMoments, FloatArray | None]:
    """Return the moments of the columns, and the shift they are about if one is needed.

    Raises
    ------
    InputError
        If values are missing or infinite, or too large to be squared.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        moments = ColumnMoments.of(rows.sum_over_rows(Moments(rows.n_features)))
    if not np.isfinite(moments.products).all():
        refuse_overflow(rows)
    far = np.abs(moments.means) > FAR_FROM_ZERO * moments.spreads
    if not far.any():
        return moments, None
    shift = np.where(far, moments.means, 0.0)
    return ColumnMoments.of(rows.sum_over_rows(Moments(rows.n_features, shift))), shift


def refuse_combinations(rows: Rows, products: FloatArray) -> None:
    """Raise RankError if a column is a linear combination of others, naming all involved.

    `products` are those of the columns about their means.
    """
    norms = np.sqrt(products.diagonal())
    correlation = products / np.outer(norms, norms)
    try:
        unexplained = np.linalg.cholesky(correlation).diagonal() ** 2
        if unexplained.min() > REPEATED:
            return
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(correlation)
    if values[0] > REPEATED:
        return
    shares = np.abs(vectors[:, 0])
    raise RankError(
        f"{rows.columns(np.flatnonzero(shares > 1e-6 * shares.max()).tolist())} of {rows.called} "
        "repeat each other (one is a combination of the rest): remove one of them."
    )


Covariance = Literal["information", "sandwich"]

# The borrowed curvature of the chord climb comes from one row in this many, and the point
# where it is taken from one in this many of those.
THINNING = 24
THINNING_AGAIN = 8
# Fewer rows than this are climbed by plain Newton, which is quick enough there.
MANY_ROWS = 128_000
# Either sample must have this many rows in all, and this many a parameter.
SAMPLE_ROWS = 2000
SAMPLE_ROWS_A_PARAMETER = 40
# From this many columns on a curvature costs far more than a score. A sample there is one row in
# so many, has enough with so many rows a parameter, and serves if it has the fewest.
WIDE = 100
LEAST_WIDE_THINNING, MOST_WIDE_THINNING = 8, 16
ENOUGH_ROWS_A_PARAMETER = 16
FEWEST_ROWS_A_PARAMETER = 5
LAST_WIDE_STEP = 1e-7
# Newton on overlapping data needs far fewer; more hint at separation.
SUSPICIOUSLY_MANY_ITERATIONS = 15
SAMPLE_SEED = 20210303
# How close to its own optimum a sample needs to be climbed.
ROUGH_STEP = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticFit:
    """A logistic curve fitted by maximum likelihood.

    Attributes
    ----------
    coefficients : ndarray of shape (n_features + 1,)
        Intercept first, then one slope a feature, on the scale of the data.
    covariance : ndarray of shape (n_features + 1, n_features + 1)
        Of the coefficients: inverse information, or the sandwich.
    log_likelihood : float
        At the optimum.
    n_iterations : int
        Steps taken on all rows.
    n_rows : int
        Rows, counted with their frequency weights.
    positive, negative : object
        The labels; the curve is the probability of the positive one.
    feature_names : tuple of str or None
        Column names where the data has them.
    stopped_because : str
        Why the solver was satisfied.
    notices : tuple of str
        What to know of how the data was read, a sentence each.
    inside : ShiftedCurve
        The same curve in shifted features, for predictions that keep their digits.
    """

    coefficients: FloatArray
    covariance: FloatArray
    log_likelihood: float
    n_iterations: int
    n_rows: int
    positive: Any
    negative: Any
    feature_names: tuple[str, ...] | None
    stopped_because: str
    notices: tuple[str, ...] = ()
    inside: ShiftedCurve = field(repr=False)

    @property
    def n_features(self) -> int:
        """Number of features, without the intercept."""
        return len(self.coefficients) - 1

    @property
    def standard_errors(self) -> FloatArray:
        """Standard error of each coefficient."""
        return np.sqrt(np.diagonal(self.covariance))

    def log_odds(self, points: FloatArray) -> FloatArray:
        """Return the fitted log-odds at points given on the scale of the data."""
        return self.inside.design(points) @ self.inside.coefficients

    def log_odds_covariance(self, points: FloatArray) -> FloatArray:
        """Return the covariance of the fitted log-odds at several points."""
        design = self.inside.design(points)
        return design @ self.inside.covariance @ design.T


def fit_logistic(
    X: Any,
    y: Any,
    *,
    positive: Any = None,
    sample_weight: ArrayLike | str | None = None,
    groups: ArrayLike | str | None = None,
    covariance: Covariance = "information",
    formula: str | None = None,
    probabilities: str | None = None,
    missing: Missing = "refuse",
    device: str | None = None,
) -> LogisticFit:
    """Fit logistic regression by exact maximum likelihood, without a penalty.

    Parameters
    ----------
    X : array, data frame or path
        Features, without an intercept column. Columns may be on any scale; columns of text
        become one 0/1 column a level. A path, a list of paths, a folder or a glob names a
        table (CSV, TSV, Parquet, Feather, .npy, .npz), which may be larger than memory.
        Dask arrays and data frames are summed where their partitions are, tensors of torch
        and arrays of CuPy on their device.
    y : array-like of shape (n_rows,) or str
        0/1, -1/+1, bool or two strings; or the name of their column in X.
    positive : object, optional
        The positive label; default the larger, True, or the later in sort order.
    sample_weight : array-like or str, optional
        Frequency weights: a row of weight 3 counts as three rows. Or their column in X.
    groups : array-like or str, optional
        Rows that belong together (one patient, one annotator), or their column in X. The
        covariance is then the sandwich with scores summed within groups.
    covariance : {"information", "sandwich"}
        The sandwich allows for a curve that is not exactly logistic.
    formula : str, optional
        Features by a formula, such as ``"log1p(size) + poly(age, 2) + C(site)"``.
    probabilities : str, optional
        Column of out-of-sample predicted probabilities, whose log-odds become the single
        feature.
    missing : {"refuse", "drop"}
        What to do with rows that lack a value.
    device : str, optional
        Where torch is to hold and sum the rows of an array or a file, such as "cuda".

    Returns
    -------
    LogisticFit

    Raises
    ------
    InputError
        If the data cannot be used; the message says why.
    SeparationError
        If some combination of columns separates the labels: no fit exists.
    RankError
        If columns are constant or repeat each other.

    Notes
    -----
    Damped Newton from a rescaled least-squares start. With many rows, Newton on
    a random twenty-fourth supplies the curvature for passes that need only the score,
    and one exact Newton step ends the climb: the same optimum, to rounding. From a hundred
    columns on the Gram of the columns stands in for the curvature until that last step, which
    is summed in single precision where the covariance is then right to 4e-8.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(1000, 2))
    >>> y = rng.random(1000) < 1 / (1 + np.exp(-X[:, 0]))
    >>> fit = fit_logistic(X, y)
    >>> fit.coefficients.round(2)  # near the true 0, 1, 0
    array([ 0.11,  1.01, -0.13])
    """
    check_choice(covariance, "covariance", get_args(Covariance))
    rows = read_data(
        X,
        y,
        positive=positive,
        sample_weight=sample_weight,
        groups=groups,
        formula=formula,
        probabilities=probabilities,
        missing=missing,
        device=device,
    )
    return fit_rows(rows, covariance=covariance)


def fit_rows(rows: Rows, *, covariance: Covariance = "information") -> LogisticFit:
    """Fit logistic regression to any source of rows."""
    problem, optimum = climb(rows)
    inside = _shifted_curve(rows, problem, optimum, covariance)
    return LogisticFit(
        coefficients=inside.coefficients_of_data(),
        covariance=inside.covariance_of_data(),
        log_likelihood=optimum.log_likelihood,
        n_iterations=optimum.n_iterations,
        n_rows=round(rows.total_weight),
        positive=rows.positive,
        negative=rows.negative,
        feature_names=rows.feature_names,
        stopped_because=optimum.reason,
        notices=rows.notices,
        inside=inside,
    )


def climb(rows: Rows) -> tuple[LogisticProblem, Optimum]:
    """Find the maximum of the plain likelihood, on the solver's scale.

    Raises
    ------
    InputError
        If there are too few rows, or no finite maximum exists.
    """
    n_parameters = rows.n_features + 1
    if rows.n_counted <= n_parameters:
        raise InputError(
            f"{rows.called} has {rows.n_counted} rows and {rows.n_features} columns: a fit needs "
            f"more rows than its {n_parameters} parameters, and a test many more."
        )
    climbed = _climb_many_rows(rows)
    if climbed is None and rows.n_features >= WIDE and not rows.costly:
        with np.errstate(invalid="ignore", over="ignore"):  # of values that are refused below
            climbed = _climb_wide(rows)
    if climbed is not None:
        return climbed
    problem, start = set_up(rows)
    optimum = newton(problem, start)
    if not optimum.converged or optimum.n_iterations > SUSPICIOUSLY_MANY_ITERATIONS:
        refuse_separation(rows)
    if not optimum.converged:
        refuse_one_heavy_row(rows)
        raise ConvergenceError(
            f"the fit stopped after {optimum.n_iterations} iterations because "
            f"{optimum.reason}: the labels are almost separated. Remove columns, or collect "
            "rows where the classes overlap."
        )
    return problem, optimum


def _climb_wide(rows: Rows) -> tuple[LogisticProblem, Optimum] | None:
    """Climb where a curvature costs far more than a score: one of them, at the end.

    Until then the Gram of the columns serves, of a sample where there are rows enough, times the
    mean curvature. None where the climb is lost: Newton then tells why.
    """
    problem, start, moments = _sampled(rows) or _measured(rows)
    across, along = problem.curvatures(start)
    at_first = problem.scaling.rescaled(moments.gram()) * across
    del moments
    # Log-odds far from 0 bend the curvature along the coefficients most of all.
    bend = start, at_first @ start * (along / across)
    near, n_steps = quasi_newton(problem, start, at_first, bend)
    rows_a_weight = rows.n_counted / rows.total_weight
    single = problem.scaling.in_single(at_first)
    single = single and error_in_single(at_first, rows_a_weight) < SINGLE_WILL_DO
    last = newton(replace(problem, single=single), near, last_step=LAST_WIDE_STEP)
    if single and not error_in_single(last.information, rows_a_weight) < SINGLE_WILL_DO:
        last = newton(problem, near, last_step=LAST_WIDE_STEP)
    if not last.converged or is_lost(last.information, at_first):
        return None
    return problem, replace(last, n_iterations=last.n_iterations + n_steps)


def _sampled(rows: Rows) -> tuple[LogisticProblem, FloatArray, ColumnMoments] | None:
    """Return what `_measured` does, with the products of columns from a sample; None if too small.

    How columns go with the labels is summed over all rows, by one score where no column counts.
    """
    n_parameters = rows.n_features + 1
    step = rows.n_rows // (ENOUGH_ROWS_A_PARAMETER * n_parameters)
    step = sampling_step(rows, min(max(step, LEAST_WIDE_THINNING), MOST_WIDE_THINNING))
    if rows.n_rows // step < FEWEST_ROWS_A_PARAMETER * n_parameters:
        return None
    sample = rows.peeked(step, np.random.default_rng(SAMPLE_SEED))
    try:
        moments, shift = measure_columns(sample)
        refuse_repeats(sample, moments, shift)
    except InputError:  # perhaps of the sample alone: all rows are looked at next
        return None
    problem = LogisticProblem(rows, Scaling.by(shift, moments.spreads))
    share = (moments.labels + 0.5) / (moments.weight + 1)
    flat = np.concatenate([[np.log(share / (1 - share))], np.zeros(rows.n_features)])
    rise = problem.score(flat) / problem.scaling.factors
    if not np.isfinite(rise).all():
        return None
    weight = rows.total_weight
    moments = replace(
        moments,
        weight=weight,
        products=without_chance(moments.products, sample.n_counted) * (weight / moments.weight),
        labels=share * weight + float(rise[0]),
        by_label=rise[1:] - moments.means * rise[0],
    )
    return problem, moments.start() / problem.scaling.factors, moments


def _shifted_curve(
    rows: Rows, problem: LogisticProblem, optimum: Optimum, covariance: Covariance
) -> ShiftedCurve:
    """Take an optimum off the solver's scale, with the covariance asked for."""
    shift = problem.scaling.shift
    coefficients = problem.scaling.rescaled(optimum.coefficients)
    bread = problem.scaling.rescaled(positive_inverse(optimum.information))
    robust = covariance == "sandwich" or rows.n_groups is not None
    return ShiftedCurve(
        shift=shift,
        coefficients=coefficients,
        covariance=sandwich(rows, coefficients, shift, bread) if robust else bread,
        inverse_information=bread,
    )


def _climb_many_rows(rows: Rows) -> tuple[LogisticProblem, Optimum] | None:
    """Climb by the chord method; None if there are few rows or a sample will not do.

    Whatever goes wrong on a sample (a rare category missing from it, separation,
    a missing value) is left to Newton on all rows, which gives the right message.
    """
    n_needed = max(SAMPLE_ROWS, SAMPLE_ROWS_A_PARAMETER * (rows.n_features + 1))
    if rows.n_rows < max(MANY_ROWS, THINNING * n_needed):
        return None
    rng = np.random.default_rng(SAMPLE_SEED)
    sample = rows.peeked(sampling_step(rows, THINNING), rng)
    one, other = (sample.thinned(THINNING_AGAIN, rng) for _ in range(2))
    small = one if one.n_rows >= n_needed else sample
    try:
        small_problem, start = set_up(small)
    except InputError:
        return None
    scaling = small_problem.scaling
    near = newton(small_problem, start, last_step=ROUGH_STEP)
    if near.converged and small is not sample:
        near = newton(LogisticProblem(sample, scaling), near.coefficients, last_step=ROUGH_STEP)
    if not near.converged:
        return None
    problem = LogisticProblem(rows, scaling)
    weight = rows.total_weight

    def as_sample(some: Rows) -> Sample:
        return Sample(LogisticProblem(some, scaling), some.n_rows, some.total_weight / weight)

    pilot = Pilot(
        start=near.coefficients,
        information=near.information * (weight / sample.total_weight),
        sample=as_sample(sample),
        parts=(as_sample(one), as_sample(other)),
    )
    optimum = guided_newton(problem, pilot) if rows.costly else chord(problem, pilot)
    return None if optimum is None else (problem, optimum)
