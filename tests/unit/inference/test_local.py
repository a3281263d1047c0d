"""The local test through the front door."""

import json

import numpy as np
import pytest
from tests.local_posteriors import local_posteriors

import evenodds as eo
from evenodds.errors import RankError
from evenodds.inference.asymmetry import null_statistic
from evenodds.inference.local import AnchorLine
from evenodds.model import local_fit
from evenodds.rows.memory import read_rows
from evenodds.simulation.worlds import two_bells

POINTS = np.array([[0.0, 0.0], [1.0, -1.0], [-0.8, 0.8]])
ENDS = np.array([[1.5, 1.5], [1.2, 1.8], [-1.5, -1.5], [-1.8, -1.2]])


@pytest.fixture(scope="module")
def lost():
    """3,000 rows of which 30% of positives and 10% of negatives are flipped."""
    rng = np.random.default_rng(8)
    X, true = two_bells().draw_rows(3000, rng)
    return X, eo.ClassConditionalNoise(0.3, 0.1).flip(true, rng)


@pytest.fixture(scope="module")
def found(lost):
    return eo.asymmetry_test(*lost, eo.Anchors(POINTS, shared_tolerance=0), method="local")


@pytest.fixture(scope="module")
def with_ends(lost):
    anchors = eo.Anchors(np.vstack([POINTS, ENDS]), posterior=[0.5] * 3 + [1, 1, 0, 0])
    return eo.asymmetry_test(*lost, anchors, method="local")


def check(result, name):
    return next(check for check in result.diagnostics if check.name == name)


def test_the_asymmetry_is_found(found):
    interval = found.confidence_interval()
    assert found.pvalue < 0.01
    assert interval.low < -0.2 < interval.high < 0


@pytest.mark.parametrize(("tolerance", "shared"), [(0, 0), (0.1, 0.05)])
@pytest.mark.parametrize("asymmetry", [-0.2, 0.0, 0.1])
def test_z_follows_the_formula(lost, tolerance, shared, asymmetry):
    X, y = lost
    anchors = eo.Anchors(POINTS, tolerance=tolerance, shared_tolerance=shared)
    result = eo.asymmetry_test(X, y, anchors, method=eo.Local(bandwidth=0.4))
    fits = local_posteriors(X, y.astype(float), POINTS, bandwidth=0.4)
    weights = np.full(3, 1 / 3)
    errors = np.diag([tolerance**2 / 3] * 3) + shared**2 / 3
    covariance = fits.covariance + (1 - abs(asymmetry)) ** 2 * errors
    expected = (fits.posterior.mean() - (1 + asymmetry) / 2) / np.sqrt(
        weights @ covariance @ weights
    )
    assert result.profile(asymmetry) == pytest.approx(expected, rel=1e-4)


def test_swapping_the_classes_flips_the_sign(lost, found):
    X, y = lost
    swapped = eo.asymmetry_test(X, 1 - y, eo.Anchors(POINTS, shared_tolerance=0), method="local")
    assert swapped.statistic == pytest.approx(-found.statistic, rel=1e-6)


def test_anchors_at_the_ends_give_both_rates(with_ends):
    alpha, beta = with_ends.flip_rates
    assert (alpha.name, beta.name) == ("alpha", "beta")
    assert alpha.low < 0.3 < alpha.high
    assert beta.low < 0.1 < beta.high
    assert (with_ends.alpha, with_ends.beta) == (alpha.estimate, beta.estimate)
    assert with_ends.beta - with_ends.alpha == pytest.approx(with_ends.asymmetry)
    assert "alpha = 0." in check(with_ends, "flip rates").message


def test_toss_ups_alone_give_no_rates(found):
    assert (found.alpha, found.beta, found.flip_rates) == (None, None, ())


def test_anchors_at_the_ends_sharpen_the_test(found, with_ends):
    widths = [result.confidence_interval() for result in (found, with_ends)]
    assert widths[1].high - widths[1].low < 0.8 * (widths[0].high - widths[0].low)


def test_a_line_is_read_by_least_squares():
    rng = np.random.default_rng(2)
    stated, noisy = np.array([0.0, 0.2, 0.5, 0.5, 1.0]), rng.random(5)
    line = AnchorLine(stated, noisy, np.eye(5), np.zeros((5, 5)))
    slope, intercept = np.polyfit(stated, noisy, 1)
    assert line.slope == pytest.approx(slope)
    assert line.height(0.5) == pytest.approx(intercept + slope / 2)
    gaps = noisy - intercept - slope * stated
    statistic, _, _ = line.departure(0.0)
    assert statistic == pytest.approx(gaps @ gaps)


def test_clean_labels_at_the_ends_leave_rates_near_zero():
    X, true = two_bells().draw_rows(3000, np.random.default_rng(5))
    anchors = eo.Anchors(
        np.vstack([POINTS, ENDS * 1.1]), posterior=[0.5] * 3 + [1, 1, 0, 0], tolerance=0
    )
    rates = eo.asymmetry_test(X, true, anchors, method="local").flip_rates
    assert all(rate.low == 0 and rate.high < 0.06 for rate in rates)


def test_a_result_survives_json(with_ends):
    again = eo.AsymmetryTestResult.from_dict(json.loads(json.dumps(with_ends.to_dict())))
    assert again == with_ends


def test_an_audit_is_for_other_methods(lost, refused):
    X, y = lost
    audit = eo.Audit(y[:50], y[:50])
    with refused("audit cannot be used with method 'local', which looks at the rows around"):
        eo.asymmetry_test(X, y, eo.Anchors(POINTS), method="local", audit=audit)


def test_the_statistic_alone_is_that_of_the_result(lost, found):
    z, _ = null_statistic(read_rows(*lost), eo.Anchors(POINTS, shared_tolerance=0), eo.Local())
    assert z == found.statistic


def test_one_feature_is_enough():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 1))
    true = (rng.random(3000) < 1 / (1 + np.exp(-3 * X[:, 0]))).astype(int)
    y = eo.ClassConditionalNoise(0.3, 0.0).flip(true, rng)
    result = eo.asymmetry_test(X, y, eo.Anchors([[0.0]]), method="local")
    assert result.asymmetry == pytest.approx(-0.3, abs=0.12)
    assert not [c for c in result.diagnostics if c.name in {"leave one out", "anchors and curve"}]


def test_a_frame_with_groups_and_weights_runs(lost):
    import pandas as pd

    X, y = lost
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y, "w": 2, "g": np.arange(len(y)) // 2})
    result = eo.asymmetry_test(
        frame, "y", eo.Anchors(pd.DataFrame({"b": [0.0], "a": [0.0]})), method="local",
        sample_weight="w", groups="g",
    )  # fmt: skip
    assert result.n_rows == 6000
    assert check(result, "groups").message.startswith("Rows come in 1,500 groups")


def test_an_anchor_that_disagrees_is_named(lost):
    odd = np.vstack([POINTS, [[1.2, 1.2]]])
    result = eo.asymmetry_test(*lost, eo.Anchors(odd), method="local")
    assert check(result, "anchors and curve").concern
    assert "anchor 4 is furthest off" in check(result, "anchors and curve").message


def test_a_falling_line_is_doubted(lost):
    anchors = eo.Anchors(ENDS, posterior=[0, 0, 1, 1])
    result = eo.asymmetry_test(*lost, anchors, method="local")
    assert "the wrong way round" in check(result, "flip rates").message


def test_positions_for_the_figure_stay_on_their_scale(with_ends):
    assert all(0 <= anchor.posterior <= 1 for anchor in with_ends.sketch.anchors)


def test_checks_say_what_the_verdict_rests_on(found):
    names = {check.name for check in found.diagnostics}
    assert {"tipping point", "bandwidth", "rows per parameter", "range of the data"} <= names
    assert "spreads of the features; the p-value is" in check(found, "bandwidth").message


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_one_sided_tests_look_one_way(lost, alternative):
    anchors = eo.Anchors(POINTS, shared_tolerance=0)
    result = eo.asymmetry_test(*lost, anchors, method="local", alternative=alternative)
    assert (result.pvalue < 0.01) == (alternative == "less")
    rejecting = "no longer reject" in check(result, "tipping point").message
    assert rejecting == (alternative == "less")


def test_anchors_on_one_side_are_refused(lost, refused):
    with refused("anchors are stated at 0.3 but method 'local' needs toss-ups", eo.AnchorError):
        eo.asymmetry_test(*lost, eo.Anchors(POINTS, posterior=0.3), method="local")


def test_one_point_stated_twice_and_strictly_is_refused(lost, refused):
    points, stated = [[0.0, 0.0], [1.0, -1.0], [-0.0, 0.0]], [0.3, 0.5, 0.7]
    message = "anchors 1 and 3 are the same point, stated at 0.3 and at 0.7, and strict: they"
    with refused(message, eo.AnchorError):
        eo.asymmetry_test(*lost, eo.Anchors(points, posterior=stated, tolerance=0), method="local")
    loose = eo.Anchors(points, posterior=stated, tolerance=0.1)
    assert eo.asymmetry_test(*lost, loose, method="local").n_anchors == 3
    same = eo.Anchors(points, posterior=[0.5] * 3, tolerance=0)
    assert eo.asymmetry_test(*lost, same, method="local").n_anchors == 3


def test_missing_values_are_refused(lost, refused):
    X = lost[0].copy()
    X[3, 1] = np.nan
    with refused("X has 1 missing value, the first in row 3, column 1"):
        eo.asymmetry_test(X, lost[1], eo.Anchors(POINTS), method="local")


def test_more_rows_than_memory_should_hold_are_refused(lost, refused, monkeypatch):
    monkeypatch.setattr(local_fit, "MOST_NUMBERS", 5000)
    with refused("X has 3,000 rows of 2 features, more than the 2,500 that a local fit holds"):
        eo.asymmetry_test(*lost, eo.Anchors(POINTS), method="local")


def test_columns_that_repeat_each_other_are_refused(lost, refused):
    X, y = lost
    twice, points = np.column_stack([X, X[:, 0]]), np.column_stack([POINTS, POINTS[:, 0]])
    with refused("columns 0, 2 of X repeat each other", RankError):
        eo.asymmetry_test(twice, y, eo.Anchors(points), method="local")
    summed = np.column_stack([X, 3 * X[:, 0] - X[:, 1] + 7])
    with refused("columns 0, 1, 2 of X repeat each other", RankError):
        eo.asymmetry_test(summed, y, eo.Anchors(points), method="local")


def test_many_features_get_advice(refused):
    X = np.random.default_rng(1).normal(size=(200, 6))
    with refused("Use fewer features, or method='boundary'."):
        eo.asymmetry_test(X, np.arange(200) % 2, eo.Anchors(X[:1]), method="local")


def test_plans_are_for_curves(refused):
    with refused("method is 'local' but plans are worked out for the tests that fit one curve"):
        eo.power(
            "rare", eo.ClassConditionalNoise(0.1, 0.2), n_rows=500, n_anchors=4, method="local"
        )


def test_it_is_printed_drawn_and_reported(with_ends, tmp_path, refused):
    assert "local (gaussian kernel" in str(with_ends)
    assert with_ends.plot("anchors") is not None
    assert with_ends.plot("power") is not None
    page = with_ends.report(tmp_path / "report.html").read_text()
    assert "a straight line of log-odds" in page
    assert "eo.Local(kernel=&#39;gaussian&#39;, bandwidth=0." in page
    for kind in ("fit", "boundary"):
        with refused("method 'local' fits no curve to all rows"):
            with_ends.plot(kind)


def test_a_bandwidth_that_would_be_refused_is_not_quoted(refused):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(150, 2))
    labels = (rng.random(150) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
    anchors = eo.Anchors([[0.0, 0.0], [0.0, 1.3]])

    def tried(bandwidth):
        found = eo.asymmetry_test(X, labels, anchors, method=eo.Local(bandwidth=bandwidth))
        return check(found, "bandwidth").message

    with refused("effective rows nearby"):
        tried(0.35 / 1.5)
    assert " at 0.23" not in tried(0.35)
    assert " at 0.33" in tried(0.5)
