"""The statistic of a test alone."""

import numpy as np
import pytest

import evenodds as eo
from evenodds.inference.asymmetry import null_statistic
from evenodds.inference.noise_aware import FittedRows
from evenodds.rows.memory import read_rows

METHODS = {
    "wald": eo.Wald(),
    "wald, optimal": eo.Wald("optimal", "sandwich"),
    "boundary": eo.Boundary(),
    "boundary, optimal": eo.Boundary("optimal"),
    "joint": eo.Joint(),
}
STRICT = eo.Anchors([[0.0, 0.0], [1.0, -1.0]], tolerance=0)


@pytest.mark.parametrize("name", METHODS)
def test_the_statistic_is_that_of_the_front_door(labelled, name):
    z, _ = null_statistic(read_rows(labelled.X, labelled.y), STRICT, METHODS[name])
    expected = eo.asymmetry_test(labelled.X, labelled.y, STRICT, method=METHODS[name]).statistic
    assert z == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["wald", "boundary", "joint"])
def test_the_statistic_knows_groups(labelled, toss_ups, name):
    groups = np.arange(300) // 3
    rows = read_rows(labelled.X, labelled.y, groups=groups)
    z, _ = null_statistic(rows, toss_ups, METHODS[name])
    result = eo.asymmetry_test(
        labelled.X, labelled.y, toss_ups, method=METHODS[name], groups=groups
    )
    assert z == pytest.approx(result.statistic, rel=1e-9)


def test_joint_needs_no_anchors(labelled):
    z, _ = null_statistic(read_rows(labelled.X, labelled.y), None, eo.Joint())
    expected = eo.asymmetry_test(labelled.X, labelled.y, method="joint").statistic
    assert z == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("method", [eo.Boundary, eo.Joint])
def test_a_bootstrap_is_compared_with_its_draws(labelled, toss_ups, method):
    settings = method(calibration="bootstrap", bootstrap=eo.Bootstrap(draws=99, seed=1))
    z, reference = null_statistic(read_rows(labelled.X, labelled.y), toss_ups, settings)
    result = eo.asymmetry_test(labelled.X, labelled.y, toss_ups, method=settings)
    assert reference.pvalue(z, "two-sided") == result.pvalue


@pytest.mark.parametrize("name", ["boundary", "joint"])
def test_rows_fitted_before_are_taken_as_they_are(labelled, toss_ups, name):
    """Seen by giving the fit of other labels, which no caller should."""
    rows, others = read_rows(labelled.X, labelled.y), read_rows(labelled.X, 1 - labelled.y)
    z, _ = null_statistic(rows, toss_ups, METHODS[name], FittedRows.of(others))
    expected, _ = null_statistic(others, toss_ups, METHODS[name])
    assert z == expected


@pytest.mark.parametrize("name", ["wald", "boundary"])
def test_tests_at_anchors_are_refused_without(labelled, refused, name):
    with refused(f"anchors is None but method {name!r} needs at least one", eo.AnchorError):
        null_statistic(read_rows(labelled.X, labelled.y), None, METHODS[name])


@pytest.mark.parametrize("name", ["wald, optimal", "boundary, optimal"])
def test_optimal_weights_are_refused_with_a_tolerance(labelled, toss_ups, refused, name):
    with refused("weights", eo.AnchorError):
        null_statistic(read_rows(labelled.X, labelled.y), toss_ups, METHODS[name])


def test_the_papers_test_is_refused_off_one_half(labelled, refused):
    anchors = eo.Anchors([[1.0, 1.0]], posterior=0.9)
    with refused("posterior is 0.9 but method 'wald' needs 0.5 everywhere", eo.AnchorError):
        null_statistic(read_rows(labelled.X, labelled.y), anchors, eo.Wald())
