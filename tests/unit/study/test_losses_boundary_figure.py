import numpy as np
import pytest
from matplotlib.contour import ContourSet

from evenodds.study.losses import boundary_figure


@pytest.fixture(scope="module")
def moves():
    """How far each boundary lies from the true one, along (1, 1): by panel, then by line."""
    found = []
    for panel in boundary_figure().axes:
        lines = [drawn for drawn in panel.collections if isinstance(drawn, ContourSet)]
        # Where each line meets the diagonal x1 = x2.
        places = []
        for line in lines:
            (path,) = line.get_paths()
            across, up = path.vertices.T
            order = np.argsort(across - up)
            places.append(np.interp(0, (across - up)[order], (across + up)[order]) / np.sqrt(2))
        true, *fitted = places
        found.append(dict(zip(("clean", "uniform", "class"), np.array(fitted) - true, strict=True)))
    return dict(zip(("balanced", "rare"), found, strict=True))


@pytest.mark.parametrize("world", ["balanced", "rare"])
def test_clean_labels_show_the_true_boundary(moves, world):
    assert abs(moves[world]["clean"]) < 0.05


def test_uniform_noise_leaves_the_boundary_of_balanced_classes(moves):
    assert abs(moves["balanced"]["uniform"]) < 0.05


def test_uniform_noise_moves_the_boundary_of_a_rare_class(moves):
    assert moves["rare"]["uniform"] > 0.15


@pytest.mark.parametrize("world", ["balanced", "rare"])
def test_class_conditional_noise_moves_every_boundary(moves, world):
    assert moves[world]["class"] > 0.8
