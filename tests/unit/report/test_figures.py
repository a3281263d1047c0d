"""Figures: axes in words, and what is drawn is what was computed."""

import json

import numpy as np
import pytest
from scipy.special import expit
from tests.snapshots.results import MAKERS

import evenodds as eo
from evenodds.planning.achieved_power import could_have_found, power_curve
from evenodds.report.sheet import View, sheet_of

KINDS = ["anchors", "evidence", "power", "fit", "boundary"]


def panel_of(result, kind, **settings):
    return result.plot(kind, **settings).axes[0]


def line(panel, label):
    """Return the points of the line whose name starts so."""
    found = [drawn for drawn in panel.lines if str(drawn.get_label()).startswith(label)]
    assert len(found) == 1
    return np.array(found[0].get_xydata())


def names_in(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def marks(panel):
    """Return the marks of toss-ups, top to bottom, as (chance, marker)."""
    drawn = [one for one in panel.lines if one.get_marker() in "os" and len(one.get_xdata())]
    return [(one.get_xdata()[0], one.get_marker()) for one in drawn]


@pytest.mark.parametrize("kind", KINDS)
def test_every_figure_has_its_question_and_axes_in_words(rejecting, kind):
    panel = panel_of(rejecting, kind)
    assert panel.get_title(loc="left") == sheet_of(rejecting, View()).pictures[kind].question
    assert panel.get_xlabel()
    assert panel.get_ylabel()


def test_a_wrong_kind_is_refused_with_all_kinds(refused, rejecting):
    text = "kind is 'forest' but must be one of 'anchors', 'evidence', 'power', 'fit' or 'boundary'"
    with refused(text):
        rejecting.plot("forest")


def test_the_leading_figure_is_drawn_unless_another_is_named(rejecting, anchorless):
    for result, kind in ((rejecting, "anchors"), (anchorless, "evidence")):
        drawn = result.plot().axes[0]
        assert drawn.get_title(loc="left") == sheet_of(result, View()).pictures[kind].question


def test_a_result_without_figures_says_so(refused):
    with refused("this result has no figures: print it, or write its report."):
        eo.prior_test(30, 100, 0.25).plot()


def test_anchors_that_are_not_there_are_not_drawn(refused, anchorless):
    with refused("kind 'anchors' cannot be drawn: there are no anchors to draw."):
        anchorless.plot("anchors")


def test_a_plain_curve_has_no_clean_boundary_to_draw(refused, plain):
    with refused("kind 'boundary' cannot be drawn: method 'wald' estimates no flip rates, so it "):
        plain.plot("boundary")


def test_one_feature_has_no_plane_to_draw(refused, retaining):
    X = np.random.default_rng(1).normal(size=(400, 1))
    y = np.random.default_rng(2).random(400) < expit(2 * X[:, 0])
    result = eo.asymmetry_test(X, y, eo.Anchors([[0.0]]))
    with refused("kind 'boundary' cannot be drawn: fewer than two features matter."):
        result.plot("boundary")


@pytest.mark.parametrize("name", ["significance", "margin"])
def test_an_impossible_view_is_refused(refused, rejecting, name):
    with refused(f"{name} is 2 but must be above 0 and below 1."):
        rejecting.plot("evidence", **{name: 2})


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_from_json_draws_the_same(rejecting, kind, tmp_path):
    again = eo.AsymmetryTestResult.from_dict(json.loads(json.dumps(rejecting.to_dict())))
    paths = [tmp_path / "one.png", tmp_path / "other.png"]
    for path, result in zip(paths, (rejecting, again), strict=True):
        result.plot(kind).savefig(path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_every_result_draws_what_it_has(every):
    for name, result in every.items():
        if name == "hostile":
            continue  # its letters are not all in the font: see the tests of SVG
        for kind, picture in sheet_of(result, View()).pictures.items():
            if not picture.why_not:
                result.plot(kind).canvas.draw()


def test_anchors_are_marked_where_the_labels_put_them(rejecting):
    shown = [chance for chance, _ in marks(panel_of(rejecting, "anchors"))]
    expected = [anchor.posterior for anchor in rejecting.sketch.anchors]
    assert shown == pytest.approx([*expected, rejecting.mean_posterior])


def test_bars_are_the_retention_regions(rejecting):
    bars = panel_of(rejecting, "anchors", significance=0.1).patches
    drawn = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars]
    regions = [rejecting.anchor_region(anchor, 0.1) for anchor in rejecting.sketch.anchors]
    regions.append(rejecting.retention_region(0.1))
    assert drawn == [pytest.approx((region.low, region.high)) for region in regions]


def test_a_mark_outside_its_bar_has_another_shape(rejecting, retaining):
    assert marks(panel_of(rejecting, "anchors"))[-1][1] == "s"
    assert marks(panel_of(retaining, "anchors"))[-1][1] == "o"


def test_the_last_row_is_all_together(rejecting, joint):
    names = [text.get_text() for text in panel_of(rejecting, "anchors").get_yticklabels()]
    assert names == ["anchor 1", "anchor 2", "anchor 3", "all together"]
    names = [text.get_text() for text in panel_of(joint, "anchors").get_yticklabels()]
    assert names == ["anchor 1", "anchor 2", "anchor 3"]


def test_the_evidence_is_the_profile(rejecting):
    for asymmetry, z in line(panel_of(rejecting, "evidence"), "z,")[::20]:
        assert z == pytest.approx(rejecting.profile(asymmetry))


def test_the_estimate_the_test_and_the_interval_are_marked(rejecting):
    panel = panel_of(rejecting, "evidence")
    assert line(panel, "estimate").tolist() == [[rejecting.asymmetry, 0]]
    assert line(panel, "at 0, the test").tolist() == [[0, rejecting.statistic]]
    interval = rejecting.confidence_interval(0.95)
    bars = [one.get_xdata() for one in panel.lines if one.get_linewidth() > 3]
    assert [list(bar) for bar in bars] == [[interval.low, interval.high]]


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_a_side_without_a_bound_does_not_stretch_the_axis(labelled, toss_ups, alternative):
    result = eo.asymmetry_test(labelled.X, labelled.y, toss_ups, alternative=alternative)
    low, high = panel_of(result, "evidence").get_xlim()
    table = result.profile.asymmetries
    assert low >= table[0] - 0.12 * (high - low)
    assert high <= table[-1] + 0.12 * (high - low)


def test_the_margin_is_drawn_and_named(rejecting):
    figure = rejecting.plot("evidence", margin=0.2)
    spans = [patch for patch in figure.axes[0].patches if "margin" in patch.get_label()]
    assert (spans[0].get_x(), spans[0].get_width()) == pytest.approx((-0.2, 0.4))
    assert "margin of ±0.2" in names_in(figure)


def test_the_power_curve_is_that_of_planning(retaining):
    panel = panel_of(retaining, "power", significance=0.01)
    curve = power_curve(retaining, significance=0.01)
    assert line(panel, "chance").tolist() == [
        list(point) for point in zip(curve.asymmetries, curve.powers, strict=True)
    ]


def test_what_could_have_been_found_is_marked(retaining):
    reach = could_have_found(retaining, power=0.8)
    assert line(panel_of(retaining, "power"), f"{reach:.3f}").tolist() == [[reach, 0.8]]


def test_dots_are_the_shares_seen(rejecting):
    bins = rejecting.sketch.bins
    dots = panel_of(rejecting, "fit").containers[0].lines[0].get_xydata()
    assert dots.tolist() == [[seen.log_odds, seen.observed] for seen in bins]


def test_the_curve_has_its_plateaus(rejecting):
    panel = panel_of(rejecting, "fit")
    across, fitted = line(panel, "fitted curve").T
    beta, alpha = rejecting.beta, rejecting.alpha
    assert fitted == pytest.approx(beta + (1 - alpha - beta) * expit(across))
    heights = [one.get_ydata()[0] for one in panel.lines if one.get_linestyle() == "--"]
    assert heights == pytest.approx([beta, 1 - alpha])
    assert f"beta = {beta:.1%}" in [text.get_text() for text in panel.texts]


def test_the_plateaus_are_the_rates_of_the_report(rejecting):
    """Written with the same digits, so that a reader sees that they are the same."""
    written = [text.get_text() for text in rejecting.plot("fit").axes[0].texts]
    alpha, beta = sheet_of(rejecting, View()).keys[-1].value.split(" / ")
    assert f"beta = {beta}" in written
    assert f"1 − alpha = {100 - float(alpha[:-1]):.1f}%" in written


def test_a_plain_curve_has_none(plain):
    panel = panel_of(plain, "fit")
    assert line(panel, "plain logistic curve")[:, 1].max() < 1
    assert not panel.texts


@pytest.mark.parametrize(("label", "log_odds"), [("clean", 0.0), ("boundary of labels", None)])
def test_boundaries_are_where_the_curve_says(rejecting, label, log_odds):
    sketch = rejecting.sketch
    points = line(panel_of(rejecting, "boundary"), label)
    there = sketch.plane.intercept + points @ sketch.plane.slopes
    expected = sketch.noisy_boundary if log_odds is None else log_odds
    assert there == pytest.approx(expected, abs=1e-9)


def test_anchors_lie_on_the_plane_in_their_own_units(rejecting):
    plane = rejecting.sketch.plane
    drawn = line(panel_of(rejecting, "boundary"), "toss-up")
    order = [0, 1] if plane.first == "column 0" else [1, 0]
    assert drawn == pytest.approx(np.array([[1.0, -1.0], [0.5, -0.5], [-1.5, 1.5]])[:, order])


def test_cells_with_rows_are_drawn_once(rejecting):
    plane = rejecting.sketch.plane
    drawn = sum(
        len(collection.get_offsets())
        for collection in panel_of(rejecting, "boundary").collections
        if len(collection.get_offsets()) > 1
    )
    assert drawn == np.count_nonzero(plane.counts)


def test_other_features_are_named_on_the_axis():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(500, 4))
    y = rng.random(500) < expit(X @ [2.0, 1.0, 0.5, 0.2])
    result = eo.asymmetry_test(X, y, eo.Anchors([[0.0] * 4]))
    assert "with 2 other features" in panel_of(result, "boundary").get_ylabel()


def test_long_and_odd_names_are_cut_and_never_read_as_formulas(hostile):
    label = panel_of(hostile, "boundary").get_xlabel()
    assert len(label) <= 33
    assert "\x00" not in panel_of(hostile, "boundary").get_ylabel()


def test_drawing_leaves_the_users_settings_alone(rejecting):
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    rejecting.plot("fit")
    assert dict(mpl.rcParams) == before


def test_the_ends_of_the_line_stand_in_the_legend_where_no_stratum_hides_them():
    result = MAKERS["line_leans"]()
    figure = result.plot("line")
    assert not any("alpha" in text.get_text() for text in figure.axes[0].texts)
    (written,) = (
        text.get_text()
        for text in figure.legends[0].get_texts()
        if text.get_text().startswith("line")
    )
    assert written == f"line, from beta {result.beta:.2f}\nto 1 − alpha {1 - result.alpha:.2f}"


@pytest.mark.parametrize("name", ["line_leans", "line_uniform"])
def test_no_line_runs_through_the_words_beside_the_centre(name):
    """Where the line passes below the centre they stand above the diagonal, else below it."""
    result = MAKERS[name]()
    (said,) = (text for text in result.plot("line").axes[0].texts if text.get_text())
    assert said.get_text().startswith("half of")
    across, up = said.get_position()
    assert (up > across) == (result.asymmetry < 0)
    assert said.get_ha() == ("right" if up > across else "left")
