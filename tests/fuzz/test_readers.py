"""Damaged files get an answer or a sentence; EVENODDS_FUZZ=500 damages each kind 500 times."""

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

import evenodds as eo
from evenodds.cli.main import app
from tests.fuzz.readers import READERS, good_answer, is_failure, mutation, rows

N_MUTATIONS = int(os.environ.get("EVENODDS_FUZZ", "10"))


@pytest.mark.parametrize("name", READERS)
def test_damage_is_refused_or_harmless(name, tmp_path):
    found = {number: mutation(name, number, tmp_path) for number in range(N_MUTATIONS)}
    assert not {number: each for number, each in found.items() if is_failure(name, each)}


@pytest.mark.parametrize("name", READERS)
def test_a_good_file_is_read(name):
    assert isinstance(good_answer(READERS[name]), float)


def archive(path, **members):
    """Write an .npz file of arrays, and of bytes as they are."""
    with zipfile.ZipFile(path, "w") as file:
        for name, member in members.items():
            if isinstance(member, bytes):
                file.writestr(name, member)
                continue
            with file.open(f"{name}.npy", "w") as inside:
                np.lib.format.write_array(inside, np.asarray(member), allow_pickle=True)
    return path


def answered(data, *options, features="a,b"):
    """Run the command on toss-ups of its own."""
    anchors = Path(data).parent / "toss_ups.csv"
    anchors.write_text(f"{features}\n0,0\n0.5,0.5\n")
    line = ["test", str(data), "--label", "label", "--anchors", str(anchors), "--method", "wald"]
    return CliRunner().invoke(app, [*line, "--features", features, *options])


FRAME = rows()
X = np.ascontiguousarray(FRAME[["a", "b"]])
LABEL = FRAME["label"].to_numpy(str)


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ({"X": X, "label": LABEL, "X[0]": X[:, 1]}, "has more than one column named 'X[0]'."),
        ({"X": X, "label": LABEL, "notes.txt": b"hello"}, "npz: 'notes.txt' in it is no array."),
        ({"X": X, "label": LABEL.astype(object)}, "Object arrays cannot be loaded"),
        ({"X": X.view("f8,f8"), "label": LABEL}, "holds [('f0', '<f8'), ('f1', '<f8')] values, no"),
        ({"X": X + 0j, "label": LABEL}, "an array in it holds complex128 values, not numbers or"),
        ({"X": X, "label": np.array("ill")}, "holds 1 arrays of two dimensions ('X' and 'label'"),
        ({"X": X, "label": LABEL[:5]}, "differ in length: 'X' has 120, 'label' has 5."),
        ({"X.npy": b"", "label": LABEL}, "cannot be read as npz: "),
        ({"X.npy": b"\x93NUMPY\x01\x00", "label": LABEL}, "cannot be read as npz: "),
        ({}, "holds 0 arrays of two dimensions ( in all)"),
    ],
)
def test_an_archive_that_cannot_be_read_gets_a_sentence(tmp_path, members, sentence):
    found = answered(archive(tmp_path / "rows.npz", **members), features="X[0],X[1]")
    assert (found.exit_code, sentence in found.output) == (2, True), found.output


def test_bytes_after_an_array_are_refused(tmp_path):
    file = io.BytesIO()
    np.save(file, X)
    path = archive(tmp_path / "rows.npz", **{"X.npy": file.getvalue() + b"more", "label": LABEL})
    assert "is longer than its header says" in answered(path, features="X[0],X[1]").output


@pytest.mark.parametrize(
    "as_stored", [lambda a: a.astype(a.dtype.newbyteorder(">")), np.asfortranarray]
)
def test_arrays_of_other_machines_are_read(tmp_path, as_stored):
    usual = archive(tmp_path / "usual.npz", X=X, label=LABEL)
    other = archive(tmp_path / "other.npz", X=as_stored(X), label=LABEL.astype("S"))
    fits = [eo.fit_logistic(path, "label").coefficients for path in (usual, other)]
    assert (fits[0] == fits[1]).all()


@pytest.mark.parametrize(
    ("write", "sentence"),
    [
        (lambda path: archive(path, X=X), "the magic string is not correct"),
        (lambda path: np.save(path, X.astype(object)), "Python objects in dtype"),
        (lambda path: np.save(path, X.view("f8,f8")), "not numbers or text"),
        (lambda path: path.write_bytes(b"no array"), "cannot be read as npy: "),
        (
            lambda path: path.write_bytes(READERS["npy"].good() + b"x"),
            "but its length says otherwise",
        ),
    ],
)
def test_a_single_array_that_cannot_be_read_gets_a_sentence(tmp_path, write, sentence):
    path = tmp_path / "rows.npy"
    write(path)
    for read in (lambda: eo.fit_logistic(path, LABEL), lambda: eo.Anchors(path)):
        with pytest.raises(eo.InputError) as refusal:
            read()
        assert sentence in str(refusal.value)


@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.struct([("l", pa.string())])])
@pytest.mark.parametrize("option", ["--label", "--group"])
def test_labels_and_groups_that_are_containers_get_a_sentence(tmp_path, kind, option):
    held = [[each] if pa.types.is_list(kind) else {"l": each} for each in FRAME["label"]]
    table = pa.Table.from_pandas(FRAME).append_column("held", pa.array(held, kind))
    parquet.write_table(table, tmp_path / "rows.parquet")
    found = answered(tmp_path / "rows.parquet", option, "held")
    sentence = f"'held' of {tmp_path}/rows.parquet holds {str(kind).partition('<')[0]}<"
    assert (found.exit_code, sentence in found.output) == (2, True), found.output


def in_two_files(folder, first, second):
    """Write the rows as two files, each changed in its way."""
    folder.mkdir()
    first(FRAME[:60]).to_parquet(folder / "1.parquet")
    second(FRAME[60:]).to_parquet(folder / "2.parquet")
    return folder


def test_files_with_other_types_of_number_are_one_table(tmp_path):
    def rounded(part, kind=float):
        return part.assign(a=part["a"].round().astype(kind))

    def in_categories(part):
        return rounded(part).astype({"label": "category"})

    in_two_files(tmp_path / "0", rounded, rounded)
    in_two_files(tmp_path / "1", in_categories, lambda part: rounded(part, int))
    fits = [eo.fit_logistic(tmp_path / each, "label", formula="a + b") for each in "01"]
    assert (fits[0].coefficients == fits[1].coefficients).all()


@pytest.mark.parametrize(
    ("column", "other"), [("a", "five"), ("label", pd.Timestamp("2024-01-01"))]
)
def test_files_of_other_kinds_get_a_sentence(tmp_path, column, other):
    folder = in_two_files(
        tmp_path / "parts", pd.DataFrame.copy, lambda part: part.assign(**{column: other})
    )
    found = answered(folder)
    assert (found.exit_code, f"column {column!r} holds" in found.output) == (2, True), found.output


def test_numbers_too_long_for_the_other_file_get_a_sentence(tmp_path):
    folder = in_two_files(
        tmp_path / "parts", pd.DataFrame.copy, lambda part: part.assign(a=2**53 + 1)
    )
    found = answered(folder)
    assert (found.exit_code, "has columns of other types than the files" in found.output) == (
        2,
        True,
    )


def test_bare_carriage_returns_end_lines(tmp_path):
    text = FRAME.to_csv(index=False)
    (tmp_path / "usual.csv").write_text(text)
    (tmp_path / "rows.csv").write_bytes(text.replace("\n", "\r").encode())
    usual, found = (
        answered(tmp_path / name, "--format", "json") for name in ("usual.csv", "rows.csv")
    )
    assert (found.exit_code, found.stdout) == (0, usual.stdout.replace("usual", "rows"))


@pytest.mark.parametrize(
    "header", ['a,b\rc,"label\n', "a,b," + "c" * 200_000 + ",label\n", "a,b\0,label\n"]
)
def test_a_header_beyond_reading_gets_a_sentence(tmp_path, header):
    (tmp_path / "rows.csv").write_text(header + "1,2,3,4\n" * 9, newline="")
    assert answered(tmp_path / "rows.csv").exit_code == 2


def test_a_closed_standard_input_gets_a_sentence(tmp_path):
    line = f"{sys.executable} -m evenodds test - --label y --method joint <&-"
    found = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert found.stderr == "evenodds: standard input is closed: pipe a CSV file into the command.\n"


def test_checksums_of_parquet_pages_are_verified(tmp_path):
    content = bytearray(READERS["parquet, plain"].good())
    at = content.index(FRAME["a"].to_numpy()[:1].tobytes()) + 3
    content[at] ^= 1
    (tmp_path / "rows.parquet").write_bytes(content)
    found = answered(tmp_path / "rows.parquet")
    assert (found.exit_code, "CRC" in found.output) == (2, True), found.output
