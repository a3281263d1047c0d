"""Who sees which case next."""

import pytest

from evenodds.elicit.plan import GAP, Queue

CASES = tuple(range(100, 160))


@pytest.fixture
def sit(said):
    """Return a function that answers a whole queue and returns the answers."""

    def run(queue, expert="Ada", verdict=lambda case: "toss-up" if case % 4 == 0 else "positive"):
        given = []
        while (question := queue.next_question(expert, given)) is not None:
            given.append(
                said(
                    question.case, verdict(question.case), expert=expert, occasion=question.occasion
                )
            )
        return given

    return run


def test_every_case_is_asked_once_and_some_come_back(sit):
    answers = sit(Queue(CASES, 12, seed=1))
    first = [answer.case for answer in answers if answer.occasion == 1]
    again = [answer.case for answer in answers if answer.occasion == 2]
    assert (sorted(first), len(again), len(set(again))) == (sorted(CASES), 12, 12)


def test_a_case_comes_back_after_a_while(sit):
    answers = sit(Queue(CASES, 12, seed=1))
    place = {answer.case: number for number, answer in enumerate(answers) if answer.occasion == 1}
    gaps = [n - place[a.case] for n, a in enumerate(answers) if a.occasion == 2]
    assert min(gaps) > GAP


def test_most_that_come_back_were_toss_ups_but_not_all(sit):
    again = [a for a in sit(Queue(CASES, 12, seed=1)) if a.occasion == 2]
    # Two in three, but for a turn that comes before any toss-up has been away long enough.
    assert 7 <= sum(answer.verdict == "toss-up" for answer in again) <= 8


def test_repeats_are_spread_over_the_sitting(sit):
    answers = sit(Queue(CASES, 12, seed=1))
    places = [number for number, answer in enumerate(answers) if answer.occasion == 2]
    assert places[0] < len(answers) / 3
    assert len({place // 18 for place in places}) == 4


def test_experts_get_the_same_cases_in_an_order_of_their_own(sit):
    queue = Queue(CASES, 0, seed=1)
    ada, bob = ([answer.case for answer in sit(queue, name)] for name in ("Ada", "Bob"))
    assert ada != bob
    assert sorted(ada) == sorted(bob)


def test_each_round_of_the_order_holds_a_round_of_the_band(sit):
    order = [answer.case for answer in sit(Queue(CASES, 0, seed=1))]
    assert sorted(order[:12]) == list(CASES[:12])


def test_taking_an_answer_back_asks_the_same_again(said):
    queue = Queue(CASES, 12, seed=1)
    given = []
    for _ in range(30):
        question = queue.next_question("Ada", given)
        given.append(said(question.case, "toss-up", occasion=question.occasion))
    assert queue.next_question("Ada", given[:-1]) == question


def test_a_skipped_case_does_not_come_back(sit):
    answers = sit(Queue(CASES, 12, seed=1), verdict=lambda _: "skip")
    assert len(answers) == len(CASES)
