"""The climb on likelihoods small enough to know by heart."""

from dataclasses import replace

import numpy as np
import pytest

from evenodds.model.newton import Evaluation, Pilot, Sample, chord, guided_newton, newton


class Hill:
    """-log cosh(x - top) in each direction: concave, and so flat far out that Newton overshoots."""

    def __init__(self, top):
        self.top = np.asarray(top, dtype=float)
        self.n_full, self.n_scores = 0, 0

    def score(self, x):
        self.n_scores += 1
        return -np.tanh(x - self.top)

    def evaluate(self, x):
        self.n_full += 1
        distance = x - self.top
        return Evaluation(
            log_likelihood=float(np.log(2) - np.logaddexp(distance, -distance).sum()),
            score=-np.tanh(distance),
            information=np.diag(1 - np.tanh(distance) ** 2),
        )


class Slope(Hill):
    """Rises for ever."""

    def evaluate(self, x):
        return Evaluation(float(x.sum()), np.ones_like(x), np.eye(len(x)))


class Plain(Hill):
    """No curvature at all."""

    def evaluate(self, x):
        return Evaluation(float(x.sum()), np.ones_like(x), np.zeros((len(x), len(x))))


class Steeper(Hill):
    """A hill whose curvature changes faster than that of the one it is a sample of."""

    def evaluate(self, x):
        here = super().evaluate(x)
        return replace(here, information=here.information * (1 + 30 * (x - self.top)))


def pilot(hill, start, other=Hill):
    at = np.asarray(start, dtype=float)
    return Pilot(
        start=at,
        information=hill.evaluate(at).information,
        sample=Sample(Hill(hill.top), 400, 1.0),
        parts=(Sample(Hill(hill.top), 50, 1.0), Sample(other(hill.top), 50, 1.0)),
    )


def lent_by(likelihood):
    sample = Sample(likelihood, 400, 1.0)
    return Pilot(np.zeros(1), np.eye(1), sample, (sample, sample))


@pytest.mark.parametrize("start", [0.5, 1.5, 3, 6, -6])
def test_newton_reaches_the_top_from_afar(start):
    optimum = newton(Hill([1.0]), np.array([float(start)]))
    assert optimum.coefficients == pytest.approx([1.0], abs=1e-12)


def test_newton_knows_when_it_has_arrived():
    assert newton(Hill([1.0, -2.0]), np.zeros(2)).converged


def test_newton_returns_the_height_of_the_top():
    assert newton(Hill([1.0]), np.array([0.2])).log_likelihood == pytest.approx(0, abs=1e-15)


def test_newton_gives_up_on_a_slope_without_a_top():
    assert newton(Slope([0.0]), np.zeros(1)).reason == "the steps did not shrink"


def test_newton_gives_up_without_curvature():
    assert newton(Plain([0.0]), np.zeros(1)).reason == "the curvature vanished"


@pytest.mark.parametrize("problem", [Slope, Plain])
def test_giving_up_is_not_convergence(problem):
    assert not newton(problem([0.0]), np.zeros(1)).converged


def test_the_chord_climb_reaches_the_top():
    hill = Hill([1.0, -0.5])
    optimum = chord(hill, pilot(hill, [0.9, -0.4]))
    assert optimum.coefficients == pytest.approx([1.0, -0.5], abs=1e-12)


def test_the_chord_climb_takes_the_curvature_once():
    hill = Hill([1.0, -0.5])
    lent = pilot(hill, [0.9, -0.4])
    before = hill.n_full
    chord(hill, lent)
    assert hill.n_full - before == 1


def test_a_sample_whose_parts_differ_moves_no_curvature_far():
    hill = Hill([1.0, -0.5])
    agreed, torn = (pilot(hill, [0.9, -0.4], other) for other in (Hill, Steeper))
    assert agreed.off_by(hill.top, np.full(2, 0.01)) == 0
    assert torn.off_by(hill.top, np.full(2, 0.01)) == pytest.approx(0.3 / 4, rel=0.1)
    scores = []
    for lent in (agreed, torn):
        before = hill.n_scores
        chord(hill, lent)
        scores.append(hill.n_scores - before)
    assert scores[1] > scores[0]


def test_the_curvature_is_that_of_the_top():
    hill = Hill([1.0, -0.5])
    optimum = chord(hill, pilot(hill, [0.9, -0.4]))
    assert optimum.information == pytest.approx(np.eye(2), abs=1e-12)


def test_a_misleading_sample_ends_the_chord_climb():
    hill = Hill([8.0])
    assert chord(hill, pilot(hill, [0.0])) is None


def test_the_guided_climb_reaches_the_top():
    hill = Hill([1.0, -0.5])
    optimum = guided_newton(hill, pilot(hill, [0.9, -0.4]))
    assert optimum.coefficients == pytest.approx([1.0, -0.5], abs=1e-12)


def test_the_guided_climb_takes_two_passes():
    hill = Hill([1.0, -0.5])
    lent = pilot(hill, [0.9, -0.4])
    before = hill.n_full
    guided_newton(hill, lent)
    assert (hill.n_full - before, hill.n_scores) == (2, 0)


def test_a_misleading_sample_ends_the_guided_climb():
    hill = Hill([1.0])
    assert guided_newton(hill, lent_by(Hill([4.0]))) is None


def test_the_guided_climb_gives_up_without_curvature():
    plain = Plain([0.0])
    assert guided_newton(plain, lent_by(plain)) is None
