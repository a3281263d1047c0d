"""An audit beside anchors, or instead of them, in `asymmetry_test`."""

import json

import numpy as np
import pandas as pd
import pytest

import evenodds as eo
from evenodds.errors import InputError
from evenodds.inference.noise_aware import (
    BoundaryStatistic,
    FittedRows,
    boundary_direction,
    joint_direction,
    shape_blind,
)
from evenodds.inference.null_fits import AnchorEquations, equal_weights
from evenodds.model.noisy_likelihood import AuditTerms
from evenodds.rows.memory import read_rows

NOISE = eo.ClassConditionalNoise(alpha=0.25, beta=0.1)
ANCHORS = eo.Anchors([[1.0, -1.0], [-0.5, 0.5], [0.2, -0.2]])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(21)
    true = rng.integers(0, 2, size=1500)
    X = rng.normal(size=(1500, 2)) + (2 * true - 1)[:, None]
    return X, NOISE.flip(true, rng), true


@pytest.fixture(scope="module")
def audit():
    rng = np.random.default_rng(22)
    true = rng.integers(0, 2, size=300)
    return eo.Audit(true, NOISE.flip(true, rng))


@pytest.mark.parametrize("tolerance", [0.0, 0.05])
@pytest.mark.parametrize("asymmetry", [-0.2, 0.0, 0.05])
def test_without_an_audit_the_combined_score_is_the_boundary_statistic(data, tolerance, asymmetry):
    """The derivation on the theory page: the projection is of rank one."""
    X, y, _ = data
    fitted = FittedRows.of(read_rows(X, y))
    anchors = eo.Anchors(ANCHORS.points, tolerance=tolerance)
    equations = AnchorEquations.of(anchors, np.asarray(anchors.points), fitted.problem)
    statistic = BoundaryStatistic(fitted, equations.averaged(equal_weights(3)))
    fit = statistic.fits.at(asymmetry)
    combined = joint_direction(shape_blind(fit, AuditTerms(0, 0, 0, 0)), statistic.fits.evidence)
    expected = boundary_direction(fit, statistic.equations).z
    assert combined.z == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("method", ["boundary", "joint"])
def test_an_audit_narrows_the_interval(data, audit, method):
    X, y, _ = data
    widths = []
    for evidence in (None, audit):
        interval = eo.asymmetry_test(
            X, y, ANCHORS, method=method, audit=evidence
        ).confidence_interval()
        widths.append(interval.high - interval.low)
    assert widths[1] < 0.95 * widths[0]


@pytest.mark.parametrize("method", ["boundary", "joint"])
@pytest.mark.parametrize("anchors", [None, ANCHORS], ids=["alone", "with anchors"])
def test_a_large_audit_decides(data, method, anchors):
    X, y, _ = data
    true = np.repeat([1, 1, 0, 0], [40_000, 10_000, 5_000, 45_000])
    given = np.repeat([1, 0, 1, 0], [40_000, 10_000, 5_000, 45_000])
    result = eo.asymmetry_test(X, y, anchors, method=method, audit=eo.Audit(true, given))
    assert (result.alpha, result.beta) == pytest.approx((0.2, 0.1), abs=0.01)


@pytest.mark.parametrize("method", ["boundary", "joint"])
def test_when_every_row_is_audited_its_flips_are_all_there_is(data, method):
    """Then true labels fit the curve, and given labels count flips, each once."""
    X, y, true = data
    everything = eo.Audit(true, y, rows=np.arange(len(y)))
    result = eo.asymmetry_test(X, y, method=method, audit=everything)
    alone = eo.audit_test(true, y)
    assert result.asymmetry == pytest.approx(alone.asymmetry, abs=1e-6)
    assert result.alpha == pytest.approx(alone.alpha, abs=1e-6)
    # The audit alone divides by n - 1 where the likelihood divides by n.
    scale = np.sqrt(len(y) / (len(y) - 1))
    assert result.statistic == pytest.approx(alone.statistic * scale, rel=1e-6)


def test_rows_can_be_named_in_any_order_or_by_a_mask(data):
    X, y, true = data
    chosen = np.array([700, 3, 44, 1200, 9, 81])
    mask = np.zeros(len(y), dtype=bool)
    mask[chosen] = True
    ordered = np.sort(chosen)
    results = [
        eo.asymmetry_test(X, y, ANCHORS, audit=eo.Audit(true[names], rows=rows))
        for names, rows in ((chosen, chosen), (ordered, ordered), (ordered, mask))
    ]
    assert results[0].statistic == pytest.approx(results[1].statistic, rel=1e-9)
    assert results[1].statistic == results[2].statistic


def test_row_numbers_are_those_of_the_table_when_rows_are_dropped(data):
    X, y, true = data
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame.loc[0, "a"] = np.nan
    chosen = np.arange(5, 105)
    anchors = eo.Anchors(pd.DataFrame(ANCHORS.points, columns=["a", "b"]))
    dropped = eo.asymmetry_test(
        frame, y, anchors, missing="drop", audit=eo.Audit(true[chosen], y[chosen], rows=chosen)
    )
    without = eo.asymmetry_test(
        frame[1:], y[1:], anchors, audit=eo.Audit(true[chosen], rows=chosen - 1)
    )
    assert dropped.statistic == pytest.approx(without.statistic, rel=1e-9)


def test_the_result_knows_of_the_audit(data, audit):
    X, y, _ = data
    result = eo.asymmetry_test(X, y, ANCHORS, audit=audit)
    assert result.n_audited == 300
    again = eo.AsymmetryTestResult.from_dict(json.loads(json.dumps(result.to_dict())))
    assert again == result
    assert "audit           300 rows with true labels" in str(result)
    assert any(check.name == "audit" and not check.concern for check in result.diagnostics)


def test_an_audit_that_contradicts_the_anchors_is_doubted(data):
    X, y, _ = data
    rng = np.random.default_rng(1)
    true = rng.integers(0, 2, size=600)
    contrary = eo.Audit(true, eo.ClassConditionalNoise(0.02, 0.35).flip(true, rng))
    result = eo.asymmetry_test(X, y, ANCHORS, audit=contrary)
    assert any(check.name == "audit" and check.concern for check in result.diagnostics)


@pytest.mark.parametrize("method", ["boundary", "joint"])
@pytest.mark.parametrize(("n", "few"), [(1, True), (300, False)])
def test_an_audit_of_next_to_no_flips_is_doubted(data, audit, method, n, few):
    X, y, _ = data
    small = eo.Audit(audit.true[:n], audit.given[:n])
    result = eo.asymmetry_test(X, y, ANCHORS, method=method, audit=small)
    assert [c.concern for c in result.diagnostics if c.name == "audit size"] == [few]


def test_without_anchors_the_audit_carries_it_and_the_shape_is_not_blamed(data, audit):
    X, y, _ = data
    result = eo.asymmetry_test(X, y, method="joint", audit=audit)
    assert "shape of the curve alone" not in str(result)


@pytest.mark.parametrize("anchors", [None, ANCHORS], ids=["alone", "with anchors"])
@pytest.mark.parametrize("method", ["boundary", "joint"])
def test_the_report_says_what_the_audit_did(data, audit, tmp_path, method, anchors):
    X, y, _ = data
    result = eo.asymmetry_test(X, y, anchors, method=method, audit=audit)
    page = result.report(tmp_path / "out.html").read_text(encoding="utf-8")
    assert "Audited rows are part of the likelihood" in page
    assert "audit=audit" in page


@pytest.mark.parametrize("flipped", [0, 30])
def test_audits_at_the_edge_can_be_used(data, flipped):
    """No flip at all, or every row flipped in one class only."""
    X, y, _ = data
    true = np.ones(30, dtype=int)
    audit = eo.Audit(true, np.repeat([0, 1], [flipped, 30 - flipped]))
    assert np.isfinite(eo.asymmetry_test(X, y, ANCHORS, audit=audit).statistic)


def test_many_rows_take_an_audit_too(audit):
    rng = np.random.default_rng(5)
    true = rng.integers(0, 2, size=140_000)
    X = rng.normal(size=(140_000, 2)) + (2 * true - 1)[:, None]
    y = NOISE.flip(true, rng)
    result = eo.asymmetry_test(X, y, ANCHORS, method="joint", audit=audit)
    assert result.asymmetry == pytest.approx(-0.15, abs=0.02)


def _test(data, audit, **options):
    X, y, _ = data
    return eo.asymmetry_test(X, y, options.pop("anchors", ANCHORS), audit=audit, **options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda d: eo.Audit([1, 0]),
            r"^given is missing: give the given labels of the audited rows, or say which rows of X",
        ),
        (
            lambda d: eo.Audit([1, 0], [1, 0], sampled_by="given"),
            r"^sampled_by is 'given' but rows is missing: rows audited by given label must be rows",
        ),
        (
            lambda d: eo.Audit([1, 0], rows=[1, 2], sampled_by="true"),
            r"^sampled_by is 'true' but rows names rows of X: choosing them by their true class",
        ),
        (
            lambda d: eo.Audit([1, 0], [1, 0], sampled_by="label"),
            r"^sampled_by is 'label' but must be one of 'random', 'true' or 'given'\.$",
        ),
        (lambda d: eo.Audit([], []), r"^true is empty: give the labels of at least one audited"),
        (lambda d: eo.Audit([1, 0], [1]), r"^true has 2 labels but given has 1: give both labels"),
        (lambda d: eo.Audit([1, None], [1, 0]), r"^true has 1 missing value, the first in row 1"),
        (
            lambda d: _test(d, eo.Audit([1], [1]), anchors=None),
            r"^every audited row is truly 1 and there are no anchors, so nothing is known of how "
            r"often the other class is flipped: audit rows of both classes, or give anchors too\.$",
        ),
        (
            lambda d: _test(d, eo.Audit(["ill"], ["ill"]), anchors=None),
            r"^audit has the true label 'ill' but the labels of X are 0 and 1: write both in the",
        ),
        (
            lambda d: _test(d, eo.Audit(["ill"], ["ill"])),
            r"^audit has the true label 'ill' but the labels of X are 0 and 1: write both in the",
        ),
        (
            lambda d: _test(d, eo.Audit([1, 0], rows=[1, 2, 3])),
            r"^rows names 3 rows but true has 2 labels: give one true label a row\.$",
        ),
        (
            lambda d: _test(d, eo.Audit([1, 0], rows=[1, 1])),
            r"^rows names a row twice: audit each row once\.$",
        ),
        (
            lambda d: _test(d, eo.Audit([1, 0], rows=[1, 5000])),
            r"^rows names row 5000, which is not among the 1,500 rows of the fit: name rows of X",
        ),
        (
            lambda d: _test(d, eo.Audit([1], [1 - d[1][4]], rows=[4])),
            r"^audit says that row 4 is labelled \d but y says \d: check the row numbers\.$",
        ),
        (
            lambda d: _test(d, eo.Audit([1], [1]), groups=np.arange(1500)),
            r"^audit cannot be used with groups: it counts every row by itself\. Leave one out\.$",
        ),
        (
            lambda d: _test(d, eo.Audit([1], rows=[3]), sample_weight=np.repeat([1, 2], 750)),
            r"^audit names rows of X, which is weighted: repeat rows instead of weighting them\.$",
        ),
        (
            lambda d: _test(d, eo.Audit([1], [1]), method="wald"),
            r"^audit cannot be used with method 'wald', whose curve has no flip rates: use method",
        ),
        (
            lambda d: _test(d, eo.Audit([1], [1]), method=eo.Joint(calibration="bootstrap")),
            r"^calibration='bootstrap' draws labels, not audits: use calibration='asymptotic'",
        ),
        (
            lambda d: _test(d, [1, 0]),
            r"^audit is a list: wrap the labels as evenodds\.Audit\(true, given\)\.$",
        ),
    ],
)
def test_bad_input_gets_its_sentence(data, call, message):
    with pytest.raises(InputError, match=message):
        call(data)
