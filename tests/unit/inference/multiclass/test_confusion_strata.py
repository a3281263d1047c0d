"""The flip matrix of rows looked up within strata: what is counted, said and refused."""

import json

import numpy as np
import pytest

import evenodds as eo

NAMES = np.array(["cat", "dog", "fox"])


def world(n=3000, lean=0.25, seed=4):
    """Return true and given classes and probabilities of the labels; cats are lost to dogs."""
    rng = np.random.default_rng(seed)
    odds = np.exp(3 * rng.normal(size=(n, 3)))
    chances = odds / odds.sum(axis=1, keepdims=True)
    flips = np.full((3, 3), 0.03) + 0.91 * np.eye(3)
    flips[0, :2] += [-lean, lean]
    true = (rng.random(n)[:, None] > chances.cumsum(axis=1)[:, :2]).sum(axis=1)
    given = (rng.random(n)[:, None] > flips[true].cumsum(axis=1)[:, :2]).sum(axis=1)
    return NAMES[true], NAMES[given], chances @ flips


@pytest.fixture(scope="module")
def looked_up():
    true, given, scores = world()
    cases = eo.choose_cases(scores, n_cases=240, given=given, seed=1)
    result = eo.confusion_test(true[cases.rows], given, strata=cases, scores=scores)
    return true, given, scores, cases, result


def test_cases_are_drawn_from_every_cell_and_read_back(looked_up, tmp_path):
    _, given, scores, cases, _ = looked_up
    assert len(np.unique(cases.rows)) == 240
    read = eo.Cases.read(cases.save(tmp_path / "cases.json"))
    assert read.n_classes == 3
    strata = read.strata_of(scores)
    np.testing.assert_array_equal(strata[cases.rows], cases.strata)
    np.testing.assert_array_equal(strata // (len(cases.edges) + 1), scores.argmax(axis=1))
    cells = 3 * strata + np.searchsorted(NAMES, given)
    assert set(cells) == set(cells[cases.rows])


def test_the_pair_that_leans_is_named_and_covered(looked_up):
    true, given, _, _, result = looked_up
    pair = result.leading
    assert (pair.first, pair.second) == ("cat", "dog")
    assert pair.adjusted < 0.01
    assert result.pvalue == pair.adjusted
    assert all(other.adjusted > 0.05 for other in result.pairs if other is not pair)
    dogs, cats = true == "dog", true == "cat"
    lean = (given[dogs] == "cat").mean() - (given[cats] == "dog").mean()
    interval = result.asymmetry_interval("cat", "dog")
    assert interval.low < lean < interval.high < 0
    turned = result.asymmetry_interval("dog", "cat")
    assert turned.low == pytest.approx(-interval.high, abs=1e-6)


def test_the_matrix_is_the_weighted_one_with_intervals_about_it(looked_up):
    true, given, scores, cases, result = looked_up
    strata = cases.strata_of(scores)
    weights = np.zeros((3, 3))
    rows = cases.rows
    for row in rows:
        cell = (strata == strata[row]) & (given == given[row])
        share = cell.sum() / cell[rows].sum()
        weights[np.searchsorted(NAMES, true[row]), np.searchsorted(NAMES, given[row])] += share
    assert weights.sum() == pytest.approx(3000)
    np.testing.assert_allclose(
        result.flip_rates(), weights / weights.sum(axis=1, keepdims=True), rtol=1e-9
    )
    assert result.noise_rate == pytest.approx(1 - weights.trace() / 3000)
    assert result.given_shares == pytest.approx([(given == name).mean() for name in NAMES])
    for name in NAMES:
        for label in NAMES:
            interval = result.flip_interval(name, label)
            actual = (given[true == name] == label).mean()
            assert interval.low - 0.02 < actual < interval.high + 0.02


def test_an_interval_holds_nought_exactly_where_the_pvalue_is_above_the_level(looked_up):
    result = looked_up[-1]
    for pair in result.pairs:
        interval = result.asymmetry_interval(pair.first, pair.second)
        assert (interval.low < 0 < interval.high) == (pair.pvalue > 0.05)


def test_a_result_survives_json_and_says_who_gains(looked_up):
    result = looked_up[-1]
    record = json.loads(json.dumps(result.to_dict()))
    again = eo.StratifiedConfusionResult.from_dict(record)
    assert again == result
    assert "'dog' gains from 'cat'" in str(again)
    frame = result.to_frame()
    assert list(frame["first"] + frame["second"]) == ["catdog", "catfox", "dogfox"]
    assert (frame["low"] < frame["asymmetry"]).all()
    assert len(result.plot("confusion").axes) == 1


def test_cases_at_the_end_may_be_left_out(looked_up):
    true, given, scores, cases, _ = looked_up
    some = eo.confusion_test(true[cases.rows[:120]], given, strata=cases, scores=scores)
    assert some.n_audited == 120
    assert sum(one.n_rows for one in some.strata) == 3000


def test_strata_of_ones_own_are_counted_as_told(looked_up):
    true, given, scores, cases, result = looked_up
    strata = cases.strata_of(scores)
    counts = {
        int(one): {name: int(((strata == one) & (given == name)).sum()) for name in NAMES}
        for one in np.unique(strata)
    }
    rows = cases.rows
    own = eo.confusion_test(true[rows], given[rows], strata=strata[rows], given_counts=counts)
    assert own.rates == pytest.approx(np.array(result.rates))
    assert [pair.statistic for pair in own.pairs] == pytest.approx(
        [pair.statistic for pair in result.pairs]
    )


def test_by_given_label_it_is_not_the_table_that_counts_but_the_data():
    true = ["cat"] * 40 + ["dog"] * 40 + ["fox"] * 40
    given = ["dog"] * 4 + true[4:]
    counts = {"all": {"cat": 36, "dog": 4400, "fox": 40}}
    result = eo.confusion_test(true, given, strata=["all"] * 120, given_counts=counts)
    assert result.rates[0][1] == pytest.approx(400 / 436)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": None}, "scores is missing"),
        ({"given_counts": {}}, "given_counts goes with a stratum"),
        ({"true": ["owl"] * 240}, "true has label 'owl', which is none of"),
        ({"true": ["cat"] * 240}, "no row that was looked up is truly 'dog'"),
        ({"true": ["cat"] * 241}, "true has shape"),
        ({"scores": np.full((3000, 3), 1 / 3)}, "not the scores that the cases were drawn from"),
        ({"scores": np.full(3000, 0.5)}, "give a column of probabilities for each class"),
        ({"given": np.tile(NAMES, 1000)}, "not the given labels"),
    ],
)
def test_what_does_not_fit_the_cases_is_refused(looked_up, change, message):
    true, given, scores, cases, _ = looked_up
    told = {"true": true[cases.rows], "given": given, "scores": scores, **change}
    with pytest.raises(eo.InputError, match=message):
        eo.confusion_test(told.pop("true"), told.pop("given"), strata=cases, **told)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({}, "given_counts is needed with strata"),
        ({"given_counts": {"b": {"cat": 9, "dog": 9, "fox": 9}}}, "lacks stratum 'a'"),
        ({"given_counts": {"a": {"cat": 9, "owl": 9}}}, "has label 'owl', which is none of"),
        ({"given_counts": {"a": {"cat": 1, "dog": 9, "fox": 9}}}, "2 such rows were looked up"),
        ({"scores": [0.5], "given_counts": {}}, "scores goes with strata=cases"),
        ({"strata": ["a"] * 5}, "strata has shape"),
        (
            {"strata": ["a"] * 4 + ["b"] * 2,
             "given_counts": {"a": {"cat": 9, "dog": 9}, "b": {"fox": 9, "cat": 1}},
             "given": ["cat", "cat", "cat", "cat", "fox", "fox"],},
            "no row labelled 'dog' was looked up, of 9 in the data",
        ),
        (
            {"given_counts": {"a": {"cat": 9, "fox": 9}},
             "given": ["cat", "cat", "cat", "cat", "fox", "fox"],},
            "no row labelled 'dog' was looked up, of 0 in the data",
        ),
    ],
)  # fmt: skip
def test_strata_that_are_not_counted_are_refused(told, message):
    labels = ["cat", "cat", "dog", "dog", "fox", "fox"]
    told = {"given": labels, "strata": ["a"] * 6, **told}
    with pytest.raises(eo.InputError, match=message):
        eo.confusion_test(labels, told.pop("given"), **told)


def test_a_pair_of_classes_is_named(looked_up):
    result = looked_up[-1]
    with pytest.raises(eo.InputError, match="'owl' is none of the classes"):
        result.flip_interval("owl", "cat")
    with pytest.raises(eo.InputError, match="name two classes"):
        result.asymmetry_interval("cat", "cat")


def test_scores_and_counts_need_strata():
    with pytest.raises(eo.InputError, match="go with strata"):
        eo.confusion_test([0, 1, 2], [0, 1, 2], given_counts={})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"given": None, "n_cases": 15, "n_strata": 3}, "strata need"),
        ({"groups": np.arange(3000)}, "without groups and sample_weight"),
        ({"given": np.repeat([0, 1, 2, 3], 750)}, "has 3 columns but given has 4 classes"),
        ({"given": [0, 1, 2, 0, 1, 2]}, "6 labels but scores has 3,000 rows"),
        ({"n_cases": 15, "n_strata": 3}, "ask for more cases or fewer strata"),
    ],
)
def test_cases_of_classes_that_cannot_be_drawn_are_refused(change, message):
    _, given, scores = world()
    with pytest.raises(eo.InputError, match=message):
        eo.choose_cases(scores, **{"given": given, "n_cases": 240, **change})


def test_what_is_no_probability_is_refused():
    _, given, scores = world(n=300)
    with pytest.raises(eo.InputError, match="scores of row 1 of 300 are not probabilities"):
        eo.choose_cases(2 * scores, given=given)


def test_cases_of_classes_are_refused_by_tests_of_two(looked_up):
    true, given, scores, cases, _ = looked_up
    with pytest.raises(eo.InputError, match="use confusion_test"):
        eo.audit_test(true[cases.rows], given, strata=cases, scores=scores)
    with pytest.raises(eo.InputError, match="give a column of probabilities"):
        eo.audit_test(true[cases.rows], given == "cat", strata=cases, scores=scores[:, 0])
    with pytest.raises(eo.InputError, match="what was looked up goes to confusion_test"):
        eo.line_test(scores, given == "cat", cases, np.ones(240), answers="looked-up")


def test_cases_of_two_are_refused_by_the_matrix():
    scores = np.linspace(0, 1, 600)
    cases = eo.choose_cases(scores, n_cases=60)
    with pytest.raises(eo.InputError, match="needs cases of several classes"):
        eo.confusion_test(["a"] * 60, ["a"] * 600, strata=cases, scores=scores)
