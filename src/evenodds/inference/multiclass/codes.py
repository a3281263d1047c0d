"""Error-correcting output codes: a matrix whose columns split the classes in two."""

import math
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, get_args

import numpy as np

from evenodds.errors import InputError
from evenodds.validation import check_choice, check_whole

# Up to this many classes every split is a column: 2^(K - 1) - 1 of them, 31 for six.
MOST_EXHAUSTIVE = 6
# Lengths of random codes in bits a class (Allwein, Schapire, Singer 2000).
DENSE_LENGTH = 10.0
SPARSE_LENGTH = 15.0
MOST_DRAWS = 10_000

Kind = Literal["exhaustive", "dense", "sparse"]


@dataclass(frozen=True, slots=True)
class OutputCodes:
    """A code matrix, checked: classes in rows, splits in columns, entries +1, -1 or 0.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_columns)
        +1 puts a class on the positive side, -1 on the negative, 0 leaves it out.

    Examples
    --------
    >>> OutputCodes([[1, 1], [1, -1], [-1, 1], [-1, -1]]).columns()
    [(1, 1, -1, -1), (1, -1, 1, -1)]
    """

    matrix: tuple[tuple[int, ...], ...]

    def __init__(self, matrix: Any) -> None:
        object.__setattr__(self, "matrix", _checked(matrix))

    def columns(self) -> list[tuple[int, ...]]:
        """Return the splits."""
        return list(zip(*self.matrix, strict=True))

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.matrix)


def build_codes(n_classes: int, *, kind: Kind | None = None, seed: int = 0) -> OutputCodes:
    """Return a code matrix without repeated splits.

    Parameters
    ----------
    n_classes : int
        At least three.
    kind : {"exhaustive", "dense", "sparse"}, optional
        Every split, or random ones: dense columns put every class on a side, sparse ones leave
        about half of them out. Default: exhaustive up to six classes, then dense.
    seed : int
        Of the random codes.

    Examples
    --------
    >>> len(build_codes(4).columns())
    7
    """
    n_classes = check_whole(n_classes, "n_classes", at_least=3)
    usual = "exhaustive" if n_classes <= MOST_EXHAUSTIVE else "dense"
    chosen = usual if kind is None else check_choice(kind, "kind", get_args(Kind))
    rng = np.random.default_rng(check_whole(seed, "seed"))
    if chosen == "exhaustive":
        if n_classes > 2 * MOST_EXHAUSTIVE:
            raise InputError(
                f"an exhaustive code of {n_classes} classes has {2 ** (n_classes - 1) - 1:,} "
                "columns: use kind='dense' or 'sparse'."
            )
        rest = product((1, -1), repeat=n_classes - 1)
        return OutputCodes(np.array([(1, *column) for column in rest if -1 in column]).T)
    share = (0.5, 0.0, 0.5) if chosen == "dense" else (0.25, 0.5, 0.25)
    bits = DENSE_LENGTH if chosen == "dense" else SPARSE_LENGTH
    wanted = math.ceil(bits * math.log2(n_classes))
    if chosen == "dense":
        wanted = min(wanted, 2 ** (n_classes - 1) - 1)
    columns: dict[tuple[int, ...], None] = {}
    for _ in range(MOST_DRAWS):
        column = rng.choice([-1, 0, 1], size=n_classes, p=share)
        if (column > 0).any() and (column < 0).any():
            # The first class on a side is on the positive one: a split has one name.
            column = column * column[np.flatnonzero(column)[0]]
            columns[tuple(int(entry) for entry in column)] = None
        if len(columns) == wanted:
            break
    return OutputCodes(np.array(list(columns)).T)


def read_codes(codes: Any, n_classes: int) -> OutputCodes:
    """Return the codes asked for, or those built for this many classes."""
    if codes is None:
        return build_codes(n_classes)
    read = codes if isinstance(codes, OutputCodes) else OutputCodes(codes)
    if read.n_classes != n_classes:
        raise InputError(
            f"codes has {read.n_classes} rows but there are {n_classes} classes: give one row a "
            "class, in the order of their names."
        )
    return read


def _checked(matrix: Any) -> tuple[tuple[int, ...], ...]:
    """Refuse what is no code, and columns that make the same split."""
    try:
        entries = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("codes must hold the numbers +1, -1 and 0, one row a class.") from None
    if entries.ndim != 2 or entries.size == 0:
        raise InputError(
            f"codes has shape {entries.shape} but must be a matrix: classes in rows, splits in "
            "columns."
        )
    if not np.isin(entries, (-1, 0, 1)).all():
        odd = entries[~np.isin(entries, (-1, 0, 1))][0]
        raise InputError(
            f"codes holds {odd:g} but only +1 (positive side), -1 (negative side) and 0 (left out) "
            "are known."
        )
    seen: dict[tuple[int, ...], int] = {}
    for number, column in enumerate(entries.T.astype(int)):
        if not ((column > 0).any() and (column < 0).any()):
            raise InputError(
                f"column {number} of codes has all its classes on one side: a split needs both +1 "
                "and -1."
            )
        split = tuple(int(entry) for entry in column * column[np.flatnonzero(column)[0]])
        if split in seen:
            raise InputError(
                f"columns {seen[split]} and {number} of codes make the same split: drop one of "
                "them (a column and its negative are the same too)."
            )
        seen[split] = number
    return tuple(tuple(int(entry) for entry in row) for row in entries)
