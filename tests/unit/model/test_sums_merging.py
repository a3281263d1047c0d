"""Every sum over rows can be split over workers: it pickles when empty, and it merges."""

import dataclasses
import pickle
from functools import partial

import numpy as np
import pytest

from evenodds.model.bent_curve import BendingDesign
from evenodds.model.curve_shape import (
    Projection,
    bends_in,
    cell_counts,
    curve_bins,
    flattening_in,
)
from evenodds.model.logistic import (
    Extremes,
    Frame,
    GroupedScores,
    SquaredScores,
    noisy_scores,
    plain_scores,
)
from evenodds.model.noisy_fit import _index_labels, _index_moments
from evenodds.model.noisy_likelihood import NoisyPoint, NoisyScore, NoisySums
from evenodds.model.risk import _loss_in, corrected_loss
from evenodds.model.sums import Information, Moments, Score, WeightedGram
from evenodds.noise import ClassConditionalNoise
from evenodds.rows.base import Block, Span, Totals, _positive_weight, missing_places

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
    "grouped scores": lambda theta: grouped(partial(plain_scores, theta, None), len(theta)),
    "grouped scores, shifted": lambda theta: grouped(
        partial(plain_scores, theta, theta[1:]), len(theta)
    ),
    "flattening": lambda theta: Totals(partial(flattening_in, theta, None)),
    "flattening, shifted": lambda theta: Totals(partial(flattening_in, theta, theta[1:])),
    "Extremes": lambda theta: Extremes(len(theta) - 1),
    "disagreements": lambda theta: Totals(partial(frame(theta).disagreements, theta)),
    "missing places": lambda theta: Totals(first_missing),
    "positive weight": lambda theta: Totals(_positive_weight),
    "Span": lambda theta: Span(len(theta) - 1),
    "NoisySums": lambda theta: NoisySums(noisy(theta)),
    "NoisySums, shifted": lambda theta: NoisySums(noisy(theta), theta[1:]),
    "NoisyScore": lambda theta: NoisyScore(noisy(theta)),
    "NoisyScore, shifted": lambda theta: NoisyScore(noisy(theta), theta[1:]),
    "bends": lambda theta: Totals(
        partial(bends_in, noisy(theta), None, theta[1:], np.ones(len(theta) - 1))
    ),
    "bends, shifted": lambda theta: Totals(
        partial(bends_in, noisy(theta), theta[1:], theta[1:], np.ones(len(theta) - 1))
    ),
    "moments of an index": lambda theta: Totals(partial(_index_moments, theta[1:], None)),
    "labels along an index, shifted": lambda theta: Totals(
        partial(_index_labels, theta[1:], theta[1:], 0.1, 2.0)
    ),
    "grouped noisy scores": lambda theta: grouped(
        partial(noisy_scores, noisy(theta), None), len(theta) + 2
    ),
    "bins of the curve": lambda theta: Totals(
        partial(curve_bins, noisy(theta), None, (-1.0, 1.0), 0.2)
    ),
    "bins of the curve, shifted": lambda theta: Totals(
        partial(curve_bins, noisy(theta), theta[1:], (-1.0, 1.0), None)
    ),
    "normal equations": lambda theta: Totals(bending(theta).normal_equations),
    "variance of scores": lambda theta: Totals(
        partial(bending(theta).score_variance, added(theta))
    ),
    "grouped bending scores": lambda theta: grouped(
        partial(bending(theta).scores, added(theta)), 5 + len(theta)
    ),
    "loss": lambda theta: Totals(partial(_loss_in, backward(), theta, None)),
    "loss, shifted": lambda theta: Totals(partial(_loss_in, backward(), theta, theta[1:])),
    "cells": lambda theta: Totals(partial(cell_counts, projection(theta), None)),
}

every_sum = pytest.mark.parametrize("name", SUMS)
every_width = pytest.mark.parametrize("width", WIDTHS)
with_and_without_weights = pytest.mark.parametrize("weighted", [False, True])


def first_missing(rows):
    """Return the counts alone: the first place is the least of all that blocks name."""
    return missing_places(rows)[:2]


def grouped(scores, n_parameters):
    return GroupedScores(scores, N_GROUPS, n_parameters)


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
    if name == "missing places":
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
        return [number for part in value for number in state(part)]
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
        empty("grouped scores", 2).add(Block(rows.features, rows.labels, None, None, 0))


@every_sum
@every_width
def test_a_filled_sum_travels_as_lightly_as_an_empty_one_and_its_numbers(name, width):
    filled = empty(name, width)
    filled.add(block(name, width, weighted=True))
    of_its_own = getattr(filled, "sums", ())
    numbers = sum(len(pickle.dumps(part)) for part in of_its_own)
    assert len(pickle.dumps(filled)) <= len(pickle.dumps(empty(name, width))) + numbers + 100
