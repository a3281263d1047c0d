"""Rows, anchors or asymmetry from the power that is wanted."""

import re
from functools import partial

import pytest

import evenodds as eo
from evenodds.planning.expected_data import MOST_ANCHORS

NOISE = eo.ClassConditionalNoise(0.05, 0.15)
SUMMARY = eo.AnchorVariance(single=0.01, floor=0.002, n_rows=1000)
METHODS = ["wald", "boundary", "joint"]
# By the formula alone; test_correction.py is about its correction where rows are few.
sample_size, anchors_needed, detectable_asymmetry, power = (
    partial(solve, runs=0)
    for solve in (eo.sample_size, eo.anchors_needed, eo.detectable_asymmetry, eo.power)
)
# Rows and anchors are solved for here, so nothing is shared that neither of them lifts.
ALONE = {"shared_tolerance": 0}
every_method = pytest.mark.parametrize("method", METHODS)


def message_of(solve, *given, **settings):
    """Return what a refusal says."""
    with pytest.raises(eo.InputError) as caught:
        solve(*given, **settings)
    return str(caught.value)


def number_before(word, message):
    return int(re.search(rf"([\d,]+) {word}", message.split("It takes")[1])[1].replace(",", ""))


@pytest.mark.parametrize(("method", "wanted"), [("boundary", 0.9), ("joint", 0.5), ("wald", 0.9)])
def test_the_rows_returned_reach_the_power_and_fewer_do_not(method, wanted):
    given = {"n_anchors": 8, "method": method, **ALONE}
    n = sample_size("skewed", NOISE, power=wanted, **given)
    assert power("skewed", NOISE, n_rows=n, **given) >= wanted
    assert power("skewed", NOISE, n_rows=int(0.98 * n), **given) < wanted


@every_method
def test_the_anchors_returned_reach_the_power_and_one_less_does_not(method):
    given = {"n_rows": 700 if method == "joint" else 1500, "method": method, **ALONE}
    k = anchors_needed("skewed", NOISE, **given)
    assert k > 1
    assert power("skewed", NOISE, n_anchors=k, **given) >= 0.8
    assert power("skewed", NOISE, n_anchors=k - 1, **given) < 0.8


@pytest.mark.parametrize(
    ("method", "alternative"), [("boundary", "less"), ("joint", "greater"), ("wald", "less")]
)
def test_the_asymmetry_returned_reaches_the_power_and_a_smaller_one_does_not(method, alternative):
    given = {"n_rows": 2000, "n_anchors": 8, "method": method, "alternative": alternative, **ALONE}
    found = detectable_asymmetry("skewed", rate=0.1, **given)
    assert (found > 0) == (alternative == "greater")

    def reached(size):
        rates = (0.1, 0.1 + size) if alternative == "greater" else (0.1 + size, 0.1)
        return power("skewed", eo.ClassConditionalNoise(*rates), **given)

    assert reached(abs(found)) >= 0.8 - 1e-9
    assert reached(0.98 * abs(found)) < 0.8


def test_a_two_sided_asymmetry_is_found_whichever_class_is_flipped_more():
    given = {"n_rows": 5000, "n_anchors": 8}
    found = detectable_asymmetry("rare", rate=0.05, **given)
    ways = (0.05, 0.05 + found), (0.05 + found, 0.05)
    powers = [power("rare", eo.ClassConditionalNoise(*rates), **given) for rates in ways]
    assert min(powers) >= 0.8
    assert min(powers) < 0.82


def test_more_rows_find_a_smaller_asymmetry():
    sizes = [detectable_asymmetry(SUMMARY, n_rows=n, n_anchors=8, **ALONE) for n in (2000, 8000)]
    assert sizes[1] < 0.75 * sizes[0]


def test_an_easy_find_takes_the_fewest_rows_there_are():
    strong = eo.ClassConditionalNoise(0.0, 0.6)
    easy = eo.AnchorVariance(single=1e-6, n_rows=1000)
    assert sample_size(easy, strong, n_anchors=8, tolerance=0) == 20


def test_an_easy_find_takes_one_anchor():
    assert anchors_needed("skewed", NOISE, n_rows=100_000, tolerance=0) == 1


def test_joint_can_be_planned_without_anchors():
    n = sample_size("rare", NOISE, n_anchors=0, method="joint")
    assert power("rare", NOISE, n_rows=n, n_anchors=0, method="joint") >= 0.8


def test_summary_numbers_are_turned_around_too():
    n = sample_size(SUMMARY, NOISE, n_anchors=4, tolerance=0)
    k = anchors_needed(SUMMARY, NOISE, n_rows=n, tolerance=0)
    size = detectable_asymmetry(SUMMARY, n_rows=n, n_anchors=4, tolerance=0)
    assert power(SUMMARY, NOISE, n_rows=n, n_anchors=4, tolerance=0) >= 0.8
    assert k == 4
    assert size == pytest.approx(0.1, abs=0.002)


def test_too_vague_anchors_set_a_ceiling_that_the_message_names_and_lifts():
    given = {"n_anchors": 1, "tolerance": 0.1, **ALONE}
    message = message_of(sample_size, "rare", NOISE, **given)
    ceiling = power("rare", NOISE, n_rows=10**12, **given)
    assert message.startswith(
        "no number of rows reaches a power of 0.8: with 1 anchor known to ±0.1 the most is "
        f"{ceiling:.2f}. It takes at least "
    )
    anchors = number_before("anchors", message)
    tolerance = float(message.rstrip(".").rsplit(" ", 1)[1])

    def reached(**changes):
        return power("rare", NOISE, n_rows=10**12, **(given | changes))

    assert reached(n_anchors=anchors) >= 0.8 > reached(n_anchors=anchors - 1)
    assert reached(tolerance=tolerance) >= 0.8 > reached(tolerance=tolerance + 0.02)


def test_the_ceiling_of_summary_numbers_is_lifted_by_its_message_too():
    given = {"n_anchors": 2, "tolerance": 0.1, **ALONE}
    message = message_of(sample_size, SUMMARY, NOISE, **given)
    anchors = number_before("anchors", message)
    assert "with 2 anchors known to ±0.1 the most is" in message
    assert sample_size(SUMMARY, NOISE, n_anchors=anchors, tolerance=0.1, **ALONE) > 0


def test_a_shared_tolerance_that_was_not_stated_is_eased_with_the_tolerance():
    message = message_of(sample_size, SUMMARY, NOISE, n_anchors=8, tolerance=0.1)
    assert "with 8 anchors known to ±0.1 each and ±0.1 together the most is" in message
    tolerance = float(message.rstrip(".").rsplit(" ", 1)[1])
    assert sample_size(SUMMARY, NOISE, n_anchors=8, tolerance=tolerance) > 0


def test_what_all_anchors_share_is_lifted_by_neither_rows_nor_anchors():
    given = {"n_anchors": 2, "shared_tolerance": 0.1}
    message = message_of(sample_size, SUMMARY, NOISE, **given)
    assert "with 2 anchors known to ±0.05 each and ±0.1 together the most is" in message
    assert message.endswith("It takes a larger asymmetry, or a smaller shared tolerance.")


def test_too_few_rows_are_a_ceiling_for_anchors_that_the_message_names_and_lifts():
    message = message_of(anchors_needed, SUMMARY, NOISE, n_rows=1000, **ALONE)
    most = power(SUMMARY, NOISE, n_rows=1000, n_anchors=MOST_ANCHORS, **ALONE)
    assert message.startswith(
        "no number of anchors reaches a power of 0.8: with 1,000 rows the most is "
        f"{most:.2f}, at 1000 anchors. It takes at least "
    )
    rows = number_before("rows", message)
    assert anchors_needed(SUMMARY, NOISE, n_rows=rows, **ALONE) <= MOST_ANCHORS
    fewer = {"n_rows": int(0.98 * rows), "n_anchors": MOST_ANCHORS, **ALONE}
    assert power(SUMMARY, NOISE, **fewer) < 0.8


def test_anchors_are_no_remedy_for_what_they_share():
    message = message_of(anchors_needed, SUMMARY, NOISE, n_rows=100_000, shared_tolerance=0.1)
    assert "with 100,000 rows the most is" in message
    assert message.endswith("It takes a larger asymmetry, or a smaller shared tolerance.")


def test_summary_numbers_of_too_few_rows_are_refused_with_their_floor():
    vague = eo.AnchorVariance(single=0.1, floor=0.02)
    message = message_of(anchors_needed, vague, NOISE, tolerance=0)
    assert "with these summary numbers the most is" in message
    assert message.endswith("It takes a smaller floor, that is, more rows.")
    assert anchors_needed(eo.AnchorVariance(single=0.1, floor=1e-5), NOISE, tolerance=0) > 1


def test_an_asymmetry_that_cannot_be_found_is_refused():
    message = message_of(detectable_asymmetry, SUMMARY, n_rows=50, n_anchors=1, rate=0.3)
    assert message.startswith(
        "however much more often negatives are flipped than the 30% of positives, no power of 0.8 "
        "is reached: the most is "
    )
    assert message.endswith("Plan with more rows, more anchors or a smaller tolerance.")


def test_a_test_that_rejects_uniform_noise_is_refused_for_one_that_does_not():
    given = {"n_rows": 50_000, "n_anchors": 8, "rate": 0.2, **ALONE}
    message = message_of(detectable_asymmetry, "rare", method="wald", **given)
    assert message == (
        "on data like these this test rejects uniform noise of 0.2 with probability 1.00, so its "
        "rejections say nothing about an asymmetry: use method boundary."
    )
    assert 0 < detectable_asymmetry("rare", method="boundary", **given) < 0.1


@pytest.mark.parametrize("solve", [sample_size, anchors_needed])
@pytest.mark.parametrize(
    ("noise", "settings", "message"),
    [
        (
            eo.UniformNoise(0.1),
            {},
            "both flip rates are 0.1: there is no asymmetry to find. Give alpha and beta that "
            "differ.",
        ),
        (
            NOISE,
            {"alternative": "less"},
            "alternative is 'less' but beta − alpha is +0.10: a one-sided test looks the other",
        ),
        (
            NOISE,
            {"power": 0.05},
            "power is 0.05 but must be above 0.05 and below 1: no test rejects less often than its "
            "level, nor always.",
        ),
        (0.1, {}, "noise is 0.1: give ClassConditionalNoise(alpha, beta), the two flip rates"),
    ],
)
def test_nothing_to_find_is_refused(refused, solve, noise, settings, message):
    sizes = {"n_anchors": 4} if solve is sample_size else {"n_rows": 1000}
    with refused(message):
        solve("rare", noise, **sizes, **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rate": 0.5}, "rate is 0.5 but must be at least 0 and below 0.5: it is a flip rate."),
        ({"power": 1}, "power is 1 but must be above 0.05 and below 1: no test rejects"),
        ({"n_rows": None}, "n_rows is needed: a world does not say how much data you will have."),
    ],
)
def test_an_asymmetry_without_a_question_is_refused(refused, settings, message):
    with refused(message):
        detectable_asymmetry("rare", **({"n_rows": 1000, "n_anchors": 4} | settings))


def test_summary_numbers_for_unknown_rows_cannot_say_how_many_are_needed(refused):
    with refused("AnchorVariance has no n_rows, so how its variance shrinks with more rows is"):
        sample_size(eo.AnchorVariance(single=0.1), NOISE, n_anchors=4)
