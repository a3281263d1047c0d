"""Many fits at once against the same fits one by one."""

import numpy as np
import pytest

import evenodds as eo
from evenodds.inference.null_fits import AnchorEquations, NullFits, equal_weights
from evenodds.model.logistic import climb
from evenodds.model.many_fits import PairProducts, batches, fit_labels
from evenodds.model.noisy_batch import BatchProblem
from evenodds.model.noisy_fit import climb_noisy, find_tops
from evenodds.model.noisy_likelihood import NoisyProblem
from evenodds.rows.memory import read_rows
from evenodds.simulation.worlds import find_world, many_features, two_bells


def drawn_labels(n_rows, n_columns, n_labels, seed=1):
    """Return features and label vectors drawn from one curve."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    slopes = rng.normal(size=n_columns)
    chances = 1 / (1 + np.exp(0.5 - 2 * X @ slopes / np.linalg.norm(slopes)))
    return X, rng.random((n_labels, n_rows)) < chances


def to_the_floor(X, labels):
    """Return the coefficients of Newton's method in plain NumPy, until steps stop shrinking."""
    design, theta, last = np.column_stack([np.ones(len(X)), X]), np.zeros(X.shape[1] + 1), np.inf
    while True:
        p = 1 / (1 + np.exp(-design @ theta))
        information = (design * (p * (1 - p))[:, None]).T @ design
        step = np.linalg.solve(information, design.T @ (labels - p))
        if np.abs(step).max() >= last:
            return theta
        theta, last = theta + step, np.abs(step).max()


@pytest.mark.parametrize("piece", [1 << 18, 1 << 14])
@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_labels"),
    [(2000, 5, 60), (150, 3, 80), (600, 12, 100), (600, 12, 20), (5000, 1, 9)],
)
def test_plain_fits_are_those_of_newton_at_the_rounding_floor(
    n_rows, n_columns, n_labels, piece, monkeypatch
):
    """With many label vectors or few, close to their common centre or not."""
    X, labels = drawn_labels(n_rows, n_columns, n_labels)
    monkeypatch.setattr("evenodds.model.many_fits.PIECE_BYTES", piece)
    monkeypatch.setattr("evenodds.model.many_fits.LABEL_NUMBERS", n_rows * 7)
    single = np.array([to_the_floor(X, row) for row in labels])
    assert np.abs(fit_labels(X, labels) - single).max() < 1e-10


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float64])
def test_labels_may_be_of_any_type(dtype):
    X, labels = drawn_labels(300, 2, 20)
    np.testing.assert_array_equal(fit_labels(X, labels.astype(dtype)), fit_labels(X, labels))


def test_columns_far_from_zero_are_fitted():
    """Their curvature has no digits left in single precision."""
    X, labels = drawn_labels(400, 2, 20)
    moved = fit_labels(X + np.array([100.0, 0.0]), labels)
    moved[:, 0] += 100 * moved[:, 1]
    np.testing.assert_allclose(moved, fit_labels(X, labels), atol=1e-10)


def test_labels_without_a_fit_disturb_no_others():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 2))
    overlapping = rng.random((30, 200)) < 1 / (1 + np.exp(-X[:, 0]))
    for few in (overlapping[:1], overlapping):
        labels = np.array([X[:, 0] > 0, *few, np.ones(200)])
        found = fit_labels(X, labels)
        assert np.isfinite(found).all()
        single = [eo.fit_logistic(X, row).coefficients for row in few]
        np.testing.assert_allclose(found[1:-1], single, atol=1e-10)


def test_labels_that_all_have_no_fit_are_said_to_have_none():
    X = np.random.default_rng(5).normal(size=(50, 1))
    assert (fit_labels(X, np.ones((9, 50))) == 0).all()


def test_batches_cover_every_replicate_once():
    covered = np.concatenate([np.arange(part.start, part.stop) for part in batches(1001, 700)])
    assert (covered == np.arange(1001)).all()


def test_pair_products_give_every_gram_matrix():
    rng = np.random.default_rng(2)
    design, weights = rng.normal(size=(30, 4)), rng.random((5, 30))
    expected = [(design * row[:, None]).T @ design for row in weights]
    assert np.allclose(PairProducts.of(design).grams(weights), expected, atol=1e-13)


def test_products_made_in_pieces_give_the_same(monkeypatch):
    rng = np.random.default_rng(2)
    design, weights = rng.normal(size=(301, 4)), rng.random((5, 301))
    kept = PairProducts.of(design).grams(weights)
    monkeypatch.setattr("evenodds.model.many_fits.MOST_KEPT_PRODUCTS", 0)
    monkeypatch.setattr("evenodds.model.many_fits.BATCH_NUMBERS", 500)
    assert np.allclose(PairProducts.of(design).grams(weights), kept, rtol=1e-13)


@pytest.mark.parametrize("tolerance", [0.0, 0.1])
@pytest.mark.parametrize(
    "world",
    [two_bells(), two_bells(0.15), find_world("skewed"), many_features(4)],
    ids=lambda w: w.name,
)
def test_noise_aware_fits_equal_single_fits(world, tolerance):
    rng = np.random.default_rng(3)
    X, y = world.draw_rows(1200, rng)
    anchors = world.draw_anchors(3, rng, tolerance=tolerance)
    rows = read_rows(X, eo.UniformNoise(0.1).flip(y, rng))
    scaled, optimum = climb(rows)
    problem = NoisyProblem.of(rows, scaled.scaling)
    one = AnchorEquations.of(anchors, anchors.points, problem).averaged(equal_weights(3))
    evidence = one.evidence()
    null = NullFits(problem, evidence, optimum.coefficients).at(0.0)
    design = problem.design(X)
    steps = 1 / (1 + np.exp(-design @ null.point.coefficients))
    labels = rng.random((8, 1200)) < null.point.rate + (1 - 2 * null.point.rate) * steps
    pulls = np.tile(evidence.pull, (8, 1))
    many = BatchProblem(PairProducts.of(design), evidence, 0.0).fit(labels, pulls, null.point)
    for number, row in enumerate(labels):
        replicate = read_rows(X, row)
        plain = climb(replicate)[1].coefficients
        alone = NoisyProblem(replicate, scaled.scaling)
        tops = find_tops(alone, evidence, 0.0, plain)
        drawn_from = climb_noisy(alone, evidence, 0.0, null.point)
        single = max(tops[0], drawn_from, key=lambda end: end.objective)
        gap = np.abs(single.point.coefficients - many.coefficients[number]).max()
        assert max(gap, abs(single.point.rate - many.rates[number])) < 1e-8
