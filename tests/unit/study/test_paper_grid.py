"""The paper's grid: the same p-values as one test at a time, and the trends it reports."""

import numpy as np
import pytest
from scipy import stats

import evenodds as eo
from evenodds.simulation.worlds import WORLDS, two_bells
from evenodds.study.paper import (
    ANCHOR_NUMBERS,
    NOISES,
    TOLERANCES,
    PaperGrid,
    Task,
    paper_pvalues,
)

SETTING = ("n_rows", "labels", "tolerance", "n_anchors", "run")


def where(table, **wanted):
    mask = np.ones(len(table["run"]), dtype=bool)
    for name, value in wanted.items():
        mask &= table[name] == value
    return mask


def rates(table, column="pvalue", **wanted):
    """Return the share of p-values below 5% for each number of anchors."""
    return np.array(
        [(table[column][where(table, n_anchors=k, **wanted)] < 0.05).mean() for k in ANCHOR_NUMBERS]
    )


@pytest.fixture(scope="module")
def table():
    """Return the paper's whole grid, 216,000 p-values, in seconds."""
    return paper_pvalues()[0]


def test_the_grid_has_every_pvalue_of_the_paper(table):
    assert len(table["pvalue"]) == 216_000


def test_no_run_of_the_grid_fails(table):
    assert not np.isnan(table["pvalue"]).any()


@pytest.mark.parametrize("run", [0, 3])
@pytest.mark.parametrize("place", range(len(TOLERANCES)))
@pytest.mark.parametrize("labels", ["clean", "corrupted"])
def test_pvalues_are_those_of_one_test_at_a_time(run, place, labels):
    task = Task(NOISES[1], 500, range(5))
    table, _ = paper_pvalues(NOISES[1:2], sizes=(500,), runs=5)
    draw = PaperGrid(two_bells(), None, 0).draw(task, run)
    y = draw.labels[("clean", "corrupted").index(labels)]
    for column, tolerance in (("pvalue", 0.0), ("pvalue_kept", TOLERANCES[place])):
        for k in ANCHOR_NUMBERS:
            anchors = eo.Anchors(
                draw.anchor_points[place, :k], tolerance=tolerance, shared_tolerance=0
            )
            expected = eo.asymmetry_test(draw.features, y, anchors, method="wald").pvalue
            mask = where(table, labels=labels, tolerance=TOLERANCES[place], n_anchors=k, run=run)
            assert table[column][mask] == pytest.approx([expected], abs=1e-6)


@pytest.mark.parametrize("method", [eo.Boundary(), eo.Joint()])
def test_noise_aware_pvalues_are_those_of_one_test_at_a_time(method):
    table, _ = paper_pvalues(NOISES[2:], sizes=(1000,), runs=1, method=method)
    draw = PaperGrid(two_bells(), method, 0).draw(Task(NOISES[2], 1000, range(1)), 0)
    anchors = eo.Anchors(draw.anchor_points[1, :4], tolerance=TOLERANCES[1], shared_tolerance=0)
    expected = eo.asymmetry_test(draw.features, draw.labels[1], anchors, method=method).pvalue
    mask = where(table, labels="corrupted", tolerance=TOLERANCES[1], n_anchors=4)
    assert table["pvalue"][mask] == pytest.approx([expected], abs=1e-6)


def test_one_process_and_two_give_the_same_grid():
    settings = {"sizes": (500, 1000), "runs": 40, "seed": 7}
    one, _ = paper_pvalues(NOISES[:1], **settings)
    two, _ = paper_pvalues(NOISES[:1], workers=2, **settings)
    assert all((one[name] == two[name]).all() for name in one)


def test_runs_do_not_depend_on_what_else_is_run():
    alone, _ = paper_pvalues(NOISES[2:], sizes=(1000,), runs=3)
    among, _ = paper_pvalues(NOISES, sizes=(500, 1000), runs=9)
    mask = where(among, alpha=0.3, n_rows=1000) & (among["run"] < 3)
    assert (among["pvalue"][mask] == alone["pvalue"]).all()


def test_exact_anchors_reject_as_often_as_was_measured(table):
    """2,000 runs of an independent program: .65 .84 .92 .98 .99 1.00."""
    measured = np.array([0.65, 0.84, 0.92, 0.98, 0.99, 1.0])
    error = np.sqrt(measured * (1 - measured) * (1 / 500 + 1 / 2000)) + 0.005
    found = rates(table, alpha=0.3, n_rows=1000, labels="corrupted", tolerance=0.0)
    assert (np.abs(found - measured) <= 3.3 * error).all()


def test_clean_labels_are_rejected_at_the_level(table):
    """All three grids have clean labels of their own: 1,500 runs."""
    low, high = stats.binom.ppf([1e-4, 1 - 1e-4], 1500, 0.05) / 1500
    found = rates(table, n_rows=5000, labels="clean", tolerance=0.0)
    assert (low <= found).all()
    assert (found <= high).all()


@pytest.mark.parametrize("noise", NOISES)
def test_power_grows_with_rows(table, noise):
    found = [
        rates(table, alpha=noise.alpha, beta=noise.beta, n_rows=n, labels="corrupted").mean()
        for n in (500, 1000, 2000, 5000)
    ]
    assert np.diff(found).min() > 0


@pytest.mark.parametrize("noise", NOISES)
def test_power_grows_with_anchors(table, noise):
    found = rates(table, alpha=noise.alpha, beta=noise.beta, labels="corrupted", tolerance=0.0)
    assert np.diff(found).min() > 0


def test_power_grows_with_the_difference_of_the_rates(table):
    found = [
        rates(table, alpha=noise.alpha, beta=noise.beta, labels="corrupted").mean()
        for noise in NOISES
    ]
    assert found[0] < found[1] < found[2]


def test_false_alarms_grow_with_tolerance_where_the_anchors_error_is_dropped(table):
    found = [rates(table, n_rows=5000, labels="clean", tolerance=t)[0] for t in TOLERANCES]
    assert found[0] < 0.08 < found[1] < 0.25 < found[2]


def test_those_false_alarms_fade_with_anchors(table):
    found = rates(table, n_rows=5000, labels="clean", tolerance=0.1)
    assert np.diff(found).max() < 0


@pytest.mark.parametrize("tolerance", TOLERANCES)
def test_there_are_none_where_the_anchors_error_is_kept(table, tolerance):
    found = rates(table, "pvalue_kept", n_rows=5000, labels="clean", tolerance=tolerance)
    assert found.max() <= stats.binom.ppf(1 - 1e-4, 1500, 0.05) / 1500


def test_uniform_noise_is_rejected_in_the_rare_world():
    """What the paper could not see: the plain curve moves although both rates are equal."""
    found, _ = paper_pvalues([eo.UniformNoise(0.1)], sizes=(5000,), world=WORLDS["rare"], runs=200)
    assert rates(found, labels="corrupted", tolerance=0.0)[2] > 0.6


def test_an_interrupt_keeps_what_is_finished():
    def stop(done, total):
        if done > total / 2:
            raise KeyboardInterrupt

    table, interrupted = paper_pvalues(NOISES[:1], sizes=(5000,), runs=60, progress=stop)
    assert interrupted
    assert 30 <= len(set(table["run"].tolist())) < 60


def test_a_world_that_repeats_rows_is_refused():
    with pytest.raises(eo.InputError, match=r"world 'clustered' repeats rows or misplaces anchors"):
        paper_pvalues(world=WORLDS["clustered"])
