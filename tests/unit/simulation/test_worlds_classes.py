"""Worlds of several classes."""

import numpy as np
import pytest
from tests.class_worlds import four_bells, relabel, uniform_flips

WORLD = four_bells(lopsided=True)


def side_share(points, positive, negative):
    heights = np.exp(WORLD.log_posterior(points))
    first = heights[:, list(positive)].sum(axis=1)
    return first / (first + heights[:, list(negative)].sum(axis=1))


@pytest.mark.parametrize("split", [((0,), (3,)), ((1,), (0, 2, 3)), ((0, 1), (2, 3))])
def test_toss_ups_are_even_between_their_sides(split):
    anchors = WORLD.draw_anchors(*split, 20, np.random.default_rng(0))
    assert side_share(anchors.points, *split) == pytest.approx(np.full(20, 0.5), abs=1e-9)


def test_a_tolerance_spreads_the_toss_ups():
    anchors = WORLD.draw_anchors((0,), (1,), 200, np.random.default_rng(0), tolerance=0.1)
    shares = side_share(anchors.points, (0,), (1,))
    assert np.abs(shares - 0.5).max() <= 0.1
    assert shares.std() == pytest.approx(0.1 / np.sqrt(3), rel=0.15)


def test_rows_come_in_their_shares_and_from_their_posterior():
    X, y = WORLD.draw_rows(40_000, np.random.default_rng(1))
    assert np.bincount(y) / len(y) == pytest.approx(WORLD.shares, abs=0.01)
    heights = np.exp(WORLD.log_posterior(X))
    posterior = heights / heights.sum(axis=1, keepdims=True)
    assert posterior[:, 2].mean() == pytest.approx((y == 2).mean(), abs=0.01)


def test_labels_are_flipped_at_their_rates():
    classes = np.repeat(np.arange(4), 20_000)
    given = relabel(classes, uniform_flips(4, 0.3), np.random.default_rng(2))
    seen = np.histogram2d(classes, given, bins=4)[0] / 20_000
    assert np.allclose(seen, uniform_flips(4, 0.3), atol=0.01)
