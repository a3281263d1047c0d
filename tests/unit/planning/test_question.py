"""What a plan asks, checked at the door."""

import pytest

import evenodds as eo
from evenodds.planning.question import check_anchor_number, check_rows, read_question
from evenodds.simulation.worlds import find_world

NOISE = eo.ClassConditionalNoise(0.05, 0.15)
SUMMARY = eo.AnchorVariance(single=0.01, floor=0.002, n_rows=1000)


def question(design="rare", **changes):
    settings = {
        "method": None,
        "alternative": "two-sided",
        "tolerance": 0.05,
        "shared_tolerance": 0.0,
        "significance": 0.05,
        "seed": 0,
    }
    return read_question(design, **(settings | changes))


def test_a_world_is_planned_with_the_boundary_test():
    assert question().method == eo.Boundary()


def test_summary_numbers_are_planned_with_the_papers_test():
    assert question(SUMMARY).method == eo.Wald()


def test_a_world_is_found_by_its_name():
    assert question("skewed").design is find_world("skewed")


def test_rows_may_be_left_out_with_summary_numbers():
    assert check_rows(None, question(SUMMARY)) is None


def test_joint_alone_needs_no_anchors():
    assert check_anchor_number(0, question(method="joint")) == 0


def test_summary_numbers_allow_any_number_of_anchors():
    assert check_anchor_number(5000, question(SUMMARY)) == 5000


@pytest.mark.parametrize(
    ("design", "changes", "message"),
    [
        (
            SUMMARY,
            {"method": "boundary"},
            "an AnchorVariance describes method 'wald' only: for other methods plan from a world, "
            "such as data_world(X, y) of a pilot sample.",
        ),
        (
            "rare",
            {"method": eo.Boundary("optimal")},
            "weights is 'optimal' but plans are worked out for equal weights: use rejection_rate, "
            "which simulates.",
        ),
        (
            "rare",
            {"method": eo.Joint("bootstrap")},
            "calibration is 'bootstrap' but plans are worked out for the normal law: use "
            "rejection_rate, which simulates.",
        ),
        ("rare", {"method": "wold"}, "method is 'wold' but must be one of"),
        ("papper", {}, "world is 'papper' but must be one of 'paper', 'rare', 'skewed'"),
        ("rare", {"alternative": "more"}, "alternative is 'more' but must be one of"),
        ("rare", {"tolerance": -0.1}, "tolerance is -0.1 but must be at least 0 and below 0.5."),
        (
            "rare",
            {"tolerance": 0.3, "shared_tolerance": 0.3},
            "tolerance + shared_tolerance is 0.6 but must be below 0.5: it is a distance from 1/2.",
        ),
        ("rare", {"significance": 1}, "significance is 1 but must be above 0 and below 1."),
        ("rare", {"seed": 1.5}, "seed is 1.5 but must be a whole number of at least 0."),
    ],
)
def test_questions_without_an_answer_are_refused(refused, design, changes, message):
    with refused(message):
        question(design, **changes)


@pytest.mark.parametrize(
    ("n_rows", "message"),
    [
        (None, "n_rows is needed: a world does not say how much data you will have."),
        (0, "n_rows is 0 but must be a whole number of at least 1."),
    ],
)
def test_rows_that_make_no_plan_are_refused(refused, n_rows, message):
    with refused(message):
        check_rows(n_rows, question())


@pytest.mark.parametrize(
    ("n_anchors", "message"),
    [
        (0, "n_anchors is 0 but must be a whole number of at least 1."),
        (1001, "n_anchors is 1001 but plans consider at most 1000."),
    ],
)
def test_anchors_that_make_no_plan_are_refused(refused, n_anchors, message):
    with refused(message):
        check_anchor_number(n_anchors, question())
