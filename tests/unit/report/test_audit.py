"""Sheets of audits: what is said, and never more than was shown."""

import numpy as np
import pytest

import evenodds as eo
from evenodds.report.sheet import View, sheet_of


def _audit(kept_positive, lost_positive, lost_negative, kept_negative, **options):
    counts = [kept_positive, lost_positive, lost_negative, kept_negative]
    true = np.repeat(["ill", "ill", "well", "well"], counts)
    given = np.repeat(["ill", "well", "ill", "well"], counts)
    return eo.audit_test(true, given, positive="ill", **options)


@pytest.fixture(scope="module")
def sheets():
    results = {
        "rejecting": _audit(300, 100, 20, 380),
        "retaining": _audit(90, 10, 12, 88),
        "small": _audit(9, 1, 1, 9),
        "given": _audit(
            90, 30, 10, 110, sampled_by="given", given_counts={"ill": 1000, "well": 9000}
        ),
        "equal": _audit(4500, 500, 500, 4500),
    }
    return {name: sheet_of(result, View()) for name, result in results.items()}


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("rejecting", "Yes: 'ill' is flipped more often than 'well'."),
        ("retaining", "Not shown: these labels fit equal flips, and unequal ones too."),
        ("equal", "Not by much: any difference is shown to be below 5 in 100"),
    ],
)
def test_headlines(sheets, kind, sentence):
    assert sheets[kind].headline.startswith(sentence)


def test_what_is_not_rejected_is_not_shown(sheets):
    assert "That does not show that both classes are flipped equally often" in (
        sheets["retaining"].verdict
    )


def test_the_counts_are_a_table(sheets):
    assert sheets["rejecting"].tables[0].rows[0] == ("truly 'ill'", "300", "100", "400")


def test_the_whole_data_is_told_where_it_counts(sheets):
    assert ("whole data", "9,000 labelled 'well', 1,000 labelled 'ill'") in sheets["given"].facts


def test_a_small_audit_says_that_it_is_exact(sheets):
    assert sheets["small"].facts[0] == ("test", "Boschloo's exact unconditional test")


@pytest.mark.parametrize("kind", ["rejecting", "small", "given"])
def test_the_python_call_repeats_the_test(sheets, kind):
    counts = {"rejecting": (300, 100, 20, 380), "small": (9, 1, 1, 9), "given": (90, 30, 10, 110)}
    names = {
        "true": np.repeat(["ill", "ill", "well", "well"], counts[kind]),
        "given": np.repeat(["ill", "well", "ill", "well"], counts[kind]),
    }
    exec(sheets[kind].python, names)
    assert sheet_of(names["result"], View()).facts == sheets[kind].facts


@pytest.mark.parametrize("kind", ["rejecting", "small", "given"])
def test_every_picture_can_be_drawn_and_has_words(sheets, kind):
    for picture in sheets[kind].pictures:
        assert sheets[kind].draw(picture).axes
        assert sheets[kind].caption(picture).finding


def test_an_audit_of_two_rows_a_class_could_hardly_have_found_anything():
    """The smallest p-value that such an audit can have is 0.125."""
    sheet = sheet_of(_audit(2, 0, 0, 2), View())
    for words in (sheet.verdict, sheet.caption("power").finding):
        assert "could hardly have found an asymmetry of any size" in words


def test_annotators_who_are_not_named_are_not_cleared():
    rng = np.random.default_rng(2)
    true = rng.integers(0, 2, size=200)
    given = eo.UniformNoise(0.1).flip(true, rng)
    result = eo.annotator_audit(true, given, np.repeat(["a", "b"], 100))
    sheet = sheet_of(result, View())
    assert sheet.headline == "Nobody is shown to: that clears nobody either."
    assert not sheet.rejected
    assert "0 of 2 stand out." in sheet.caption("annotators").finding


def test_untested_annotators_have_a_table_of_their_own():
    true, given = [1, 0] * 30 + [1], [1, 0] * 28 + [0, 1] * 2 + [1]
    result = eo.annotator_audit(true, given, ["a"] * 60 + ["b"])
    tables = sheet_of(result, View()).tables
    assert tables[1].rows[0][:2] == ("b", "1")
    assert str(result).count("Not tested:") == 1


def test_one_annotator_is_not_counted_as_several():
    true, given = [1] * 20 + [0] * 20, [1] * 18 + [0] * 20 + [1] * 2
    said = str(eo.annotator_audit(true, given, ["ann"] * 40))
    assert said.startswith("The one annotator tested, 'ann', is not shown to flip one class more")


def test_a_percentage_is_spelled_without_a_blank():
    assert View(significance=0.05).percent == "5%"


def test_the_figure_of_annotators_names_what_it_shows():
    rng = np.random.default_rng(2)
    true = rng.integers(0, 2, 900)
    given = np.where(rng.random(900) < 0.1, 1 - true, true)
    few = eo.annotator_audit(true, given, np.arange(900) % 3).plot("annotators")
    legend = [text.get_text() for text in few.legends[0].get_texts()]
    assert "not rejected" in legend
    assert not any(text.startswith("rejected") for text in legend)
    assert few.axes[0].get_ylabel() == "Annotators"
    many = eo.annotator_audit(true, given, np.arange(900) % 45).plot("annotators")
    assert many.axes[0].get_ylabel() == "Annotators (the first 40 of 45)"


@pytest.mark.parametrize(
    "names",
    [
        ("presence", "absence", [f"{k}f1d2c4e-9b1a-4c6e-8f55-0a7b6c5d4e3f" for k in range(3)]),
        ("community_acquired_pneumonia", "no_finding_in_the_chest", ["W" * 24, "b", "c"]),
    ],
    ids=["uuids", "wide"],
)
@pytest.mark.parametrize("kind", ["annotators", "rates"])
def test_words_of_a_figure_stay_inside_it_whatever_the_names(names, kind):
    positive, negative, who = names
    rng = np.random.default_rng(2)
    true = rng.integers(0, 2, 300)
    given = np.where(rng.random(300) < 0.1, 1 - true, true)
    both = [np.where(labels, positive, negative) for labels in (true, given)]
    asked = (
        eo.annotator_audit(*both, np.array(who)[np.arange(300) % 3])
        if kind == "annotators"
        else eo.audit_test(*both)
    )
    figure = asked.plot(kind)
    drawn = figure.get_tightbbox()
    assert min(drawn.x0, drawn.y0) >= 0
    assert drawn.x1 <= figure.get_figwidth()
    assert drawn.y1 <= figure.get_figheight()


@pytest.mark.parametrize("ways", [1, 2])
def test_the_python_call_repeats_a_test_by_groups(ways):
    rng = np.random.default_rng(2)
    items = np.repeat(np.arange(60), 4)
    true = (rng.random(60) < 0.5)[items].astype(int)
    given = np.where(rng.random(240) < 0.2, 1 - true, true)
    annotators = np.tile(np.arange(12), 20)
    groups = items if ways == 1 else (items, annotators)
    sheet = sheet_of(eo.audit_test(true, given, groups=groups), View())
    names = {"true": true, "given": given, "items": items, "annotators": annotators}
    names["groups"] = items
    exec(sheet.python, names)
    assert sheet_of(names["result"], View()).facts == sheet.facts
    assert ("test", "score test, by groups") in sheet.facts
    assert any(name == "groups" for name, _ in sheet.facts)
    assert any("Rows of different groups" in one.statement for one in sheet.assumptions)
    assert all(sheet.draw(kind).axes for kind in sheet.pictures)
