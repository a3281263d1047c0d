"""A whole plan: one unknown, what lies around it, and the simulated check."""

import numpy as np
import pytest

import evenodds as eo
from evenodds.planning.plan import make_plan
from evenodds.planning.power import leaning, work_out
from evenodds.planning.question import read_question

NOISE = eo.ClassConditionalNoise(0.05, 0.15)
WALD = {"method": "wald", "tolerance": 0.0}


def boundary_question(design):
    return read_question(
        design, method=None, alternative="two-sided", tolerance=0.05, shared_tolerance=None,
        significance=0.05, seed=0,
    )  # fmt: skip


def test_rows_are_worked_out():
    plan = make_plan("paper", n_anchors=8, noise=NOISE, power=0.8, **WALD)
    assert plan.unknown == "rows"
    assert plan.n_rows == eo.sample_size("paper", NOISE, n_anchors=8, power=0.8, **WALD)


def test_anchors_are_worked_out():
    plan = make_plan("paper", n_rows=2000, noise=NOISE, power=0.8, **WALD)
    assert plan.unknown == "anchors"
    assert plan.n_anchors == eo.anchors_needed("paper", NOISE, n_rows=2000, power=0.8, **WALD)


def test_the_asymmetry_is_worked_out_on_top_of_the_lesser_rate():
    plan = make_plan("paper", n_rows=2000, n_anchors=8, power=0.8, rate=0.1, **WALD)
    assert plan.unknown == "asymmetry"
    assert min(plan.noise.alpha, plan.noise.beta) == 0.1
    assert plan.power == pytest.approx(0.8, abs=0.02)


def test_power_is_worked_out():
    plan = make_plan("paper", n_rows=2000, n_anchors=8, noise=NOISE, **WALD)
    assert plan.power == eo.power("paper", NOISE, n_rows=2000, n_anchors=8, **WALD)


def test_the_table_holds_the_plan():
    plan = make_plan("paper", n_rows=2000, n_anchors=8, noise=NOISE, **WALD)
    row, column = plan.row_numbers.index(2000), plan.anchor_numbers.index(8)
    assert plan.powers[row][column] == plan.power


def test_summary_numbers_need_no_rows():
    plan = make_plan(eo.AnchorVariance(single=0.1), n_anchors=8, noise=NOISE)
    assert (plan.unknown, plan.n_rows, plan.data) == ("power", None, "summary numbers")


def test_a_plan_is_simulated_under_its_noise_and_under_uniform_noise():
    told = []
    plan = make_plan(
        "paper", n_rows=500, n_anchors=4, noise=NOISE, runs=40,
        progress=lambda done, total: told.append((done, total)), **WALD,
    )  # fmt: skip
    settings = {"n_rows": 500, "n_anchors": 4, "runs": 40, **WALD}
    assert plan.simulated == eo.rejection_rate("paper", NOISE, **settings)
    assert plan.level == eo.rejection_rate("paper", eo.UniformNoise(0.1), **settings)
    assert told[-1] == (80, 80)


@pytest.mark.parametrize(
    ("given", "left_out"),
    [
        ({"n_anchors": 8}, "rows and asymmetry and power are left out"),
        ({"n_anchors": 8, "n_rows": 10, "noise": NOISE, "power": 0.8}, "all are given"),
    ],
)
def test_there_is_exactly_one_unknown(given, left_out):
    with pytest.raises(eo.InputError, match=f"{left_out}: leave out exactly one"):
        make_plan("paper", **given)


def test_without_anchors_the_joint_test_is_planned():
    plan = make_plan("rare", n_rows=2000, n_anchors=0, noise=NOISE, method="joint")
    assert plan.anchor_numbers == (0,)
    assert plan.power > 0.5


def test_the_harder_direction_is_planned():
    world = eo.data_world(
        np.random.default_rng(0).normal(size=(400, 2)), coefficients=[1.5, -2.0, -1.0]
    )
    given = {"n_rows": 1500, "n_anchors": 6}
    plan, _ = work_out(boundary_question(world), "asymmetry", rate=0.05, power=0.8, runs=0, **given)
    found = plan.noise.asymmetry
    powers = [eo.power(world, leaning(0.05, size), runs=0, **given) for size in (found, -found)]
    assert powers[0] == pytest.approx(0.8, abs=0.01)
    assert powers[1] > powers[0]


def test_the_level_is_worked_out_beside_the_power():
    given = {"n_rows": 3000, "n_anchors": 8, "noise": eo.ClassConditionalNoise(0.2, 0.3)}
    assert make_plan("rare", **given, **WALD).false_alarms > 0.4


def test_asking_twice_gives_the_same_power():
    question = boundary_question("skewed")
    first = question.power(NOISE, 1000, 4)
    question.power(NOISE, 50_000, 16)
    assert (
        question.power(NOISE, 1000, 4)
        == first
        == eo.power("skewed", NOISE, n_rows=1000, n_anchors=4, runs=0)
    )


def test_an_interrupt_stops_the_simulation():
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.warns(eo.ImprecisionWarning, match="interrupted after 20 of 60 runs"):
        plan = make_plan(
            "paper", n_rows=500, n_anchors=4, noise=NOISE, runs=60, progress=stop, **WALD
        )
    assert plan.interrupted
    assert plan.level is None
