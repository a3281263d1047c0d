"""The power of a test like a finished one, by the size of a true asymmetry."""

import numpy as np
import pytest

import evenodds as eo
from evenodds.planning.achieved_power import could_have_found, power_curve


@pytest.fixture(scope="module", params=["two-sided", "greater", "less"])
def result(request, labelled, toss_ups, wald):
    return wald(labelled.X, labelled.y, toss_ups, alternative=request.param)


def test_the_curve_starts_at_the_level_and_rises(result):
    curve = power_curve(result, significance=0.1)
    assert (curve.asymmetries[0], curve.powers[0]) == (0, 0.1)
    assert (np.diff(curve.asymmetries) > 0).all()
    assert (np.diff(curve.powers) > 0).all()
    assert curve.powers[-1] > 0.99


@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_what_could_have_been_found_lies_on_the_curve(result, power):
    curve = power_curve(result)
    reach = could_have_found(result, power=power)
    assert np.interp(reach, curve.asymmetries, curve.powers) == pytest.approx(power, abs=0.002)


def test_power_is_that_of_a_normal_test(labelled, toss_ups, wald):
    """Small asymmetries: z is straight, and its power that of a shifted normal."""
    from scipy import stats

    result = wald(labelled.X, labelled.y, toss_ups)
    curve = power_curve(result)
    slope = (result.profile(-0.02) - result.profile(0.02)) / 0.04
    shift = slope * np.array(curve.asymmetries[1:20])
    expected = stats.norm.sf(1.96 - shift) + stats.norm.cdf(-1.96 - shift)
    assert curve.powers[1:20] == pytest.approx(expected, abs=0.02)


def test_too_few_draws_to_reject_find_nothing(labelled, toss_ups):
    method = eo.Boundary(calibration="bootstrap", bootstrap=eo.Bootstrap(draws=19))
    result = eo.asymmetry_test(labelled.X, labelled.y, toss_ups, method=method)
    curve = power_curve(result, significance=0.01)
    assert curve.asymmetries == (0.0,)
    assert could_have_found(result, significance=0.01) is None
