"""Exact maximum likelihood for plain logistic regression, with its covariance."""

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from evenodds.errors import ConvergenceError, InputError
from evenodds.model.covariance import sandwich
from evenodds.model.problem import LogisticProblem, set_up
from evenodds.model.scaling import ShiftedCurve
from evenodds.model.separation import refuse_separation
from evenodds.model.solver import Optimum, Pilot, Sample, chord, guided_newton, newton
from evenodds.rows.base import Rows, sampling_step
from evenodds.rows.door import read_data
from evenodds.rows.reading import Missing
from evenodds.validation import FloatArray, check_choice

Covariance = Literal["information", "sandwich"]

# The borrowed curvature of the chord climb comes from one row in this many, and the point
# where it is taken from one in this many of those.
THINNING = 16
THINNING_AGAIN = 8
# Fewer rows than this are climbed by plain Newton, which is quick enough there.
MANY_ROWS = 128_000
# Either sample must have this many rows in all, and this many a parameter.
SAMPLE_ROWS = 2000
SAMPLE_ROWS_A_PARAMETER = 40
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
        errors: FloatArray = np.sqrt(np.diagonal(self.covariance))
        return errors

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
) -> LogisticFit:
    """Fit logistic regression by exact maximum likelihood, without a penalty.

    Parameters
    ----------
    X : array, data frame or path
        Features, without an intercept column. Columns may be on any scale; columns of text
        become one 0/1 column a level. A path, a list of paths, a folder or a glob names a
        table (CSV, TSV, Parquet, Feather, .npy, .npz), which may be larger than memory.
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
    a random sixteenth supplies the curvature for passes that need only the score,
    and one exact Newton step ends the climb: the same optimum, to rounding.

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
    if climbed is not None:
        return climbed
    problem, start = set_up(rows)
    optimum = newton(problem, start)
    if not optimum.converged or optimum.n_iterations > SUSPICIOUSLY_MANY_ITERATIONS:
        refuse_separation(rows)
    if not optimum.converged:
        raise ConvergenceError(
            f"the fit stopped after {optimum.n_iterations} iterations because "
            f"{optimum.reason}: the labels are almost separated. Remove columns, or collect "
            "rows where the classes overlap."
        )
    return problem, optimum


def _shifted_curve(
    rows: Rows, problem: LogisticProblem, optimum: Optimum, covariance: Covariance
) -> ShiftedCurve:
    """Take an optimum off the solver's scale, with the covariance asked for."""
    shift = problem.scaling.shift
    coefficients = problem.scaling.rescaled(optimum.coefficients)
    inverse = np.linalg.inv(optimum.information)
    bread = problem.scaling.rescaled((inverse + inverse.T) / 2)
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
    small = (
        sample.thinned(THINNING_AGAIN, rng)
        if sample.n_rows >= THINNING_AGAIN * n_needed
        else sample
    )
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
    pilot = Pilot(
        start=near.coefficients,
        information=near.information * (weight / sample.total_weight),
        samples=(
            Sample(small_problem, small.n_rows, small.total_weight / weight),
            Sample(LogisticProblem(sample, scaling), sample.n_rows, sample.total_weight / weight),
        ),
    )
    optimum = guided_newton(problem, pilot) if rows.costly else chord(problem, pilot)
    return None if optimum is None else (problem, optimum)
