"""Plans of a line test: simulation agrees, what is worked out reaches what was asked."""

import numpy as np
import pytest
from tests.calibration.line import POWER_CELLS, ROWS, SHAPES

import evenodds as eo

NOISE = eo.ClassConditionalNoise(0.05, 0.2)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    scores = rng.beta(1, 2, size=8000)
    return scores, (rng.random(8000) < scores).astype(int)


@pytest.mark.parametrize("cell", POWER_CELLS[2:4] + POWER_CELLS[8:10], ids=lambda cell: cell.name)
def test_the_power_is_that_of_simulated_strata(cell):
    """Scores with the strata of a simulated cell; 300 runs have a standard error of 0.03."""
    shares = SHAPES[cell.shape](cell.n_strata)
    given = cell.beta + (1 - cell.alpha - cell.beta) * shares
    labels = np.concatenate([np.arange(ROWS) < round(ROWS * share) for share in given])
    steps = np.repeat(np.r_[0.05, (np.arange(cell.n_strata - 2) + 0.65) / 4, 0.95], ROWS)
    plan = eo.line_plan(
        steps,
        labels,
        n_cases=cell.n_cases,
        noise=NOISE,
        answers="looked-up" if cell.looked_up else "probability",
        shared_tolerance=0,
    )
    assert plan.n_strata == cell.n_strata
    assert plan.power == pytest.approx(cell.judge(74, range(300))[0] / 300, abs=0.05 + 0.06)


def test_the_cases_returned_reach_the_power_and_fewer_do_not(data):
    plan = eo.line_plan(*data, noise=NOISE, power=0.8)
    fewer = eo.line_plan(*data, noise=NOISE, n_cases=plan.n_cases - 1)
    assert plan.unknown == "cases"
    assert plan.power >= 0.8 > fewer.power


def test_the_asymmetry_returned_reaches_the_power_in_either_direction(data):
    plan = eo.line_plan(*data, n_cases=60, power=0.8, rate=0.1)
    size = abs(plan.noise.asymmetry)
    for noise in (
        eo.ClassConditionalNoise(0.1, 0.1 + size),
        eo.ClassConditionalNoise(0.1 + size, 0.1),
    ):
        assert eo.line_plan(*data, n_cases=60, noise=noise).power >= 0.795


def test_looked_up_answers_and_a_lean_cost_power(data):
    stated = eo.line_plan(*data, noise=NOISE, n_cases=60, shared_tolerance=0)
    assert stated.power > eo.line_plan(*data, noise=NOISE, n_cases=60).power
    assert stated.power > eo.line_plan(*data, noise=NOISE, n_cases=60, answers="looked-up").power


def test_no_asymmetry_is_found_at_the_level(data):
    assert eo.line_plan(*data, noise=eo.UniformNoise(0.1), n_cases=60).power == pytest.approx(
        0.05, abs=0.005
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "one of n_cases, noise and power from the other two"),
        ({"n_cases": 60, "power": 0.8, "noise": NOISE}, "none of them is left out"),
        ({"n_cases": 5, "noise": NOISE}, "n_cases is 5 but must be a whole number of at least 12"),
        ({"n_cases": 60, "power": 1.2}, "power is 1.2"),
        ({"noise": eo.ClassConditionalNoise(0.1, 0.105), "power": 0.9}, "no number of cases reach"),
        ({"n_cases": 12, "power": 0.99, "rate": 0.45}, "no asymmetry is found"),
        ({"noise": eo.UniformNoise(0.05), "power": 0.8}, "both flip rates are 0.05: there is no"),
        ({"n_cases": 60, "noise": NOISE, "dispersion": 2}, "dispersion is 2"),
    ],
)
def test_what_cannot_be_planned_is_refused(data, changes, message):
    with pytest.raises(eo.InputError, match=message):
        eo.line_plan(*data, **changes)


def test_a_plan_is_told_and_stored(data):
    plan = eo.line_plan(*data, noise=NOISE, power=0.8)
    assert type(plan).from_dict(plan.to_dict()) == plan
    assert f"Have {plan.n_cases} cases judged." in plan.summary()
    assert len(plan.to_frame()) == len(plan.powers)


def test_a_score_that_tells_nothing_of_the_labels_is_planned_no_test():
    rng = np.random.default_rng(0)
    scores = rng.random(600)
    labels = (np.arange(600) % 2).astype(int)
    with pytest.raises(eo.InputError, match="labels are much the same in all strata of the score"):
        eo.line_plan(scores, labels, n_cases=60, noise=NOISE)


def test_answers_that_may_hardly_speak_of_a_class_cost_power():
    """The test wants chances of either class that add up to 3 cases."""
    rng = np.random.default_rng(5)
    eta = 0.5 * rng.beta(0.1, 1.9, 20_000)
    noise = eo.ClassConditionalNoise(0.05, 0.15)
    withheld, rejected, powers = 0, 0, []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        given = noise.flip((rng.random(20_000) < eta).astype(int), rng)
        scores = 0.15 + 0.8 * eta
        cases = eo.choose_cases(scores, n_cases=60, seed=seed)
        found = eo.line_test(scores, given, cases, eta[cases.rows], answers="probability")
        powers.append(eo.line_plan(scores, given, n_cases=60, noise=noise).power)
        withheld, rejected = (
            withheld + (found.withheld is not None),
            rejected + (found.pvalue < 0.05),
        )
    assert withheld >= 10
    assert rejected == 0
    assert max(powers) < 0.1
