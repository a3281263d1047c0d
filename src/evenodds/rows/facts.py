"""What a pass over labels, weights and groups has seen, part by part."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from evenodds.rows.labels import read_labels
from evenodds.rows.roles import Columns, label_values
from evenodds.rows.selection import Selection, filtered
from evenodds.rows.values import is_missing_in, numbers, plain_array

if TYPE_CHECKING:
    import pyarrow as pa

# With more different labels than this there is no need to count them all.
MOST_LABELS = 1000


@dataclass
class Facts:
    """What has been seen of labels, weights and groups so far."""

    roles: Columns
    selection: Selection
    labels: dict[Any, float] = field(default_factory=dict)  # weight of each
    kept: dict[int, int] = field(default_factory=dict)  # rows of a batch, by its first row
    n_counted: int = 0
    weight: float = 0.0
    largest_weight: float = 0.0
    weighted: bool = False
    n_anchors: int = 0
    missing: dict[str, tuple[int, int]] = field(default_factory=dict)  # first row, how many
    wrong_weight: tuple[int, float] | None = None  # first row that has one, and what it is
    groups: "list[pa.Array]" = field(default_factory=list)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are read, each once."""
        named = (self.roles.label, self.roles.weight, self.roles.group, *self.selection.columns)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    def add(self, start: int, batch: "pa.RecordBatch") -> None:
        if batch.num_rows == 0:
            return
        kept = self.selection.kept(batch)
        rows = np.arange(batch.num_rows) if kept is None else np.flatnonzero(kept)
        self.n_anchors += int(self.selection.anchors(batch).sum())
        self.kept[start] = len(rows)
        self._look(batch if kept is None else filtered(batch, kept), start + rows)

    def merge(self, other: Self) -> None:
        for label, weight in other.labels.items():
            self._count_label(label, weight)
        self.kept |= other.kept
        self.n_counted += other.n_counted
        self.weight += other.weight
        self.largest_weight = max(self.largest_weight, other.largest_weight)
        self.weighted = self.weighted or other.weighted
        self.n_anchors += other.n_anchors
        for name, (first, count) in other.missing.items():
            self._count_missing(name, first, count)
        if self.wrong_weight is None:
            self.wrong_weight = other.wrong_weight
        self.groups = distinct([*self.groups, *other.groups])

    def _look(self, batch: "pa.RecordBatch", rows: Any) -> None:
        """Take in the rows of a batch that take part, given their numbers."""
        import pyarrow as pa

        weights = self._weights(batch, rows)
        label = label_values(batch.column(self.roles.label))
        there = ~self._note_missing(self.roles.label, label, rows)
        counted = label.filter(pa.array(there)).dictionary_encode()
        sums = np.bincount(
            counted.indices.to_numpy(),
            weights=None if weights is None else weights[there],
            minlength=len(counted.dictionary),
        )
        for value, weight in zip(counted.dictionary.to_pylist(), sums, strict=True):
            self._count_label(value, float(weight))
        if self.roles.group is not None:
            group = plain_array(batch.column(self.roles.group))
            self._note_missing(self.roles.group, group, rows)
            self.groups.append(group.drop_null().unique())

    def _weights(self, batch: "pa.RecordBatch", rows: Any) -> Any:
        """Look at the weights of a batch, and add them up."""
        if self.roles.weight is None:
            self.n_counted += batch.num_rows
            self.weight += batch.num_rows
            return None
        column = batch.column(self.roles.weight)
        self._note_missing(self.roles.weight, column, rows)
        weights = np.asarray(numbers(column), dtype=np.float64)
        wrong = (weights < 0) | np.isinf(weights)
        if self.wrong_weight is None and wrong.any():
            first = int(np.argmax(wrong))
            self.wrong_weight = int(rows[first]), float(weights[first])
        self.n_counted += int(np.count_nonzero(weights))
        self.weight += float(weights.sum())
        self.largest_weight = max(self.largest_weight, float(weights.max(initial=0.0)))
        self.weighted = self.weighted or bool((weights != 1).any())
        return weights

    def _count_label(self, label: Any, weight: float) -> None:
        self.labels[label] = self.labels.get(label, 0.0) + weight
        if len(self.labels) > MOST_LABELS:
            read_labels(list(self.labels), None, f"column {self.roles.label!r}")

    def _note_missing(self, name: str, column: "pa.Array", rows: Any) -> Any:
        """Count missing values and remember the first; return which they are."""
        missing = is_missing_in(column)
        if missing.any():
            self._count_missing(name, int(rows[np.argmax(missing)]), int(missing.sum()))
        return missing

    def _count_missing(self, name: str, first: int, count: int) -> None:
        earlier, before = self.missing.get(name, (first, 0))
        self.missing[name] = min(earlier, first), before + count


def distinct(values: "list[pa.Array]") -> "list[pa.Array]":
    """Return the different values as one array: as text where they are of different types."""
    import pyarrow as pa

    if not values:
        return []
    types = {each.type for each in values if len(each)} or {values[0].type}
    wide = types.pop() if len(types) == 1 else pa.string()
    return [pa.concat_arrays([each.cast(wide) for each in values]).unique()]
