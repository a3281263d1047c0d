"""Rows on a device: tensors of torch, or arrays of CuPy, summed where they are.

A sum that can take tensors gets blocks as large as the device allows; to any other the rows come
through NumPy's memory, block by block. Data may be in single precision: passes that only show the
way multiply in it, those that decide are in double precision. Small samples leave the device,
since starting its programs costs more than their arithmetic.
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
        self._block_rows = _rows_of_block(features)

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


def _rows_of_block(features: Any) -> int:
    """Return how many rows to work on at a time."""
    if features.device.type == "cpu":
        return rows_in_a_block(features.shape[1])
    numbers = MOST_NUMBERS
    if features.device.type == "cuda":
        free, _ = _torch().cuda.mem_get_info(features.device)
        numbers = min(numbers, int(free * FREE_SHARE / (8 * COPIES)))
    return max(1024, numbers // int(features.shape[1]))


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


def to_device(rows: Rows, device: str) -> DeviceRows:
    """Return rows of any source on a device, held there whole.

    Raises
    ------
    InputError
        If there is no such device.
    """
    torch = _torch()
    try:
        features = torch.empty(
            (rows.n_rows, rows.n_features), dtype=torch.float64, device=torch.device(device)
        )
    except torch.OutOfMemoryError:
        raise InputError(
            f"the rows take {rows.n_rows * rows.n_features * 8 / 2**30:.0f} GiB, more than device "
            f"{device!r} has free: leave device out, and they are summed from where they are."
        ) from None
    except (RuntimeError, AssertionError, TypeError) as error:
        raise InputError(
            f"device is {device!r} but torch cannot use it ({str(error).splitlines()[0]}): name "
            "one that it has, such as 'cuda', or leave device out."
        ) from None
    loaded = rows.sum_over_rows(_Loading(features, rows.n_groups is not None))
    if loaded.n_rows != rows.n_rows:
        raise InputError("rows that are spread over workers stay there: leave device out.")
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
KEPT = (
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
        raise InputError("rows that are spread over workers stay there: leave device out.")
