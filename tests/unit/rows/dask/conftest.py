"""A real cluster of two worker processes, shared by the tests that do not kill it."""

import logging
from contextlib import contextmanager

import distributed
import pytest

from evenodds.rows import dask_data


@pytest.fixture(autouse=True)
def nothing_is_fetched(monkeypatch):
    """Sum where the partitions are, however small they are."""
    monkeypatch.setattr(dask_data, "FETCHED_BYTES", 0)


@pytest.fixture(scope="session")
def start_cluster():
    """Return a context: a new cluster and its client."""

    @contextmanager
    def started(n_workers):
        with (
            distributed.LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                dashboard_address=":0",
                silence_logs=logging.CRITICAL,
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client

    return started


@pytest.fixture(scope="module")  # at rest it takes a tenth of a core
def two_workers(start_cluster):
    with start_cluster(2) as client:
        yield client
