import pytest

import evenodds as eo
from evenodds.report.sheet import WIDTH, SheetTable, View, aligned, describe, sheet_of, tabulated


@pytest.fixture(scope="module")
def result(labelled, toss_ups, wald):
    return wald(labelled.X, labelled.y, toss_ups)


def test_a_result_prints_itself(result):
    assert str(result) == describe(sheet_of(result, View()))


def test_sentences_keep_to_the_width(result):
    assert max(len(line) for line in str(result).splitlines()) <= WIDTH


@pytest.mark.parametrize(
    "fact", ["wald", "300 with 2 features", "3, tolerance ±0.05", "1 (the other is 0)"]
)
def test_the_text_holds_the_sizes_and_settings(result, fact):
    assert fact in str(result)


def test_the_interval_follows_the_significance(result):
    assert "90% interval" in describe(sheet_of(result, View(significance=0.1)))


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_a_one_sided_interval_has_no_number_on_its_open_side(labelled, toss_ups, wald, alternative):
    text = str(wald(labelled.X, labelled.y, toss_ups, alternative=alternative))
    bound = {"greater": "no upper bound", "less": "no lower bound"}[alternative]
    assert bound in text


def test_strict_anchors_are_called_exact(labelled, wald):
    result = wald(labelled.X, labelled.y, eo.Anchors([[0.0, 0.0]], tolerance=0))
    assert "exact" in str(result)


def test_a_shared_tolerance_is_shown(labelled, wald):
    anchors = eo.Anchors([[0.0, 0.0], [1.0, -1.0]], tolerance=[0.01, 0.02], shared_tolerance=0.1)
    assert "tolerance ±0.01 to ±0.02, shared ±0.1" in str(wald(labelled.X, labelled.y, anchors))


@pytest.mark.parametrize(
    ("stated", "said"),
    [(None, "shared ±0.05 (by default)"), (0, "shared none (as stated)")],
)
def test_the_text_says_whether_a_shared_tolerance_was_stated(labelled, wald, stated, said):
    anchors = eo.Anchors([[0.0, 0.0]], shared_tolerance=stated)
    assert f"1, tolerance ±0.05, {said}" in str(wald(labelled.X, labelled.y, anchors))


@pytest.mark.parametrize("fact", ["10 of 100 positive", "0.3 ± 0.05 stated"])
def test_a_prior_test_shows_its_numbers(fact):
    assert fact in str(eo.prior_test(10, 100, 0.3, prior_standard_error=0.05))


def test_a_prior_test_shows_the_noise_rate_it_found():
    assert "noise rate" in str(eo.prior_test(40, 100, 0.3))


def test_a_prior_test_shows_the_asymmetry_it_found():
    assert "beta − alpha = +0.200" in str(eo.prior_test(60, 100, 0.5))


def test_long_facts_keep_to_the_width():
    lines = aligned([("kind of noise", "a word " * 30 + "end"), ("rows", "300")])
    assert max(map(len, lines)) <= WIDTH
    assert [line[:17].strip() for line in lines] == ["", "kind of noise", "", "", "rows"]


def test_a_title_that_asks_has_no_colon():
    assert tabulated(SheetTable("Would it be seen?", ("a",), (("1",),)))[0] == "Would it be seen?"


def test_a_table_has_names_to_the_left_and_numbers_to_the_right():
    table = SheetTable("Annotators", ("name", "p"), (("Ann", "0.5"), ("Bo", "0.01")))
    assert tabulated(table) == ["Annotators:", "  name     p", "  Ann    0.5", "  Bo    0.01"]
