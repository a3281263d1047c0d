"""One small table of every kind of column, written in every kind of file."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evenodds.rows.table_rows import Reading, read_table

N_ROWS = 600


@dataclass(frozen=True)
class Written:
    frame: pd.DataFrame
    folder: Path

    @property
    def features(self):
        """The design by hand: numbers as they are, and a column for each site but the first."""
        sites = [self.frame["site"] == level for level in ("north", "south")]
        numeric = self.frame[["age", "dose", "smokes"]].to_numpy(dtype=float)
        return np.column_stack([numeric, *sites])


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """600 patients: two numbers, a flag, a text; a label, weights, groups and marked anchors."""
    rng = np.random.default_rng(20240917)
    age, dose = rng.normal(50, 10, N_ROWS), rng.exponential(2, N_ROWS)
    site = rng.choice(["east", "north", "south"], N_ROWS)
    log_odds = (age - 50) / 10 + dose - 2 + (site == "north")
    frame = pd.DataFrame(
        {
            "age": age,
            "dose": dose,
            "smokes": rng.random(N_ROWS) < 0.3,
            "site": site,
            "label": np.where(rng.random(N_ROWS) < 1 / (1 + np.exp(-log_odds)), "ill", "well"),
            "times": rng.integers(1, 4, N_ROWS),
            "patient": [f"p{number // 3}" for number in range(N_ROWS)],
            "toss_up": np.arange(N_ROWS) % 150 == 7,
        }
    )
    folder = tmp_path_factory.mktemp("written")
    frame.to_csv(folder / "rows.csv", index=False)
    frame.to_csv(folder / "rows.tsv", index=False, sep="\t")
    frame.to_parquet(folder / "rows.parquet", row_group_size=130)
    frame.to_feather(folder / "rows.feather", chunksize=140)
    for kind in ("csv", "parquet"):
        parts = folder / f"parts_{kind}"
        parts.mkdir()
        for number, start in enumerate(range(0, N_ROWS, 250)):
            part = frame[start : start + 250]
            path = parts / f"part{number}.{kind}"
            part.to_csv(path, index=False) if kind == "csv" else part.to_parquet(path)
    return Written(frame, folder)


@pytest.fixture(scope="session")
def streamed(written):
    """Return a function that reads one of these files as rows."""

    def read(source="rows.parquet", *, missing="refuse", positive=None, **columns):
        named = {"label": "label", "features": ("age", "dose", "smokes", "site"), **columns}
        reading = Reading(**named, missing=missing, positive=positive)
        return read_table(reading.open(written.folder / source), reading)

    return read
