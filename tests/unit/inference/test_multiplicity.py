import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control
from statsmodels.stats.multitest import multipletests

from evenodds.inference.multiplicity import benjamini_hochberg, holm

some_pvalues = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(some_pvalues)
def test_holm_agrees_with_statsmodels(pvalues):
    expected = multipletests(pvalues, method="holm")[1]
    np.testing.assert_allclose(holm(pvalues), expected, rtol=1e-12)


@given(some_pvalues)
def test_benjamini_hochberg_agrees_with_scipy(pvalues):
    expected = false_discovery_control(pvalues)
    np.testing.assert_allclose(benjamini_hochberg(pvalues), expected, rtol=1e-12)


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_no_test_at_all_needs_no_adjusting(adjust):
    assert adjust([]).tolist() == []
