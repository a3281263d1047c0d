"""The front door: what it passes on, and what it refuses."""

import numpy as np
import pandas as pd
import pytest

import evenodds as eo


def test_a_method_is_named_or_described(labelled, toss_ups):
    named = eo.asymmetry_test(labelled.X, labelled.y, toss_ups, method="wald")
    described = eo.asymmetry_test(labelled.X, labelled.y, toss_ups, method=eo.Wald())
    assert named == described


@pytest.mark.parametrize("method", ["walt", None, 3, ["wald"]])
def test_an_unknown_method_is_answered_with_the_choices(refused, labelled, toss_ups, method):
    with refused(f"method is {method!r} but must be one of "):
        eo.asymmetry_test(labelled.X, labelled.y, toss_ups, method=method)


def test_an_unknown_alternative_is_answered_with_the_choices(refused, labelled, toss_ups, wald):
    with refused("alternative is 'more' but must be one of 'two-sided', 'greater' or 'less'."):
        wald(labelled.X, labelled.y, toss_ups, alternative="more")


def test_anchors_are_needed(refused, labelled, wald):
    text = "anchors is None but method 'wald' needs at least one: name cases where an expert could"
    with refused(text, eo.AnchorError):
        wald(labelled.X, labelled.y)


@pytest.mark.parametrize(
    ("points", "kind"), [([[0.0, 0.0]], "a list"), (np.zeros((1, 2)), "an ndarray")]
)
def test_bare_points_are_told_to_be_wrapped(refused, labelled, wald, points, kind):
    text = f"anchors is {kind}: wrap the points as evenodds.Anchors(points)."
    with refused(text, eo.AnchorError):
        wald(labelled.X, labelled.y, points)


def test_settings_are_keywords(labelled, toss_ups):
    with pytest.raises(TypeError, match="positional arguments"):
        eo.asymmetry_test(labelled.X, labelled.y, toss_ups, "wald")


def test_anchors_with_another_number_of_columns_are_refused(refused, labelled, wald):
    with refused("anchors has 3 columns but X has 2: give each anchor", eo.AnchorError):
        wald(labelled.X, labelled.y, eo.Anchors([[0.0, 0.0, 0.0]]))


def test_anchors_with_other_names_are_refused(refused, labelled, wald):
    X = pd.DataFrame(labelled.X, columns=["age", "dose"])
    anchors = eo.Anchors(pd.DataFrame({"age": [0.0], "does": [0.0]}))
    with refused("anchors has no column 'dose', which X has; did you mean 'does'?", eo.AnchorError):
        wald(X, labelled.y, anchors)


@pytest.mark.parametrize(
    ("details", "message"),
    [
        ({"positive": "yes"}, "positive is 'yes' but the labels are 0 and 1: name one of these."),
        ({"sample_weight": [1, 2]}, "sample_weight has shape (2,) but there are 300 rows"),
        ({"groups": [1, 2]}, "groups has shape (2,) but X has 300 rows: give one group a row."),
    ],
)
def test_details_are_checked_at_the_door(refused, labelled, wald, details, message):
    with refused(message):
        wald(labelled.X, labelled.y, eo.Anchors([[0.0, 0.0]]), **details)


def test_three_classes_are_refused(refused, labelled, toss_ups, wald):
    with refused("y has 3 distinct labels (0, 1 and 2) but this test needs 2"):
        wald(labelled.X, np.arange(300) % 3, toss_ups)


def test_one_class_is_refused(refused, labelled, toss_ups, wald):
    with refused("y has one label only ('ill') but this test needs two"):
        wald(labelled.X, np.full(300, "ill"), toss_ups)
