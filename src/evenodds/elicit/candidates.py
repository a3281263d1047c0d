"""Which cases to ask about: spread over the posterior, and over the features near 1/2.

The queue must not steer the verdict. Cases are taken evenly from a wide band of the fitted
posterior, so that an expert's toss-ups lie about evenly to either side of wherever the expert
sees 1/2; cases where the fitted curve itself says 1/2 would hand the test its own opinion
back (docs/elicit.md, "Which cases are asked").
"""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from evenodds.errors import ImprecisionWarning, InputError
from evenodds.model.robust import fit_robust
from evenodds.rows.base import Rows
from evenodds.validation import FloatArray, check_whole

IntArray = NDArray[np.int64]

# Fitted posteriors that cases are taken from, and into how many equal parts they are cut.
BAND = (0.1, 0.9)
PARTS = 12
# Fewer cases than this leave too few toss-ups for any test.
FEWEST_CASES = 8
# Rows of a part that are looked at: enough to choose from, few enough to be quick.
POOL = 200
# Cases nearer to each other than this share of the usual distance look alike to an expert.
ALIKE = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Cases to ask about, in an order of which every beginning is spread evenly.

    Attributes
    ----------
    rows : array of int
        Row numbers, most useful first.
    breadth : float
        How much of the posterior's range they are spread evenly over.
    """

    rows: IntArray
    breadth: float


def fitted_posterior(rows: Rows, features: FloatArray) -> FloatArray:
    """Return a clean posterior to spread cases over, from labels that may be noisy."""
    with warnings.catch_warnings():
        # Without flip rates the band is spaced less evenly, which widens the tolerance at worst.
        warnings.simplefilter("ignore", ImprecisionWarning)
        return fit_robust(rows).posterior(features)


def choose_candidates(
    features: FloatArray, posterior: FloatArray, *, n_cases: int = 60, seed: int = 0
) -> Candidates:
    """Choose cases to show an expert.

    Parameters
    ----------
    features : array of shape (n_rows, n_features)
        What the test will go by.
    posterior : array of shape (n_rows,)
        A fitted posterior, used for spacing only.
    n_cases : int, default 60
        How many cases; fewer come where rows in the band are few or alike.
    seed : int, default 0
        The same seed gives the same cases.

    Raises
    ------
    InputError
        If rows are few or alike, or hardly any lies in the band: then the columns tell the
        classes apart, and a toss-up has to be described, not found.
    """
    if len(posterior) < FEWEST_CASES:
        raise InputError(
            f"there are {len(posterior)} rows, and a sitting needs {FEWEST_CASES} to ask about."
        )
    wanted = check_whole(n_cases, "--cases", at_least=FEWEST_CASES)
    rng = np.random.default_rng(check_whole(seed, "--seed"))
    pools = _pools(posterior, rng)
    filled = [pool for pool in pools if len(pool)]
    n_near = sum(len(pool) for pool in filled)
    if n_near < FEWEST_CASES:
        raise InputError(
            f"only {n_near} of {len(posterior)} rows have a fitted posterior between {BAND[0]:g} "
            f"and {BAND[1]:g}: these columns tell the classes apart almost surely, so there are "
            "hardly any toss-ups to find among the rows. Use fewer features, or describe toss-ups "
            "in a file of anchors by hand."
        )
    near = np.concatenate(filled)
    places = _standardised(features[near])
    owner = np.repeat(np.arange(len(filled)), [len(pool) for pool in filled])
    chosen = _spread(places, owner, wanted, rng)
    if len(chosen) < FEWEST_CASES:
        raise InputError(
            f"only {len(chosen)} of {len(posterior)} rows differ enough to be asked about, and a "
            f"sitting needs {FEWEST_CASES}: rows that look alike are asked once. Use more "
            "features, or describe toss-ups in a file of anchors by hand."
        )
    breadth = (BAND[1] - BAND[0]) * len(filled) / PARTS
    return Candidates(rows=near[chosen].astype(np.int64), breadth=breadth)


def _pools(posterior: FloatArray, rng: np.random.Generator) -> list[IntArray]:
    """Return the rows of each part of the band, a sample where they are many."""
    edges = np.linspace(*BAND, PARTS + 1)
    part = np.searchsorted(edges, posterior, side="right") - 1
    pools = [np.flatnonzero(part == number) for number in range(PARTS)]
    return [
        np.sort(rng.choice(pool, POOL, replace=False)) if len(pool) > POOL else pool
        for pool in pools
    ]


def _standardised(features: FloatArray) -> FloatArray:
    """Return features in which distance counts every direction alike."""
    centred = features - features.mean(axis=0)
    spread = centred.std(axis=0)
    centred = centred[:, spread > 0] / spread[spread > 0]
    if centred.shape[1] == 0:
        return np.zeros((len(features), 1))
    values, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    kept = values > 1e-8 * values[-1]
    whitened: FloatArray = centred @ vectors[:, kept] / np.sqrt(values[kept])
    return whitened


def _spread(
    places: FloatArray, owner: IntArray, wanted: int, rng: np.random.Generator
) -> list[int]:
    """Return cases that stand for the whole band, taken from its parts in turn.

    Each is the one that brings the energy distance between chosen cases and band down the
    most: drawn to the middle of the band, pushed away from cases chosen before. So their mean
    stays near the middle, where the curve is known best, and no region is left out.
    """
    n_parts = int(owner.max()) + 1
    # Every part counts alike, however many rows it has.
    share = (1 / np.bincount(owner))[owner] / n_parts
    pull = cdist(places, places) @ share
    alike = ALIKE * float(share @ pull)
    push = np.zeros(len(places))
    free = np.ones(len(places), dtype=bool)
    chosen: list[int] = []
    while len(chosen) < wanted and free.any():
        for part in rng.permutation(n_parts):
            open_ones = np.flatnonzero(free & (owner == part))
            if len(chosen) == wanted or len(open_ones) == 0:
                continue
            gain = pull[open_ones] - push[open_ones] / (len(chosen) + 1)
            best = int(open_ones[np.argmin(gain)])
            chosen.append(best)
            distance = np.linalg.norm(places - places[best], axis=1)
            push += distance
            free &= distance > alike
    return chosen
