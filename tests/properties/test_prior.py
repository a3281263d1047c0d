"""Properties of the prior test over all counts and priors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import evenodds as eo

sizes = st.integers(1, 400)
priors = st.floats(0.001, 0.999)
errors = st.floats(0.001, 0.2)
shares = st.floats(0, 1)


@given(n=sizes, share=shares, prior=priors)
def test_the_clean_null_is_the_exact_binomial_test(n, share, prior):
    count = round(share * n)
    expected = stats.binomtest(count, n, prior).pvalue
    pvalue = eo.prior_test(count, n, prior, null="clean").pvalue
    assert pvalue == pytest.approx(expected, rel=1e-11, abs=1e-14)


@given(n=sizes, share=shares, prior=priors)
def test_the_uniform_null_is_harder_to_reject_than_the_clean_one(n, share, prior):
    count = round(share * n)
    clean = eo.prior_test(count, n, prior, null="clean").pvalue
    assert eo.prior_test(count, n, prior).pvalue >= clean


@given(n=sizes, share=shares, prior=st.integers(1, 99), error=errors)
def test_swapping_the_classes_keeps_the_pvalue(n, share, prior, error):
    count = round(share * n)
    given_ = eo.prior_test(count, n, prior / 100, prior_standard_error=error).pvalue
    swapped = eo.prior_test(n - count, n, 1 - prior / 100, prior_standard_error=error).pvalue
    assert swapped == pytest.approx(given_, rel=1e-9)


@given(n=sizes, share=shares, prior=priors, error=errors)
def test_a_pvalue_is_a_probability(n, share, prior, error):
    pvalue = eo.prior_test(round(share * n), n, prior, prior_standard_error=error).pvalue
    assert 0 <= pvalue <= 1
