"""What the contour test doubts."""

import numpy as np
import pytest
from tests.calibration.contour import FIVE, Cell, skewed

import evenodds as eo
from evenodds.errors import RankError

CELL = Cell("skewed", skewed, 1500, 0.05, 0.2, "class-conditional", FIVE, 3)


@pytest.fixture(scope="module")
def drawn():
    X, labels, anchors, _ = CELL.draw(3, 0)
    return X, labels, anchors


def _direction(result):
    return next((check for check in result.diagnostics if check.name == "direction"), None)


def test_a_line_that_rises_is_no_concern(drawn):
    assert _direction(eo.contour_test(*drawn)) is None


def test_labels_the_wrong_way_round_are_doubted(drawn):
    X, labels, anchors = drawn
    check = _direction(eo.contour_test(X, 1 - labels, anchors))
    assert check.concern
    assert check.message.startswith("The line falls: the stated posteriors, or the labels, are")
    assert check.message.endswith(
        "Check which label is the positive one, and give it as positive=."
    )
    assert _direction(eo.contour_test(X, 1 - labels, anchors, positive=0)) is None


def test_labels_that_say_nothing_are_doubted(drawn):
    X, labels, anchors = drawn
    labels = np.random.default_rng(5).permutation(labels)
    check = _direction(eo.contour_test(X, labels, anchors))
    assert check.concern
    assert "The line is nearly flat: alpha + beta is " in check.message
    assert "so it may be 1, where labels say nothing of the true class" in check.message


def test_the_local_engine_refuses_columns_that_repeat_each_other(drawn, refused):
    X, labels, anchors = drawn
    points = np.column_stack([anchors.points, anchors.points[:, 0]])
    repeated = eo.Anchors(points, posterior=anchors.posterior)
    with refused(" of X repeat each other", RankError):
        eo.contour_test(np.column_stack([X, X[:, 0]]), labels, repeated, engine="local")


def test_the_local_engine_doubts_anchors_with_few_rows_nearby(drawn):
    X, labels, anchors = drawn
    kept = np.setdiff1d(np.arange(len(anchors)), [2, 14])  # which have hardly any row at all
    within = eo.Anchors(anchors.points[kept], posterior=anchors.posterior[kept])
    found = eo.contour_test(X[:400], labels[:400], within, engine="local")
    check = next(each for each in found.diagnostics if each.name == "neighbours")
    assert check.concern
    assert ": few (anchor " in check.message


def test_the_local_engine_sends_lonely_anchors_to_the_spline(drawn, refused):
    X, labels, anchors = drawn
    points = anchors.points.copy()
    points[0] = 50.0
    lonely = eo.Anchors(points, posterior=anchors.posterior)
    with refused("leave such anchors out, use engine='spline', or collect rows", eo.AnchorError):
        eo.contour_test(X, labels, lonely, engine="local")


def _of_levels(levels, n, seed=1):
    """Return rows along one feature with few values, and anchors between them."""
    rng = np.random.default_rng(seed)
    X = rng.choice(levels, (n, 1))
    true = rng.random(n) < 1 / (1 + np.exp(-1.7 * X[:, 0]))
    labels = np.where(rng.random(n) < 0.2, ~true, true).astype(int)
    stated = np.array([0.15, 0.3, 0.5, 0.7, 0.85])
    points = np.log(stated / (1 - stated))[:, None] / 1.7
    return X, labels, eo.Anchors(points, posterior=stated, tolerance=0)


def _places(found):
    return next((check for check in found.diagnostics if check.name == "places"), None)


@pytest.mark.parametrize("n_levels", [2, 3, 4])
def test_a_spline_between_few_values_is_doubted(n_levels):
    levels = np.linspace(-1.4, 1.4, n_levels)
    check = _places(eo.contour_test(*_of_levels(levels, 3000)))
    assert check.concern
    assert check.statistic < 4
    assert f"of the curve lie at about {check.statistic:.1f} places along it: " in check.message


def test_a_spline_between_many_values_is_not():
    assert _places(eo.contour_test(*_of_levels(np.linspace(-1.6, 1.6, 8), 3000))) is None


def test_a_spline_has_no_more_knots_than_there_are_places():
    X, labels, anchors = _of_levels(np.linspace(-1.5, 1.5, 6), 20_000)
    assert eo.contour_test(X, labels, anchors).settings["knots"] == "5"
