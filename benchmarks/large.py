"""A large Parquet file of seeded data, written block by block and deleted afterwards."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from benchmarks.data import INTERCEPT, SEED, SLOPE_LENGTH, FloatArray

N_COLUMNS = 20
LABEL = "label"
FEATURES = tuple(f"x{number}" for number in range(N_COLUMNS))
N_ANCHORS = 8
FLIPPED = 0.1
ROW_GROUP = 250_000
BYTES_A_ROW = 8 * N_COLUMNS + 1
# How much room there must be beside the file.
ROOM = 1.5


@contextmanager
def folder_with_room(n_rows: int) -> Iterator[Path]:
    """Make a temporary folder for files of so many rows in all; refuse a disk that is too full."""
    needed = ROOM * n_rows * BYTES_A_ROW
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if free < needed:
        raise SystemExit(
            f"{tempfile.gettempdir()} has {free / 2**30:.1f} GiB free but this needs "
            f"{needed / 2**30:.1f} GiB: set TMPDIR to a folder with more room, or use --quick."
        )
    with tempfile.TemporaryDirectory(prefix="evenodds-bench-") as folder:
        yield Path(folder)


def true_slopes() -> FloatArray:
    """Return the slopes that all such files share."""
    slopes = np.random.default_rng(SEED).standard_normal(N_COLUMNS)
    return slopes * (SLOPE_LENGTH / np.linalg.norm(slopes))


def write(path: Path, n_rows: int) -> None:
    """Write normal features and 0/1 labels, a tenth of which are flipped."""
    rng, slopes = np.random.default_rng([SEED, n_rows]), true_slopes()
    fields = [(name, pa.float64()) for name in FEATURES]
    schema = pa.schema([*fields, (LABEL, pa.int8())])
    with parquet.ParquetWriter(path, schema, use_dictionary=[LABEL]) as writer:
        for start in range(0, n_rows, ROW_GROUP):
            size = min(ROW_GROUP, n_rows - start)
            X = rng.standard_normal((N_COLUMNS, size))
            chances = 1 / (1 + np.exp(-INTERCEPT - slopes @ X))
            labels = (rng.random(size) < chances) ^ (rng.random(size) < FLIPPED)
            arrays = [*map(pa.array, X), pa.array(labels.astype(np.int8))]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))


def toss_ups() -> dict[str, FloatArray]:
    """Return anchors on the true boundary, by column."""
    slopes = true_slopes()
    points = np.random.default_rng(SEED).standard_normal((N_ANCHORS, N_COLUMNS))
    points -= np.outer((INTERCEPT + points @ slopes) / (slopes @ slopes), slopes)
    return dict(zip(FEATURES, points.T, strict=True))
