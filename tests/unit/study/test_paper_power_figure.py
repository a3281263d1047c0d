import numpy as np
import pytest

from evenodds.model.logistic import fit_logistic
from evenodds.noise import ClassConditionalNoise
from evenodds.planning.expected_data import wald_centre
from evenodds.simulation.worlds import two_bells
from evenodds.study.paper import (
    ANCHOR_NUMBERS,
    PAPER_WORLD_FLOOR_SHARE,
    power_curve,
    power_figure,
)


def curves(panel):
    """Return the curves of a panel by their names."""
    return {line.get_label(): line.get_xydata() for line in panel.lines}


def test_there_is_one_curve_for_each_number_of_anchors():
    (panel,) = power_figure().axes
    assert [int(name) for name in curves(panel) if name.isdigit()] == sorted(
        ANCHOR_NUMBERS, reverse=True
    )


@pytest.mark.parametrize("k", ANCHOR_NUMBERS)
def test_curves_are_the_power_of_the_papers_test(k):
    (panel,) = power_figure().axes
    difference, power = curves(panel)[str(k)][60]
    noise = ClassConditionalNoise(difference + 0.1, 0.1)
    assert power == pytest.approx(wald_centre(noise, 0.1 / k).power(0.05, "two-sided"), rel=1e-9)


def test_only_the_size_of_the_difference_matters():
    differences = np.array([0.1, 0.4, 0.7])
    assert power_curve(differences, 0.01, 0.05) == pytest.approx(
        power_curve(-differences, 0.01, 0.05), rel=1e-12
    )


def test_every_curve_starts_at_the_level():
    (panel,) = power_figure().axes
    starts = [points[0] for name, points in curves(panel).items() if name.isdigit()]
    assert np.array(starts) == pytest.approx(np.array([[0, 0.05]] * len(ANCHOR_NUMBERS)), rel=1e-9)


def test_a_floor_is_drawn_beside_the_papers_figure():
    without, with_floor = power_figure(floor=0.02).axes
    assert curves(without)["1"] == pytest.approx(curves(with_floor)["1"], rel=1e-12)
    expected = wald_centre(ClassConditionalNoise(0.4, 0), 0.02 + 0.08 / 32).power(0.05, "two-sided")
    assert curves(with_floor)["32"][80] == pytest.approx([0.4, expected], rel=1e-9)


def test_the_floor_of_the_papers_world_is_that_of_a_fit():
    """Within 3%: two variances of one fit to 200,000 rows."""
    fit = fit_logistic(*two_bells().draw_rows(200_000, np.random.default_rng(1)))
    u = np.linspace(-4, 4, 2001)
    design = np.column_stack([np.ones_like(u), u, -u])
    variances = ((design @ fit.covariance) * design).sum(axis=1)
    assert variances[1000] / variances.mean() == pytest.approx(PAPER_WORLD_FLOOR_SHARE, rel=0.03)
