"""What the figures are drawn from: every number against the rows it stands for."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit, logit

import evenodds as eo
from evenodds.inference.figure_data import MOST_ANCHORS

NOISE = eo.ClassConditionalNoise(alpha=0.3, beta=0.05)


@pytest.fixture(scope="module")
def drawn():
    """2,000 rows of four features, the second and the last of which matter most."""
    rng = np.random.default_rng(5)
    centred = rng.normal(size=(2000, 4))
    X = centred + np.array([0, 100, 0, -3])
    true = rng.random(2000) < expit(centred @ [0.2, 2.0, -0.4, 1.0])
    return X, NOISE.flip(true.astype(int), rng)


@pytest.fixture(scope="module")
def anchors():
    return eo.Anchors([[0.0, 100.0, 0.0, -3.0], [1.0, 99.0, 1.0, -0.9], [-1.0, 101.0, 0.0, -4.7]])


@pytest.fixture(scope="module", params=["boundary", "joint"])
def result(request, drawn, anchors):
    return eo.asymmetry_test(*drawn, anchors, method=request.param)


@pytest.fixture(scope="module")
def plane(result):
    return result.sketch.plane


def test_bins_hold_every_row_once(result):
    assert sum(b.n_rows for b in result.sketch.bins) == pytest.approx(2000)


def test_bins_hold_every_positive_label_once(result, drawn):
    positives = sum(b.observed * b.n_rows for b in result.sketch.bins)
    assert positives == pytest.approx(drawn[1].sum())


def test_bins_rise(result):
    assert (np.diff([b.log_odds for b in result.sketch.bins]) > 0).all()


def test_bins_hold_about_as_many_rows_each(result):
    sizes = [b.n_rows for b in result.sketch.bins]
    assert len(sizes) == 12
    assert max(sizes) < 2 * min(sizes)


def test_fitted_shares_lie_on_the_curve_between_its_plateaus(result):
    for seen in result.sketch.bins:
        curve = result.beta + (1 - result.alpha - result.beta) * expit(seen.log_odds)
        assert seen.fitted == pytest.approx(curve, abs=0.01)


def test_the_interval_of_a_bin_is_that_of_wilson(result):
    seen = result.sketch.bins[3]
    test = stats.binomtest(round(seen.observed * seen.n_rows), round(seen.n_rows))
    interval = test.proportion_ci(method="wilson")
    assert (seen.low, seen.high) == pytest.approx((interval.low, interval.high), rel=1e-9)


def test_the_strongest_features_are_chosen_by_what_they_move(plane):
    assert (plane.first, plane.second, plane.n_others) == ("column 1", "column 3", 2)


def test_columns_go_by_their_names(anchors, drawn):
    frame = pd.DataFrame(drawn[0], columns=["age", "dose", "sex", "weight"])
    named = eo.asymmetry_test(frame, drawn[1], anchors).sketch.plane
    assert (named.first, named.second) == ("dose", "weight")


def test_cells_hold_the_rows_within_three_spreads(plane):
    assert 1900 < np.sum(plane.counts) <= 2000
    assert (np.array(plane.positives) <= plane.counts).all()


def test_a_column_of_cells_counts_its_rows(plane, drawn):
    low, high = plane.first_range
    edges = np.linspace(low, high, 17)
    counted = np.histogram(drawn[0][:, 1], edges)[0]
    inside = np.sum(plane.counts, axis=1)
    assert np.abs(counted - inside).max() <= 12  # those beyond three spreads of the other


def test_the_noisy_boundary_is_where_labels_are_a_toss_up(result):
    clean = expit(result.sketch.noisy_boundary)
    noise = eo.ClassConditionalNoise(result.alpha, result.beta)
    assert noise.noisy_posterior(clean) == pytest.approx(0.5)


def test_rows_between_the_boundaries_are_counted(result):
    """The bins know the same share, but for the two that a boundary cuts."""
    boundary = result.sketch.noisy_boundary
    full = [b.n_rows for b in result.sketch.bins if 0 < b.log_odds < boundary]
    assert abs(result.sketch.between * 2000 - sum(full)) < 2 * max(full)


def test_labels_that_are_never_a_toss_up_have_no_noisy_boundary():
    from evenodds.inference.figure_data import noisy_boundary
    from evenodds.model.noisy_likelihood import NoisyPoint

    assert noisy_boundary(NoisyPoint(np.zeros(2), rate=0.3, asymmetry=0.5)) is None


def test_anchors_say_together_what_the_test_says(drawn, anchors):
    result = eo.asymmetry_test(*drawn, anchors)
    mean = np.mean([logit(anchor.posterior) for anchor in result.sketch.anchors])
    assert expit(mean) == pytest.approx(result.mean_posterior, rel=1e-9)


def test_an_anchor_alone_is_the_test_of_that_anchor(drawn):
    alone = eo.Anchors([[1.0, 99.0, 1.0, -0.9]], tolerance=0.1)
    result = eo.asymmetry_test(*drawn, alone)
    seen = result.sketch.anchors[0]
    assert (seen.posterior, seen.standard_error) == pytest.approx(
        (result.mean_posterior, result.standard_error), rel=1e-9
    )


def test_groups_widen_an_anchor_too(drawn):
    alone = eo.Anchors([[1.0, 99.0, 1.0, -0.9]])
    twice = [np.repeat(part, 2, axis=0) for part in drawn]
    result = eo.asymmetry_test(*twice, alone, groups=np.arange(4000) // 2)
    seen = result.sketch.anchors[0]
    assert seen.standard_error == pytest.approx(result.standard_error, rel=1e-9)


def test_a_plain_curve_knows_anchors_and_bins_but_no_clean_boundary(drawn, anchors):
    result = eo.asymmetry_test(*drawn, anchors, method="wald")
    sketch = result.sketch
    assert np.mean([a.posterior for a in sketch.anchors]) == pytest.approx(result.mean_posterior)
    assert (sketch.plane, sketch.noisy_boundary, sketch.between) == (None, None, None)


def test_one_anchor_has_the_error_of_the_wald_test(drawn):
    result = eo.asymmetry_test(*drawn, eo.Anchors([[0.0, 100, 0, -3]]), method="wald")
    assert result.sketch.anchors[0].standard_error == pytest.approx(result.standard_error)


def test_without_anchors_there_are_none(drawn):
    sketch = eo.asymmetry_test(*drawn, method="joint").sketch
    assert (sketch.anchors, sketch.plane.anchors) == ((), ())


def test_one_feature_makes_no_plane(drawn):
    X, y = drawn
    sketch = eo.asymmetry_test(X[:, [1]], y, eo.Anchors([[100.0]])).sketch
    assert sketch.plane is None


def test_many_anchors_are_shown_from_the_lowest_to_the_highest(drawn):
    points = drawn[0][:200]
    result = eo.asymmetry_test(*drawn, eo.Anchors(points))
    shown = result.sketch.anchors
    assert len(shown) == len(result.sketch.plane.anchors) == MOST_ANCHORS
    every = eo.asymmetry_test(*drawn, eo.Anchors(points), method="wald")
    assert len({anchor.number for anchor in every.sketch.anchors}) == MOST_ANCHORS


def test_the_rows_of_many_are_summed_on_a_sample(monkeypatch, drawn, anchors):
    monkeypatch.setattr("evenodds.model.noisy_likelihood.MANY_ROWS", 1500)
    monkeypatch.setattr("evenodds.model.noisy_likelihood.SMALL_SAMPLE", 1000)
    monkeypatch.setattr("evenodds.model.noisy_likelihood.THINNING", 2)
    for method in ("boundary", "wald"):
        sketch = eo.asymmetry_test(*drawn, anchors, method=method).sketch
        assert sketch.n_rows_seen == 1000


def test_rows_are_only_ever_summed(monkeypatch, drawn, anchors):
    """The same numbers, whatever the blocks that rows come in."""
    whole = eo.asymmetry_test(*drawn, anchors, method="wald").sketch
    monkeypatch.setattr("evenodds.rows.memory.rows_in_a_block", lambda n_features: 77)
    pieces = eo.asymmetry_test(*drawn, anchors, method="wald").sketch
    assert [b.n_rows for b in pieces.bins] == [b.n_rows for b in whole.bins]


def test_a_file_gives_the_same_sketch(drawn, anchors, tmp_path):
    names = ["a", "b", "c", "d"]
    frame = pd.DataFrame(drawn[0], columns=names)
    frame.assign(y=drawn[1]).to_parquet(tmp_path / "rows.parquet")
    streamed = eo.asymmetry_test(tmp_path / "rows.parquet", "y", anchors).sketch
    held = eo.asymmetry_test(frame, drawn[1], anchors).sketch
    assert [b.n_rows for b in streamed.bins] == [b.n_rows for b in held.bins]
    assert streamed.plane.counts == held.plane.counts
    assert streamed.between == held.between


def test_weights_count_as_rows(drawn, anchors):
    X, y = drawn
    weighted = eo.asymmetry_test(X, y, anchors, sample_weight=np.full(2000, 2.0)).sketch
    doubled = eo.asymmetry_test(np.tile(X, (2, 1)), np.tile(y, 2), anchors).sketch
    assert weighted.plane.counts == doubled.plane.counts
    assert sum(b.n_rows for b in weighted.bins) == pytest.approx(4000)


def test_weights_below_one_leave_something_to_draw(drawn, anchors):
    X, y = drawn
    rng = np.random.default_rng(1)
    weighted = eo.asymmetry_test(X, y, anchors, sample_weight=rng.random(2000) / 4)
    assert np.max(weighted.sketch.plane.counts) > 0
    weighted.plot("boundary").canvas.draw()


def test_a_sketch_survives_json(result):
    document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert eo.AsymmetryTestResult.from_dict(document).sketch == result.sketch


def test_a_sketch_is_small(drawn):
    result = eo.asymmetry_test(*drawn, eo.Anchors(drawn[0][:300]))
    assert len(json.dumps(result.to_dict())) < 20_000
