"""What an audit adds to the likelihood: derivatives, information, and nothing twice."""

import numpy as np
import pytest

from evenodds.model.noisy_likelihood import AuditTerms, KnownRows, NoisyPoint

POINT = NoisyPoint(np.array([-0.4, 1.1, 0.3]), 0.2, 0.06)


def _known(rng, n=50):
    features = rng.normal(size=(n, 2))
    true, given = (rng.integers(0, 2, size=n).astype(float) for _ in range(2))
    return KnownRows(features, true, given)


@pytest.fixture(params=["counts", "rows"])
def terms(request):
    known = _known(np.random.default_rng(0)) if request.param == "rows" else None
    return AuditTerms(40, 7, 60, 13, known)


def _moved(step):
    return NoisyPoint(
        POINT.coefficients + step[:3], POINT.rate + step[3], POINT.asymmetry + step[4]
    )


def test_the_score_is_the_slope_of_the_log_likelihood(terms):
    slopes = [
        (terms.at(_moved(step)).log_likelihood - terms.at(_moved(-step)).log_likelihood) / 2e-6
        for step in 1e-6 * np.eye(5)
    ]
    assert terms.at(POINT).score == pytest.approx(slopes, rel=1e-6, abs=1e-5)


def test_counted_flips_have_the_variance_of_their_score():
    """Information is the variance of the score when flips are drawn at the rates of the point."""
    rng = np.random.default_rng(1)
    scores = [
        AuditTerms(40, rng.binomial(40, 0.17), 60, rng.binomial(60, 0.23)).at(POINT).score[-2:]
        for _ in range(4000)
    ]
    expected = AuditTerms(40, 7, 60, 13).at(POINT).information[-2:, -2:]
    assert np.cov(np.transpose(scores)) == pytest.approx(expected, rel=0.1, abs=12)


def test_known_rows_gain_information_and_lose_none(terms):
    """Knowing the truth of a row can only add to what its given label told."""
    assert np.linalg.eigvalsh(terms.at(POINT).information).min() > -1e-9


def test_no_flips_leave_everything_finite_on_the_bound():
    part = AuditTerms(20, 0, 80, 0).at(NoisyPoint(np.zeros(2), 0.0, 0.0))
    assert part.log_likelihood == pytest.approx(0.0, abs=1e-6)
    assert np.isfinite(part.information).all()


def test_a_scaled_audit_is_a_share_of_it():
    audit = AuditTerms(40, 8, 60, 12)
    half = audit.scaled(0.5).at(POINT)
    assert half.score == pytest.approx(audit.at(POINT).score / 2)
    assert half.information == pytest.approx(audit.at(POINT).information / 2)


def test_true_labels_given_the_given_ones_have_the_variance_of_their_score():
    """Rows chosen by their given label: only the truth is left to chance."""
    rng = np.random.default_rng(3)
    features = rng.normal(size=(80, 2))
    given = np.repeat([0.0, 1.0], 40)
    alpha, beta = POINT.rate - POINT.asymmetry / 2, POINT.rate + POINT.asymmetry / 2
    clean = 1 / (1 + np.exp(-(POINT.coefficients[0] + features @ POINT.coefficients[1:])))
    positive = clean * np.where(given == 1, 1 - alpha, alpha)
    chance = positive / (positive + (1 - clean) * np.where(given == 1, beta, 1 - beta))
    scores, stated = [], []
    for _ in range(3000):
        true = (rng.random(80) < chance).astype(float)
        flipped = [float((true * (1 - given)).sum()), float(((1 - true) * given).sum())]
        known = KnownRows(features, true, given, by_given=True)
        part = AuditTerms(true.sum(), flipped[0], 80 - true.sum(), flipped[1], known).at(POINT)
        scores.append(part.score)
        stated.append(part.information)
    scale = np.sqrt(stated[0].diagonal())
    seen = np.cov(np.transpose(scores)) / np.outer(scale, scale)
    assert seen == pytest.approx(stated[0] / np.outer(scale, scale), abs=0.08)
    assert np.mean(scores, axis=0) / scale == pytest.approx(np.zeros(5), abs=0.08)
