"""Which cases to ask about, and who sees which next.

The queue must not steer the verdict. Cases are taken evenly from a wide band of the fitted
posterior, so that an expert's toss-ups lie about evenly to either side of wherever the expert
sees 1/2; cases where the fitted curve itself says 1/2 would hand the test its own opinion
back (docs/elicit.md, "Which cases are asked").
"""

import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from evenodds.elicit.answers import Answer, Verdict
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
            f"there are {len(posterior)} rows, and a session needs {FEWEST_CASES} to ask about."
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
            f"session needs {FEWEST_CASES}: rows that look alike are asked once. Use more "
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


# A case comes back after at least this many others, so that it is judged and not remembered.
GAP = 10
# Of the cases that come back, every third is no toss-up: else coming back would tell.
TOSS_UPS_IN_A_ROW = 2


@dataclass(frozen=True, slots=True)
class Question:
    """A case to ask about now."""

    case: int
    occasion: int
    number: int  # questions answered before this one


@dataclass(frozen=True, slots=True)
class Queue:
    """The cases of a session, in the order they were chosen.

    Every expert gets all of them, so that experts can be compared, and in an order of
    their own, so that tiredness does not fall on the same cases.
    """

    cases: tuple[int, ...]
    n_repeats: int
    seed: int

    @property
    def n_questions(self) -> int:
        """How many questions a whole session has."""
        return len(self.cases) + self.n_repeats

    def next_question(self, expert: str, answered: Sequence[Answer]) -> Question | None:
        """Return what to ask an expert after these answers; None at the end."""
        number = len(answered)
        seen = {answer.case for answer in answered}
        fresh = next((case for case in self._order(expert) if case not in seen), None)
        if fresh is None or self._is_turn_of_a_repeat(number):
            again = self._repeat(expert, answered)
            if again is not None:
                return Question(again, 2, number)
        return None if fresh is None else Question(fresh, 1, number)

    def _order(self, expert: str) -> list[int]:
        """Shuffle within rounds over the band: a session broken off is spread evenly too."""
        rng = np.random.default_rng([self.seed, _code(expert)])
        rounds = [self.cases[start : start + PARTS] for start in range(0, len(self.cases), PARTS)]
        return [int(case) for cases in rounds for case in rng.permutation(cases)]

    def _is_turn_of_a_repeat(self, number: int) -> bool:
        if self.n_repeats == 0:
            return False
        return number % max(self.n_questions // self.n_repeats, 2) == 1

    def _repeat(self, expert: str, answered: Sequence[Answer]) -> int | None:
        """Return a case to ask again, if any has been away long enough."""
        repeated = [answer for answer in answered if answer.occasion == 2]
        if len(repeated) == self.n_repeats:
            return None
        taken = {answer.case for answer in repeated}
        away = [
            answer
            for answer in answered[: max(len(answered) - GAP, 0)]
            if answer.occasion == 1
            and answer.case not in taken
            and answer.verdict is not Verdict.skip
        ]
        wants_toss_up = len(repeated) % (TOSS_UPS_IN_A_ROW + 1) < TOSS_UPS_IN_A_ROW
        liked = [a for a in away if (a.verdict is Verdict.toss_up) == wants_toss_up] or away
        if not liked:
            return None
        rng = np.random.default_rng([self.seed, _code(expert), len(answered)])
        return liked[int(rng.integers(len(liked)))].case


def _code(expert: str) -> int:
    """Return a number for a name, the same in every run."""
    return zlib.crc32(expert.encode())
