"""Experts whose judgement is known, and a whole session with them."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

import evenodds as eo
from evenodds.elicit.answers import Answer, Verdict, judge
from evenodds.elicit.plan import BAND, fitted_posterior, plan_session
from evenodds.elicit.store import anchor_table
from evenodds.rows.memory import read_rows


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


def own_toss_ups(table, plan):
    """Ask instead about the cases nearest to where the labels' own curve says 1/2."""
    X = np.column_stack([table[name].to_numpy() for name in plan.features])
    fit = eo.fit_logistic(X, table["y"].to_numpy())
    index = np.abs(fit.coefficients[0] + X @ fit.coefficients[1:])
    nearest = np.argsort(index, kind="stable")[: len(plan.cases)]
    return replace(plan, cases=tuple(map(int, nearest)))


def random_cases(table, plan):
    """Ask instead about cases drawn at random, evenly over the band but left to chance."""
    rows = read_rows(table.select(list(plan.features)), table["y"].to_numpy())
    X = np.column_stack([table[name].to_numpy() for name in plan.features])
    rng = np.random.default_rng(plan.seed)
    posterior, drawn = fitted_posterior(rows, X), []
    while len(drawn) < len(plan.cases):
        nearest = int(np.argmin(np.abs(posterior - rng.uniform(*BAND))))
        if nearest not in drawn:
            drawn.append(nearest)
    return replace(plan, cases=tuple(drawn))


def elicited(world, noise, n_rows, experts, rng, *, choose=None):
    """Return rows, noisy labels and the anchors that a session with these experts ends in."""
    X, true = world.draw_rows(n_rows, rng)
    labels = noise.flip(true, rng)
    features = tuple(f"x{number}" for number in range(X.shape[1]))
    table = pa.table({**dict(zip(features, X.T, strict=True)), "y": labels})
    posterior = world.posterior(X)
    return X, labels, sit_and_export(table, features, experts, posterior, rng, choose=choose)


def sit_and_export(table, features, experts, posterior, rng, *, choose=None):
    """Return the anchors of a session; None where no toss-up was found.

    All the way that answers go: cases are chosen, asked in turn, and exported.
    """
    seed = int(rng.integers(2**31))
    plan = plan_session(table, label="y", features=features, seed=seed)
    if choose is not None:
        plan = choose(table, plan)
    answers = [a for expert in experts for a in expert.sit(plan.queue(), posterior, rng)]
    found = judge(answers, breadth=plan.breadth)
    if not found.toss_ups:
        return None
    exported = anchor_table(table, features, found)
    stated = {name: exported[name].to_numpy() for name in exported.column_names[len(features) :]}
    points = np.column_stack([exported[name].to_numpy() for name in features])
    return eo.Anchors(points, **stated)
