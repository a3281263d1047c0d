"""A real cluster of two processes: the same answers, also when one of them is killed."""

import os
import signal
import threading
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pytest

import evenodds as eo
from evenodds.errors import ClusterError
from evenodds.model.logistic import fit_rows
from evenodds.rows.dask_data import read_files
from evenodds.rows.table_rows import Reading

READING = Reading(label="label", features=("age", "dose", "site"))
ANCHORS = eo.Anchors([[0.0, 0.0]])


@pytest.fixture(scope="module")
def expected(written):
    return eo.fit_logistic(written.frame[["age", "dose", "site"]], written.frame["label"])


@pytest.mark.parametrize(
    "source", ["rows.parquet", "rows.feather", "rows.csv", "parts_csv", "parts_parquet/*.parquet"]
)
def test_workers_read_files_and_give_the_answer_of_memory(two_workers, written, expected, source):
    rows = read_files([str(written.folder / source)], READING)
    found = fit_rows(rows).coefficients
    assert found == pytest.approx(expected.coefficients, rel=1e-10)


def test_a_data_frame_gives_the_answer_of_memory(two_workers, written, expected):
    cut = dd.from_pandas(written.frame, npartitions=5)
    found = eo.fit_logistic(cut[["age", "dose", "site"]], cut["label"])
    assert found.coefficients == pytest.approx(expected.coefficients, rel=1e-10)


def test_the_number_of_workers_changes_no_digit(two_workers, written):
    cut = dd.from_pandas(written.frame, npartitions=10)
    found = eo.fit_logistic(cut[["age", "dose", "site"]], cut["label"])
    with dask.config.set(scheduler="synchronous"):
        alone = eo.fit_logistic(cut[["age", "dose", "site"]], cut["label"])
    assert (found.coefficients == alone.coefficients).all()


def test_each_worker_has_one_thread_for_linear_algebra(two_workers):
    threads = two_workers.run(os.environ.get, "OPENBLAS_NUM_THREADS")
    assert set(threads.values()) == {"1"}


def test_types_that_a_later_file_widens_are_found(two_workers, written, tmp_path):
    frame = written.frame[["age", "dose", "label"]].round(0).astype({"age": int, "dose": int})
    frame[:300].to_csv(tmp_path / "0.csv", index=False)
    later = frame[300:].astype({"dose": float})
    later.loc[450, "dose"] = 1.5
    later.to_csv(tmp_path / "1.csv", index=False)
    reading = Reading(label="label")
    rows = read_files([str(tmp_path)], reading)
    expected = eo.fit_logistic([tmp_path / "0.csv", tmp_path / "1.csv"], "label")
    assert fit_rows(rows).coefficients == pytest.approx(expected.coefficients, rel=1e-10)


def test_a_file_that_workers_cannot_see_is_named(two_workers, written, tmp_path, refused):
    path = tmp_path / "here.parquet"
    written.frame.to_parquet(path)
    rows = read_files([str(path)], READING)
    path.rename(tmp_path / "elsewhere.parquet")
    with refused(f" finds no file {path}: put the data where", ClusterError) as error:
        fit_rows(rows)
    assert str(error.value).startswith("the worker at tcp://")


def test_a_file_that_changes_between_passes_is_refused(two_workers, written, tmp_path, refused):
    path = tmp_path / "rows.parquet"
    written.frame.to_parquet(path)
    rows = read_files([str(path)], READING)
    written.frame.assign(dose=1.0).to_parquet(path)
    with refused(f"{path} has changed while it was being read"):
        fit_rows(rows)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("-", "standard input can be read here only: save it where every worker can read it"),
        ("x.npz", "x.npz cannot be read in parts: save it as Parquet, or leave out --workers"),
    ],
)
def test_what_only_this_process_can_read_is_refused(tmp_path, refused, source, message):
    np.savez(tmp_path / "x.npz", X=np.ones((3, 2)))
    with refused(message):
        read_files([source if source == "-" else str(tmp_path / source)], READING)


def test_a_file_without_rows_is_refused(two_workers, tmp_path, refused):
    (tmp_path / "empty.csv").write_text("age,dose,site,label\n")
    with refused("has no rows: give a table with a header and data."):
        read_files([str(tmp_path / "empty.csv")], READING)


def labelled_blocks(folder, pause_in_pass=None, die=False):
    """Return a Dask array of 8 blocks that counts its passes, and labels for it.

    In one pass the first block tells its process and waits, once; a block that is to die
    takes its process with it, each time.
    """

    def block(number):
        rng = np.random.default_rng(number)
        if number == 0:
            n_passes = len(list(folder.glob("pass*")))
            (folder / f"pass{n_passes}").touch()
            if n_passes == pause_in_pass and not (folder / "process").exists():
                (folder / "part").write_text(str(os.getpid()))
                (folder / "part").rename(folder / "process")
                time.sleep(60)
        if die and number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return rng.normal(size=(50, 2))

    blocks = [
        da.from_delayed(dask.delayed(block, pure=False)(number), (50, 2), float)
        for number in range(8)
    ]
    y = (np.random.default_rng(99).random(400) < 0.5).astype(int)
    return da.concatenate(blocks), da.from_array(y, chunks=50)


def kill_when_told(folder):
    """Kill the process that waits, as soon as it says so."""
    until = time.monotonic() + 30
    while not (folder / "process").exists() and time.monotonic() < until:
        time.sleep(0.01)
    os.kill(int((folder / "process").read_text()), signal.SIGKILL)


def test_a_worker_killed_in_the_middle_changes_no_digit(start_cluster, tmp_path):
    calm, wild = tmp_path / "calm", tmp_path / "wild"
    for folder in (calm, wild):
        folder.mkdir()
    with start_cluster(2) as client:
        undisturbed = eo.asymmetry_test(*labelled_blocks(calm), ANCHORS, method="wald")
        before = set(client.run(os.getpid).values())
        killer = threading.Thread(target=kill_when_told, args=(wild,))
        killer.start()
        found = eo.asymmetry_test(*labelled_blocks(wild, pause_in_pass=3), ANCHORS, method="wald")
        killer.join()
    assert int((wild / "process").read_text()) in before
    assert len(list(wild.glob("pass*"))) > 4
    assert found == undisturbed


def test_a_part_that_kills_every_worker_is_given_up(start_cluster, tmp_path, refused):
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        start_cluster(1),
        refused("X could not be read: one part of it killed 1 worker, most", ClusterError),
    ):
        eo.fit_logistic(*labelled_blocks(tmp_path, die=True))
