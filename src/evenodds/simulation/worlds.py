"""The worlds in which tests are tried: four of reference, and some that break assumptions."""

from dataclasses import replace
from functools import partial

import numpy as np

from evenodds.errors import InputError
from evenodds.simulation.curves import BentIndex, LinearIndex, PlateauLink, ProbitLink
from evenodds.simulation.world import World
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
