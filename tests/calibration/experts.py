"""Experts whose judgement is known, and a whole sitting with them."""

from dataclasses import dataclass

import numpy as np

import evenodds as eo
from evenodds.elicit.answers import Answer, Verdict, toss_ups
from evenodds.elicit.candidates import choose_candidates, fitted_posterior
from evenodds.elicit.queue import Queue
from evenodds.elicit.tolerance import judge
from evenodds.rows.source import read_rows


@dataclass(frozen=True)
class SimulatedExpert:
    """Sees a case's posterior through a lean, an error of its own and one of the moment."""

    name: str = "first"
    width: float = 0.1  # what this expert calls a toss-up
    lean: float = 0.0
    persistent: float = 0.04  # standard error that comes back with the case
    momentary: float = 0.04  # standard error of each look
    slider: bool = False

    def sit(self, queue, posterior, rng):
        """Answer every question of a queue."""
        own = self.persistent * rng.standard_normal(len(posterior))
        given = []
        while (question := queue.next_question(self.name, given)) is not None:
            seen = posterior[question.case] + self.lean + own[question.case]
            seen += self.momentary * rng.standard_normal()
            given.append(
                Answer(
                    expert=self.name,
                    case=question.case,
                    occasion=question.occasion,
                    verdict=self.verdict(seen),
                    chance=float(np.clip(round(20 * seen) / 20, 0, 1)) if self.slider else None,
                    time="",
                )
            )
        return given

    def verdict(self, seen):
        if abs(seen - 0.5) <= self.width:
            return Verdict.toss_up
        return Verdict.positive if seen > 0.5 else Verdict.negative


def band_cases(X, labels, seed, n_cases=60):
    """Return cases as the package chooses them, and their breadth."""
    chosen = choose_candidates(
        X, fitted_posterior(read_rows(X, labels), X), n_cases=n_cases, seed=seed
    )
    return tuple(map(int, chosen.rows)), chosen.breadth


def own_toss_ups(X, labels, seed, n_cases=60):
    """Return the cases nearest to where the labels' own curve says 1/2: what not to ask."""
    fit = eo.fit_logistic(X, labels)
    index = np.abs(fit.coefficients[0] + X @ fit.coefficients[1:])
    return tuple(map(int, np.argsort(index, kind="stable")[:n_cases])), 0.2


def elicited(world, noise, n_rows, experts, rng, *, choose=band_cases, n_repeats=12):
    """Return rows, noisy labels and the anchors that a sitting with these experts ends in."""
    X, true = world.draw_rows(n_rows, rng)
    labels = noise.flip(true, rng)
    seed = int(rng.integers(2**31))
    cases, breadth = choose(X, labels, seed)
    queue = Queue(cases, n_repeats, seed)
    answers = [a for expert in experts for a in expert.sit(queue, world.posterior(X), rng)]
    found = toss_ups(answers)
    judgement = judge(answers, found, breadth=breadth)
    if not found:
        return X, labels, None, judgement
    anchors = eo.Anchors(
        X[[toss_up.case for toss_up in found]],
        posterior=[toss_up.posterior for toss_up in found],
        tolerance=[judgement.tolerance(toss_up) for toss_up in found],
        shared_tolerance=judgement.shared_tolerance,
    )
    return X, labels, anchors, judgement
