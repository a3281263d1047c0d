"""Rows in memory: blocks, views and samples."""

import numpy as np
import pandas as pd
import pytest

import evenodds as eo
from evenodds.model.logistic import fit_rows
from evenodds.rows.base import rows_in_a_block
from evenodds.rows.memory import read_rows


class Seen:
    """A sum that only remembers what it was given."""

    def __init__(self):
        self.blocks = []

    def add(self, block):
        self.blocks.append(block)


@pytest.mark.parametrize("block_rows", [1, 7, 100, 299, 300, 1000])
def test_the_block_size_does_not_matter(labelled, block_rows):
    fit = fit_rows(read_rows(labelled.X, labelled.y, block_rows=block_rows))
    reference = eo.fit_logistic(labelled.X, labelled.y)
    assert fit.coefficients == pytest.approx(reference.coefficients, rel=1e-12)


@pytest.mark.parametrize("as_frame", [False, True])
def test_blocks_hold_every_row_once_and_in_order(labelled, as_frame):
    X = pd.DataFrame(labelled.X, columns=["a", "b"]) if as_frame else labelled.X
    seen = read_rows(X, labelled.y, block_rows=70).sum_over_rows(Seen())
    assert (np.concatenate([block.features for block in seen.blocks]) == labelled.X).all()


def test_blocks_know_where_they_start(labelled):
    seen = read_rows(labelled.X, labelled.y, block_rows=140).sum_over_rows(Seen())
    assert [block.start for block in seen.blocks] == [0, 140, 280]


def test_weights_and_groups_travel_with_their_rows(labelled):
    numbers = np.arange(300)
    rows = read_rows(
        labelled.X, labelled.y, sample_weight=numbers, groups=numbers[::-1], block_rows=200
    )
    last = rows.sum_over_rows(Seen()).blocks[-1]
    assert (last.weights[0], last.groups[0]) == (200, 99)


def test_blocks_of_a_float_array_are_views(labelled):
    seen = read_rows(labelled.X, labelled.y, block_rows=100).sum_over_rows(Seen())
    assert all(np.shares_memory(block.features, labelled.X) for block in seen.blocks)


def test_columns_of_a_frame_are_not_copied(labelled):
    frame = pd.DataFrame({"a": labelled.X[:, 0].copy(), "b": labelled.X[:, 1].copy()})
    columns = read_rows(frame, labelled.y)._given
    assert np.shares_memory(columns[0], frame["a"].to_numpy())


@pytest.mark.parametrize("as_frame", [False, True])
def test_a_sample_takes_one_row_of_each_run(as_frame):
    X = np.arange(100.0).reshape(-1, 1)
    source = pd.DataFrame(X, columns=["a"]) if as_frame else X
    rows = read_rows(source, np.tile([0, 1], 50)).thinned(10, np.random.default_rng(1))
    (block,) = rows.sum_over_rows(Seen()).blocks
    assert (block.features.ravel() // 10).tolist() == list(range(10))


def test_a_sample_of_a_sample_still_takes_one_row_of_each_run():
    X = np.arange(100.0).reshape(-1, 1)
    rng = np.random.default_rng(1)
    rows = read_rows(X, np.tile([0, 1], 50)).thinned(2, rng).thinned(5, rng)
    (block,) = rows.sum_over_rows(Seen()).blocks
    assert (block.features.ravel() // 10).tolist() == list(range(10))


def test_a_sample_of_a_sample_keeps_labels_with_their_rows():
    X = np.arange(100.0).reshape(-1, 1)
    rng = np.random.default_rng(1)
    rows = read_rows(X, np.arange(100) >= 60).thinned(2, rng).thinned(5, rng)
    (block,) = rows.sum_over_rows(Seen()).blocks
    assert ((block.features.ravel() >= 60) == block.labels).all()


def test_the_total_weight_of_a_sample_is_that_of_its_rows():
    rows = read_rows(np.arange(6.0).reshape(-1, 1), [0, 1] * 3, sample_weight=[2] * 6)
    assert rows.thinned(3, np.random.default_rng(1)).total_weight == 4


def test_positive_rows_are_counted_with_their_weights():
    rows = read_rows([[1.0], [2.0], [3.0]], ["n", "y", "y"], sample_weight=[5, 2, 0.5])
    assert rows.positive_weight() == 2.5


def test_columns_without_names_are_named_by_number():
    assert read_rows([[1.0, 0.0], [2.0, 1.0]], [0, 1]).column(1) == "column 1"


@pytest.mark.parametrize("n_features", [3, 20, 100])
def test_a_block_takes_two_megabytes_at_most(n_features):
    assert rows_in_a_block(n_features) * n_features * 8 <= 2 * 1024 * 1024
