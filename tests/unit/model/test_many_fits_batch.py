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


def test_plain_fits_equal_single_fits(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(800, 3))
    chances = 1 / (1 + np.exp(0.5 - X @ [1.0, -1.0, 0.5]))
    labels = rng.random((50, 800)) < chances
    monkeypatch.setattr("evenodds.model.many_fits.LABEL_NUMBERS", 800 * 7)
    single = np.array([eo.fit_logistic(X, row).coefficients for row in labels])
    assert np.abs(fit_labels(X, labels) - single).max() < 1e-8


def test_labels_without_a_fit_disturb_no_others():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 2))
    overlapping = rng.random(200) < 1 / (1 + np.exp(-X[:, 0]))
    labels = np.array([X[:, 0] > 0, overlapping, np.ones(200)])
    found = fit_labels(X, labels)
    assert np.isfinite(found).all()
    assert found[1] == pytest.approx(eo.fit_logistic(X, overlapping).coefficients, abs=1e-8)


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
