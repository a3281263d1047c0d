"""Anchors grouped by what they state."""

import numpy as np
import pytest

import evenodds as eo
from evenodds.inference.contour.ladder import group_anchors


def _stated(posterior, **settings):
    settings = {"tolerance": 0, **settings}
    points = np.zeros((len(posterior), 2))
    return group_anchors(eo.Anchors(points, posterior=posterior, **settings)).stated


def test_equal_posteriors_form_one_contour():
    contours = group_anchors(eo.Anchors(np.zeros((5, 1)), posterior=[0.2, 0.8, 0.2, 0.5, 0.8]))
    assert contours.stated == pytest.approx([0.2, 0.5, 0.8])
    assert contours.counts == (2, 1, 2)


def test_near_posteriors_share_a_contour():
    assert _stated([0.49, 0.51, 0.5, 0.8, 0.2]) == pytest.approx([0.2, 0.5, 0.8])


def test_posteriors_five_hundredths_apart_do_not():
    assert len(_stated([0.4, 0.45, 0.5, 0.55])) == 4


def test_zero_and_one_stand_alone():
    assert _stated([0.0, 0.01, 0.5, 0.99, 1.0]) == pytest.approx([0, 0.01, 0.5, 0.99, 1])


def test_posteriors_of_a_model_are_cut_into_fifths():
    stated = _stated(np.linspace(0.05, 0.95, 400))
    assert len(stated) == 5
    assert stated == pytest.approx(1 - stated[::-1])


def test_the_error_of_a_mean_shrinks_but_for_what_is_shared():
    anchors = eo.Anchors(
        np.zeros((8, 1)), posterior=[0.3] * 4 + [0.6] * 4, tolerance=0.06, shared_tolerance=0.03
    )
    contours = group_anchors(anchors)
    own, shared = 0.06**2 / 3 / 4, 0.03**2 / 3
    assert contours.covariance == pytest.approx(np.diag([own, own]) + shared)


def test_certain_cases_carry_no_error():
    anchors = eo.Anchors(np.zeros((3, 1)), posterior=[0, 0.5, 1], tolerance=0.1)
    assert anchors.shared_tolerance == 0.1  # that of the one case that can be off
    assert group_anchors(anchors).covariance.diagonal() == pytest.approx([0, 2 * 0.1**2 / 3, 0])


def test_one_contour_is_refused():
    anchors = eo.Anchors(np.zeros((3, 1)), posterior=[0.5, 0.51, 0.5])
    message = "all 3 anchors state a posterior of about 0.5: a contour test needs at least two"
    with pytest.raises(eo.AnchorError, match=message):
        group_anchors(anchors)


@pytest.mark.parametrize(
    ("posterior", "message"),
    [
        ([0.3], "there is one anchor, which states a posterior of 0.3: a contour test needs at"),
        ([0.5], "the only anchor states a posterior of 0.5, as where none is given"),
        (
            [0.5, 0.5],
            r"all 2 anchors state a posterior of 0.5, as where none is given \(posterior=",
        ),
    ],
)
def test_one_posterior_gets_what_is_needed(posterior, message):
    with pytest.raises(eo.AnchorError, match=message):
        group_anchors(eo.Anchors(np.zeros((len(posterior), 2)), posterior=posterior))
