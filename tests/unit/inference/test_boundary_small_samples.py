"""Few rows, odd rows, far anchors: results stay consistent, refusals stay clear."""

import json

import numpy as np
import pytest

import evenodds as eo


def _draw(n, p, seed):
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 2, n)
    X = rng.normal(size=(n, p)) + 0.7 * (2 * true - 1)[:, None]
    return X, eo.ClassConditionalNoise(0.2, 0.1).flip(true, rng), eo.Anchors(np.zeros((1, p)))


@pytest.fixture(scope="module", params=["boundary", "joint"])
def results(request):
    cases = [(n, p) for n in (50, 200) for p in (1, 2, 5)]
    return [eo.asymmetry_test(*_draw(*case, 0), method=request.param) for case in cases]


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_the_interval_excludes_zero_exactly_when_the_test_rejects(results, level):
    for result in results:
        interval = result.confidence_interval(level)
        assert (interval.low <= 0 <= interval.high) == (not result.pvalue < 1 - level)


def test_equivalence_is_a_probability_wherever_the_profile_ends(results):
    for result in results:
        pvalues = [result.equivalence(margin).pvalue for margin in (0.05, 0.5, 0.99)]
        assert np.isnan(pvalues).all() if result.withheld else all(0 <= p <= 1 for p in pvalues)


def test_results_are_valid_json(results):
    for result in results:
        again = json.loads(json.dumps(result.to_dict(), allow_nan=False))
        assert eo.AsymmetryTestResult.from_dict(again) == result


def test_flip_rates_are_rates(results):
    shown = [result for result in results if result.alpha is not None]
    assert len(shown) > 1
    for result in shown:
        assert 0 <= result.alpha < 1
        assert 0 <= result.beta < 1


def test_posteriors_are_probabilities():
    result = eo.asymmetry_test(*_draw(1000, 2, 0))
    region = result.retention_region()
    assert 0 < region.low < result.stated_posterior < region.high < 1


def test_without_a_root_no_number_is_shown(tmp_path):
    result = eo.asymmetry_test(*_draw(100, 2, 0))
    assert (result.asymmetry, result.alpha, result.beta) == (None, None, None)
    assert np.isnan([result.statistic, result.pvalue]).all()
    text = str(result)
    assert text.startswith("These data cannot tell: the fitted curve is a step")
    assert not any(word in text for word in ("nan", "Of every 100", "equivalence", "would have"))
    page = result.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "These data cannot tell whether one class is flipped more often" in page
    assert "nan" not in result._repr_html_()


def test_rates_stay_within_what_the_labels_allow():
    """Few positives, clean labels: beta cannot exceed the share of positive labels."""
    X = np.random.default_rng(0).normal(size=(5000, 3))
    world = eo.data_world(X, coefficients=[-4, 1.5, -1, 0.5])
    on_bound = 0
    for seed in range(4):
        trial = world.draw(1500, 6, eo.UniformNoise(0), np.random.default_rng(seed), tolerance=0.05)
        result = eo.asymmetry_test(trial.features, trial.labels, trial.anchors)
        share = trial.labels.mean()
        assert result.withheld or result.beta <= share
        assert result.withheld or result.confidence_interval().high <= share
        on_bound += "largest rate" in [check.name for check in result.diagnostics]
    assert on_bound > 0


def test_more_columns_than_rows_can_carry_are_refused():
    rng = np.random.default_rng(6)
    X, labels = rng.normal(size=(2000, 100)), rng.integers(0, 2, 2000)
    with pytest.raises(
        eo.InputError, match=r"100 columns and 2,000 rows, too few for .*at most 49"
    ):
        eo.asymmetry_test(X, labels, eo.Anchors(X[:6]))


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_the_tipping_point_agrees_with_the_verdict(alternative):
    rng = np.random.default_rng(3)
    true = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 2)) + (2 * true - 1)[:, None]
    labels = eo.ClassConditionalNoise(0.2, 0.12).flip(true, rng)
    anchors = eo.Anchors([[0.0, 0.0], [1.0, -1.0]])
    result = eo.asymmetry_test(X, labels, anchors, alternative=alternative)
    message = next(check.message for check in result.diagnostics if check.name == "tipping point")
    assert ("no longer reject" in message) == (result.pvalue < 0.05)


def test_hardly_any_row_of_one_label_is_refused():
    X, _, anchors = _draw(500, 2, 0)
    labels = np.zeros(500, dtype=int)
    labels[3] = 1
    with pytest.raises(eo.InputError, match="label 1 has only 1 row, fewer than the 3"):
        eo.asymmetry_test(X, labels, anchors)


@pytest.mark.parametrize("method", ["boundary", "joint", "wald"])
def test_an_anchor_absurdly_far_away_is_refused(method):
    X, labels, _ = _draw(300, 2, 1)
    with pytest.raises(eo.AnchorError, match="absurdly far from the data"):
        eo.asymmetry_test(X, labels, eo.Anchors([[1e300, 1.0]]), method=method)


@pytest.mark.parametrize("weight", [1e300, 1e-300])
def test_weights_that_are_no_counts_are_refused(weight):
    X, labels, anchors = _draw(300, 2, 1)
    with pytest.raises(eo.InputError, match="so give counts"):
        eo.asymmetry_test(X, labels, anchors, sample_weight=np.full(300, weight))


def test_two_groups_are_a_reason_for_doubt():
    X, labels, anchors = _draw(500, 2, 2)
    result = eo.asymmetry_test(X, labels, anchors, groups=np.arange(500) % 2)
    check = next(check for check in result.diagnostics if check.name == "groups")
    assert check.concern


def test_dates_as_labels_survive_json():
    X, labels, anchors = _draw(300, 1, 3)
    dates = np.where(labels == 1, np.datetime64("2021-01-02"), np.datetime64("2021-01-01"))
    result = eo.asymmetry_test(X, dates, anchors)
    assert json.loads(json.dumps(result.to_dict()))["positive"] == "2021-01-02"


def _grid(rng):
    """Return rows on a grid of three columns of three levels, slopes and intercept."""
    return rng.integers(0, 3, (250, 3)).astype(float), 1 / np.sqrt(3), -1.5, (0.2, 0.4), 1


def _long_tails(rng):
    """Return rows of three long-tailed columns, slopes and intercept."""
    return rng.lognormal(size=(120, 3)), 1 / np.sqrt(3), 0.0, (0.1, 0.1), 8


@pytest.mark.parametrize(("seed", "rows"), [(38, _grid), (56, _long_tails)])
def test_labels_turned_turn_the_estimate(seed, rows):
    """In the first z jumps over 0, in the second it has none before the labels' limit."""
    rng = np.random.default_rng(seed)
    X, slope, intercept, (alpha, beta), n_anchors = rows(rng)
    posterior = 1 / (1 + np.exp(-(intercept + slope * X.sum(axis=1))))
    true = rng.random(len(X)) < posterior
    flipped = np.where(true, rng.random(len(X)) < alpha, rng.random(len(X)) < beta)
    y = np.where(flipped, ~true, true).astype(int)
    points = X[rng.integers(0, len(X), n_anchors)]
    points -= ((intercept / slope + points.sum(axis=1)) / 3)[:, None]
    anchors = eo.Anchors(points, tolerance=0.2)
    one, other = (eo.asymmetry_test(X, given, anchors) for given in (y, 1 - y))
    assert one.statistic == pytest.approx(-other.statistic, rel=1e-6)
    assert one.withheld == other.withheld
    if one.withheld is None:
        assert one.asymmetry == pytest.approx(-other.asymmetry, abs=1e-6)
