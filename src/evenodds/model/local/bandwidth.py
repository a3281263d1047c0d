r"""How far a local fit looks: by cross-validated likelihood, then closer.

The bandwidth that predicts labels best balances squared bias against variance, so its bias is
as large as its error: fine for a curve, wrong for a test. It is therefore narrowed by
``n^{1/(p+4) - 1/(p+3)}``, which makes the bias vanish against the error (theory page, "Local
likelihood").
"""

import numpy as np

from evenodds.model.local.fits import fit_bandwidths
from evenodds.model.local.kernels import SPREAD
from evenodds.model.local.neighbourhood import LeftOut
from evenodds.model.local.surroundings import Surroundings

# Bandwidths tried, as standard deviations of the kernel in spreads of the features.
TRIED = tuple(float(0.1 * 2 ** (step / 2)) for step in range(11))
# Rows that the search fits to, and rows whose labels it predicts.
MOST_FITTED = 3000
MOST_PREDICTED = 400
SEED = 20231216
# A bandwidth must leave this many effective rows a parameter around most predicted rows.
ROWS_A_PARAMETER = 5


def choose_bandwidth(around: Surroundings, kernel: str) -> float:
    """Return the bandwidth for tests: cross-validated, carried to all rows, undersmoothed."""
    sample = _sample(around)
    best = cross_validated(sample, kernel)
    n_rows, n_features = len(around), around.features.shape[1]
    carried = best * (len(sample) / n_rows) ** (1 / (n_features + 4))
    return float(carried * undersmoothing(n_rows, n_features))


def undersmoothing(n_rows: int, n_features: int) -> float:
    """Return the factor that takes a bandwidth from the rate of prediction to that of tests."""
    return float(n_rows ** (1 / (n_features + 4) - 1 / (n_features + 3)))


def cross_validated(sample: Surroundings, kernel: str) -> float:
    """Return the bandwidth whose fits, each without its own row (or group), predict best."""
    scores = cross_validation(sample, kernel)
    return max(scores, key=lambda bandwidth: scores[bandwidth])


def cross_validation(sample: Surroundings, kernel: str) -> dict[float, float]:
    """Return the mean log-likelihood of left-out labels, by bandwidth."""
    rng = np.random.default_rng(SEED)
    n_rows, n_features = sample.features.shape
    chosen = np.sort(rng.permutation(n_rows)[:MOST_PREDICTED])
    own = np.arange(n_rows) if sample.groups is None else sample.groups
    left_out = LeftOut(own[chosen], own)
    counted = np.ones(len(chosen)) if sample.weights is None else sample.weights[chosen]
    signs = 2 * sample.labels[chosen] - 1
    bandwidths = [spread / SPREAD[kernel] for spread in reversed(TRIED)]
    tried = fit_bandwidths(
        sample,
        sample.features[chosen],
        bandwidths,
        kernel,
        left_out=left_out,
        dtype=np.float32,
    )
    enough = ROWS_A_PARAMETER * (n_features + 1)
    scores = {}
    for fits in tried:
        if fits is tried[0] or np.median(fits.effective_rows) >= enough:
            likelihoods = -np.logaddexp(0, -signs * fits.log_odds)
            scores[fits.bandwidth] = float(counted @ likelihoods / counted.sum())
    return scores


def _sample(around: Surroundings) -> Surroundings:
    """Return all rows, or a random part where they are many."""
    if len(around) <= MOST_FITTED:
        return around
    rng = np.random.default_rng(SEED)
    kept = np.sort(rng.permutation(len(around))[:MOST_FITTED])
    return Surroundings(
        features=around.features[kept],
        labels=around.labels[kept],
        weights=None if around.weights is None else around.weights[kept],
        groups=None if around.groups is None else around.groups[kept],
    )
