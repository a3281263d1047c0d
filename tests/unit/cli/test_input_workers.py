"""`evenodds test --workers`, a number or an address: the same numbers, and exit codes."""

import logging

import distributed
import pytest

from evenodds.rows import dask_sums


@pytest.fixture(scope="module")
def scheduler():
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="module")
def arguments(files, anchors):
    def of(kind, method="wald"):
        return (
            f"test {files}/rows.{kind} {anchors} --features age,dose --label diagnosis "
            f"--method {method}"
        )

    return of


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv"])
def test_a_running_cluster_gives_the_numbers_of_this_process(document, scheduler, arguments, kind):
    alone = document(arguments(kind))
    found = document(arguments(kind), f"--workers {scheduler}")
    assert found["statistic"] == pytest.approx(alone["statistic"], rel=1e-10)


def test_columns_that_mark_anchors_are_read_by_workers(document, scheduler, files):
    line = f"test {files}/rows.parquet --features age,dose --label diagnosis --anchor-column stated"
    alone, found = document(line), document(line, f"--workers {scheduler}")
    assert found["statistic"] == pytest.approx(alone["statistic"], rel=1e-10)


def test_processes_of_this_machine_leave_only_the_answer(shell, arguments):
    alone, done = shell(arguments("parquet")), shell(arguments("parquet"), "--workers 1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == alone.stdout


def test_a_scheduler_out_of_reach_is_bad_input(command, arguments, monkeypatch):
    monkeypatch.setattr(dask_sums, "SECONDS_TO_ANSWER", 0.5)
    done = command(arguments("csv"), "--workers tcp://127.0.0.1:1")
    assert done.exit_code == 2
    assert "evenodds: no Dask scheduler answers at tcp://127.0.0.1:1" in done.stderr


def test_a_file_that_is_not_there_is_bad_input(command, scheduler, files, anchors):
    done = command(f"test {files}/rose.parquet --label y {anchors} --workers {scheduler}")
    assert (done.exit_code, done.stderr) == (
        2,
        f"evenodds: there is no file {files}/rose.parquet.\n",
    )
