"""An atlas of rejection rates as heat maps show it: cells by method, world and size."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import InputError
from evenodds.inference.wilson import wilson_interval
from evenodds.study.columns import Columns, in_order, kept
from evenodds.validation import FloatArray

# A level whose interval lies above this is no level of 5 %.
HELD: Final = 0.08

Key = tuple[str, str, int, int]
CELL: Final = ("method", "world", "n_rows", "n_anchors")
COLUMNS: Final = (*CELL, "tolerance", "alpha", "beta", "runs", "rejections")


@dataclass(frozen=True, slots=True)
class Cells:
    """Rejection rates by method, world and size; nan where nothing was run."""

    methods: list[str]
    worlds: list[str]
    sizes: list[tuple[int, int]]  # rows and anchors
    rates: FloatArray
    marked: NDArray[np.bool_]


def under_uniform_noise(columns: Columns) -> Columns:
    """Return the rows under uniform noise."""
    uniform = kept(columns, columns["alpha"] == columns["beta"])
    if not len(uniform["alpha"]):
        raise InputError("the table has no row under uniform noise: alpha differs from beta.")
    return uniform


def under_class_conditional_noise(columns: Columns) -> Columns:
    """Return the rows under noise that is not uniform."""
    lopsided = kept(columns, columns["alpha"] != columns["beta"])
    if not len(lopsided["alpha"]):
        raise InputError("the table has no row with class-conditional noise: alpha equals beta.")
    return lopsided


def levels_not_held(uniform: Columns) -> set[Key]:
    """Return the cells in which some level is surely too high."""
    counts = zip(uniform["rejections"].tolist(), uniform["runs"].tolist(), strict=True)
    lows = [wilson_interval(rejections, runs)[0] if runs else 0.0 for rejections, runs in counts]
    return {key for key, low in zip(_keys(uniform), lows, strict=True) if low > HELD}


def arrange(columns: Columns, not_held: set[Key]) -> Cells:
    """Arrange rows by cell, the largest share of rejections of each."""
    _refuse_repeats(columns)
    methods, worlds = in_order(columns["method"]), in_order(columns["world"])
    keys = _keys(columns)
    sizes = sorted({(n_rows, n_anchors) for _, _, n_rows, n_anchors in keys})
    rates = np.full((len(methods), len(worlds), len(sizes)), np.nan)
    marked = np.zeros(rates.shape, dtype=bool)
    shares = np.full(len(keys), np.nan)  # where no run could be done
    np.divide(columns["rejections"], columns["runs"], out=shares, where=columns["runs"] > 0)
    for key, rate in zip(keys, shares.tolist(), strict=True):
        method, world, *size = key
        place = methods.index(method), worlds.index(world), sizes.index((size[0], size[1]))
        rates[place] = np.fmax(rates[place], rate)
        marked[place] = key in not_held
    return Cells(methods, worlds, sizes, rates, marked)


def _keys(columns: Columns) -> list[Key]:
    """Name the cell each row belongs to."""
    named = (columns[name].tolist() for name in CELL)
    return list(zip(*named, strict=True))


def _refuse_repeats(columns: Columns) -> None:
    """Raise if one setting has several rows: which to draw would be a guess."""
    seen = set()
    for key, alpha in zip(_keys(columns), columns["alpha"].tolist(), strict=True):
        if (key, alpha) in seen:
            method, world, n_rows, n_anchors = key
            raise InputError(
                f"method {method!r} in world {world!r} with n_rows {n_rows} and n_anchors "
                f"{n_anchors} has two rows at alpha {alpha:g}: keep one of them."
            )
        seen.add((key, alpha))
