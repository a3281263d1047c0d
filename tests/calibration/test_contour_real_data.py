"""Contours on defect tables with gold labels, where the noise of one release hides.

Posteriors are stated by a model of gold labels that may bend: those of all rows, of which every
labelling is then tested, or those of one half, of which the other is tested. Needs the folder named
by EVENODDS_DATA.
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

SPLITS = 10
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


def reached_on_halves(release, splits=SPLITS):
    """Count the answers, for each labelling of one half with anchors of the other."""
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
    return _shares(counts, splits)


def reached_on_all(release, draws=SPLITS):
    """Count the same with all rows, which supply the anchors too; uniform noise drawn anew."""
    X, gold, heuristic = _read(release)
    rng = np.random.default_rng(2021)
    anchors = stated_anchors(X, gold)
    counts = {name: Counter() for name in LABELLINGS}
    for _ in range(draws):
        noisy = eo.UniformNoise(0.2).flip(gold.astype(int), rng)
        counts["gold with uniform noise"][eo.contour_test(X, noisy, anchors).reached()] += 1
    for name, labels in (("gold", gold), ("heuristic", heuristic)):
        counts[name][eo.contour_test(X, labels, anchors).reached()] = draws
    return _shares(counts, draws)


def _shares(counts, times):
    return {
        name: {noise: n / times for noise, n in found.items()} for name, found in counts.items()
    }


def past_two_rates(found, name):
    """Return how often the ladder ends with noise that depends on the features."""
    return found[name].get("instance-dependent", 0.0)


RELEASES = ("camel", "lucene", "derby")


@pytest.fixture(scope="module", params=RELEASES)
def on_halves(request):
    return request.param, reached_on_halves(request.param)


@pytest.mark.parametrize("release", RELEASES)
def test_all_rows_tell_the_noise(release):
    """The noise of camel balances at the boundary, where a boundary test stays silent."""
    found = reached_on_all(release, draws=10)
    assert found["gold"] == {"clean": 1.0}
    assert found["heuristic"] == {"instance-dependent": 1.0}
    assert past_two_rates(found, "gold with uniform noise") <= 0.3


def test_gold_labels_of_a_half_rarely_seem_to_depend_on_the_features(on_halves):
    _, found = on_halves
    assert past_two_rates(found, "gold") <= 0.3
    assert past_two_rates(found, "gold with uniform noise") <= 0.3


def test_noise_of_a_half_that_depends_on_the_features_is_found(on_halves):
    """Half of camel's rows tell it in about half of the splits."""
    release, found = on_halves
    heuristic = past_two_rates(found, "heuristic")
    assert heuristic >= (0.3 if release == "camel" else 0.7)
    assert heuristic >= 2 * past_two_rates(found, "gold")


def test_noise_of_a_half_that_is_not_found_is_not_called_less(on_halves):
    _, found = on_halves
    assert sum(found["heuristic"].get(simpler, 0.0) for simpler in ("clean", "uniform")) <= 0.1


if __name__ == "__main__":
    for each in sys.argv[1:] or RELEASES:
        for rows, reached in (("all", reached_on_all), ("half", reached_on_halves)):
            for name, found in reached(each, 40).items():
                print(f"| {each} | {rows} | {name} | {found} |", flush=True)
