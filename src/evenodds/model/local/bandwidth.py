r"""How far a local fit looks: by cross-validated likelihood, then closer.

The bandwidth that predicts labels best balances squared bias against variance, so its bias is
as large as its error: fine for a curve, wrong for a test, the more so as a test averages many
anchors, which lowers the error and not the bias. It is therefore narrowed by
``n^{1/(p+4) - 1/(p+2)}``, and never wider than ``1.2 n^{-1/(p+3)}`` spreads, since in samples of
usual size cross-validation likes to see a straight line where there is a gentle bend (theory
page, "Local likelihood").
"""

import numpy as np

from evenodds.model.local.distinct import distinct_counts
from evenodds.model.local.fits import fit_bandwidths
from evenodds.model.local.kernels import SPREAD
from evenodds.model.local.neighbourhood import LeftOut
from evenodds.model.local.surroundings import Surroundings
from evenodds.validation import FloatArray

# Widest bandwidth for a test, in spreads of the features: this times n^{-1/(p+3)}.
WIDEST = 1.2
# Bandwidths tried, from that one down, each this many times narrower.
LADDER = tuple(2 ** (-step / 2) for step in range(4))
# Rows that the search fits to and whose labels it predicts.
MOST_FITTED = 1000
SEED = 20231216
# A bandwidth must leave this many effective rows a parameter around most predicted rows.
ROWS_A_PARAMETER = 5


def choose_bandwidth(around: Surroundings, kernel: str) -> float:
    """Return the bandwidth for tests: cross-validated, carried to all rows, undersmoothed."""
    n_rows, n_features = _n_distinct(around), around.features.shape[1]
    sample = _sample(around)
    n_sampled = _n_distinct(sample)
    # A sample of fewer rows predicts best with a wider bandwidth, by this rate.
    carried = (n_sampled / n_rows) ** (1 / (n_features + 4))
    narrowed = carried * undersmoothing(n_rows, n_features)
    widest = WIDEST * n_rows ** (-1 / (n_features + 3)) / SPREAD[kernel]
    scores = cross_validation(sample, kernel, [widest / narrowed * step for step in LADDER])
    return float(widest_as_good(scores, n_sampled, sample.weights) * narrowed)


def widest_as_good(
    scores: dict[float, FloatArray], n_rows: float, weights: FloatArray | None = None
) -> float:
    """Return the widest bandwidth that predicts no worse than the best by a standard error.

    The error is that of `n_rows` distinct rows. Which of them is best is mostly chance; that
    they are all narrow enough is seen to elsewhere.
    """
    means = {bandwidth: np.average(each, weights=weights) for bandwidth, each in scores.items()}
    best = max(means, key=lambda bandwidth: means[bandwidth])
    for bandwidth in sorted(scores, reverse=True):
        losses = scores[best] - scores[bandwidth]
        loss = np.average(losses, weights=weights)
        spread = np.average((losses - loss) ** 2, weights=weights) / n_rows
        if loss <= np.sqrt(spread):
            return bandwidth
    return best


def undersmoothing(n_rows: float, n_features: int) -> float:
    """Return the factor that takes a bandwidth from the rate of prediction to that of tests."""
    return float(n_rows ** (1 / (n_features + 4) - 1 / (n_features + 2)))


def cross_validation(
    sample: Surroundings, kernel: str, bandwidths: list[float]
) -> dict[float, FloatArray]:
    """Return the log-likelihood of each label by a fit without its own row (or group).

    Bandwidths are given from the widest; those that leave most rows without neighbours are
    left out, the widest never.
    """
    n_rows, n_features = sample.features.shape
    own = np.arange(n_rows) if sample.groups is None else sample.groups
    left_out = LeftOut(own, own)
    tried = fit_bandwidths(
        sample, sample.features, bandwidths, kernel, left_out=left_out, dtype=np.float32
    )
    signs, enough = 2 * sample.labels - 1, ROWS_A_PARAMETER * (n_features + 1)
    return {
        fits.bandwidth: -np.logaddexp(0, -signs * fits.log_odds)
        for fits in tried
        if fits is tried[0] or np.median(fits.effective_rows) >= enough
    }


def _n_distinct(around: Surroundings) -> float:
    """Return how many rows there are, copies that weights stand for not counted."""
    if around.weights is None:
        return float(len(around))
    return float(distinct_counts(around.features, around.labels, around.weights).sum())


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
