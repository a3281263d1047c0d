"""A few runs of `stratified_audit.py`, and the defect releases with gold labels looked up.

The last needs the folder named by the environment variable EVENODDS_DATA.
"""

import numpy as np
import pytest
from scipy import stats

import evenodds as eo
from evenodds.inference.audit.strata import compare_with_line, read_strata
from tests.calibration.stratified_audit import BESIDE, CRITICAL, DESIGNS, WORTH, judged, worth
from tests.calibration.test_real_data import FOLDER, _read

RUNS = 25
NAMED = {design.name: design for design in (*DESIGNS, *BESIDE)}


@pytest.mark.parametrize(
    "name",
    [
        "5 wrong rows, by score alone",
        "rare positives",
        "hard cases flipped",
        "150 rows, 60 audited",
        "300 rows, positives rare and never flipped",
    ],
)
def test_the_truth_is_rarely_rejected(name):
    z = judged(NAMED[name], RUNS)[:, 0]
    assert (np.abs(z) > CRITICAL).sum() <= stats.binom.ppf(1 - 1e-4, RUNS, 0.05)


def test_a_score_saves_a_quarter_of_the_rows():
    share, found = worth(WORTH[0], 150)
    assert share == pytest.approx(0.42, abs=0.03)
    assert found > 4 / 3


def test_the_line_differs_where_flips_depend_on_the_case():
    differs = [NAMED["hard positives flipped"].beside(34, run)[1] for run in range(10)]
    silent = [NAMED["balanced"].beside(34, run)[1] for run in range(20)]
    assert sum(differs) >= 8
    assert sum(silent) <= 1


def drawn_estimates(release, draws, by_label=True, n_cases=200):
    """Return the truth of all rows, and of many draws the audit's, the line's, and if held."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, gold, heuristic = _read(release)
    model = HistGradientBoostingClassifier(max_iter=50, random_state=0)
    scores = eo.out_of_fold_scores(X, heuristic.astype(int), estimator=model)
    truth = heuristic[~gold].mean() - (~heuristic[gold]).mean()
    found = []
    for seed in range(draws):
        given = heuristic if by_label else None
        cases = eo.choose_cases(scores, n_cases=n_cases, given=given, seed=seed)
        rows = read_strata(gold[cases.rows], heuristic, cases, scores=scores)
        compared = compare_with_line(rows)
        line = np.nan if compared is None else compared.line
        seen = eo.audit_test(gold[cases.rows], heuristic, strata=cases, scores=scores)
        interval = seen.confidence_interval()
        held = interval.low <= truth <= interval.high
        found.append((seen.asymmetry, line, held, compared is not None and compared.differs))
    return truth, np.array(found, dtype=float)


@pytest.mark.skipif(not FOLDER, reason="EVENODDS_DATA is not set: no real data to test on")
@pytest.mark.parametrize("release", ["derby", "lucene"])
def test_defect_releases_have_the_asymmetry_of_all_their_rows(release):
    pytest.importorskip("sklearn")
    truth, found = drawn_estimates(release, draws=3)
    assert np.median(found[:, 0]) == pytest.approx(truth, abs=0.12)
    assert found[:, 2].sum() >= 2
