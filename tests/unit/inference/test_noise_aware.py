"""What the noise-aware tests refuse, in words; golden and calibration hold their numbers."""

import numpy as np
import pytest

import evenodds as eo

CROSSED = [[0.0, 0.0], [1.0, -1.0], [1.0, 1.0]]


@pytest.mark.parametrize("method", ["boundary", "joint"])
@pytest.mark.parametrize("stated", [0, 1])
def test_a_certain_case_is_no_anchor(refused, labelled, method, stated):
    anchors = eo.Anchors([[0.0, 0.0], [1.0, 1.0]], posterior=[0.5, stated])
    text = f"posterior is {stated} at anchor 2 but this test needs them strictly between 0 and 1"
    with refused(text, eo.AnchorError):
        eo.asymmetry_test(labelled.X, labelled.y, anchors, method=method)


def test_the_boundary_test_needs_anchors(refused, labelled):
    text = "anchors is None but method 'boundary' needs at least one"
    with refused(text, eo.AnchorError):
        eo.asymmetry_test(labelled.X, labelled.y, method="boundary")


def test_strict_anchors_that_leave_nothing_to_fit_are_refused(refused, labelled):
    anchors = eo.Anchors(CROSSED, tolerance=0)
    text = "no straight boundary in 2 features passes through all 3 strict anchors, so nothing is"
    with refused(text, eo.AnchorError):
        eo.asymmetry_test(labelled.X, labelled.y, anchors, method="joint")


def test_strict_anchors_that_contradict_each_other_are_refused(refused, labelled):
    anchors = eo.Anchors([[0.0, 0.0], [0.0, 0.0]], posterior=[0.5, 0.6], tolerance=0)
    text = "the 2 strict anchors contradict each other: no straight boundary passes through all of"
    with refused(text, eo.AnchorError):
        eo.asymmetry_test(labelled.X, labelled.y, anchors, method="joint")


def test_a_tolerance_lets_crossed_anchors_pass(labelled):
    anchors = eo.Anchors(CROSSED, tolerance=0.05)
    result = eo.asymmetry_test(labelled.X, labelled.y, anchors, method="joint")
    assert 0 <= result.pvalue <= 1


def test_optimal_weights_are_refused_with_a_tolerance(refused, labelled, toss_ups):
    text = "weights='optimal' needs strict anchors (tolerance 0)"
    method = eo.Boundary(weights="optimal")
    with refused(text, eo.AnchorError):
        eo.asymmetry_test(labelled.X, labelled.y, toss_ups, method=method)


def test_unknown_weights_are_answered_with_the_choices(refused):
    with refused("weights is 'best' but must be one of 'equal' or 'optimal'."):
        eo.Boundary(weights="best")


@pytest.mark.parametrize("method", ["boundary", "joint"])
@pytest.mark.parametrize("place", [-3.0, 6.0])
@pytest.mark.parametrize("lost", [0.0, 0.3])
def test_a_misplaced_strict_anchor_contradicts_the_labels(labelled, method, place, lost):
    noise = eo.ClassConditionalNoise(lost, 0.0)
    given = noise.flip(labelled.y, np.random.default_rng(1))
    anchors = eo.Anchors([[place, place]], tolerance=0)
    result = eo.asymmetry_test(labelled.X, given, anchors, method=method)
    assert np.isnan(result.pvalue) if result.withheld else result.pvalue < 1e-6


@pytest.mark.parametrize("method", ["boundary", "joint"])
@pytest.mark.parametrize("lost", [0.0, 0.3])
def test_zero_is_never_the_estimate_of_a_test_that_rejects_it(labelled, method, lost):
    noise = eo.ClassConditionalNoise(lost, 0.0)
    given = noise.flip(labelled.y, np.random.default_rng(1))
    result = eo.asymmetry_test(labelled.X, given, eo.Anchors([[2.0, 2.0]]), method=method)
    assert result.withheld or abs(result.asymmetry) > 1e-6 or result.pvalue > 0.05


@pytest.mark.parametrize("units", [(1.38, 0.72), (1.9, 1.0), (1e-3, 1e4)])
def test_the_units_of_columns_do_not_matter_to_many_toss_ups(units):
    """Their places err by so many spreads of a column, whatever it is measured in."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 2))
    slopes = np.array([1.5, 1.0])
    true = rng.random(600) < 1 / (1 + np.exp(0.5 - X @ slopes))
    y = np.where(rng.random(600) < 0.2, ~true, true).astype(int)
    points = rng.normal(size=(100, 2))
    off = (points @ slopes - 0.5 - rng.uniform(-0.8, 0.8, 100)) / (slopes @ slopes)
    points -= off[:, None] * slopes

    def pvalue(units):
        anchors = eo.Anchors(points * units, tolerance=0.2)
        return eo.asymmetry_test(X * units, y, anchors, method="joint").pvalue

    assert pvalue(np.array(units)) == pytest.approx(pvalue(np.ones(2)), rel=1e-6)
