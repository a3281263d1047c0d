"""Answers of any tool, as an audit or in the order of a draw."""

from dataclasses import replace

import numpy as np
import pytest

import evenodds as eo
from evenodds.bridges.annotations import Annotation, Annotations, tasks_of

CLASSES = ("healthy", "ill")


def told(*answers, **items):
    """Return answers as (item, annotator, said), with a star where it is the truth."""
    made = tuple(
        Annotation(
            place=f"task {number}",
            item=item,
            annotator=who.rstrip("*"),
            said=said,
            is_truth=who.endswith("*"),
        )
        for number, (item, who, said) in enumerate(answers, 1)
    )
    fields = {one.item: items.get(one.item, {}) for one in made} | items
    return Annotations(source="export", answers=made, items=fields)


def test_what_is_marked_as_truth_is_nobodys_label():
    both = told(
        ("a", "ada", "ill"), ("a", "bob", "healthy"), ("a", "eve*", "ill"), ("b", "ada", "x")
    )
    audited = both.audit()
    assert audited.given.tolist() == ["ill", "healthy"]
    assert audited.true.tolist() == ["ill", "ill"]
    assert audited.annotators.tolist() == ["ada", "bob"]
    assert audited.items.tolist() == ["a", "a"]
    assert both.columns()["true"] == ["ill", "ill", None]


def test_an_annotator_may_hold_the_truth():
    both = told(("a", "ada", "ill"), ("a", "eve", "healthy"))
    assert both.audit(truth="eve").true.tolist() == ["healthy"]


def test_the_given_label_may_be_a_field_also_of_items_that_nobody_answered():
    fields = {"a": {"judge": "ill"}, "b": {"judge": "healthy"}, "c": {"judge": "ill"}}
    one = told(("a", "ada", "healthy"), ("b", "ada", None), **fields)
    table = one.columns(given="judge")
    assert table["given"] == ["ill", "healthy", "ill"]
    assert table["true"] == ["healthy", None, None]
    assert one.audit(given="judge").annotators.tolist() == ["judge"]


def test_the_audit_is_what_the_tests_take():
    rng = np.random.default_rng(1)
    true = rng.integers(0, 2, 300)
    given = eo.ClassConditionalNoise(0.4, 0.05).flip(true, rng)
    answers = []
    for number in range(300):
        answers.append((str(number), "ada" if number % 2 else "bob", CLASSES[given[number]]))
        answers.append((str(number), "eve*", CLASSES[true[number]]))
    audited = told(*answers).audit()
    result = eo.annotator_audit(audited.true, audited.given, audited.annotators)
    assert {test.annotator for test in result.tests} == {"ada", "bob"}
    assert result.pvalue < 0.01
    assert eo.audit_test(audited.true, audited.given).asymmetry == pytest.approx(
        np.mean(given[true == 0]) - np.mean(1 - given[true == 1])
    )


@pytest.mark.parametrize(
    ("answers", "options", "message"),
    [
        ([("a", "ada", "x")], {}, r"marks no answer as the truth .ground_truth.*by 'ada'"),
        ([("a", "ada*", "x")], {}, "holds the truth and no given label beside it"),
        ([("a", "ada*", "x"), ("b", "bob", "x")], {}, "no label of an item whose truth is known"),
        ([("a", "ada*", "x"), ("a", "bob*", "y")], {}, "task 2 of export has two truths, 'x' and"),
        (
            [("a", "ada*", "x"), ("b", "ada", "x"), ("a", "bob", "x")],
            {},
            "by 'ada' that are marked .* in task 1, and others that are not, as in task 2: where",
        ),
        ([("a", "ada", "x")], {"truth": "Ada"}, "no answers by 'Ada'; did you mean 'ada'"),
        ([("a", "ada", "x")], {"given": "judge"}, "item a of export has no field 'judge'"),
        (
            [("a", "ada", "x"), ("a", "bob", "y")],
            {"given": "judge"},
            "marks no answer as the truth",
        ),
    ],
)
def test_answers_without_truth_or_labels_are_refused(answers, options, message):
    with pytest.raises(eo.InputError, match=message):
        told(*answers).audit(**options)


def test_two_answers_by_one_annotator_about_one_item_are_refused():
    with pytest.raises(eo.InputError, match="task 2 of export is one more answer by 'ada' about a"):
        told(("a", "ada", "x"), ("a", "ada", "y"))


def test_who_skipped_an_item_may_answer_it_later():
    both = told(("a", "ada", None), ("a", "ada", "x"), ("a", "eve*", "x"))
    assert both.audit().given.tolist() == ["x"]


def test_one_account_may_give_a_label_and_look_the_truth_up():
    both = told(("a", "ada", "x"), ("a", "ada*", "y"), ("b", "ada", "x"))
    assert both.audit().true.tolist() == ["y"]


def test_no_answers_are_refused():
    with pytest.raises(eo.InputError, match="export holds no answers yet"):
        told()


def of_cases(cases, said, who=lambda number: "ada", draw=True):
    """Return answers about the first cases of a draw, in reverse order."""
    numbers = range(len(said))[::-1]
    rows = cases.rows.tolist()
    more = {"draw": cases.scores_hash} if draw else {}
    fields = {str(number): {"row": rows[number], **more} for number in numbers}
    return told(*((str(number), who(number), said[number]) for number in numbers), **fields)


def test_answers_come_in_the_order_of_the_draw(drawn):
    *_, cases = drawn
    said = np.linspace(0.1, 0.9, 40).tolist()
    judged = of_cases(cases, [*map(str, said)]).judged(cases, kind="probability", classes=CLASSES)
    assert judged.stated[:, 0].tolist() == said
    assert judged.experts == ("ada",)


def test_an_unanswered_end_is_left_out_and_a_gap_refused(drawn):
    *_, cases = drawn
    answers = of_cases(cases, ["ill", "healthy"] * 15)
    judged = answers.judged(cases, kind="looked-up", classes=CLASSES)
    assert judged.n_answers == {"ada": 30}
    gap = of_cases(cases, ["ill", None, "healthy"] * 10)
    assert gap.toss_ups().tolist() == cases.rows[1:30:3][::-1].tolist()
    with pytest.raises(eo.InputError, match=r"no answer for row .* but has some for later ones"):
        gap.judged(cases, kind="looked-up", classes=CLASSES)


def test_annotators_who_share_the_cases_among_them_are_one_column(drawn):
    *_, cases = drawn
    said = ["ill", "not ill"] * 20
    answers = of_cases(cases, said, who=lambda number: "ada" if number % 3 else "bob")
    judged = answers.judged(cases, kind="looked-up", classes=CLASSES)
    assert judged.experts == ("everybody",)
    assert judged.stated[:, 0].tolist() == [1.0, 0.0] * 20


def test_a_case_that_one_annotator_skipped_may_be_answered_by_another(drawn):
    *_, cases = drawn
    said = ["ill", "healthy"] * 20
    ada = of_cases(cases, [None if number == 3 else one for number, one in enumerate(said)])
    bob = of_cases(cases, said, who=lambda number: "bob")
    both = replace(ada, answers=(*ada.answers, bob.answers[40 - 1 - 3]))
    judged = both.judged(cases, kind="looked-up", classes=CLASSES)
    assert judged.experts == ("everybody",)
    assert judged.stated[:, 0].tolist() == [1.0, 0.0] * 20


def test_annotators_of_the_same_cases_have_a_column_each(drawn):
    *_, cases = drawn
    ada, bob = (of_cases(cases, ["ill"] * 40, who=lambda number, who=who: who) for who in "ab")
    both = replace(ada, answers=(*ada.answers, *bob.answers))
    judged = both.judged(cases, kind="looked-up", classes=CLASSES)
    assert judged.experts == ("a", "b")
    assert judged.stated.shape == (40, 2)


def test_an_annotator_of_some_cases_in_between_may_be_left_out(drawn):
    *_, cases = drawn
    ada, bob = (of_cases(cases, ["ill"] * 40, who=lambda number, who=who: who) for who in "ab")
    both = replace(ada, answers=(*ada.answers, *bob.answers[10:20]))
    with pytest.raises(eo.InputError, match="'b' has no answer for row"):
        both.judged(cases, kind="looked-up", classes=CLASSES)
    judged = both.judged(cases, kind="looked-up", classes=CLASSES, experts=["a"])
    assert judged.n_answers == {"a": 40}
    with pytest.raises(eo.InputError, match="export has no answers by 'c'; answers are by 'a' and"):
        both.judged(cases, kind="looked-up", classes=CLASSES, experts=["c"])


def test_tasks_without_a_draw_are_taken_by_their_rows(drawn):
    *_, cases = drawn
    answers = of_cases(cases, ["ill"] * 40, draw=False)
    assert answers.judged(cases, kind="looked-up", classes=CLASSES).n_answers == {"ada": 40}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "item 1 of export has no field 'row'"),
        ({"row": "5"}, "has '5' as 'row': no row number"),
        ({"row": True}, "has True as 'row': no row number"),
        ({"row": 1.5}, "has 1.5 as 'row': no row number"),
        ({"row": -1}, "row -1, which was not drawn"),
        ({"row": 10**9}, "which was not drawn"),
        ({"row": None, "draw": "x"}, "no field 'row'"),
        ({"row": 0, "draw": "other"}, "was drawn from other scores than these cases"),
    ],
)
def test_rows_that_were_not_drawn_are_refused(drawn, fields, message):
    *_, cases = drawn
    answers = told(("1", "ada", "ill"), **{"1": fields})
    with pytest.raises(eo.InputError, match=message):
        answers.judged(cases, kind="looked-up", classes=CLASSES)


def test_a_case_that_was_imported_twice_is_refused(drawn):
    *_, cases = drawn
    row = int(cases.rows[0])
    answers = told(
        ("1", "ada", "ill"), ("2", "ada", "healthy"), **{"1": {"row": row}, "2": {"row": row}}
    )
    with pytest.raises(eo.InputError, match=f"one more answer by 'ada' about row {row}"):
        answers.judged(cases, kind="looked-up", classes=CLASSES)


@pytest.mark.parametrize(
    ("said", "kind", "message"),
    [
        ("sick", "looked-up", "answers by 'ada' of export has 'sick' but needs 0 and 1, or 'heal"),
        ("ill", "probability", "has 'ill' but needs 0 to 1"),
        ("not sick", "looked-up", "has 'not sick' but needs"),
        ("ill", "guess", "kind is 'guess'"),
        (None, "looked-up", "holds no answers yet"),
    ],
)
def test_answers_in_other_words_are_refused(drawn, said, kind, message):
    *_, cases = drawn
    with pytest.raises(eo.InputError, match=message):
        of_cases(cases, [said]).judged(cases, kind=kind, classes=CLASSES)


def test_a_task_is_plain_json_and_shows_what_may_be_shown(drawn):
    *_, cases = drawn
    rows = [{"age": np.int64(7), "dose": np.nan, "when": np.datetime64("2026-01-02")}] * 40
    first = next(tasks_of(cases, rows))
    assert first["text"] == "Case 1 of 40\nage: 7\ndose: \nwhen: 2026-01-02"
    assert (type(first["age"]), first["dose"], first["when"]) == (int, None, "2026-01-02")
    assert first["row"] == cases.rows[0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [([{}] * 39, "rows has 39 rows but 40 cases"), ([{"row": 1}] * 40, "a field 'row' of its own")],
)
def test_other_rows_than_those_drawn_make_no_tasks(drawn, rows, message):
    *_, cases = drawn
    with pytest.raises(eo.InputError, match=message):
        list(tasks_of(cases, rows))
