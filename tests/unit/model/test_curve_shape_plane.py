"""Two features stand for all: exactly, as far as the curve is concerned."""

import numpy as np
import pytest

from evenodds.model.curve_shape import IndexShape, Projection
from evenodds.rows.memory import read_rows

COEFFICIENTS = np.array([0.3, 0.1, -2.0, 0.5, 1.0])


@pytest.fixture(scope="module", params=[False, True], ids=["as it is", "shifted"])
def seen(request):
    """Return rows, the shift of the curve, and the projection."""
    features = np.random.default_rng(3).normal(size=(500, 4)) * [1, 1, 2, 1] + 3
    shift = np.full(4, 2.5) if request.param else None
    rows = read_rows(features, np.arange(500) % 2)
    shape = IndexShape.of(rows, COEFFICIENTS, shift)
    return features, shift, shape, Projection.of(COEFFICIENTS, shift, shape)


def moved(features, shift):
    return features if shift is None else features - shift


def test_the_features_that_move_the_log_odds_most_are_chosen(seen):
    assert seen[3].features in {(1, 2), (1, 3)}


def test_every_row_keeps_its_log_odds(seen):
    features, shift, _, projection = seen
    inside = moved(features, shift)
    there = projection.intercept + projection.coordinates(inside) @ projection.slopes
    assert there == pytest.approx(COEFFICIENTS[0] + inside @ COEFFICIENTS[1:], rel=1e-12)


def test_the_first_feature_is_shown_in_its_own_units(seen):
    features, shift, _, projection = seen
    shown = projection.coordinates(moved(features, shift))[:, 0]
    assert shown == pytest.approx(features[:, projection.features[0]])


def test_the_second_keeps_its_mean(seen):
    features, shift, _, projection = seen
    shown = projection.coordinates(moved(features, shift))[:, 1]
    assert shown.mean() == pytest.approx(features[:, projection.features[1]].mean())


def test_the_shape_of_the_log_odds_is_that_of_the_rows(seen):
    features, shift, shape, _ = seen
    log_odds = COEFFICIENTS[0] + moved(features, shift) @ COEFFICIENTS[1:]
    assert (shape.mean, shape.spread) == pytest.approx((log_odds.mean(), log_odds.std()))


def test_cells_cover_three_spreads(seen):
    features, shift, _, projection = seen
    shown = projection.coordinates(moved(features, shift))
    widths = (projection.high - projection.low) / 6
    assert widths == pytest.approx(shown.std(axis=0))


def test_one_feature_that_matters_is_no_plane(seen):
    _, shift, shape, _ = seen
    assert Projection.of(np.array([1.0, 0, 2.0, 0, 0]), shift, shape) is None
