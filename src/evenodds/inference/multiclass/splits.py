"""Splits of K classes into two sides, and the schemes that make them."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np

from evenodds.anchors import Anchors
from evenodds.errors import AnchorError, InputError
from evenodds.inference.multiclass.codes import OutputCodes
from evenodds.rows.anchor_points import refuse_the_data
from evenodds.rows.classes import Classes, ClassRows
from evenodds.validation import check_choice, join_quoted

Scheme = Literal["one-vs-one", "one-vs-rest", "output-codes"]

AGAINST = "|"
AND = "+"


@dataclass(frozen=True, slots=True)
class Split:
    """Two sides of classes, by number; classes on neither are left out."""

    positive: tuple[int, ...]
    negative: tuple[int, ...]

    def name(self, classes: Classes, *, rest: bool = False) -> str:
        """Write the split as ``cat + dog | fox``."""
        sides = [f" {AND} ".join(str(classes.names[k]) for k in self.positive)]
        sides.append(
            "rest" if rest else f" {AND} ".join(str(classes.names[k]) for k in self.negative)
        )
        return f" {AGAINST} ".join(sides)

    @property
    def sides(self) -> frozenset[frozenset[int]]:
        """The two sides, whichever is positive."""
        return frozenset((frozenset(self.positive), frozenset(self.negative)))


def check_scheme(value: Any) -> Scheme:
    """Return a checked scheme."""
    scheme: Scheme = check_choice(value, "scheme", get_args(Scheme))  # type: ignore[assignment]
    return scheme


def splits_of(scheme: Scheme, classes: Classes, codes: OutputCodes | None) -> list[Split]:
    """Return all splits of a scheme."""
    every = range(len(classes.names))
    if scheme == "one-vs-one":
        return [Split((first,), (second,)) for first, second in combinations(every, 2)]
    if scheme == "one-vs-rest":
        return [Split((k,), tuple(other for other in every if other != k)) for k in every]
    if codes is None:
        raise InputError("codes is None: give a matrix or an OutputCodes record.")
    return [
        Split(
            tuple(k for k in every if column[k] > 0),
            tuple(k for k in every if column[k] < 0),
        )
        for column in codes.columns()
    ]


def read_split_anchors(
    anchors: Any, scheme: Scheme, classes: Classes, splits: list[Split]
) -> list[tuple[Split, Anchors | None]]:
    """Return every split with its anchors; the side named first is the positive one."""
    if not isinstance(anchors, Mapping):
        example = {
            "one-vs-one": "{('cat', 'dog'): Anchors(points), ...}",
            "one-vs-rest": "{'cat': Anchors(points), ...}",
            "output-codes": "{'cat + dog | fox + owl': Anchors(points), ...}",
        }[scheme]
        raise AnchorError(
            f"anchors is a {type(anchors).__name__} but each split has toss-ups of its own: give a "
            f"dict such as {example}."
        )
    found: dict[frozenset[frozenset[int]], tuple[Split, Anchors]] = {}
    known = {split.sides: split for split in splits}
    for key, points in anchors.items():
        split = _read_key(key, scheme, classes, splits)
        if split.sides not in known:
            raise AnchorError(
                f"anchors names {split.name(classes)!r}, which is no split of scheme {scheme!r}: "
                f"the splits are {_listed(splits, scheme, classes)}."
            )
        if split.sides in found:
            raise AnchorError(
                f"anchors names {split.name(classes)!r} twice: put its points together."
            )
        if not isinstance(points, Anchors):
            raise AnchorError(
                f"anchors of {split.name(classes)!r} is a {type(points).__name__}: wrap the points "
                "as evenodds.Anchors(points)."
            )
        found[split.sides] = (split, points)
    if not found:
        raise AnchorError(
            f"anchors is empty: give toss-ups for at least one split; the splits are "
            f"{_listed(splits, scheme, classes)}."
        )
    return [found.get(split.sides, (split, None)) for split in splits]


def anchors_beside(
    rows: ClassRows, every: list[tuple[Split, Anchors | None]]
) -> list[tuple[Split, Anchors]]:
    """Return the splits that have anchors, these with the features of the rows."""
    known: list[tuple[Split, Anchors]] = []
    for split, points in every:
        if points is not None:
            with naming(split, rows):
                known.append((split, points.beside(rows.rows)))
    source = rows.rows
    together = [points.points_for(source.feature_names, source.n_features) for _, points in known]
    refuse_the_data(np.concatenate(together), source)
    return known


@contextmanager
def naming(split: Split, rows: ClassRows) -> Iterator[None]:
    """Name the split whose anchors are at fault."""
    try:
        yield
    except AnchorError as error:
        raise AnchorError(f"split {split.name(rows.classes)!r}: {error}") from None


def _listed(splits: list[Split], scheme: Scheme, classes: Classes) -> str:
    return join_quoted(split.name(classes, rest=scheme == "one-vs-rest") for split in splits)


def _read_key(key: Any, scheme: Scheme, classes: Classes, splits: list[Split]) -> Split:
    """Read what names a split: a pair, a class, the number of a column, or text as in files."""
    if (
        scheme == "output-codes"
        and isinstance(key, (int, np.integer))
        and not isinstance(key, bool)
    ):
        if not 0 <= key < len(splits):
            raise AnchorError(f"anchors names column {key} but codes has {len(splits)} columns.")
        return splits[int(key)]
    if scheme == "one-vs-rest" and classes.number(key) is not None:
        return _against_the_rest(_number(key, classes), classes)
    sides: tuple[Any, ...] = key if isinstance(key, tuple) else tuple(str(key).split(AGAINST))
    if scheme == "one-vs-rest" and (len(sides) == 1 or str(sides[1]).strip() == "rest"):
        return _against_the_rest(_number(sides[0], classes), classes)
    if len(sides) != 2:
        raise AnchorError(
            f"anchors names {key!r}, which is not two sides: write them as 'cat {AGAINST} dog', "
            "or as a tuple."
        )
    first, second = (_read_side(side, classes) for side in sides)
    return Split(first, second)


def _read_side(side: Any, classes: Classes) -> tuple[int, ...]:
    """Return the classes of a side, which is one class, several, or text with plus signs."""
    if classes.number(side) is not None:
        return (_number(side, classes),)
    parts: Iterable[Any] = str(side).split(AND) if isinstance(side, str) else side
    if not isinstance(parts, (list, tuple)):
        parts = (parts,)
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


def _against_the_rest(number: int, classes: Classes) -> Split:
    others = tuple(k for k in range(len(classes.names)) if k != number)
    return Split((number,), others)
