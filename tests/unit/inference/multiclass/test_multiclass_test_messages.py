"""Each thing that cannot be tested gets its sentence."""

import numpy as np
import pandas as pd
import pytest

import evenodds as eo
from evenodds.errors import RankError

TOSS_UP = eo.Anchors([[1.2, 0.0]])


@pytest.mark.parametrize(
    ("anchors", "settings", "message"),
    [
        ({("cat", "emu"): TOSS_UP}, {}, "anchors names class 'emu', which no row has: the classes"),
        ({}, {}, "anchors is empty: give toss-ups for at least one split; the splits are 'cat"),
        (TOSS_UP, {}, r"anchors is an Anchors but .* a dict such as {\('cat', 'dog'\)"),
        (None, {"scheme": "one-vs-rest"}, "anchors is None but .* such as {'cat'"),
        ({("cat", "dog"): [[1.0, 0.0]]}, {}, r"split 'cat \| dog': anchors is a list: wrap the"),
        ({("cat", "dog"): None}, {}, "anchors is empty: give toss-ups for at least one split"),
        (pd.DataFrame({"betwixt": ["cat | dog"]}), {}, "anchors has no column 'between' to say"),
        (pd.DataFrame({"between": ["cat | dog", None]}), {},
         "column 'between' of anchors has 1 missing value, the first at anchor 2 of 2"),
        ({"cat": TOSS_UP}, {}, "anchors names 'cat', which is not two sides"),
        ({("cat", "dog"): TOSS_UP, "dog|cat": TOSS_UP}, {}, r"names 'dog \| cat' twice"),
        ({("cat", "cat"): TOSS_UP}, {}, r"'cat \| cat', which is no split of scheme 'one-vs-one'"),
        ({("cat", "dog"): eo.Anchors([[1.0]])}, {}, r"split 'cat \| dog': anchors has 1 column "),
        ({("cat", "dog"): eo.Anchors([[1.0, 0]], posterior=1)}, {}, r"'cat \| dog': posterior"),
        ({"cat + dog | fox": TOSS_UP}, {"scheme": "output-codes"}, "which is no split of scheme"),
        ({7: TOSS_UP}, {"scheme": "output-codes"}, "names column 7 but codes has 7 columns"),
        ({("cat", "dog"): TOSS_UP}, {"scheme": "all"}, "scheme is 'all' but must be one of"),
        ({("cat", "dog"): TOSS_UP}, {"codes": [[1]]}, "codes goes with scheme='output-codes'"),
        ({("cat", "dog"): TOSS_UP}, {"audit": [1]}, "audit must be a tuple"),
        ({("cat", "dog"): TOSS_UP}, {"audit": (["cat", "dog", "emu"] * 2,) * 2},
         "audit has class 'emu', which no label has: the classes are 'cat', 'dog', 'fox' and"),
        ({np.int64(7): TOSS_UP}, {"scheme": "output-codes"}, "names column 7 but codes has 7"),
    ],
)  # fmt: skip
def test_what_anchors_and_settings_lack_is_said(animals, anchors, settings, message):
    with pytest.raises(eo.InputError, match=message):
        eo.multiclass_test(*animals, anchors, **settings)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "b"] * 10, r"y has two labels only \('a' and 'b'\) .* for two use asymmetry_test"),
        (["a"] * 20, r"y has one label only \('a'\)"),
        (["a", "b"] * 9 + ["c", "a"], "label 'c' is seen once in y: merge it"),
        ([*range(60)] * 2, r"y has 60 distinct labels \(0, 1, 2 and 57 more\), more than 50"),
        (["a", "b", "A", "c"] * 5, "differ only in case or blanks"),
        (["a", "b", None, "c"] * 5, "y has 5 missing values, the first in row 2"),
        ([], "y is empty"),
        (np.zeros((4, 2)), r"y has shape \(4, 2\)"),
    ],
)
def test_labels_that_are_no_classes_are_refused(labels, message):
    X = np.random.default_rng(0).normal(size=(len(labels), 2))
    with pytest.raises(eo.InputError, match=message):
        eo.multiclass_test(X, labels, {("a", "b"): TOSS_UP})


def test_a_class_with_hardly_any_row_is_refused():
    X = np.random.default_rng(0).normal(size=(82, 2))
    labels = ["a"] * 40 + ["b"] * 40 + ["c"] * 2
    with pytest.raises(eo.InputError, match="label 'c' has only 2 rows, fewer than the 3"):
        eo.multiclass_test(X, labels, {("a", "b"): TOSS_UP})


def test_a_class_that_weights_leave_out_is_refused(animals):
    X, y = animals
    with pytest.raises(eo.InputError, match="label 'owl' has only 0 rows"):
        eo.multiclass_test(X, y, {("cat", "dog"): TOSS_UP}, sample_weight=(y != "owl") * 1.0)


def test_columns_that_repeat_each_other_are_refused(animals):
    X, y = animals
    with pytest.raises(RankError, match="repeat each other"):
        eo.multiclass_test(X[:, [0, 0]], y, {("cat", "dog"): TOSS_UP})


def test_a_label_column_that_is_not_there_is_named(animals):
    frame = pd.DataFrame(animals[0], columns=["size", "ears"]).assign(kind=animals[1])
    with pytest.raises(eo.InputError, match="X has no column 'knid'; did you mean 'kind'"):
        eo.multiclass_test(frame, "knid", {("cat", "dog"): TOSS_UP})
    with pytest.raises(eo.InputError, match="y is 'kind' but X has no columns with names"):
        eo.multiclass_test(animals[0], "kind", {("cat", "dog"): TOSS_UP})


def test_toss_ups_of_text_are_refused_where_the_data_has_numbers(animals):
    frame = pd.DataFrame(animals[0], columns=["size", "ears"])
    words = eo.Anchors(pd.DataFrame({"size": ["big"], "ears": [1.0]}))
    with pytest.raises(eo.AnchorError, match="anchors has text in 'size' but X has numbers only"):
        eo.multiclass_test(frame, animals[1], {("cat", "dog"): words})


def test_collections_of_dask_are_refused(animals):
    import dask.array as da

    with pytest.raises(eo.InputError, match="X is a Dask collection"):
        eo.multiclass_test(da.from_array(animals[0]), animals[1], {("cat", "dog"): TOSS_UP})


@pytest.fixture
def named(animals):
    X, y = animals
    return pd.DataFrame(X, columns=["size", "ears"]).assign(kind=y)


def test_anchors_with_labels_are_refused(named):
    message = "split 'cat | dog': anchors has the label column 'kind': anchors are cases that an"
    for X, y in ((named, "kind"), (named.drop(columns="kind"), named["kind"])):
        with pytest.raises(eo.AnchorError, match=message.replace("|", r"\|")):
            eo.multiclass_test(X, y, {("cat", "dog"): eo.Anchors(named[:4])})


def test_anchors_that_are_the_data_are_refused_over_all_splits(named):
    features = named.drop(columns="kind")
    third = len(features) // 3 + 1
    anchors = {
        ("cat", "dog"): eo.Anchors(features[:third]),
        ("cat", "fox"): eo.Anchors(features[third : 2 * third]),
    }
    with pytest.raises(eo.AnchorError, match="rows of the data, so it is the data and not a"):
        eo.multiclass_test(named, "kind", anchors)


def test_columns_of_anchors_that_the_formula_leaves_out_are_doubted(named):
    points = pd.DataFrame({"size": [1.2, 1.1], "ears": [0.0, 0.1]})
    result = eo.multiclass_test(named, "kind", {("cat", "dog"): eo.Anchors(points)}, formula="size")
    doubts = [check.message for check in result.diagnostics if check.name == "columns"]
    assert "The anchors have 'ears', which the test does not use" in doubts[0]
