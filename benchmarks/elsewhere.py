"""The same fit as a user of other engines would write it: Newton, by their own aggregations.

Each goes from the path of a Parquet file to coefficients, intercept first, and their
covariance. Sums of a pass are one query: log-odds, fitted probabilities, and the sums of the
score and of the information, which the engine may run as it likes on one thread.
"""

import os
from collections.abc import Callable
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np

from benchmarks.data import FloatArray
from benchmarks.large import FEATURES, LABEL

Answer = tuple[FloatArray, FloatArray]
# Score and information at given coefficients.
Pass = Callable[[FloatArray], tuple[FloatArray, FloatArray]]

LAST_STEP = 1e-9
PAIRS = list(combinations_with_replacement(range(len(FEATURES) + 1), 2))


def newton(one_pass: Pass) -> Answer:
    """Climb from zero until a step is negligible; the last one is taken too."""
    coefficients = np.zeros(len(FEATURES) + 1)
    while True:
        score, information = one_pass(coefficients)
        step = np.linalg.solve(information, score)
        coefficients = coefficients + step
        if np.abs(step).max() < LAST_STEP:
            return coefficients, np.linalg.inv(information)


def with_duckdb(path: Path) -> Answer:
    import duckdb

    database = duckdb.connect(config={"threads": 1})
    terms = ["1", *FEATURES]

    def one_pass(coefficients: FloatArray) -> tuple[FloatArray, FloatArray]:
        log_odds = " + ".join(
            f"{b!r} * {x}" for b, x in zip(coefficients.tolist(), terms, strict=True)
        )
        sums = [f"sum(({LABEL} - p) * {x})" for x in terms]
        sums += [f"sum(p * (1 - p) * {terms[i]} * {terms[j]})" for i, j in PAIRS]
        found = database.execute(
            f"WITH fitted AS (SELECT *, 1 / (1 + exp(-({log_odds}))) AS p "
            f"FROM read_parquet('{path}')) SELECT {', '.join(sums)} FROM fitted"
        ).fetchone()
        return _unpacked(found)

    return newton(one_pass)


def with_polars(path: Path) -> Answer:
    os.environ["POLARS_MAX_THREADS"] = "1"
    import polars as pl

    terms = [pl.lit(1.0), *map(pl.col, FEATURES)]

    def one_pass(coefficients: FloatArray) -> tuple[FloatArray, FloatArray]:
        log_odds = sum(b * x for b, x in zip(coefficients.tolist(), terms, strict=True))
        fitted = pl.scan_parquet(path).with_columns(p=1 / (1 + (-log_odds).exp()))
        fitted = fitted.with_columns(
            r=pl.col(LABEL) - pl.col("p"), w=pl.col("p") * (1 - pl.col("p"))
        )
        sums = [(pl.col("r") * x).sum().alias(f"s{i}") for i, x in enumerate(terms)]
        sums += [(pl.col("w") * terms[i] * terms[j]).sum().alias(f"h{i}_{j}") for i, j in PAIRS]
        return _unpacked(fitted.select(sums).collect(engine="streaming").row(0))

    return newton(one_pass)


def with_dask_array(path: Path) -> Answer:
    import dask
    import dask.array as da
    import dask.dataframe as dd

    frame = dd.read_parquet(path, split_row_groups=True)
    table = frame.to_dask_array(lengths=True)
    y, ones = table[:, -1], da.ones((len(table), 1), chunks=(table.chunks[0], 1))
    X = da.concatenate([ones, table[:, :-1]], axis=1).rechunk({1: -1})

    def one_pass(coefficients: FloatArray) -> tuple[FloatArray, FloatArray]:
        fitted = 1 / (1 + da.exp(-(X @ coefficients)))
        score = X.T @ (y - fitted)
        information = X.T @ (X * (fitted * (1 - fitted))[:, None])
        return dask.compute(score, information)

    with dask.config.set(scheduler="synchronous"):
        return newton(one_pass)


def _unpacked(sums: tuple[float, ...]) -> tuple[FloatArray, FloatArray]:
    """Return the score and the full symmetric information."""
    n = len(FEATURES) + 1
    information = np.empty((n, n))
    for (i, j), value in zip(PAIRS, sums[n:], strict=True):
        information[i, j] = information[j, i] = value
    return np.array(sums[:n]), information


ENGINES: dict[str, Callable[[Path], Answer]] = {
    "duckdb": with_duckdb,
    "polars": with_polars,
    "dask.array": with_dask_array,
}
