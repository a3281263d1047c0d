"""What a result offers: intervals, equivalence, a dictionary and back."""

import dataclasses
import json

import numpy as np
import pytest
from scipy import special, stats

import evenodds as eo


@pytest.fixture(scope="module")
def result(labelled, toss_ups, wald):
    return wald(labelled.X, labelled.y, toss_ups)


@pytest.fixture(scope="module", params=["two-sided", "greater", "less"])
def any_result(request, labelled, toss_ups, wald):
    return wald(labelled.X, labelled.y, toss_ups, alternative=request.param)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.925, 0.95, 0.99, 0.999])
def test_z_is_critical_at_the_ends_of_the_interval(result, level):
    interval = result.confidence_interval(level)
    critical = stats.norm.ppf((1 + level) / 2)
    ends = [result.profile(interval.low), result.profile(interval.high)]
    assert ends == pytest.approx([critical, -critical], rel=1e-9)


@pytest.mark.parametrize(("alternative", "sign"), [("greater", 1), ("less", -1)])
def test_a_one_sided_interval_spends_all_its_error_on_one_side(
    labelled, toss_ups, wald, alternative, sign
):
    result = wald(labelled.X, labelled.y, toss_ups, alternative=alternative)
    interval = result.confidence_interval(0.95)
    end = interval.low if sign > 0 else interval.high
    assert result.profile(end) == pytest.approx(sign * stats.norm.ppf(0.95), rel=1e-9)


@pytest.mark.parametrize(
    ("alternative", "limits"), [("greater", (False, True)), ("less", (True, False))]
)
def test_a_one_sided_interval_is_unbounded_on_the_other_side(
    labelled, toss_ups, wald, alternative, limits
):
    interval = wald(labelled.X, labelled.y, toss_ups, alternative=alternative).confidence_interval()
    assert (interval.low_is_limit, interval.high_is_limit) == limits


def test_an_unbounded_side_ends_at_the_end_of_the_scale(labelled, toss_ups, wald):
    result = wald(labelled.X, labelled.y, toss_ups, alternative="greater")
    assert result.confidence_interval().high == 1.0


def test_the_interval_holds_the_estimate(any_result):
    interval = any_result.confidence_interval(0.8)
    assert interval.low < any_result.asymmetry < interval.high


def test_a_higher_level_widens_the_interval(result):
    widths = [
        result.confidence_interval(level).high - result.confidence_interval(level).low
        for level in np.linspace(0.05, 0.995, 40)
    ]
    assert (np.diff(widths) > 0).all()


def test_the_interval_repeats_its_level(result):
    assert result.confidence_interval(0.9).level == 0.9


@pytest.mark.parametrize("level", [0, 1, 95])
def test_an_impossible_level_is_refused(refused, result, level):
    with refused(f"level is {level} but must be above 0 and below 1."):
        result.confidence_interval(level)


@pytest.mark.parametrize("margin", [0.05, 0.1, 0.17, 0.4])
def test_equivalence_is_the_larger_of_two_one_sided_tests(result, margin):
    expected = max(stats.norm.cdf(result.profile(margin)), stats.norm.sf(result.profile(-margin)))
    assert result.equivalence(margin).pvalue == pytest.approx(expected, rel=1e-12)


def test_a_wider_margin_is_easier_to_show(result):
    pvalues = [result.equivalence(margin).pvalue for margin in np.linspace(0.01, 0.9, 50)]
    assert (np.diff(pvalues) <= 0).all()


@pytest.mark.parametrize("margin", [0, 1, -0.1])
def test_an_impossible_margin_is_refused(refused, result, margin):
    with refused(f"margin is {margin} but must be above 0 and below 1: it is a difference of rat"):
        result.equivalence(margin)


def test_the_retention_region_is_where_uniform_noise_is_retained(result):
    region = result.retention_region(0.1)
    reach = stats.norm.ppf(0.95) * result.standard_error
    assert (region.low, region.high) == pytest.approx((0.5 - reach, 0.5 + reach), rel=1e-12)


@pytest.mark.parametrize(("alternative", "open_end"), [("greater", "low"), ("less", "high")])
def test_a_one_sided_test_retains_all_that_lies_on_the_other_side(
    labelled, toss_ups, alternative, open_end
):
    region = eo.asymmetry_test(
        labelled.X, labelled.y, toss_ups, alternative=alternative
    ).retention_region()
    assert getattr(region, open_end) == {"low": 0.0, "high": 1.0}[open_end]
    closed = region.high if open_end == "low" else region.low
    assert 0 < abs(closed - 0.5) < 0.5


def test_the_region_of_one_anchor_is_that_of_the_test(labelled):
    result = eo.asymmetry_test(labelled.X, labelled.y, eo.Anchors([[0.0, 0.0]]))
    region = result.retention_region(0.1)
    alone = result.anchor_region(result.sketch.anchors[0], 0.1)
    assert (alone.low, alone.high) == pytest.approx((region.low, region.high), rel=1e-9)


def test_the_region_follows_the_bootstrap(labelled, toss_ups):
    method = eo.Boundary(calibration="bootstrap", bootstrap=eo.Bootstrap(draws=99))
    result = eo.asymmetry_test(labelled.X, labelled.y, toss_ups, method=method)
    above, _ = result.reference.critical(0.05, "two-sided")
    error = 4 * result.standard_error
    assert special.logit(result.retention_region().high) == pytest.approx(above * error, rel=1e-9)


def test_a_bootstrap_keeps_its_seed_and_draws(labelled, toss_ups):
    method = eo.Joint(calibration="bootstrap", bootstrap=eo.Bootstrap(draws=19, seed=4))
    result = eo.asymmetry_test(labelled.X, labelled.y, toss_ups, method=method)
    assert (result.settings["draws"], result.settings["seed"]) == ("19", "4")


def test_a_result_names_the_versions_that_made_it(result):
    assert result.versions.keys() == {"evenodds", "python", "numpy", "scipy"}
    assert result.versions["numpy"] == np.__version__


def test_an_impossible_significance_is_refused(refused, result):
    with refused("significance is 1 but must be above 0 and below 1."):
        result.retention_region(1)


def test_a_result_is_ready_for_json(result):
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["schema_version"] == 3


def test_a_result_survives_json(any_result):
    document = json.loads(json.dumps(any_result.to_dict()))
    assert eo.AsymmetryTestResult.from_dict(document) == any_result


def test_a_result_from_json_gives_the_same_interval(result):
    again = eo.AsymmetryTestResult.from_dict(json.loads(json.dumps(result.to_dict())))
    assert again.confidence_interval(0.93) == result.confidence_interval(0.93)


def test_json_with_sorted_keys_is_read_too(result):
    document = json.loads(json.dumps(result.to_dict(), sort_keys=True))
    assert eo.AsymmetryTestResult.from_dict(document) == result


@pytest.mark.parametrize("version", [None, 1, 2, "3"])
def test_another_schema_version_is_refused(refused, result, version):
    document = result.to_dict() | {"schema_version": version}
    text = f"this result has schema version {version!r} but this evenodds reads 3: test the data ag"
    with refused(text):
        eo.AsymmetryTestResult.from_dict(document)


def test_half_a_result_is_refused(refused, result):
    document = result.to_dict()
    del document["pvalue"]
    with refused("this result has no 'pvalue': it is not a whole test result."):
        eo.AsymmetryTestResult.from_dict(document)


def test_a_result_says_which_shared_tolerance_was_used(labelled):
    for stated, used in ((None, 0.05), (0, 0.0), (0.02, 0.02)):
        anchors = eo.Anchors([[0.0, 0.0]], shared_tolerance=stated)
        result = eo.asymmetry_test(labelled.X, labelled.y, anchors)
        assert (result.shared_tolerance, result.shared_is_default) == (used, stated is None)


@pytest.mark.parametrize("significance", [0.01, 0.05])
def test_the_smallest_margin_of_wald_is_that_of_its_anchors(labelled, wald, significance):
    anchors = eo.Anchors([[0.0, 0.0], [1.0, -1.0]], tolerance=0.04, shared_tolerance=0.03)
    result = wald(labelled.X, labelled.y, anchors)
    error = np.sqrt(0.04**2 / 6 + 0.03**2 / 3)
    expected = 2 * special.ndtri(1 - significance) * error
    assert result.smallest_margin(significance) == pytest.approx(expected, rel=1e-4)


def test_the_smallest_margin_of_the_local_test_shrinks_with_the_noise_it_supposes(labelled):
    """Solves margin / 2 = 1.645 (1 - margin) error where the labels are centred at 1/2."""
    X = np.vstack([labelled.X, -labelled.X])
    y = np.concatenate([labelled.y, 1 - labelled.y])
    result = eo.asymmetry_test(X, y, eo.Anchors([[0.0, 0.0]]), method="local")
    pull = 2 * special.ndtri(0.95) * np.sqrt(2 * 0.05**2 / 3)
    assert result.smallest_margin() == pytest.approx(pull / (1 + pull), rel=1e-3)


@pytest.mark.parametrize("method", ["boundary", "wald", "local"])
def test_a_margin_below_the_smallest_is_never_shown(labelled, method):
    anchors = eo.Anchors([[0.0, 0.0]])
    result = eo.asymmetry_test(labelled.X, labelled.y, anchors, method=method)
    interval = result.confidence_interval(0.9)
    assert 0 < result.smallest_margin() < (interval.high - interval.low) / 2
    assert result.equivalence(result.smallest_margin()).pvalue > 0.05


@pytest.mark.parametrize(
    ("settings", "method"),
    [({"tolerance": 0}, "boundary"), ({"tolerance": 0}, "wald"), ({}, "joint")],
)
def test_rows_alone_can_show_any_margin(labelled, settings, method):
    anchors = eo.Anchors([[0.0, 0.0], [1.0, -1.0]], **settings)
    assert eo.asymmetry_test(labelled.X, labelled.y, anchors, method=method).smallest_margin() == 0


def test_very_vague_anchors_show_no_margin(labelled, wald):
    result = wald(labelled.X, labelled.y, eo.Anchors([[0.0, 0.0]], tolerance=0.45))
    assert result.smallest_margin(0.01) == 1


def test_numbers_are_plain_python_numbers(result):
    assert {type(getattr(result, name)) for name in ("statistic", "pvalue", "asymmetry")} == {float}


def test_a_result_cannot_be_changed(result):
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.pvalue = 0.0


def test_a_result_holds_no_rows(result):
    assert len(json.dumps(result.to_dict())) < 20_000


def test_a_frame_has_the_numbers_and_the_interval_in_a_row(result):
    (row,) = result.to_frame(level=0.9).to_dict("records")
    interval = result.confidence_interval(0.9)
    assert (row["pvalue"], row["asymmetry"]) == (result.pvalue, result.asymmetry)
    assert (row["low"], row["high"]) == (interval.low, interval.high)


def test_a_frame_at_an_impossible_level_is_refused(refused, result):
    with refused("level is 1 but must be above 0 and below 1."):
        result.to_frame(1)


def test_a_part_that_is_not_whole_is_refused(refused, result):
    document = result.to_dict()
    del document["sketch"]["bins"]
    with refused("this result has no 'bins': it is not a whole test result."):
        eo.AsymmetryTestResult.from_dict(document)


def test_a_summary_is_read_at_its_level(result):
    assert result.summary() == str(result)
    assert "90% interval" in result.summary(significance=0.1)
