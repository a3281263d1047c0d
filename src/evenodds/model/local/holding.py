"""Rows held in memory: a local fit looks at some of them again and again."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from evenodds.errors import InputError
from evenodds.model.local.posteriors import LocalRows, check_few_features
from evenodds.model.problem import refuse_combinations
from evenodds.rows.base import Block, IntArray, Rows
from evenodds.rows.missing import refuse_missing
from evenodds.validation import FloatArray

# Most numbers that are held (320 MB).
MOST_NUMBERS = 40_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Features, labels, weights and groups of one block."""

    features: FloatArray
    labels: FloatArray
    weights: FloatArray | None
    groups: IntArray | None


class HeldRows:
    """All rows of a source, copied block by block."""

    def __init__(self) -> None:
        self.blocks: list[Held] = []

    def add(self, block: Block) -> None:
        self.blocks.append(
            Held(
                block.features.copy(),
                block.labels.copy(),
                None if block.weights is None else block.weights.copy(),
                None if block.groups is None else block.groups.copy(),
            )
        )

    def merge(self, other: Self) -> None:
        self.blocks += other.blocks


def hold_locally(rows: Rows, instead: str) -> LocalRows:
    """Bring the rows of any source into memory, ready for local fits.

    `instead` names what takes any number of rows and features.

    Raises
    ------
    InputError
        If there are too many features or rows, or values are missing.
    RankError
        If a column is constant or repeats others.
    """
    check_few_features(rows.n_features, instead)
    if rows.n_rows * rows.n_features > MOST_NUMBERS:
        raise InputError(
            f"{rows.called} has {rows.n_rows:,} rows of {rows.n_features} features, more than "
            f"the {MOST_NUMBERS // rows.n_features:,} that a local fit holds in memory: give a "
            f"random part of the rows, or use {instead}, which needs no memory."
        )
    blocks = rows.sum_over_rows(HeldRows()).blocks
    features = np.concatenate([block.features for block in blocks])
    if not np.isfinite(features).all():
        refuse_missing(rows)
    weights = [block.weights for block in blocks if block.weights is not None]
    groups = [block.groups for block in blocks if block.groups is not None]
    held = LocalRows.of(
        features,
        np.concatenate([block.labels for block in blocks]),
        np.concatenate(weights) if weights else None,
        np.concatenate(groups) if groups else None,
        rows.feature_names,
    )
    centred = held.around.features - held.around.features.mean(axis=0)
    refuse_combinations(rows, centred.T @ centred)
    return held
