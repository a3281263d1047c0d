"""The demonstration: its files, to play with, and what it will not overwrite."""

import shlex

import pytest

from evenodds.simulation.demo import NAMES
from evenodds.simulation.worlds import PATIENTS, TOSS_UPS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo") / "a folder" / "first"


@pytest.fixture(scope="module")
def shown(command, folder):
    return command("demo --out", shlex.quote(str(folder)))


def test_the_folder_holds_the_files_and_the_report(shown, folder):
    assert shown.exit_code == 0
    assert {path.name for path in folder.iterdir()} == set(NAMES)


@pytest.mark.parametrize("bundled", [PATIENTS, TOSS_UPS], ids=lambda path: path.name)
def test_the_files_are_those_of_the_package(shown, folder, bundled):
    assert (folder / bundled.name).read_bytes() == bundled.read_bytes()


def test_the_command_it_shows_gives_its_numbers(shown, command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    shown_command = shown.stdout.splitlines()[-1].split(maxsplit=1)[1]
    again = command(shown_command)
    assert again.exit_code == 0
    assert again.stdout in shown.stdout


def test_nothing_is_overwritten(shown, command, folder):
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    refused = command("demo --out", shlex.quote(str(folder)))
    place = folder / "patients.csv"
    sentence = f"evenodds: {place} is there already: name another folder, or delete it.\n"
    assert (refused.exit_code, refused.stderr) == (2, sentence)
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_one_file_that_is_there_stops_all_of_them(command, tmp_path):
    (tmp_path / "report.html").touch()
    assert command("demo --out", tmp_path).exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_file_is_no_folder(shown, command, folder):
    refused = command("demo --out", shlex.quote(str(folder / "report.html")))
    assert refused.exit_code == 2
    assert "the folder " in refused.stderr
    assert refused.stderr.endswith("report.html cannot be made: File exists.\n")
