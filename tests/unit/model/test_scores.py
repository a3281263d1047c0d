"""Out-of-fold scores: nobody has seen his own label, and fits are those from scratch."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import evenodds as eo
from evenodds.errors import ConvergenceError
from evenodds.model import penalties
from evenodds.model import scores as module
from evenodds.rows.memory import read_rows


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 8)) * [1, 5, 1, 0.1, 1, 1, 1, 1] + [0, 0, 2000, 0, 0, 0, 0, 0]
    index = X[:, 0] + 0.2 * X[:, 1] - 0.5
    return X, (rng.random(1200) < 1 / (1 + np.exp(-index))).astype(int)


def test_curves_are_those_of_a_fit_from_scratch(data):
    X, y = data
    rows, rng = read_rows(X, y), np.random.default_rng(1)
    folds = module.assign_folds(y == 1, 5, None, rng)
    divided = penalties.Division(folds)
    spread = (X - X.mean(axis=0)) / X.std(axis=0)
    scale = penalties.Scale(X.mean(axis=0), X.std(axis=0))
    chosen = penalties.choose_penalties(penalties.hold(rows, divided, scale))
    fits = module._fit_folds(rows, divided, scale, chosen, len(y))
    for fold in range(5):
        kept = folds != fold
        scratch = LogisticRegression(
            C=1 / chosen.penalties[fold], solver="newton-cholesky", tol=1e-12, max_iter=200
        ).fit(spread[kept], y[kept])
        np.testing.assert_allclose(fits[1:, fold], scratch.coef_[0], atol=1e-6)
        assert fits[0, fold] == pytest.approx(scratch.intercept_[0], abs=1e-6)


def test_no_score_depends_on_the_rows_own_label(data):
    X, y = data
    first = eo.out_of_fold_scores(X, y)
    # Rows of one label that change places leave the division as it is.
    rng = np.random.default_rng(0)
    folds = module.assign_folds(y == 1, 5, None, rng)
    divided = penalties.Division(folds)
    scale = penalties.Scale(X.mean(axis=0), X.std(axis=0))
    changed = y.copy()
    out = np.flatnonzero(folds == 2)
    changed[out] = 1 - changed[out]

    def score(labels):
        rows = read_rows(X, labels)
        chosen = penalties.choose_penalties(penalties.hold(rows, divided, scale))
        fits = module._fit_folds(rows, divided, scale, chosen, len(labels))
        return (scale.design(X[out]) @ fits)[:, 2]

    np.testing.assert_allclose(score(y), score(changed), atol=1e-6)
    assert np.isfinite(first).all()


@pytest.mark.parametrize("shape", ["wide", "heavy tails", "separated"])
def test_hard_data_are_scored_as_from_scratch(shape):
    """More columns than rows, far-out rows, no overlap: warnings are errors here."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 600)) if shape == "wide" else rng.standard_cauchy(size=(600, 4))
    noise = 0 if shape == "separated" else rng.logistic(size=len(X))
    y = (X[:, 0] + noise > 0).astype(int)
    rows, folds = read_rows(X, y), module.assign_folds(y == 1, 5, None, rng)
    divided = penalties.Division(folds)
    scale = penalties.Scale(X.mean(axis=0), X.std(axis=0))
    chosen = penalties.choose_penalties(penalties.hold(rows, divided, scale))
    fits = module._fit_folds(rows, divided, scale, chosen, len(y))
    kept = folds != 1
    spread = (X - X.mean(axis=0)) / X.std(axis=0)
    scratch = LogisticRegression(C=1 / chosen.penalties[1], tol=1e-10, max_iter=20_000)
    scratch.fit(spread[kept], y[kept])
    np.testing.assert_allclose(fits[1:, 1], scratch.coef_[0], atol=1e-4)


@pytest.mark.filterwarnings("ignore:the scores tell the given labels apart")
@pytest.mark.parametrize("seed", [17, 35])
@pytest.mark.parametrize("shape", ["cauchy", "lognormal"])
def test_columns_with_values_far_out_are_scored(shape, seed):
    """Some of these once ended in an error of the Cholesky factor, others did not settle."""
    rng = np.random.default_rng(seed)
    X = (
        rng.standard_cauchy(size=(600, 4))
        if shape == "cauchy"
        else np.exp(2 * rng.normal(size=(600, 4)))
    )
    for noise in (0, rng.logistic(size=600)):
        y = (X[:, 0] + noise > np.median(X[:, 0])).astype(int)
        scores = eo.out_of_fold_scores(X, y, seed=seed)
        assert roc_auc_score(y, scores) > 0.6


def test_newton_ends_where_chords_do(data, monkeypatch):
    chords = eo.out_of_fold_scores(*data)
    monkeypatch.setattr(module, "MOST_CHORDS", 1)
    np.testing.assert_allclose(eo.out_of_fold_scores(*data), chords, atol=1e-7)


def test_curves_that_do_not_settle_are_not_passed_off(data, monkeypatch):
    monkeypatch.setattr(module, "MOST_CHORDS", 1)
    monkeypatch.setattr(module, "MOST_STEPS", 1)
    with pytest.raises(ConvergenceError, match="the scores did not settle in 1 passes"):
        eo.out_of_fold_scores(*data)


def test_frames_files_and_arrays_agree(data, tmp_path):
    X, y = data
    frame = pd.DataFrame(X, columns=[f"x{place}" for place in range(8)]).assign(label=y)
    frame.to_parquet(tmp_path / "rows.parquet")
    scores = eo.out_of_fold_scores(X, y)
    np.testing.assert_allclose(eo.out_of_fold_scores(frame, "label"), scores, atol=1e-6)
    named = eo.out_of_fold_scores(str(tmp_path / "rows.parquet"), "label")
    np.testing.assert_allclose(named, scores, atol=1e-6)


def test_dask_arrays_agree(data):
    X, y = data
    parts = da.from_array(X, chunks=(250, 8)), da.from_array(y, chunks=250)
    scores = eo.out_of_fold_scores(X, y)
    np.testing.assert_allclose(eo.out_of_fold_scores(*parts), scores, atol=1e-9)


def test_labels_are_evenly_spread(data):
    folds = module.assign_folds(data[1] == 1, 5, None, np.random.default_rng(2))
    counts = np.array([np.bincount(data[1][folds == fold]) for fold in range(5)])
    assert (counts.max(axis=0) - counts.min(axis=0) <= 1).all()


def test_groups_are_kept_together(data):
    groups = np.random.default_rng(3).integers(0, 60, 1200)
    folds = module.assign_folds(data[1] == 1, 5, groups, np.random.default_rng(4))
    assert all(len(set(folds[groups == group])) == 1 for group in range(60))
    assert np.bincount(folds).min() > 150


def test_scores_of_an_estimator_are_out_of_fold(data):
    """A nearest neighbour that had seen the row itself would repeat its label."""
    X, y = data
    nearest = KNeighborsClassifier(1)
    scores = eo.out_of_fold_scores(X, y, estimator=nearest)
    assert (scores == y).mean() < 0.9


def test_swapping_the_positive_label_turns_the_scores(data):
    """The division differs, as the labels are dealt in another order, and the scores a little."""
    X, y = data
    turned = 1 - eo.out_of_fold_scores(X, y, positive=0)
    assert np.corrcoef(eo.out_of_fold_scores(X, y), turned)[0, 1] > 0.97


def test_progress_is_told(data):
    told = []
    eo.out_of_fold_scores(*data, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1


@pytest.mark.parametrize(
    ("n_constant", "message"),
    [
        (1, "column 8 of X is constant, so it tells nothing of the labels: leave it out."),
        (2, "columns 8, 9 of X never vary, so they tell nothing of the labels: leave them out."),
    ],
)
def test_constant_columns_are_told_and_change_nothing(data, n_constant, message):
    X, y = data
    more = np.column_stack([X, np.full((len(X), n_constant), 1.5)])
    with pytest.warns(eo.EvenoddsWarning, match=f"^{message}$"):
        scores = eo.out_of_fold_scores(more, y)
    np.testing.assert_allclose(scores, eo.out_of_fold_scores(X, y), atol=1e-7)


def test_long_ids_are_no_constant(data):
    X, y = data
    scores = eo.out_of_fold_scores(np.column_stack([X, 1e15 + np.arange(len(X))]), y)
    same = eo.out_of_fold_scores(np.column_stack([X, np.arange(len(X))]), y)
    np.testing.assert_allclose(scores, same, atol=1e-6)


def test_a_column_far_from_0_tells_what_it_tells_near_0(data):
    X, y = data
    moved = np.r_[1e13, np.zeros(X.shape[1] - 1)]
    far = X + moved  # which rounds its values, so the same ones are moved back
    scores, same = eo.out_of_fold_scores(far, y), eo.out_of_fold_scores(far - moved, y)
    np.testing.assert_allclose(scores, same, atol=1e-6)


@pytest.mark.parametrize("estimator", [None, LogisticRegression(max_iter=10_000)])
def test_a_copy_of_the_label_among_the_features_is_doubted(data, estimator):
    X, y = data
    told = np.column_stack([X, 3 - 2 * y])
    with pytest.warns(eo.EvenoddsWarning, match="a feature may be a copy of the label"):
        eo.out_of_fold_scores(told, y, estimator=estimator)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"folds": 1}, "folds is 1 but must be"),
        ({"estimator": object()}, "object has no predict_proba"),
        ({"estimator": LogisticRegression}, "the class LogisticRegression: give an instance"),
        ({"groups": np.zeros(1200)}, "groups has one group only"),
        ({"groups": np.arange(1200) % 3}, "has 3 groups but 5 folds need at least one each"),
        (
            {"estimator": KNeighborsClassifier(), "sample_weight": np.ones(1200)},
            "is for the default",
        ),
        ({"estimator": KNeighborsClassifier(), "groups": [1]}, "groups has 1 values but y has"),
    ],
)
def test_what_cannot_be_divided_is_refused(data, settings, message):
    with pytest.raises(eo.InputError, match=message):
        eo.out_of_fold_scores(*data, **settings)


def test_a_rare_label_needs_fewer_folds(data):
    X, _ = data
    rare = np.zeros(1200, dtype=int)
    rare[:7] = 1
    with pytest.raises(eo.InputError, match="the rarer label has 7 rows but 5 folds need at least"):
        eo.out_of_fold_scores(X, rare)


def test_missing_values_are_named(data):
    X, y = data
    holed = X.copy()
    holed[7, 3] = np.nan
    for estimator in (None, LogisticRegression(), KNeighborsClassifier()):
        with pytest.raises(eo.InputError, match="row 7, column 3"):
            eo.out_of_fold_scores(holed, y, estimator=estimator)


@pytest.mark.parametrize(
    "estimator",
    [HistGradientBoostingClassifier(), make_pipeline(SimpleImputer(), GaussianNB())],
)
def test_an_estimator_that_reads_missing_values_gets_them(data, estimator):
    X, y = data
    holed = np.where(np.arange(X.size).reshape(X.shape) % 50 == 0, np.nan, X)
    scores = eo.out_of_fold_scores(holed, y, estimator=estimator)
    assert scores[y == 1].mean() > scores[y == 0].mean()


def test_groups_are_divided_alike_whatever_they_are_called_and_whoever_reads_them(data):
    X, y = data
    group = np.random.default_rng(3).integers(0, 80, len(y))
    frame = pd.DataFrame(X).add_prefix("x").assign(y=y, group=group)
    named = np.char.add("g", (7 * group % 80).astype(str))
    whole = eo.out_of_fold_scores(X, y, groups=group)
    parts, labels, groups = (da.from_array(part, chunks=300) for part in (X, y, group))
    for found in (
        eo.out_of_fold_scores(X, y, groups=named),
        eo.out_of_fold_scores(frame, "y", groups="group"),
        eo.out_of_fold_scores(parts.rechunk((300, 8)), labels, groups=groups),
    ):
        np.testing.assert_allclose(found, whole, atol=1e-12)


def test_a_penalty_is_chosen_by_two_folds_so_it_takes_three(data):
    X, y = data
    with pytest.raises(eo.InputError, match="folds is 2 but must be a whole number of at least 3"):
        eo.out_of_fold_scores(X, y, folds=2)
    assert np.isfinite(eo.out_of_fold_scores(X, y, folds=3)).all()
    assert np.isfinite(eo.out_of_fold_scores(X, y, estimator=GaussianNB(), folds=2)).all()
