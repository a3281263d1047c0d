"""Random data sets for the properties: each is a pure function of its seed."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import settings

import evenodds as eo

settings.register_profile("evenodds", deadline=None, derandomize=True, max_examples=100)
settings.load_profile("evenodds")

TOLERANCES = [0.0, 0.02, 0.1, 0.3]


@dataclass(frozen=True)
class Drawn:
    X: np.ndarray
    y: np.ndarray
    points: np.ndarray
    tolerance: float
    shared_tolerance: float
    rng: np.random.Generator

    def anchors(self, points=None):
        return eo.Anchors(
            self.points if points is None else points,
            tolerance=self.tolerance,
            shared_tolerance=self.shared_tolerance,
        )

    def test(self, **changes):
        """Run the paper's test on this data, or on what is given in its place."""
        X, y = changes.pop("X", self.X), changes.pop("y", self.y)
        anchors = changes.pop("anchors", self.anchors())
        return eo.asymmetry_test(X, y, anchors, **{"method": "wald", **changes})


@pytest.fixture(scope="session")
def draw():
    """Return a function from a seed to rows whose classes overlap, and anchors among them."""

    def drawn(seed):
        rng = np.random.default_rng(seed)
        n_features = int(rng.integers(1, 5))
        n_rows = int(rng.integers(60 * n_features, 120 * n_features))
        slopes = rng.normal(size=n_features)
        X = rng.normal(size=(n_rows, n_features))
        log_odds = rng.uniform(-1, 1) + X @ slopes
        y = (rng.random(n_rows) < 1 / (1 + np.exp(-log_odds))).astype(int)
        # Rows of either label at the centre keep the classes from being separated.
        X[:8], y[:8] = rng.normal(size=(8, n_features)) / 4, np.tile([0, 1], 4)
        return Drawn(
            X=X,
            y=y,
            points=rng.normal(size=(int(rng.integers(1, 6)), n_features)),
            tolerance=float(rng.choice(TOLERANCES)),
            shared_tolerance=float(rng.choice([0.0, 0.05])),
            rng=rng,
        )

    return drawn
