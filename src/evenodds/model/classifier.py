"""The robust way out: a scikit-learn classifier that learns the clean curve."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenodds.errors import InputError, MissingExtraError
from evenodds.model.robust import fit_robust
from evenodds.rows.memory import of_hugging_face, read_rows
from evenodds.validation import FloatArray, check_same_order

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise MissingExtraError(
        "NoiseAwareLogisticRegression needs the 'sklearn' extra: install evenodds[sklearn]."
    ) from error


class NoiseAwareLogisticRegression(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Logistic regression for labels of which some are flipped.

    Fits ``P(given label = 1 | x) = beta + (1 - alpha - beta) s(theta'x)`` and predicts with
    the clean curve ``s(theta'x)``, which plain logistic regression would bend towards 1/2
    and, when one class is flipped more often, displace.

    Parameters
    ----------
    alpha, beta : float, optional
        Flip rates of the positives (``classes_[1]``) and the negatives, for instance from
        `asymmetry_test` or an audit. Those not given are estimated from the shape of the
        curve alone: that needs many rows and a posterior that is truly logistic.
    ridge : float, default 1e-4
        Strength of a penalty on the slopes, in spreads (half-widths of the middle 68%) of the
        features, as a share of the rows.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    coef_ : ndarray of shape (1, n_features)
    intercept_ : ndarray of shape (1,)
    alpha_, beta_ : float
        Flip rates as given or estimated.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(5)
    >>> X = rng.normal(size=(4000, 2))
    >>> true = rng.random(4000) < 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> given = np.where(rng.random(4000) < np.where(true, 0.3, 0.05), ~true, true)
    >>> model = NoiseAwareLogisticRegression(alpha=0.3, beta=0.05).fit(X, given)
    >>> bool(np.mean(model.predict(X) == true) > np.mean(given == true))
    True
    """

    def __init__(
        self, alpha: float | None = None, beta: float | None = None, *, ridge: float = 1e-4
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.ridge = ridge

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the curve to features and given labels."""
        check_same_order(X=X, y=y, sample_weight=sample_weight)
        X, y = validate_data(self, of_hugging_face(X), y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) != 2:
            raise ValueError(
                "Only binary classification is supported: the number of classes must be 2, but y "
                f"has {len(self.classes_)} class{'' if len(self.classes_) == 1 else 'es'}."
            )
        labels = (y == self.classes_[1]).astype(np.float64)
        rows = read_rows(X, labels, sample_weight=sample_weight)
        self.curve_ = fit_robust(rows, alpha=self.alpha, beta=self.beta, ridge=self.ridge)
        self.coef_ = self.curve_.coefficients[None, 1:]
        self.intercept_ = self.curve_.coefficients[:1]
        self.alpha_, self.beta_ = self.curve_.alpha, self.curve_.beta
        self.n_iter_ = self.curve_.n_steps
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Return the clean log-odds of the positive class."""
        features = self._checked(X)
        return self.curve_.log_odds(features)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the clean posterior of either class."""
        features = self._checked(X)
        positive = self.curve_.posterior(features)
        return np.column_stack([1 - positive, positive])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the more likely true class."""
        positive = self.decision_function(X) > 0
        return np.asarray(self.classes_[positive.astype(int)])

    def flip_probability(self, X: Any, y: Any) -> FloatArray:
        """Return how likely each given label is not the true one; sort by it to relabel."""
        features = self._checked(X)
        given = np.asarray(y)
        if given.shape != (len(features),):
            raise InputError(f"y has shape {given.shape} but X has {len(features)} rows.")
        if not np.isin(given, self.classes_).all():
            raise InputError(f"y has labels other than {list(self.classes_)!r}, the ones fitted.")
        return self.curve_.flip_probability(features, (given == self.classes_[1]).astype(float))

    def _checked(self, X: Any) -> FloatArray:
        check_is_fitted(self, "curve_")
        X = of_hugging_face(X)
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
