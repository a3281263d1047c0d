import itertools

import numpy as np
import pytest

from evenodds.study.paper import QUANTILES, grid_figure

SIZES, TOLERANCES, ANCHORS = (500, 2000), (0.0, 0.05, 0.1), (1, 4)


@pytest.fixture(scope="module")
def table():
    """200 p-values a cell, those of corrupted labels smaller."""
    rng = np.random.default_rng(1)
    columns = {
        name: []
        for name in ("alpha", "beta", "n_rows", "tolerance", "n_anchors", "labels", "pvalue")
    }
    for n, tolerance, k, labels in itertools.product(
        SIZES, TOLERANCES, ANCHORS, ("clean", "corrupted")
    ):
        pvalues = rng.random(200) ** (1 if labels == "clean" else 3)
        for column, value in zip(
            columns.values(), (0.3, 0.1, n, tolerance, k, labels, pvalues), strict=True
        ):
            column.append(np.broadcast_to(value, 200))
    return {name: np.concatenate(parts) for name, parts in columns.items()}


def drawn_boxes(panel):
    """Return (position, lower edge, upper edge) of every box, from the left."""
    corners = [patch.get_path().vertices for patch in panel.patches]
    return sorted(
        (float(c[:4, 0].mean()), float(c[:, 1].min()), float(c[:4, 1].max())) for c in corners
    )


def rows_where(table, **wanted):
    return np.logical_and.reduce([table[name] == value for name, value in wanted.items()])


def test_there_is_a_panel_for_each_size_and_tolerance(table):
    assert len(grid_figure(table).axes) == len(SIZES) * len(TOLERANCES)


@pytest.mark.parametrize(("row", "column"), [(0, 0), (1, 2)])
def test_boxes_span_the_middle_half_of_their_p_values(table, row, column):
    panel = grid_figure(table).axes[row * len(TOLERANCES) + column]
    for (_, low, high), (k, labels) in zip(
        drawn_boxes(panel), itertools.product(ANCHORS, ("clean", "corrupted")), strict=True
    ):
        mask = rows_where(
            table, n_rows=SIZES[row], tolerance=TOLERANCES[column], n_anchors=k, labels=labels
        )
        expected = np.quantile(table["pvalue"][mask], [0.25, 0.75])
        assert (low, high) == pytest.approx(tuple(expected), abs=1e-12)


def test_whiskers_leave_out_a_tenth_of_the_p_values(table):
    panel = grid_figure(table).axes[0]
    mask = rows_where(table, n_rows=500, tolerance=0.0, n_anchors=1, labels="clean")
    low, *_, high = np.quantile(table["pvalue"][mask], QUANTILES)
    ends = {round(float(y), 12) for line in panel.lines for y in line.get_ydata()}
    assert {round(low, 12), round(high, 12)} <= ends


def test_the_order_of_rows_does_not_matter(table):
    order = np.random.default_rng(2).permutation(len(table["pvalue"]))
    shuffled = {name: column[order] for name, column in table.items()}
    boxes = [drawn_boxes(panel) for panel in grid_figure(shuffled).axes]
    assert boxes == [drawn_boxes(panel) for panel in grid_figure(table).axes]


def test_the_papers_two_lines_differ_in_style_as_well_as_colour(table):
    panel = grid_figure(table).axes[0]
    styles = {
        line.get_ydata()[0]: line.get_linestyle()
        for line in panel.lines
        if list(line.get_xdata()) == [0, 1] and line.get_ydata()[0] in {0.05, 0.1}
    }
    assert styles == {0.1: "--", 0.05: "-"}


def test_the_title_says_what_was_flipped(table):
    title = grid_figure(table, test="joint").get_suptitle()
    assert title == (
        "Test 'joint': 30% of positives and 10% of negatives mislabelled (α = 0.30, β = 0.10)"
    )


def test_cells_that_were_not_run_stay_empty(table):
    mask = rows_where(table, n_rows=500, tolerance=0.0, labels="corrupted")
    some = {name: column[~mask] for name, column in table.items()}
    panels = grid_figure(some).axes
    assert [len(drawn_boxes(panel)) for panel in panels[:2]] == [2, 4]
