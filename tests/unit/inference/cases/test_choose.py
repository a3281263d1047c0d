"""Cases drawn along a score: strata, draws, and a record that knows its scores."""

import itertools
import json

import numpy as np
import pytest
from scipy import stats

import evenodds as eo
from evenodds.inference.cases.choose import ALIKE, ENOUGH, shares_of_strata


@pytest.fixture(scope="module")
def scores():
    return np.random.default_rng(0).beta(1, 2, 4000)


def test_cases_are_rows_of_their_strata(scores):
    cases = eo.choose_cases(scores, n_cases=60)
    assert len(set(cases.rows)) == len(cases) == 60
    np.testing.assert_array_equal(cases.strata_of(scores)[cases.rows], cases.strata)


def variance(true, n, judged, slope=0.8, dispersion=0.4):
    """Return the variance of the asymmetry, written out as on the theory page."""
    given = 0.1 + slope * true
    weights = 1 / (given * (1 - given) / n + slope**2 * dispersion * true * (1 - true) / judged)
    centre = (weights * true).sum() / weights.sum()
    apart = (weights * (true - centre) ** 2).sum()
    return 4 * (1 / weights.sum() + (0.5 - centre) ** 2 / apart)


@pytest.mark.parametrize("true", [(0.06, 0.3, 0.8), (0.06, 0.1, 0.3), (0.45, 0.6, 0.9)])
def test_cases_are_shared_out_so_that_the_asymmetry_is_narrowest(true):
    """Of all ways to share 60 cases with the same fewest a stratum, none is better by 0.1%."""
    true, n, rng = np.array(true), np.array([3000.0, 800.0, 400.0]), np.random.default_rng(0)
    shares = shares_of_strata(n, 0.1 + 0.8 * true, np.full(3, 200), 60, rng)
    fewest = int(ALIKE * 60 / 3)
    ways = itertools.product(range(fewest, 61), repeat=2)
    variances = [
        variance(true, n, np.array([*way, 60 - sum(way)]))
        for way in ways
        if sum(way) <= 60 - fewest
    ]
    assert shares.sum() == 60
    assert shares.min() >= fewest
    assert variance(true, n, shares) < 1.001 * min(variances)
    assert variance(true, n, np.full(3, 20)) > 1.03 * min(variances)


@pytest.mark.parametrize("n_cases", [12, 31, 60, 120, 1000, 20_000])
def test_every_stratum_has_cases_enough(n_cases):
    scores = np.random.default_rng(0).beta(1, 2, 100_000)
    counts = np.bincount(eo.choose_cases(scores, n_cases=n_cases).strata)
    equal = n_cases // len(counts)
    assert counts.sum() == n_cases
    assert counts.min() >= max(min(ENOUGH, equal), int(ALIKE * equal))


def test_half_of_the_cases_are_a_design_too(scores):
    for seed in range(20):
        cases = eo.choose_cases(scores, n_cases=60, seed=seed)
        whole = np.bincount(cases.strata)
        half = np.bincount(cases.strata[:30], minlength=len(whole))
        assert np.abs(half - whole / 2).max() <= 1.5


def test_shares_stay_within_the_rows_there_are():
    room = np.array([14, 15, 300])
    shares = shares_of_strata(
        np.array([28.0, 30.0, 600.0]), np.array([0.5, 0.6, 0.9]), room, 60, np.random.default_rng(0)
    )
    assert (shares <= room).all()
    # With no room at all they are alike, and the draw says what is missing.
    none = shares_of_strata(
        np.ones(3), np.full(3, 0.5), np.zeros(3, int), 61, np.random.default_rng(0)
    )
    assert sorted(none) == [20, 20, 21]


def test_edges_are_even_steps_of_the_score():
    cases = eo.choose_cases(np.linspace(0, 1, 5001), n_cases=60)
    np.testing.assert_allclose(cases.edges, [0.1, 0.1 + 0.8 / 3, 0.9 - 0.8 / 3, 0.9])


def test_a_poor_score_is_cut_at_quantiles():
    scores = np.random.default_rng(1).normal(0.05, 0.005, 4000)
    sizes = np.bincount(eo.choose_cases(scores).strata_of(scores))
    assert len(sizes) == 5
    assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize(("n_cases", "n_strata"), [(30, 3), (60, 5), (120, 8), (500, 8)])
def test_more_cases_have_more_strata(n_cases, n_strata):
    assert eo.choose_cases(np.linspace(0, 1, 9000), n_cases=n_cases).n_strata == n_strata


def test_each_row_of_a_stratum_is_drawn_alike():
    scores = np.repeat([0.2, 0.8], 30)
    drawn = np.zeros(60)
    for seed in range(600):
        drawn[eo.choose_cases(scores, n_cases=12, n_strata=2, seed=seed).rows] += 1
    assert stats.chisquare(drawn).pvalue > 1e-4


def test_a_row_is_drawn_in_proportion_to_its_weight():
    scores = np.repeat([0.2, 0.8], 30)
    weights = np.tile([1.0, 2.0, 3.0], 20)
    drawn = np.zeros(60)
    for seed in range(600):
        cases = eo.choose_cases(scores, n_cases=12, n_strata=2, sample_weight=weights, seed=seed)
        drawn[cases.rows] += 1
    assert stats.chisquare(drawn, drawn.sum() * weights / weights.sum()).pvalue > 1e-4


def test_the_first_cases_are_spread_over_strata(scores):
    cases = eo.choose_cases(scores, n_cases=120)
    counts = np.bincount(cases.strata[:60], minlength=cases.n_strata)
    assert counts.min() > 0


def test_a_group_is_judged_once(scores):
    groups = np.arange(len(scores)) // 20
    rows = eo.choose_cases(scores, groups=groups).rows
    assert len(set(groups[rows])) == len(rows)


def test_a_row_without_weight_is_never_drawn(scores):
    weights, groups = np.ones(len(scores)), np.arange(len(scores)) % 40
    weights[groups >= 20] = 0  # fewer groups than cases are left
    with pytest.raises(eo.InputError, match="rows that may be judged but"):
        eo.choose_cases(scores, groups=groups, sample_weight=weights, n_cases=30)
    rows = eo.choose_cases(scores, groups=groups, sample_weight=weights, n_cases=12).rows
    assert (weights[rows] > 0).all()


def test_a_record_reads_back(scores, tmp_path):
    cases = eo.choose_cases(scores)
    back = eo.Cases.read(cases.save(tmp_path / "cases.json"))
    np.testing.assert_array_equal(back.rows, cases.rows)
    np.testing.assert_array_equal(back.strata_of(scores), cases.strata_of(scores))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema_version": 9}, "is of schema version 9 but this version of evenodds reads 1"),
        ({"rows": "no"}, "is damaged: its numbers cannot be read"),
        ({"edges": [0.9, 0.1]}, "is damaged: its rows, strata and edges do not fit together"),
        ({"n_rows": 3}, "is damaged: its rows, strata and edges do not fit together"),
        ({"other": 1}, "is no record of cases"),
    ],
)
def test_a_changed_record_is_refused(scores, tmp_path, change, message):
    path = eo.choose_cases(scores).save(tmp_path / "cases.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(eo.InputError, match=message):
        eo.Cases.read(path)


@pytest.mark.parametrize("use", [lambda cases: cases.save(None), lambda cases: cases.read(3)])
def test_what_is_no_path_is_refused(scores, use):
    with pytest.raises(eo.InputError, match=r"^path is (None|3): give the name of a file\.$"):
        use(eo.choose_cases(scores))


def test_other_scores_are_refused(scores):
    cases = eo.choose_cases(scores)
    with pytest.raises(eo.InputError, match="these are not the scores that the cases were drawn"):
        cases.strata_of(scores[::-1])
    with pytest.raises(eo.InputError, match="scores has 10 rows but the cases were drawn from"):
        cases.strata_of(scores[:10])


@pytest.mark.parametrize(
    ("scores", "settings", "message"),
    [
        (
            np.full(500, 0.3),
            {},
            "they have 1 distinct value, and 60 cases need two strata of 60 rows each",
        ),
        (np.linspace(0, 1, 50), {}, "has 50 rows but 60 cases need at least 120"),
        (np.linspace(0, 2, 500), {}, "must lie between 0 and 1 but score 251 of 500 is 1.00"),
        (np.r_[np.linspace(0, 1, 499), np.nan], {}, "scores is nan at row 500 of 500: give"),
        (np.linspace(0, 1, 500), {"n_cases": 3}, "n_cases is 3 but must be"),
        (np.linspace(0, 1, 500), {"groups": [1]}, "groups has shape"),
        (np.linspace(0, 1, 500), {"groups": np.zeros(500)}, "groups has one group only"),
        (np.linspace(0, 1, 500), {"sample_weight": -np.ones(500)}, "must not be negative"),
        (
            np.linspace(0, 1, 500),
            {"sample_weight": np.r_[1000, np.ones(499)]},
            "row 1 of 500 has so much of the weight of its stratum",
        ),
    ],
)
def test_what_cannot_work_is_refused(scores, settings, message):
    with pytest.raises(eo.InputError, match=message):
        eo.choose_cases(scores, **settings)


@pytest.fixture(scope="module")
def given(scores):
    return np.where(np.random.default_rng(3).random(len(scores)) < scores, "ill", "well")


def test_both_labels_of_every_stratum_are_drawn(scores, given):
    cases = eo.choose_cases(scores, n_cases=120, given=given)
    cells = 2 * cases.strata_of(scores) + (given == "ill")
    drawn, rows = np.bincount(cells[cases.rows], minlength=16), np.bincount(cells, minlength=16)
    assert len(set(cases.rows)) == 120
    assert (drawn >= np.minimum(rows, 2)).all()
    large = drawn > 4
    np.testing.assert_allclose(
        drawn[large] / np.sqrt(rows[large]), (drawn / np.sqrt(rows))[large].mean(), rtol=0.15
    )


def test_half_of_the_cases_by_label_are_half_the_design(scores, given):
    cases = eo.choose_cases(scores, n_cases=120, given=given)
    cells = (2 * cases.strata_of(scores) + (given == "ill"))[cases.rows]
    whole, half = np.bincount(cells, minlength=16), np.bincount(cells[:60], minlength=16)
    assert np.abs(half - whole / 2).max() <= 1


def test_each_row_of_a_cell_is_drawn_alike():
    scores, given = np.repeat([0.2, 0.8], 30), np.tile([0, 0, 1], 20)
    drawn = np.zeros(60)
    for seed in range(600):
        cases = eo.choose_cases(scores, n_cases=12, n_strata=2, given=given, seed=seed)
        drawn[cases.rows[:8]] += 1
    for label in (0, 1):
        assert stats.chisquare(drawn[given == label]).pvalue > 1e-4


def test_a_record_knows_the_labels_it_was_drawn_by(scores, given, tmp_path):
    cases = eo.choose_cases(scores, given=given)
    back = eo.Cases.read(cases.save(tmp_path / "cases.json"))
    assert back.given_hash == cases.given_hash
    back.check_given(given == "ill")
    back.check_given(given == "well")  # whichever is positive
    with pytest.raises(eo.InputError, match="not the given labels that the cases were drawn by"):
        back.check_given(np.roll(given == "ill", 1))


def test_a_record_by_score_alone_is_written_as_ever(scores, tmp_path):
    record = json.loads(eo.choose_cases(scores).save(tmp_path / "cases.json").read_text())
    assert "given_hash" not in record
    assert eo.Cases.from_dict(record).given_hash is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"given": [0, 1]}, "given has 2 labels but scores has 4,000 rows"),
        ({"groups": np.arange(4000)}, "given goes without groups and sample_weight"),
        ({"n_cases": 12, "n_strata": 20}, "n_cases is 12 but 40 cells of stratum and given label"),
    ],
)
def test_what_cannot_be_drawn_by_label_is_refused(scores, given, settings, message):
    with pytest.raises(eo.InputError, match=message):
        eo.choose_cases(scores, **{"given": given, **settings})


def test_strata_have_the_cases_that_a_line_needs():
    with pytest.raises(
        eo.InputError, match=r"needs 3 looked-up truths or 5 stated prob.* 60 or 100"
    ):
        eo.choose_cases(np.random.default_rng(0).random(600), n_cases=12, n_strata=20)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((600, 2), r"scores has two columns, .* give the column of the positive class"),
        ((600, 1), r"scores has shape \(600, 1\) but there are 600 rows"),
    ],
)
def test_scores_in_columns_are_refused(shape, message):
    with pytest.raises(eo.InputError, match=message):
        eo.choose_cases(np.full(shape, 0.5))


def test_strata_that_were_joined_still_keep_half_of_their_rows():
    """Fewer strata have more cases each: a small one at the end must not be judged as a whole."""
    rng = np.random.default_rng(4)
    scores = np.r_[rng.uniform(0.01, 0.09, 31), rng.uniform(0.3, 0.7, 1500)]
    cases = eo.choose_cases(scores, n_cases=120)
    left = np.bincount(cases.strata_of(scores)) - np.bincount(cases.strata)
    assert (left >= np.bincount(cases.strata) - 1).all()
