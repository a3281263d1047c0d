"""Shared by all unit tests: a small world with overlap, its toss-ups, and two verbs."""

import functools
import re
from dataclasses import dataclass

import numpy as np
import pytest

import evenodds as eo
from evenodds.simulation.worlds import two_bells


@dataclass(frozen=True)
class Labelled:
    X: np.ndarray
    y: np.ndarray


@pytest.fixture(scope="session")
def labelled():
    """300 rows of the paper's world; read-only, so no test passes by changing them."""
    X, y = two_bells().draw_rows(300, np.random.default_rng(20240917))
    X.flags.writeable = y.flags.writeable = False
    return Labelled(X, y)


@pytest.fixture(scope="session")
def toss_ups():
    return eo.Anchors([[0.0, 0.0], [1.0, -1.0], [-2.0, 2.0]])


@pytest.fixture(scope="session")
def wald():
    """Return the front door with the method named: the default is not what is tested here."""
    return functools.partial(eo.asymmetry_test, method="wald")


@pytest.fixture(scope="session")
def refused():
    """Return a context that wants an error whose message contains this very text."""

    def wanted(text, kind=eo.InputError):
        return pytest.raises(kind, match=re.escape(text))

    return wanted
