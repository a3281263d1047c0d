"""What is read off a table of z: intervals and equivalence say the same."""

import numpy as np
import pytest

import evenodds as eo
from evenodds.inference.noise_aware import Direction
from evenodds.inference.profile import Profile, Reference, find_root

MARGINS = np.linspace(0.005, 0.995, 100)
# z steps away before it is large; z comes back; z goes on beyond what is known on one side.
TABLES = {
    "ends early": Profile((-0.03, 0.0, 0.02), (2.9, 0.0, -2.2), 0.0),
    "comes back": Profile((-0.4, -0.2, 0.0, 0.1, 0.3), (1.0, 3.0, 0.0, -3.0, -0.5), 0.0),
    "ends on the wrong side": Profile((-0.1, 0.0, 0.1), (2.0, 0.5, 0.2), 0.1, (-0.5, 0.1)),
    "off the middle": Profile((-0.1, 0.0, 0.2, 0.4), (5.0, 3.0, 0.0, -4.0), 0.2),
}


@pytest.fixture(scope="module", params=[*TABLES, *range(6)])
def read(request):
    """Return the interval and the equivalence test of a table, or of a steep curve's labels."""
    if request.param in TABLES:
        profile, normal = TABLES[request.param], Reference()
        return (
            lambda level: profile.interval(level, "two-sided", normal),
            lambda margin: profile.equivalence(margin, normal).pvalue,
        )
    rng = np.random.default_rng(request.param)
    x = rng.standard_t(2, 250)
    y = (rng.random(250) < 1 / (1 + np.exp(-8 * x))).astype(int)
    result = eo.asymmetry_test(x[:, None], y, eo.Anchors([[0.0]], tolerance=0), method="joint")
    return result.confidence_interval, lambda margin: result.equivalence(margin).pvalue


def test_a_wider_margin_is_never_harder_to_show(read):
    pvalues = [read[1](margin) for margin in MARGINS]
    assert np.all(np.diff(pvalues) <= 1e-12)


@pytest.mark.parametrize("significance", [0.01, 0.05, 0.2])
def test_equivalence_is_shown_where_the_interval_lies_within_the_margin(read, significance):
    interval, equivalence = read
    ends = interval(1 - 2 * significance)
    within = [-margin < ends.low and ends.high < margin for margin in MARGINS]
    assert [equivalence(margin) < significance for margin in MARGINS] == within


def _jumping(asymmetry):
    """Return a statistic that falls slowly and jumps over 0 at 0.09."""
    z = 0.23 - asymmetry / 10 if asymmetry < 0.09 else -0.37 - asymmetry / 10
    return Direction(z, -0.1, z, 1.0, usable=True)


def test_a_jump_over_zero_is_no_root():
    estimate, there = find_root(_jumping, (-0.5, 0.5))
    assert estimate == pytest.approx(0.09, abs=1e-6)
    assert abs(there) > 0.2


@pytest.mark.parametrize("limit", [0.15, np.nextafter(0.15, 1), np.nextafter(0.15, 0)])
def test_a_limit_is_reached_up_to_rounding(limit):
    statistic = {0.0: 0.77, float(limit): 1.09}
    estimate, there = find_root(
        lambda asymmetry: Direction(statistic[asymmetry], 0.0, 0.0, 1.0, usable=True),
        (-0.85, float(limit)),
    )
    assert (estimate, there) == (float(limit), 1.09)
