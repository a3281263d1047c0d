import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.contour import ContourSet

from evenodds.study.losses import CORRECTED_LINE, PLAIN_LINE, restored_figure

RUNS = 4


@pytest.fixture(scope="module")
def crossings():
    """Where lines meet the diagonal: by panel, then colour."""
    found = []
    for panel in restored_figure(n_rows=4000, runs=RUNS).axes:
        places = {}
        for drawn in panel.collections:
            if isinstance(drawn, ContourSet):
                across, up = drawn.get_paths()[0].vertices.T
                order = np.argsort(across - up)
                place = np.interp(0, (across - up)[order], (across + up)[order]) / np.sqrt(2)
                places.setdefault(to_hex(drawn.get_edgecolor()[0]).upper(), []).append(place)
        found.append(places)
    return dict(zip(("even", "rare", "even, moved", "rare, moved"), found, strict=True))


def mean_move(crossings, panel, line):
    (true,) = crossings[panel]["#000000"]
    assert len(crossings[panel][line.color]) == RUNS
    return np.mean(crossings[panel][line.color]) - true


@pytest.mark.parametrize("panel", ["even", "rare", "even, moved", "rare, moved"])
def test_corrected_boundaries_are_the_true_ones(crossings, panel):
    assert abs(mean_move(crossings, panel, CORRECTED_LINE)) < 0.1


def test_uniform_noise_leaves_the_plain_boundary_of_even_classes(crossings):
    assert abs(mean_move(crossings, "even", PLAIN_LINE)) < 0.1


def test_uniform_noise_moves_the_plain_boundary_of_a_rare_class(crossings):
    assert mean_move(crossings, "rare", PLAIN_LINE) == pytest.approx(0.279, abs=0.12)


@pytest.mark.parametrize(("panel", "expected"), [("even, moved", 1.268), ("rare, moved", 1.370)])
def test_class_conditional_noise_moves_plain_boundaries_far(crossings, panel, expected):
    assert mean_move(crossings, panel, PLAIN_LINE) == pytest.approx(expected, abs=0.2)
