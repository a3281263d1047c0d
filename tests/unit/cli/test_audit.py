"""`evenodds audit`: files in, words, JSON, pages and exit codes out."""

import json

import numpy as np
import pandas as pd
import pytest

import evenodds as eo


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write an audit with annotators, and the same with rows that were not audited."""
    rng = np.random.default_rng(8)
    n = 1500
    true = rng.integers(0, 2, size=n)
    who = rng.choice(["ann", "ben"], n)
    alpha = np.where(who == "ben", 0.4, 0.1)
    given = np.where(true == 1, rng.random(n) >= alpha, rng.random(n) < 0.1)
    rows = pd.DataFrame(
        {
            "who": who,
            "label": np.where(given, "yes", "no"),
            "truth": np.where(true == 1, "yes", "no"),
        }
    )
    path = tmp_path_factory.mktemp("audit")
    rows[:400].to_csv(path / "audit.csv", index=False)
    rows.assign(truth=rows["truth"].where(rows.index < 400)).to_csv(path / "all.csv", index=False)
    rows[:400].to_parquet(path / "audit.parquet")
    _answers(rng).to_csv(path / "answers.csv", index=False)
    return path


def _answers(rng):
    """Return three answers to each of 120 items, by twelve workers, some rows not audited."""
    items = np.repeat(np.arange(120), 3)
    truth = np.where((rng.random(120) < 0.4)[items], "yes", "no")
    flipped = rng.random(360) < rng.beta(0.5, 2, 120)[items]
    label = np.where(flipped, np.where(truth == "yes", "no", "yes"), truth)
    return pd.DataFrame(
        {
            "item": [f"q{item}" for item in items],
            "worker": rng.integers(0, 12, 360),
            "age": rng.integers(20, 70, 360),
            "score": rng.normal(size=360),
            "note": rng.choice(["short", "long", "3"], 360),
            "label": label,
            "truth": np.where(np.arange(360) < 330, truth, ""),
        }
    )


@pytest.fixture(scope="module")
def rows(folder):
    return pd.read_csv(folder / "audit.csv")


COLUMNS = "--true truth --given label"


@pytest.mark.parametrize("name", ["audit.csv", "audit.parquet"])
def test_a_file_gives_the_test_of_its_rows(command, folder, rows, name):
    done = command(f"audit {folder}/{name} {COLUMNS} --format json")
    document = json.loads(done.stdout)
    expected = eo.audit_test(rows["truth"], rows["label"])
    assert document["pvalue"] == expected.pvalue
    assert document["counts"] == expected.to_dict()["counts"]
    assert document["reject"] is True
    interval = expected.confidence_interval()
    assert document["confidence_interval"]["low"] == interval.low
    assert document["alpha_interval"]["high"] == expected.alpha_interval().high
    assert document["beta_interval"]["high"] == expected.beta_interval().high


def test_rows_without_a_true_label_give_the_counts(command, folder, rows):
    done = command(f"audit {folder}/all.csv {COLUMNS} --sampled-by given --format json")
    document = json.loads(done.stdout)
    labels = pd.read_csv(folder / "all.csv")["label"].value_counts().to_dict()
    expected = eo.audit_test(rows["truth"], rows["label"], sampled_by="given", given_counts=labels)
    assert document["pvalue"] == expected.pvalue
    assert "1,100 of 1,500 rows have no true label, and count towards" in done.stdout


def test_counts_can_be_given(command, folder):
    option = "--sampled-by given --given-counts no=7000,yes=3000 --format json"
    document = json.loads(command(f"audit {folder}/audit.csv {COLUMNS} {option}").stdout)
    assert document["given_counts"] == [7000, 3000]


@pytest.mark.parametrize("design", ["random", "given"])
def test_annotators_are_named(command, folder, design):
    done = command(f"audit {folder}/all.csv {COLUMNS} --annotator who --sampled-by {design}")
    assert done.exit_code == 0, done.output
    assert "'ben' flips true 'yes' more often" in " ".join(done.stdout.split())
    assert "1,100 of 1,500 rows have no true label" in done.stdout


def test_annotators_in_json(command, folder):
    done = command(f"audit {folder}/audit.csv {COLUMNS} --annotator who --format json")
    document = json.loads(done.stdout)
    assert [test["annotator"] for test in document["tests"]] == ["ben", "ann"]
    assert document["pvalue"] == document["tests"][0]["holm"]
    first, asymmetry = document["intervals"][0], document["tests"][0]["result"]["asymmetry"]
    assert first["annotator"] == "ben"
    assert first["confidence_interval"]["low"] < asymmetry < first["confidence_interval"]["high"]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("--gate reject", 1),
        ("--gate reject --annotator who", 1),
        ("--gate reject --significance 1e-12", 0),
        ("--gate equivalence --margin 0.05", 1),
        ("--gate equivalence --margin 0.6", 0),
        ("--gate equivalence --margin 0.9 --annotator who", 0),
    ],
)
def test_gates_decide_the_exit_code(command, folder, options, code):
    assert command(f"audit {folder}/audit.csv {COLUMNS} {options}").exit_code == code


@pytest.mark.parametrize("option", ["", "--annotator who"])
def test_a_report_is_a_page(command, folder, tmp_path, option):
    path = tmp_path / "out.html"
    done = command(f"audit {folder}/audit.csv {COLUMNS} {option} --report {path}")
    assert done.exit_code == 0, done.output
    page = path.read_text(encoding="utf-8")
    assert "<svg" in page
    assert "<math" in page or option
    assert "audit.csv: label</title>" in page


def test_a_plan_tells_how_many_rows(command):
    done = command("audit plan --alpha 0.2 --beta 0.1 --prior 0.5 --runs 100")
    assert done.stdout.startswith("Audit 398 rows: 199 expected to be truly positive")
    assert "Simulated power" in done.stdout


def test_a_plan_along_scores_is_that_of_python(command, tmp_path):
    scores = np.random.default_rng(4).beta(1, 2, size=4000).round(6)
    table = pd.DataFrame({"score": scores})
    table.to_csv(tmp_path / "s.csv", index=False)
    table.assign(id=range(4000)).to_parquet(tmp_path / "all.parquet")
    expected = eo.audit_size(eo.ClassConditionalNoise(0.3, 0.1), scores=scores)
    asked = "audit plan --alpha 0.3 --beta 0.1 --runs 0 --format json --scores"
    for named in (f"{tmp_path}/s.csv", f"score --data {tmp_path}/all.parquet"):
        document = json.loads(command(asked, named).stdout)
        assert document["n_rows"] == expected.n_rows
        assert len(document["split"]) == len(expected.split) > 0


def test_a_plan_in_json(command):
    options = "--sampled-by given --share 0.3 --runs 0 --format json"
    done = command(f"audit plan --alpha 0.2 --beta 0.1 --prior 0.3 {options}")
    document = json.loads(done.stdout)
    assert document["n_positive"] == round(0.3 * document["n_rows"])
    assert document["verdict"].startswith(f"Audit {document['n_rows']} rows")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("audit", "missing argument 'DATA"),
        ("audit {f}/audit.csv --given label", "--true is missing: name the column of true labels."),
        ("audit {f}/audit.csv --true truth", "--given is missing: name the column of given labels"),
        (
            "audit {f}/audit.csv --true thruth --given label",
            "audit.csv has no column 'thruth'; did you mean 'truth'?",
        ),
        (
            "audit {f}/audit.csv --true truth --given truth",
            "must name different columns, but two of them name 'truth'.",
        ),
        (
            f"audit {{f}}/audit.csv {COLUMNS} --sampled-by given",
            "--given-counts is missing: rows audited by given label say nothing",
        ),
        (
            f"audit {{f}}/audit.csv {COLUMNS} --sampled-by given --given-counts no:5",
            "--given-counts has 'no:5' but needs label=count, such as no=9000,yes=1000.",
        ),
        (
            f"audit {{f}}/audit.csv {COLUMNS} --sampled-by given --given-counts no=²,yes=9",
            "--given-counts has 'no=²' but needs label=count, such as no=9000,yes=1000.",
        ),
        (
            f"audit {{f}}/audit.csv {COLUMNS} --sampled-by given --given-counts no=9,no=8,yes=7",
            "--given-counts names 'no' twice: give one count for each label.",
        ),
        (
            f"audit {{f}}/audit.csv {COLUMNS} --sampled-by given --given-counts no={'9' * 5000}",
            "--given-counts of 'no' has 5,000 digits: no data has so many rows.",
        ),
        (
            f"audit {{f}}/all.csv {COLUMNS} --annotator who --given-counts no=5,yes=5",
            "--given-counts is for all rows together: with --annotator, give DATA",
        ),
        (
            f"audit {{f}}/audit.csv {COLUMNS} --stratum who",
            "DATA has no rows that were not audited (an empty true label), but those of each "
            "stratum are counted in it: give DATA with all rows.",
        ),
        (
            f"audit {{f}}/audit.csv {COLUMNS} --annotator who --sampled-by given",
            "DATA has no rows that were not audited (an empty true label), but those of each "
            "annotator are counted in it: give DATA with all rows.",
        ),
        (
            f"audit {{f}}/empty.csv {COLUMNS}",
            "column 'truth' is empty: no row was audited.",
        ),
        (
            f"audit {{f}}/holes.csv {COLUMNS}",
            "column 'label' has 1 missing value, the first in row 2 of {f}/holes.csv, counted from "
            "1: fill or drop it.",
        ),
        (f"audit {{f}}/audit.csv {COLUMNS} --alpha 0.1", "no such option: --alpha"),
        (
            f"audit {{f}}/answers.csv {COLUMNS} --group item --annotator worker",
            "leave one out, or declare both as groups: --group item --group worker.",
        ),
        (
            f"audit {{f}}/answers.csv {COLUMNS} --group pair",
            "answers.csv has no column 'pair'",
        ),
        ("audit plan", "missing option '--alpha'"),
        ("audit plan --alpha 0.1 --beta 0.2", "prior is needed with --sampled-by random"),
        (
            "audit plan --alpha 0.1 --beta 0.2 --scores label",
            "--scores label is no file of scores (.parquet, .csv, .npy): for a column, name the "
            "file that has it by --data.",
        ),
        (
            "audit plan --alpha 0.1 --beta 0.2 --scores lable --data {f}/audit.csv",
            "audit.csv has no column 'lable'; did you mean 'label'?",
        ),
    ],
)
def test_bad_input_gets_its_sentence(command, folder, arguments, message):
    (folder / "empty.csv").write_text("truth,label\n,yes\n,no\n", encoding="utf-8")
    (folder / "holes.csv").write_text("truth,label\nyes,yes\nno,\n", encoding="utf-8")
    done = command(arguments.format(f=folder))
    assert done.exit_code == 2
    assert message.format(f=folder).lower() in " ".join(done.stderr.split()).lower()


@pytest.fixture(scope="module")
def beside(tmp_path_factory):
    """Write rows with features, and an audit of other rows."""
    rng = np.random.default_rng(9)
    noise = eo.ClassConditionalNoise(0.3, 0.1)
    true = rng.integers(0, 2, size=1000)
    X = rng.normal(size=(1000, 2)) + (2 * true - 1)[:, None]
    words = np.array(["no", "yes"])
    path = tmp_path_factory.mktemp("beside")
    rows = pd.DataFrame(X, columns=["a", "b"]).assign(label=words[noise.flip(true, rng)])
    rows.to_csv(path / "rows.csv", index=False)
    other = rng.integers(0, 2, size=200)
    audit = pd.DataFrame({"true": words[other], "given": words[noise.flip(other, rng)]})
    audit.to_csv(path / "audit.csv", index=False)
    return path


@pytest.mark.parametrize("method", ["boundary", "joint"])
def test_a_test_takes_an_audit_instead_of_toss_ups(command, beside, method):
    options = f"--label label --audit {beside}/audit.csv --method {method} --format json"
    done = command(f"test {beside}/rows.csv {options}")
    document = json.loads(done.stdout)
    rows, audit = (pd.read_csv(beside / name) for name in ("rows.csv", "audit.csv"))
    expected = eo.asymmetry_test(
        rows[["a", "b"]],
        rows["label"],
        method=method,
        audit=eo.Audit(audit["true"], audit["given"]),
    )
    assert document["n_audited"] == 200
    assert document["pvalue"] == pytest.approx(expected.pvalue, rel=1e-6)


def test_an_audit_beside_a_test_has_no_holes(command, beside):
    (beside / "holes.csv").write_text("true,given\nyes,yes\n,no\n", encoding="utf-8")
    done = command(f"test {beside}/rows.csv --label label --audit {beside}/holes.csv")
    assert done.exit_code == 2
    assert "holes.csv has 1 row without a true label: list audited rows alone" in done.stderr


@pytest.fixture(scope="module")
def looked_up(beside):
    """Write the rows with the true labels of some of them."""
    rng = np.random.default_rng(10)
    rows = pd.read_csv(beside / "rows.csv")
    truth = np.where(rng.random(1000) < 1 / (1 + np.exp(-2 * rows["a"] - 2 * rows["b"])), "yes", "")
    truth[truth == ""] = "no"
    chosen = np.sort(rng.permutation(1000)[:150])
    rows["truth"] = pd.Series(truth[chosen], index=chosen)
    rows.to_csv(beside / "looked_up.csv", index=False)
    return rows, truth[chosen], chosen


@pytest.mark.parametrize("drawn", ["random", "given"])
def test_rows_of_the_data_may_be_audited(command, beside, looked_up, drawn):
    rows, truth, chosen = looked_up
    options = f"--label label --true truth --sampled-by {drawn} --format json"
    document = json.loads(command(f"test {beside}/looked_up.csv {options}").stdout)
    expected = eo.asymmetry_test(
        rows[["a", "b"]], rows["label"], audit=eo.Audit(truth, rows=chosen, sampled_by=drawn)
    )
    assert document["n_audited"] == 150
    assert document["n_features"] == 2
    assert document["pvalue"] == pytest.approx(expected.pvalue, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--true truth --audit {f}/audit.csv", "give --audit or --true, not both"),
        ("--sampled-by given", "--sampled-by goes with --true, the column of true labels in DATA."),
        ("--true truht", "has no column 'truht'; did you mean 'truth'?"),
        (
            "--true label",
            "column 'label' is named as the label and as the one that holds true labels",
        ),
        ("--true other", "audit has the true label 'sick' but the labels of"),
    ],
)
def test_audited_rows_that_cannot_be_used_are_refused(command, beside, looked_up, options, message):
    looked_up[0].assign(other="sick", truth=looked_up[0]["label"]).to_csv(beside / "other.csv")
    name = "other.csv" if "other" in options else "looked_up.csv"
    line = f"test {beside}/{name} --label label --features a,b {options}".format(f=beside)
    done = command(line)
    assert done.exit_code == 2
    assert message in done.stderr


def test_standard_input_cannot_be_read_twice(command):
    done = command("test - --label label --true truth")
    assert done.exit_code == 2
    assert "--true reads DATA twice, which standard input cannot: give a file." in done.stderr


def test_audited_rows_that_the_fit_leaves_out_are_left_out(command, beside, looked_up):
    rows, _, chosen = looked_up
    holed = rows.copy()
    holed.loc[chosen[:3], "a"] = np.nan
    holed.loc[chosen[3:5], "label"] = None
    holed["toss_up"] = False
    holed.loc[chosen[5:9], "toss_up"] = True
    holed.to_csv(beside / "holed.csv", index=False)
    line = f"test {beside}/holed.csv --label label --true truth --missing drop"
    found = command(f"{line} --features a,b --anchor-column toss_up --format json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["n_audited"] == 141
    nothing = holed.assign(truth=holed["truth"].where(holed["a"].isna()))
    nothing.to_csv(beside / "nothing.csv", index=False)
    refused = command(line.replace("holed", "nothing"))
    assert refused.exit_code == 2
    assert "column 'truth' has no true label of a row that is tested." in refused.stderr


def test_audited_rows_are_not_ranked_as_flipped(command, beside, looked_up):
    _, _, chosen = looked_up
    ranked = beside / "flips.csv"
    line = f"test {beside}/looked_up.csv --label label --true truth --flips {ranked}"
    assert command(line).exit_code == 0
    numbers = pd.read_csv(ranked)["row"]
    assert len(numbers) == 850
    assert not set(numbers) & set((chosen + 1).tolist())  # a file's rows are counted from 1


def test_groups_are_columns(command, folder):
    table = pd.read_csv(folder / "answers.csv")
    audited = table[table["truth"].notna()]
    for columns in (["item"], ["item", "worker"]):
        options = " ".join(f"--group {column}" for column in columns)
        done = command(f"audit {folder}/answers.csv {COLUMNS} {options} --format json")
        assert done.exit_code == 0, done.output
        document = json.loads(done.stdout)
        groups = tuple(audited[column] for column in columns)
        expected = eo.audit_test(audited["truth"], audited["label"], groups=groups)
        assert document["pvalue"] == expected.pvalue
        assert document["groupings"][0]["n_groups"] == 110
    assert not any(check["name"] == "undeclared groups" for check in document["diagnostics"])


def test_ids_that_repeat_are_doubted_until_they_are_declared(command, folder):
    doubts = {}
    for options in ("", "--group item", "--group worker", "--group item --group worker"):
        done = command(f"audit {folder}/answers.csv {COLUMNS} {options} --format json")
        checks = json.loads(done.stdout)["diagnostics"]
        doubts[options] = [
            check["message"].split(" look")[0]
            for check in checks
            if check["name"] == "undeclared groups"
        ]
    assert doubts == {
        "": ["Columns 'item' (110 values) and 'worker' (12 values)"],
        "--group item": ["Column 'worker' (12 values)"],
        "--group worker": ["Column 'item' (110 values)"],
        "--group item --group worker": [],
    }


def test_a_report_by_groups_is_a_page(command, folder, tmp_path):
    path = tmp_path / "out.html"
    done = command(f"audit {folder}/answers.csv {COLUMNS} --group item --report {path}")
    assert done.exit_code == 0, done.output
    page = path.read_text(encoding="utf-8")
    assert "score test, by groups" in page
    assert "pairs of rows in one group" in page


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """Write rows with scores and steps of them, some with the truth of drawn cases."""
    rng = np.random.default_rng(4)
    x = 2 * rng.normal(size=3000)
    chance = 1 / (1 + np.exp(-x))
    true = rng.random(3000) < chance
    given = true ^ (rng.random(3000) < np.where(true, 0.05, 0.3))
    score = (0.3 + 0.65 * chance).round(6)
    path = tmp_path_factory.mktemp("scored")
    cases = eo.choose_cases(score, n_cases=150, given=given)
    cases.save(path / "cases.json")
    words = np.array(["no", "yes"])
    truth = pd.Series(words[true.astype(int)]).where(np.isin(np.arange(3000), cases.rows))
    rows = pd.DataFrame({"label": words[given.astype(int)], "truth": truth, "score": score})
    rows.assign(step=cases.strata_of(score)).to_csv(path / "rows.csv", index=False)
    return path


WITHIN = "--true truth --given label --format json"


def test_cases_are_audited_along_their_scores(scored, command):
    done = command(f"audit {scored}/rows.csv {WITHIN} --cases {scored}/cases.json --scores score")
    told = json.loads(done.stdout)
    assert done.exit_code == 0
    assert told["method"] == "stratified"
    assert told["n_rows"] == 150
    assert told["confidence_interval"]["low"] < 0.25 < told["confidence_interval"]["high"]


def test_strata_by_name_are_the_same_audit(scored, command):
    by_cases = command(
        f"audit {scored}/rows.csv {WITHIN} --cases {scored}/cases.json --scores score"
    )
    by_name = command(f"audit {scored}/rows.csv {WITHIN} --stratum step --sampled-by given")
    assert json.loads(by_name.stdout)["pvalue"] == json.loads(by_cases.stdout)["pvalue"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--scores score", "--scores goes with --cases"),
        ("--cases {folder}/cases.json", "--cases goes with --scores"),
        (
            "--cases {folder}/cases.json --scores score --stratum step",
            "--stratum and --cases both say",
        ),
        ("--stratum step --given-counts no=1,yes=2", "--given-counts does not go with strata"),
        ("--cases {folder}/rows.csv --scores score", "cannot be read as cases"),
    ],
)
def test_strata_told_by_halves_are_refused(scored, command, options, message):
    done = command(f"audit {scored}/rows.csv {WITHIN} {options.format(folder=scored)}")
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_report_cannot_take_the_place_of_the_draw(scored, command):
    before = (scored / "cases.json").read_bytes()
    how = f"--cases {scored}/cases.json --scores score --report {scored}/cases.json"
    done = command(f"audit {scored}/rows.csv {WITHIN} {how}")
    assert (done.exit_code, "would overwrite" in done.stderr) == (2, True)
    assert (scored / "cases.json").read_bytes() == before


def test_truths_of_rows_that_were_not_drawn_are_refused(scored, command, tmp_path):
    rows = pd.read_csv(scored / "rows.csv", keep_default_na=False)
    rows.loc[:20, "truth"] = rows.loc[:20, "label"]
    rows.to_csv(tmp_path / "rows.csv", index=False)
    done = command(f"audit {tmp_path}/rows.csv {WITHIN} --cases {scored}/cases.json --scores score")
    assert done.exit_code == 2
    assert "rows not drawn: keep the true labels" in done.stderr


def test_a_share_is_corrected_from_all_rows(folder, command):
    done = command(f"audit {folder}/all.csv {COLUMNS} --corrected-share --format json")
    rows = pd.read_csv(folder / "all.csv")
    audited = rows.dropna()
    wrong = (audited["truth"] != audited["label"]).groupby(audited["label"]).mean()
    labelled = (rows["label"] == "yes").mean()
    expected = labelled * (1 - wrong["yes"]) + (1 - labelled) * wrong["no"]
    assert done.exit_code == 0
    assert json.loads(done.stdout)["share"] == pytest.approx(expected)


def test_shares_are_corrected_by_annotator(folder, command):
    done = command(f"audit {folder}/all.csv {COLUMNS} --annotator who --corrected-share")
    assert done.exit_code == 0
    assert "That all groups have the same two flip rates is rejected" in done.stdout


def test_told_counts_are_corrected_too(folder, command):
    told = "--sampled-by given --given-counts yes=4000,no=6000"
    done = command(f"audit {folder}/audit.csv {COLUMNS} {told} --corrected-share --format json")
    assert json.loads(done.stdout)["given_share"] == 0.4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--gate reject", "--gate goes with the test, and --corrected-share makes none"),
        ("--margin 0.1", "--margin goes with the test, and --corrected-share makes none"),
        (
            "--alternative less",
            "--alternative goes with the test, and --corrected-share makes none",
        ),
    ],
)
def test_a_share_goes_without_what_a_test_asks(folder, command, options, message):
    done = command(f"audit {folder}/all.csv {COLUMNS} --corrected-share {options}")
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())


def test_rows_drawn_with_chances_are_read_from_all_rows(folder, command, tmp_path):
    rows = pd.read_csv(folder / "all.csv").assign(chance=400 / 1500)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    columns = f"audit {tmp_path}/rows.csv {COLUMNS} --inclusion chance"
    done = command(f"{columns} --format json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["method"] == "stratified"
    refused = command(f"{columns} --sampled-by given")
    assert refused.exit_code == 2
    assert "--sampled-by does not go with --inclusion" in " ".join(refused.stderr.split())


def test_an_audit_may_be_looked_at_as_planned_alone(folder, command):
    done = command(f"audit {folder}/audit.csv {COLUMNS} --looks 200,400 --format json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["looks"] == [200, 400]
    for looks, message in (
        ("300,500", "no look was planned then: the next is at 500"),
        ("soon", "--looks has 'soon' but needs numbers of rows"),
        ("200,400 --annotator who", "--looks goes with the test of all rows"),
    ):
        refused = command(f"audit {folder}/audit.csv {COLUMNS} --looks {looks}")
        assert refused.exit_code == 2
        assert message in " ".join(refused.stderr.split())
