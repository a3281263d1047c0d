"""Answers on disk: private, whole, and there again after a crash."""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from evenodds.elicit.answers import Answer, Verdict
from evenodds.elicit.plan import SessionPlan
from evenodds.elicit.store import Store, utc_now
from evenodds.errors import StorageError

SITTING = SessionPlan(
    label="y",
    negative="no",
    positive="yes",
    features=("a",),
    shown=("a",),
    cases=(1, 2, 3),
    breadth=0.8,
    n_cases=3,
    n_repeats=1,
    seed=0,
    digest="0",
)


@pytest.fixture
def store(tmp_path):
    made = Store.begin(tmp_path / "answers.db", SITTING)
    yield made
    made.close()


def put(store, number, verdict=Verdict.toss_up, expert="Ada", case=1):
    answer = Answer(
        expert=expert, case=case, occasion=1, verdict=verdict, chance=0.5, time=utc_now()
    )
    return store.add(number, answer)


def test_the_file_is_its_owners_only(store):
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600


def test_the_journal_of_an_answer_is_too(store):
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("DELETE FROM answers")
    other.execute("INSERT INTO sitting VALUES (2, '')")
    journal = store.path.with_name("answers.db-journal")
    mode = stat.S_IMODE(journal.stat().st_mode)
    other.execute("ROLLBACK")
    other.close()
    assert mode == 0o600


def test_a_start_that_was_killed_leaves_nothing_in_the_way(tmp_path):
    (tmp_path / "answers.db").touch()
    assert not Store.has_begun(tmp_path / "answers.db")
    Store.begin(tmp_path / "answers.db", SITTING).close()
    assert [path.name for path in tmp_path.iterdir()] == ["answers.db"]


def test_a_second_start_goes_on_with_the_first_and_its_answers(store):
    """Both looked before either had begun; the answer came in between."""
    put(store, 0)
    second = Store.begin(store.path, replace(SITTING, seed=9))
    found = (second.plan, len(second.answers()))
    second.close()
    put(store, 1)
    assert (found, len(store.answers())) == ((SITTING, 1), 2)


def test_starts_at_the_same_moment_agree_on_one_sitting(tmp_path):
    def start(seed):
        begun = Store.begin(tmp_path / "answers.db", replace(SITTING, seed=seed))
        begun.close()
        return begun.plan

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(start, range(8)))) == 1


def test_what_a_sitting_is_about_comes_back(store):
    again = Store.open(store.path)
    assert again.plan == SITTING
    again.close()


def test_opening_makes_a_file_private_again(store):
    os.chmod(store.path, 0o644)
    Store.open(store.path).close()
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600


def test_an_answer_comes_back_as_it_was_given(store):
    put(store, 0)
    (found,) = store.answers("Ada")
    assert (found.expert, found.case, found.occasion, found.verdict, found.chance) == (
        "Ada",
        1,
        1,
        Verdict.toss_up,
        0.5,
    )
    assert found.time.endswith("+00:00")


def test_an_answer_that_comes_twice_is_kept_once(store):
    assert [put(store, 0), put(store, 0)] == [True, False]
    assert len(store.answers()) == 1


def test_undo_takes_the_last_answer_back(store):
    put(store, 0, case=1)
    put(store, 1, case=2)
    assert store.undo("Ada", 2)
    assert [answer.case for answer in store.answers()] == [1]


def test_undo_is_done_once_however_often_it_is_sent(store):
    put(store, 0)
    put(store, 1)
    assert [store.undo("Ada", 2), store.undo("Ada", 2)] == [True, False]
    assert not store.undo("Bob", 0)


def test_undo_leaves_other_experts_alone(store):
    put(store, 0, expert="Bob")
    put(store, 0)
    store.undo("Ada", 1)
    assert [answer.expert for answer in store.answers()] == ["Bob"]


def test_names_are_the_same_in_small_and_capital_letters(store):
    put(store, 0, expert="Ada")
    assert len(store.answers("ada")) == 1
    assert store.experts() == ["Ada"]


def test_two_programs_can_write_at_once(store):
    other = Store.open(store.path)
    put(store, 0, expert="Ada")
    put(other, 0, expert="Bob")
    other.close()
    assert store.experts() == ["Ada", "Bob"]


def test_a_file_that_is_none_of_ours_is_refused(tmp_path, refused):
    (tmp_path / "a.db").write_text("hello")
    with refused("a.db cannot be opened: file is not a database.", StorageError):
        Store.open(tmp_path / "a.db")


def test_another_database_is_refused_and_left_as_it_is(tmp_path, refused):
    with sqlite3.connect(tmp_path / "a.db") as other:
        other.execute("CREATE TABLE t (x)")
    other.close()
    with refused("a.db holds no answers of this version of evenodds: move it away"):
        Store.open(tmp_path / "a.db")


def test_a_folder_that_is_not_there_is_named(tmp_path, refused):
    with refused("cannot be written: No such file or directory.", StorageError):
        Store.begin(tmp_path / "nowhere" / "a.db", SITTING)


def test_a_folder_in_the_place_of_the_file_is_named(tmp_path, refused):
    with refused("cannot be opened: unable to open database file.", StorageError):
        Store.has_begun(tmp_path)


def test_another_writer_is_waited_for_and_then_named(store, refused):
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with refused("answers.db cannot be written: database is locked.", StorageError):
        put(store, 0)
    with refused("answers.db cannot be read: database is locked.", StorageError):
        store.answers()
    other.execute("ROLLBACK")
    other.close()
    assert put(store, 0)


def test_a_file_that_is_taken_away_is_named(store, refused):
    store.path.rename(store.path.with_name("elsewhere.db"))
    with refused("answers.db cannot be written: it was moved or removed.", StorageError):
        put(store, 0)


@pytest.mark.parametrize("record", ["{", "{}", "[1]"])
def test_a_damaged_record_is_named(store, refused, record):
    with sqlite3.connect(store.path) as other:
        other.execute("UPDATE sitting SET record = ?", (record,))
    other.close()
    with refused("answers.db is damaged: what the session is about cannot be read.", StorageError):
        Store.open(store.path)


def test_a_damaged_answer_is_named(store, refused):
    put(store, 0)
    with sqlite3.connect(store.path) as other:
        other.execute("UPDATE answers SET verdict = 'perhaps'")
    other.close()
    with refused("answers.db is damaged: 'perhaps' is not a valid Verdict.", StorageError):
        store.answers()


FULL = """
import resource, sys
from pathlib import Path
from evenodds.elicit.store import Store
from evenodds.errors import StorageError
from tests.unit.elicit.test_store import SITTING
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # files end here, as on a full disk
try:
    Store.begin(Path(sys.argv[1]), SITTING)
except StorageError as error:
    print(error)
"""


def test_a_full_disk_is_named_and_the_next_start_is_free(tmp_path):
    path = tmp_path / "a.db"
    full = subprocess.run(
        [sys.executable, "-c", FULL, path], capture_output=True, text=True, check=True
    )
    assert full.stdout.startswith(f"{path} cannot be written: ")
    assert not Store.has_begun(path)


WRITER = """
import sys
from pathlib import Path
from evenodds.elicit.answers import Verdict
from evenodds.elicit.store import Store
from tests.unit.elicit.test_store import put
store = Store.open(Path(sys.argv[1]))
for number in range(10_000):
    put(store, number, Verdict.skip)
    print(number, flush=True)
"""


def test_a_kill_in_the_middle_loses_nothing_that_was_acknowledged(store):
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, store.path], stdout=subprocess.PIPE, text=True
    )
    acknowledged = [next(writer.stdout) for _ in range(25)]
    writer.send_signal(signal.SIGKILL)
    rest = writer.stdout.read().splitlines()
    writer.wait()
    writer.stdout.close()
    # One more may be on disk whose acknowledgement died with the process.
    assert len(store.answers()) - len(acknowledged) - len(rest) in {0, 1}
