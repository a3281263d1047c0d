"""Your own data as a world: its rows drawn again, labels from a curve fitted to it."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evenodds.errors import ImprecisionWarning, InputError
from evenodds.model.robust import RobustCurve, fit_robust
from evenodds.noise import ClassConditionalNoise
from evenodds.rows.base import Rows, refuse_missing
from evenodds.rows.memory import read_features, read_rows, shape_of
from evenodds.rows.read import read_data
from evenodds.simulation.world import LinearIndex, World
from evenodds.validation import FloatArray, check_vector, counted

# Anchors are sought among this share of the rows, those nearest the boundary.
NEAR_SHARE = 0.1
FEWEST_NEAR = 50
# Cases kept of a larger data set, which are as good as all to draw from.
MOST_ROWS = 50_000
SAMPLE_SEED = 20210303


@dataclass(frozen=True, slots=True, eq=False)
class DrawAgain:
    """Draws rows of a data set, with replacement."""

    features: FloatArray

    def __call__(self, n: int, rng: np.random.Generator) -> FloatArray:
        drawn: FloatArray = self.features[rng.integers(len(self.features), size=n)]
        return drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotWorld(World):
    """The world of a labelled pilot sample, whose curve is an estimate.

    `label_counts` holds each label with its number of rows, the negative one first; `noise` is
    how often the labels were found to be flipped, `known` the flip rates that were given.
    """

    label_counts: tuple[tuple[Any, float], tuple[Any, float]]
    noise: ClassConditionalNoise
    known: tuple[float | None, float | None]

    def pilot_again(self, rng: np.random.Generator) -> "PilotWorld":
        """Return the world of another pilot of the same size, drawn from this one and refitted."""
        n = round(sum(count for _, count in self.label_counts))
        features, true_labels = self.draw_rows(n, rng)
        rows = read_rows(features, self.flip(features, true_labels, self.noise, rng))
        with warnings.catch_warnings():
            # Flip rates taken as 0 where the rows cannot tell are part of what may happen.
            warnings.simplefilter("ignore", ImprecisionWarning)
            return world_of_rows(rows, alpha=self.known[0], beta=self.known[1], name=self.name)


def data_world(
    X: Any,
    y: Any = None,
    *,
    coefficients: ArrayLike | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    positive: Any = None,
    name: str = "your data",
) -> World:
    """Make a world of your own data, to plan with it or to check a test on data like yours.

    Rows are drawn from X with replacement; their true labels from a logistic curve, either
    given or fitted to noisy labels. Toss-ups are the rows nearest the boundary, moved onto it.

    Parameters
    ----------
    X : array or data frame
        Features, of a pilot sample or of everything you have.
    y : array-like, optional
        Labels, flips and all. The clean curve behind them is estimated, as in
        `NoiseAwareLogisticRegression`.
    coefficients : array-like, optional
        The clean curve itself, intercept first, instead of `y`.
    alpha, beta : float, optional
        Flip rates of the labels in `y`, where known; estimated from the shape of the curve
        otherwise.
    positive : object, optional
        The positive label.
    name : str
        What to call the world.

    Returns
    -------
    World

    Notes
    -----
    The world is only as good as its curve: where the true posterior is not logistic in these
    columns, data drawn from the world are better behaved than yours.

    Examples
    --------
    >>> import numpy as np
    >>> import evenodds as eo
    >>> rng = np.random.default_rng(0)
    >>> world = eo.data_world(rng.normal(size=(500, 2)), coefficients=[-1.0, 2.0, 1.0])
    >>> eo.rejection_rate(
    ...     world, eo.UniformNoise(0.1), n_rows=1000, n_anchors=4, runs=100
    ... ).rate < 0.15  # nominal 0.05
    True
    """
    if (y is None) == (coefficients is None):
        raise InputError("give y or coefficients, one of the two: the curve comes from either.")
    if y is None and (alpha, beta, positive) != (None, None, None):
        raise InputError(
            "alpha, beta and positive describe the labels in y but coefficients are given "
            "instead: leave them out."
        )
    if y is None:
        features = _matrix(X)
        curve = _read_coefficients(coefficients, features.shape[1])
        return World(**_resampling(features, curve), name=name)
    return world_of_rows(read_data(X, y, positive=positive), alpha=alpha, beta=beta, name=name)


def world_of_rows(
    rows: Rows, *, alpha: float | None = None, beta: float | None = None, name: str = "your data"
) -> PilotWorld:
    """Make a world of rows from any source; of many rows a sample will do."""
    if rows.n_rows > MOST_ROWS:
        rows = rows.thinned(-(-rows.n_rows // MOST_ROWS), np.random.default_rng(SAMPLE_SEED))
    curve: RobustCurve = fit_robust(rows, alpha=alpha, beta=beta)
    positives = rows.positive_weight()
    features = rows.to_memory().features
    return PilotWorld(
        **_resampling(features, curve.coefficients),
        name=name,
        label_counts=((rows.negative, rows.total_weight - positives), (rows.positive, positives)),
        noise=ClassConditionalNoise(curve.alpha, curve.beta),
        known=(alpha, beta),
    )


def _resampling(features: FloatArray, curve: FloatArray) -> dict[str, Any]:
    """Return the parts of a world of these cases and this curve."""
    covariance = np.atleast_2d(np.cov(features, rowvar=False))
    # Moving along here is the shortest way to the boundary as the features vary together.
    index = LinearIndex(curve, direction=covariance @ curve[1:])
    distance = np.abs(index.of(features))
    n_near = min(max(FEWEST_NEAR, int(NEAR_SHARE * len(features))), len(features))
    near = features[np.argsort(distance, kind="stable")[:n_near]]
    return {
        "draw_features": DrawAgain(features),
        "index": index,
        "draw_anchor_seeds": DrawAgain(near),
    }


def _matrix(X: Any) -> FloatArray:
    """Return the features as one matrix without missing values."""
    n_rows, n_features = shape_of(read_features(X, "X"))
    if n_rows < 2 or n_features == 0:
        raise InputError(
            f"X has {counted(n_rows, 'row')} and {counted(n_features, 'column')}: a world needs "
            "more."
        )
    rows = read_rows(X, np.arange(n_rows) % 2)
    refuse_missing(rows)
    return np.asarray(rows.to_memory().features)


def _read_coefficients(values: ArrayLike | None, n_features: int) -> FloatArray:
    """Check the curve's coefficients."""
    curve = np.asarray(values)
    if curve.shape != (n_features + 1,):
        raise InputError(
            f"coefficients has {counted(curve.size, 'value')} but X has "
            f"{counted(n_features, 'column')}: give the intercept first and a slope for each "
            f"column, {n_features + 1} in all."
        )
    curve = check_vector(curve, "coefficients", len(curve), "parameter", one_for_all=False)
    if not curve[1:].any():
        raise InputError("coefficients has no slope but 0: no case is nearer the boundary.")
    return curve
