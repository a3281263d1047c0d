import numpy as np
import pytest


@pytest.fixture(scope="session")
def numeric_slope():
    """Return a function that measures the derivative of a function at places."""

    def slope(function, places, step=1e-6):
        return (function(places + step) - function(places - step)) / (2 * step)

    return slope


@pytest.fixture(scope="session")
def away_from_kinks():
    """Scores between the places where some loss has a corner or a jump."""
    scores = np.linspace(-6, 6, 241) + 0.0123
    return scores[np.abs(np.abs(scores) - 1) > 1e-3]
