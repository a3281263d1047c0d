"""Which cases count as toss-ups."""

import pytest

from evenodds.elicit.answers import toss_ups


def test_more_than_half_of_the_answers_decide(said):
    answers = [said(1, "toss-up"), said(2, "toss-up"), said(2, "positive", expert="Bob")]
    assert [found.case for found in toss_ups(answers)] == [1]


def test_skipping_says_nothing(said):
    answers = [said(1, "toss-up"), said(1, "skip", expert="Bob"), said(2, "skip")]
    assert [found.case for found in toss_ups(answers)] == [1]


def test_the_posterior_is_what_sliders_say_on_average(said):
    answers = [said(1, "toss-up", chance=0.6), said(1, "toss-up", expert="Bob")]
    assert toss_ups(answers)[0].posterior == pytest.approx(0.55)


def test_a_toss_up_that_its_slider_denies_is_none(said):
    assert toss_ups([said(1, "toss-up", chance=0.9)]) == []


def test_experts_are_named_once_each(said):
    answers = [said(1, "toss-up"), said(1, "toss-up", occasion=2), said(1, "toss-up", expert="Bob")]
    assert toss_ups(answers)[0].experts == ("Ada", "Bob")
