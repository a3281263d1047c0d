"""The line's likelihood against brute force, and the laws its statistic must obey."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit, ndtri, xlogy
from scipy.stats import f, t

from evenodds.inference.cases.line_fit import (
    GroupedRows,
    Lines,
    LineStatistic,
    first_order_variance,
    fit_lines,
    normal_of_t,
)
from evenodds.inference.cases.strata import Strata, dispersions
from evenodds.inference.line.ladder import ladder, of_one_fold
from evenodds.inference.profile import Reference


def draw(seed, alpha=0.1, beta=0.2, looked_up=False):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 9))
    shares = np.sort(rng.uniform(0.01, 0.95, size))
    n, judged = rng.integers(30, 2000, size), rng.integers(4, 15, size)
    positive = rng.binomial(n, beta + (1 - alpha - beta) * shares)
    said = [rng.beta(4 * c, 4 * (1 - c), m) for c, m in zip(shares, judged, strict=True)]
    if looked_up:
        said = [(rng.random(len(one)) < one).astype(float) for one in said]
    stated = np.array([one.sum() for one in said])
    squares = np.array([((one - one.mean()) ** 2).sum() for one in said])
    spread = np.ones(size) if looked_up else dispersions(squares, stated, judged.astype(float))
    freedom = np.inf if looked_up else float(judged.sum() - size)
    return Strata(
        n.astype(float), positive.astype(float), judged.astype(float), stated, spread, freedom
    )


def brute_force(strata, asymmetry):
    """Return the best log-likelihood over slope and shares, by a general optimiser."""

    def lost(values):
        slope = 1e-3 + (1 - abs(asymmetry) - 1e-3) * expit(values[0])
        shares = expit(values[1:])
        given = (1 - slope + asymmetry) / 2 + slope * shares
        labels = xlogy(strata.positive, given) + xlogy(strata.n - strata.positive, 1 - given)
        said = xlogy(strata.stated, shares) + xlogy(strata.judged - strata.stated, 1 - shares)
        return -(labels + said / strata.dispersion).sum()

    start = logit(np.clip(strata.stated / strata.judged, 0.02, 0.98))
    found = [
        minimize(lost, np.r_[slope, start], method="Nelder-Mead", options={"maxiter": 200})
        for slope in (-2, 0, 2, 5)
    ]
    best = [minimize(lost, one.x, method="BFGS", options={"gtol": 1e-9}).fun for one in found]
    return -min(best)


def rung_of(strata, noise):
    return next(
        rung for rung in ladder(LineStatistic.of(of_one_fold(strata))) if rung.noise == noise
    )


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize("looked_up", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_fit_is_as_good_as_brute_force(seed, looked_up):
    strata = draw(seed, looked_up=looked_up)
    asymmetries = np.array([-0.3, 0.0, 0.1])
    best = [brute_force(strata, asymmetry) for asymmetry in asymmetries]
    assert (fit_lines(strata, asymmetries).log_likelihood >= np.array(best) - 1e-6).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_estimate_is_where_the_likelihood_is_largest(seed):
    strata = draw(seed)
    statistic = LineStatistic.of(strata)
    across = np.linspace(-0.9, 0.9, 181)
    assert statistic.best.log_likelihood[0] >= fit_lines(strata, across).log_likelihood.max() - 1e-6


def sure_in_some(rng):
    """Strata of which some have only noes or only yeses: shares then sit on their bounds."""
    size = int(rng.integers(3, 9))
    n, judged = rng.integers(20, 3000, size), rng.integers(5, 20, size).astype(float)
    shares, (alpha, beta) = rng.beta(0.5, 0.5, size), rng.uniform(0, 0.35, 2)
    positive = rng.binomial(n, beta + (1 - alpha - beta) * shares).astype(float)
    stated = np.clip(judged * shares * rng.uniform(0.7, 1.3, size), 0, judged)
    stated = np.where(shares < 0.1, 0, np.where(shares > 0.9, judged, stated))
    return Strata(n.astype(float), positive, judged, stated, rng.uniform(0.05, 1, size), np.inf)


def test_no_slope_is_better_where_experts_are_sure():
    """A share that leaves its bound gets away from it, and the slope does not go in circles."""
    rng, asymmetries = np.random.default_rng(5), np.linspace(-0.3, 0.3, 13)
    slopes = 1e-3 + (1 - np.abs(asymmetries) - 1e-3)[:, None] * np.linspace(0, 1, 301)
    n, positive = np.array([112.0, 2465.0, 668.0, 2838.0]), np.array([1.0, 32.0, 184.0, 2086.0])
    stated = np.array([0.0, 0.0, 2.46, 7.97])
    known = Strata(n, positive, np.full(4, 10.0), stated, np.full(4, 0.4), np.inf)
    for strata in (known, *(sure_in_some(rng) for _ in range(120))):
        found = fit_lines(strata, asymmetries).log_likelihood
        tried = Lines.at(strata, slopes, asymmetries[:, None]).log_likelihood.max(axis=-1)
        near = tried > tried.max() - 20  # where a test looks; elsewhere any z will do
        assert (found - tried)[near].min() > -0.2


def test_the_best_asymmetry_is_found_where_experts_are_sure():
    rng, across = np.random.default_rng(0), np.linspace(-0.97, 0.97, 195)
    for _ in range(250):
        strata = sure_in_some(rng)
        best = LineStatistic.of(strata).best.log_likelihood[0]
        assert best > fit_lines(strata, across).log_likelihood.max() - 1e-3


@pytest.mark.parametrize(
    ("n", "positive", "stated", "spread"),
    [
        ([2e5, 5e3, 5e4], [0, 1217, 17400], [0, 2.855, 4.201], 0.1),
        ([2e5, 5e3, 5e3], [0, 0, 140], [0, 0, 0.169], 0.4),
    ],
)
def test_a_top_that_is_a_corner_at_no_asymmetry_is_found(n, positive, stated, spread):
    """A large stratum without a positive label: any flip of negatives costs it dearly."""
    strata = Strata(*map(np.array, (n, positive)), np.full(3, 12.0), np.array(stated),
                    np.full(3, spread), 32.0)  # fmt: skip
    found = LineStatistic.of(strata)
    heights = fit_lines(strata, np.linspace(-0.5, 0.5, 101)).log_likelihood
    assert found.best.log_likelihood[0] >= heights.max() - 1e-9
    assert (np.abs(found(np.array([-0.3, -0.2, -0.1]))) > 0.2).all()


@pytest.mark.parametrize("seed", range(5))
def test_z_falls_and_its_table_agrees(seed):
    statistic = LineStatistic.of(draw(seed), shared_tolerance=0.05)
    profile = statistic.profile()
    assert (np.diff(profile.z) <= 1e-6).all()
    assert profile.at_zero == pytest.approx(statistic.at_zero, abs=1e-8)
    ends = profile.interval(0.95, "two-sided", Reference())
    z = statistic(np.array([ends.low, ends.high]))
    np.testing.assert_allclose(z, [1.95996, -1.95996], atol=1e-3)


def test_swapping_the_classes_turns_the_sign():
    strata = draw(3)
    swapped = Strata(
        strata.n,
        strata.n - strata.positive,
        strata.judged,
        strata.judged - strata.stated,
        strata.dispersion,
        strata.freedom,
    )
    there, here = LineStatistic.of(swapped), LineStatistic.of(strata)
    assert there.estimate == pytest.approx(-here.estimate, abs=1e-6)
    assert there.at_zero == pytest.approx(-here.at_zero, abs=1e-6)


def test_a_perfect_line_is_read_off():
    shares = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    n, judged = np.full(5, 1e6), np.full(5, 1e5)
    given = 0.2 + (1 - 0.05 - 0.2) * shares
    strata = Strata(n, n * given, judged, judged * shares, np.ones(5), np.inf)
    statistic = LineStatistic.of(strata)
    assert statistic.estimate == pytest.approx(0.15, abs=1e-6)
    assert float(statistic.best.slope[0]) == pytest.approx(0.75, abs=1e-5)
    assert rung_of(strata, "class-conditional").pvalue > 0.99


def test_the_planning_formula_is_the_curvature_of_the_likelihood():
    shares, n, judged = np.array([0.1, 0.3, 0.5, 0.8]), np.full(4, 500.0), np.full(4, 12.0)
    given = 0.2 + (1 - 0.05 - 0.2) * shares
    strata = Strata(n, n * given, judged, judged * shares, np.full(4, 0.3), 44.0)
    here, step = 0.15, 1e-3
    near = fit_lines(strata, np.array([here - step, here, here + step]))
    curvature = -(near.score[2] - near.score[0]) / (2 * step)
    formula = first_order_variance(strata, near.slope[1], near.shares[1], here)
    assert 1 / curvature == pytest.approx(float(formula), rel=0.001)


def test_groups_that_do_not_matter_change_nothing():
    rng = np.random.default_rng(5)
    stratum, label = np.repeat(np.arange(4), 500), rng.random(2000)
    label = (label < np.repeat([0.2, 0.4, 0.6, 0.8], 500)).astype(float)
    case_stratum, said = np.repeat(np.arange(4), 12), rng.random(48)
    n, judged = np.full(4, 500.0), np.full(4, 12.0)
    positive, stated = np.bincount(stratum, label), np.bincount(case_stratum, said)
    strata = Strata(n, positive, judged, stated, np.full(4, 0.33), 44.0)
    alone = GroupedRows(
        group=np.arange(2048)[:2000],
        stratum=stratum,
        label=label,
        weight=np.ones(2000),
        case_group=np.arange(48),
        case_stratum=case_stratum,
        statement=said,
        pull=np.zeros(4),
    )
    statistic = LineStatistic.of(strata)
    assert statistic.widened_by(alone).inflation < 1.4
    copied = GroupedRows(
        group=np.tile(np.arange(20), 100),
        stratum=stratum,
        label=np.tile((rng.random(20) < 0.5).astype(float), 100),
        weight=np.ones(2000),
        case_group=np.arange(48) % 20,
        case_stratum=case_stratum,
        statement=said,
        pull=np.zeros(4),
    )
    assert statistic.widened_by(copied).inflation > 5


def test_t_becomes_a_normal_value_of_the_same_tail():
    z = normal_of_t(np.array([-3.0, 0.0, 2.0]), 10.0)
    assert z[2] == pytest.approx(-float(ndtri(t.sf(2.0, 10))))
    assert z[0] == pytest.approx(-float(-ndtri(t.sf(3.0, 10))))
    assert z[1] == 0


def test_rungs_are_compared_with_f():
    strata = draw(1)
    rung = rung_of(strata, "uniform")
    assert rung.pvalue == pytest.approx(f.sf(rung.statistic / rung.df, rung.df, strata.freedom))


def test_labels_weigh_in_the_ladder_as_those_of_one_fold():
    """A label moves the strata of other folds' rows; five such counts vary up to five times."""
    many = draw(1)
    fewer = replace(many, n=many.n / 5, positive=many.positive / 5)
    free = xlogy(fewer.positive, fewer.positive / fewer.n).sum()
    free += xlogy(fewer.n - fewer.positive, 1 - fewer.positive / fewer.n).sum()
    shares = many.stated / many.judged
    said = xlogy(many.stated, shares) + xlogy(many.judged - many.stated, 1 - shares)
    free += (said / many.dispersion).sum()
    best = LineStatistic.of(fewer).best.log_likelihood[0]
    assert rung_of(many, "class-conditional").statistic == pytest.approx(
        2 * (free - best), rel=1e-9
    )


def test_strata_are_left_out_all_at_once_as_one_by_one():
    strata = draw(2)
    whole, without = LineStatistic.of_each([strata, strata.without_each()], 0.03)
    assert whole.at_zero == pytest.approx(LineStatistic.of(strata, 0.03).at_zero, abs=1e-8)
    for place, z in enumerate(without(np.zeros(1))[:, 0]):
        kept = np.arange(len(strata)) != place
        others = Strata(
            strata.n[kept],
            strata.positive[kept],
            strata.judged[kept],
            strata.stated[kept],
            strata.dispersion[kept],
            strata.freedom - strata.judged[place] + 1,
        )
        assert z == pytest.approx(LineStatistic.of(others, 0.03).at_zero, abs=1e-8)


def nearly_flat():
    """Labels that differ between strata, and hardly follow what was looked up there."""
    return Strata(
        np.full(6, 603.0),
        np.array([465.0, 462, 448, 477, 485, 507]),
        np.array([11.0, 28, 12, 6, 11, 25]),
        np.array([11.0, 26, 7, 6, 5, 18]),
        np.ones(6),
        np.inf,
    )


def test_a_line_that_is_nearly_flat_is_found():
    """A grid of asymmetries once passed it by: the estimate was 0.05, not 0.57."""
    strata = nearly_flat()
    tried = fit_lines(strata, np.linspace(0.55, 0.6, 51)).log_likelihood
    found = LineStatistic.of(strata)
    assert found.best.log_likelihood[0] >= tried.max() - 1e-6
    assert found.estimate == pytest.approx(0.5716, abs=1e-3)


@pytest.mark.parametrize("strata", [nearly_flat(), draw(3), draw(4, 0, 0.2, looked_up=True)])
def test_no_asymmetry_is_ruled_out_if_one_further_off_is_not(strata):
    profile = LineStatistic.of(strata).profile()
    assert (np.diff(profile.z) <= 1e-12).all()


@pytest.mark.parametrize("asymmetry", [0.1, -0.2])
@pytest.mark.parametrize("shares", [np.linspace(0.05, 0.75, 6), np.linspace(0.4, 0.98, 6)])
def test_on_its_bound_z_has_the_tail_of_a_ray_that_ends_on_an_edge(asymmetry, shares):
    """Points around the end of the ray, drawn in the plane, against the tail by its angle."""
    size, slope = np.full(len(shares), 4000.0), 1 - abs(asymmetry)
    given = (1 - slope + asymmetry) / 2 + slope * shares
    strata = Strata(size, size * given, size, size * shares, np.ones(len(shares)), np.inf)
    statistic = LineStatistic.of(strata)
    fits = fit_lines(strata, np.array([asymmetry]))
    variances = (given * (1 - given) + slope**2 * shares * (1 - shares)) / size
    across = np.array([np.full(len(shares), 0.5), shares - 0.5])
    root = np.linalg.cholesky((across / variances) @ across.T).T
    drawn = np.random.default_rng(0).normal(size=(400_000, 2))
    ray, edge = root @ [0, -1], root @ [-np.sign(asymmetry), 1]
    outwards = root @ [np.sign(asymmetry), 0]
    ray, edge = ray / np.linalg.norm(ray), edge / np.linalg.norm(edge)
    normal = outwards - (outwards @ edge) * edge
    normal /= np.linalg.norm(normal)
    # The best point is the one drawn, or the nearest on the edge; the null's is the end itself.
    best = drawn - np.maximum(drawn @ normal, 0)[:, None] * normal
    at_end = drawn @ ray < 0
    drop = (drawn**2).sum(axis=1) - ((drawn - best) ** 2).sum(axis=1)
    side = np.sign((np.linalg.inv(root) @ best.T)[0])
    z = (side * np.sqrt(drop))[at_end]
    adjusted = statistic.on_bound(z, fits, np.array([asymmetry]))
    for level in (0.01, 0.05, 0.1):
        sides = [(side * adjusted > -ndtri(level)).mean() for side in (-1, 1)]
        # Exact to the side of the wider angle, careful to the other.
        assert max(sides) == pytest.approx(level, rel=0.05)
