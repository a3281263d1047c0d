"""The paper's test through the front door. The formulas by hand are in golden/."""

import numpy as np
import pytest
from scipy import stats

import evenodds as eo


def strict(points):
    return eo.Anchors(points, tolerance=0)


@pytest.fixture(scope="module")
def noisy(labelled):
    """Lose one positive in three."""
    given = eo.ClassConditionalNoise(0.35, 0.0).flip(labelled.y, np.random.default_rng(1))
    return labelled.X, given


def test_lost_positives_make_the_statistic_negative(noisy, toss_ups, wald):
    assert wald(*noisy, toss_ups).statistic < -2


def test_the_statistic_is_that_of_one_strict_anchor(labelled, wald):
    fit = eo.fit_logistic(labelled.X, labelled.y)
    point = np.array([1.0, 0.5, -0.5])
    posterior = 1 / (1 + np.exp(-point @ fit.coefficients))
    expected = (posterior - 0.5) / np.sqrt(point @ fit.covariance @ point / 16)
    result = wald(labelled.X, labelled.y, strict([[0.5, -0.5]]))
    assert result.statistic == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("tolerance", "shared"), [(0, 0), (0.1, 0), (0, 0.2), (0.1, 0.2)])
@pytest.mark.parametrize("asymmetry", [-0.2, 0.0, 0.1])
def test_z_follows_the_formula_at_every_asymmetry(labelled, wald, tolerance, shared, asymmetry):
    fit = eo.fit_logistic(labelled.X, labelled.y)
    design = np.array([[1.0, 0.5, -0.5], [1.0, 0.0, 0.3]])
    errors = np.diag([tolerance**2 / 3] * 2) + shared**2 / 3
    slope = (1 - asymmetry**2) / 4 - (tolerance**2 + shared**2) / 3
    variance = (slope**2 * design @ fit.covariance @ design.T + errors).mean()
    mean = (1 / (1 + np.exp(-design @ fit.coefficients))).mean()
    expected = (mean - (1 + asymmetry) / 2) / np.sqrt(variance)
    anchors = eo.Anchors(design[:, 1:], tolerance=tolerance, shared_tolerance=shared)
    z = wald(labelled.X, labelled.y, anchors).profile(asymmetry)
    assert z == pytest.approx(expected, rel=1e-9)


def test_the_statistic_is_the_distance_in_standard_errors(noisy, toss_ups, wald):
    result = wald(*noisy, toss_ups)
    expected = (result.mean_posterior - 0.5) / result.standard_error
    assert result.statistic == pytest.approx(expected, rel=1e-12)


def test_the_asymmetry_is_twice_the_distance(noisy, toss_ups, wald):
    result = wald(*noisy, toss_ups)
    assert result.asymmetry == pytest.approx(2 * result.mean_posterior - 1, rel=1e-12)


@pytest.mark.parametrize(
    ("alternative", "tail"),
    [
        ("two-sided", lambda z: 2 * stats.norm.sf(abs(z))),
        ("greater", stats.norm.sf),
        ("less", stats.norm.cdf),
    ],
)
def test_the_pvalue_is_a_normal_tail(noisy, toss_ups, wald, alternative, tail):
    result = wald(*noisy, toss_ups, alternative=alternative)
    assert result.pvalue == pytest.approx(tail(result.statistic), rel=1e-12)


def test_the_method_has_no_flip_rates(noisy, toss_ups, wald):
    result = wald(*noisy, toss_ups)
    assert (result.alpha, result.beta) == (None, None)


def test_the_result_counts_what_it_was_given(noisy, toss_ups, wald):
    result = wald(*noisy, toss_ups)
    assert (result.n_rows, result.n_features, result.n_anchors) == (300, 2, 3)


def test_the_result_repeats_the_tolerances(noisy, wald):
    anchors = eo.Anchors([[0.0, 0.0], [1.0, -1.0]], tolerance=[0.02, 0.1], shared_tolerance=0.03)
    result = wald(*noisy, anchors)
    assert (result.tolerance, result.shared_tolerance) == ((0.02, 0.1), 0.03)


@pytest.mark.parametrize(
    "settings", [{"tolerance": 0.1}, {"tolerance": 0, "shared_tolerance": 0.1}]
)
def test_a_tolerance_widens_the_standard_error(noisy, wald, settings):
    exact = wald(*noisy, strict([[0.0, 0.0], [1.0, -1.0]]))
    relaxed = wald(*noisy, eo.Anchors([[0.0, 0.0], [1.0, -1.0]], **settings))
    assert relaxed.standard_error > exact.standard_error


def test_more_anchors_average_out_their_tolerance(noisy, wald):
    settings = {"tolerance": 0.2, "shared_tolerance": 0}
    one, many = (wald(*noisy, eo.Anchors([[0.0, 0.0]] * k, **settings)) for k in (1, 100))
    assert many.standard_error < one.standard_error / 1.5


def test_more_anchors_do_not_average_out_a_shared_tolerance(noisy, wald):
    settings = {"tolerance": 0, "shared_tolerance": 0.2}
    one, many = (wald(*noisy, eo.Anchors([[0.0, 0.0]] * k, **settings)) for k in (1, 100))
    assert many.standard_error == pytest.approx(one.standard_error, rel=1e-12)


def test_repeated_strict_anchors_are_no_news(noisy, wald):
    once = wald(*noisy, strict([[0.5, -0.5]]))
    thrice = wald(*noisy, strict([[0.5, -0.5]] * 3))
    assert thrice.statistic == pytest.approx(once.statistic, rel=1e-12)


def test_a_stated_posterior_other_than_one_half_is_refused(refused, noisy, wald):
    anchors = eo.Anchors([[0.0, 0.0], [1.0, 0.0]], posterior=[0.5, 0.7])
    text = "posterior is 0.7 but method 'wald' needs 0.5 everywhere: elsewhere uniform noise moves"
    with refused(text, eo.AnchorError):
        wald(*noisy, anchors)


@pytest.mark.parametrize("settings", [{}, {"tolerance": 0, "shared_tolerance": 0.01}])
def test_optimal_weights_are_refused_with_a_tolerance(refused, noisy, settings):
    text = "weights='optimal' needs strict anchors (tolerance 0): with a tolerance it favours"
    anchors = eo.Anchors([[0.0, 0.0]], **settings)
    with refused(text, eo.AnchorError):
        eo.asymmetry_test(*noisy, anchors, method=eo.Wald(weights="optimal"))


def test_optimal_weights_never_widen_the_standard_error(noisy, wald):
    anchors = strict([[0.0, 0.0], [3.0, -3.0], [-2.0, 2.0]])
    optimal = eo.asymmetry_test(*noisy, anchors, method=eo.Wald(weights="optimal"))
    assert optimal.standard_error < wald(*noisy, anchors).standard_error


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weights": "best"}, "weights is 'best' but must be one of 'equal' or 'optimal'."),
        (
            {"covariance": "hc0"},
            "covariance is 'hc0' but must be one of 'information' or 'sandwich'.",
        ),
    ],
)
def test_unknown_settings_are_answered_with_the_choices(refused, settings, message):
    with refused(message):
        eo.Wald(**settings)


@pytest.mark.parametrize(
    ("details", "name"),
    [({}, "information"), ({"groups": np.arange(300) // 2}, "grouped sandwich")],
)
def test_the_result_says_which_covariance_it_used(noisy, toss_ups, wald, details, name):
    assert wald(*noisy, toss_ups, **details).settings["covariance"] == name


@pytest.mark.parametrize("tolerance", [0, 0.05])
@pytest.mark.parametrize("far", [30.0, 1e3, -1e3, -1e6])
def test_an_anchor_far_from_the_data_still_gets_a_pvalue(labelled, wald, far, tolerance):
    result = wald(labelled.X, labelled.y, eo.Anchors([[far, far]], tolerance=tolerance))
    assert 0 <= result.pvalue <= 1


@pytest.mark.parametrize("tolerance", [0, 0.05])
def test_an_anchor_far_from_the_data_still_gets_an_interval(labelled, wald, tolerance):
    result = wald(labelled.X, labelled.y, eo.Anchors([[40.0, 40.0]], tolerance=tolerance))
    interval = result.confidence_interval()
    assert -1 <= interval.low <= result.asymmetry <= interval.high <= 1


def test_flattened_labels_are_a_concern():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(size=4000) * 2])
    true = rng.random(4000) < 1 / (1 + np.exp(-2 * X[:, 0]))
    given = eo.UniformNoise(0.2).flip(true.astype(int), rng)
    result = eo.asymmetry_test(X, given, eo.Anchors([[0.0]]), method="wald")
    (curve,) = [check for check in result.diagnostics if check.name == "curve"]
    assert curve.concern


def test_few_rows_of_the_rarer_label_are_a_concern(labelled, toss_ups, wald):
    few = wald(labelled.X[:40], labelled.y[:40], toss_ups)
    (rows,) = [check for check in few.diagnostics if check.name == "rows per parameter"]
    assert rows.concern


def test_many_rows_of_the_rarer_label_are_no_concern(labelled, toss_ups, wald):
    result = wald(labelled.X, labelled.y, toss_ups)
    (rows,) = [check for check in result.diagnostics if check.name == "rows per parameter"]
    assert not rows.concern


def test_weighted_rows_count_as_rows_of_the_rarer_label(labelled, toss_ups, wald):
    result = wald(labelled.X[:40], labelled.y[:40], toss_ups, sample_weight=np.full(40, 10))
    (rows,) = [check for check in result.diagnostics if check.name == "rows per parameter"]
    assert not rows.concern
