import numpy as np
import pytest

import evenodds as eo
from evenodds.inference.profile import Reference
from evenodds.simulation.worlds import two_bells


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(2)
    world = two_bells(0.3)
    X, y = world.draw_rows(300, rng)
    labels = eo.UniformNoise(0.1).flip(y, rng)
    return X, labels, world.draw_anchors(2, rng, tolerance=0.05)


def _boundary(draws=39, seed=0, progress=None):
    return eo.Boundary("equal", "bootstrap", eo.Bootstrap(draws, seed, progress))


def test_the_pvalue_counts_draws_at_least_as_extreme():
    reference = Reference((-3.0, -1.0, 0.5, 2.5))
    found = [reference.pvalue(2.0, side) for side in ("two-sided", "greater", "less")]
    assert found == [3 / 5, 2 / 5, 4 / 5]


@pytest.mark.parametrize("draws", [(), (-3.0, -1.0, 0.5, 2.5)])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_a_withheld_statistic_has_no_pvalue(draws, alternative):
    assert np.isnan(Reference(draws).pvalue(float("nan"), alternative))


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_critical_values_reject_exactly_when_the_pvalue_does(alternative):
    rng = np.random.default_rng(0)
    reference = Reference(tuple(sorted(rng.normal(size=99))))
    for significance in (0.05, 0.1, 0.2):
        above, below = reference.critical(significance, alternative)
        for z in np.linspace(-4, 4, 161):
            beyond = {
                "two-sided": z > above or z < below,
                "greater": z > above,
                "less": z < below,
            }[alternative]
            assert beyond == (reference.pvalue(z, alternative) < significance)


def test_the_same_seed_gives_the_same_pvalue(small):
    pvalues = {eo.asymmetry_test(*small, method=_boundary(seed=5)).pvalue for _ in range(2)}
    assert len(pvalues) == 1


def test_progress_is_told(small):
    told = []
    eo.asymmetry_test(*small, method=_boundary(draws=150, progress=lambda *now: told.append(now)))
    assert told == [(100, 150), (150, 150)]


@pytest.mark.parametrize("method", [_boundary(99), eo.Joint("bootstrap", eo.Bootstrap(99))])
def test_the_interval_excludes_zero_exactly_when_the_test_rejects(small, method):
    result = eo.asymmetry_test(*small, method=method)
    for significance in (0.05, 0.2, 0.5):
        interval = result.confidence_interval(1 - significance)
        excluded = not interval.low <= 0 <= interval.high
        assert excluded == (result.pvalue < significance)


def test_a_result_with_draws_survives_json(small):
    result = eo.asymmetry_test(*small, method=_boundary())
    assert eo.AsymmetryTestResult.from_dict(result.to_dict()) == result


def test_joint_without_anchors_can_be_calibrated(small):
    X, labels, _ = small
    result = eo.asymmetry_test(X, labels, method=eo.Joint("bootstrap", eo.Bootstrap(39)))
    assert 1 / 40 <= result.pvalue <= 1


def test_groups_are_refused(small):
    X, labels, anchors = small
    with pytest.raises(eo.InputError, match="cannot be used with groups"):
        eo.asymmetry_test(X, labels, anchors, method=_boundary(), groups=np.arange(300) // 2)


def test_weights_are_refused(small):
    X, labels, anchors = small
    with pytest.raises(eo.InputError, match="repeat rows instead of weighting them"):
        eo.asymmetry_test(X, labels, anchors, method=_boundary(), sample_weight=np.full(300, 2))


def test_many_rows_are_refused(small, monkeypatch):
    monkeypatch.setattr("evenodds.inference.bootstrap.MOST_ROWS", 200)
    with pytest.raises(eo.InputError, match="is for small samples, and X has 300 rows"):
        eo.asymmetry_test(*small, method=_boundary())


def test_too_few_draws_are_refused():
    with pytest.raises(eo.InputError, match="draws is 5 but must be a whole number of at least 19"):
        eo.Bootstrap(draws=5)


def test_an_unknown_calibration_is_refused():
    with pytest.raises(eo.InputError, match="calibration is 'exact' but must be one of"):
        eo.Boundary(calibration="exact")
