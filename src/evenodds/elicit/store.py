"""Answers on disk: one SQLite file, one transaction an answer, nothing lost by a crash."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from evenodds.elicit.answers import Answer, Verdict
from evenodds.elicit.sitting import Sitting
from evenodds.errors import InputError

SCHEMA = """
CREATE TABLE sitting (version INTEGER NOT NULL, record TEXT NOT NULL);
CREATE TABLE answers (
    id INTEGER PRIMARY KEY,
    expert TEXT NOT NULL COLLATE NOCASE,
    "case" INTEGER NOT NULL,
    occasion INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    chance REAL,
    time TEXT NOT NULL,
    undone TEXT
);
CREATE INDEX standing ON answers (expert) WHERE undone IS NULL;
"""
VERSION = 1
COLUMNS = 'expert, "case", occasion, verdict, chance, time'


class Store:
    """The answers of a sitting.

    Undone answers stay in the file, marked as such; nothing ever reads them again.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, sitting: Sitting) -> None:
        self.path, self.sitting = path, sitting
        self._connection = connection

    @classmethod
    def create(cls, path: Path, sitting: Sitting) -> Self:
        """Start a file that its owner alone can read, there whole or not at all."""
        beginning = path.with_name(f".{path.name}.new")
        try:
            beginning.unlink(missing_ok=True)
            # SQLite gives its journal the mode of the file, so it is private from the start.
            os.close(os.open(beginning, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}.") from None
        connection = _connect(beginning)
        connection.executescript(SCHEMA)
        with _transaction(connection):
            connection.execute("INSERT INTO sitting VALUES (?, ?)", (VERSION, sitting.to_json()))
        connection.close()
        os.replace(beginning, path)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Go on with a file."""
        connection = _connect(path)
        try:
            found = connection.execute("SELECT version, record FROM sitting").fetchone()
        except sqlite3.DatabaseError:
            found = None
        if found is None or found[0] != VERSION:
            connection.close()
            raise InputError(
                f"{path} holds no answers of this version of evenodds: move it away, or name "
                "another --out."
            )
        os.chmod(path, 0o600)
        return cls(path, connection, Sitting.from_json(found[1]))

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
        with _transaction(self._connection):
            if self._count(expert) != number:
                return False
            self._connection.execute(
                f"INSERT INTO answers ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",
                (expert, case, occasion, verdict.value, chance, _now()),
            )
        return True

    def undo(self, expert: str, number: int) -> bool:
        """Take an expert's last answer back, if `number` are standing."""
        with _transaction(self._connection):
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
        rows = self._connection.execute(
            f"SELECT {COLUMNS} FROM answers WHERE undone IS NULL {chosen} ORDER BY id",
            () if expert is None else (expert,),
        )
        return [
            Answer(
                expert=name,
                case=case,
                occasion=occasion,
                verdict=Verdict(verdict),
                chance=chance,
                time=time,
            )
            for name, case, occasion, verdict, chance, time in rows
        ]

    def experts(self) -> list[str]:
        """Return the names of all who have answered, as each first wrote it."""
        found = self._connection.execute("SELECT expert FROM answers GROUP BY expert ORDER BY id")
        return [name for (name,) in found]

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _count(self, expert: str) -> int:
        query = "SELECT count(*) FROM answers WHERE expert = ? AND undone IS NULL"
        return int(self._connection.execute(query, (expert,)).fetchone()[0])


def _connect(path: Path) -> sqlite3.Connection:
    # Transactions are ours to begin, and requests come one at a time whichever thread they use.
    connection = sqlite3.connect(path, isolation_level=None, timeout=10, check_same_thread=False)
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA schema_version")  # the first look at the file itself
    except sqlite3.Error as error:
        connection.close()
        raise InputError(f"{path} cannot be opened: {error}.") from None
    return connection


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Do all of it, on disk, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
