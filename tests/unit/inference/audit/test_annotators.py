import json

import numpy as np
import pytest

import evenodds as eo
from evenodds.errors import InputError
from evenodds.inference.multiplicity import benjamini_hochberg, holm
from evenodds.rows.labels import plain


def _labels(rng, n, alpha, beta):
    true = rng.integers(0, 2, size=n)
    return true, eo.ClassConditionalNoise(alpha, beta).flip(true, rng)


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(5)
    parts = [_labels(rng, 250, 0.1, 0.1), _labels(rng, 250, 0.4, 0.1), _labels(rng, 250, 0.1, 0.2)]
    true, given = (np.concatenate(column) for column in zip(*parts, strict=True))
    return true, given, np.repeat(["ann", "ben", "cas"], 250)


def test_each_annotator_gets_the_test_of_their_rows(columns):
    true, given, who = columns
    result = eo.annotator_audit(true, given, who)
    for test in result.tests:
        chosen = who == test.annotator
        assert test.result == eo.audit_test(true[chosen], given[chosen])


@pytest.mark.parametrize(
    "names",
    [np.array([7, 0, 12]), np.array([0.5, 2, -1]), np.array([True, "ben", 3], dtype=object)],
    ids=["ints", "floats", "mixed"],
)
def test_annotators_are_counted_whatever_they_are_called(columns, names):
    true, given, who = columns
    order = np.random.default_rng(8).permutation(len(who))
    renamed = np.repeat(names, 250)
    result = eo.annotator_audit(true[order], given[order], renamed[order])
    called = dict(zip(["ann", "ben", "cas"], map(plain, names), strict=True))
    assert [(test.annotator, test.result) for test in result.tests] == [
        (called[test.annotator], test.result) for test in eo.annotator_audit(*columns).tests
    ]


def test_annotators_are_ranked_and_adjusted(columns):
    result = eo.annotator_audit(*columns)
    pvalues = [test.result.pvalue for test in result.tests]
    assert pvalues == sorted(pvalues)
    assert [test.holm for test in result.tests] == pytest.approx(holm(pvalues))
    adjusted = [test.benjamini_hochberg for test in result.tests]
    assert adjusted == pytest.approx(benjamini_hochberg(pvalues))
    assert result.tests[0].annotator == "ben"
    assert result.pvalue == result.tests[0].holm


def test_who_cannot_be_tested_is_listed_with_the_reason(columns):
    true, given, who = columns
    who = np.append(who, "new")
    result = eo.annotator_audit(np.append(true, 1), np.append(given, 1), who)
    assert [one.annotator for one in result.untested] == ["new"]
    assert result.untested[0].why.startswith("no audited row is truly 0")
    assert result.equivalence(0.9).pvalue == 1


def test_results_survive_json(columns):
    result = eo.annotator_audit(*columns)
    again = eo.AnnotatorAuditResult.from_dict(json.loads(json.dumps(result.to_dict())))
    assert again == result


def test_equivalence_asks_for_everyone(columns):
    result = eo.annotator_audit(*columns)
    each = [test.result.equivalence(0.3).pvalue for test in result.tests]
    assert result.equivalence(0.3).pvalue == max(each)


def test_by_given_class_each_annotator_has_counts(columns):
    true, given, who = columns
    counts = {name: {0: 4000, 1: 2000} for name in ("ann", "ben", "cas")}
    result = eo.annotator_audit(true, given, who, sampled_by="given", given_counts=counts)
    assert {test.result.given_counts for test in result.tests} == {(4000, 2000)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"annotators": ["ann"]},
            r"^annotators has shape \(1,\) but there are 750 audited rows: say who gave",
        ),
        (
            {"sampled_by": "given"},
            r"^given_counts is missing: .* Give the counts of each annotator, as \{'ann': \{label",
        ),
        (
            {"sampled_by": "given", "given_counts": {"ann": (900, 900), "ben": (900, 900)}},
            r"^given_counts lacks annotator 'cas': give the counts of each annotator's rows\.$",
        ),
        (
            {
                "sampled_by": "given",
                "given_counts": {"ann": (900, 900), "ben": (900, 5), "cas": (900, 900)},
            },
            r"^of annotator 'ben': given_counts says that the data have 5 rows labelled 1, but",
        ),
        (
            {"annotators": np.array([1] * 400 + ["1"] * 350, dtype=object)},
            r"^annotators hold both 1 and '1', which print alike: write them in one way\.$",
        ),
        (
            {"annotators": [None] * 750},
            r"^annotators has 750 missing values, the first in row 0: drop the rows without one",
        ),
        (
            {"annotators": np.arange(750)},
            r"^no annotator can be tested. Of annotator 0, for example: no audited row is truly",
        ),
    ],
)
def test_bad_input_gets_its_sentence(columns, options, message):
    true, given, who = columns
    with pytest.raises(InputError, match=message):
        eo.annotator_audit(true, given, **{"annotators": who, **options})


def test_annotators_with_the_same_counts_are_tested_once():
    true, given = np.tile([1, 1, 0, 0, 0], 800), np.tile([1, 0, 0, 0, 1], 800)
    result = eo.annotator_audit(true, given, np.repeat(np.arange(400), 10))
    assert len(result.tests) == 400
    assert len({id(test.result) for test in result.tests}) == 1
