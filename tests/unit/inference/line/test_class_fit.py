"""The flip matrix by stated classes: the fit against others, and z of a pair."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import xlogy

from evenodds.inference.cases.line_fit import LineStatistic, fit_lines
from evenodds.inference.cases.strata import Strata
from evenodds.inference.line.class_fit import ClassLine, ClassStrata, Hypotheses, climb

PAIR = np.array([[1, 0]])


def _two(seed):
    """Return the same strata of two classes, for the line and for the flip matrix."""
    rng = np.random.default_rng(seed)
    shares = np.linspace(0.1, 0.9, 6) + rng.uniform(-0.05, 0.05, 6)
    n, m = rng.integers(200, 1000, 6).astype(float), rng.integers(6, 20, 6).astype(float)
    positive = rng.binomial(n.astype(int), 0.15 + 0.7 * shares).astype(float)
    said = [rng.beta(5 * c, 5 * (1 - c), int(k)) for c, k in zip(shares, m, strict=True)]
    stated = np.array([each.sum() for each in said])
    squares = np.array([((each - each.mean()) ** 2).sum() for each in said])
    products = squares[:, None, None] * np.array([[1, -1], [-1, 1]])
    labels = np.column_stack([n - positive, positive])
    matrix = ClassStrata(labels, m, np.column_stack([m - stated, stated]), products)
    return Strata(n, positive, m, stated, matrix.dispersion, matrix.freedom), matrix


def _three(seed, noise=0.15, n_strata=6):
    rng = np.random.default_rng(seed)
    flips = np.full((3, 3), noise / 2) + (1 - 1.5 * noise) * np.eye(3)
    shares = np.repeat(np.eye(3), n_strata // 3, axis=0) * 0.6 + rng.dirichlet([1, 1, 1], 6) * 0.4
    labels = np.array([rng.multinomial(600, share @ flips) for share in shares], dtype=float)
    said = [rng.dirichlet(10 * share + 0.01, 15) for share in shares]
    off = [each - each.mean(axis=0) for each in said]
    return ClassStrata(
        labels,
        np.full(n_strata, 15.0),
        np.array([each.sum(axis=0) for each in said]),
        np.array([each.T @ each for each in off]),
    )


@pytest.mark.parametrize("seed", range(8))
def test_with_two_classes_it_is_the_line(seed):
    line, strata = _two(seed)
    alone, matrix = LineStatistic.of(line, 0.05), ClassLine(strata, 0.05)
    tried = np.array([0.0, 0.1, -0.2])
    z = [matrix.z(PAIR, np.array([one]))[0] for one in tried]
    roots = alone.signed_root(fit_lines(line, tried), tried)
    np.testing.assert_allclose(z, roots, atol=1e-3)
    assert matrix.asymmetries(PAIR)[0] == pytest.approx(alone.estimate, abs=1e-3)
    assert matrix.strata.alike() == pytest.approx(float(line.alike()))
    low, high = matrix.ends(PAIR, 0.9)[0]
    np.testing.assert_allclose(alone(np.array([low, high])), [1.645, -1.645], atol=0.01)


@pytest.mark.parametrize("asymmetry", [None, 0.0, 0.1])
def test_no_general_optimiser_finds_a_likelier_matrix(asymmetry):
    strata = _three(3)
    wanted = None if asymmetry is None else Hypotheses(*np.array([[0], [2]]), np.array([asymmetry]))
    found = climb(strata, wanted)

    def unlikely(values):
        flips, shares = values[:9].reshape(3, 3), values[9:].reshape(6, 3)
        given = xlogy(strata.labels, shares @ flips).sum()
        return -(given + xlogy(strata.weighed, shares).sum()) / 1000

    sums = [{"type": "eq", "fun": lambda v: v.reshape(-1, 3).sum(axis=1) - 1}]
    if asymmetry is not None:
        sums.append({"type": "eq", "fun": lambda v: v[6] - v[2] - asymmetry})
    start = np.concatenate([found.flips.ravel(), found.shares.ravel()]) * 0.8 + 0.2 / 3
    other = minimize(
        unlikely,
        start,
        method="SLSQP",
        bounds=[(1e-9, 1)] * len(start),
        constraints=sums,
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert found.height[0] >= -1000 * other.fun - 1e-3
    if asymmetry is not None:
        flips = found.flips[0]
        assert flips[2, 0] - flips[0, 2] == pytest.approx(asymmetry, abs=1e-9)
    np.testing.assert_allclose(found.flips.sum(axis=-1), 1, atol=1e-9)


def test_classes_may_come_in_any_order():
    strata, order = _three(5), np.array([2, 0, 1])
    turned = ClassStrata(
        strata.labels[:, order],
        strata.judged,
        strata.stated[:, order],
        strata.products[:, order][:, :, order],
    )
    z = ClassLine(strata, 0.05).z(np.array([[0, 2], [2, 0]]), np.array([0.1, -0.1]))
    again = ClassLine(turned, 0.05).z(np.array([[1, 0]]), np.array([0.1]))
    assert z[0] == pytest.approx(-z[1], abs=1e-3)
    assert z[0] == pytest.approx(again[0], abs=1e-3)


def test_intervals_end_where_z_is_critical():
    line = ClassLine(_three(6), 0.0)
    pairs = line.strata.pairs
    ends = line.ends(pairs, 0.95)
    for side, sign in ((0, 1), (1, -1)):
        z = line.z(pairs, ends[:, side])
        np.testing.assert_allclose(z, sign * 1.96, atol=0.02)


def test_a_lean_of_experts_widens_z_as_it_moves_the_estimate():
    """An expert who says 0.02 too much of one class, and too little of another, in every answer."""
    strata, lean = _three(7), 0.02
    moved = strata.stated + lean * strata.judged[:, None] * np.array([1.0, -1.0, 0.0])
    leaning = ClassStrata(strata.labels, strata.judged, moved, strata.products)
    pair = np.array([[0, 1]])
    before, after = ClassLine(strata, 0.0), ClassLine(leaning, 0.0)
    flips = before.rates
    slope = flips[0, 0] + flips[1, 1] - flips[0, 1] - flips[1, 0]
    shift = after.asymmetries(pair)[0] - before.asymmetries(pair)[0]
    assert shift == pytest.approx(-slope * lean, abs=0.005)
    wide = ClassLine(strata, 0.05).standard_errors(pair)[0] ** 2
    assert wide - before.standard_errors(pair)[0] ** 2 == pytest.approx((slope * 0.05) ** 2 / 3)


def test_strata_that_do_not_span_the_classes_are_told():
    strata = _three(8)
    assert strata.alike() < 1e-6
    mixed = strata.labels.copy()
    mixed[:, 1] = mixed[:, 1:].sum(axis=1) * 0.4
    mixed[:, 2] = mixed[:, 1] * 1.5
    blind = ClassStrata(np.round(mixed), strata.judged, strata.stated, strata.products)
    assert blind.alike() > 0.05


def test_labels_that_no_matrix_makes_are_told():
    strata = _three(9)
    assert strata.misfit()[1] > 0.01
    odd = strata.labels.copy()
    odd[0] = odd[0][[1, 2, 0]]
    assert ClassStrata(odd, strata.judged, strata.stated, strata.products).misfit()[1] < 0.001
