"""Rows on a device give the same answers: by torch on a processor, and on a GPU if there is one."""

import sys

import numpy as np
import pandas as pd
import pytest
import torch

import evenodds as eo
from evenodds.errors import InputError, MissingExtraError
from evenodds.inference.asymmetry import run_on_rows
from evenodds.inference.boundary import Boundary
from evenodds.inference.method import Known
from evenodds.model.logistic import fit_rows
from evenodds.model.scores import score_rows
from evenodds.rows import device, read
from evenodds.rows.base import Span
from evenodds.rows.memory import MemoryRows, read_rows

has_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
devices = pytest.mark.parametrize("place", ["cpu", pytest.param("cuda", marks=has_gpu)])


FAR = (0, 0, 0, 0, 0, 900)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(FAR, size=(30_000, 6))
    index = X[:, :5] @ [1.0, -0.5, 0.8, 0.3, 0.0] - 0.5
    y = (rng.random(len(X)) < 0.1 + 0.7 / (1 + np.exp(-index))).astype(int)
    points = rng.normal(FAR, size=(8, 6))
    points[:, 0] -= points[:, :5] @ [1.0, -0.5, 0.8, 0.3, 0.0] - 0.5
    return X, y, points


def there(X, y, place, dtype=torch.float64, **parts):
    known = {"y": y, "sample_weight": None, "groups": None, **parts}
    return device.read_tensors(torch.as_tensor(X, dtype=dtype).to(place), known, None)


@devices
@pytest.mark.parametrize(("dtype", "close"), [(torch.float64, 1e-10), (torch.float32, 1e-6)])
def test_fits_are_those_of_the_processor(data, place, dtype, close):
    X, y, _ = data
    X = torch.as_tensor(X, dtype=dtype).double().numpy()
    here, fit = eo.fit_logistic(X, y), fit_rows(there(X, y, place, dtype))
    np.testing.assert_allclose(fit.coefficients, here.coefficients, atol=close)
    np.testing.assert_allclose(fit.covariance, here.covariance, rtol=1e-5, atol=1e-9)
    assert fit.log_likelihood == pytest.approx(here.log_likelihood, rel=1e-9)


@devices
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_many_rows_are_climbed_by_chords_there_too(place, dtype):
    rng = np.random.default_rng(1)
    X = torch.as_tensor(rng.normal(size=(150_000, 4)), dtype=dtype)
    y = (rng.random(150_000) < 1 / (1 + np.exp(-X[:, 0].numpy()))).astype(int)
    here, fit = eo.fit_logistic(X.double().numpy(), y), fit_rows(there(X, y, place, dtype))
    np.testing.assert_allclose(fit.coefficients, here.coefficients, atol=1e-6)


@devices
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_wide_fits_agree(place, dtype):
    rng = np.random.default_rng(2)
    X = torch.as_tensor(rng.normal(size=(4_000, 120)), dtype=dtype)
    y = (rng.random(4_000) < 1 / (1 + np.exp(-X[:, 0].numpy()))).astype(int)
    here, fit = eo.fit_logistic(X.double().numpy(), y), fit_rows(there(X, y, place, dtype))
    np.testing.assert_allclose(fit.coefficients, here.coefficients, atol=1e-6)


@devices
def test_weights_and_groups_count(data, place):
    X, y, _ = data
    rng = np.random.default_rng(3)
    parts = {"sample_weight": rng.integers(0, 4, len(y)), "groups": np.arange(len(y)) % 50}
    here, fit = eo.fit_logistic(X, y, **parts), fit_rows(there(X, y, place, **parts))
    np.testing.assert_allclose(fit.coefficients, here.coefficients, atol=1e-10)
    np.testing.assert_allclose(fit.covariance, here.covariance, rtol=1e-7)
    assert fit.n_rows == here.n_rows


@devices
def test_the_boundary_test_says_the_same(data, place):
    X, y, points = data
    anchors = eo.Anchors(points)
    here = eo.asymmetry_test(X, y, anchors)
    result = run_on_rows(there(X, y, place), Known(anchors, None), Boundary(), "two-sided")
    assert result.statistic == pytest.approx(here.statistic, abs=1e-8)
    assert str(result) == str(here)
    single = there(X, y, place, torch.float32)
    result = run_on_rows(single, Known(anchors, None), Boundary(), "two-sided")
    assert result.statistic == pytest.approx(here.statistic, abs=1e-3)


@devices
def test_scores_agree(data, place):
    X, y, _ = data
    here = eo.out_of_fold_scores(X, y)
    rng = np.random.default_rng(0)
    np.testing.assert_allclose(score_rows(there(X, y, place), 5, rng), here, atol=1e-9)


@devices
def test_scores_by_newton_agree(data, place, monkeypatch):
    X, y, _ = data
    monkeypatch.setattr("evenodds.model.scores.MOST_CHORDS", 1)
    here = eo.out_of_fold_scores(X, y)
    rng = np.random.default_rng(0)
    np.testing.assert_allclose(score_rows(there(X, y, place), 5, rng), here, atol=1e-9)


@devices
def test_scores_of_hard_rows_agree(place):
    """Heavy tails make the curves ask for Hessians of their own."""
    rng = np.random.default_rng(5)
    X = rng.standard_t(1.5, size=(3_000, 5))
    y = (X[:, 0] + rng.logistic(size=len(X)) > 0).astype(int)
    here = eo.out_of_fold_scores(X, y)
    scores = score_rows(there(X, y, place), 5, np.random.default_rng(0))
    np.testing.assert_allclose(scores, here, atol=1e-6)


def test_sums_that_know_no_tensors_get_arrays(data):
    X, y, _ = data
    rows, span = there(X, y, "cpu"), Span(6)
    rows.sum_over_rows(span)
    np.testing.assert_array_equal(span.low, X.min(axis=0))
    np.testing.assert_array_equal(rows.to_memory().features, X)


def test_a_small_sample_comes_to_numpys_memory_and_a_large_one_stays(data, monkeypatch):
    X, y, _ = data
    rows, rng = there(X, y, "cpu"), np.random.default_rng(0)
    assert isinstance(rows.thinned(10, rng), MemoryRows)
    np.testing.assert_array_equal(
        rows.thinned(10, np.random.default_rng(1)).to_memory().features,
        read_rows(X, y).thinned(10, np.random.default_rng(1)).to_memory().features,
    )
    monkeypatch.setattr(device, "FEW_NUMBERS", 100)
    stayed = rows.peeked(10, rng)
    assert isinstance(stayed, device.DeviceRows)
    assert stayed.n_rows == 3_000


@devices
def test_a_file_or_an_array_is_put_on_a_device(data, place, tmp_path):
    X, y, points = data
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(label=np.where(y, "yes", "no"))
    frame.to_parquet(tmp_path / "rows.parquet")
    here = eo.fit_logistic(frame, "label")
    for rows in (frame, tmp_path / "rows.parquet"):
        fit = eo.fit_logistic(rows, "label", device=place)
        np.testing.assert_allclose(fit.coefficients, here.coefficients, atol=1e-10)
        assert (fit.positive, fit.feature_names) == ("yes", tuple("abcdef"))
    anchors = eo.Anchors(pd.DataFrame(points, columns=list("abcdef")))
    result = eo.asymmetry_test(frame, "label", anchors, device=place)
    assert result.pvalue == pytest.approx(eo.asymmetry_test(frame, "label", anchors).pvalue)
    scores = eo.out_of_fold_scores(frame, "label", device=place)
    np.testing.assert_allclose(scores, eo.out_of_fold_scores(frame, "label"), atol=1e-9)


@pytest.fixture
def full_device(monkeypatch):
    """Leave no room for the rows, and have blocks of a few thousand pass through."""
    monkeypatch.setattr(device, "_free_bytes", lambda place: 1e6)
    monkeypatch.setattr(device, "MOST_PASSED", 6 * 5_000)


@pytest.mark.usefixtures("full_device")
@devices
@pytest.mark.parametrize("held", [True, False])
def test_rows_that_a_device_cannot_hold_pass_through_it(data, place, held, tmp_path, monkeypatch):
    X, y, points = data
    if not held:
        monkeypatch.setattr("evenodds.rows.table_rows.HELD_BYTES", 0)
    path, counted = tmp_path / "rows.parquet", tmp_path / "counted.parquet"
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(label=np.where(y, "yes", "no"))
    frame.to_parquet(path, row_group_size=7_000)
    frame["count"] = np.random.default_rng(6).integers(0, 4, len(y))
    frame.assign(site=np.arange(len(y)) % 50).to_parquet(counted, row_group_size=7_000)
    assert isinstance(read.read_data(path, "label", device=place), device.PassingRows)
    parts = {"sample_weight": "count", "groups": "site"}
    here, fit = (eo.fit_logistic(counted, "label", **parts, device=at) for at in (None, place))
    np.testing.assert_allclose(fit.coefficients, here.coefficients, atol=1e-10)
    np.testing.assert_allclose(fit.covariance, here.covariance, rtol=1e-7)
    assert (fit.positive, fit.feature_names) == ("yes", tuple("abcdef"))
    scores = eo.out_of_fold_scores(path, "label", device=place)
    np.testing.assert_allclose(scores, eo.out_of_fold_scores(X, y), atol=1e-9)
    told = (path, "label", eo.Anchors(pd.DataFrame(points, columns=list("abcdef"))))
    tested, there = (eo.asymmetry_test(*told, device=at) for at in (None, place))
    assert there.statistic == pytest.approx(tested.statistic, abs=1e-8)
    assert str(there) == str(tested)


class Seen:
    """What blocks a sum was given."""

    on_device = True

    def __init__(self):
        self.blocks = []

    def add(self, block):
        self.blocks.append((type(block.features), block.start, len(block.labels)))


@pytest.mark.usefixtures("full_device")
def test_blocks_that_pass_are_tensors_in_the_order_of_the_rows(data, monkeypatch):
    monkeypatch.setattr(device, "_rows_of_block", lambda *size: 20_000)
    monkeypatch.setattr(device, "MOST_PASSED", 6 * 12_000)
    rows = read.read_data(*data[:2], device="cpu")
    seen = rows.sum_over_rows(Seen()).blocks
    # Blocks of 8192 rows are put together until there are 12,000.
    assert seen == [(torch.Tensor, 0, 16_384), (torch.Tensor, 16_384, 13_616)]


@pytest.mark.usefixtures("full_device")
def test_many_rows_pass_through_by_chords_and_samples():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150_000, 4))
    y = (rng.random(150_000) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    here, fit = (eo.fit_logistic(X, y, device=at) for at in (None, "cpu"))
    np.testing.assert_allclose(fit.coefficients, here.coefficients, atol=1e-10)


@pytest.mark.usefixtures("full_device")
def test_a_missing_value_of_rows_that_pass_is_named(data, tmp_path):
    frame = pd.DataFrame(data[0], columns=list("abcdef")).assign(label=data[1])
    frame.loc[12, "c"] = np.nan
    frame.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(InputError, match=r"1 missing value, the first in row 13.*column 'c'"):
        eo.fit_logistic(tmp_path / "rows.csv", "label", device="cpu")


@pytest.mark.usefixtures("full_device")
def test_rows_on_workers_do_not_pass(data):
    import dask.array as da

    X, y = (da.from_array(part, chunks=(7_000, -1)[: part.ndim]) for part in data[:2])
    big = da.concatenate([X] * 8), da.concatenate([y] * 8)
    with pytest.raises(InputError, match="rows that are spread over workers stay there"):
        eo.fit_logistic(*big, device="cpu")


@pytest.fixture
def every_tensor(monkeypatch):
    """Treat tensors of the processor as those of a device."""
    for module in (device, read):
        monkeypatch.setattr(module, "is_on_device", lambda X: isinstance(X, torch.Tensor))


@pytest.mark.usefixtures("every_tensor")
def test_the_type_of_the_features_decides(data):
    X, y, points = (torch.as_tensor(part) for part in data)
    assert isinstance(read.read_data(X, y), device.DeviceRows)
    fit = eo.fit_logistic(X, y)
    np.testing.assert_allclose(
        fit.coefficients, eo.fit_logistic(*data[:2]).coefficients, atol=1e-10
    )
    assert eo.asymmetry_test(X, y, eo.Anchors(points)).n_rows == 30_000


@pytest.mark.usefixtures("every_tensor")
@pytest.mark.parametrize("labels", [[0, 1], [-1, 1], [False, True], [2.5, 7.0]])
def test_labels_on_the_device_are_read_there(data, labels):
    X, y, _ = data
    given = torch.as_tensor(np.asarray(labels)[y])
    rows = read.read_data(torch.as_tensor(X), given)
    assert (rows.negative, rows.positive) == tuple(labels)
    assert rows.positive_weight() == y.sum()
    other = read.read_data(torch.as_tensor(X), given, positive=labels[0])
    assert other.positive_weight() == len(y) - y.sum()


@pytest.mark.usefixtures("every_tensor")
@pytest.mark.parametrize("dtype", [torch.int32, torch.float16, torch.bool])
def test_numbers_of_other_kinds_are_widened(dtype):
    rng = np.random.default_rng(4)
    X = torch.as_tensor(rng.integers(0, 2, size=(500, 3))).to(dtype)
    y = torch.as_tensor(rng.integers(0, 2, size=500))
    fit = eo.fit_logistic(X, y)
    here = eo.fit_logistic(X.double().numpy(), y.numpy())
    np.testing.assert_allclose(fit.coefficients, here.coefficients, atol=1e-6)


def broken(rows):
    bad = rows.clone()
    bad[5, 2] = torch.nan
    return bad


@pytest.mark.usefixtures("every_tensor")
@pytest.mark.parametrize(
    ("change", "how", "message"),
    [
        (lambda X, y: (X[:, 0], y), {}, r"X has 1 dimension but must have 2"),
        (lambda X, y: (X[:, :0], y), {}, "X has no columns"),
        (lambda X, y: (X * 1j, y), {}, "X holds complex numbers"),
        (lambda X, y: (X, y[:-1]), {}, "X has 30,000 rows but y has 29,999"),
        (lambda X, y: (X, y + torch.arange(len(y)) % 2), {}, "3 distinct labels"),
        (lambda X, y: (X, y * 0), {}, "one label only|only one label|a single label"),
        (lambda X, y: (X, "label"), {}, "X has no columns with names: give y as an array"),
        (lambda X, y: (broken(X), y), {}, "X has 1 missing value, the first in row 5, column 2"),
        (lambda X, y: (X, y), {"missing": "drop"}, "drop them from X first"),
        (lambda X, y: (X, y), {"formula": "a + b"}, "formula needs columns with names"),
        (lambda X, y: (X, y), {"sample_weight": -np.ones(30_000)}, "must not be negative"),
    ],
)
def test_what_cannot_be_used_is_said(data, change, how, message):
    X, y = (torch.as_tensor(part) for part in data[:2])
    with pytest.raises(InputError, match=message):
        eo.fit_logistic(*change(X, y), **how)


def test_tensors_of_the_processor_are_arrays(data):
    X, y, _ = data
    tensor = torch.tensor(X, requires_grad=True)
    fit = eo.fit_logistic(tensor, torch.as_tensor(y))
    np.testing.assert_array_equal(fit.coefficients, eo.fit_logistic(X, y).coefficients)


def test_a_device_that_is_not_there_is_said(data):
    with pytest.raises(InputError, match="device is 'nowhere' but torch cannot use it"):
        eo.fit_logistic(*data[:2], device="nowhere")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_no_gpu_is_said(data):
    with pytest.raises(InputError, match=r"'cuda' but torch cannot use it .*such as 'cpu'"):
        eo.fit_logistic(*data[:2], device="cuda")


def test_the_extra_is_named(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"install evenodds\[gpu\]"):
        eo.fit_logistic(*data[:2], device="cuda")


def test_scores_of_an_estimator_take_no_device(data):
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(InputError, match="device is for the default model"):
        eo.out_of_fold_scores(*data[:2], estimator=LogisticRegression(), device="cpu")


def test_tensors_of_half_precision_are_read_on_the_processor_too(data):
    X, y, _ = data
    rough = torch.as_tensor(X).bfloat16()
    fit = eo.fit_logistic(rough, y)
    np.testing.assert_array_equal(
        fit.coefficients, eo.fit_logistic(rough.float().numpy(), y).coefficients
    )


def test_sparse_tensors_are_refused(data):
    X, y, _ = data
    with pytest.raises(InputError, match=r"X is a sparse tensor: pass X.to_dense\(\)"):
        eo.fit_logistic(torch.as_tensor(X).to_sparse(), y)


def test_the_line_takes_tensors(data):
    X, y, _ = data
    scores = eo.out_of_fold_scores(X, y)
    cases = eo.choose_cases(torch.as_tensor(scores), n_cases=60)
    stated = scores[cases.rows]
    here = eo.line_test(scores, y, cases, stated, answers="probability")
    tensors = (torch.as_tensor(part) for part in (scores, y))
    there = eo.line_test(*tensors, cases, torch.as_tensor(stated), answers="probability")
    assert there.pvalue == here.pvalue
