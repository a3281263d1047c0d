"""Words below figures: what is special about a result is said there."""

from dataclasses import replace

import numpy as np
import pytest

import evenodds as eo
from evenodds.report.sheet import sheet_of


def caption(result, kind, view):
    return sheet_of(result, view).caption(kind)


def words(result, kind, view):
    found = caption(result, kind, view)
    return f"{found.reading} {found.finding}"


def with_sketch(result, **changes):
    return replace(result, sketch=replace(result.sketch, **changes))


def test_every_figure_of_every_result_has_words(every, view):
    for result in every.values():
        for kind, picture in sheet_of(result, view).pictures.items():
            if not picture.why_not:
                found = caption(result, kind, view)
                assert found.reading.endswith(".")
                assert found.finding.endswith((".", ")"))


def test_a_sample_is_told(rejecting, view):
    sampled = with_sketch(rejecting, n_rows_seen=500)
    assert "(a sample of 500)" in words(sampled, "fit", view)
    assert "sample" not in words(rejecting, "fit", view)


def test_groups_are_told(labelled, toss_ups, view):
    result = eo.asymmetry_test(labelled.X, labelled.y, toss_ups, groups=np.arange(300) // 2)
    assert "the intervals do not know of the groups" in words(result, "fit", view)


def test_dots_off_the_curve_are_counted(rejecting, view):
    bins = rejecting.sketch.bins
    off = (replace(bins[0], low=0.9, high=1.0), *bins[1:])
    before = int(caption(rejecting, "fit", view).finding.split(" of ")[1])
    assert caption(with_sketch(rejecting, bins=off), "fit", view).finding.startswith(
        f"The interval of {before + 1} of 12 dots misses the curve"
    )


def test_some_of_many_anchors_are_told(rejecting, view):
    many = replace(rejecting, n_anchors=40)
    assert "(These are 3 of 40, from the lowest to the highest.)" in words(many, "anchors", view)


def test_a_toss_up_alone_is_told_of_alone(labelled, view):
    result = eo.asymmetry_test(labelled.X, labelled.y, eo.Anchors([[0.0, 0.0]]))
    assert caption(result, "anchors", view).finding.startswith("The toss-up lies within its bar.")


def test_the_joint_test_has_no_row_for_all(joint, view):
    assert "with the shape of the curve" in words(joint, "anchors", view)
    assert "All together" not in words(joint, "anchors", view)


def test_labels_that_are_nowhere_undecided_are_told(rejecting, view):
    one_sided = with_sketch(rejecting, noisy_boundary=None, between=None)
    assert "would give every case the same label" in words(one_sided, "boundary", view)


def test_features_counted_into_another_are_told(rejecting, view):
    more = with_sketch(rejecting, plane=replace(rejecting.sketch.plane, n_others=3))
    assert "counted into the second axis" in words(more, "boundary", view)
    assert "counted into the second axis" not in words(rejecting, "boundary", view)


@pytest.mark.parametrize(("margin", "shown"), [(0.001, "is not shown"), (0.5, "is shown")])
def test_equivalence_is_told(retaining, view, margin, shown):
    assert f"smaller than {margin:g} in size {shown}" in words(
        retaining, "evidence", replace(view, margin=margin)
    )


def test_data_that_could_find_nothing_say_so(labelled, toss_ups, view):
    method = eo.Boundary(calibration="bootstrap", bootstrap=eo.Bootstrap(draws=19))
    result = eo.asymmetry_test(labelled.X, labelled.y, toss_ups, method=method)
    found = words(result, "power", replace(view, significance=0.01))
    assert "could hardly have found an asymmetry of any size" in found
    result.plot("power", significance=0.01).canvas.draw()
    result.plot("evidence", significance=0.01).canvas.draw()
    result.plot("anchors", significance=0.01).canvas.draw()


def test_sure_cases_are_not_called_toss_ups(view):
    rng = np.random.default_rng(6)
    true = rng.integers(0, 2, 1500)
    X = rng.normal(size=(1500, 2)) + 1.5 * (2 * true - 1)[:, None]
    stated = [0.5, 0.5, 0.0, 1.0]
    points = [[0.0, 0.0], [0.5, -0.5], [-2.0, -2.0], [2.0, 2.0]]
    anchors = eo.Anchors(points, posterior=stated)
    result = eo.asymmetry_test(X, true, anchors, method="local")
    said = caption(result, "anchors", view)
    assert said.reading.startswith("Each row is a case of which the expert stated the chance.")
    assert "of 4 anchors lie outside" in said.finding
    assert result.plot("anchors").axes[0].get_ylabel() == "Cases stated"
