"""The report: its sentences for each kind of result, and nothing that reaches out."""

import html
import json
import re
from dataclasses import replace

import numpy as np
import pytest

import evenodds as eo
from evenodds.report.asymmetry import next_steps
from evenodds.report.html import render_report
from evenodds.report.sheet import View, sheet_of
from evenodds.report.wording import headline, verdict


def page_of(result, **source):
    return render_report(sheet_of(result, View()), **source)


def words_of(page):
    """Return what a reader reads: no tags, no style, single spaces."""
    body = re.sub(r"<(style|svg)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())


@pytest.fixture(scope="module")
def pages(every):
    """Return every report, by the kind of its result."""
    return {name: page_of(result) for name, result in every.items()}


@pytest.fixture(scope="module")
def read(pages):
    return {name: words_of(page) for name, page in pages.items()}


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("rejecting", "Yes: 'ill' is flipped more often than 'healthy'."),
        ("rejecting", "Uniform noise is strongly rejected (p < 0.0001)"),
        ("rejecting", "3 of 3 toss-ups lie outside their bar."),
        ("rejecting", "a model trained on these labels would decide them the other way."),
        ("rejecting", "Relabel: have an expert look again at rows labelled 'healthy'"),
        ("retaining", "Not shown: these labels fit equal flips, and unequal ones too."),
        ("retaining", "That does not show that both classes are flipped equally often"),
        ("retaining", "would be found four times out of five"),
        ("retaining", "0 of 3 toss-ups lie outside their bar."),
        ("retaining", "To find smaller asymmetries, collect more rows or more toss-up cases."),
        ("anchorless", "It seems so, with reasons to doubt: 1 looks flipped more often than 0."),
        ("anchorless", "from the shape of the curve alone"),
        ("anchorless", "Without anchors this test rests on the shape of the curve alone."),
        ("anchorless", "Where do the toss-ups fall? Not drawn: there are no anchors to draw."),
        ("anchorless", "Where it levels off, that is taken as flips; no check"),
        ("doubtful", "What to doubt"),
        ("doubtful", "The curve is not logistic in these columns"),
        ("doubtful", "Outside the range of the data: "),
        ("doubtful", "! doubt"),
        ("plain", "What could this data have found? Not drawn: method 'wald' overstates asymm"),
        ("plain", "What would the noise do? Not drawn: method 'wald' estimates no flip rates"),
        ("plain", "Labels are nearly clean, or rows lie evenly about the boundary"),
    ],
)
def test_a_report_says_what_its_result_needs(read, kind, sentence):
    assert sentence in read[kind]


@pytest.mark.parametrize("kind", ["rejecting", "retaining"])
def test_a_report_without_doubts_has_no_such_list(read, kind):
    assert "What to doubt" not in read[kind]


def test_a_failure_to_reject_never_says_yes(read):
    assert "Yes:" not in read["retaining"]


@pytest.mark.parametrize(
    ("pvalue", "doubted", "words"),
    [
        (0.01, False, "Yes: 1 is flipped more often than 0, though by less than 30 in 100."),
        (0.01, True, "It seems so, with reasons to doubt: 1 looks flipped more often than 0, t"),
        (0.5, False, "Not by much: any difference is shown to be below 30 in 100, though not"),
        (0.5, True, "It seems not by much, with reasons to doubt: any difference looks below 30"),
    ],
)
def test_an_asymmetry_shown_to_be_small_is_said_so(retaining, pvalue, doubted, words):
    checks = tuple(replace(check, concern=doubted) for check in retaining.diagnostics)
    result = replace(retaining, pvalue=pvalue, statistic=-1.0, diagnostics=checks)
    assert headline(result, margin=0.3).startswith(words)


def test_a_retaining_run_with_doubts_says_so_first(retaining, doubtful):
    result = replace(doubtful, pvalue=0.5)
    assert headline(result).startswith("Not shown, with reasons to doubt")
    assert verdict(result).endswith("See what to doubt before relying on it.")
    assert next_steps(result)[0].startswith("Settle the doubts first")
    assert "doubt" not in f"{headline(retaining)} {verdict(retaining)}"


@pytest.mark.parametrize(
    ("alternative", "more", "less"), [("greater", "healthy", "ill"), ("less", "ill", "healthy")]
)
def test_labels_that_lean_the_other_way_are_said_to(rejecting, alternative, more, less):
    result = replace(rejecting, alternative=alternative, pvalue=0.9999)
    asked = f"the test asked whether {more!r} is flipped more often than {less!r}"
    assert headline(result) == f"Not that way round: {asked}; the labels lean the other way."
    assert f"{asked}; the labels lean the other way." in verdict(result)
    assert "fit equal flips" not in headline(result) + verdict(result)
    assert "alternative 'two-sided'" in next_steps(result)[0]


def test_equivalence_that_is_shown_is_not_asked_for(retaining):
    assert any("equivalence" in step for step in next_steps(retaining, margin=0.01))
    assert not any("equivalence" in step for step in next_steps(retaining, margin=0.9))


def test_what_a_one_sided_test_could_have_found_has_its_sign(retaining):
    result = replace(retaining, alternative="less", pvalue=0.5)
    assert "in 100, the way that was asked about, would have been" in verdict(result)


def test_a_very_long_label_is_cut_in_sentences(rejecting):
    result = replace(rejecting, positive="certainly " * 30)
    assert "certainly certainly" in headline(result)
    assert len(headline(result)) < 200


def test_doubts_are_to_be_settled_first(rejecting, doubtful):
    assert next_steps(doubtful)[0].startswith("Settle the doubts first")
    assert next_steps(rejecting)[0].startswith("Relabel")


def test_the_words_are_those_of_the_verdict(rejecting, read):
    sentences = [verdict(rejecting), *next_steps(rejecting)]
    assert all(" ".join(sentence.split()) in read["rejecting"] for sentence in sentences)


def test_every_check_is_listed(every, read):
    for name, result in every.items():
        messages = [" ".join(check.message.split()) for check in result.diagnostics]
        assert [message for message in messages if message not in read[name]] == []


@pytest.mark.parametrize(
    "fact", ["version of numpy " + np.__version__, "significance 0.05", "calibration asymptotic"]
)
def test_settings_and_versions_are_listed(read, fact):
    assert fact in read["rejecting"]


def test_the_command_and_the_name_are_shown(rejecting):
    page = page_of(rejecting, name="a.csv", command="evenodds test a.csv")
    assert "evenodds test a.csv" in words_of(page)
    assert "<title>Is one class flipped more often than the other? a.csv</title>" in page


def test_a_bootstrap_and_a_side_are_told(labelled, toss_ups):
    method = eo.Boundary(calibration="bootstrap", bootstrap=eo.Bootstrap(draws=99, seed=7))
    result = eo.asymmetry_test(
        labelled.X, labelled.y, toss_ups, method=method, alternative="greater"
    )
    words = words_of(page_of(result))
    assert "99 draws of itself under uniform noise" in words
    assert "The alternative here is one-sided (greater)" in words
    assert "bootstrap=eo.Bootstrap(draws=99, seed=7)" in words
    assert "99 draws, seed 7" in words


@pytest.mark.parametrize("method", ["boundary", "joint", "wald"])
def test_each_method_shows_its_formula(labelled, toss_ups, method):
    page = page_of(eo.asymmetry_test(labelled.X, labelled.y, toss_ups, method=method))
    spoken = {"boundary": "u transposed V u", "joint": "U Delta divided", "wald": "v of Delta zero"}
    assert spoken[method] in page
    assert page.count("<math") == page.count("</math>") == 5


def test_labels_and_columns_are_shown_and_never_obeyed(hostile):
    page = page_of(hostile, name="<script>alert(3)</script>", command="'<img src=x>'")
    assert "<script" not in page
    assert "<img" not in page
    assert page.count("</style>") == 1
    assert "alert('x')" in words_of(page)


def test_a_notebook_shows_them_safely_too(hostile):
    section = hostile._repr_html_()
    assert "<script" not in section
    assert "<img" not in section


def test_a_report_loads_nothing(pages):
    for page in pages.values():
        addresses = re.findall(r"(?:src|href|action)=\"([^\"]*)\"", page)
        assert all(address.startswith("#") for address in addresses)
        assert not re.search(r"url\((?!#)|@import|<script|<link|<iframe", page)


def test_a_report_allows_no_scripts_and_no_network(pages):
    assert "default-src 'none'; style-src 'unsafe-inline'" in pages["rejecting"]


def test_ids_are_unique_and_links_are_met(pages):
    for page in pages.values():
        ids = re.findall(r"\sid=\"([^\"]+)\"", page)
        assert len(ids) == len(set(ids))
        wanted = re.findall(r"(?:href=\"#|aria-labelledby=\"|url\(#)([^\")]+)", page)
        assert set(wanted) <= set(ids)


def test_headings_come_in_order(pages):
    for page in pages.values():
        levels = [int(level) for level in re.findall(r"<h(\d)", page)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert max(np.diff(levels)) <= 1


def test_what_a_check_could_not_tell_is_not_called_fine(pages):
    rows = [row for page in pages.values() for row in re.findall(r"<tr>.*?</tr>", page)]
    untold = [row for row in rows if "<td>These data cannot tell" in row and "mark" in row]
    assert untold
    assert all("? open" in row and "fine" not in row for row in untold)


def test_every_table_names_its_rows_and_itself(pages):
    tables = re.findall(r"<table.*?</table>", pages["rejecting"], flags=re.DOTALL)
    assert len(tables) == 4
    assert all("<caption>" in table and 'scope="row"' in table for table in tables)


def test_a_report_is_small(pages):
    assert max(len(page.encode()) for page in pages.values()) < 300_000


def test_a_report_of_many_anchors_and_features_is_small_too():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(5000, 30))
    y = eo.UniformNoise(0.1).flip((X[:, 0] + rng.logistic(size=5000) > 0).astype(int), rng)
    page = page_of(eo.asymmetry_test(X, y, eo.Anchors(X[:500])))
    assert len(page.encode()) < 400_000


def test_a_report_from_json_is_the_same(pages, rejecting):
    again = eo.AsymmetryTestResult.from_dict(json.loads(json.dumps(rejecting.to_dict())))
    assert page_of(again) == pages["rejecting"]


def test_a_report_is_written_where_it_was_asked(rejecting, tmp_path):
    path = tmp_path / "report.html"
    assert rejecting.report(str(path), name="mine") == path
    assert path.read_text(encoding="utf-8") == page_of(rejecting, name="mine")


def test_the_level_and_the_margin_can_be_chosen(retaining, tmp_path):
    path = retaining.report(tmp_path / "report.html", significance=0.9999999, margin=0.2)
    words = words_of(path.read_text(encoding="utf-8"))
    assert "Yes:" in words
    assert "size below 0.2" in words


def test_a_folder_that_is_not_there_is_refused(refused, rejecting, tmp_path):
    with refused("report.html cannot be written: No such file or directory."):
        rejecting.report(tmp_path / "none" / "report.html")


def test_a_folder_in_the_place_of_the_file_is_refused(refused, rejecting, tmp_path):
    (tmp_path / "report.html").mkdir()
    with refused("report.html cannot be written: Is a directory."):
        rejecting.report(tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_an_impossible_level_leaves_no_file(refused, rejecting, tmp_path):
    with refused("significance is 0 but must be above 0 and below 1."):
        rejecting.report(tmp_path / "report.html", significance=0)
    assert list(tmp_path.iterdir()) == []


def test_a_page_has_no_empty_parts():
    audited = eo.annotator_audit([1, 1, 0, 0] * 9, [1, 0, 0, 0] * 9, ["Ann", "Bo", "Ann", "Bo"] * 9)
    page = page_of(audited)
    assert "#figures" not in page
    assert "#checks" not in page
    assert page.count("<section") == page.count("</section>") == 8


def test_a_notebook_shows_the_first_section(rejecting):
    section = rejecting._repr_html_()
    words = words_of(section)
    assert "Yes: 'ill' is flipped more often than 'healthy'." in words
    assert "What to do next" in words
    assert "Formulas" not in words
    assert section.count("<svg") == 1


def test_two_results_in_a_notebook_share_no_ids(rejecting, retaining):
    one, other = (
        set(re.findall(r"\sid=\"([^\"]+)\"", result._repr_html_()))
        for result in (rejecting, retaining)
    )
    assert one
    assert not one & other


@pytest.mark.parametrize("name", ["rejecting", "anchorless", "plain"])
def test_the_call_in_a_report_is_python(pages, name):
    found = re.findall(r"<pre><code>(import.*?)</code>", pages[name], flags=re.DOTALL)
    call = html.unescape(found[0])
    compile(call, "report", "exec")
