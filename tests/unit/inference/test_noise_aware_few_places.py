"""Rows in few distinct places: what their labels cannot tell is not told."""

import json

import numpy as np
import pytest

import evenodds as eo
from evenodds.inference.asymmetry import null_statistic
from evenodds.rows.memory import read_rows

WHY = "rows lie in too few distinct places"
STRICT = eo.Anchors([[0.7]], tolerance=0)


def _two_places(seed, n=2000):
    """Return one 0/1 column and labels of which 20% are flipped, whatever the class."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, n).astype(float)
    true = rng.random(n) < 1 / (1 + np.exp(-3 * (x - 0.7)))
    return x[:, None], np.where(rng.random(n) < 0.2, ~true, true).astype(int)


def _four_sites(seed, n=4000):
    """Return the names of four sites and labels of which 20% are flipped, whatever the class."""
    rng = np.random.default_rng(seed)
    site = rng.integers(0, 4, n)
    true = rng.random(n) < np.array([0.03, 0.5, 0.5, 0.97])[site]
    given = np.where(rng.random(n) < 0.2, ~true, true).astype(int)
    return np.array(["north", "east", "south", "west"])[site][:, None], given


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 3])
def test_two_places_tell_no_asymmetry_by_the_shape(seed, turned):
    X, y = _two_places(seed)
    result = eo.asymmetry_test(X, 1 - y if turned else y, STRICT, method="joint")
    assert WHY in result.withheld
    assert np.isnan([result.statistic, result.pvalue]).all()
    told = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert (told["statistic"], told["pvalue"], told["asymmetry"]) == (None, None, None)
    assert WHY in result.summary()
    assert "Add columns that take more values." in result.summary()


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_four_sites_without_anchors_tell_no_asymmetry(seed, turned):
    X, y = _four_sites(seed)
    sites = (np.array(["east", "south", "west"]) == X).astype(float)
    result = eo.asymmetry_test(sites, 1 - y if turned else y, method="joint")
    assert WHY in result.withheld


def test_the_statistic_alone_is_withheld_too():
    X, y = _two_places(0)
    z, _ = null_statistic(read_rows(X, y), STRICT, eo.Joint())
    assert np.isnan(z)


def test_groups_make_no_places():
    X, y = _two_places(0)
    groups = np.arange(len(y)) // 20
    result = eo.asymmetry_test(X, y, STRICT, method="joint", groups=groups)
    assert WHY in result.withheld


def test_draws_that_tell_nothing_are_no_evidence():
    """Rows of one place more: the test stands, while some draws may fall where none does."""
    X, y = _two_places(2, 200)
    method = eo.Joint(calibration="bootstrap", bootstrap=eo.Bootstrap(draws=99, seed=1))
    _, reference = null_statistic(read_rows(X, y), STRICT, method)
    assert np.abs(reference.draws).max() < 10


def test_the_companion_says_that_it_is_not_available():
    X, y = _two_places(0)
    result = eo.asymmetry_test(X, y, STRICT)
    said = next(check for check in result.diagnostics if check.name == "boundary and joint")
    assert said.message.startswith(f"The joint test is not available: {WHY}")
    assert said.pvalue is None
    assert not said.concern


@pytest.mark.parametrize("slope", [0.0, 0.05, 0.2, 1.0, 8.0])
def test_a_column_of_many_values_tells_something_however_steep(slope):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1000, 2))
    y = (rng.random(1000) < 1 / (1 + np.exp(-slope * X[:, 0]))).astype(int)
    result = eo.asymmetry_test(X, y, eo.Anchors([[0.0, 0.0]]), method="joint")
    assert WHY not in (result.withheld or "")


def test_a_climb_that_goes_on_never_ends_lower():
    """Toss-ups on a line that is exact let the curve steepen without end, up to its last digit."""
    rng = np.random.default_rng(58)
    X = rng.integers(0, 3, (120, 2)).astype(float)
    true = rng.random(120) < 1 / (1 + np.exp(-3 / np.sqrt(2) * X.sum(axis=1)))
    flipped = np.where(true, rng.random(120) < 0.3, rng.random(120) < 0.05)
    y = np.where(flipped, ~true, true).astype(int)
    points = X[rng.integers(0, 120, 8)]
    points -= points.sum(axis=1)[:, None] / 2
    anchors = eo.Anchors(points, tolerance=0.05)
    one, other = (eo.asymmetry_test(X, given, anchors, method="joint") for given in (y, 1 - y))
    assert one.statistic == pytest.approx(-other.statistic, abs=0.02)


def _both(X, y, anchors, method):
    one, other = (eo.asymmetry_test(X, given, anchors, method=method) for given in (y, 1 - y))
    return one, other


@pytest.mark.parametrize("tolerance", [0, 0.05])
@pytest.mark.parametrize("seed", range(4))
def test_two_places_tell_no_flip_rates(seed, tolerance):
    """With a few more of one class among them than among others a curve is steeper, not noisier."""
    X, y = _two_places(seed)
    for result in _both(X, y, eo.Anchors([[0.7]], tolerance=tolerance), "boundary"):
        assert not result.withheld
        assert result.pvalue > 0.01
        assert (result.alpha, result.beta) == (None, None)


@pytest.mark.parametrize("method", ["boundary", "joint"])
def test_four_sites_with_two_anchors_tell_no_flip_rates(method):
    X, y = _four_sites(0)
    sites = (np.array(["east", "south", "west"]) == X).astype(float)
    anchors = eo.Anchors([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], tolerance=0)
    for result in _both(sites, y, anchors, method):
        assert (result.alpha, result.beta) == (None, None)


@pytest.fixture(scope="module")
def without_rates():
    X, y = _two_places(2)
    return eo.asymmetry_test(X, y, STRICT)


def test_a_check_says_why_there_are_no_rates(without_rates):
    said = next(check for check in without_rates.diagnostics if check.name == "noise rate")
    assert said.message.startswith("These data cannot tell how often labels are flipped")
    assert not said.concern


def test_a_result_without_rates_is_shown_whole(without_rates, tmp_path):
    assert "flip rates  " not in without_rates.summary()
    told = json.loads(json.dumps(without_rates.to_dict(), allow_nan=False))
    assert (told["alpha"], told["beta"]) == (None, None)
    assert eo.AsymmetryTestResult.from_dict(told) == without_rates
    page = without_rates.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "cannot tell how often labels are flipped" in page
    without_rates.plot("evidence")


@pytest.mark.parametrize("kind", ["fit", "boundary"])
def test_what_rests_on_rates_is_not_drawn_without_them(without_rates, refused, kind):
    with refused("the rows do not tell the flip rates"):
        without_rates.plot(kind)


def test_no_flips_are_ranked_without_rates(without_rates, refused):
    X, y = _two_places(2)
    with refused("flip_probability needs flip rates: These data cannot tell how often labels are"):
        without_rates.flip_probability(X, y)


@pytest.mark.parametrize("method", ["boundary", "joint"])
@pytest.mark.parametrize("n", [500, 2000])
def test_a_column_of_many_values_tells_flip_rates(method, n):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, 2))
    true = rng.random(n) < 1 / (1 + np.exp(-2 * X[:, 0]))
    y = np.where(rng.random(n) < 0.2, ~true, true).astype(int)
    result = eo.asymmetry_test(X, y, eo.Anchors([[0.0, 0.0]]), method=method)
    assert result.withheld or result.alpha is not None
