"""Files as people have them: each is read right, or refused with what to do."""

import numpy as np
import pandas as pd
import pytest

N_ROWS = 80


@pytest.fixture(scope="module")
def lines():
    """Return 80 rows of age, dose and label as text, without a header."""
    rng = np.random.default_rng(2)
    age, dose = rng.normal(50, 10, N_ROWS), rng.normal(size=N_ROWS)
    ill = rng.random(N_ROWS) < 1 / (1 + np.exp(-dose))
    return [
        f"{a:.4f},{d:.4f},{'ill' if i else 'well'}" for a, d, i in zip(age, dose, ill, strict=True)
    ]


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file and gives the arguments to test it."""
    anchors = tmp_path / "toss_ups.csv"
    anchors.write_text("age,dose\n50,0\n40,0.1\n")

    def written(text, name="rows.csv", *, anchors=anchors):
        data = text if isinstance(text, bytes) else text.encode()
        (tmp_path / name).write_bytes(data)
        options = f"--label label --method wald --anchors {anchors}"
        return f"test {tmp_path / name} {options}"

    return written


def joined(header, lines, end="\n"):
    return end.join([header, *lines]) + end


@pytest.fixture
def clean(document, write, lines):
    """Return the statistic of the file without any mess."""
    return document(write(joined("age,dose,label", lines), "clean.csv"))["statistic"]


HEADER = "age,dose,label"


def with_byte_order_mark(lines):
    return b"\xef\xbb\xbf" + joined(HEADER, lines).encode()


def with_windows_line_ends(lines):
    return joined(HEADER, lines, "\r\n")


def with_blank_lines(lines):
    return "\n" + joined(HEADER, [*lines[:5], "", "", *lines[5:], ""])


def with_quoted_commas(lines):
    return joined('age,dose,"label"', [f'"{a}",{d},"{y}"' for a, d, y in cells(lines)])


def with_blanks_around_numbers(lines):
    return joined(HEADER, [f" {a} ,{d} ,{y}" for a, d, y in cells(lines)])


def with_columns_in_another_order(lines):
    return joined("label,dose,age", [f"{y},{d},{a}" for a, d, y in cells(lines)])


def cells(lines):
    return [line.split(",") for line in lines]


@pytest.mark.parametrize(
    "mess",
    [
        with_byte_order_mark,
        with_windows_line_ends,
        with_blank_lines,
        with_quoted_commas,
        with_blanks_around_numbers,
        with_columns_in_another_order,
    ],
)
def test_a_mess_that_means_one_thing_is_read(document, write, lines, clean, mess):
    found = document(write(mess(lines)))["statistic"]
    assert found == pytest.approx(clean, rel=1e-10)


def test_text_with_commas_and_quotes_stays_one_value(document, write, lines):
    places = ['"Ulm, ""Mitte"""', "Bonn"]
    rows = [f"{line},{places[number % 2]}" for number, line in enumerate(lines)]
    anchors = write(joined("age,dose,place", [f"50,0,{place}" for place in places]), "a.csv")
    line = write(joined(f"{HEADER},place", rows)).replace("toss_ups.csv", "a.csv")
    assert anchors
    notes = [check["message"] for check in document(line)["diagnostics"]]
    assert any("Column 'place' holds text: 1 0/1 column for its levels" in note for note in notes)


def changed(lines, row, column, value):
    """Return the lines with one cell changed."""
    table = cells(lines)
    table[row][column] = value
    return [",".join(row) for row in table]


MESSES = {
    "NA": (
        lambda lines: joined(HEADER, changed(lines, 3, 0, "NA")),
        "has 1 missing value, the first in row 4 of {path} (counted from 1 after the header), "
        "column 'age': drop or fill it before testing, or have such rows dropped "
        "(--missing drop).",
    ),
    "thousands separators": (
        lambda lines: joined(HEADER, [f'"1,2{i:02}",{x}' for i, x in enumerate(short(lines))]),
        "column 'age' of {path} holds numbers with separators, such as '1,200': write them "
        "without, with a point before decimals.",
    ),
    "decimal commas": (
        lambda lines: joined(HEADER, [f'"1.234,{i:02}",{x}' for i, x in enumerate(short(lines))]),
        "column 'age' of {path} holds numbers with separators, such as '1.234,00'",
    ),
    "a question mark among decimals": (
        lambda lines: joined(
            HEADER, [f"{'?' if i == 1 else f'-0.{i:03}'},{x}" for i, x in enumerate(short(lines))]
        ),
        "column 'age' of {path} holds text such as '?' among numbers: leave the cell empty if",
    ),
    "text among numbers": (
        lambda lines: joined(HEADER, changed(lines, 60, 0, "unknown")),
        "column 'age' of {path} holds text such as 'unknown' among numbers: leave the cell empty",
    ),
    "a header used twice": (
        lambda lines: joined("age,age,label", lines),
        "{path} has more than one column named 'age'.",
    ),
    "a column without a name": (
        lambda lines: joined(f",{HEADER}", [f"{i},{line}" for i, line in enumerate(lines)]),
        "{path} has a column without a name (number 1), perhaps row numbers saved with the data",
    ),
    "labels in two spellings": (
        lambda lines: joined(HEADER, changed(lines, 5, 2, "Ill ")),
        "column 'label' has labels 'Ill ' and 'ill', which differ only in case or blanks: write",
    ),
    "a torn row": (
        lambda lines: joined(HEADER, [*lines[:7], "1,2", *lines[7:]]),
        "{path} cannot be read as csv: CSV parse error: Row #9: Expected 3 columns, got 2",
    ),
    "semicolons": (
        lambda lines: joined(HEADER, lines).replace(",", ";"),
        "{path} has one column only, 'age;dose;label': it seems to be separated by semicolons, "
        "but its name says commas. Save it with commas, and with decimal points.",
    ),
    "a million columns": (
        lambda lines: ",".join(f"x{i}" for i in range(1_000_000)) + "\n",
        "{path} has 1,000,000 columns or more, but at most 20,000 can be read: give one row",
    ),
    "another encoding": (
        lambda lines: joined(f"{HEADER},who", [f"{x},Zoé" for x in lines]).encode("latin-1"),
        "column 'who' of {path} holds text that is not UTF-8: save the file with that encoding.",
    ),
    "a name a row": (
        lambda lines: joined(f"{HEADER},who", [f"{x},n{i}" for i, x in enumerate(3 * lines)]),
        "column 'who' of {path} holds more than 200 different texts (such as 'n0', 'n1' and 'n10'",
    ),
    "spellings of a category": (
        lambda lines: joined(f"{HEADER},sex", [f"{x},{'mM'[i % 2]}" for i, x in enumerate(lines)]),
        "column 'sex' of {path} holds 'M' and 'm', which differ only in case or blanks: write",
    ),
    "dates": (
        lambda lines: joined(f"{HEADER},day", [f"{x},2020-01-01" for x in lines]),
        "column 'day' of {path} holds dates or times: turn it into a number first, such as days",
    ),
}


def short(lines):
    """Return the lines without their first cell."""
    return [line.split(",", 1)[1] for line in lines]


@pytest.mark.parametrize("kind", MESSES)
def test_a_mess_that_could_mean_anything_is_refused(command, write, lines, tmp_path, kind):
    make, message = MESSES[kind]
    done = command(write(make(lines)))
    expected = message.format(path=tmp_path / "rows.csv")
    assert (done.exit_code, done.stdout, expected in done.stderr) == (2, "", True), done.stderr


def test_text_late_in_a_long_column_of_numbers_is_placed(command, write):
    rows = [f"{i},{i % 7},{'ill' if i % 3 else 'well'}" for i in range(400_000)]
    rows[399_990] = "unknown,1,ill"
    done = command(write(joined(HEADER, rows)))
    assert "among numbers, first in row 399991 (counted from 1 after the header): " in done.stderr


def test_decimals_late_in_a_long_column_of_whole_numbers_are_read(document, write):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"age": rng.integers(0, 99, 300_000), "dose": rng.integers(0, 9, 300_000)})
    rows = [f"{a},{d},{'ill' if a > 50 - d else 'well'}" for a, d in frame.to_numpy()]
    rows[-1], rows[-2] = "50.5,1.5,well", "3,2.5,ill"
    assert document(write(joined(HEADER, rows)))["n_rows"] == 300_000
