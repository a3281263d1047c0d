"""The front door: is one class flipped more often than the other?"""

from typing import Any

from numpy.typing import ArrayLike

from evenodds.anchors import Anchors
from evenodds.errors import AnchorError, InputError
from evenodds.inference.results import AsymmetryTestResult, check_alternative
from evenodds.inference.wald import Wald, wald_test
from evenodds.rows.source import read_rows
from evenodds.validation import join_quoted

METHODS = {"wald": Wald}


def asymmetry_test(
    X: Any,
    y: Any,
    anchors: Anchors | None = None,
    *,
    method: str | Wald = "wald",
    alternative: str = "two-sided",
    positive: Any = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> AsymmetryTestResult:
    r"""Test whether the labels of one class are flipped more often than the other's.

    The null hypothesis is uniform noise: both classes are flipped equally often, so a
    case that is truly a toss-up (an anchor) still gets positive labels half of the time.
    Class-conditional noise moves that share by half the difference of the flip rates.

    Parameters
    ----------
    X : array or data frame of shape (n_rows, n_features)
        Features, without an intercept column.
    y : array-like of shape (n_rows,)
        The given labels: 0/1, -1/+1, bool or two strings.
    anchors : Anchors
        Cases whose true posterior is about 1/2.
    method : {"wald"} or Wald
        The test, by name or as a record of its settings.
    alternative : {"two-sided", "greater", "less"}
        "greater" means that negatives are flipped more often (beta > alpha).
    positive : object, optional
        The positive label; default the larger, True, or the later in sort order.
    sample_weight : array-like, optional
        Frequency weights: a row of weight 3 counts as three rows. They are not
        sampling weights.
    groups : array-like, optional
        Rows that belong together (one patient, one annotator); rows of different
        groups must be independent.

    Returns
    -------
    AsymmetryTestResult

    Raises
    ------
    InputError
        If the data or the anchors cannot be used; the message says what to do.

    See Also
    --------
    prior_test : When the true share of positives is known instead of anchors.

    Notes
    -----
    Method "wald" is the test of [1]_ with its variance corrected. With weighted mean
    posterior :math:`u^\top \hat e` at the anchors and its variance :math:`v`,

    .. math:: z(\Delta_0) = \frac{u^\top \hat e - (1 + \Delta_0)/2}{\sqrt{v(\Delta_0)}}

    is referred to a standard normal; :math:`z(0)` is the test.

    **When it cannot be trusted.** Under uniform noise the true curve is squeezed between
    the noise rate and one minus it, and is no longer logistic. If the rows do not lie
    evenly about the boundary (rare positives, skewed features), the fitted curve moves
    at the anchors although no class is favoured, and the test rejects too often, the more
    so the more rows there are. The result's "curve" diagnostic says whether labels look
    flattened that way. On evenly spread rows the p-value is right, but the estimate of
    the asymmetry, and its interval with it, overstate the asymmetry of noisy labels.

    References
    ----------
    .. [1] Poyiadzi, R., Yang, W., Twomey, N., Santos-Rodriguez, R. (2021).
           Hypothesis testing for class-conditional label noise. arXiv:2103.02630.

    Examples
    --------
    Positives are lost three times as often as negatives; the anchors lie where the true
    posterior is 1/2.

    >>> import numpy as np
    >>> import evenodds as eo
    >>> rng = np.random.default_rng(7)
    >>> true = rng.integers(0, 2, size=2000)
    >>> X = rng.normal(size=(2000, 2)) + (2 * true - 1)[:, None]
    >>> given = eo.ClassConditionalNoise(alpha=0.3, beta=0.1).flip(true, rng)
    >>> toss_ups = eo.Anchors([[1.0, -1.0], [0.0, 0.0], [-2.0, 2.0]])
    >>> result = eo.asymmetry_test(X, given, toss_ups)
    >>> result.pvalue < 0.001  # uniform noise is rejected
    True
    >>> result.asymmetry < 0  # positives are flipped more often
    True
    """
    settings = _read_method(method)
    checked_alternative = check_alternative(alternative)
    if anchors is None:
        raise AnchorError(
            "anchors is None but method 'wald' needs at least one: name cases where an expert "
            "could not tell the class, or use prior_test if you know the true share of positives."
        )
    if not isinstance(anchors, Anchors):
        raise AnchorError(
            f"anchors is a {type(anchors).__name__}: wrap the points as evenodds.Anchors(points)."
        )
    rows = read_rows(X, y, positive=positive, sample_weight=sample_weight, groups=groups)
    return wald_test(rows, anchors, settings, checked_alternative)


def _read_method(method: str | Wald) -> Wald:
    """Return the settings behind a method's name."""
    if isinstance(method, Wald):
        return method
    if method not in METHODS:
        raise InputError(
            f"method is {method!r} but must be one of {join_quoted(METHODS, 'or')}, "
            "or a record of its settings."
        )
    return METHODS[method]()
