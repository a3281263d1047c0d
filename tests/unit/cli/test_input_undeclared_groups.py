"""Columns that look like ids of items or annotators, and columns that do not."""

import numpy as np
import pyarrow as pa
import pytest

from evenodds.cli.input import doubt_undeclared

RNG = np.random.default_rng(1)
ITEMS = np.repeat(np.arange(80), 3)
TRUE = (RNG.random(80) < 0.4)[ITEMS]
N = len(ITEMS)


def _doubted(name, values, declared=()):
    return bool(doubt_undeclared({name: pa.array(values)}, TRUE, list(declared)))


@pytest.mark.parametrize(
    "name", ["id", "item", "case_id", "pairId", "Question No", "patient", "workers", "rowgrp", "7"]
)
def test_items_with_several_answers_are_doubted_under_any_name(name):
    assert _doubted(name, ITEMS)
    assert _doubted(name, [f"x{item}" for item in ITEMS])


@pytest.mark.parametrize("name", ["annotator", "worker_id", "AnnotatorID", "rater", "who"])
def test_people_are_doubted_by_name(name):
    assert _doubted(name, RNG.integers(0, 6, N))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("id", np.arange(N)),
        ("id", [*range(N - 1), 0]),  # one slip
        ("age", RNG.integers(20, 90, N)),
        ("user_age", RNG.integers(20, 90, N)),
        ("case_count", RNG.integers(0, 40, N)),
        ("city", RNG.choice([f"c{i}" for i in range(30)], N)),
        ("item_length", RNG.normal(size=N)),
        ("item", RNG.integers(0, 3, N)),
        ("truth_again", TRUE.astype(int)),
        ("site", RNG.choice(["a", "b"], N)),
        ("empty", [None] * N),
    ],
)
def test_other_columns_are_not_doubted(name, values):
    assert not _doubted(name, values)


def test_false_alarms_on_columns_of_counts_are_rare():
    """Unnamed columns of whole numbers, of 15 to 240 values, that do not know the truth."""
    alarms = sum(_doubted("x", RNG.integers(0, most, N)) for most in range(15, 240, 2))
    assert alarms == 0


def test_a_column_within_a_declared_group_is_no_news():
    assert _doubted("item", ITEMS)
    assert not _doubted("item", ITEMS, [ITEMS])
    assert not _doubted("item", ITEMS, [ITEMS // 4])
    assert _doubted("item", ITEMS // 4, [ITEMS])
