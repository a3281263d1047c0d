import itertools

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from evenodds.noise import ClassConditionalNoise
from evenodds.study.atlas import CELL, level_figure, power_heatmap_figure

METHODS, WORLDS, SIZES = ("wald", "boundary"), ("paper", "rare"), ((500, 1), (500, 8), (2000, 1))
# Of 500 runs, by (alpha, beta); the wald test breaks down in the rare world at rate 0.2.
REJECTIONS = {(0.0, 0.0): 25, (0.2, 0.2): 20, (0.05, 0.15): 300}
BROKEN = 200
COLUMNS = (*CELL, "tolerance", "alpha", "beta", "runs", "rejections")
NOISE = ClassConditionalNoise(0.05, 0.15)


@pytest.fixture
def table():
    rows = []
    for method, world, (n, k), (alpha, beta) in itertools.product(
        METHODS, WORLDS, SIZES, REJECTIONS
    ):
        broken = (method, world, alpha, beta) == ("wald", "rare", 0.2, 0.2)
        rejections = BROKEN if broken else REJECTIONS[alpha, beta]
        rows.append((method, world, n, k, 0.05, alpha, beta, 500, rejections))
    return {
        name: np.array(column)
        for name, column in zip(COLUMNS, zip(*rows, strict=True), strict=True)
    }


def without(table, **unwanted):
    mask = np.logical_and.reduce([table[name] == value for name, value in unwanted.items()])
    return {name: column[~mask] for name, column in table.items()}


def numbers(figure, panel):
    """Return the numbers written in the cells of a panel, by rows."""
    return [text.get_text() for text in figure.axes[panel].texts if text.get_text()[0] in ".1"]


def n_frames(figure, panel):
    return sum(isinstance(patch, Rectangle) for patch in figure.axes[panel].patches)


def test_the_worst_rate_is_drawn(table):
    assert numbers(level_figure(table), 0) == [".05"] * 3 + [".40"] * 3


def test_the_title_names_the_rates(table):
    assert level_figure(table).get_suptitle() == (
        "Level: worst of 0 and 20% of both classes flipped, toss-ups within ±0.05 of ½"
    )


def test_levels_surely_too_high_are_framed(table):
    figure = level_figure(table)
    assert (n_frames(figure, 0), n_frames(figure, 1)) == (3, 0)


@pytest.mark.parametrize(("rejections", "framed"), [(51, 0), (52, 3)])
def test_a_frame_needs_the_whole_interval_above(table, rejections, framed):
    """scipy.stats.binomtest(51, 500).proportion_ci(method="wilson").low is .0784, of 52 .0802."""
    table["rejections"][table["rejections"] == BROKEN] = rejections
    assert n_frames(level_figure(table), 0) == framed


def test_a_cell_that_was_not_run_is_hatched(table):
    some = without(table, method="wald", world="paper", n_rows=2000)
    figure = level_figure(some)
    (mesh,) = figure.axes[0].collections
    assert np.ma.getmaskarray(mesh.get_array()).tolist() == [[False, False, True], [False] * 3]
    assert figure.axes[0].patch.get_hatch()


def test_worlds_and_sizes_are_named(table):
    panel = level_figure(table).axes[-2]
    assert [label.get_text() for label in panel.get_yticklabels()] == list(WORLDS)
    assert [label.get_text() for label in panel.get_xticklabels()] == ["1", "8", "1"]


def test_numbers_stand_out_from_their_cells(table):
    table["rejections"][table["rejections"] == BROKEN] = 480
    colors = [text.get_color() for text in level_figure(table).axes[0].texts[:6]]
    assert colors == ["#000000"] * 3 + ["white"] * 3


def test_power_is_of_class_conditional_noise(table):
    assert numbers(power_heatmap_figure(table, NOISE), 1) == [".60"] * 6


def test_rejections_of_a_broken_test_are_framed_as_no_power(table):
    figure = power_heatmap_figure(table, NOISE)
    assert (n_frames(figure, 0), n_frames(figure, 1)) == (3, 0)
