"""`evenodds multiclass`: files in, words or JSON out."""

import csv
import json
from itertools import combinations

import numpy as np
import pytest
from tests.class_worlds import four_bells, relabel, uniform_flips

import evenodds as eo

NAMES = np.array(["cat", "dog", "fox", "owl"])
WORLD = four_bells(lopsided=True)


def write(path, header, rows):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with animals, toss-ups, a code and an audit; many cats became dogs."""
    folder = tmp_path_factory.mktemp("animals")
    rng = np.random.default_rng(21)
    X, y = WORLD.draw_rows(1500, rng)
    flips = uniform_flips(4, 0.1)
    flips[0, 1] += 0.25
    flips[0, 0] -= 0.25
    given = NAMES[relabel(y, flips, rng)]
    write(folder / "rows.csv", ("size", "ears", "kind"), np.column_stack([X, given]))
    splits = {f"{NAMES[i]} | {NAMES[j]}": ((i,), (j,)) for i, j in combinations(range(4), 2)}
    rests = {NAMES[i]: ((i,), [j for j in range(4) if j != i]) for i in range(4)}
    codes = {"cat + fox | dog + owl": ((0, 2), (1, 3))}
    for name, named in (("pairs", splits), ("rests", rests), ("splits", codes)):
        points = [
            (key, *point)
            for key, sides in named.items()
            for point in WORLD.draw_anchors(*sides, 3, rng).points
        ]
        write(folder / f"{name}.csv", ("between", "size", "ears"), points)
    matrix = [("owl", -1), ("cat", 1), ("dog", -1), ("fox", 1)]
    write(folder / "codes.csv", ("kind", "first"), matrix)
    write(folder / "bare_codes.csv", ("kind",), [row[:1] for row in matrix])
    write(folder / "word_codes.csv", ("kind", "first"), [(name, "left") for name, _ in matrix])
    head = ("between", "size", "ears")
    write(folder / "words.csv", head, [("cat | dog", "big", 0.0), ("cat | fox", "small", 1.0)])
    write(folder / "nobody.csv", head, [("cat | dog", 1.0, 0.0), ("", 1.0, 0.0)])
    write(folder / "holes.csv", head, [("cat | dog", 1.0, 0.0), ("cat | fox", 1.0, "")])
    audited = [*zip(NAMES[y[:300]], given[:300], strict=True), *[("", "cat")] * 3]
    write(folder / "audit.csv", ("true", "given"), audited)
    return folder


@pytest.fixture(scope="module")
def start(folder):
    return f"multiclass {folder}/rows.csv --label kind --anchors {folder}"


def test_the_command_gives_the_test_of_python(command, start, folder):
    outcome = command(f"{start}/pairs.csv --format json --tolerance 0")
    assert outcome.exit_code == 0, outcome.output
    document = json.loads(outcome.stdout)
    assert document["scheme"] == "one-vs-one"
    assert document["reject"] is True
    told = [split for split in document["splits"] if split["withheld"] is None]
    surest = min(told, key=lambda split: split["adjusted_pvalue"])
    assert document["statistic"] == surest["statistic"]
    interval = document["intervals"][surest["name"]]
    assert interval["low"] < surest["asymmetry"] < interval["high"]
    assert "'dog' gains from 'cat'" in document["verdict"]
    points = list(csv.DictReader((folder / "pairs.csv").read_text().splitlines()))
    anchors = {
        key: eo.Anchors(
            [[float(p["size"]), float(p["ears"])] for p in points if p["between"] == key],
            tolerance=0,
        )
        for key in dict.fromkeys(p["between"] for p in points)
    }
    rows = list(csv.DictReader((folder / "rows.csv").read_text().splitlines()))
    X = [[float(row["size"]), float(row["ears"])] for row in rows]
    expected = eo.multiclass_test(X, [row["kind"] for row in rows], anchors)
    assert document["pvalue"] == pytest.approx(expected.pvalue)
    assert document["asymmetry_matrix"][0][1] == pytest.approx(expected.splits[0].asymmetry)


def test_people_get_words_and_a_table(command, start):
    outcome = command(f"{start}/rests.csv --scheme one-vs-rest")
    assert outcome.exit_code == 0, outcome.output
    assert "Uniform noise is rejected" in outcome.stdout
    assert "cat | rest" in outcome.stdout


def test_codes_come_from_a_file_in_any_order_of_classes(command, start, folder):
    codes = f"{start}/splits.csv --scheme output-codes --format json"
    given = json.loads(command(f"{codes} --codes {folder}/codes.csv").stdout)
    built = json.loads(command(codes).stdout)
    assert [split["name"] for split in given["splits"]] == ["cat + fox | dog + owl"]
    assert given["pvalue"] == pytest.approx(built["pvalue"])
    assert len(built["splits"]) == 7


def test_a_gate_fails_where_the_null_is_rejected(command, start):
    assert command(f"{start}/pairs.csv --gate reject").exit_code == 1


def test_the_report_appears_whole(command, start, tmp_path):
    page = tmp_path / "report.html"
    assert command(f"{start}/pairs.csv --report {page}").exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "Which class gains from which?" in text
    assert text.rstrip().endswith("</html>")


def test_looked_up_rows_are_tested_by_their_confusion_matrix(command, folder, tmp_path):
    page = tmp_path / "audit.html"
    line = f"multiclass audit {folder}/audit.csv --true true --given given --report {page}"
    document = json.loads(command(line, "--format json").stdout)
    assert document["reject"] is True
    assert document["n_rows"] == sum(map(sum, document["counts"])) == 300
    assert document["statistic"] == document["uniform"]["statistic"]
    assert document["diagnostics"][0]["message"] == "3 of 303 rows have no true label."
    assert "How often does each class get each label?" in page.read_text(encoding="utf-8")


def test_rows_that_were_not_looked_up_are_counted(command, folder):
    words = " ".join(
        command(f"multiclass audit {folder}/audit.csv --true true --given given").stdout.split()
    )
    assert "3 of 303 rows have no true label." in words


def test_a_missing_given_label_is_named_by_its_row_of_the_file(command, tmp_path):
    cases = [("", "cat"), *[(name, name) for name in NAMES] * 2, ("cat", "")]
    write(tmp_path / "audit.csv", ("true", "given"), cases)
    outcome = command(f"multiclass audit {tmp_path}/audit.csv --true true --given given")
    assert outcome.exit_code == 2
    assert "column 'given' has 1 missing value, the first in row 10 of" in " ".join(
        outcome.stderr.split()
    )


def test_two_classes_are_sent_to_the_audit_of_two(command, tmp_path):
    write(tmp_path / "audit.csv", ("seen", "told"), [("cat", "cat"), ("dog", "dog")] * 5)
    outcome = command(f"multiclass audit {tmp_path}/audit.csv --true seen --given told")
    assert outcome.exit_code == 2
    words = " ".join(outcome.stderr.split())
    assert "column 'seen' has two labels only ('cat' and 'dog')" in words
    assert "for two use audit_test (evenodds audit)" in words


def test_a_missing_feature_is_named_with_its_file(command, folder, tmp_path):
    rows = (folder / "rows.csv").read_text().splitlines()
    holed = [rows[0], "," + rows[1].partition(",")[2], *rows[2:]]
    (tmp_path / "holed.csv").write_text("\n".join(holed))
    outcome = command(f"multiclass {tmp_path}/holed.csv --label kind --anchors {folder}/pairs.csv")
    assert outcome.exit_code == 2
    assert "holed.csv has 1 missing value" in " ".join(outcome.stderr.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--label kind", "missing option '--anchors'"),
        ("--anchors {folder}/pairs.csv", "missing option '--label'"),
        ("--label size --anchors {folder}/pairs.csv", "column 'size' has 1500 distinct labels"),
        ("--label kind --anchors {folder}/pairs.csv --weight w", "rows.csv has no column 'w'"),
        ("--label kind --anchors {folder}/pairs.csv --formula tail",
         "rows.csv has no column 'tail'"),
        ("--label knid --anchors {folder}/pairs.csv",
         "rows.csv has no column 'knid'; did you mean 'kind'"),
        ("--label kind --anchors {folder}/rows.csv", "rows.csv has no column 'between'"),
        ("--label kind --anchors {folder}/pairs.csv --features size,tail", "no column 'tail'"),
        ("--label kind --anchors {folder}/codes.csv --between kind", "no column 'size', which"),
        ("--label kind --anchors {folder}/rests.csv", "which is not two sides"),
        ("--label kind --anchors {folder}/pairs.csv --codes {folder}/audit.csv "
         "--scheme output-codes", "must name every class once: 'cat', 'dog', 'fox' and 'owl'"),
        ("--label kind --anchors {folder}/pairs.csv --codes {folder}/bare_codes.csv "
         "--scheme output-codes", "bare_codes.csv has the column of classes only: add a column"),
        ("--label kind --anchors {folder}/pairs.csv --codes {folder}/word_codes.csv "
         "--scheme output-codes", "column 'first' of {folder}/word_codes.csv must hold +1, -1"),
        ("--label kind --anchors {folder}/words.csv",
         "{folder}/words.csv has text in 'size' but the data has numbers only"),
        ("--label kind --anchors {folder}/nobody.csv", "column 'between' of {folder}/nobody.csv "
         "has 1 missing value, the first at anchor 2 of"),
        ("--label kind --anchors {folder}/holes.csv", "column 'ears' of {folder}/holes.csv has 1 "
         "missing value, the first at anchor 2 of"),
        ("--label kind --anchors {folder}/pairs.csv --gate equivalence", "is not one of 'reject'"),
        ("--label kind --anchors {folder}/pairs.csv --codes {folder}/codes.csv",
         "--codes goes with --scheme output-codes, but it is one-vs-one"),
    ],
)  # fmt: skip
def test_bad_input_gets_its_sentence(command, folder, options, message):
    outcome = command(f"multiclass {folder}/rows.csv {options.format(folder=folder)}")
    assert outcome.exit_code == 2
    assert message.format(folder=folder).lower() in " ".join(outcome.stderr.split()).lower()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--true kind", "missing option '--given'"),
        ("--true kind --given gvien", "rows.csv has no column 'gvien'"),
        ("--true kind --given kind", "must name different columns, but two of them name 'kind'"),
        ("--true a --given b --weight w", "no such option: --weight"),
    ],
)
def test_a_bad_audit_gets_its_sentence(command, folder, options, message):
    outcome = command(f"multiclass audit {folder}/rows.csv {options}")
    assert outcome.exit_code == 2
    assert message in " ".join(outcome.stderr.split()).lower()


def test_a_report_cannot_take_the_place_of_the_codes(command, folder, start):
    codes = f"--scheme output-codes --codes {folder}/codes.csv --report {folder}/codes.csv"
    done = command(f"{start}/splits.csv {codes}")
    assert (done.exit_code, "would overwrite" in done.stderr) == (2, True)
