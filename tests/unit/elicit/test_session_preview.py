"""What could be found is worked out aside, once each, the latest first."""

import threading
import time
from dataclasses import replace

import pytest

from evenodds.elicit.answers import TossUp, judge
from evenodds.elicit.session import Preview, View, prospect_of, running_line
from evenodds.errors import InputError
from evenodds.planning.expected_data import AnchorPlan


def wait_for(preview, prospect, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        view = preview.ask(prospect)
        if not view.working:
            return view
        time.sleep(0.01)
    raise TimeoutError


def toss_ups(n_anchors, tolerance, shared_tolerance):
    return AnchorPlan(n_anchors=n_anchors, tolerance=tolerance, shared_tolerance=shared_tolerance)


def prospect_with(n_toss_ups):
    found = tuple(TossUp(case, 0.5, ("Ada",)) for case in range(n_toss_ups))
    return prospect_of(replace(judge([], breadth=0.8), toss_ups=found))


def looking(detect):
    return Preview(lambda: detect)


def test_asking_returns_at_once_and_later_knows():
    gate = threading.Event()
    preview = looking(lambda prospect: gate.wait(10) and prospect.n_anchors / 100)
    prospect = toss_ups(8, 0.1, 0.03)
    assert preview.ask(prospect) == View("unknown", working=True)
    gate.set()
    assert wait_for(preview, prospect) == View("known", 0.08)


def test_nothing_is_prepared_before_it_is_asked_for():
    prepared = []
    preview = Preview(lambda: prepared.append("once") or (lambda prospect: 0.1))
    assert prepared == []
    wait_for(preview, toss_ups(3, 0.1, 0.03))
    wait_for(preview, toss_ups(4, 0.1, 0.03))
    assert prepared == ["once"]


def test_the_old_value_stays_until_the_new_one_is_there():
    gate = threading.Event()
    gate.set()
    preview = looking(lambda prospect: gate.wait(10) and prospect.n_anchors / 100)
    wait_for(preview, toss_ups(3, 0.1, 0.03))
    gate.clear()
    assert preview.ask(toss_ups(8, 0.1, 0.03)) == View("known", 0.03, working=True)
    gate.set()
    assert wait_for(preview, toss_ups(8, 0.1, 0.03)) == View("known", 0.08)


def test_a_question_overtaken_is_left_out():
    gate, begun, asked = threading.Event(), threading.Event(), []

    def detect(prospect):
        asked.append(prospect.n_anchors)
        begun.set()
        gate.wait(10)
        return 0.1

    preview = looking(detect)
    preview.ask(toss_ups(3, 0.1, 0.03))
    begun.wait(10)
    for number in (4, 6, 8):
        preview.ask(toss_ups(number, 0.1, 0.03))
    gate.set()
    wait_for(preview, toss_ups(8, 0.1, 0.03))
    assert asked == [3, 8]


def test_what_cannot_be_found_is_known_as_such():
    def detect(prospect):
        raise InputError("no asymmetry reaches a power of 0.8")

    assert wait_for(looking(detect), toss_ups(3, 0.1, 0.03)) == View("known", None)


@pytest.mark.parametrize("error", [InputError("no slope but 0"), ArithmeticError("overflow")])
def test_an_outlook_that_cannot_be_prepared_is_not_taken_for_too_few_toss_ups(error):
    def prepare():
        raise error

    assert wait_for(Preview(prepare), toss_ups(3, 0.1, 0.03)) == View("unavailable")


@pytest.mark.parametrize(("found", "counted"), [(3, 3), (5, 4), (70, 64)])
def test_between_two_steps_the_lower_is_worked_out(found, counted):
    assert prospect_with(found).n_anchors == counted


def test_two_toss_ups_are_not_worth_working_out():
    assert prospect_with(2) is None


LARGE = (
    "a test of these 1,900 rows would probably notice if the shares of wrong labels in the two "
    "classes differed by 12 in 100."
)


@pytest.mark.parametrize(
    ("n_own", "view", "alone", "text"),
    [
        (0, View("unknown"), True, "No toss-up found yet."),
        (0, View("known", 0.1), False, "No toss-up found yet."),
        (1, View("unknown"), True, "1 toss-up found so far. What they can show appears here"),
        (3, View("unavailable"), True, "3 toss-ups found so far."),
        (4, View("known"), True, "That is not enough yet to find a difference of any size."),
        (9, View("known", 0.1234), True, f"With them, {LARGE}"),
        (9, View("known", 0.1234), False, f"With those of all experts, {LARGE}"),
    ],
)
def test_the_running_line(n_own, view, alone, text):
    assert text in running_line(n_own, 1900, view, alone=alone)


def test_the_line_says_no_more_than_the_count_where_nothing_can_be_worked_out():
    assert running_line(3, 1900, View("unavailable")) == "3 toss-ups found so far."


def test_what_a_test_of_these_rows_could_find_is_worked_out(session):
    """Of 600 rows with rare positives, 8 toss-ups show a large asymmetry only."""
    found = wait_for(session.preview, toss_ups(8, 0.15, 0.03), seconds=120)
    assert 0.1 < found.asymmetry < 0.6
