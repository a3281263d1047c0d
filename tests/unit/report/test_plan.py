"""A plan in words."""

import json
from dataclasses import replace

import pytest

import evenodds as eo
from evenodds.planning.plan import RowsRange, make_plan
from evenodds.report.figures import plan_figure
from evenodds.report.plan import plan_checks, plan_verdict
from evenodds.simulation.rejection import RejectionRate

NOISE = eo.ClassConditionalNoise(0.05, 0.15)


def measured(rate, low, high, failures=0):
    return RejectionRate(
        rate=rate, low=low, high=high, rejections=int(200 * rate), runs=200, failures=failures,
        significance=0.05,
    )  # fmt: skip


@pytest.fixture(scope="module")
def plan():
    return make_plan("paper", n_rows=2000, n_anchors=8, noise=NOISE, method="wald", tolerance=0)


def test_the_answer_comes_first(plan):
    assert plan_verdict(plan) == (
        f"The power is {plan.power:.2f}. With 2,000 rows and 8 toss-ups (strict), flips of 5.0% of "
        "positives and 15.0% of negatives (beta − alpha +0.100) would be found with probability "
        f"{plan.power:.2f} by the wald test at level 0.05."
    )


@pytest.mark.parametrize(
    ("unknown", "answer"),
    [
        ("rows", "You need about 2,000 rows."),
        ("anchors", "You need 8 toss-ups."),
        ("asymmetry", "An asymmetry of 0.100 could be found."),
    ],
)
def test_every_unknown_has_its_answer(plan, unknown, answer):
    assert plan_verdict(replace(plan, unknown=unknown)).startswith(answer)


def test_tolerances_are_said(plan):
    words = plan_verdict(replace(plan, tolerance=0.05, shared_tolerance=0.02))
    assert "8 toss-ups known to ±0.05 each and ±0.02 together" in words


def test_a_simulation_that_agrees_is_said_to(plan):
    checked = replace(plan, power=0.8, simulated=measured(0.81, 0.75, 0.86))
    assert plan_checks(checked)[0] == (
        "Simulated power: 0.81 (0.75 to 0.86, 200 runs), which agrees with the formula's 0.80."
    )


def test_a_simulation_that_differs_is_believed(plan):
    checked = replace(plan, power=0.8, simulated=measured(0.6, 0.53, 0.67))
    assert "differs from the formula's 0.80: trust the simulation" in plan_checks(checked)[0]


def test_a_level_that_does_not_hold_is_told(plan):
    broken = replace(plan, level=measured(0.4, 0.33, 0.47))
    assert (
        "the test rejects 0.40 (0.33 to 0.47, 200 runs); too often: use method boundary."
        in (plan_checks(broken)[0])
    )


def test_too_few_runs_to_tell_are_said_to_be(plan):
    few = replace(plan, power=0.8, simulated=measured(0.8, 0.6, 0.92))
    assert "the formula's 0.80 fits; more --runs would tell more closely" in plan_checks(few)[0]


def test_false_alarms_by_the_formula_are_told_without_a_simulation(plan):
    lopsided = replace(plan, false_alarms=0.57)
    assert plan_checks(lopsided)[0] == (
        "Where both classes are flipped at 10.0% the test rejects with probability 0.57, so this "
        "is no power: use method boundary."
    )


def test_a_level_that_holds_is_nominal(plan):
    assert (
        "rejects 0.05 (0.03 to 0.09, 200 runs); nominal 0.05."
        in (plan_checks(replace(plan, level=measured(0.05, 0.03, 0.09)))[0])
    )


def test_failed_fits_are_told(plan):
    failing = replace(plan, simulated=measured(0.8, 0.75, 0.86, failures=7))
    assert "In 7 simulated data sets no curve could be fitted" in plan_checks(failing)[-1]


def test_a_plan_not_simulated_says_so(plan):
    assert plan_checks(plan) == ["Not checked by simulation: --runs does that, up to 100,000 rows."]


def test_the_table_is_aligned(plan):
    lines = str(plan).splitlines()
    start = next(place for place, line in enumerate(lines) if line.endswith("32"))
    assert len({len(line) for line in lines[start : start + 8]}) == 1


def test_a_plan_is_a_result_like_others(plan, tmp_path):
    assert type(plan).from_dict(json.loads(json.dumps(plan.to_dict()))) == plan
    assert plan.to_frame().columns.tolist() == ["n_rows", "n_anchors", "power"]
    assert "The power is" in plan.report(tmp_path / "plan.html").read_text(encoding="utf-8")
    assert plan.plot().axes[0].get_xlabel() == "Number of rows"


def test_the_picture_names_its_axes_in_words(plan):
    (panel,) = plan_figure(replace(plan, simulated=measured(0.8, 0.75, 0.86))).axes
    assert panel.get_xlabel() == "Number of rows"
    assert "power" in panel.get_ylabel()


def test_the_picture_shows_plan_and_simulation(plan):
    (panel,) = plan_figure(replace(plan, simulated=measured(0.8, 0.75, 0.86))).axes
    names = [text.get_text() for text in panel.get_legend().get_texts()]
    assert {"8 toss-ups", "the plan", "simulated, 200 runs", "level of the test"} <= set(names)


def test_summary_numbers_without_rows_have_no_picture():
    plan = make_plan(eo.AnchorVariance(single=0.1), n_anchors=8, noise=NOISE)
    with pytest.raises(eo.InputError, match="has no number of rows to draw against: give --rows"):
        plan_figure(plan)


def from_pilot(plan, low, high):
    found = RowsRange(n_rows=2000, low=low, high=high, level=0.9, pilots=40)
    return replace(plan, unknown="rows", rows_range=found)


def test_the_range_of_a_pilot_stands_beside_the_rows(plan):
    assert plan_verdict(from_pilot(plan, 1200, 4100)).startswith(
        "You need about 2,000 rows (90% interval from the pilot: 1,200 to 4,100). With 2,000 rows"
    )


@pytest.mark.parametrize(
    ("high", "said"),
    [
        (4100, "from 40 simulated pilots of the same size."),
        (12_000, "of the same size. Its ends differ 10-fold: collect a larger pilot."),
        (None, "some of them find no number of rows enough. Collect a larger pilot."),
    ],
)
def test_the_range_is_explained(plan, high, said):
    assert plan_checks(from_pilot(plan, 1200, high))[0].endswith(said)


def test_a_range_without_end_says_so(plan):
    assert "(90% interval from the pilot: 1,200 to no number that is enough)" in plan_verdict(
        from_pilot(plan, 1200, None)
    )


def test_few_rows_without_a_correction_are_told(plan):
    assert plan_checks(replace(plan, few_rows=True))[0] == (
        "There are few rows for so many columns and so much noise, where the formula is too "
        "optimistic: --runs corrects it by simulation."
    )


def test_a_corrected_formula_is_called_one(plan):
    checked = replace(
        plan, power=0.8, few_rows=True, corrected=True, simulated=measured(0.81, 0.75, 0.86)
    )
    assert "which agrees with the corrected formula's 0.80" in plan_checks(checked)[0]


def test_the_picture_shows_the_range(plan):
    (panel,) = plan_figure(from_pilot(plan, 1200, 4100)).axes
    names = [text.get_text() for text in panel.get_legend().get_texts()]
    assert "90% interval from the pilot" in names


def test_rates_have_the_digits_that_tell_them_apart():
    said = str(eo.audit_size(eo.ClassConditionalNoise(0.2, 0.1999), prior=0.5))
    assert "20.00% of positives and 19.99% of negatives (beta − alpha −0.0001)" in " ".join(
        said.split()
    )
