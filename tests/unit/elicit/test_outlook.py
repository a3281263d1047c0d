"""What could be found is worked out aside, once each, the latest first."""

import threading
import time

import pytest

from evenodds.elicit.outlook import Outlook, Prospect
from evenodds.elicit.tolerance import judge
from evenodds.elicit.words import running_line
from evenodds.errors import InputError


def wait_for(outlook, prospect, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        known, found = outlook.ask(prospect)
        if known:
            return found
        time.sleep(0.01)
    raise TimeoutError


def test_asking_returns_at_once_and_later_knows():
    gate = threading.Event()
    outlook = Outlook(lambda prospect: gate.wait(10) and prospect.n_anchors / 100)
    prospect = Prospect(8, 0.1, 0.03)
    assert outlook.ask(prospect) == (False, None)
    gate.set()
    assert wait_for(outlook, prospect) == 0.08


def test_a_question_overtaken_is_left_out():
    gate, begun, asked = threading.Event(), threading.Event(), []

    def detect(prospect):
        asked.append(prospect.n_anchors)
        begun.set()
        gate.wait(10)
        return 0.1

    outlook = Outlook(detect)
    outlook.ask(Prospect(3, 0.1, 0.03))
    begun.wait(10)
    for number in (4, 6, 8):
        outlook.ask(Prospect(number, 0.1, 0.03))
    gate.set()
    wait_for(outlook, Prospect(8, 0.1, 0.03))
    assert asked == [3, 8]


def test_what_cannot_be_found_is_known_as_such():
    def detect(prospect):
        raise InputError("no asymmetry reaches a power of 0.8")

    assert wait_for(Outlook(detect), Prospect(3, 0.1, 0.03)) is None


@pytest.mark.parametrize(("found", "counted"), [(3, 3), (5, 4), (70, 64)])
def test_between_two_steps_the_lower_is_worked_out(found, counted):
    judgement = judge([], [], breadth=0.8)
    assert Prospect.of(found, judgement).n_anchors == counted


def test_two_toss_ups_are_not_worth_working_out():
    assert Prospect.of(2, judge([], [], breadth=0.8)) is None


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((0, 900, False, None), "No toss-up found yet; they will come."),
        ((1, 900, False, None), "1 toss-up found so far. What they can show is worked out"),
        ((4, 900, True, None), "That is not enough yet to find a difference of any size."),
        (
            (9, 1900, True, 0.1234),
            "With them, a test of these 1,900 rows would probably notice if the shares of wrong "
            "labels in the two classes differed by 12 in 100.",
        ),
    ],
)
def test_the_running_line(arguments, text):
    assert text in running_line(*arguments)


def test_what_a_test_of_these_rows_could_find_is_worked_out(desk):
    """Of 600 rows with rare positives, 8 toss-ups show a large asymmetry only."""
    found = wait_for(desk.outlook, Prospect(8, 0.15, 0.03), seconds=120)
    assert 0.1 < found < 0.6
