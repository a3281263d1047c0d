"""Reaching workers: a running scheduler, processes of this machine, or a clear message."""

import gc
import os
import socket
import sys

import psutil
import pytest
from distributed import Client, default_client

import evenodds as eo
from evenodds.errors import ClusterError
from evenodds.rows import dask_sums


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(dask_sums, "SECONDS_TO_ANSWER", 0.5)
    monkeypatch.setattr(dask_sums, "SECONDS_FOR_A_WORKER", 0.5)


def enter(*arguments):
    with dask_sums.workers(*arguments) as on_workers:
        return on_workers


def test_without_an_address_or_a_number_nothing_is_started():
    assert enter() is False


def test_a_running_scheduler_is_used_while_inside(two_workers):
    address = two_workers.scheduler.address
    with dask_sums.workers(address) as on_workers:
        assert on_workers
        assert default_client().scheduler.address == address
    assert default_client() is two_workers


def test_processes_are_started_and_ended():
    with dask_sums.workers(1):
        client = default_client()
        assert list(client.nthreads().values()) == [1]
    assert client.status == "closed"


def listening():
    """Return the addresses that this process and those it has started listen at."""
    here = psutil.Process()
    found = (each.net_connections("inet") for each in (here, *here.children(recursive=True)))
    return {each.laddr for of_one in found for each in of_one if each.status == "LISTEN"}


def test_processes_are_out_of_reach_of_other_machines():
    before = listening()
    with dask_sums.workers(1):
        opened = listening() - before
    assert {address.ip for address in opened} == {"127.0.0.1"}


def test_processes_hold_on_to_their_memory(monkeypatch):
    for name in dask_sums.MEMORY:
        monkeypatch.delenv(name, raising=False)  # what another test's workers have left behind
    with dask_sums.workers(1):
        found = default_client().run(os.environ.get, "MALLOC_MMAP_THRESHOLD_")
    assert list(found.values()) == [str(32 * 2**20)]


def test_no_workers_at_all_are_refused(refused):
    with refused("--workers is 0 but must be a whole number of at least 1."):
        enter(0)


def test_a_scheduler_that_does_not_answer_is_named(impatient, refused):
    with socket.socket() as listening:  # bound, so that nothing else takes the port
        listening.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{listening.getsockname()[1]}"
        with refused(f"no Dask scheduler answers at {address} within 0.5", ClusterError):
            enter(address)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "carrier://pigeon:1"])
def test_a_client_that_never_got_through_is_closed(impatient, address):
    """Left to be collected while another one starts, it would wait for its lock without end."""
    with pytest.raises(eo.EvenoddsError):
        enter(address)
    left = [each for each in gc.get_objects() if type(each) is Client and each.status != "closed"]
    assert not any(client._start_arg == address for client in left)


def test_what_is_no_address_is_refused(refused):
    with refused("--workers carrier://pigeon:1 is no address ("):
        enter("carrier://pigeon:1")


def test_what_is_neither_number_nor_address_is_refused(refused):
    with refused("--workers is 'here' but must be a number of processes, or the address of a"):
        enter("here")


def test_a_missing_extra_is_named(monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with refused("--workers needs the 'dask' extra", eo.MissingExtraError):
        enter(2)


def test_workers_of_another_version_are_refused(two_workers, monkeypatch, refused):
    monkeypatch.setattr(dask_sums, "__version__", "99.0")
    with refused("this is evenodds 99.0 but workers of tcp://127.0.0.1:", ClusterError):
        enter(two_workers.scheduler.address)


def test_a_cluster_without_workers_is_refused(start_cluster, impatient, refused):
    with (
        start_cluster(0) as client,
        refused(" has no workers: start some with 'dask worker tcp://", ClusterError),
    ):
        enter(client.scheduler.address)


def test_workers_without_the_package_are_refused(start_cluster, refused):
    hide = "import sys; sys.modules['evenodds'] = None"
    with start_cluster(1) as client:
        client.run(exec, hide)
        with refused(" cannot load evenodds (", ClusterError):
            enter(client.scheduler.address)
