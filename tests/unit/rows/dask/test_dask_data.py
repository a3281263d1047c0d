"""Dask arrays and data frames: the answers of rows in memory, and clear refusals."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pytest

import evenodds as eo
from evenodds.model.logistic import fit_rows
from evenodds.rows import dask_data
from evenodds.rows.base import NARROW_BLOCK_ROWS
from evenodds.rows.dask_data import read_collections
from evenodds.rows.memory import read_rows

PLAIN = {"formula": None, "probabilities": None, "positive": None, "missing": "refuse"}


class Kept:
    """A sum that keeps what it was given."""

    def __init__(self):
        self.features = []

    def add(self, block):
        self.features.append(block.features.copy())

    def merge(self, other):
        self.features += other.features


def as_dask(written, n_partitions=4):
    return dd.from_pandas(written.frame, npartitions=n_partitions)


def rows_of(X, y, **parts):
    beside = {"y": y, "sample_weight": None, "groups": None, **parts}
    return read_collections(X, beside, PLAIN)


def close(value):
    return pytest.approx(value, rel=1e-10)


def test_text_weights_and_groups_are_those_of_a_frame_in_memory(written):
    named = {"sample_weight": "times", "groups": "patient", "formula": "age + dose + C(site)"}
    expected = eo.fit_logistic(written.frame, "label", **named)
    found = eo.fit_logistic(as_dask(written), "label", **named)
    assert found.covariance == close(expected.covariance)


def test_series_beside_a_frame_are_the_columns_of_one(written):
    cut, columns = as_dask(written), ["age", "dose", "site"]
    found = eo.fit_logistic(
        cut[columns], cut["label"], sample_weight=cut["times"], groups=cut["patient"]
    )
    expected = eo.fit_logistic(
        written.frame[columns],
        written.frame["label"],
        sample_weight=written.frame["times"],
        groups=written.frame["patient"],
    )
    assert found.covariance == close(expected.covariance)


def test_splines_learn_the_same_knots(written):
    formula = "bs(dose, df=5) + poly(age, 2) + C(smokes)"
    expected = eo.fit_logistic(written.frame, "label", formula=formula)
    found = eo.fit_logistic(as_dask(written), "label", formula=formula)
    assert found.coefficients == pytest.approx(expected.coefficients, rel=1e-8)


def test_rows_with_holes_are_dropped_and_counted(written):
    holed = written.frame[["age", "dose", "label"]].copy()
    holed.loc[[3, 599], "dose"] = np.nan
    found = eo.fit_logistic(dd.from_pandas(holed, npartitions=3), "label", missing="drop")
    expected = eo.fit_logistic(holed.dropna(), "label")
    assert found.coefficients == close(expected.coefficients)
    assert found.notices == ("2 of 600 rows lack a value and were dropped.",)


def test_small_partitions_that_dask_reads_together_stay_in_step(written):
    """A column alone is read in fewer partitions than the features beside it."""
    cut = dd.read_parquet(written.folder / "parts_parquet")
    X, y = cut[["age", "dose", "smokes"]], cut["label"]
    assert len(X.to_delayed()) > len(y.to_delayed())
    expected = eo.fit_logistic(written.frame[["age", "dose", "smokes"]], written.frame["label"])
    assert eo.fit_logistic(X, y).coefficients == close(expected.coefficients)


def test_an_array_keeps_columns_without_names(written):
    X = da.from_array(written.features, chunks=(70, 2))
    labels = da.from_array(written.frame["label"].to_numpy().astype(str), chunks=100)
    assert rows_of(X, labels).feature_names is None


def test_lengths_that_dask_does_not_know_are_counted(written):
    cut = as_dask(written)[["age", "dose"]]
    X, y = cut.to_dask_array(), as_dask(written)["smokes"].to_dask_array()
    assert np.isnan(X.shape[0])
    assert rows_of(X, y).n_rows == 600


def test_an_empty_partition_changes_nothing(written):
    frame = written.frame[["age", "dose", "site", "label"]].sort_values("age")
    cut = dd.from_pandas(frame, npartitions=4, sort=False)
    cut = cut[cut["age"] > frame["age"].iloc[200]]  # nothing is left of the first partition
    frame = frame[201:]
    expected = eo.fit_logistic(frame, "label")
    found = eo.fit_logistic(cut, "label")
    assert found.coefficients == close(expected.coefficients)


@pytest.mark.parametrize("n_partitions", [3, 20])
@pytest.mark.parametrize("sampling", ["thinned", "peeked"])
def test_a_sample_is_the_same_whatever_the_partitions(written, n_partitions, sampling):
    cut = as_dask(written, n_partitions)[["age", "dose", "smokes"]]
    rows = rows_of(cut, as_dask(written, n_partitions)["label"])
    drawn = [
        np.concatenate(
            getattr(rows, sampling)(7, np.random.default_rng(3)).sum_over_rows(Kept()).features
        )
        for _ in range(2)
    ]
    assert (drawn[0] == drawn[1]).all()


def test_a_thinned_sample_has_the_rows_that_memory_would_give(written):
    frame = written.frame[["age", "dose"]]
    in_memory = read_rows(frame.to_numpy(), written.frame["label"].to_numpy())
    expected = in_memory.thinned(7, np.random.default_rng(3)).sum_over_rows(Kept())
    cut = as_dask(written, 5)
    found = rows_of(cut[["age", "dose"]], cut["label"]).thinned(7, np.random.default_rng(3))
    assert (
        np.concatenate(found.sum_over_rows(Kept()).features) == np.concatenate(expected.features)
    ).all()


def test_many_rows_give_the_answer_of_memory():
    """With so many rows both climbs start from samples."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(150_000, 3))
    y = (rng.random(150_000) < 1 / (1 + np.exp(-X @ [1.0, -0.5, 0.3]))).astype(float)
    anchors = eo.Anchors([[0.0, 0.0, 0.0]])
    cut = da.from_array(X, chunks=(NARROW_BLOCK_ROWS, 3)), da.from_array(y, chunks=40_000)
    expected = eo.asymmetry_test(X, y, anchors)
    assert eo.asymmetry_test(*cut, anchors).statistic == close(expected.statistic)


def test_overflow_is_as_quiet_as_in_memory(written):
    """Far columns make the logistic curve overflow on the way, which is meant."""
    X = written.features * 1e6
    y = written.frame["label"].to_numpy()
    cut = da.from_array(X, chunks=(200, 5)), da.from_array(y.astype(str), chunks=200)
    expected = eo.fit_logistic(X, y).coefficients
    assert eo.fit_logistic(*cut).coefficients == pytest.approx(expected, rel=1e-8)


def test_what_is_large_travels_apart_from_tasks(written, monkeypatch):
    named = {"sample_weight": "times", "groups": "patient", "formula": "age + dose"}
    small = eo.fit_logistic(as_dask(written), "label", **named)
    monkeypatch.setattr("evenodds.rows.dask_sums.MOST_BYTES_A_TASK", 0)
    large = eo.fit_logistic(as_dask(written), "label", **named)
    assert (large.covariance == small.covariance).all()


def test_one_row_number_is_named_across_partitions(written, refused):
    X = written.features.copy()
    X[401, 1] = np.nan
    y = da.from_array(written.frame["smokes"].to_numpy(), chunks=150)
    with refused("X has 1 missing value, the first in row 401, column 1: drop or fill it"):
        eo.fit_logistic(da.from_array(X, chunks=(150, 5)), y)


def test_a_missing_label_is_named_with_its_row(written, refused):
    frame = written.frame[["age", "dose", "label"]].copy()
    frame.loc[[333, 590], "label"] = None
    with refused("column 'label' has 2 missing values, the first in row 333: drop the rows"):
        eo.fit_logistic(dd.from_pandas(frame, npartitions=4), "label")


def test_a_negative_weight_is_named_with_its_row(written, refused):
    frame = written.frame.assign(times=np.where(np.arange(600) > 420, -2, 1))
    with refused("column 'times' is -2 in row 421 but must not be negative"):
        eo.fit_logistic(dd.from_pandas(frame, npartitions=4), "label", sample_weight="times")


ARRAY = da.ones((30, 2), chunks=(10, 2))
LABELS = da.arange(30, chunks=10) % 2


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (da.ones(30), LABELS, "X has 1 dimension but must have 2; for one feature use"),
        (ARRAY.astype("M8[D]"), LABELS, "X holds dates or times: turn them into numbers first"),
        (ARRAY.astype(complex), LABELS, "X holds complex numbers: give real ones."),
        (ARRAY.astype(object), LABELS, "X holds objects: give it a numeric type, with astype."),
        (ARRAY[:, :0], LABELS, "X has no columns: give at least one feature."),
        (ARRAY[:0], LABELS[:0], "X is empty: give a row for each label."),
        (ARRAY, LABELS[:20], "X has 30 rows but y has 20: give one value a row."),
        (ARRAY, ARRAY, "y has 2 dimensions but must be one column."),
        (ARRAY, None, "y is None: give labels, or the name of their column."),
        (ARRAY, np.arange(30) % 2, "X is a Dask Array but y is an ndarray: give a Dask array or"),
        (ARRAY, "label", "X has no column 'label'; the columns are '0' and '1'."),
        (ARRAY.map_blocks(np.ma.asarray), LABELS, "X is made of MaskedArray blocks: turn them"),
    ],
)
def test_what_cannot_be_used_is_named(refused, X, y, message):
    with refused(message):
        eo.fit_logistic(X, y)


def test_other_partitions_are_refused(written, refused):
    with refused("X has 4 partitions but y has 3: cut both at the same rows, or"):
        eo.fit_logistic(as_dask(written, 4)[["age"]], as_dask(written, 3)["smokes"])


def test_partitions_of_other_lengths_are_refused(written, refused):
    cut = as_dask(written, 3)
    X, y = cut[["age", "dose"]], cut["label"][cut["age"] > 50]
    with refused("a partition of X has 200 rows but that of y has"):
        eo.fit_logistic(X, y)


def test_an_unknown_number_of_columns_is_refused(refused):
    X = ARRAY.map_blocks(lambda block: block, chunks=((10, 10, 10), (np.nan,)))
    with refused("X has an unknown number of columns: call X.compute_chunk_sizes() first."):
        eo.fit_logistic(X, LABELS)


def test_a_series_is_no_table(written, refused):
    with refused("X is a Dask Series: give a Dask array or data frame, with a row a case."):
        eo.fit_logistic(as_dask(written)["age"], as_dask(written)["label"])


def test_a_column_that_is_not_what_it_says_is_refused(written, refused):
    cut = as_dask(written)[["age", "dose", "label"]]
    odd = cut.map_partitions(lambda part: part.assign(dose="much"), meta=cut._meta)
    with refused("column 'dose' was announced as double but a partition of it holds"):
        eo.fit_logistic(odd, "label")


def test_partitions_are_never_read_here(written):
    rows = rows_of(as_dask(written)[["age"]], as_dask(written)["label"])
    with pytest.raises(TypeError, match="a part of a Dask table is read by its workers only"):
        list(rows.table.batches(("age",)))


def test_a_small_collection_is_fetched_once(written, monkeypatch):
    """A test makes hundreds of passes; tasks would cost more than all of their sums."""
    frame = as_dask(written)[["age", "dose", "label"]]
    there = eo.fit_logistic(frame, "label")
    monkeypatch.setattr(dask_data, "FETCHED_BYTES", 8 * 1024 * 1024)
    rows = rows_of(frame, "label")
    reduced = []
    monkeypatch.setattr(type(rows.table), "reduced", lambda *_: reduced.append(1))
    fit = fit_rows(rows)
    assert not reduced
    np.testing.assert_allclose(fit.coefficients, there.coefficients, atol=1e-12)
    assert fit.feature_names == there.feature_names
