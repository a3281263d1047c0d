"""A small part of the level and power of the checks; the rest is `checks`."""

import numpy as np
import pytest
from scipy import stats

from tests.calibration.checks import AnchorCell, LinkCell
from tests.calibration.rare import most_rejections
from tests.calibration.result_checks import RESULT_CELLS


def _doubted(cell, runs):
    return int(np.sum([cell.flags(5, run)[0] for run in range(runs)]))


@pytest.mark.parametrize("noise", ["clean", "flips .25 / .05"])
def test_honest_anchors_are_rarely_doubted(noise):
    cell = AnchorCell("two features", noise, "honest", 12)
    assert _doubted(cell, 40) <= most_rejections(40, 2, 0.01)


@pytest.mark.parametrize(("kind", "k"), [("random rows", 12), ("random rows", 60)])
@pytest.mark.parametrize("world", ["one feature", "rare"])
def test_random_rows_are_no_toss_ups(world, kind, k):
    assert _doubted(AnchorCell(world, "uniform .2", kind, k), 12) >= 11


def test_one_wrong_anchor_of_twelve_is_seen():
    assert _doubted(AnchorCell("two features", "uniform .2", "one at 0.9", 12), 20) >= 16


def test_logistic_labels_rarely_look_bent():
    assert _doubted(LinkCell("two features", "clean", 2000), 60) <= most_rejections(60, 1, 0.01)


@pytest.mark.parametrize("bend", ["quadratic index", "interaction"])
def test_bends_are_seen(bend):
    assert _doubted(LinkCell(bend, "uniform .2", 8000), 6) >= 5


@pytest.mark.parametrize("check", ["curve (wald)", "audit fits"])
def test_checks_of_a_result_doubt_what_they_should(check):
    honest, *_, wrong = [cell for cell in RESULT_CELLS if cell.check == check]
    assert _doubted(honest, 25) <= most_rejections(25, 2, 0.01)
    assert _doubted(wrong, 15) >= stats.binom.ppf(1e-3, 15, wrong.asked)
