"""Splits of K classes into two sides, and the schemes and codes that make them."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from evenodds.anchors import Anchors
from evenodds.errors import AnchorError, InputError
from evenodds.inference.asymmetry import read_anchors
from evenodds.rows.anchor_points import anchor_table, refuse_holes, refuse_the_data
from evenodds.rows.labels import Classes
from evenodds.rows.memory import as_arrow
from evenodds.rows.read import ClassRows, is_path
from evenodds.validation import (
    FloatArray,
    check_choice,
    check_column,
    check_whole,
    join_quoted,
    kind_of_value,
)

if TYPE_CHECKING:
    import pyarrow as pa

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
    share, bits, most = (
        ((0.5, 0.0, 0.5), DENSE_LENGTH, 2 ** (n_classes - 1) - 1)
        if chosen == "dense"
        else ((0.25, 0.5, 0.25), SPARSE_LENGTH, math.inf)
    )
    wanted = min(math.ceil(bits * math.log2(n_classes)), most)
    columns: dict[tuple[int, ...], None] = {}
    for _ in range(MOST_DRAWS):
        column = rng.choice([-1, 0, 1], size=n_classes, p=share)
        if (column > 0).any() and (column < 0).any():
            columns[_named_once(column)] = None
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


def _named_once(column: NDArray[np.int64]) -> tuple[int, ...]:
    """Return a column with its first class on the positive side: a split has one name."""
    return tuple((column * column[np.flatnonzero(column)[0]]).tolist())


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
        split = _named_once(column)
        if split in seen:
            raise InputError(
                f"columns {seen[split]} and {number} of codes make the same split: drop one of "
                "them (a column and its negative are the same too)."
            )
        seen[split] = number
    return tuple(map(tuple, entries.astype(int).tolist()))


Scheme = Literal["one-vs-one", "one-vs-rest", "output-codes"]

AGAINST = "|"
AND = "+"
# The column of a table of toss-ups that names the split of each.
BETWEEN = "between"


@dataclass(frozen=True, slots=True)
class Split:
    """Two sides of classes, by number; classes on neither are left out."""

    positive: tuple[int, ...]
    negative: tuple[int, ...]

    def name(self, classes: Classes, *, rest: bool = False) -> str:
        """Write the split as ``cat + dog | fox``."""
        first, second = (
            f" {AND} ".join(str(classes.names[k]) for k in side)
            for side in (self.positive, self.negative)
        )
        return f"{first} {AGAINST} {'rest' if rest else second}"

    @property
    def sides(self) -> frozenset[frozenset[int]]:
        """The two sides, whichever is positive."""
        return frozenset((frozenset(self.positive), frozenset(self.negative)))


def check_scheme(value: Any) -> Scheme:
    """Return a checked scheme."""
    return check_choice(value, "scheme", get_args(Scheme))  # type: ignore[return-value]


def splits_of(scheme: Scheme, n_classes: int, codes: Any) -> list[Split]:
    """Return all splits of a scheme."""
    every = range(n_classes)
    if scheme == "one-vs-one":
        return [Split((first,), (second,)) for first, second in combinations(every, 2)]
    if scheme == "one-vs-rest":
        return [Split((k,), tuple(other for other in every if other != k)) for k in every]
    return [
        Split(
            tuple(k for k in every if column[k] > 0),
            tuple(k for k in every if column[k] < 0),
        )
        for column in read_codes(codes, n_classes).columns()
    ]


def read_split_anchors(
    anchors: Any, scheme: Scheme, classes: Classes, splits: list[Split]
) -> list[tuple[Split, Anchors | None]]:
    """Return every split with its anchors; the side named first is the positive one."""
    if not isinstance(anchors, Mapping):
        table = anchor_table(anchors) if is_path(anchors) else as_arrow(anchors, "anchors")
        if table is None:
            example = {
                "one-vs-one": "{('cat', 'dog'): Anchors(points), ...}",
                "one-vs-rest": "{'cat': Anchors(points), ...}",
                "output-codes": "{'cat + dog | fox + owl': Anchors(points), ...}",
            }[scheme]
            raise AnchorError(
                f"anchors is {kind_of_value(anchors)} but each split has toss-ups of its own: "
                f"give a dict such as {example}, or a table with a column {BETWEEN!r}."
            )
        anchors = split_table(table, BETWEEN, "anchors")
    found: dict[frozenset[frozenset[int]], tuple[Split, Anchors]] = {}
    known = {split.sides for split in splits}
    listed = join_quoted(split.name(classes, rest=scheme == "one-vs-rest") for split in splits)
    for key, points in anchors.items():
        split = _read_key(key, scheme, classes, splits)
        if split.sides not in known:
            raise AnchorError(
                f"anchors names {split.name(classes)!r}, which is no split of scheme {scheme!r}: "
                f"the splits are {listed}."
            )
        if split.sides in found:
            raise AnchorError(
                f"anchors names {split.name(classes)!r} twice: put its points together."
            )
        with naming(split, classes):
            toss_ups = read_anchors(points)
        if toss_ups is not None:
            found[split.sides] = (split, toss_ups)
    if not found:
        raise AnchorError(
            f"anchors is empty: give toss-ups for at least one split; the splits are {listed}."
        )
    return [found.get(split.sides, (split, None)) for split in splits]


def split_table(
    table: "pa.Table", between: str, called: Any, advice: str = ""
) -> dict[str, "pa.Table"]:
    """Return the toss-ups of a table by the split that its column `between` names."""
    why = " to say between which classes each toss-up is"
    check_column(between, table.column_names, called, why=why, advice=advice, error=AnchorError)
    refuse_holes(table, [between], called)
    keys = [str(key) for key in table[between].to_pylist()]
    points = table.drop_columns([between])
    return {key: points.filter(np.equal(keys, key)) for key in dict.fromkeys(keys)}


def anchors_beside(
    rows: ClassRows, every: list[tuple[Split, Anchors | None]]
) -> list[tuple[Split, Anchors, FloatArray]]:
    """Return the splits that have anchors, these with the features of the rows, and as points."""
    known = []
    source = rows.rows
    for split, anchors in every:
        if anchors is not None:
            with naming(split, rows.classes):
                beside = anchors.beside(source)
                points = beside.points_for(source.feature_names, source.n_features)
                known.append((split, beside, points))
    refuse_the_data(np.concatenate([points for *_, points in known]), source)
    return known


@contextmanager
def naming(split: Split, classes: Classes) -> Iterator[None]:
    """Name the split whose anchors are at fault."""
    try:
        yield
    except AnchorError as error:
        raise AnchorError(f"split {split.name(classes)!r}: {error}") from None


def _read_key(key: Any, scheme: Scheme, classes: Classes, splits: list[Split]) -> Split:
    """Read what names a split: a pair, a class, the number of a column, or text as in files."""
    a_number = isinstance(key, (int, np.integer)) and not isinstance(key, bool)
    if scheme == "output-codes" and a_number:
        if not 0 <= key < len(splits):
            raise AnchorError(f"anchors names column {key} but codes has {len(splits)} columns.")
        return splits[int(key)]
    if scheme == "one-vs-rest" and classes.number(key) is not None:
        return splits[_number(key, classes)]
    sides: tuple[Any, ...] = key if isinstance(key, tuple) else tuple(str(key).split(AGAINST))
    if scheme == "one-vs-rest" and (len(sides) == 1 or str(sides[1]).strip() == "rest"):
        return splits[_number(sides[0], classes)]
    if len(sides) != 2:
        raise AnchorError(
            f"anchors names {key!r}, which is not two sides: write them as 'cat {AGAINST} dog'."
        )
    first, second = (_read_side(side, classes) for side in sides)
    return Split(first, second)


def _read_side(side: Any, classes: Classes) -> tuple[int, ...]:
    """Return the classes of a side, which is one class, several, or text with plus signs."""
    parts: Any = [side]
    if classes.number(side) is None:
        parts = side.split(AND) if isinstance(side, str) else side
    if not isinstance(parts, (list, tuple)):
        parts = [parts]
    return tuple(sorted(_number(part, classes) for part in parts))


def _number(name: Any, classes: Classes) -> int:
    place = classes.number(name)
    if place is None:
        shown = name.strip() if isinstance(name, str) else name
        raise AnchorError(
            f"anchors names class {shown!r}, which no row has: the classes are "
            f"{join_quoted(classes.names)}."
        )
    return place
