"""Answers on disk: one SQLite file, one transaction an answer, nothing lost by a crash.

From it come the files of a session: anchors that a test takes as they are, and the raw answers
beside them.
"""

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from evenodds.elicit.answers import Answer, Judgement, read_verdict
from evenodds.elicit.plan import SessionPlan
from evenodds.errors import InputError, StorageError
from evenodds.files import check_writable, whole_file, write_columns, write_csv
from evenodds.validation import join_quoted

if TYPE_CHECKING:
    import pyarrow as pa


SCHEMA = (
    "CREATE TABLE sitting (version INTEGER NOT NULL, record TEXT NOT NULL)",
    """CREATE TABLE answers (
        id INTEGER PRIMARY KEY,
        expert TEXT NOT NULL COLLATE NOCASE,
        "case" INTEGER NOT NULL,
        occasion INTEGER NOT NULL,
        verdict TEXT NOT NULL,
        chance REAL,
        time TEXT NOT NULL,
        undone TEXT
    )""",
    "CREATE INDEX standing ON answers (expert) WHERE undone IS NULL",
)
VERSION = 2
# Seconds to wait for another writer; the page of everybody waits meanwhile.
PATIENCE = 2
NAMES = [field.name for field in fields(Answer)]
COLUMNS = ", ".join(f'"{name}"' for name in NAMES)


class Store:
    """The answers of a session.

    Undone answers stay in the file, marked as such; nothing ever reads them again.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, plan: SessionPlan) -> None:
        self.path, self.plan = path, plan
        self._connection = connection

    @classmethod
    def begin(cls, path: Path, plan: SessionPlan) -> Self:
        """Start a file that its owner alone can read; go on with it where one has begun.

        Whoever comes first under SQLite's own lock begins the session. Nothing is ever moved
        into the place of a file, so no second start can put one with answers away.
        """
        with _told(path, "cannot be written"), suppress(FileExistsError):
            # SQLite gives its journal the mode of the file, so it is private from the start.
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        connection = _connect(path)
        with _told(path, "cannot be written", connection), _transaction(connection):
            if not _tables(connection):
                for statement in SCHEMA:
                    connection.execute(statement)
                begun = (VERSION, plan.to_json())
                connection.execute("INSERT INTO sitting VALUES (?, ?)", begun)
        connection.close()
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Go on with a file."""
        connection = _connect(path)
        with _told(path, "cannot be read", connection):
            ours = "sitting" in _tables(connection)
            query = "SELECT version, record FROM sitting"
            found = connection.execute(query).fetchone() if ours else None
        if found is None or found[0] != VERSION:
            connection.close()
            raise InputError(
                f"{path} holds no answers of this version of evenodds: move it away, or name "
                "another --out."
            )
        try:
            plan = SessionPlan.from_json(found[1])
        except (ValueError, TypeError, KeyError):
            connection.close()
            raise StorageError(
                f"{path} is damaged: what the session is about cannot be read. Bring a copy back, "
                "or name another --out."
            ) from None
        os.chmod(path, 0o600)
        return cls(path, connection, plan)

    @staticmethod
    def has_begun(path: Path) -> bool:
        """Tell whether there is a file to go on with; one killed at its start is empty."""
        if not path.exists():
            return False
        connection = _connect(path)
        with _told(path, "cannot be read", connection):
            begun = bool(_tables(connection))
        connection.close()
        return begun

    def add(self, number: int, answer: Answer) -> bool:
        """Keep an answer, if its expert has given `number` before; False if it came twice."""
        with self._writing():
            if self._count(answer.expert) != number:
                return False
            given = asdict(answer).values()
            places = ", ".join("?" * len(given))
            self._connection.execute(
                f"INSERT INTO answers ({COLUMNS}) VALUES ({places})", tuple(given)
            )
        return True

    def undo(self, expert: str, number: int) -> bool:
        """Take an expert's last answer back, if `number` are standing."""
        with self._writing():
            if number == 0 or self._count(expert) != number:
                return False
            self._connection.execute(
                "UPDATE answers SET undone = ? WHERE id = "
                "(SELECT max(id) FROM answers WHERE expert = ? AND undone IS NULL)",
                (utc_now(), expert),
            )
        return True

    def answers(self, expert: str | None = None) -> list[Answer]:
        """Return standing answers in the order they were given, of one expert or of all."""
        chosen = "undone IS NULL AND (?1 IS NULL OR expert = ?1)"
        rows = self._read(f"SELECT {COLUMNS} FROM answers WHERE {chosen} ORDER BY id", expert)
        try:
            answers = [dict(zip(NAMES, row, strict=True)) for row in rows]
            return [Answer(**{**row, "verdict": read_verdict(row["verdict"])}) for row in answers]
        except ValueError as error:
            raise StorageError(f"{self.path} is damaged: {error}.") from None

    def experts(self) -> list[str]:
        """Return the names of all who have answered, as each first wrote it."""
        found = self._read("SELECT expert FROM answers GROUP BY expert ORDER BY id")
        return [name for (name,) in found]

    def reread(self) -> SessionPlan:
        """Return what the session is about as it is on disk by now."""
        (found,) = self._read("SELECT record FROM sitting")
        self.plan = SessionPlan.from_json(found[0])
        return self.plan

    def settle(self, plan: SessionPlan) -> bool:
        """Change what the session is about, as long as nobody has answered."""
        with self._writing():
            query = "SELECT count(*) FROM answers WHERE undone IS NULL"
            if self._connection.execute(query).fetchone()[0]:
                return False
            self._connection.execute("UPDATE sitting SET record = ?", (plan.to_json(),))
        self.plan = plan
        return True

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _count(self, expert: str) -> int:
        query = "SELECT count(*) FROM answers WHERE expert = ? AND undone IS NULL"
        return int(self._connection.execute(query, (expert,)).fetchone()[0])

    def _read(self, query: str, *values: str | None) -> list[tuple[Any, ...]]:
        with _told(self.path, "cannot be read"):
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with _told(self.path, "cannot be written"), _transaction(self._connection):
            yield


def _connect(path: Path) -> sqlite3.Connection:
    with _told(path, "cannot be opened"):
        # Transactions are ours to begin, and requests come one at a time whichever their thread.
        connection = sqlite3.connect(
            path, isolation_level=None, timeout=PATIENCE, check_same_thread=False
        )
    with _told(path, "cannot be opened", connection):
        # An answer counts once its journal is gone; FULL would not wait until that is on disk.
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA schema_version")  # the first look at the file itself
    return connection


def _tables(connection: sqlite3.Connection) -> set[str]:
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {name for (name,) in found}


@contextmanager
def _told(path: Path, what: str, to_close: sqlite3.Connection | None = None) -> Iterator[None]:
    """Say in a sentence what storage would not do, with nothing left open."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        if to_close is not None:
            to_close.close()
        reason = error.strerror if isinstance(error, OSError) else str(error)
        if isinstance(error, sqlite3.Error) and not path.exists():
            reason = "it was moved or removed"
        raise StorageError(f"{path} {what}: {reason}.") from None


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Do all of it, on disk, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite may have rolled back by itself, as where the disk is full.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def utc_now() -> str:
    """Return the time, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


ANCHOR_FILES = (".parquet", ".pq", ".csv", ".tsv")
ANSWER_FILES = (".csv", ".jsonl")
# Answers about cases along a score, with their draw.
JUDGED_FILES = (".json",)


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where a session is written to; cases along a score have no anchors."""

    anchors: Path | None
    answers: Path

    def __post_init__(self) -> None:
        kinds: dict[Path, tuple[str, ...]] = {self.answers: JUDGED_FILES}
        if self.anchors is not None:
            kinds = {self.anchors: ANCHOR_FILES, self.answers: ANSWER_FILES}
            if self.anchors.resolve() == self.answers.resolve():
                raise InputError(f"--out and --raw are both {self.anchors}: name two files.")
        for path, wanted in kinds.items():
            if path.suffix.lower() not in wanted:
                raise InputError(f"{path} must end in {join_quoted(wanted, 'or')}.")
            check_writable(path)


def anchor_table(table: "pa.Table", features: Sequence[str], found: Judgement) -> "pa.Table":
    """Return the toss-ups with their features, and what a test needs to know of each."""
    import pyarrow as pa

    if not found.toss_ups:
        raise InputError("no case was called a toss-up, so there are no anchors to write yet.")
    chosen = table.select(list(features)).take([toss_up.case for toss_up in found.toss_ups])
    stated = {
        "posterior": [toss_up.posterior for toss_up in found.toss_ups],
        "tolerance": [found.tolerance(toss_up) for toss_up in found.toss_ups],
        "shared_tolerance": [found.shared_tolerance] * len(found.toss_ups),
    }
    for name, values in stated.items():
        chosen = chosen.append_column(name, pa.array(values, pa.float64()))
    return chosen


def write_anchors(path: Path, anchors: "pa.Table") -> None:
    """Write anchors as the file's name asks; private, as the data they come from may be."""
    columns = dict(zip(anchors.column_names, anchors.columns, strict=True))
    write_columns(path, columns, private=True)


def write_answers(path: Path, answers: Sequence[Answer], plan: SessionPlan) -> None:
    """Write every standing answer, one a line, with expert, time and row number from 1."""
    said = {"negative": plan.negative, "positive": plan.positive}
    rows: list[dict[str, Any]] = [
        {
            **asdict(answer),
            "case": answer.case + 1,
            "answer": said.get(answer.verdict.value, answer.verdict.value),
        }
        for answer in answers
    ]
    if path.suffix.lower() == ".jsonl":
        with whole_file(path, private=True) as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        return
    write_csv(path, [*NAMES, "answer"], (row.values() for row in rows), private=True)
