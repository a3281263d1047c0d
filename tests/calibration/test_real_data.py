"""Defect tables with gold labels: the default test on data it was not made for.

Half of the rows supply anchors, through a model of their gold labels; the other half is
tested under each labelling. Needs the folder named by the environment variable EVENODDS_DATA.
"""

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import evenodds as eo
from evenodds.inference.asymmetry import null_statistic
from evenodds.inference.noise_aware import FittedRows
from evenodds.rows.memory import read_rows

FOLDER = os.environ.get("EVENODDS_DATA")
pytestmark = pytest.mark.skipif(
    not FOLDER, reason="EVENODDS_DATA is not set: no real data to test on"
)

FEATURES = [
    "CountLineCode",
    "CountClassCoupled",
    "COMM",
    "ADEV",
    "Added_lines",
    "Del_lines",
    "OWN_LINE",
    "MaxNesting_Max",
    "RatioCommentToCode",
    "CountDeclMethodPublic",
]
SPLITS = 12
RELEASES = {"derby": "derby-10.2.1.6", "lucene": "lucene-2.3.0", "camel": "camel-1.4.0"}


def _read(release):
    path = Path(FOLDER) / "jira" / f"{RELEASES[release]}.csv"
    with path.open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    X = np.log1p(np.array([[float(row[name]) for name in FEATURES] for row in table]))
    X = X[:, _first_of_their_kind(X)]
    labels = {
        name: np.array([row[name].strip().upper() == "TRUE" for row in table])
        for name in ("RealBug", "HeuBug")
    }
    return (X - X.mean(axis=0)) / X.std(axis=0), labels["RealBug"], labels["HeuBug"]


def _first_of_their_kind(X):
    """Return the columns that are not constant and repeat no earlier one."""
    kept = []
    for column in range(X.shape[1]):
        trial = np.column_stack([np.ones(len(X)), X[:, [*kept, column]]])
        if np.linalg.matrix_rank(trial) == trial.shape[1]:
            kept.append(column)
    return kept


def _anchors(X, gold):
    """Take rows that a model of the gold labels calls toss-ups, with the model's own error."""
    fit = eo.fit_logistic(X, gold)
    posterior = 1 / (1 + np.exp(-fit.log_odds(X)))
    chosen = np.flatnonzero((posterior > 0.4) & (posterior < 0.6))
    points = X[chosen]
    slopes = posterior[chosen] * (1 - posterior[chosen])
    source = fit.log_odds_covariance(points) * np.outer(slopes, slopes)
    # The covariance says how the model's errors move together; nothing else is shared.
    return eo.Anchors(points, tolerance=0.1, shared_tolerance=0, source_covariance=source)


def _rejections(release, splits=40):
    X, gold, heuristic = _read(release)
    rng = np.random.default_rng(2021)
    counts = dict.fromkeys(("gold", "gold with uniform noise", "heuristic"), 0)
    for _ in range(splits):
        order = rng.permutation(len(X))
        one, other = order[: len(X) // 2], order[len(X) // 2 :]
        anchors = _anchors(X[one], gold[one])
        noisy = eo.UniformNoise(0.2).flip(gold[other].astype(int), rng)
        for name, labels in (
            ("gold", gold[other]),
            ("gold with uniform noise", noisy),
            ("heuristic", heuristic[other]),
        ):
            rows = read_rows(X[other], labels)
            z, _ = null_statistic(rows, anchors, eo.Boundary(), FittedRows.of(rows))
            counts[name] += abs(z) > stats.norm.isf(0.025)
    return {name: count / splits for name, count in counts.items()}


@pytest.fixture(scope="module", params=["derby", "lucene"])
def rates(request):
    return _rejections(request.param, SPLITS)


def test_gold_labels_are_rarely_rejected(rates):
    assert rates["gold"] <= 0.2


def test_gold_labels_with_uniform_noise_are_rarely_rejected(rates):
    assert rates["gold with uniform noise"] <= 0.2


def test_heuristic_labels_are_nearly_always_rejected(rates):
    assert rates["heuristic"] >= 0.9


def test_noise_that_balances_at_the_boundary_stays_unseen():
    """On camel the noise depends on the features; a boundary test cannot see it."""
    rates = _rejections("camel", SPLITS)
    assert rates["gold"] <= 0.2
    assert rates["heuristic"] < 0.5
