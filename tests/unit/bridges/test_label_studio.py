"""Exports of Label Studio, whole and broken, and tasks that it imports."""

import json
from xml.etree import ElementTree as ET

import pytest
from tests.exports import annotation, choice, task

import evenodds as eo
from evenodds.bridges import label_studio


def test_an_export_is_read_with_who_said_what(write):
    tasks = [
        task(1, [annotation(10, "ill"), annotation(11, "healthy", ground_truth=True)], row=5),
        task(2, [annotation({"id": 10, "email": "ada@example.org"}, "ill"), annotation(11, None)]),
        task(3, []),
    ]
    read = label_studio.read(write(tasks))
    assert [(one.item, one.annotator, one.said, one.is_truth) for one in read.answers] == [
        ("1", "10", "ill", False),
        ("1", "11", "healthy", True),
        ("2", "ada@example.org", "ill", False),
        ("2", "11", None, False),
    ]
    assert [*read.items] == ["1", "2", "3"]
    assert len(read.skipped) == 1


def test_one_of_several_controls_may_be_chosen(write):
    results = [choice("ill", "truth"), choice("blurred", "quality")]
    path = write([task(1, [annotation(1, "x", result=results)])])
    assert label_studio.read(path, from_name="truth").answers[0].said == "ill"
    with pytest.raises(eo.InputError, match=r"no field 'result.*choices' of 'size'"):
        label_studio.read(path, from_name="size")


def test_regions_beside_the_choice_do_not_matter(write):
    box = {"from_name": "box", "type": "rectanglelabels", "value": {"x": 1, "rectanglelabels": []}}
    path = write([task(1, [annotation(1, "x", result=[box, choice("ill")])])])
    assert label_studio.read(path).answers[0].said == "ill"


@pytest.mark.parametrize("which", ["looked-up", "probability"])
def test_cases_go_out_and_their_answers_come_back(drawn, write, tmp_path, which):
    scores, chance, true, given, cases = drawn
    out = label_studio.write_tasks(tmp_path / "t.json", cases, [{"note": "x"}] * 40)
    said = [["no", "yes"][k] for k in true] if which == "looked-up" else chance.round(2).tolist()
    export = [
        task(number, [annotation(1, said[one["data"]["row"]])], **one["data"])
        for number, one in enumerate(json.loads(out.read_text()), 1)
    ]
    judged = label_studio.read(write(export)).judged(cases, kind=which, classes=("no", "yes"))
    if which == "looked-up":
        assert judged.stated[:, 0].tolist() == true[cases.rows].tolist()
    else:
        assert judged.stated[:, 0].tolist() == chance[cases.rows].round(2).tolist()
        result = eo.line_test(scores, given, cases, judged.stated, answers="probability")
        assert result.asymmetry > 0


def test_tasks_hide_label_and_score(drawn, tmp_path):
    *_, cases = drawn
    out = label_studio.write_tasks(tmp_path / "t.json", cases, [{"note": "x"}] * 40)
    assert {name for one in json.loads(out.read_text()) for name in one["data"]} == {
        "note",
        "text",
        "row",
        "draw",
    }


@pytest.mark.parametrize("kind", ["looked-up", "probability"])
def test_the_interface_is_xml_with_any_names(kind):
    classes = ("a<b", 'he said "ill" & left')
    view = ET.fromstring(label_studio.labelling_config(kind, classes))
    control = view.find("Choices")
    assert control.get("toName") == view.find("Text").get("name")
    assert view.find("Text").get("value") == "$text"
    if kind == "looked-up":
        assert [one.get("value") for one in control] == [*classes]
    else:
        assert [float(one.get("alias")) for one in control] == pytest.approx(
            [float(one.get("value").rstrip("%")) / 100 for one in control]
        )


@pytest.mark.parametrize("kind", ["looked-up", "probability"])
def test_a_class_that_label_studio_would_take_for_a_field_is_refused(kind):
    with pytest.raises(eo.InputError, match=r"the class '\$10' has a '\$', and Label Studio shows"):
        label_studio.labelling_config(kind, ("5", "$10"))
    assert "5%" in label_studio.labelling_config("probability", ("$5", "10"))


def test_an_annotation_without_a_choice_is_no_answer(write):
    comment = {"from_name": "why", "type": "textarea", "value": {"text": ["cannot tell"]}}
    without = [annotation(1, "x", result=[]), annotation(2, "x", result=[comment])]
    read = label_studio.read(write([task(1, [*without, annotation(3, "ill")])]))
    assert [one.said for one in read.answers] == [None, None, "ill"]
    assert len(read.skipped) == 2


def one(**change):
    """Return a task whose only annotation is changed."""
    return [task(1, [annotation(1, "ill", **change)])]


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("{", "cannot be read as JSON: it is none from line 1, column 2 on."),
        ("[NaN]", "cannot be read as JSON: NaN is no number"),
        ("[" * 100_000, "cannot be read as JSON"),
        ("[" + "9" * 5000 + "]", "cannot be read as JSON"),
        ({"annotations": []}, "is no list of tasks with 'annotations': export the project as JSON"),
        ("7", "is no list of tasks"),
        ([], "holds no answers yet"),
        ([5], "task 1 of .* has no field 'annotations'"),
        (
            [{"id": 1, "text": "a", "sentiment": "ill"}],
            "no field 'annotations': .* not as JSON-MIN",
        ),
        ([{"id": 1, "annotations": []}], "task 1 of .* has no field 'data'"),
        ([{"data": {}, "annotations": []}], "has no field 'id'"),
        ([task(1, []), task(2, [])], "holds no answers yet"),
        ([task(1, []), task(1, [])], "task 2 of .* is one more task with the 'id' 1: keep one"),
        ([task(1, [1001])], r"no field 'annotations\[\].result'"),
        (one(result=None), r"no field 'annotations\[\].result'"),
        (
            one(completed_by=None),
            r"no field 'annotations\[\].completed_by': once an account is del",
        ),
        (one(completed_by={}), r"no field 'annotations\[\].completed_by'"),
        (one(was_cancelled="no"), r"has 'no' as 'annotations\[\].was_cancelled'"),
        (one(ground_truth=1), r"has 1 as 'annotations\[\].ground_truth'"),
        (one(result=[]), r"no field 'result\[\].value.choices'"),
        (one(result=[7]), r"no field 'result\[\].value.choices'"),
        (one(result=[{"value": None}]), r"no field 'result\[\].value.choices'"),
        (one(result=[{"value": {"rating": 4}}]), r"no field 'result\[\].value.choices'"),
        (one(result=[{"value": {"choices": []}}]), "has 0 choices in"),
        (one(result=[{"value": {"choices": ["a", "b"]}}]), "has 2 choices in 'result"),
        (one(result=[{"value": {"choices": "ill"}}]), "has no choices in"),
        (one(result=[{"value": {"choices": [1]}}]), "has 1 choices in"),
        (
            one(result=[{"value": {"number": 1}}]),
            r"task 1 \(id 1\) of .*no field 'result\[\].value",
        ),
        (one(result=[choice("a"), choice("b")]), "has 2 answers in 'result' where .* needs one.$"),
        (
            one(result=[choice("a"), choice("b", "c")]),
            r"from_name=...\) reads one of 'stated' and 'c'",
        ),
        ([task(1, [annotation(1, "a"), annotation(1, "b")])], "one more answer by '1' about 1"),
    ],
)
def test_a_foreign_or_broken_file_is_refused_by_the_field_it_misses(write, records, message):
    with pytest.raises(eo.InputError, match=message):
        label_studio.read(write(records))


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path):
    with pytest.raises(eo.InputError, match="cannot be read"):
        label_studio.read(tmp_path / "none.json")
    (tmp_path / "picture.json").write_bytes(b"\x89PNG\xff")
    with pytest.raises(eo.InputError, match="cannot be read"):
        label_studio.read(tmp_path / "picture.json")
