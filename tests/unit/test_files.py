import csv
import errno
import os
import stat
import tempfile
import threading

import pytest

import evenodds as eo
from evenodds.files import (
    COPIES,
    UNFINISHED,
    TemporaryFolder,
    check_writable,
    sweep,
    whole_file,
    write_csv,
)


@pytest.fixture
def nobody():
    """Become a user without rights, where the tests run as one who may do anything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    yield
    os.seteuid(0)


@pytest.fixture
def device(tmp_path):
    """Return a character device that swallows everything, of our own where we may make one."""
    path = tmp_path / "device"
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        os.close(os.open(path, os.O_WRONLY))
    except OSError:
        return os.devnull
    return path


def write(path, text="a\n", **settings):
    with whole_file(path, **settings) as file:
        file.write(text)


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
    with pytest.raises(eo.InputError, match="cannot be written"):
        write(tmp_path / "no" / "x")


def test_a_full_disk_is_bad_luck_not_a_bug(tmp_path):
    with pytest.raises(eo.InputError, match="cannot be written: No space"):
        _write_and_fail(tmp_path / "out.csv", OSError(28, "No space left on device"))
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_and_what_it_points_to_is_written(tmp_path):
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target.name)
    write(link)
    assert (link.is_symlink(), target.read_text()) == (True, "a\n")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_link_to_nothing_yet_is_followed(tmp_path):
    (tmp_path / "link.csv").symlink_to("target.csv")
    write(tmp_path / "link.csv")
    assert (tmp_path / "target.csv").read_text() == "a\n"


def test_a_device_stays_a_device(device):
    write(device)
    assert stat.S_ISCHR(os.stat(device).st_mode)


def test_a_pipe_gets_everything_and_stays_a_pipe(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write(pipe, "a\n" * 100_000)
    reader.join()
    assert (read, stat.S_ISFIFO(pipe.stat().st_mode)) == (["a\n" * 100_000], True)


def test_nothing_half_goes_to_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RuntimeError):  # a pipe that was opened would wait for a reader
        _write_and_fail(tmp_path / "pipe", RuntimeError())


def test_standard_output_goes_on_where_it_was(tmp_path, capfd):
    print("before", flush=True)
    write("/dev/stdout")
    print("after", flush=True)
    assert capfd.readouterr().out == "before\na\nafter\n"


def test_a_full_device_is_told_of():
    with pytest.raises(eo.InputError, match="/dev/full cannot be written: No space left"):
        write("/dev/full")


@pytest.mark.parametrize("name", ["", ".", "no/such/out.csv", "file/out.csv", "x" * 300, "a\0b"])
def test_what_cannot_be_written_is_refused_before_the_work(tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(eo.InputError, match="cannot be written"):
        check_writable(tmp_path / name)


@pytest.mark.parametrize("name", ["new.csv", "old.csv"])
def test_a_look_leaves_everything_as_it_was(tmp_path, name):
    (tmp_path / "old.csv").write_text("old")
    check_writable(tmp_path / name)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("old.csv", "old")]


def test_a_look_does_not_wait_for_the_reader_of_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    check_writable(tmp_path / "pipe")


@pytest.mark.parametrize(("folder", "file"), [(0o555, 0o666), (0o777, 0o444)])
def test_what_may_not_be_written_is_refused_before_the_work(request, folder, file):
    with tempfile.TemporaryDirectory() as name:
        path = os.path.join(name, "out.csv")
        os.close(os.open(path, os.O_CREAT))
        os.chmod(path, file)
        os.chmod(name, folder)
        request.getfixturevalue("nobody")
        with pytest.raises(eo.InputError, match="cannot be written: Permission denied"):
            check_writable(path)
        if os.getuid() == 0:
            os.seteuid(0)
        os.chmod(name, 0o777)


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"),
        ("+a", "'+a"),
        ("-a", "'-a"),
        ("@a", "'@a"),
        ("\ta", "'\ta"),
        ("\ra", "'\ra"),
        ("-1.5", "-1.5"),
        (-1.5, "-1.5"),
        ("a=b", "a=b"),
        ("", ""),
        (None, ""),
    ],
)
def test_no_cell_is_a_formula_and_numbers_stay_numbers(tmp_path, cell, written):
    write_csv(tmp_path / "out.csv", ["=name", "b"], [(cell, "x")])
    with (tmp_path / "out.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["'=name", "b"], [written, "x"]]


def test_a_name_that_is_no_text_is_written_as_an_escape(tmp_path):
    write(tmp_path / "out.html", "\udcff")
    assert (tmp_path / "out.html").read_text() == "\\udcff"


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_temporary_folder_goes_with_its_holder(temporary):
    folder = TemporaryFolder()
    assert folder.path.parent == temporary
    del folder
    assert list(temporary.iterdir()) == []


def test_what_is_in_use_is_not_swept(temporary):
    folder = TemporaryFolder()
    sweep(temporary, COPIES)
    assert folder.path.is_dir()


def test_what_was_left_behind_is_swept(temporary):
    (temporary / f"{COPIES}a").mkdir()
    (temporary / f"{COPIES}a" / "spool.arrow").touch()
    (temporary / "other").mkdir()
    sweep(temporary, COPIES)
    assert [path.name for path in temporary.iterdir()] == ["other"]


def test_a_link_is_not_followed_by_the_sweep(temporary):
    (temporary / "precious").mkdir()
    (temporary / f"{COPIES}a").symlink_to("precious")
    sweep(temporary, COPIES)
    assert (temporary / "precious").is_dir()


def test_an_output_that_was_never_finished_goes_with_the_next(tmp_path):
    (tmp_path / f"{UNFINISHED}x").write_text("half")
    with whole_file(tmp_path / "one.csv"):
        write(tmp_path / "two.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.csv", "two.csv"]


def test_a_reader_that_goes_away_is_told_of(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: os.close(os.open(pipe, os.O_RDONLY)))
    reader.start()
    with pytest.raises(eo.InputError, match=os.strerror(errno.EPIPE)):
        write(pipe, "a" * 1_000_000)
    reader.join()
