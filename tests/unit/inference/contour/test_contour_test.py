"""The contour test on small worlds with a known answer."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from tests.calibration.contour import FIVE, Cell, few_features, gentle, hard, rare, skewed

import evenodds as eo

CELL = Cell("skewed", skewed, 1500, 0.05, 0.2, "class-conditional", FIVE, 3)


@pytest.fixture(scope="module")
def drawn():
    X, labels, anchors, _ = CELL.draw(3, 0)
    return X, labels, anchors


@pytest.fixture(scope="module")
def result(drawn):
    return eo.contour_test(*drawn)


def _numbers(result):
    return [rung.statistic for rung in result.rungs] + [result.alpha, result.beta]


def test_the_simplest_noise_that_fits_is_reached(result):
    assert result.not_rejected() == "class-conditional"


def test_the_line_finds_the_flip_rates(result):
    for rate, true in (("alpha", 0.05), ("beta", 0.2), ("asymmetry", 0.15)):
        interval = result.confidence_interval(0.99, rate)
        assert interval.low < true < interval.high


def test_a_stricter_level_climbs_less(result):
    assert result.rungs[0].pvalue < 0.05
    assert result.not_rejected(1e-300) == "clean"


def test_the_pvalue_is_that_of_uniform_noise_in_the_sequence(result):
    assert result.pvalue == max(result.rungs[0].pvalue, result.rungs[1].pvalue)


def test_a_rung_is_twice_the_smaller_of_its_two_pvalues(result):
    line = result.rung("class-conditional")
    assert line.pvalue == min(1, 2 * min(line.contour_pvalue, result.agreement.pvalue))


def test_a_tolerance_grants_the_errors_of_all_cases_in_any_direction(drawn, result):
    X, labels, anchors = drawn
    pvalues = [result.agreement.pvalue]
    for tolerance in (1e-6, 0.02, 0.08):
        loose = eo.Anchors(anchors.points, posterior=anchors.posterior, tolerance=tolerance)
        pvalues.append(eo.contour_test(X, labels, loose).agreement.pvalue)
    assert pvalues[1] == pytest.approx(pvalues[0], rel=1e-4)
    assert pvalues[1] < pvalues[2] < pvalues[3]


def test_noise_that_balances_is_seen_within_a_tolerance():
    """Positives are flipped on one side of a feature, negatives on the other."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(5000, 2))
    true = rng.random(5000) < 1 / (1 + np.exp(-2 * X[:, 0] - X[:, 1]))
    labels = true ^ ((rng.random(5000) < 0.3) & (true == (X[:, 1] > 0)))
    stated, side = np.repeat(FIVE, 4), np.tile([-1.2, -0.4, 0.4, 1.2], 5)
    points = np.column_stack([(np.log(stated / (1 - stated)) - side) / 2, side])
    found = eo.contour_test(X, labels, eo.Anchors(points, posterior=stated))  # default tolerance
    assert found.reached() == "instance-dependent"


def test_hard_case_noise_within_a_tolerance_is_not_called_uniform():
    """Flips of 20 in 100 at a toss-up that the ladder takes for uniform noise."""
    cell = Cell("hard", hard(few_features), 2000, 0.2, 0.2, "instance-dependent", tolerance=0.05)
    found = eo.contour_test(*cell.draw(3, 1)[:3])
    assert found.not_rejected() == "uniform"
    assert found.reached() == "cannot tell"
    assert "hard cases" in [wider.noise for wider in found.not_ruled_out()]
    check = next(check for check in found.diagnostics if check.name == "wider noise")
    assert check.concern
    assert "hard-case noise (20 in 100 more flips at toss-ups than at" in check.message


def test_cases_that_could_not_be_compared_are_told(drawn):
    X, labels, anchors = drawn
    alone = eo.Anchors(anchors.points[::3], posterior=anchors.posterior[::3], tolerance=0)
    found = eo.contour_test(X, labels, alone)
    assert found.agreement is None
    check = next(check for check in found.diagnostics if check.name == "within contours")
    assert "every contour has one case; name several at each" in check.message
    assert check.concern


def test_the_result_survives_json(result):
    again = eo.ContourTestResult.from_dict(json.loads(json.dumps(result.to_dict())))
    assert again == result


def test_an_older_schema_is_refused(result):
    with pytest.raises(eo.InputError, match="schema version 0 but this evenodds reads 2"):
        eo.ContourTestResult.from_dict({**result.to_dict(), "schema_version": 0})


def test_a_part_of_a_result_is_refused(result):
    values = result.to_dict()
    del values["rungs"]
    with pytest.raises(eo.InputError, match="has no 'rungs': it is not a whole test result"):
        eo.ContourTestResult.from_dict(values)


def test_row_order_does_not_matter(drawn, result):
    X, labels, anchors = drawn
    order = np.random.default_rng(0).permutation(len(X))
    again = eo.contour_test(X[order], labels[order], anchors)
    assert _numbers(again) == pytest.approx(_numbers(result), rel=1e-6)


def test_units_do_not_matter(drawn, result):
    X, labels, anchors = drawn
    scale, shift = np.array([1000.0, 0.01]), np.array([5e4, -3.0])
    moved = eo.Anchors(
        anchors.points * scale + shift, posterior=anchors.posterior, tolerance=anchors.tolerance
    )
    again = eo.contour_test(X * scale + shift, labels, moved)
    assert _numbers(again) == pytest.approx(_numbers(result), rel=1e-4)


def test_swapping_the_classes_mirrors_the_line(drawn, result):
    X, labels, anchors = drawn
    mirrored = eo.Anchors(
        anchors.points, posterior=1 - anchors.posterior, tolerance=anchors.tolerance
    )
    again = eo.contour_test(X, 1 - labels, mirrored)
    assert (again.alpha, again.beta) == pytest.approx((result.beta, result.alpha), rel=1e-4)
    statistics = [rung.statistic for rung in result.rungs]
    assert [rung.statistic for rung in again.rungs] == pytest.approx(statistics, rel=1e-4)


def test_weights_are_repeated_rows(drawn):
    X, labels, anchors = drawn
    weights = np.random.default_rng(1).integers(1, 4, len(X))
    weighted = eo.contour_test(X, labels, anchors, sample_weight=weights)
    rows = np.repeat(np.arange(len(X)), weights)
    repeated = eo.contour_test(X[rows], labels[rows], anchors)
    assert _numbers(weighted) == pytest.approx(_numbers(repeated), rel=1e-6)
    assert weighted.n_rows == weights.sum()


def test_groups_widen_the_errors_of_repeated_rows(drawn, result):
    X, labels, anchors = drawn
    groups = np.repeat(np.arange(len(X)), 4)
    grouped = eo.contour_test(X[groups], labels[groups], anchors, groups=groups)
    errors = np.array([contour.standard_error for contour in grouped.contours])
    alone = np.array([contour.standard_error for contour in result.contours])
    assert errors == pytest.approx(alone, rel=0.25)


def test_a_file_gives_the_numbers_of_the_arrays(drawn, result, tmp_path):
    X, labels, anchors = drawn
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame.assign(label=labels).to_parquet(tmp_path / "rows.parquet")
    named = eo.Anchors(
        pd.DataFrame(anchors.points, columns=["a", "b"]), posterior=anchors.posterior, tolerance=0
    )
    found = eo.contour_test(str(tmp_path / "rows.parquet"), "label", named)
    assert _numbers(found) == pytest.approx(_numbers(result), rel=1e-9)


def test_a_formula_encodes_rows_and_anchors_alike(drawn, result):
    X, labels, anchors = drawn
    names = ["a", "b"]
    named = eo.Anchors(
        pd.DataFrame(anchors.points, columns=names), posterior=anchors.posterior, tolerance=0
    )
    frame = pd.DataFrame(X, columns=names)
    found = eo.contour_test(frame, labels, named, formula="b + a")
    assert _numbers(found) == pytest.approx(_numbers(result), rel=1e-6)


def test_the_local_engine_needs_no_index():
    """Labels that depend on a distance, which no straight index follows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2))
    true = 1 / (1 + np.exp(2 - 2 * (X**2).sum(axis=1)))
    labels = eo.UniformNoise(0.15).flip((rng.random(6000) < true).astype(int), rng)
    stated = np.repeat([0.3, 0.5, 0.7], 4)
    radius = np.sqrt(1 + np.log(stated / (1 - stated)) / 2)
    angle = rng.uniform(0, 2 * np.pi, 12)
    points = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    anchors = eo.Anchors(points, posterior=stated, tolerance=0)
    found = eo.contour_test(X, labels, anchors, engine="local")
    noisy = eo.UniformNoise(0.15).noisy_posterior([0.3, 0.5, 0.7])
    assert (found.engine, list(found.settings)) == ("local", ["bandwidth"])
    assert [contour.estimate for contour in found.contours] == pytest.approx(noisy, abs=0.05)


def test_two_contours_still_tell_uniform_noise():
    cell = Cell("rare", rare, 3000, 0.05, 0.3, "class-conditional", (0.3, 0.7), 1)
    X, labels, anchors, _ = cell.draw(1, 0)
    found = eo.contour_test(X, labels, anchors)
    line = found.rung("class-conditional")
    assert (line.df, line.pvalue) == (0, None)
    assert (found.not_rejected(), found.reached()) == ("class-conditional", "cannot tell")
    assert "A line runs through any two points" in found.diagnostics[0].message
    assert "With two contours any noise is a line" in " ".join(str(found).split())


def test_labels_surer_than_the_expert_are_doubted(drawn):
    X, _, anchors = drawn
    labels = (np.random.default_rng(2).random(len(X)) < skewed().posterior(X)).astype(int)
    timid = eo.Anchors(
        anchors.points, posterior=0.5 + 0.6 * (anchors.posterior - 0.5), tolerance=0.0
    )
    found = eo.contour_test(X, labels, timid)
    message = next(check.message for check in found.diagnostics if check.name == "direction")
    assert re.search(r"standard errors below zero, which no noise does", message)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"engine": "loess"}, "engine is 'loess' but must be one of 'spline' or 'local'"),
        ({"anchors": None}, "anchors is None but a contour test needs cases of stated posterior"),
        (
            {"probabilities": "score"},
            r"probabilities= is 'score', but a contour test takes no model's score: .*Give the "
            r"columns that the model learned from, or look up the truth of some rows \(audit_test",
        ),
        ({"anchors": [[0, 0]]}, "anchors is a list: wrap the points as evenodds.Anchors"),
    ],
)
def test_bad_input_gets_its_sentence(drawn, settings, message):
    X, labels, anchors = drawn
    with pytest.raises(eo.InputError, match=message):
        eo.contour_test(X, labels, **{"anchors": anchors, **settings})


def test_a_rate_that_is_none_is_refused(result):
    with pytest.raises(eo.InputError, match="rate is 'gamma' but must be 'alpha', 'beta'"):
        result.confidence_interval(rate="gamma")


def test_too_few_rows_of_a_label_are_refused(drawn):
    X, _, anchors = drawn
    labels = np.zeros(len(X), dtype=int)
    labels[:2] = 1
    with pytest.raises(eo.InputError, match="label 1 has only 2 rows"):
        eo.contour_test(X, labels, anchors)


def test_too_many_features_for_the_local_engine_are_refused():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    anchors = eo.Anchors(X[:3], posterior=[0.2, 0.5, 0.8])
    with pytest.raises(
        eo.InputError, match=r"6 features but a local fit takes at most 5: .*or engine='spline'\.$"
    ):
        eo.contour_test(X, rng.integers(0, 2, 300), anchors, engine="local")


def _messages(found, name):
    return [(check.message, check.concern) for check in found.diagnostics if check.name == name]


def test_a_tiny_sample_is_doubted():
    X, labels, anchors, _ = Cell("rare", rare, 120, 0.1, 0.1, "uniform", FIVE, 2).draw(7, 0)
    found = eo.contour_test(X, labels, anchors)
    [(message, concern)] = _messages(found, "slope")
    assert re.match(r"Only about \d+ rows lie on the slope of the curve, for 8 parameters", message)
    assert concern
    [(message, _)] = _messages(found, "share of labels")
    assert message.startswith("At 1 of 5 contours the fit leaves 0 to 1")


def test_labels_that_jump_are_doubted():
    """No slope at all: the likelihood of a noisy curve has no smooth maximum."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    labels = eo.UniformNoise(0.2).flip((X[:, 0] > 0).astype(int), rng)
    anchors = eo.Anchors([[-0.5, 0], [0, 0], [0.5, 0]], posterior=[0.2, 0.5, 0.8])
    [(message, concern)] = _messages(eo.contour_test(X, labels, anchors), "slope")
    assert message.startswith("No smooth noisy curve fits these rows")
    assert concern


def test_many_rows_are_searched_on_a_sample_and_finished_on_all():
    cell = Cell("rare", rare, 150_000, 0.1, 0.2, "class-conditional", FIVE, 2)
    X, labels, anchors, _ = cell.draw(5, 0)
    found = eo.contour_test(X, labels, anchors)
    assert found.reached() == "class-conditional"
    assert (found.alpha, found.beta) == pytest.approx((0.1, 0.2), abs=0.02)


def test_labels_too_noisy_for_their_number_are_doubted():
    noisy, plenty = (
        _messages(
            eo.contour_test(*Cell("gentle", gentle, n, 0.4, 0.4, "uniform").draw(8, 0)[:3]), "noise"
        )
        for n in (2000, 20_000)
    )
    assert re.search(
        r"are worth \d+ without noise, \d+ per parameter: below about 50, p-values may be too",
        noisy[0][0],
    )
    assert noisy[0][1]
    assert plenty == []


def test_a_shared_error_hides_no_noise_it_cannot_explain():
    X, labels, anchors, _ = Cell("skewed", skewed, 40_000, 0.1, 0.1, "uniform", FIVE, 3).draw(5, 0)
    loose = eo.Anchors(
        anchors.points, posterior=anchors.posterior, tolerance=0, shared_tolerance=0.09
    )
    # An error that all contours share moves them up or down, and cannot flatten them.
    assert eo.contour_test(X, labels, loose).reached() == "uniform"


def test_more_groups_than_contours_are_needed(drawn):
    X, labels, anchors = drawn
    with pytest.raises(eo.InputError, match="groups has 5 groups for 5 contours"):
        eo.contour_test(X, labels, anchors, groups=np.arange(len(labels)) % 5)


def test_what_cannot_be_tested_is_not_rejected(drawn):
    X, labels, _ = drawn
    same = eo.Anchors(np.zeros((3, 2)), posterior=[0.2, 0.5, 0.8], tolerance=0)
    found = eo.contour_test(X, labels, same)
    assert found.rung("uniform").pvalue is None
    assert found.pvalue == 1.0
    assert "too few of the contours are told apart" in " ".join(str(found).split())


def test_a_line_through_two_contours_is_never_claimed():
    cell = Cell("skewed", skewed, 3000, 0.05, 0.3, "class-conditional", (0.3, 0.7), 4)
    found = eo.contour_test(*cell.draw(6, 0)[:3])
    assert found.agreement is not None
    assert "two flip rates explain it" not in found._repr_html_()


def test_an_anchor_beyond_all_numbers_is_refused(drawn):
    X, labels, anchors = drawn
    points = anchors.points.copy()
    points[4, 0] = -1e300
    with pytest.raises(eo.AnchorError, match="anchor 5 lies so far outside the data"):
        eo.contour_test(X, labels, eo.Anchors(points, posterior=anchors.posterior, tolerance=0))


def test_dropped_rows_are_told(drawn):
    X, labels, anchors = drawn
    holes = X.copy()
    holes[:7, 1] = np.nan
    found = eo.contour_test(holes, labels, anchors, missing="drop")
    notes = [check.message for check in found.diagnostics if check.name == "data"]
    assert any("7 of 1,500 rows lack a value and were dropped" in note for note in notes)


def test_single_cases_are_kept_for_the_figure(drawn, result):
    X, labels, anchors = drawn
    assert [stated for stated, _ in result.cases] == sorted(anchors.posterior)
    crowd = eo.Anchors(
        np.repeat(anchors.points, 50, axis=0),
        posterior=np.repeat(anchors.posterior, 50),
        tolerance=0,
    )
    many = eo.contour_test(X, labels, crowd)
    assert 200 < len(many.cases) <= 300
    assert {stated for stated, _ in many.cases} == set(FIVE)


@pytest.mark.parametrize("tolerance", [0, 0.05])
@pytest.mark.parametrize("copies", [3, 7])
def test_copies_of_a_case_cannot_disagree(drawn, tolerance, copies):
    """What rounding leaves of equal features is no difference."""
    X, labels, anchors = drawn
    one = np.flatnonzero(np.r_[True, np.diff(anchors.posterior) > 0])
    points, stated = anchors.points[one], anchors.posterior[one]
    crowd = eo.Anchors(
        np.repeat(points, copies, axis=0), posterior=np.repeat(stated, copies), tolerance=tolerance
    )
    assert eo.contour_test(X, labels, crowd).agreement is None


def test_along_one_feature_there_is_nothing_to_compare(drawn):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2000, 1))
    labels = (rng.random(2000) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
    points = [[-1.0], [0.0], [1.0]]
    stated = 1 / (1 + np.exp(-2 * np.array([-1.0, 0.0, 1.0])))
    found = eo.contour_test(X, labels, eo.Anchors(points, posterior=stated))
    assert found.agreement is None
    assert "within contours" not in [check.name for check in found.diagnostics]
