"""Every sum over rows can be split over workers: it pickles when empty, and it merges."""

import dataclasses
import pickle

import numpy as np
import pytest

from evenodds.model.bent_curve import (
    BendingDesign,
    BendingSums,
    BendingVariance,
    GroupedBendingScores,
)
from evenodds.model.curve_shape import BendSums, CellCounts, CurveBins, FlatteningSums, Projection
from evenodds.model.logistic import (
    Disagreements,
    Extremes,
    Frame,
    GroupedNoisyScores,
    GroupedScores,
    SignedRows,
    SquaredScores,
)
from evenodds.model.noisy_fit import IndexCounts, IndexMoments
from evenodds.model.noisy_likelihood import NoisyPoint, NoisyScore, NoisySums
from evenodds.model.risk import RiskSum, corrected_loss
from evenodds.model.sums import Information, Moments, Score, WeightedGram
from evenodds.noise import ClassConditionalNoise
from evenodds.rows.base import Block, MissingPlaces, PositiveWeight, Span

N_ROWS, N_GROUPS = 90, 7
# Either side of the width where the product of features changes its method.
WIDTHS = [1, 3, 6, 45]

SUMS = {
    "Moments": lambda theta: Moments(len(theta) - 1),
    "Moments, shifted": lambda theta: Moments(len(theta) - 1, theta[1:]),
    "Score": Score,
    "Score, shifted": lambda theta: Score(theta, theta[1:]),
    "Information": Information,
    "Information, shifted": lambda theta: Information(theta, theta[1:]),
    "SquaredScores": lambda theta: SquaredScores(theta, None),
    "SquaredScores, shifted": lambda theta: SquaredScores(theta, theta[1:]),
    "GroupedScores": lambda theta: GroupedScores(theta, None, N_GROUPS),
    "GroupedScores, shifted": lambda theta: GroupedScores(theta, theta[1:], N_GROUPS),
    "FlatteningSums": lambda theta: FlatteningSums(theta, None),
    "FlatteningSums, shifted": lambda theta: FlatteningSums(theta, theta[1:]),
    "Extremes": lambda theta: Extremes(len(theta) - 1),
    "SignedRows": lambda theta: SignedRows(frame(theta)),
    "Disagreements": lambda theta: Disagreements(frame(theta), theta),
    "MissingPlaces": lambda theta: MissingPlaces(),
    "PositiveWeight": lambda theta: PositiveWeight(),
    "Span": lambda theta: Span(len(theta) - 1),
    "NoisySums": lambda theta: NoisySums(noisy(theta)),
    "NoisySums, shifted": lambda theta: NoisySums(noisy(theta), theta[1:]),
    "NoisyScore": lambda theta: NoisyScore(noisy(theta)),
    "NoisyScore, shifted": lambda theta: NoisyScore(noisy(theta), theta[1:]),
    "BendSums": lambda theta: BendSums(noisy(theta), None, theta[1:], np.ones(len(theta) - 1)),
    "BendSums, shifted": lambda theta: BendSums(
        noisy(theta), theta[1:], theta[1:], np.ones(len(theta) - 1)
    ),
    "IndexMoments": lambda theta: IndexMoments(theta[1:], None),
    "IndexCounts, shifted": lambda theta: IndexCounts(theta[1:], theta[1:], 0.1, 2.0),
    "GroupedNoisyScores": lambda theta: GroupedNoisyScores(noisy(theta), None, N_GROUPS),
    "CurveBins": lambda theta: CurveBins(noisy(theta), None, (-1.0, 1.0), 0.2),
    "CurveBins, shifted": lambda theta: CurveBins(noisy(theta), theta[1:], (-1.0, 1.0)),
    "BendingSums": lambda theta: BendingSums(bending(theta)),
    "BendingVariance": lambda theta: BendingVariance(bending(theta), added(theta)),
    "GroupedBendingScores": lambda theta: GroupedBendingScores(
        bending(theta), added(theta), N_GROUPS
    ),
    "RiskSum": lambda theta: RiskSum(backward(), theta, None),
    "RiskSum, shifted": lambda theta: RiskSum(backward(), theta, theta[1:]),
    "CellCounts": lambda theta: CellCounts(projection(theta), None),
}

every_sum = pytest.mark.parametrize("name", SUMS)
every_width = pytest.mark.parametrize("width", WIDTHS)
with_and_without_weights = pytest.mark.parametrize("weighted", [False, True])


def frame(theta):
    return Frame(theta[1:], np.ones(len(theta) - 1))


def bending(theta):
    return BendingDesign(noisy(theta), theta[1:], np.ones(len(theta)), np.linspace(0.1, 0.9, 5))


def added(theta):
    return np.full(5 + len(theta), 0.01)


def projection(theta):
    levers = np.column_stack([theta[1:], theta[1:] ** 2])
    corner = np.ones(2)
    return Projection((0, 0), levers, corner, 0.0, corner, -corner, 2 * corner)


def backward():
    return corrected_loss("logistic", ClassConditionalNoise(0.3, 0.1))


def noisy(theta):
    return NoisyPoint(theta, rate=0.1, asymmetry=0.05)


def empty(name, width):
    return SUMS[name](np.random.default_rng(width).normal(size=width + 1) / width)


def block(name, width, weighted, start=0, stop=N_ROWS):
    """Return the rows from start to stop, holes and all where holes are looked for."""
    rng = np.random.default_rng(100 + width)
    features = rng.normal(size=(N_ROWS, width))
    if name == "MissingPlaces":
        features[[60, 20, 20, 70], [0, width - 1, 0, 0]] = [np.nan, np.inf, np.nan, -np.inf]
    labels = rng.integers(0, 2, N_ROWS).astype(float)
    weights = rng.integers(0, 4, N_ROWS).astype(float)
    groups = rng.integers(0, N_GROUPS, N_ROWS)
    rows = slice(start, stop)
    return Block(
        features[rows], labels[rows], weights[rows] if weighted else None, groups[rows], start
    )


def state(value):
    """Flatten all numbers a sum holds, except its scratch space."""
    if isinstance(value, list):
        return state(np.concatenate(value)) if value else []
    if isinstance(value, tuple):
        return [float(part) for part in value]
    if hasattr(value, "__dict__"):
        parts = [state(part) for name, part in vars(value).items() if "scratch" not in name]
        return [number for part in parts for number in part]
    if value is None or dataclasses.is_dataclass(value):
        return []
    return np.ravel(value).astype(float).tolist()


@every_sum
@every_width
@with_and_without_weights
def test_two_half_sums_merge_to_the_whole_sum(name, width, weighted):
    first, second, whole = (empty(name, width) for _ in range(3))
    first.add(block(name, width, weighted, stop=40))
    second.add(block(name, width, weighted, start=40))
    first.merge(second)
    whole.add(block(name, width, weighted))
    assert state(first) == pytest.approx(state(whole), rel=1e-12, abs=1e-12)


@every_sum
@every_width
def test_the_order_of_merging_does_not_matter(name, width):
    first, second, whole = (empty(name, width) for _ in range(3))
    first.add(block(name, width, weighted=True, stop=40))
    second.add(block(name, width, weighted=True, start=40))
    second.merge(first)
    whole.add(block(name, width, weighted=True))
    assert sorted(state(second)) == pytest.approx(sorted(state(whole)), rel=1e-12, abs=1e-12)


@every_sum
@every_width
def test_merging_an_empty_sum_changes_nothing(name, width):
    filled, before = empty(name, width), empty(name, width)
    for copy in (filled, before):
        copy.add(block(name, width, weighted=False))
    filled.merge(empty(name, width))
    assert state(filled) == state(before)


@every_sum
@every_width
def test_two_blocks_sum_to_the_whole(name, width):
    pieces, whole = empty(name, width), empty(name, width)
    pieces.add(block(name, width, weighted=True, stop=40))
    pieces.add(block(name, width, weighted=True, start=40))
    whole.add(block(name, width, weighted=True))
    assert state(pieces) == pytest.approx(state(whole), rel=1e-12, abs=1e-12)


@every_sum
@every_width
def test_an_empty_sum_pickles(name, width):
    sent, kept = pickle.loads(pickle.dumps(empty(name, width))), empty(name, width)
    for copy in (sent, kept):
        copy.add(block(name, width, weighted=True))
    assert state(sent) == state(kept)


@every_sum
def test_a_filled_sum_pickles(name):
    filled = empty(name, 3)
    filled.add(block(name, 3, weighted=True))
    assert state(pickle.loads(pickle.dumps(filled))) == state(filled)


@every_sum
@with_and_without_weights
def test_a_sum_leaves_its_block_unchanged(name, weighted):
    given, same = (block(name, 6, weighted) for _ in range(2))
    empty(name, 6).add(given)
    assert np.array_equal(given.features, same.features, equal_nan=True)


@every_sum
def test_a_sum_holds_numbers_to_compare(name):
    filled = empty(name, 3)
    filled.add(block(name, 3, weighted=False))
    assert any(state(filled))


@every_width
def test_the_gram_is_that_of_the_full_design(width):
    rows = block("Moments", width, weighted=True)
    gram = WeightedGram(width)
    gram.add(rows.features, rows.weights)
    design = np.column_stack([np.ones(N_ROWS), rows.features])
    expected = design.T @ (design * rows.weights[:, None])
    assert gram.total() == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_rows_without_groups_have_no_grouped_scores():
    rows = block("Score", 2, weighted=False)
    with pytest.raises(TypeError, match="these rows carry no groups"):
        GroupedScores(np.zeros(3), None, 2).add(Block(rows.features, rows.labels, None, None, 0))


@pytest.mark.parametrize("name", [name for name in SUMS if name != "SignedRows"])
@every_width
def test_a_filled_sum_travels_as_lightly_as_an_empty_one(name, width):
    filled = empty(name, width)
    filled.add(block(name, width, weighted=True))
    assert len(pickle.dumps(filled)) <= len(pickle.dumps(empty(name, width))) + 100
