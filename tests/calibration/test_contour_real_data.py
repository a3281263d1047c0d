"""Contours on defect tables with gold labels, where the noise of one release hides.

Half of the rows supply stated posteriors, through a model of their gold labels that may bend; the
other half is tested under each labelling. Needs the folder named by EVENODDS_DATA.
"""

import sys
from collections import Counter

import numpy as np
import pytest

import evenodds as eo
from tests.calibration.test_real_data import FOLDER, _read

pytestmark = pytest.mark.skipif(
    not FOLDER, reason="EVENODDS_DATA is not set: no real data to test on"
)

SPLITS = 20
LABELLINGS = ("gold", "gold with uniform noise", "heuristic")


def stated_anchors(X, gold):
    """State posteriors by a logistic curve with bends in its index, with their covariance."""
    index = np.clip(eo.fit_logistic(X, gold).log_odds(X), -4, 4)
    bent = np.column_stack([X, index**2, index**3])
    fit = eo.fit_logistic(bent, gold)
    posterior = 1 / (1 + np.exp(-fit.log_odds(bent)))
    chosen = np.flatnonzero((posterior > 0.05) & (posterior < 0.95))
    slopes = (posterior * (1 - posterior))[chosen]
    covariance = fit.log_odds_covariance(bent[chosen]) * np.outer(slopes, slopes)
    return eo.Anchors(
        X[chosen], posterior=posterior[chosen], tolerance=0, source_covariance=covariance
    )


def reached(release, splits=SPLITS):
    """Count where the ladder stops, for each labelling."""
    X, gold, heuristic = _read(release)
    rng = np.random.default_rng(2021)
    counts = {name: Counter() for name in LABELLINGS}
    for _ in range(splits):
        order = rng.permutation(len(X))
        one, other = order[: len(X) // 2], order[len(X) // 2 :]
        anchors = stated_anchors(X[one], gold[one])
        noisy = eo.UniformNoise(0.2).flip(gold[other].astype(int), rng)
        labellings = (gold[other], noisy, heuristic[other])
        for name, labels in zip(LABELLINGS, labellings, strict=True):
            counts[name][eo.contour_test(X[other], labels, anchors).reached()] += 1
    return {
        name: {noise: n / splits for noise, n in found.items()} for name, found in counts.items()
    }


def past_two_rates(found, name):
    """Return how often the ladder ends with noise that depends on the features."""
    return found[name].get("instance-dependent", 0.0)


@pytest.fixture(scope="module", params=["camel", "lucene", "derby"])
def rates(request):
    return request.param, reached(request.param)


def test_gold_labels_rarely_look_as_if_noise_depended_on_the_features(rates):
    _, found = rates
    assert past_two_rates(found, "gold") <= 0.3
    assert past_two_rates(found, "gold with uniform noise") <= 0.3


def test_noise_that_depends_on_the_features_is_found(rates):
    """On camel it balances at the boundary: cases of one contour give it away, if at all."""
    release, found = rates
    heuristic = past_two_rates(found, "heuristic")
    assert heuristic >= (0.3 if release == "camel" else 0.7)
    assert heuristic >= 2 * past_two_rates(found, "gold")


if __name__ == "__main__":
    for each in sys.argv[1:] or ("camel", "lucene", "derby"):
        for name, found in reached(each, splits=40).items():
            print(f"| {each} | {name} | {found} |", flush=True)
