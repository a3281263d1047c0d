"""Answers on disk: one SQLite file, one transaction an answer, nothing lost by a crash."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from evenodds.elicit.answers import Answer, Verdict
from evenodds.elicit.plan import SessionPlan
from evenodds.errors import InputError, StorageError

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
COLUMNS = 'expert, "case", occasion, verdict, chance, time'


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

    def add(
        self,
        expert: str,
        number: int,
        *,
        case: int,
        occasion: int,
        verdict: Verdict,
        chance: float | None,
    ) -> bool:
        """Keep an answer, if the expert has given `number` before; False if it came twice."""
        with self._writing():
            if self._count(expert) != number:
                return False
            self._connection.execute(
                f"INSERT INTO answers ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",
                (expert, case, occasion, verdict.value, chance, _now()),
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
                (_now(), expert),
            )
        return True

    def answers(self, expert: str | None = None) -> list[Answer]:
        """Return standing answers in the order they were given, of one expert or of all."""
        chosen = "" if expert is None else "AND expert = ?"
        rows = self._read(
            f"SELECT {COLUMNS} FROM answers WHERE undone IS NULL {chosen} ORDER BY id",
            *(() if expert is None else (expert,)),
        )
        try:
            return [_answer(row) for row in rows]
        except ValueError as error:
            raise StorageError(f"{self.path} is damaged: {error}.") from None

    def experts(self) -> list[str]:
        """Return the names of all who have answered, as each first wrote it."""
        found = self._read("SELECT expert FROM answers GROUP BY expert ORDER BY id")
        return [name for (name,) in found]

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _count(self, expert: str) -> int:
        query = "SELECT count(*) FROM answers WHERE expert = ? AND undone IS NULL"
        return int(self._connection.execute(query, (expert,)).fetchone()[0])

    def _read(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        with _told(self.path, "cannot be read"):
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with _told(self.path, "cannot be written"), _transaction(self._connection):
            yield


def _answer(row: tuple[Any, ...]) -> Answer:
    expert, case, occasion, verdict, chance, time = row
    return Answer(
        expert=expert,
        case=case,
        occasion=occasion,
        verdict=Verdict(verdict),
        chance=chance,
        time=time,
    )


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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
