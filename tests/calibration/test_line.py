"""A few runs of `line.py`: the level holds where a dispersion that is too small would break it."""

import pytest
from scipy import stats

from tests.calibration.line import Cell


@pytest.mark.parametrize(
    "cell",
    [
        Cell("wide", 60, 5, 0.25, 0.25),
        Cell("lopsided", 60, 5, 0.1, 0.1),
        Cell("wide", 60, 5, 0.0, 0.0),
        Cell("narrow", 120, 8, 0.1, 0.1, looked_up=True),
        Cell("even", 30, 3, 0.0, 0.0, 0.01, either=(0.005, 0.98), rows=5000),
    ],
    ids=lambda cell: cell.name,
)
def test_level_holds_under_uniform_noise(cell):
    rejected = cell.judge(72, range(150))[0]
    assert rejected <= stats.binom.ppf(1 - 1e-4, 150, 0.05)


def test_an_asymmetry_is_found_and_covered():
    found = Cell("wide", 60, 5, 0.05, 0.25).judge(73, range(100))[:2]
    assert found[0] > 80
    assert found[1] <= stats.binom.ppf(1 - 1e-4, 100, 0.05)


def test_intervals_hold_where_one_class_is_never_flipped():
    missed = Cell("wide", 60, 5, 0.0, 0.2).judge(75, range(150))[1]
    assert missed <= stats.binom.ppf(1 - 1e-4, 150, 0.05)
