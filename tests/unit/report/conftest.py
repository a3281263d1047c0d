"""One result of each kind that a report must tell apart."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import evenodds as eo
from evenodds.report.sheet import View

TOSS_UPS = [[1.0, -1.0], [0.5, -0.5], [-1.5, 1.5]]
# What nobody calls a class or a column, and what must never be run or read as a formula.
HOSTILE = "<script>alert('x')</script> & $\\frac$"


def draw(n, noise, seed):
    """Two bells of rows with flipped labels."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 2, size=n)
    X = rng.normal(size=(n, 2)) + (2 * true - 1)[:, None]
    return X, noise.flip(true, rng)


@pytest.fixture(scope="session")
def view():
    return View()


@pytest.fixture(scope="session")
def rejecting():
    X, y = draw(2000, eo.ClassConditionalNoise(alpha=0.3, beta=0.05), seed=1)
    return eo.asymmetry_test(X, np.where(y, "ill", "healthy"), eo.Anchors(TOSS_UPS))


@pytest.fixture(scope="session")
def retaining():
    return eo.asymmetry_test(*draw(1500, eo.UniformNoise(0.1), seed=3), eo.Anchors(TOSS_UPS))


@pytest.fixture(scope="session")
def anchorless():
    noise = eo.ClassConditionalNoise(alpha=0.3, beta=0.05)
    return eo.asymmetry_test(*draw(2000, noise, seed=1), method="joint")


@pytest.fixture(scope="session")
def joint():
    noise = eo.ClassConditionalNoise(alpha=0.3, beta=0.05)
    return eo.asymmetry_test(*draw(2000, noise, seed=1), eo.Anchors(TOSS_UPS), method="joint")


@pytest.fixture(scope="session")
def plain():
    noise = eo.ClassConditionalNoise(alpha=0.3, beta=0.05)
    return eo.asymmetry_test(*draw(2000, noise, seed=1), eo.Anchors(TOSS_UPS), method="wald")


@pytest.fixture(scope="session")
def doubtful():
    """Return a test of a bent curve, with anchors far outside the data."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 2))
    true = rng.random(1500) < expit(2 * X[:, 0] + 1.5 * X[:, 0] ** 2 - 2)
    given = eo.ClassConditionalNoise(alpha=0.2, beta=0.05).flip(true.astype(int), rng)
    return eo.asymmetry_test(X, given, eo.Anchors([[0.6, 9.0], [0.7, -0.5], [0.65, 1.5]]))


@pytest.fixture(scope="session")
def hostile():
    """Labels and columns that a page must show, not obey."""
    X, y = draw(800, eo.UniformNoise(0.1), seed=5)
    names = [f"{HOSTILE} one", '"><img src=x onerror=alert(2)> 病\x00']
    anchors = eo.Anchors(pd.DataFrame(TOSS_UPS, columns=names))
    labels = np.where(y, HOSTILE, "</style><b>no</b>")
    return eo.asymmetry_test(pd.DataFrame(X, columns=names), labels, anchors)


@pytest.fixture(scope="session")
def every(rejecting, retaining, anchorless, joint, plain, doubtful, hostile):
    """Return all of them by name."""
    return {
        "rejecting": rejecting,
        "retaining": retaining,
        "anchorless": anchorless,
        "joint": joint,
        "plain": plain,
        "doubtful": doubtful,
        "hostile": hostile,
    }
