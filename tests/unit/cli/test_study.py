"""`evenodds study`: files, tables, interrupts."""

import os
import signal
import subprocess
import time

import pyarrow.parquet as pq
import pytest

from evenodds.cli import study


def first_example(examples):
    """Return the first example of a command's help, as it is typed."""
    return examples.splitlines()[0].strip().removeprefix("evenodds ")


def test_the_papers_study(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = command(first_example(study.PAPER_EXAMPLES), "--fourth")
    assert result.exit_code == 0
    assert "0.30 / 0.10   5,000  corrupted" in result.stdout
    assert "0.40 / 0.10" in result.stdout
    assert (tmp_path / "paper" / "wald_grid_0.40_0.10.svg").exists()
    assert pq.read_metadata(tmp_path / "paper" / "wald_pvalues.parquet").num_rows == 1152


def test_another_world_noise_and_method(command, tmp_path):
    other = "--world rare --alpha .1 --beta .1 --method boundary"
    result = command(f"study paper --out {tmp_path} --runs 1 {other}")
    assert result.exit_code == 0
    assert (tmp_path / "rare_boundary_grid_0.10_0.10.png").exists()
    assert (tmp_path / "rare_boundary_pvalues.parquet").exists()


def test_the_atlas(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = command(first_example(study.ATLAS_EXAMPLES))
    assert result.exit_code == 0
    assert "wald: " in result.stdout
    assert (tmp_path / "atlas" / "atlas.parquet").exists()


def test_the_losses(command, tmp_path):
    result = command(f"study losses --out {tmp_path}")
    assert result.exit_code == 0
    lines = {" ".join(line.split()) for line in result.stdout.splitlines()}
    assert "logistic none +0.000 +0.000 +1.268 +0.000 +0.279 +1.370" in lines
    assert "hinge none 20 +0.000 +0.000 +0.951 +0.008 none none" in lines
    names = {"boundary_moves.csv", "restored_boundaries.png", "restored_boundaries.svg"}
    assert {path.name for path in tmp_path.iterdir()} == names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("paper --out {out} --fourth --alpha .1 --beta .2", "--fourth or --alpha and --beta"),
        ("paper --out {out} --runs 0", "--runs is 0 but must be a whole number of at least 1"),
        ("paper --out {out} --world nowhere", "world is 'nowhere'"),
        ("atlas --out {out} --worlds nowhere", "world is 'nowhere'"),
        ("losses --out {out} --seed -1", "--seed is -1 but must be a whole number"),
        ("atlas --out {out} --workers 0", "--workers is 0 but must be a whole number"),
    ],
)
def test_bad_studies_are_refused_in_a_sentence(command, tmp_path, arguments, message):
    result = command("study", arguments.format(out=tmp_path / "out"))
    assert result.exit_code == 2
    assert message in result.stderr


def interrupted_after(seconds, script, folder):
    """Interrupt a study after some seconds; return its exit code and what it said."""
    process = subprocess.Popen(
        [script, "study", "paper", "--out", folder, "--runs", "100000"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors


def test_an_interrupt_keeps_what_is_finished(script, tmp_path):
    """A real interrupt: the files hold the finished runs, and the exit code says so."""
    for seconds in (4, 12, 40):  # a busy machine may not have finished a run by then
        code, errors = interrupted_after(seconds, script, tmp_path)
        assert code == 130
        if "interrupted; the files hold what was finished." in errors:
            break
    table = pq.read_table(tmp_path / "wald_pvalues.parquet", columns=["run"])
    assert 0 < table.num_rows < 36 * 100_000 * 12
