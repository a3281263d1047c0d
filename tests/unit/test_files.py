import pytest

import evenodds as eo
from evenodds.files import whole_file


def test_a_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "out.csv"
    with whole_file(path) as file:
        file.write("a\n")
        assert not path.exists()
    assert path.read_text() == "a\n"


def _write_and_fail(path, error):
    with whole_file(path) as file:
        file.write("half")
        raise error


def test_a_failure_leaves_nothing_behind(tmp_path):
    with pytest.raises(RuntimeError):
        _write_and_fail(tmp_path / "out.csv", RuntimeError())
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_the_old_file_as_it_was(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        _write_and_fail(path, KeyboardInterrupt())
    assert path.read_text() == "old"


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(eo.InputError, match="cannot be written"), whole_file(tmp_path / "no" / "x"):
        pass


def test_a_full_disk_is_bad_luck_not_a_bug(tmp_path):
    with pytest.raises(eo.InputError, match="cannot be written: No space"):
        _write_and_fail(tmp_path / "out.csv", OSError(28, "No space left on device"))
    assert list(tmp_path.iterdir()) == []
