import numpy as np
import pytest
from scipy.optimize import minimize

import evenodds as eo
from evenodds.inference.audit.counts import Flips
from evenodds.inference.audit.score import AuditByGiven, GivenSample, score_z

AUDIT = AuditByGiven(Flips(90, 10, 110, 20), given_negative=9000, given_positive=1000)


def test_flip_rates_follow_from_the_shares():
    """10 of 100 labelled negative are positive, 20 of 100 labelled positive are negative."""
    seen = AUDIT.seen
    assert seen.alpha == pytest.approx(0.1 * 0.9 / (0.1 * 0.9 + 0.8 * 0.1))
    assert seen.beta == pytest.approx(0.2 * 0.1 / (0.2 * 0.1 + 0.9 * 0.9))


@pytest.mark.parametrize("quantity", ["alpha", "beta", "asymmetry"])
def test_gradients_are_derivatives(quantity):
    seen = AUDIT.seen
    value = {"alpha": lambda s: s.alpha, "beta": lambda s: s.beta}.get(
        quantity, lambda s: s.beta - s.alpha
    )
    steps = 1e-6 * np.eye(3)
    slopes = [
        (value(GivenSample(*(seen.vector + step))) - value(GivenSample(*(seen.vector - step))))
        / 2e-6
        for step in steps
    ]
    assert seen.gradient(quantity) == pytest.approx(slopes, rel=1e-6)


def _log_likelihood(audit, sample):
    shares = np.clip(sample.vector, 1e-12, 1 - 1e-12)
    flips = audit.flips
    wins = np.array([flips.flipped_negative, flips.flipped_positive, audit.given_positive])
    total = audit.given_positive + audit.given_negative
    tries = np.array([flips.given_positive, flips.given_negative, total])
    return float(wins @ np.log(shares) + (tries - wins) @ np.log1p(-shares))


@pytest.mark.parametrize("asymmetry", [-0.3, 0.0, 0.05])
def test_the_constrained_fit_is_the_likeliest(asymmetry):
    """A general optimiser under the same constraint finds nothing better."""
    fit = AUDIT.constrained(asymmetry)
    assert fit.beta - fit.alpha == pytest.approx(asymmetry, abs=1e-12)
    other = minimize(
        lambda shares: -_log_likelihood(AUDIT, GivenSample(*shares)),
        fit.vector * 1.02,
        bounds=[(1e-6, 1 - 1e-6)] * 3,
        constraints={
            "type": "eq",
            "fun": lambda shares: (
                GivenSample(*shares).beta - GivenSample(*shares).alpha - asymmetry
            ),
        },
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert _log_likelihood(AUDIT, fit) >= -other.fun - 1e-6


def test_z_is_zero_at_the_estimate_and_falls():
    estimate = AUDIT.seen.beta - AUDIT.seen.alpha
    assert AUDIT.at(estimate).z == pytest.approx(0, abs=1e-9)
    values = [AUDIT.at(asymmetry).z for asymmetry in np.linspace(-0.9, 0.6, 16)]
    assert np.diff(values).max() < 0


def test_an_audit_of_every_row_agrees_with_the_audit_at_random():
    """The likelihood is then the same; the statistics differ in their variance alone."""
    flips = Flips(4000, 480, 6000, 630)
    whole = AuditByGiven(flips, flips.given_negative, flips.given_positive)
    for asymmetry in (0.0, -0.02, 0.01):
        expected = float(score_z(4000, 480, 6000, 630, asymmetry))
        assert whole.at(asymmetry).z == pytest.approx(expected, abs=0.05)


def test_fewer_counted_rows_widen_the_interval():
    """The error of the share of positive labels is part of the answer."""
    true = np.repeat([1, 0, 1, 0], [30, 70, 75, 25])
    given = np.repeat([0, 0, 1, 1], [30, 70, 75, 25])
    widths = []
    for scale in (1, 100):
        counts = {0: 180 * scale, 1: 120 * scale}
        result = eo.audit_test(true, given, sampled_by="given", given_counts=counts)
        interval = result.confidence_interval()
        widths.append(interval.high - interval.low)
    assert widths[0] > 1.02 * widths[1]


def test_no_flips_at_all_is_no_evidence():
    audit = AuditByGiven(Flips(50, 0, 50, 0), 900, 100)
    assert audit.at(0.0).z == 0


@pytest.mark.parametrize(
    ("flips", "counts"),
    [
        (Flips(2, 0, 3, 0), (3000, 4)),
        (Flips(39, 39, 32, 12), (59_000, 600)),
        (Flips(1, 1, 18, 14), (15, 28)),
        (Flips(6, 6, 20, 19), (7, 19)),
        (Flips(12, 6, 4, 4), (6, 20)),
        (Flips(27, 26, 16, 0), (42_000, 50)),
    ],
    ids=str,
)
def test_lopsided_counts_give_finite_numbers(flips, counts):
    """No flips, all flipped, one label nearly absent: no warning, nothing without bound."""
    audit = AuditByGiven(flips, *counts)
    values = [audit.at(asymmetry).z for asymmetry in np.linspace(-0.999, 0.999, 21)]
    values += [audit.at(rate, which).z for which in ("alpha", "beta") for rate in (1e-9, 0.5)]
    assert np.isfinite(values).all()
