"""Tables: spooled where they are large, refused where their files disagree or are damaged."""

import os
import resource
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import evenodds as eo
from evenodds.rows import open_table as spool
from evenodds.rows import tables
from evenodds.rows.formula import teaching_rows
from evenodds.rows.open_table import open_table
from evenodds.rows.tables import Selection, hold


def read(table):
    return pa.Table.from_batches([batch for _, batch in table.batches(table.names)])


@pytest.fixture
def small_spool(monkeypatch):
    monkeypatch.setattr(spool, "HELD_BYTES", 1000)


def test_a_large_text_file_is_spooled_to_disk(written, small_spool):
    table = open_table(written.folder / "rows.csv")
    assert table.keeps.path.is_dir()
    assert read(table)["age"].to_numpy() == pytest.approx(written.frame["age"].to_numpy())


def test_the_spool_goes_with_its_table(written, small_spool):
    table = open_table(written.folder / "rows.csv")
    folder = table.keeps.path
    del table
    assert not folder.exists()


def test_a_spooled_row_is_placed_in_the_file_it_came_from(written, small_spool):
    table = open_table(written.folder / "parts_csv")
    place = f"row 2 of {written.folder}/parts_csv/part1.csv (counted from 1 after the header)"
    assert table.place(251) == place


def test_a_full_temporary_disk_is_refused_with_advice(refused, tmp_path, small_spool, monkeypatch):
    pd.DataFrame({"a": np.arange(200_000.0)}).to_csv(tmp_path / "rows.csv", index=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with refused(f"a temporary copy in {tmp_path} failed: "):
            open_table(tmp_path / "rows.csv")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


def test_only_wanted_columns_of_a_text_file_are_kept(written):
    table = open_table(written.folder / "rows.csv", lambda names: names[:2])
    assert (table.names, len(table.all_names)) == (("age", "dose"), 8)


def test_groups_of_numbers_and_text_are_text(tmp_path):
    rows = [str(number) for number in range(900_000)] + ["A3"]
    (tmp_path / "rows.csv").write_text("\n".join(["who", *rows]) + "\n")
    table = open_table(tmp_path / "rows.csv", text_if_mixed=["who"])
    assert table.schema.field("who").type == pa.string()


@pytest.mark.parametrize(("value", "kind"), [("3.5", pa.float64()), ("later", pa.string())])
def test_a_column_that_begins_empty_takes_the_type_of_its_values(tmp_path, value, kind):
    rows = [f"{number}," for number in range(400_000)] + [f"1,{value}"]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b", *rows]) + "\n")
    assert open_table(tmp_path / "rows.csv").schema.field("b").type == kind


def test_small_row_groups_are_read_together(written, monkeypatch):
    monkeypatch.setattr(tables, "PART_ROWS", 200)
    table = open_table(written.folder / "rows.parquet")
    assert [part.n_rows for part in table.parts] == [260, 260, 80]


def test_a_part_that_gives_other_rows_than_it_promised_is_refused(refused, written):
    table = open_table(written.folder / "rows.parquet")
    part = tables.ParquetPart(table.parts[0].stamp, (0,), 131, table.name)
    lying = type(table)(table.name, table.schema, (part,))
    with refused("gave 130 rows where 131 were expected: it is damaged, or has changed"):
        read(lying)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"y": np.zeros(3)}, "holds 0 arrays of two dimensions ('y' in all): give one with a row"),
        ({"a": np.eye(2), "b": np.eye(2)}, "holds 2 arrays of two dimensions ('a' and 'b' in all)"),
        ({"X": np.eye(3), "y": np.zeros(2)}, "differ in length: 'X' has 3, 'y' has 2."),
    ],
)
def test_arrays_that_make_no_table_are_refused(refused, tmp_path, arrays, message):
    np.savez(tmp_path / "x.npz", **arrays)
    with refused(message):
        open_table(tmp_path / "x.npz")


@pytest.mark.parametrize("kind", ["npy", "npz"])
def test_a_damaged_array_is_refused(refused, tmp_path, kind):
    (tmp_path / f"x.{kind}").write_bytes(b"nothing of the kind")
    with refused(f"x.{kind} cannot be read as {kind}: "):
        eo.fit_logistic(tmp_path / f"x.{kind}", [0, 1] if kind == "npy" else "y")


def test_an_array_alone_is_no_table(refused, tmp_path):
    np.save(tmp_path / "x.npy", np.eye(3))
    with refused("x.npy holds one array and no labels: save both in one .npz file, or pass the"):
        open_table(tmp_path / "x.npy")


def test_row_numbers_saved_by_pandas_are_no_feature(refused, tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 5.0], "y": [0, 1, 0]}, index=[3, 1, 2])
    frame.to_parquet(tmp_path / "rows.parquet")
    with refused("has a column without a name (number 3), perhaps row numbers saved with the data"):
        eo.fit_logistic(tmp_path / "rows.parquet", "y")


def test_groups_of_another_type_in_another_file_are_text(tmp_path):
    rng = np.random.default_rng(2)
    for name, kind in (("a", int), ("b", str)):
        who = np.arange(90).astype(kind) // 3 if kind is int else [f"{i // 3}" for i in range(90)]
        frame = pd.DataFrame({"x": rng.normal(size=90), "y": rng.integers(0, 2, 90), "who": who})
        frame.to_parquet(tmp_path / f"{name}.parquet")
    assert eo.fit_logistic(tmp_path, "y", groups="who").n_rows == 180


def test_an_empty_list_of_files_is_refused(refused):
    with refused("the list of files is empty: name at least one."):
        open_table([])


TEXT = "age,y\n1,0\n2,1\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (TEXT.encode("utf-16"), "rows.csv is text in UTF-16: save it as csv in UTF-8."),
        (TEXT.encode("utf-16-be"), "rows.csv is text in UTF-16: save it as csv in UTF-8."),
        (b"PK\x03\x04\x14;\x06\x08!\n", "rows.csv is no text table: it holds bytes that text has"),
        (
            b"\x89PNG\r\n\x1a\n\0\0\0;IHDR\0\0",
            "rows.csv is no text table: it holds bytes that text",
        ),
    ],
)
def test_what_is_no_text_in_utf_8_is_refused(refused, tmp_path, content, message):
    (tmp_path / "rows.csv").write_bytes(content)
    with refused(message):
        open_table(tmp_path / "rows.csv")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_text_in_utf_8_is_read(tmp_path, encoding):
    (tmp_path / "rows.csv").write_bytes("größe,y\n1,0\n2,1\n".encode(encoding))
    assert open_table(tmp_path / "rows.csv").names == ("größe", "y")


def test_a_file_given_twice_is_refused(refused, tmp_path):
    """Its rows would count twice: z went from -7.86 to -11.12."""
    rows, link = tmp_path / "rows.csv", tmp_path / "link.csv"
    rows.write_text("x,y\n1,0\n2,1\n")
    link.symlink_to(rows)
    for twice in ([rows, rows], [rows, f"{tmp_path}/r*.csv"]):
        with refused(f"{rows} is given twice, which would count its rows twice: name each file"):
            open_table(twice)
    for twice in ([rows, link], tmp_path, f"{tmp_path}/*.csv"):
        with refused(" is given twice, once as "):
            open_table(twice)


def test_teaching_rows_do_not_depend_on_batches(monkeypatch):
    monkeypatch.setattr("evenodds.rows.formula.TEACHING_ROWS", 100)
    data = pa.table({"a": np.random.default_rng(1).normal(size=5000)})
    chunked = pa.concat_tables([data[:13], data[13:900], data[900:]])
    found = [teaching_rows(hold(each, "X"), ["a"], Selection()) for each in (data, chunked)]
    assert found[0]["a"].to_pylist() == found[1]["a"].to_pylist()


def test_teaching_rows_hold_the_extremes(monkeypatch):
    monkeypatch.setattr("evenodds.rows.formula.TEACHING_ROWS", 100)
    data = pa.table({"a": np.random.default_rng(1).normal(size=5000)})
    taught = teaching_rows(hold(data, "X"), ["a"], Selection())["a"].to_numpy()
    assert (taught.min(), taught.max()) == (data["a"].to_numpy().min(), data["a"].to_numpy().max())


def test_no_complete_row_teaches_nothing(refused):
    with refused("X has no row without a missing value."):
        teaching_rows(hold(pa.table({"a": [None, None]}), "X"), ["a"], Selection())


PEAK = """
import sys
import evenodds as eo
eo.asymmetry_test(sys.argv[1], "y", eo.Anchors([[0.0] * 8]))
status = open("/proc/self/status").read().split()
print(status[status.index("VmHWM:") + 1])
"""


def peak_memory(path):
    """Return the peak memory of a boundary test in a process of its own, in KiB."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PEAK, path],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return int(done.stdout)


def write_many(path, n_rows):
    rng = np.random.default_rng(3)
    names = [f"x{number}" for number in range(8)]
    schema = pa.schema([*((name, pa.float64()) for name in names), ("y", pa.int8())])
    with pq.ParquetWriter(path, schema) as writer:
        for _ in range(n_rows // 250_000):
            X = rng.normal(size=(8, 250_000))
            y = (rng.random(250_000) < 1 / (1 + np.exp(-X.sum(axis=0)))).astype(np.int8)
            writer.write_table(pa.table([*X, y], schema=schema))
    return path


def test_memory_does_not_grow_with_the_rows(tmp_path):
    """500,000 and 2,000,000 rows: held in memory, the latter take twice as much as the former."""
    few, many = (write_many(tmp_path / f"{n}.parquet", n * 500_000) for n in (1, 4))
    assert peak_memory(many) <= 1.2 * peak_memory(few)
