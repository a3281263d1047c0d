"""What passes over a table find out: the same whether parts are seen in turn or apart."""

import pickle
from functools import partial

import numpy as np
import pytest

from evenodds.rows.encoding import SeenTexts, _first_outside
from evenodds.rows.formula import TeachingRows
from evenodds.rows.labels import Columns, Facts, distinct
from evenodds.rows.open_table import open_table
from evenodds.rows.table_rows import _marked
from evenodds.rows.tables import Found, Selection, _only_zero_one

EVERY_ROW = Selection()
MARKED = Selection("toss_up", "true or false", ("age",))
ROLES = Columns(label="label", weight="times", group="patient", anchor="toss_up")
SURVEYS = {
    "texts": SeenTexts("X", ("site", "patient"), EVERY_ROW),
    "probabilities": Found(("age", "toss_up"), partial(_first_outside, "age", MARKED)),
    "marks": Found(("times",), _only_zero_one),
    "anchors": Found(("age", "site", "toss_up"), partial(_marked, MARKED)),
    "facts": Facts(ROLES, MARKED),
    "teaching": TeachingRows("X", ("age", "times", "site"), ("age", "times"), ("times",), MARKED),
}


@pytest.fixture(scope="module")
def table(written):
    """Three files, so three parts."""
    return open_table(written.folder / "parts_parquet")


def seen_apart(table, empty):
    """Fill a copy for each part, as a cluster does, and merge them in order."""
    packed = pickle.dumps(empty)
    merged = None
    for start, part in table.starts():
        survey, number = pickle.loads(packed), start
        for batch in part.batches(survey.columns):
            survey.add(number, batch)
            number += batch.num_rows
        merged = survey if merged is None else merged
        if merged is not survey:
            merged.merge(pickle.loads(pickle.dumps(survey)))
    return merged


def found(survey):
    """Return what a survey has found, as plain values."""
    if isinstance(survey, TeachingRows):
        return survey.table().to_pylist()
    if isinstance(survey, Found):
        return survey.found
    values = dict(vars(survey))
    if isinstance(survey, Facts):
        values["groups"] = distinct(survey.groups)[0].to_pylist()
    return values


@pytest.mark.parametrize("empty", SURVEYS.values(), ids=SURVEYS)
def test_parts_seen_apart_tell_what_the_whole_tells(monkeypatch, table, empty):
    monkeypatch.setattr("evenodds.rows.encoding.MOST_LEVELS", 10_000)
    whole = table.surveyed(pickle.loads(pickle.dumps(empty)))
    assert found(seen_apart(table, empty)) == found(whole)


def test_teaching_rows_are_the_same_few_however_the_table_is_cut(monkeypatch, table):
    monkeypatch.setattr("evenodds.rows.formula.TEACHING_ROWS", 40)
    empty = SURVEYS["teaching"]
    whole = table.surveyed(pickle.loads(pickle.dumps(empty)))
    apart = found(seen_apart(table, empty))
    assert apart == found(whole)
    assert len(apart) < 60


def test_a_first_row_is_that_of_the_first_part_that_has_one(table):
    outside = partial(_first_outside, "age", Selection())
    told = seen_apart(table, Found(("age",), outside)).found
    assert next(first for first in told if first is not None)[0] == 0


def test_kept_rows_are_counted_for_every_batch(written, table):
    kept = seen_apart(table, Facts(ROLES, MARKED)).kept
    left_out = np.count_nonzero(written.frame["toss_up"])
    assert sum(kept.values()) == len(written.frame) - left_out
