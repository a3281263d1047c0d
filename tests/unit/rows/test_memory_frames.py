"""X as a data frame of any library."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

import evenodds as eo
from evenodds.rows.memory import read_rows

NAMES = ("age", "dose")
TOSS_UP = eo.Anchors([[0.0, 0.0]])


def pandas_block(X):
    return pd.DataFrame(X, columns=NAMES)


FRAMES = {
    "pandas": pandas_block,
    "pandas with an odd index": lambda X: pandas_block(X).set_index(np.arange(len(X)) // 2),
    "pandas nullable": lambda X: pandas_block(X).astype("Float64"),
    "pandas on arrow": lambda X: pandas_block(X).astype("float64[pyarrow]"),
    "polars": lambda X: pl.DataFrame(dict(zip(NAMES, X.T, strict=True))),
    "polars in chunks": lambda X: pl.concat(
        [FRAMES["polars"](X[:100]), FRAMES["polars"](X[100:])], rechunk=False
    ),
    "arrow": lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
    "arrow in chunks": lambda X: pa.concat_tables(
        [FRAMES["arrow"](X[:100]), FRAMES["arrow"](X[100:])]
    ),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_give_the_same_fit_as_arrays(labelled, kind):
    fit = eo.fit_logistic(FRAMES[kind](labelled.X), labelled.y)
    reference = eo.fit_logistic(labelled.X, labelled.y)
    assert fit.coefficients == pytest.approx(reference.coefficients, rel=1e-12)


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_give_their_names_to_the_fit(labelled, kind):
    assert eo.fit_logistic(FRAMES[kind](labelled.X), labelled.y).feature_names == NAMES


def test_columns_of_different_types_are_read_together(labelled):
    frame = pd.DataFrame(
        {
            "small": np.round(labelled.X[:, 0]).astype(np.int8),
            "flag": labelled.X[:, 1] > 0,
            "single": labelled.X[:, 1].astype(np.float32),
        }
    )
    fit = eo.fit_logistic(frame, labelled.y)
    reference = eo.fit_logistic(frame.to_numpy(dtype=float), labelled.y)
    assert fit.coefficients == pytest.approx(reference.coefficients, rel=1e-12)


def test_decimals_are_numbers(labelled):
    frame = pl.DataFrame(np.round(labelled.X, 2), schema=NAMES).cast(pl.Decimal(10, 2))
    fit = eo.fit_logistic(frame, labelled.y)
    reference = eo.fit_logistic(frame.cast(pl.Float64).to_numpy(), labelled.y)
    assert fit.coefficients == pytest.approx(reference.coefficients, rel=1e-12)


def test_a_frame_whose_columns_are_numbered_is_read(labelled):
    fit = eo.fit_logistic(pd.DataFrame(labelled.X), labelled.y)
    reference = eo.fit_logistic(labelled.X, labelled.y)
    assert fit.coefficients == pytest.approx(reference.coefficients, rel=1e-12)


def test_anchors_with_numbered_columns_are_matched(labelled, wald):
    anchors = eo.Anchors(pd.DataFrame([[1.0, 0.0]], columns=[1, 0]))
    result = wald(pd.DataFrame(labelled.X), labelled.y, anchors)
    reference = wald(labelled.X, labelled.y, eo.Anchors([[0.0, 1.0]]))
    assert result.statistic == pytest.approx(reference.statistic, rel=1e-12)


def test_anchors_in_another_column_order_give_the_same_test(labelled, wald):
    anchors = eo.Anchors(pl.DataFrame({"dose": [1.0], "age": [0.0]}))
    result = wald(FRAMES["pandas"](labelled.X), labelled.y, anchors)
    reference = wald(labelled.X, labelled.y, eo.Anchors([[0.0, 1.0]]))
    assert result.statistic == pytest.approx(reference.statistic, rel=1e-12)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["x", "y"], "column 'b' of X holds string values, not numbers: encode it as numbers, one"),
        (pd.Categorical(["x", "y"]), "column 'b' of X holds categorical values, not numbers"),
        (pd.date_range("2020", periods=2), "column 'b' of X holds dates or times: turn it into"),
        (pd.to_timedelta([1, 2], unit="s"), "column 'b' of X holds dates or times"),
        ([{}, {}], "column 'b' of X holds"),
    ],
)
def test_a_column_that_holds_no_numbers_is_named(refused, column, message):
    with refused(message):
        read_rows(pd.DataFrame({"a": [1.0, 2.0], "b": column}), [0, 1])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pl.Series(["x", "y"]), "column 'b' of X holds string values, not numbers"),
        (pl.Series([1, 2]).cast(pl.Date), "column 'b' of X holds dates or times"),
        (pl.Series([[1], [2]]), "column 'b' of X holds"),
    ],
)
def test_a_polars_column_that_holds_no_numbers_is_named(refused, column, message):
    with refused(message):
        read_rows(pl.DataFrame({"a": [1.0, 2.0], "b": column}), [0, 1])


def test_numbers_stored_as_objects_are_told_what_to_do(refused):
    frame = pd.DataFrame({"a": pd.Series([1.0, 2.0], dtype=object)})
    with refused("column 'a' of X holds object values"):
        read_rows(frame, [0, 1])


TWICE = {
    "pandas": pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["a", "a"]),
    "arrow": pa.table([[1.0, 3.0], [2.0, 4.0]], names=["a", "a"]),
}


@pytest.mark.parametrize("kind", TWICE)
def test_a_column_name_used_twice_is_refused(refused, kind):
    with refused("X has more than one column named 'a'."):
        read_rows(TWICE[kind], [0, 1])


@pytest.mark.parametrize(
    "frame", [pd.DataFrame(index=range(2)), pa.table({}), pl.DataFrame()], ids=type
)
def test_a_frame_without_columns_is_refused_as_that(refused, frame):
    with refused("X has no columns: give at least one feature."):
        read_rows(frame, [0, 1])


@pytest.mark.parametrize(
    "call",
    [
        lambda X, y: eo.asymmetry_test(X, y, TOSS_UP),
        lambda X, y: eo.asymmetry_test(X, y.to_numpy(), TOSS_UP, groups=y),
        lambda X, y: eo.asymmetry_test(X, y.to_numpy(), TOSS_UP, sample_weight=y + 1),
        lambda X, y: eo.contour_test(X, y, TOSS_UP),
        eo.fit_logistic,
        lambda X, y: eo.NoiseAwareLogisticRegression().fit(X, y),
        eo.out_of_fold_scores,
        lambda X, y: eo.out_of_fold_scores(X, y, estimator=LogisticRegression()),
        lambda X, y: eo.choose_cases(X["a"] * 0 + 0.5, n_cases=12, given=y),
        lambda X, y: eo.audit_test((X["a"] > 0).astype(int), y),
        lambda X, y: eo.annotator_audit((X["a"] > 0).astype(int), y.to_numpy(), y),
        lambda X, y: eo.confusion_test(X["a"].round(), y),
    ],
)
def test_columns_with_the_same_index_in_another_order_are_refused(call):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    y = pd.Series((X["a"] > 0).astype(int), name="y")
    with pytest.raises(eo.InputError, match=r"the same index in another order.*\.loc\["):
        call(X, y.sample(frac=1, random_state=0))


def test_other_indexes_are_no_matter():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"])
    y = (X["a"] + rng.logistic(size=400) > 0).astype(int)
    plain = eo.fit_logistic(X, y).coefficients
    for index in (np.arange(400) + 1000, np.zeros(400), [str(i) for i in range(400)]):
        assert (eo.fit_logistic(X, y.set_axis(index)).coefficients == plain).all()
