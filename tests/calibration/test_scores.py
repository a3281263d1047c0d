"""Why anchors are refused on a score, and components are no way out: a few runs of `scores.py`."""

import pytest
from scipy import stats

from tests.calibration.scores import rejections

RUNS = 20


@pytest.mark.parametrize("way", ["score, logistic", "components"])
def test_uniform_noise_is_rejected_on_other_columns(way):
    assert rejections(way, 0.3, RUNS) > RUNS / 2


def test_uniform_noise_is_not_rejected_on_the_right_columns():
    assert rejections("formula", 0.3, RUNS) <= stats.binom.ppf(0.999, RUNS, 0.05)
