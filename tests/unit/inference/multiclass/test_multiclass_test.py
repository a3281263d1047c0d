"""`multiclass_test`: what it finds, and what it refuses."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.class_worlds import four_bells

import evenodds as eo

NAMES = np.array(["cat", "dog", "fox", "owl"])
WORLD = four_bells(lopsided=True)


@pytest.fixture(scope="module")
def result(animals, pairs):
    return eo.multiclass_test(*animals, pairs)


def test_the_leaning_pair_is_found_and_no_other(result):
    assert [split.name for split in result.splits if split.rejected()] == ["cat | dog"]
    found = result.split("cat | dog")
    assert found.confidence_interval().low < -0.2 < found.confidence_interval().high
    assert found.alpha == pytest.approx(0.24, abs=0.06)
    assert found.beta == pytest.approx(0.04, abs=0.04)


def test_wrong_labels_are_counted_with_the_pair_that_leans(result):
    # 12% of all, and of one class in four another fifth.
    assert result.noise_rate == pytest.approx(0.12 + 0.2 / 4, abs=0.03)


def test_the_whole_is_as_sure_as_its_surest_split(result):
    assert result.pvalue == min(split.adjusted_pvalue for split in result.splits)


def test_the_matrix_is_antisymmetric(result):
    matrix = result.asymmetry_matrix()
    assert matrix[1][0] == -matrix[0][1] == -result.split("cat | dog").asymmetry
    assert matrix[2][2] is None


def test_naming_a_pair_the_other_way_round_changes_the_sign(result, animals, pairs):
    turned = {key[::-1]: points for key, points in pairs.items()}
    again = eo.multiclass_test(*animals, turned)
    for split in result.splits:
        other = again.split(" | ".join(split.name.split(" | ")[::-1]))
        assert other.statistic == pytest.approx(-split.statistic, abs=1e-3, nan_ok=True)
        assert other.withheld == split.withheld
        if split.tested:
            assert other.alpha == pytest.approx(split.beta, abs=1e-3)


def test_units_do_not_matter(result, animals, pairs):
    X, y = animals
    scale, shift = np.array([1000.0, 0.01]), np.array([5e4, 1.0])
    moved = {key: eo.Anchors(a.points * scale + shift, tolerance=0) for key, a in pairs.items()}
    again = eo.multiclass_test(X * scale + shift, y, moved)
    for split, other in zip(result.splits, again.splits, strict=True):
        assert other.statistic == pytest.approx(split.statistic, abs=1e-3, nan_ok=True)


@pytest.mark.parametrize("form", ["frame", "path", "frames", "paths"])
def test_anchors_come_as_frames_and_files_too(result, animals, pairs, tmp_path, form):
    """Exactly known ones, as the columns of tolerances say, in one table or one a pair."""
    X, y = animals
    columns = ["size", "ears"]
    given = {key: pd.DataFrame(a.points, columns=columns) for key, a in pairs.items()}
    exactly = {"tolerance": 0.0, "shared_tolerance": 0.0}
    given = {key: frame.assign(**exactly) for key, frame in given.items()}
    if form in ("frame", "path"):
        given = pd.concat([one.assign(between=" | ".join(key)) for key, one in given.items()])
    if form == "path":
        given.to_csv(tmp_path / "pairs.csv", index=False)
        given = tmp_path / "pairs.csv"
    if form == "paths":
        for key, frame in given.items():
            frame.to_parquet(tmp_path / f"{key[0]}_{key[1]}.parquet")
        given = {key: str(tmp_path / f"{key[0]}_{key[1]}.parquet") for key in given}
    again = eo.multiclass_test(pd.DataFrame(X, columns=columns), y, given)
    assert json.dumps(again.to_dict()) == json.dumps(result.to_dict())


def test_weights_are_repeated_rows(animals, singles):
    X, y = (part[:600] for part in animals)
    counts = np.arange(600) % 3
    weighted = eo.multiclass_test(X, y, singles, scheme="one-vs-rest", sample_weight=counts)
    rows = np.repeat(np.arange(600), counts)
    repeated = eo.multiclass_test(X[rows], y[rows], singles, scheme="one-vs-rest")
    assert weighted.n_rows == repeated.n_rows
    for one, other in zip(weighted.splits, repeated.splits, strict=True):
        assert one.statistic == pytest.approx(other.statistic, abs=1e-3)


def test_copies_in_a_group_count_once(animals, singles):
    X, y = (part[:800] for part in animals)
    once = eo.multiclass_test(X, y, singles, scheme="one-vs-rest")
    four = np.repeat(np.arange(800), 4)
    copied = eo.multiclass_test(X[four], y[four], singles, scheme="one-vs-rest", groups=four)
    for one, other in zip(once.splits, copied.splits, strict=True):
        assert other.standard_error == pytest.approx(one.standard_error, rel=0.15)


def test_a_side_of_few_classes_has_its_own_null(animals, singles):
    result = eo.multiclass_test(*animals, singles, scheme="one-vs-rest")
    assert [split.null_ratio for split in result.splits] == [3, 3, 3, 3]
    assert result.splits[0].rejected()
    assert result.splits[0].asymmetry < 0


def test_output_codes_take_splits_by_name_or_number(animals, singles):
    named = {"cat | dog + fox + owl": singles["cat"]}
    by_name = eo.multiclass_test(*animals, named, scheme="output-codes")
    one = eo.multiclass_test(*animals, {"cat": singles["cat"]}, scheme="one-vs-rest")
    found = by_name.split("cat | dog + fox + owl")
    assert found.statistic == pytest.approx(one.splits[0].statistic)
    codes = [[1], [-1], [-1], [-1]]
    by_number = eo.multiclass_test(
        *animals, {np.int64(0): singles["cat"]}, scheme="output-codes", codes=codes
    )
    assert by_number.splits[0].statistic == pytest.approx(found.statistic)
    assert sum(split.tested for split in by_name.splits) == 1


def test_sparse_codes_leave_classes_out(animals, pairs):
    codes = [[1], [-1], [0], [0]]
    anchors = {"cat | dog": pairs["cat", "dog"]}
    result = eo.multiclass_test(*animals, anchors, scheme="output-codes", codes=codes)
    assert result.splits[0].left_out == ("fox", "owl")
    assert result.splits[0].rejected()


def test_a_pair_without_toss_ups_says_why_it_was_not_tested(animals, pairs):
    result = eo.multiclass_test(*animals, {("cat", "dog"): pairs["cat", "dog"]})
    assert result.split("fox | owl").untested == "no toss-ups were given for it."
    assert result.asymmetry_matrix()[2][3] is None
    with pytest.raises(eo.InputError, match=r"split 'fox \| owl' was not tested"):
        result.split("fox | owl").confidence_interval()


def test_a_frame_with_its_label_column_is_the_same_data(result, animals, pairs):
    X, y = animals
    frame = pd.DataFrame({"size": X[:, 0], "ears": X[:, 1], "kind": y})
    named = {
        key: eo.Anchors(pd.DataFrame(a.points, columns=["size", "ears"]), tolerance=0)
        for key, a in pairs.items()
    }
    again = eo.multiclass_test(frame, "kind", named)
    assert again.pvalue == pytest.approx(result.pvalue, rel=1e-6)


def test_a_formula_makes_columns_for_rows_and_toss_ups(animals, pairs):
    X, y = animals
    frame = pd.DataFrame({"size": X[:, 0], "ears": X[:, 1]})
    named = {
        key: eo.Anchors(pd.DataFrame(a.points, columns=["size", "ears"]))
        for key, a in pairs.items()
    }
    bent = eo.multiclass_test(frame, y, named, formula="poly(size, 2) + ears")
    assert bent.n_features == 3


def test_an_audit_is_tested_beside_it(animals, pairs):
    true = ["cat"] * 20 + ["dog"] * 20 + ["fox"] * 20
    given = ["dog"] * 9 + true[9:]
    result = eo.multiclass_test(*animals, pairs, audit=(true, given))
    assert result.audit.pvalue < 0.01
    assert eo.MulticlassTestResult.from_dict(json.loads(json.dumps(result.to_dict()))) == result


def test_another_schema_is_refused():
    with pytest.raises(eo.InputError, match="schema version None"):
        eo.MulticlassTestResult.from_dict({})


def test_log_odds_that_bend_are_doubted(pairs):
    """Clouds of unequal spread: log-odds between them are quadratic."""
    rng = np.random.default_rng(2)
    y = rng.choice(4, 2500, p=WORLD.shares)
    noise = rng.normal(size=(2500, 2))
    doubted = {}
    for name, spreads in (("equal", [1, 1, 1, 1]), ("unequal", [0.5, 1, 1, 1.6])):
        X = WORLD.centres[y] + np.array(spreads)[y][:, None] * noise
        checks = eo.multiclass_test(X, NAMES[y], pairs).diagnostics
        doubted[name] = any(check.name == "link" and check.concern for check in checks)
    assert doubted == {"equal": False, "unequal": True}


def test_toss_ups_that_contradict_each_other_are_doubted(animals, pairs):
    torn = eo.Anchors(np.vstack([pairs["cat", "dog"].points, [[2.4, 0.0]]]), tolerance=0.01)
    result = eo.multiclass_test(*animals, {**pairs, ("cat", "dog"): torn})
    checks = {check.name: check for check in result.split("cat | dog").diagnostics}
    assert checks["anchors and curve"].concern
    assert "anchor 5 is furthest off" in checks["anchors and curve"].message


def test_toss_ups_outside_the_data_are_doubted(animals, pairs):
    far = eo.Anchors([[1.2, -50.0]])
    result = eo.multiclass_test(*animals, {**pairs, ("cat", "dog"): far})
    (check,) = result.split("cat | dog").diagnostics
    assert check.concern
    assert check.message.startswith("Outside the range of the data: 1 of 1 anchor (anchor 1")


def test_rows_in_groups_leave_the_shape_untested(animals, pairs):
    X, y = animals
    result = eo.multiclass_test(X, y, pairs, groups=np.arange(len(y)) // 5)
    assert "was not tested: rows come in groups" in result.diagnostics[1].message


def test_few_rows_and_far_classes_are_doubted():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [40, 40, 8])
    X = 8 * np.array([[0.0, 0], [1, 0], [0, 1]])[y] + rng.normal(size=(88, 2))
    result = eo.multiclass_test(X, y, {(0, 1): eo.Anchors([[4.0, 0.0]])})
    checks = {check.name: check for check in result.diagnostics}
    assert checks["rows per parameter"].concern
    assert "The classes hardly overlap" in checks["step"].message


def test_the_matrix_is_about_pairs(animals, singles):
    result = eo.multiclass_test(*animals, singles, scheme="one-vs-rest")
    with pytest.raises(eo.InputError, match="scheme is 'one-vs-rest'"):
        result.asymmetry_matrix()
    with pytest.raises(eo.InputError, match=r"there is no split 'cat': .* 'cat \| rest'"):
        result.split("cat")


def test_a_part_of_a_result_is_refused(result):
    values = result.to_dict()
    del values["splits"]
    with pytest.raises(eo.InputError, match="has no 'splits': it is not a whole test result"):
        eo.MulticlassTestResult.from_dict(values)


@pytest.fixture(scope="module")
def apart():
    """Return three classes in two columns: two overlap, the third is far from both."""
    rng = np.random.default_rng(21)
    y = rng.integers(0, 3, 900)
    X = np.array([[0.0, 0.0], [1.5, 0.0], [0.7, 14.0]])[y] + rng.normal(size=(900, 2))
    y = np.where(rng.random(900) < 0.2, (y + rng.integers(1, 3, 900)) % 3, y)
    anchors = {
        (0, 1): eo.Anchors([[0.75, -1.0], [0.75, 1.0]]),
        (0, 2): eo.Anchors([[0.0, 7.0], [-1.0, 7.0]]),
        (1, 2): eo.Anchors([[1.5, 7.0], [2.5, 7.0]]),
    }
    return eo.multiclass_test(X, y, anchors)


def test_pairs_without_rows_between_them_are_withheld_and_the_others_told(apart):
    assert [split.tested for split in apart.splits] == [True, False, False]
    told, *withheld = apart.splits
    assert told.standard_error < 0.3
    # Withheld pairs are not counted.
    assert told.adjusted_pvalue == told.pvalue == apart.pvalue
    assert withheld[0].withheld.startswith("Only about 2 rows lie between the two sides and 10 are")
    # Flips that lie together by chance make a slope of their own, which is no better than a step.
    assert withheld[1].withheld == "A curve that is a step there fits about as well."
    assert apart.withheld is None
    doubt = next(check for check in apart.diagnostics if check.name == "withheld")
    assert doubt.concern
    assert doubt.message.startswith("These data cannot tell about 2 splits. 0 | 2: Only about 2")


def test_what_is_withheld_is_null_in_json_and_comes_back(apart):
    document = json.loads(json.dumps(apart.to_dict(), allow_nan=False))
    split = document["splits"][1]
    numbers = ("statistic", "pvalue", "adjusted_pvalue", "asymmetry", "alpha", "beta")
    assert [split[name] for name in numbers] == [None] * 6
    assert split["withheld"].startswith("Only about")
    assert document["asymmetry_matrix"][0][2] is None
    again = eo.MulticlassTestResult.from_dict(document)
    assert not again.splits[1].pvalue < 1
    assert json.loads(json.dumps(again.to_dict())) == document


@pytest.mark.parametrize("scheme", ["one-vs-one", "one-vs-rest"])
def test_where_all_classes_are_apart_these_data_cannot_tell(scheme, tmp_path):
    rng = np.random.default_rng(22)
    y = rng.integers(0, 3, 300)
    centres = np.array([[0.0, 0.0], [12.0, 0.0], [6.0, 12.0]])
    X = centres[y] + rng.normal(size=(300, 2))
    y = np.where(rng.random(300) < 0.2, (y + rng.integers(1, 3, 300)) % 3, y)
    between = {(i, j): (centres[i] + centres[j]) / 2 for i, j in ((0, 1), (0, 2), (1, 2))}
    anchors = {pair: eo.Anchors([point]) for pair, point in between.items()}
    if scheme == "one-vs-rest":
        anchors = {k: eo.Anchors([p for pair, p in between.items() if k in pair]) for k in range(3)}
    result = eo.multiclass_test(X, y, anchors, scheme=scheme)
    assert result.withheld.startswith("Only about 0 rows")
    assert not result.pvalue < 1
    assert result.noise_rate is None
    document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert (document["pvalue"], document["statistic"], document["noise_rate"]) == (None,) * 3
    assert eo.MulticlassTestResult.from_dict(document).withheld == result.withheld
    text = str(result)
    assert text.startswith("These data cannot tell")
    assert "nan" not in text
    page = result.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "These data cannot tell" in page
    assert "These data cannot tell" in result._repr_html_()
    drawn = result.plot("splits").axes[0]
    assert [text.get_text() for text in drawn.texts] == ["withheld"] * 3
