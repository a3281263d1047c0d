"""Animals of four kinds, their toss-ups, and labels of which many cats became dogs."""

from itertools import combinations

import numpy as np
import pytest
from tests.class_worlds import four_bells, relabel, uniform_flips

NAMES = np.array(["cat", "dog", "fox", "owl"])
WORLD = four_bells(lopsided=True)


@pytest.fixture(scope="session")
def animals():
    """Return features and labels; a fifth of the cats is labelled dog."""
    rng = np.random.default_rng(11)
    features, classes = WORLD.draw_rows(2500, rng)
    flips = uniform_flips(4, 0.12)
    flips[0, 1] += 0.2
    flips[0, 0] -= 0.2
    return features, NAMES[relabel(classes, flips, rng)]


@pytest.fixture(scope="session")
def pairs():
    """Return toss-ups of every pair."""
    rng = np.random.default_rng(12)
    return {
        (str(NAMES[i]), str(NAMES[j])): WORLD.draw_anchors((i,), (j,), 4, rng)
        for i, j in combinations(range(4), 2)
    }


@pytest.fixture(scope="session")
def singles():
    """Return toss-ups of every class against the rest."""
    rng = np.random.default_rng(13)
    return {
        str(NAMES[i]): WORLD.draw_anchors((i,), [j for j in range(4) if j != i], 4, rng)
        for i in range(4)
    }
