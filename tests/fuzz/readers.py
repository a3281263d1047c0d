"""Good files of every kind, seeded damage to them, and what a command makes of the damage.

An outcome is what a user meets: the same answer, another answer, a refusal in one sentence, or an
internal error. Where a format carries checksums, another answer is a failure too.
"""

import io
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import feather, parquet
from typer.testing import CliRunner

import evenodds as eo
from evenodds.cli.main import app
from tests.exports import annotation, line, task

Outcome = Literal["same", "changed", "refused", "internal error"]
N_ROWS = 120
SEED = 20210303


def rows() -> pd.DataFrame:
    """Return two features, a group of text, a weight and a label that depends on them."""
    rng = np.random.default_rng(SEED)
    a, b = rng.normal(size=(2, N_ROWS)).round(3)
    label = np.where(rng.random(N_ROWS) < 1 / (1 + np.exp(b - a)), "ill", "well")
    group = [f"p{number // 2}" for number in range(N_ROWS)]
    return pd.DataFrame(
        {"a": a, "b": b, "times": 1 + np.arange(N_ROWS) % 3, "group": group, "label": label}
    )


def _written(write: Callable[[pa.Table, io.BytesIO], None]) -> bytes:
    file = io.BytesIO()
    write(pa.Table.from_pandas(rows(), preserve_index=False), file)
    return file.getvalue()


def _parquet(compression: str) -> bytes:
    settings = {"compression": compression, "row_group_size": 50, "write_page_checksum": True}
    return _written(lambda table, file: parquet.write_table(table, file, **settings))


def _npz(save: Callable[..., None]) -> bytes:
    frame, file = rows(), io.BytesIO()
    save(file, X=frame[["a", "b"]], times=frame["times"], label=frame["label"].to_numpy(str))
    return file.getvalue()


def _npy() -> bytes:
    file = io.BytesIO()
    np.save(file, rows()[["a", "b"]].to_numpy())
    return file.getvalue()


@dataclass(frozen=True)
class Reader:
    """A kind of file: a good one, what it is called, and what its bytes are protected by."""

    suffix: str
    good: Callable[[], bytes]
    checked: bool = False
    features: str = "a,b"
    group: str = "group"

    def run(self, content: bytes, folder: Path) -> Outcome:
        """Run the command on a file with this content, and compare with the good one."""
        found = self.answer(content, folder)
        if not isinstance(found, float):
            return found
        return "same" if found == good_answer(self) else "changed"

    def answer(self, content: bytes, folder: Path) -> float | Outcome:
        """Return the statistic, or why there is none."""
        path = folder / f"rows{self.suffix}"
        path.write_bytes(content)
        return self._command(str(path), folder)

    def _command(self, data: str, folder: Path, given: bytes | None = None) -> float | Outcome:
        anchors = folder / "toss_ups.csv"
        names = self.features.split(",")
        anchors.write_text(f"{','.join(names)}\n0,0\n0.5,0.5\n")
        words = ["test", data, "--label", "label", "--anchors", str(anchors), "--method", "wald"]
        words += ["--features", self.features, "--weight", "times", "--format", "json"]
        words += ["--group", self.group] if self.group else []
        return invoked(words, given)


def invoked(words: list[str], given: bytes | None = None) -> float | Outcome:
    """Return the statistic that a command prints, or why there is none."""
    found = CliRunner().invoke(app, words, input=given)
    if found.exit_code == 0:
        return float(json.loads(found.stdout)["statistic"])
    return "refused" if found.exit_code == 2 else "internal error"


@cache
def good_answer(reader: Reader) -> float | Outcome:
    """Return the statistic of a good file."""
    with tempfile.TemporaryDirectory() as folder:
        return reader.answer(reader.good(), Path(folder))


class Stdin(Reader):
    """A CSV file piped into the command."""

    def answer(self, content: bytes, folder: Path) -> float | Outcome:
        return self._command("-", folder, given=content)


class Folder(Reader):
    """A folder of two files, the second of them damaged."""

    def answer(self, content: bytes, folder: Path) -> float | Outcome:
        parts = folder / f"parts{self.suffix}"
        parts.mkdir(exist_ok=True)
        (parts / f"1{self.suffix}").write_bytes(self.good())
        (parts / f"2{self.suffix}").write_bytes(content)
        return self._command(str(parts), folder)


class Npy(Reader):
    """A single array, which only Python reads."""

    def answer(self, content: bytes, folder: Path) -> float | Outcome:
        path = folder / "rows.npy"
        path.write_bytes(content)
        try:
            fit = eo.fit_logistic(path, rows()["label"].to_numpy())
        except eo.EvenoddsError:
            return "refused"
        except Exception:
            return "internal error"
        return float(fit.coefficients[1])


class Export(Reader):
    """An export of a labelling tool, with the truth beside every label."""

    def answer(self, content: bytes, folder: Path) -> float | Outcome:
        path = folder / f"export{self.suffix}"
        path.write_bytes(content)
        return invoked(["audit", str(path), "--true", "gold", "--format", "json"])


def _export(tool: str) -> bytes:
    given = [("ill", "well")[number % 3 > 1] for number in range(40)]
    true = [("ill", "well")[number % 2] for number in range(40)]
    if tool == "label-studio":
        both = [
            task(number, [annotation("ada", given[number]), annotation("gold", true[number])])
            for number in range(40)
        ]
        return json.dumps(both).encode()
    answers = {"ill": "accept", "well": "reject"}
    lines = [line(n, answers[given[n]], "ada", label="ill") for n in range(40)]
    lines += [line(n, answers[true[n]], "gold", label="ill") for n in range(40)]
    return "\n".join(map(json.dumps, lines)).encode()


READERS: dict[str, Reader] = {
    "csv": Reader(".csv", lambda: rows().to_csv(index=False).encode()),
    "tsv": Reader(".tsv", lambda: rows().to_csv(index=False, sep="\t").encode()),
    "parquet": Reader(".parquet", lambda: _parquet("snappy"), checked=True),
    "parquet, plain": Reader(".parquet", lambda: _parquet("none"), checked=True),
    "feather": Reader(".feather", lambda: _written(feather.write_feather)),
    "npy": Npy(".npy", _npy),
    "npz": Reader(".npz", lambda: _npz(np.savez), True, "X[0],X[1]", ""),
    "npz, compressed": Reader(".npz", lambda: _npz(np.savez_compressed), True, "X[0],X[1]", ""),
    "folder of csv": Folder(".csv", lambda: rows().to_csv(index=False).encode()),
    "folder of parquet": Folder(".parquet", lambda: _parquet("none"), checked=True),
    "label studio": Export(".json", lambda: _export("label-studio")),
    "prodigy": Export(".jsonl", lambda: _export("prodigy")),
    "stdin": Stdin(".csv", lambda: rows().to_csv(index=False).encode()),
}


def damaged(good: bytes, rng: np.random.Generator) -> bytes:
    """Return a file cut, with bits flipped or bytes overwritten, or spliced with itself."""
    content = bytearray(good)
    place = int(rng.integers(len(content)))
    length = int(rng.integers(1, 40))
    kind = rng.choice(["cut", "flip", "flip", "flip", "overwrite", "remove", "splice", "repeat"])
    if kind == "cut":
        return bytes(content[:place])
    if kind == "flip":
        for at in rng.integers(len(content), size=int(rng.integers(1, 4))):
            content[at] ^= 1 << int(rng.integers(8))
    elif kind == "overwrite":
        content[place : place + length] = rng.bytes(length)
    elif kind == "remove":
        del content[place : place + length]
    elif kind == "splice":
        other = int(rng.integers(len(content)))
        return bytes(content[:place] + content[other:])
    else:
        content[place:place] = content[place : place + length]
    return bytes(content)


def mutation(name: str, number: int, folder: Path) -> Outcome:
    """Return what the command makes of one damaged file, the same for the same number."""
    reader = READERS[name]
    rng = np.random.default_rng([SEED, number])
    return reader.run(damaged(reader.good(), rng), folder)


def is_failure(name: str, outcome: str) -> bool:
    """Tell whether a user would have been let down."""
    silent = outcome == "changed" and READERS[name].checked
    return silent or outcome in {"internal error", "crash"}
