"""Anchors that all lean the same way: a small, seeded part of ``tests.calibration.leaning``."""

import pytest

from tests.calibration.leaning import AT_THE_EDGE, Cell, margin_and_half_width, most_rejections


def rejections(cell, runs):
    """Count the rejections of the first test of a cell, the boundary test told the tolerance."""
    return sum(cell.rejects(61, run)[0] for run in range(runs))


def test_leans_within_the_tolerance_keep_the_level():
    cell = Cell("three features", 2000, 6, edge=False)
    assert rejections(cell, 60) <= most_rejections(60, 1, 0.05)


def test_leans_at_the_very_edge_seldom_reject():
    cell = Cell("three features", 8000, 12, edge=True)
    assert rejections(cell, 30) <= most_rejections(30, 1, AT_THE_EDGE)


def test_the_claim_that_nothing_is_shared_would_break_the_level():
    """The reason for the default."""
    cell = Cell("paper, near", 8000, 6, edge=True)
    names = list(cell.tests)
    found = [cell.rejects(61, run)[names.index("none shared")] for run in range(20)]
    assert sum(found) >= 6


@pytest.mark.parametrize("method", ["boundary", "wald"])
def test_the_smallest_margin_is_what_many_rows_leave_of_the_interval(method):
    smallest, half_width = margin_and_half_width("paper, near", method, 200_000)
    assert smallest < half_width < 1.05 * smallest
