"""Data sets of Hugging Face's library as X: what their owner sees of them is what is read."""

import subprocess
import sys

import datasets
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import evenodds as eo

N_ROWS = 1200


@pytest.fixture(scope="module", autouse=True)
def no_progress_bars():
    datasets.disable_progress_bars()


@pytest.fixture(scope="module")
def whole():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 2))
    y = (X.sum(axis=1) + rng.logistic(size=N_ROWS) > 0).astype(int)
    columns = {"a": X[:, 0], "b": X[:, 1], "site": ["x", "y"] * (N_ROWS // 2), "y": y}
    kinds = {"a": "float64", "b": "float32", "site": "string"}
    features = {name: datasets.Value(kind) for name, kind in kinds.items()}
    features["y"] = datasets.ClassLabel(names=["no", "yes"])
    return datasets.Dataset.from_dict(columns, features=datasets.Features(features))


@pytest.fixture(scope="module")
def some(whole):
    """Return rows that lie elsewhere in the table underneath: the library keeps their numbers."""
    chosen = whole.filter(lambda row: row["a"] > -1).shuffle(seed=1)
    assert chosen.data.num_rows != len(chosen)
    return chosen


ANCHORS = eo.Anchors({"a": [0.0, 0.5], "b": [0.0, -0.5]})


def parts(data, *names):
    """Return some columns of a data set or of a frame."""
    return data[list(names)] if hasattr(data, "iloc") else data.select_columns(list(names))


@pytest.mark.parametrize(
    "job",
    [
        lambda X: eo.asymmetry_test(parts(X, "a", "b", "y"), "y", ANCHORS).statistic,
        lambda X: eo.fit_logistic(X, "y").coefficients,
        lambda X: eo.fit_logistic(parts(X, "a", "b", "site"), X["y"]).coefficients,
        lambda X: eo.fit_logistic(parts(X, "a", "b"), X["y"]).coefficients,
        lambda X: eo.fit_logistic(X, None, formula="y ~ a + C(site)").coefficients,
        lambda X: eo.out_of_fold_scores(parts(X, "a", "b", "y"), "y"),
        lambda X: eo.out_of_fold_scores(parts(X, "a", "b"), X["y"], estimator=LogisticRegression()),
        lambda X: eo.Anchors.from_rows(parts(X, "a", "b"), [0, 7]).points,
        lambda X: eo.NoiseAwareLogisticRegression(0.1, 0.1).fit(parts(X, "a", "b"), X["y"]).coef_,
    ],
)
def test_a_dataset_is_read_as_the_frame_it_shows(some, job):
    assert np.allclose(job(some), job(some.to_pandas()), rtol=1e-6)


def test_columns_that_the_format_hides_are_no_features(some):
    shown = some.with_format("numpy", columns=["a", "y"])
    assert eo.fit_logistic(shown, "y").coefficients.shape == (2,)


def test_columns_of_pictures_or_lists_are_refused_by_name():
    data = datasets.Dataset.from_dict({"vector": [[1.0, 2.0]] * 9, "y": [0, 1, 1] * 3})
    with pytest.raises(eo.InputError, match="column 'vector' of X holds list"):
        eo.fit_logistic(data, "y")


def test_several_datasets_are_none(whole):
    splits = datasets.DatasetDict({"train": whole, "test": whole})
    with pytest.raises(eo.InputError, match=r"X is a DatasetDict .* as X\['train'\]"):
        eo.fit_logistic(splits, "y")


@pytest.mark.parametrize("label", ["y", [0, 1]])
def test_a_stream_is_refused(whole, label):
    with pytest.raises(eo.InputError, match="read as a stream: load it without streaming=True"):
        eo.fit_logistic(whole.to_iterable_dataset(), label)


def test_a_column_that_is_not_there_gets_its_near_misses(whole):
    with pytest.raises(eo.InputError, match="no column 'sites'; did you mean 'site'"):
        eo.fit_logistic(whole, "sites")


def test_the_library_is_not_loaded_for_other_data():
    code = (
        "import sys, numpy as np, pandas as pd, evenodds as eo;"
        "eo.fit_logistic(pd.DataFrame({'a': np.arange(9.) % 4, 'y': [0, 1, 1] * 3}), 'y');"
        "print('datasets' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
