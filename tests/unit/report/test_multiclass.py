"""What is said of tests of several classes."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.patches import Rectangle

import evenodds as eo
from evenodds.inference.multiclass.result import SplitRecord
from evenodds.inference.results import Diagnostic
from evenodds.report.sheet import View, sheet_of

CHECKS = tuple(
    Diagnostic(name=name, message=f"{name}.", concern=False)
    for name in ("step", "link", "rows per parameter")
)


def record(first, second, asymmetry=None, p=1.0, **settings):
    known = {"positive": (first,), "negative": (second,), "left_out": (), "null_ratio": 1.0}
    known |= {"name": f"{first} | {second}", "n_rows": 100, "n_anchors": 2, **settings}
    if asymmetry is None:
        return SplitRecord(**known, untested="no toss-ups.")
    return SplitRecord(
        **known,
        statistic=asymmetry / 0.04,
        pvalue=p / 3,
        adjusted_pvalue=p,
        asymmetry=asymmetry,
        standard_error=0.04,
        alpha=0.1,
        beta=0.1,
    )


@pytest.fixture
def leaning():
    return eo.MulticlassTestResult(
        scheme="one-vs-one",
        classes=("cat", "dog", "fox"),
        class_counts=(50, 50, 50),
        splits=(
            record("cat", "dog", -0.2, 0.001),
            record("cat", "fox", 0.01),
            record("dog", "fox"),
        ),
        noise_rate=0.1,
        n_rows=150,
        n_features=2,
        diagnostics=CHECKS,
    )


@pytest.fixture
def even(leaning):
    return replace(leaning, splits=(record("cat", "dog", -0.05, 0.4), *leaning.splits[1:]))


def test_the_verdict_names_who_gains_from_whom(leaning):
    sheet = sheet_of(leaning, View())
    assert sheet.rejected
    assert sheet.headline == "Yes: 'dog' gains from 'cat'."
    assert "cat | dog: −0.200, 95% interval from −0.278 to −0.122" in sheet.verdict
    assert "Tested: 2 of 3 splits; nothing is known about the others." in sheet.verdict


def test_words_say_how_interval_and_pvalue_go_together(leaning):
    words = dict(sheet_of(leaning, View()).words)
    assert "it holds 0 where the p-value of this split" in words["Interval of a split"]
    assert "may be estimated below 0" in words["Alpha and beta of a split"]


def withheld(first, second):
    return replace(
        record(first, second), untested="", pvalue=float("nan"), withheld="Only about 2 rows."
    )


def test_a_split_withheld_has_a_word_instead_of_numbers(leaning):
    sheet = sheet_of(replace(leaning, splits=(*leaning.splits[:2], withheld("dog", "fox"))), View())
    assert sheet.tables[0].rows[2] == ("dog | fox", "100", "2", "withheld", "", "", "", "")
    assert sheet.verdict.endswith("These data cannot tell about dog | fox.")
    assert "dog | fox" not in sheet.answers["intervals"]


def test_where_all_is_withheld_the_headline_says_so(leaning):
    splits = (withheld("cat", "dog"), record("cat", "fox"))
    result = replace(leaning, splits=splits, noise_rate=None)
    sheet = sheet_of(result, View())
    assert sheet.headline.startswith("These data cannot tell")
    assert sheet.verdict == "These data cannot tell whether flips are even. Only about 2 rows."
    assert not sheet.rejected
    assert [key.value for key in sheet.keys] == ["withheld"]
    assert "wrong labels" not in dict(sheet.facts)
    assert not any("smaller asymmetries" in step for step in sheet.next_steps)
    assert all(text.get_text() != "nan" for text in result.plot("pairs").axes[0].texts)


def test_a_test_that_shows_nothing_is_doubted_too(even):
    doubted = replace(CHECKS[1], concern=True)
    sheet = sheet_of(replace(even, diagnostics=(CHECKS[0], doubted, CHECKS[2])), View())
    assert sheet.headline.startswith("Not shown, with reasons to doubt")


def test_intervals_follow_the_significance(leaning):
    assert (
        "99% interval from −0.303 to −0.097" in sheet_of(leaning, View(significance=0.01)).verdict
    )


def test_not_rejecting_claims_nothing(even):
    sheet = sheet_of(even, View())
    assert not sheet.rejected
    assert sheet.headline.startswith("Not shown")
    assert "That does not show that flips are even: asymmetries up to 0.13 fit" in sheet.verdict


def test_doubts_are_in_the_headline(leaning):
    doubted = replace(CHECKS[1], concern=True)
    sheet = sheet_of(replace(leaning, diagnostics=(CHECKS[0], doubted, CHECKS[2])), View())
    assert sheet.headline.startswith("It seems so, with reasons to doubt")


def test_splits_of_several_classes_are_named_whole(leaning):
    rest = record("cat", "dog", 0.2, 0.01, negative=("dog", "fox"), name="cat | rest")
    sheet = sheet_of(replace(leaning, scheme="one-vs-rest", splits=(rest,)), View())
    assert sheet.headline == "Yes: 'cat' gains from the rest."
    code = record("cat", "dog", 0.2, 0.01, positive=("cat", "fox"), name="cat + fox | dog")
    sheet = sheet_of(replace(leaning, scheme="output-codes", splits=(code,)), View())
    assert "'cat' or 'fox' gains from 'dog'" in sheet.headline
    assert "'cat + fox | dog': eo.Anchors" in sheet.python


def test_the_heat_map_frames_what_leans_and_hatches_what_was_not_tested(leaning):
    panel = leaning.plot("pairs").axes[0]
    cells = [patch for patch in panel.patches if isinstance(patch, Rectangle)]
    assert sum(cell.get_hatch() is not None for cell in cells) == 2
    assert sum(not cell.get_fill() for cell in cells) == 2
    written = [text.get_text() for text in panel.texts]
    assert sorted(written) == sorted(["−0.20", "+0.20", "+0.01", "−0.01"])


def test_the_intervals_have_a_line_a_tested_split(leaning):
    panel = leaning.plot("splits").axes[0]
    assert [label.get_text() for label in panel.get_yticklabels()] == ["cat | dog", "cat | fox"]


def test_a_report_and_a_notebook_hold_the_verdict(leaning, tmp_path):
    page = leaning.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "gains from" in page
    assert "Every other flip has a rate of its own." in page
    assert "gains from" in leaning._repr_html_()
    assert "'dog' gains from 'cat'" in str(leaning)


@pytest.fixture
def confusion():
    true = np.repeat(["cat", "dog", "fox"], [40, 30, 30])
    given = true.copy()
    given[:10] = "dog"
    return eo.confusion_test(true, given)


def test_the_matrix_says_which_confusion_is_the_most_frequent(confusion):
    sheet = sheet_of(confusion, View())
    assert sheet.headline == "Unevenly: 25.0% of rows truly 'cat' are labelled 'dog'."
    assert "with classes of unequal size, uniform noise breaks them too" in sheet.verdict
    assert sheet.tables[0].rows[0] == ("truly 'cat'", "30", "10", "0")


def test_a_matrix_that_fits_uniform_noise_shows_nothing():
    true = np.repeat([0, 1, 2], 20)
    sheet = sheet_of(eo.confusion_test(true, true), View())
    assert sheet.headline.startswith("Not shown to be uneven")
    assert "which does not show that flips are uniform" in sheet.verdict
    assert sheet.keys[0].more == "no flip seen"
    assert not any("chi2" in value for _, value in sheet.facts)
    assert sheet.caption("confusion").finding == "No label is wrong."


def test_the_matrix_is_drawn_and_reported(confusion, tmp_path):
    written = [text.get_text() for text in confusion.plot("confusion").axes[0].texts]
    assert "0.25" in written
    page = confusion.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Bowker" in page


def test_an_audit_joins_the_facts_and_tables(leaning, confusion):
    sheet = sheet_of(replace(leaning, audit=confusion), View())
    assert "audit: uniform" in dict(sheet.facts)
    assert len(sheet.tables) == 2


def test_the_headline_is_about_the_split_that_is_surest_when_adjusted(leaning):
    """Beside the culprit free, another pair is hardly sure, whatever it says by itself."""
    tempting = replace(record("cat", "fox", 0.2, 0.04), pvalue=1e-20)
    both = replace(leaning, splits=(tempting, *leaning.splits[:1]))
    sheet = sheet_of(both, View())
    assert sheet.headline.startswith("Yes: 'dog' gains from 'cat'")
    assert sheet.keys[1].name == "Strongest: cat | dog"
    assert [split.name for split in both.surest_first] == ["cat | dog", "cat | fox"]


def test_a_class_may_be_called_rest(leaning):
    splits = (record("cat", "rest", 0.2, 0.01),)
    sheet = sheet_of(replace(leaning, classes=("cat", "dog", "rest"), splits=splits), View())
    assert "('cat', 'rest'): eo.Anchors" in sheet.python
    assert sheet.headline == "Yes: 'cat' gains from 'rest'."


def test_calls_that_repeat_a_test_hold_its_settings(leaning, confusion):
    codes = sheet_of(replace(leaning, scheme="output-codes"), View()).python
    assert codes.endswith("scheme='output-codes', codes=codes)")
    drawn = eo.confusion_test([0, 0, 1, 1, 2, 2], [0, 1, 1, 1, 2, 0], draws=99, seed=5)
    assert "confusion_test(true, given, draws=99, seed=5)" in sheet_of(drawn, View()).python
    assert ("draws", "99") in sheet_of(drawn, View()).settings


def test_tests_without_an_equivalence_name_no_margin(leaning, confusion):
    for result in (leaning, confusion):
        names = [name for name, _ in sheet_of(result, View()).settings]
        assert "significance" in names
        assert "margin" not in names


def test_what_a_test_asks_does_not_read_as_its_finding(confusion):
    facts = dict(sheet_of(confusion, View()).facts)
    for name in ("uniform", "symmetry", "homogeneity"):
        assert ": tests whether " in facts[name]


def test_a_rate_estimated_below_0_is_shown_as_0(leaning):
    low = replace(leaning.splits[0], alpha=-0.003, beta=0.003)
    table = sheet_of(replace(leaning, splits=(low, *leaning.splits[1:])), View()).tables[0]
    assert table.rows[0][5] == "0.000 / 0.003"


def test_the_share_of_wrong_labels_says_what_it_takes_for_granted(leaning):
    assert sheet_of(leaning, View()).keys[-1].more == "over all classes"
    uniform = replace(leaning, scheme="one-vs-rest")
    assert sheet_of(uniform, View()).keys[-1].more == "over all classes, if no split leans"
