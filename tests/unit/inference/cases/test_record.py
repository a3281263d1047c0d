import numpy as np
import pytest

from evenodds.inference.cases.record import count_labels

RNG = np.random.default_rng(0)
STRATA, GIVEN = RNG.integers(0, 3, 50), RNG.integers(0, 2, 50).astype(float)
LEFT_OUT = np.array([3, 17, 44])


@pytest.mark.parametrize("weights", [None, RNG.random(50)], ids=["rows", "weighted rows"])
@pytest.mark.parametrize("left_out", [None, LEFT_OUT], ids=["all", "some left out"])
def test_labels_are_counted_in_each_stratum(weights, left_out):
    counted = np.ones(50) if weights is None else weights.copy()
    counted[[] if left_out is None else left_out] = 0
    n, positive = count_labels(STRATA, GIVEN, 4, weights=weights, left_out=left_out)
    within = np.arange(4)[:, None] == STRATA
    np.testing.assert_allclose(n, within @ counted)
    np.testing.assert_allclose(positive, within @ (counted * GIVEN))
