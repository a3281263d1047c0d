"""The worlds in which tests are tried, and the bundled demonstration data.

Simulated: 2,000 patients, two measurements, and a diagnosis of which a known share
was recorded wrongly. ``python -m evenodds.simulation.worlds`` writes the files again.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from evenodds.errors import InputError
from evenodds.files import write_csv
from evenodds.noise import ClassConditionalNoise
from evenodds.simulation.world import DrawFeatures, LinearIndex, PlateauLink, ProbitLink, World
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


def many_features(n_features: int = 10) -> World:
    """Return independent normal features whose slopes have length 2.5."""
    slopes = np.full(n_features, 2.5 / np.sqrt(n_features))
    return _linear("many features", partial(_draw_normal, n_features), -1.0, *slopes)


def _linear(name: str, draw_features: DrawFeatures, *coefficients: float) -> World:
    """Return a world with a straight boundary, toss-ups scattered over a box; intercept first."""
    return World(
        name=name,
        draw_features=draw_features,
        index=LinearIndex(np.array(coefficients)),
        draw_anchor_seeds=partial(_draw_box, len(coefficients) - 1),
    )


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
    """Draw one exponential and one normal feature."""
    return np.column_stack([rng.exponential(size=n), rng.normal(size=n)])


def _draw_normal(n_features: int, n: int, rng: np.random.Generator) -> FloatArray:
    return rng.normal(size=(n, n_features))


def _draw_heavy(n: int, rng: np.random.Generator) -> FloatArray:
    """Draw from a t distribution with three degrees of freedom."""
    return rng.standard_t(3, size=(n, 2))


def _draw_correlated(n: int, rng: np.random.Generator) -> FloatArray:
    """Draw four normal features, each pair correlated at 0.8."""
    common = rng.normal(size=(n, 1))
    features: FloatArray = np.sqrt(0.8) * common + np.sqrt(0.2) * rng.normal(size=(n, 4))
    return features


def _harder_is_flipped_more(posterior: FloatArray) -> FloatArray:
    """Return a factor from 0 for a sure case to 2 for a toss-up."""
    weight: FloatArray = 8 * posterior * (1 - posterior)
    return weight


RARE = two_bells(0.15)
SKEWED = _linear("skewed", _draw_skewed, -1.5, 2.0, 1.0)
PARABOLA = LinearIndex(np.array([-1.0, 2.0, 1.0]), direction=np.array([1.0, 0.0]), bend=0.75)
WORLDS = {
    world.name: world
    for world in (
        two_bells(),
        RARE,
        SKEWED,
        many_features(),
        _linear("heavy tails", _draw_heavy, -0.5, 1.5, 1.0),
        _linear("correlated", _draw_correlated, -0.5, 1.0, 1.0, -0.5, 0.5),
        # With a ceiling: the clearest case is positive in 85 of 100.
        replace(SKEWED, name="plateau", link=PlateauLink(0.0, 0.85)),
        replace(SKEWED, name="probit", link=ProbitLink()),
        replace(many_features(2), name="quadratic", index=PARABOLA),
        replace(RARE, name="clustered", row_copies=4),
        # An expert whose toss-ups are truly positive in 55 of 100 cases.
        replace(RARE, name="leaning expert", anchor_bias=0.05),
        replace(RARE, name="repeated anchors", anchor_copies=4),
        replace(RARE, name="hard cases", flip_weight=_harder_is_flipped_more),
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
    patients = np.column_stack([np.char.mod("%.3f", features), given])
    write_csv(folder / PATIENTS.name, [*FEATURES, LABEL], patients.tolist())
    write_csv(folder / TOSS_UPS.name, FEATURES, np.char.mod("%.3f", anchors.points).tolist())


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    write_demo(FOLDER)
