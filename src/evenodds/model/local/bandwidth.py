r"""How far a local fit looks: by cross-validated likelihood, then closer.

The bandwidth that predicts labels best balances squared bias against variance, so its bias is
as large as its error: fine for a curve, wrong for a test, the more so as a test averages many
anchors, which lowers the error and not the bias. It is therefore narrowed by
``n^{1/(p+4) - 1/(p+2)}``, and never wider than ``1.4 n^{-1/(p+3)}`` spreads, since in samples of
usual size cross-validation likes to see a straight line where there is a gentle bend (theory
page, "Local likelihood").
"""

import numpy as np

from evenodds.model.local.fits import fit_bandwidths
from evenodds.model.local.kernels import SPREAD
from evenodds.model.local.neighbourhood import LeftOut
from evenodds.model.local.surroundings import Surroundings

# Widest bandwidth for a test, in spreads of the features: this times n^{-1/(p+3)}.
WIDEST = 1.4
# Bandwidths tried, from that one down, each this many times narrower.
LADDER = tuple(2 ** (-step / 2) for step in range(5))
# Rows that the search fits to, and rows whose labels it predicts.
MOST_FITTED = 3000
MOST_PREDICTED = 500
SEED = 20231216
# A bandwidth must leave this many effective rows a parameter around most predicted rows.
ROWS_A_PARAMETER = 5


def choose_bandwidth(around: Surroundings, kernel: str) -> float:
    """Return the bandwidth for tests: cross-validated, carried to all rows, undersmoothed."""
    n_rows, n_features = around.features.shape
    sample = _sample(around)
    # A sample of fewer rows predicts best with a wider bandwidth, by this rate.
    carried = (len(sample) / n_rows) ** (1 / (n_features + 4))
    narrowed = carried * undersmoothing(n_rows, n_features)
    widest = WIDEST * n_rows ** (-1 / (n_features + 3)) / SPREAD[kernel]
    scores = cross_validation(sample, kernel, [widest / narrowed * step for step in LADDER])
    best = max(scores, key=lambda bandwidth: scores[bandwidth])
    return float(best * narrowed)


def undersmoothing(n_rows: int, n_features: int) -> float:
    """Return the factor that takes a bandwidth from the rate of prediction to that of tests."""
    return float(n_rows ** (1 / (n_features + 4) - 1 / (n_features + 2)))


def cross_validation(
    sample: Surroundings, kernel: str, bandwidths: list[float]
) -> dict[float, float]:
    """Return the mean log-likelihood of labels by fits without their own row (or group).

    Bandwidths are given from the widest; those that leave most rows without neighbours are
    left out, the widest never.
    """
    rng = np.random.default_rng(SEED)
    n_rows, n_features = sample.features.shape
    chosen = np.sort(rng.permutation(n_rows)[:MOST_PREDICTED])
    own = np.arange(n_rows) if sample.groups is None else sample.groups
    counted = np.ones(len(chosen)) if sample.weights is None else sample.weights[chosen]
    signs = 2 * sample.labels[chosen] - 1
    tried = fit_bandwidths(
        sample,
        sample.features[chosen],
        bandwidths,
        kernel,
        left_out=LeftOut(own[chosen], own),
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
