"""What anchors say beside the likelihood: constraints and a Gaussian term."""

import numpy as np
import pytest

from evenodds.model.noisy_likelihood import Evidence


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def _equations(rng, tolerance):
    """Return twelve equations about four coefficients: each is off by little, all by more."""
    design = np.column_stack([np.ones(12), rng.normal(size=(12, 3))])
    covariance = tolerance**2 * np.eye(12) + 0.01
    return design, rng.normal(size=12), covariance


@pytest.mark.parametrize("tolerance", [0.1, 1e-5])
def test_the_penalty_is_that_of_the_equations(rng, tolerance):
    design, targets, covariance = _equations(rng, tolerance)
    evidence = Evidence.of(design, targets, covariance)
    theta = rng.normal(size=4)
    off = design @ theta - targets
    assert evidence.penalty(theta) == pytest.approx(
        off @ np.linalg.solve(covariance, off) / 2, rel=1e-6
    )


def test_a_direction_known_ten_thousand_times_better_takes_no_digit_from_others(rng):
    design, _, covariance = _equations(rng, 1e-5)
    centre = np.array([0.3, -1.2, 2.5, 0.7])
    evidence = Evidence.of(design, design @ centre, covariance)
    loosest = np.argmin(evidence.roots)
    assert evidence.roots.max() > 1e4 * evidence.roots[loosest]
    moved = centre + 0.1 * evidence.basis[:, loosest]
    stiffness = evidence.roots[loosest] ** 2
    assert evidence.free_score(moved)[loosest] == pytest.approx(-0.1 * stiffness, rel=1e-9)
    assert evidence.penalty(moved) == pytest.approx(0.005 * stiffness, rel=1e-9)


def test_constraints_hold_and_the_rest_pulls(rng):
    design, targets, _ = _equations(rng, 0.1)
    evidence = Evidence.of(design[:3], targets[:3], np.diag([0.0, 0.0, 0.04]))
    assert evidence.basis.shape == (4, 2)
    theta = evidence.onto(rng.normal(size=4))
    assert design[:2] @ theta == pytest.approx(targets[:2], abs=1e-12)
    assert evidence.penalty(theta) == pytest.approx(
        (design[2] @ theta - targets[2]) ** 2 / 0.08, rel=1e-9
    )


def test_weaker_evidence_takes_off_less(rng):
    evidence = Evidence.of(*_equations(rng, 0.1))
    theta = rng.normal(size=4)
    assert evidence.scaled(0.25).penalty(theta) == pytest.approx(evidence.penalty(theta) / 4)
