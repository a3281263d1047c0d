"""Flip rates as others estimate them, from predicted posteriors alone: what ours is held against.

Both read the flip rates off rows that a classifier is sure of, so both need regions where the
true classes do not overlap. Neither comes with an interval or a test.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from evenodds.errors import InputError
from evenodds.model.logistic import fit_logistic
from evenodds.validation import FloatArray

BoolArray = NDArray[np.bool_]

# As in the experiments of Patrini et al.: the single most extreme row is often an outlier.
PERCENTILE: Final = 97.0
N_FOLDS: Final = 5


@dataclass(frozen=True, slots=True)
class NoiseRates:
    """Estimated flip rates of the positives (alpha) and of the negatives (beta).

    Unlike `ClassConditionalNoise` they may add up to 1 or more: they are estimates.
    """

    alpha: float
    beta: float

    @property
    def asymmetry(self) -> float:
        """``beta - alpha``, zero under uniform noise."""
        return self.beta - self.alpha


def extreme_posterior_rates(features: FloatArray, given: BoolArray) -> NoiseRates:
    """Estimate flip rates from the rows that look most like their class.

    Notes
    -----
    With ``p(x)`` the fitted probability of a positive *label*, the row at the 97th percentile of
    ``p`` is taken for a certain positive, the row at that percentile of ``1 - p`` for a certain
    negative, and the transition matrix is read off there: ``alpha = 1 - p`` at the first,
    ``beta = p`` at the second ([1]_, theorem 3). The classifier here is plain logistic
    regression, fitted to all rows.

    Biased when no row is certain: overlap of the classes is then counted as noise. Biased too
    because a logistic curve has no plateaus to read the rates from.

    References
    ----------
    .. [1] Patrini, G., Rozza, A., Menon, A. K., Nock, R., Qu, L. (2017). Making deep neural
           networks robust to label noise: a loss correction approach. CVPR. arXiv:1609.03683.
    """
    return rates_at_extremes(expit(fit_logistic(features, given).log_odds(features)))


def rates_at_extremes(posterior: FloatArray, percentile: float = PERCENTILE) -> NoiseRates:
    """Read flip rates off the predicted posteriors at one percentile from either end."""
    # 'lower' takes a posterior that some row has, and swapping the classes swaps the rates.
    alpha = 1 - np.percentile(posterior, percentile, method="lower")
    beta = 1 - np.percentile(1 - posterior, percentile, method="lower")
    return NoiseRates(float(alpha), float(beta))


def confident_joint_rates(
    features: FloatArray, given: BoolArray, rng: np.random.Generator
) -> NoiseRates:
    """Estimate flip rates from the counts of rows confidently in each class.

    Notes
    -----
    A row's posterior is predicted by a fit without its fold, and the row is confidently in a class
    if that reaches the mean over the rows
    given that label; if it is in both, the more likely counts. The counts by given and
    confident class, each given label's scaled to all its rows, estimate the joint distribution
    of given and true labels ([1]_, section 3), and its columns the flip rates.

    Biased when the classes overlap: a row on the wrong side of the boundary is counted as
    mislabelled although it may well be what its label says.

    References
    ----------
    .. [1] Northcutt, C. G., Jiang, L., Chuang, I. L. (2021). Confident learning: estimating
           uncertainty in dataset labels. J. Artif. Intell. Res. 70. arXiv:1911.00068.
    """
    posterior = cross_fitted_posterior(features, given, rng)
    return rates_of_joint(confident_joint(posterior, given), given)


def confident_joint(posterior: FloatArray, given: BoolArray) -> NDArray[np.int64]:
    """Count rows by given label (rows: negative, positive) and confident class (columns).

    `posterior` is the predicted probability of a positive label. The diagonal is at least 1,
    so that a label none of whose rows is confident is taken to be right.
    """
    reaches_positive = posterior >= posterior[given].mean()
    reaches_negative = 1 - posterior >= (1 - posterior[~given]).mean()
    both = reaches_positive & reaches_negative
    # Where the two are equally likely the given label stands.
    more_likely = np.where(posterior == 0.5, given, posterior > 0.5)
    positive = np.where(both, more_likely, reaches_positive)
    confident = reaches_positive | reaches_negative
    counts = np.bincount(2 * given[confident] + positive[confident], minlength=4).reshape(2, 2)
    np.fill_diagonal(counts, np.maximum(counts.diagonal(), 1))
    return counts.astype(np.int64)


def rates_of_joint(counts: NDArray[np.int64], given: BoolArray) -> NoiseRates:
    """Scale the counts of each given label to all its rows; return the shares flipped."""
    n_given = np.array([np.count_nonzero(~given), np.count_nonzero(given)])
    joint = counts / counts.sum(axis=1, keepdims=True) * n_given[:, None]
    flipped = joint / joint.sum(axis=0)
    return NoiseRates(alpha=float(flipped[0, 1]), beta=float(flipped[1, 0]))


def cross_fitted_posterior(
    features: FloatArray, given: BoolArray, rng: np.random.Generator
) -> FloatArray:
    """Return each row's probability of a positive label, by a fit that has not seen the row.

    Raises
    ------
    InputError
        If a label has fewer rows than there are folds, or a fold has no fit.
    """
    fewest = min(np.count_nonzero(given), np.count_nonzero(~given))
    if fewest < N_FOLDS:
        raise InputError(
            f"one label has {fewest} rows but there are {N_FOLDS} folds: every fold needs rows of "
            "both labels, so use more rows."
        )
    # Rows are dealt at random, those of either label evenly.
    shuffled = rng.permutation(len(given))
    folds = np.empty(len(given), dtype=np.int64)
    folds[shuffled[np.argsort(given[shuffled], kind="stable")]] = np.arange(len(given)) % N_FOLDS
    posterior = np.empty(len(given))
    for fold in range(N_FOLDS):
        inside = folds == fold
        fit = fit_logistic(features[~inside], given[~inside])
        posterior[inside] = expit(fit.log_odds(features[inside]))
    return posterior
