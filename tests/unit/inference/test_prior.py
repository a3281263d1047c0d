import json

import numpy as np
import pytest
from scipy import stats
from scipy.special import roots_legendre

import evenodds as eo


def brute_force(n, prior, error):
    """Return the p-value of every count, from the whole averaged distribution at once."""
    nodes, weights = roots_legendre(300)
    low, high = max(prior - 9 * error, 0), min(prior + 9 * error, 1)
    shares = low + (high - low) * (nodes + 1) / 2
    weights = weights * stats.norm.pdf(shares, prior, error)
    counts = np.arange(n + 1)[:, None]
    probabilities = stats.binom.pmf(counts, n, shares) @ (weights / weights.sum())
    as_unlikely = probabilities <= probabilities[:, None] * (1 + 1e-7)
    return (as_unlikely * probabilities).sum(axis=1)


def averaged_test(n, prior, error):
    return [
        eo.prior_test(count, n, prior, null="clean", prior_standard_error=error).pvalue
        for count in range(n + 1)
    ]


@pytest.mark.parametrize("prior", [0.001, 0.05, 0.3, 0.5, 0.77, 0.999])
@pytest.mark.parametrize("n", [1, 2, 5, 17, 100, 1000])
def test_the_clean_null_is_the_exact_binomial_test(n, prior):
    counts = range(0, n + 1, max(1, n // 31))
    ours = [eo.prior_test(count, n, prior, null="clean").pvalue for count in counts]
    theirs = [stats.binomtest(count, n, prior).pvalue for count in counts]
    assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(
    ("count", "prior"), [(20, 0.2), (35, 0.2), (50, 0.2), (60, 0.7), (50, 0.7)]
)
def test_a_share_between_prior_and_one_half_never_rejects_uniform_noise(count, prior):
    assert eo.prior_test(count, 100, prior).pvalue == 1.0


@pytest.mark.parametrize(("count", "prior"), [(10, 0.2), (19, 0.2), (71, 0.7), (95, 0.7)])
def test_a_share_beyond_the_prior_is_tested_at_the_prior(count, prior):
    expected = stats.binomtest(count, 100, prior).pvalue
    assert eo.prior_test(count, 100, prior).pvalue == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("count", "prior"), [(51, 0.2), (70, 0.2), (49, 0.7), (10, 0.7)])
def test_a_share_beyond_one_half_is_tested_at_one_half(count, prior):
    expected = stats.binomtest(count, 100, 0.5).pvalue
    assert eo.prior_test(count, 100, prior).pvalue == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("n", "prior", "error"), [(30, 0.3, 0.05), (40, 0.5, 0.2), (60, 0.2, 0.02)]
)
def test_an_uncertain_prior_is_averaged_over(n, prior, error):
    ours, theirs = averaged_test(n, prior, error), brute_force(n, prior, error).tolist()
    assert ours == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize(
    ("n", "prior", "error"), [(25, 0.8, 0.1), (50, 0.1, 0.1), (50, 0.1, 0.3), (20, 0.02, 0.1)]
)
def test_an_uncertain_prior_near_the_edge_is_averaged_over(n, prior, error):
    ours, theirs = averaged_test(n, prior, error), brute_force(n, prior, error).tolist()
    assert ours == pytest.approx(theirs, rel=1e-9)


def test_the_larger_end_decides_when_the_prior_is_uncertain():
    pvalue = eo.prior_test(230, 400, 0.48, prior_standard_error=0.05).pvalue
    assert pvalue == pytest.approx(brute_force(400, 0.48, 0.05)[230], rel=1e-9)


def test_the_larger_end_is_about_nine_percent_in_the_example():
    assert round(eo.prior_test(230, 400, 0.48, prior_standard_error=0.05).pvalue, 3) == 0.089


def test_a_tiny_standard_error_changes_nothing():
    exact = eo.prior_test(10, 100, 0.2).pvalue
    blurred = eo.prior_test(10, 100, 0.2, prior_standard_error=1e-7).pvalue
    assert blurred == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(("count", "null"), [(480_000, "clean"), (430_000, "uniform")])
def test_a_million_rows_are_no_harder(count, null):
    expected = stats.binomtest(count, 1_000_000, 0.48).pvalue
    pvalue = eo.prior_test(count, 1_000_000, 0.48, null=null).pvalue
    assert pvalue == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("count", "prior", "rate"),
    [(35, 0.2, 0.25), (20, 0.2, 0.0), (60, 0.7, 0.25), (10, 0.2, None), (50, 0.2, None)],
)
def test_the_noise_rate_is_the_one_that_moves_the_share(count, prior, rate):
    estimate = eo.prior_test(count, 100, prior).noise_rate
    assert estimate == (None if rate is None else pytest.approx(rate, abs=1e-12))


def test_the_estimated_rate_gives_the_observed_share():
    result = eo.prior_test(330, 1000, 0.2)
    assert eo.UniformNoise(result.noise_rate).noisy_prior(0.2) == pytest.approx(0.33, rel=1e-12)


def test_at_a_prior_of_one_half_the_share_gives_the_asymmetry():
    assert eo.prior_test(60, 100, 0.5).asymmetry == pytest.approx(0.2, rel=1e-12)


def test_at_a_prior_of_one_half_no_rate_can_be_told():
    assert eo.prior_test(60, 100, 0.5).noise_rate is None


def test_elsewhere_there_is_no_estimate_of_the_asymmetry():
    assert eo.prior_test(60, 100, 0.4).asymmetry is None


def test_the_result_repeats_what_was_asked():
    result = eo.prior_test(60, 100, 0.4, null="clean", prior_standard_error=0.01)
    asked = (result.n_positive, result.n_rows, result.prior, result.null)
    assert asked == (60, 100, 0.4, "clean")


def test_the_result_is_ready_for_json():
    document = json.loads(json.dumps(eo.prior_test(60, 100, 0.4).to_dict()))
    assert document["noisy_prior"] == 0.6


def test_the_result_prints_its_numbers():
    assert "60 of 100 positive" in str(eo.prior_test(60, 100, 0.4))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((5, 4, 0.2), "n_positive is 5 but n_rows is 4: it counts some of them."),
        ((-1, 4, 0.2), "n_positive is -1 but must be a whole number of at least 0."),
        ((1.5, 4, 0.2), "n_positive is 1.5 but must be a whole number of at least 0."),
        (("3", 4, 0.2), "n_positive is '3' but must be a number."),
        ((0, 0, 0.2), "n_rows is 0 but must be a whole number of at least 1."),
        ((1, 4, 0), "prior is 0 but must be above 0 and below 1: it is a share of positives."),
        ((1, 4, 1.0), "prior is 1 but must be above 0 and below 1: it is a share of positives."),
        ((1, 4, 48), "prior is 48 but must be above 0 and below 1"),
        ((1, 4, float("nan")), "prior is nan but must be finite."),
    ],
)
def test_impossible_counts_and_shares_are_refused(refused, arguments, message):
    with refused(message):
        eo.prior_test(*arguments)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"null": "none"}, "null is 'none' but must be one of 'uniform' or 'clean'."),
        ({"prior_standard_error": -0.1}, "prior_standard_error is -0.1 but must be at least 0 and"),
        ({"prior_standard_error": 0.5}, "prior_standard_error is 0.5 but must be at least 0 and b"),
    ],
)
def test_impossible_settings_are_refused(refused, settings, message):
    with refused(message):
        eo.prior_test(1, 4, 0.2, **settings)


def test_a_prior_test_survives_json_and_makes_a_page(tmp_path):
    result = eo.prior_test(22, 100, 0.25)
    assert eo.PriorTestResult.from_dict(json.loads(json.dumps(result.to_dict()))) == result
    assert result.to_frame()["pvalue"].tolist() == [result.pvalue]
    page = result.report(tmp_path / "prior.html").read_text(encoding="utf-8")
    assert "25.0% should be" in page
    assert "Uniform noise is rejected" in result.summary(significance=0.9999)


def test_a_page_needs_a_path():
    with pytest.raises(eo.InputError, match="path is None but must name the file to write"):
        eo.prior_test(22, 100, 0.25).report(None)
