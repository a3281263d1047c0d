"""Rows on a device: tensors of torch, or arrays of CuPy, summed where they are.

A sum that can take tensors gets blocks as large as the device allows; to any other the rows come
through NumPy's memory, block by block. Data may be in single precision: passes that only show the
way multiply in it, those that decide are in double precision. Small samples leave the device,
since starting its programs costs more than their arithmetic. Rows of a file or of memory that a
device cannot hold are passed through it, a block at a time.
"""

from typing import Any

import numpy as np

from evenodds.errors import InputError, MissingExtraError
from evenodds.rows.base import (
    Block,
    IntArray,
    Rows,
    S,
    is_on_device,
    on_host,
    rows_in_a_block,
)
from evenodds.rows.labels import Labels, label_column, read_labels
from evenodds.rows.memory import MemoryRows, check_length, drawn, read_groups, weights_of_labels
from evenodds.validation import counted

# Most numbers in a block on a device (1 GiB in double precision), and the share of its free
# memory that a block and what is made of it may take.
MOST_NUMBERS = 2**27
FREE_SHARE, COPIES = 0.25, 4
# Most numbers in a block that passes through a device: it is put together in NumPy's memory.
MOST_PASSED = 2**22
# Samples of fewer numbers are summed by the processor.
FEW_NUMBERS = 400_000


class DeviceRows(Rows):
    """Rows of a 2-D tensor, with labels and weights beside it."""

    def __init__(
        self,
        features: Any,
        labels: Any,
        named: tuple[Any, Any],
        weights: Any = None,
        groups: IntArray | None = None,
        *,
        n_groups: int | None = None,
        feature_names: tuple[str, ...] | None = None,
    ) -> None:
        self.n_rows, self.n_features = features.shape
        self.positive, self.negative = named
        self.feature_names, self.n_groups = feature_names, n_groups
        self.weighted = weights is not None and bool((weights != 1).any())
        self.n_counted, self.total_weight = self.n_rows, float(self.n_rows)
        if weights is not None:
            self.n_counted, self.total_weight = int((weights != 0).sum()), float(weights.sum())
        self._features, self._labels, self._weights = features, labels, weights
        self._groups = groups
        self._block_rows = _rows_of_block(features.device, self.n_features)

    def sum_over_rows(self, empty: S) -> S:
        there = getattr(empty, "on_device", False)
        length = self._block_rows if there else rows_in_a_block(self.n_features)
        for start in range(0, self.n_rows, length):
            block = self._block(start, length)
            empty.add(block if there else _fetched(block))
        return empty

    def _block(self, start: int, length: int) -> Block:
        rows = slice(start, start + length)
        weights = None if self._weights is None else self._weights[rows]
        groups = None if self._groups is None else self._groups[rows]
        return Block(self._features[rows], self._labels[rows].double(), weights, groups, start)

    def thinned(self, step: int, rng: np.random.Generator) -> Rows:
        return self._taken(drawn(self.n_rows, step, rng))

    def peeked(self, step: int, rng: np.random.Generator) -> Rows:
        return self._taken(slice(int(rng.integers(step)), None, step))

    def positive_weight(self) -> float:
        labels = self._labels.double()
        return float(labels.sum() if self._weights is None else labels @ self._weights)

    def _taken(self, rows: slice | IntArray) -> Rows:
        """Return some of the rows, from NumPy's memory where they are few."""
        there = (
            rows if isinstance(rows, slice) else _torch().as_tensor(rows).to(self._labels.device)
        )
        features, labels = self._features[there].contiguous(), self._labels[there].contiguous()
        weights = None if self._weights is None else self._weights[there].contiguous()
        groups = None if self._groups is None else self._groups[rows]
        known: Any = {"n_groups": self.n_groups, "feature_names": self.feature_names}
        named = self.positive, self.negative
        if features.numel() > FEW_NUMBERS:
            return DeviceRows(features, labels, named, weights, groups, **known)
        values = Labels(on_host(labels), 1.0, *named, as_is=True)
        counts = None if weights is None else on_host(weights)
        return MemoryRows(on_host(features), values, counts, groups, **known)


class PassingRows(Rows):
    """Rows of another source that pass through a device, block by block, in every pass."""

    def __init__(self, source: Rows, device: Any) -> None:
        self._source, self._device = source, device
        for fact in (*SIZES, *KEPT, "costly"):
            setattr(self, fact, getattr(source, fact))

    def sum_over_rows(self, empty: S) -> S:
        if not getattr(empty, "on_device", False):
            return self._source.sum_over_rows(empty)
        length = min(_rows_of_block(self._device, self.n_features), MOST_PASSED // self.n_features)
        passing = self._source.sum_over_rows(_Passing(empty, self._device, max(1, length)))
        passing.flush()
        if passing.n_rows != self.n_rows:
            raise InputError(SPREAD)
        return empty

    def thinned(self, step: int, rng: np.random.Generator) -> Rows:
        return self._source.thinned(step, rng)

    def peeked(self, step: int, rng: np.random.Generator) -> Rows:
        return self._source.peeked(step, rng)

    def positive_weight(self) -> float:
        return self._source.positive_weight()

    def as_read(self) -> Rows:
        return self._source.as_read()

    def unheld(self) -> Rows:
        return self._source.unheld()

    def place(self, row: int, column: int) -> str:
        return self._source.place(row, column)


class _Passing:
    """Blocks of rows, put together, brought to a device, and added to a sum there."""

    def __init__(self, total: Any, device: Any, length: int) -> None:
        self.total, self.device, self.length = total, device, length
        self.waiting: list[Block] = []
        self.n_rows = self.n_waiting = 0

    def add(self, block: Block) -> None:
        self.waiting.append(block)
        self.n_waiting += len(block.labels)
        if self.n_waiting >= self.length:
            self.flush()

    def flush(self) -> None:
        """Add what waits."""
        if self.waiting:
            rows, there = Block.joined(self.waiting), _torch().as_tensor
            features, labels, weights = (
                None if part is None else there(part).to(self.device)
                for part in (rows.features, rows.labels, rows.weights)
            )
            self.total.add(Block(features, labels, weights, rows.groups, self.n_rows))
            self.n_rows += self.n_waiting
        self.waiting, self.n_waiting = [], 0

    def merge(self, other: "_Passing") -> None:
        raise InputError(SPREAD)


SPREAD = "rows that are spread over workers stay there: leave device out."


def _rows_of_block(device: Any, n_features: int) -> int:
    """Return how many rows to work on at a time."""
    if device.type == "cpu":
        return rows_in_a_block(n_features)
    numbers = min(MOST_NUMBERS, _free_bytes(device) * FREE_SHARE / (8 * COPIES))
    return max(1024, int(numbers) // n_features)


def _free_bytes(device: Any) -> float:
    """Return how much memory a device has free, where torch can tell."""
    return float(_torch().cuda.mem_get_info(device)[0]) if device.type == "cuda" else np.inf


def _fetched(block: Block) -> Block:
    """Return a block in NumPy's memory."""
    weights = None if block.weights is None else on_host(block.weights)
    return Block(on_host(block.features), on_host(block.labels), weights, block.groups, block.start)


def _torch() -> Any:
    """Return torch, which sums rows on a device."""
    try:
        import torch
    except ImportError:
        raise MissingExtraError(
            "rows on a device are summed by torch, the 'gpu' extra: install evenodds[gpu], or "
            "bring the rows back as a NumPy array."
        ) from None
    return torch


def _tensor(X: Any) -> Any:
    """Return an array on a device as a tensor, of the same memory where that can be."""
    torch = _torch()
    return X.detach() if isinstance(X, torch.Tensor) else torch.from_dlpack(X)


def read_tensors(X: Any, parts: dict[str, Any], positive: Any) -> DeviceRows:
    """Check rows on a device and return them as rows that are summed there."""
    features = _tensor(X)
    if features.ndim != 2:
        raise InputError(f"X has {counted(features.ndim, 'dimension')} but must have 2.")
    if features.is_complex():
        raise InputError("X holds complex numbers: give real ones.")
    if features.shape[1] == 0:
        raise InputError("X has no columns: give at least one feature.")
    torch = _torch()
    if features.dtype not in {torch.float32, torch.float64}:
        wide = torch.float32 if features.is_floating_point() else torch.float64
        features = features.to(wide)
    for name, part in parts.items():
        if isinstance(part, str):
            raise InputError(
                f"X has no columns with names: give {name} as an array, one value a row."
            )
    n_rows = len(features)
    labels, read = _labels(parts["y"], positive, features)
    check_length(labels, "y", n_rows)
    groups, n_groups = parts["groups"], None
    if groups is not None:
        groups, n_groups = read_groups(groups, n_rows)
    weights = None
    if parts["sample_weight"] is not None:
        whole = read_labels(on_host(labels), 1.0)
        counts = weights_of_labels(parts["sample_weight"], whole)
        weights = torch.as_tensor(counts).to(features.device)
    named = read.positive, read.negative
    return DeviceRows(features, labels, named, weights, groups, n_groups=n_groups)


def _labels(y: Any, positive: Any, features: Any) -> tuple[Any, Labels]:
    """Return which labels are positive, beside the features, and what the two are called."""
    torch = _torch()
    if not is_on_device(y):
        read = read_labels(y, positive)
        return torch.as_tensor(read.block(slice(None)) == 1).to(features.device), read
    values = _tensor(y).ravel()
    # A long column stays where it is: two labels and nothing else can be told there.
    low, high = values.min(), values.max()
    if not bool(((values == low) | (values == high)).all()):
        read = read_labels(label_column(on_host(values), "y"), positive)
        return torch.as_tensor(read.block(slice(None)) == 1).to(features.device), read
    kinds = torch.stack([low, high]).cpu().numpy()
    read = read_labels(kinds, positive)
    chosen = high if read.positive_value == kinds[1] else low
    return (values == chosen).to(features.device), read


def to_device(rows: Rows, device: str) -> Rows:
    """Return rows of any source on a device: held there, or passed through it if too many.

    Raises
    ------
    InputError
        If there is no such device.
    """
    torch = _torch()
    try:
        place = torch.empty(0, device=torch.device(device)).device
    except (RuntimeError, AssertionError, TypeError) as error:
        raise InputError(
            f"device is {device!r} but torch cannot use it ({str(error).splitlines()[0]}): name "
            "one that it has, such as 'cpu', or leave device out."
        ) from None
    n_bytes = 8 * rows.n_rows * (rows.n_features + 2)
    if n_bytes > (1 - FREE_SHARE) * _free_bytes(place):
        return PassingRows(rows, place)
    try:
        features = torch.empty((rows.n_rows, rows.n_features), dtype=torch.float64, device=place)
    except torch.OutOfMemoryError:
        return PassingRows(rows, place)
    loaded = rows.sum_over_rows(_Loading(features, rows.n_groups is not None))
    if loaded.n_rows != rows.n_rows:
        raise InputError(SPREAD)
    made = DeviceRows(
        features,
        loaded.labels,
        (rows.positive, rows.negative),
        loaded.weights,
        loaded.groups,
        n_groups=rows.n_groups,
        feature_names=rows.feature_names,
    )
    for fact in KEPT:
        setattr(made, fact, getattr(rows, fact))
    return made


# What is known of rows besides their numbers, and stays known wherever they are.
SIZES = ("n_rows", "n_counted", "n_features", "n_groups", "total_weight", "weighted")
KEPT = (
    "feature_names",
    "positive",
    "negative",
    "encoding",
    "notices",
    "known_columns",
    "label_names",
    "role_names",
    "features_chosen",
    "anchors_left_out",
    "called",
    "advice_on_missing",
)


class _Loading:
    """Blocks of rows, copied to a device one after another."""

    def __init__(self, features: Any, grouped: bool) -> None:
        torch = _torch()
        self.features, n_rows = features, len(features)
        self.labels = torch.empty(n_rows, dtype=torch.bool, device=features.device)
        self.weights: Any = None
        self.groups = np.zeros(n_rows, dtype=np.int64) if grouped else None
        self.n_rows = 0

    def add(self, block: Block) -> None:
        torch = _torch()
        rows = slice(self.n_rows, self.n_rows + len(block.labels))
        self.features[rows] = torch.as_tensor(block.features)
        self.labels[rows] = torch.as_tensor(block.labels == 1)
        if block.weights is not None:
            if self.weights is None:
                self.weights = torch.ones_like(self.labels, dtype=torch.float64)
            self.weights[rows] = torch.as_tensor(block.weights)
        if self.groups is not None and block.groups is not None:
            self.groups[rows] = block.groups
        self.n_rows = rows.stop

    def merge(self, other: "_Loading") -> None:
        raise InputError(SPREAD)
