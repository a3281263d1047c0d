"""The call in a report makes the same result again."""

import numpy as np
import pytest

import evenodds as eo
from evenodds.report.asymmetry import python_call

POINTS = np.array([[0.0, 0.0], [1.0, -1.0], [-2.0, 2.0]])


@pytest.mark.parametrize(
    ("anchors", "settings"),
    [
        ({}, {}),
        ({"tolerance": 0, "posterior": 0.4}, {"method": eo.Boundary(weights="optimal")}),
        ({"shared_tolerance": 0.1}, {"method": "joint", "alternative": "less"}),
        ({}, {"method": eo.Wald(covariance="sandwich"), "positive": 0}),
        (
            {},
            {"method": eo.Joint(calibration="bootstrap", bootstrap=eo.Bootstrap(19, seed=3))},
        ),
    ],
)
def test_the_call_makes_the_same_result(labelled, anchors, settings):
    given = eo.Anchors(POINTS, **anchors)
    result = eo.asymmetry_test(labelled.X, labelled.y, given, **settings)
    names = {
        "X": labelled.X,
        "y": labelled.y,
        "points": POINTS,
        "posteriors": given.posterior,
        "tolerances": given.tolerance,
    }
    exec(python_call(result), names)
    assert names["result"] == result


def test_groups_are_asked_for(labelled, toss_ups, wald):
    groups = np.arange(300) // 3
    result = eo.asymmetry_test(labelled.X, labelled.y, toss_ups, groups=groups)
    assert "groups=groups" in python_call(result)
    call = python_call(wald(labelled.X, labelled.y, toss_ups, groups=groups))
    assert "sandwich" not in call
