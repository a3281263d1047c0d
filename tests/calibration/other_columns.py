"""Level where experts see other columns than the test goes by.

Positives follow a logistic curve in three independent columns, the third of weight `weight`.
An expert who sees it while the test does not calls cases toss-ups that are none given the
test's columns; an expert who does not see it, while the test does, errs by what it says.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy import stats

import evenodds as eo
from evenodds.elicit.answers import UNSEEN_LEAN
from evenodds.inference.asymmetry import null_statistic
from evenodds.rows.memory import read_rows
from tests.calibration.experts import SimulatedExpert, sit_and_export

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
ROWS = 2000
CRITICAL = stats.norm.isf(0.025)


@dataclass(frozen=True)
class OtherColumns:
    """A third column that only one side sees: the expert, or the test."""

    weight: float
    seen_by: str  # "expert" or "test"
    seed: int = 5

    def z(self, run):
        """Return z(0) of the boundary test under uniform noise of 0.1."""
        used, labels, anchors = self.draw(run)
        if anchors is None:
            return 0.0
        return null_statistic(read_rows(used, labels), anchors, eo.Boundary())[0]

    def trusted(self, run):
        """Tell whether the test rejects, and whether its anchors agree with its curve too."""
        used, labels, anchors = self.draw(run)
        if anchors is None:
            return False, False
        result = eo.asymmetry_test(used, labels, anchors)
        # A single toss-up has nothing to agree with, and raises no concern.
        apart = any(d.concern for d in result.diagnostics if d.name == "anchors and curve")
        return result.pvalue < 0.05, result.pvalue < 0.05 and not apart

    def draw(self, run):
        """Return the test's features, noisy labels and the anchors of a session."""
        rng = np.random.default_rng([self.seed, run])
        X = rng.standard_normal((ROWS, 3))
        index = X @ [1.5, 1.0, 0.0]
        whole = logistic(index + self.weight * X[:, 2])
        labels = eo.UniformNoise(0.1).flip((rng.random(ROWS) < whole).astype(int), rng)
        without = logistic(index[:, None] + self.weight * NODES) @ WEIGHTS / WEIGHTS.sum()
        posterior, used = (whole, X[:, :2]) if self.seen_by == "expert" else (without, X)
        expert = SimulatedExpert(lean=rng.uniform(-UNSEEN_LEAN, UNSEEN_LEAN))
        features = tuple(f"x{number}" for number in range(used.shape[1]))
        table = pa.table({**dict(zip(features, used.T, strict=True)), "y": labels})
        return used, labels, sit_and_export(table, features, [expert], posterior, rng)


def logistic(index):
    return 1 / (1 + np.exp(-index))


def show_other_columns(over, runs):
    """Print the level by what the third column weighs; return 0, as none of it is promised."""
    print(f"Level where one side sees a column more, uniform noise 0.1, {runs} runs")
    for seen_by in ("expert", "test"):
        for weight in (0, 0.5, 1, 2):
            count = sum(
                abs(z) > CRITICAL for z in over(OtherColumns(weight, seen_by).z, range(runs))
            )
            print(f"  seen by the {seen_by:<7} weight {weight:<4g} {count / runs:.3f}", flush=True)
    fewer = runs // 4
    print(f"Rejected though the anchors agree with the curve, {fewer} runs")
    for seen_by in ("expert", "test"):
        for weight in (1, 2):
            found = list(over(OtherColumns(weight, seen_by).trusted, range(fewer)))
            share = sum(trusted for _, trusted in found) / fewer
            print(f"  seen by the {seen_by:<7} weight {weight:<4g} {share:.3f}", flush=True)
    return 0
