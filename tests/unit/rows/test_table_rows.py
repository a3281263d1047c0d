"""Rows read from files: the same blocks, samples and fits as rows in memory."""

import pickle

import numpy as np
import pytest

import evenodds as eo
from evenodds.model.logistic import fit_rows
from evenodds.model.sums import Moments
from evenodds.rows import table_rows as streamed_module
from evenodds.rows import tables
from evenodds.rows.memory import read_rows
from evenodds.rows.table_rows import Summed
from evenodds.rows.tables import batches_of

SOURCES = ["rows.csv", "rows.tsv", "rows.parquet", "rows.feather", "parts_csv", "parts_parquet"]
GLOBS = ["parts_csv/*.csv", "parts_*/part?.parquet"]


class Kept:
    """A sum that keeps what it was given."""

    def __init__(self):
        self.features, self.labels, self.starts = [], [], []

    def add(self, block):
        self.features.append(block.features.copy())
        self.labels.append(block.labels.copy())
        self.starts.append(block.start)


@pytest.mark.parametrize("source", SOURCES + GLOBS)
def test_every_kind_of_file_gives_the_fit_of_an_array(written, streamed, source):
    fit = fit_rows(streamed(source))
    reference = eo.fit_logistic(written.features, written.frame["label"].to_numpy())
    assert fit.coefficients == pytest.approx(reference.coefficients, rel=1e-10)


@pytest.mark.parametrize("source", SOURCES)
def test_weights_and_groups_are_those_of_an_array(written, streamed, source):
    frame = written.frame
    fit = fit_rows(streamed(source, weight="times", group="patient"))
    reference = eo.fit_logistic(
        written.features,
        frame["label"].to_numpy(),
        sample_weight=frame["times"].to_numpy(),
        groups=frame["patient"].to_numpy(),
    )
    assert fit.covariance == pytest.approx(reference.covariance, rel=1e-10)


@pytest.mark.parametrize("source", SOURCES)
def test_blocks_hold_every_row_once_and_in_order(written, streamed, source):
    seen = streamed(source).sum_over_rows(Kept())
    assert (np.concatenate(seen.features) == written.features).all()


def test_labels_are_ones_where_the_positive_label_stands(written, streamed):
    seen = streamed(positive="ill").sum_over_rows(Kept())
    assert (np.concatenate(seen.labels) == (written.frame["label"] == "ill")).all()


def test_a_sample_has_the_rows_that_memory_would_give(written, streamed):
    frame = written.frame
    in_memory = read_rows(written.features, frame["label"].to_numpy())
    expected = in_memory.thinned(7, np.random.default_rng(3)).sum_over_rows(Kept())
    found = streamed().thinned(7, np.random.default_rng(3)).sum_over_rows(Kept())
    assert (np.concatenate(found.features) == np.concatenate(expected.features)).all()


def test_a_peek_takes_the_beginnings_of_random_parts(written, streamed, monkeypatch):
    monkeypatch.setattr(streamed_module, "PARTS_TO_PEEK_AT", 3)
    monkeypatch.setattr(tables, "PART_ROWS", 130)
    rows = streamed()
    rows.held = None
    (block,) = blocks(rows.peeked(10, np.random.default_rng(3)))
    numbered = [int(np.flatnonzero(written.features[:, 0] == age)[0]) for age in block[:, 0]]
    assert len(numbered) == 60
    assert sorted(number % 130 for number in numbered) == sorted(3 * list(range(20)))


def test_a_peek_at_small_parts_still_finds_enough_rows(streamed, monkeypatch):
    monkeypatch.setattr(streamed_module, "PARTS_TO_PEEK_AT", 2)
    monkeypatch.setattr(tables, "PART_ROWS", 1)
    rows = streamed()
    rows.held = None
    assert rows.peeked(2, np.random.default_rng(3)).n_rows == 300


def blocks(rows):
    return rows.sum_over_rows(Kept()).features


def test_sizes_and_totals_are_known_before_any_fit(written, streamed):
    rows = streamed(weight="times")
    times = written.frame["times"]
    ill = float(times[written.frame["label"] == "well"].sum())
    assert (rows.n_rows, rows.total_weight, rows.positive_weight()) == (600, times.sum(), ill)


def test_parts_can_be_summed_apart_and_merged(streamed):
    rows = pickle.loads(pickle.dumps(streamed()))
    merged = Moments(rows.n_features)
    for start, part in rows.table.starts():
        reader = pickle.loads(pickle.dumps(rows.reader))
        sent, summed = pickle.loads(pickle.dumps(part)), Summed(reader, Moments(5))
        for number, batch in batches_of(sent, start, reader.columns):
            summed.add(number, batch)
        merged.merge(summed.total)
    assert merged.total() == pytest.approx(rows.sum_over_rows(Moments(5)).total(), rel=1e-12)


def test_rows_marked_as_anchors_are_left_out(written, streamed):
    rows = streamed(anchor="toss_up")
    seen = rows.sum_over_rows(Kept())
    kept = ~written.frame["toss_up"].to_numpy()
    assert (np.concatenate(seen.features) == written.features[kept]).all()


def test_only_the_columns_that_are_needed_are_read(streamed):
    rows = streamed(features=("dose",))
    assert rows.reader.columns == ("dose", "label")
