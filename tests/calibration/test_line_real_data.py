"""The line on defect tables with gold labels: boosted scores, 60 looked-up cases.

Needs the folder named by EVENODDS_DATA.
"""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

import evenodds as eo
from tests.calibration.test_real_data import FOLDER, _read

pytestmark = pytest.mark.skipif(
    not FOLDER, reason="EVENODDS_DATA is not set: no real data to test on"
)

# Draws of cases for one set of scores.
DRAWS_A_FIT = 4


def judged(X, given, gold, draws, seed):
    """Return whether equal flips are rejected, and the asymmetry, for each draw of cases."""
    found = []
    for number in range(draws):
        if number % DRAWS_A_FIT == 0:
            model = HistGradientBoostingClassifier(max_iter=60, random_state=seed + number)
            scores = eo.out_of_fold_scores(X, given, estimator=model, seed=seed + number)
        cases = eo.choose_cases(scores, n_cases=60, seed=seed + number)
        result = eo.line_test(scores, given, cases, gold[cases.rows], answers="looked-up")
        found.append((result.pvalue < 0.05, result.asymmetry))
    return np.array(found, dtype=float)


def of_heuristic_labels(release, draws):
    X, gold, heuristic = _read(release)
    return judged(X, heuristic.astype(int), gold.astype(float), draws, 0)


def of_uniform_noise(release, noises):
    """Return the same for gold labels with uniform flips of .2, two draws each."""
    X, gold, _ = _read(release)
    rng = np.random.default_rng(5)
    flips = [eo.UniformNoise(0.2).flip(gold.astype(int), rng) for _ in range(noises)]
    return np.concatenate(
        [judged(X, given, gold.astype(float), 2, 100 * k) for k, given in enumerate(flips)]
    )


def test_the_flips_of_a_heuristic_are_found():
    assert of_heuristic_labels("derby", 4)[:, 0].mean() > 0.5


def test_uniform_noise_is_rarely_rejected():
    assert of_uniform_noise("derby", 3)[:, 0].sum() <= 2


if __name__ == "__main__":
    for each in ("derby", "lucene"):
        for name, found in (
            ("heuristic", of_heuristic_labels(each, 40)),
            ("gold with uniform noise", of_uniform_noise(each, 20)),
        ):
            rejected, median = found[:, 0].mean(), np.nanmedian(found[:, 1])
            print(f"| {each} | {name} | {rejected:.3f} | {median:+.3f} |", flush=True)
