"""The worlds in which tests are tried, and the bundled demonstration data.

Simulated: 2,000 patients, two measurements, and a diagnosis of which a known share
was recorded wrongly. ``python -m evenodds.simulation.demo`` writes the files again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenodds.anchors import Anchors
from evenodds.errors import InputError
from evenodds.files import write_csv
from evenodds.noise import ClassConditionalNoise
from evenodds.simulation.world import BentIndex, LinearIndex, PlateauLink, ProbitLink, World
from evenodds.validation import FloatArray, join_quoted


def two_bells(positive_share: float = 0.5) -> World:
    """Return two normal clouds centred at (1, 1) and (-1, -1): the paper's world when balanced."""
    balanced = positive_share == 0.5
    intercept = np.log(positive_share / (1 - positive_share))
    return World(
        name="paper" if balanced else "rare",
        draw_features=partial(_draw_two_bells, positive_share),
        index=LinearIndex(np.array([intercept, 2.0, 2.0])),
        draw_anchor_seeds=_draw_along_boundary if balanced else partial(_draw_box, 2),
    )


def skewed() -> World:
    """Return one exponential and one normal feature."""
    return World(
        name="skewed",
        draw_features=_draw_skewed,
        index=LinearIndex(np.array([-1.5, 2.0, 1.0])),
        draw_anchor_seeds=partial(_draw_box, 2),
    )


def many_features(n_features: int = 10) -> World:
    """Return independent normal features whose slopes have length 2.5."""
    slopes = np.full(n_features, 2.5 / np.sqrt(n_features))
    return World(
        name="many features",
        draw_features=partial(_draw_normal, n_features),
        index=LinearIndex(np.concatenate([[-1.0], slopes])),
        draw_anchor_seeds=partial(_draw_box, n_features),
    )


def heavy_tails() -> World:
    """Return features from a t distribution with three degrees of freedom."""
    return World(
        name="heavy tails",
        draw_features=_draw_heavy,
        index=LinearIndex(np.array([-0.5, 1.5, 1.0])),
        draw_anchor_seeds=partial(_draw_box, 2),
    )


def correlated() -> World:
    """Return four normal features, each pair correlated at 0.8."""
    return World(
        name="correlated",
        draw_features=_draw_correlated,
        index=LinearIndex(np.array([-0.5, 1.0, 1.0, -0.5, 0.5])),
        draw_anchor_seeds=partial(_draw_box, 4),
    )


def plateau() -> World:
    """Return the skewed world with a ceiling: the clearest case is positive in 85 of 100."""
    return replace(skewed(), name="plateau", link=PlateauLink(0.0, 0.85))


def probit() -> World:
    """Return the skewed world with a normal distribution function as its curve."""
    return replace(skewed(), name="probit", link=ProbitLink())


def quadratic() -> World:
    """Return a world whose boundary is a parabola."""
    return World(
        name="quadratic",
        draw_features=partial(_draw_normal, 2),
        index=BentIndex(np.array([-1.0, 2.0, 1.0]), bend=0.75),
        draw_anchor_seeds=partial(_draw_box, 2),
    )


def clustered() -> World:
    """Return the rare world, every case entered four times."""
    return replace(two_bells(0.15), name="clustered", row_copies=4)


def leaning_expert() -> World:
    """Return the rare world, and an expert whose toss-ups are truly positive in 55 of 100 cases."""
    return replace(two_bells(0.15), name="leaning expert", anchor_bias=0.05)


def repeated_anchors() -> World:
    """Return the rare world, every toss-up named four times."""
    return replace(two_bells(0.15), name="repeated anchors", anchor_copies=4)


def hard_cases() -> World:
    """Return the rare world, labels flipped more often the harder the case."""
    return replace(two_bells(0.15), name="hard cases", flip_weight=_harder_is_flipped_more)


def _draw_two_bells(positive_share: float, n: int, rng: np.random.Generator) -> FloatArray:
    side = np.where(rng.random(n) < positive_share, 1.0, -1.0)
    features = rng.standard_normal((n, 2))
    # One by one: a broadcast over two columns is several times slower.
    features[:, 0] += side
    features[:, 1] += side
    return features


def _draw_along_boundary(k: int, rng: np.random.Generator) -> FloatArray:
    along = rng.uniform(-4, 4, k)
    return np.column_stack([along, -along])


def _draw_box(n_features: int, k: int, rng: np.random.Generator) -> FloatArray:
    return rng.uniform(-2, 2, size=(k, n_features))


def _draw_skewed(n: int, rng: np.random.Generator) -> FloatArray:
    return np.column_stack([rng.exponential(size=n), rng.normal(size=n)])


def _draw_normal(n_features: int, n: int, rng: np.random.Generator) -> FloatArray:
    return rng.normal(size=(n, n_features))


def _draw_heavy(n: int, rng: np.random.Generator) -> FloatArray:
    return rng.standard_t(3, size=(n, 2))


def _draw_correlated(n: int, rng: np.random.Generator) -> FloatArray:
    common = rng.normal(size=(n, 1))
    features: FloatArray = np.sqrt(0.8) * common + np.sqrt(0.2) * rng.normal(size=(n, 4))
    return features


def _harder_is_flipped_more(posterior: FloatArray) -> FloatArray:
    """Return a factor from 0 for a sure case to 2 for a toss-up."""
    weight: FloatArray = 8 * posterior * (1 - posterior)
    return weight


WORLDS = {
    world.name: world
    for world in (
        two_bells(),
        two_bells(0.15),
        skewed(),
        many_features(),
        heavy_tails(),
        correlated(),
        plateau(),
        probit(),
        quadratic(),
        clustered(),
        leaning_expert(),
        repeated_anchors(),
        hard_cases(),
    )
}


def find_world(world: str | World) -> World:
    """Return a world by its name, or as it is."""
    if isinstance(world, World):
        return world
    if not isinstance(world, str) or world not in WORLDS:
        raise InputError(
            f"world is {world!r} but must be one of {join_quoted(WORLDS, 'or', len(WORLDS))}, or "
            "a World: data_world(X, y) makes one of your own data."
        )
    return WORLDS[world]


HALVINGS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassWorld:
    """Normal clouds of equal spread, one a class: log-odds between any two are linear.

    Parameters
    ----------
    centres : ndarray of shape (n_classes, n_features)
    shares : ndarray of shape (n_classes,)
        How often each class occurs.
    """

    centres: FloatArray
    shares: FloatArray

    def log_posterior(self, features: FloatArray) -> FloatArray:
        """Return the logarithm of the posterior of every class, up to a constant a row."""
        slopes = features @ self.centres.T
        intercepts = np.log(self.shares) - (self.centres**2).sum(axis=1) / 2
        return np.asarray(slopes + intercepts)

    def draw_rows(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, NDArray[np.intp]]:
        """Return n cases and their true classes 0, 1, 2, ..."""
        classes = rng.choice(len(self.shares), size=n, p=self.shares)
        features = self.centres[classes] + rng.standard_normal((n, self.centres.shape[1]))
        return features, classes

    def draw_anchors(
        self,
        positive: Sequence[int],
        negative: Sequence[int],
        k: int,
        rng: np.random.Generator,
        *,
        tolerance: float = 0.0,
    ) -> Anchors:
        """Return k toss-ups between two sides, as an expert of this tolerance names them.

        Each lies on a line from a case of one side to a case of the other, where the two sides
        are as likely as stated; for a pair of classes the others are then seldom likely.
        """
        stated = 0.5 + rng.uniform(-tolerance, tolerance, k)
        target = np.log(stated / (1 - stated))
        here, there = np.empty((2, k, self.centres.shape[1]))
        pending = np.ones(k, dtype=bool)
        while pending.any():
            n = int(pending.sum())
            here[pending] = self._cases_of(positive, n, rng)
            there[pending] = self._cases_of(negative, n, rng)
            pending = (self._log_odds(here, positive, negative) <= target) | (
                self._log_odds(there, positive, negative) >= target
            )
        for _ in range(HALVINGS):
            middle = (here + there) / 2
            above = self._log_odds(middle, positive, negative) > target
            here = np.where(above[:, None], middle, here)
            there = np.where(above[:, None], there, middle)
        return Anchors((here + there) / 2, tolerance=tolerance, shared_tolerance=0.0)

    def _cases_of(self, side: Sequence[int], n: int, rng: np.random.Generator) -> FloatArray:
        chosen = rng.choice(list(side), size=n)
        noise = 0.5 * rng.standard_normal((n, self.centres.shape[1]))
        return np.asarray(self.centres[chosen] + noise)

    def _log_odds(
        self, points: FloatArray, positive: Sequence[int], negative: Sequence[int]
    ) -> FloatArray:
        heights = self.log_posterior(points)
        above = np.logaddexp.reduce(heights[:, list(positive)], axis=1)
        return np.asarray(above - np.logaddexp.reduce(heights[:, list(negative)], axis=1))


def relabel(
    classes: NDArray[np.intp], flips: FloatArray, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return noisy copies of true classes: class k becomes m with chance ``flips[k, m]``."""
    reached = flips.cumsum(axis=1)[classes]
    drawn = (rng.random(len(classes))[:, None] > reached).sum(axis=1)
    return np.asarray(np.minimum(drawn, len(flips) - 1))


def four_bells(*, lopsided: bool = False) -> ClassWorld:
    """Return four classes at the corners of a square, or unequal ones at those of a kite."""
    if lopsided:
        centres = np.array([[0.0, 0.0], [2.4, 0.0], [0.3, 2.6], [2.0, 2.2]])
        return ClassWorld(centres=centres, shares=np.array([0.4, 0.3, 0.2, 0.1]))
    return ClassWorld(
        centres=np.array([[0.0, 0.0], [2.5, 0.0], [0.0, 2.5], [2.5, 2.5]]),
        shares=np.full(4, 0.25),
    )


FOLDER = Path(__file__).parent / "demo_data"
PATIENTS = FOLDER / "patients.csv"
TOSS_UPS = FOLDER / "toss_ups.csv"

SEED = 20210303
N_ROWS = 2000
N_ANCHORS = 12
TOLERANCE = 0.05
TRUTH = ClassConditionalNoise(alpha=0.25, beta=0.05)
LABEL = "diagnosis"
FEATURES = ("marker", "score")


def write_demo(folder: Path) -> None:
    """Write the two demonstration files into `folder`."""
    rng = np.random.default_rng(SEED)
    world = two_bells()
    features, true = world.draw_rows(N_ROWS, rng)
    given = np.where(TRUTH.flip(true, rng), "ill", "healthy")
    anchors = world.draw_anchors(N_ANCHORS, rng, tolerance=TOLERANCE)
    rows = [[*_rounded(row), label] for row, label in zip(features, given, strict=True)]
    write_csv(folder / PATIENTS.name, [*FEATURES, LABEL], rows)
    write_csv(folder / TOSS_UPS.name, [*FEATURES], [_rounded(point) for point in anchors.points])


def _rounded(values: np.ndarray) -> list[str]:
    return [f"{value:.3f}" for value in values]


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    write_demo(FOLDER)
