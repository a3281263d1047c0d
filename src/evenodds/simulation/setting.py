"""One setting to simulate: a world, its noise and its sizes; and the p-values of its runs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from evenodds.errors import EvenoddsError
from evenodds.inference.asymmetry import Method
from evenodds.inference.null_test import null_statistic
from evenodds.inference.profile import Alternative, pvalue_of
from evenodds.inference.wald import AnchoredCurve, Wald
from evenodds.inference.weights import equal_weights
from evenodds.model.stack import fit_stack, samples_in_a_stack
from evenodds.noise import ClassConditionalNoise
from evenodds.rows.source import read_rows
from evenodds.simulation.world import Trial, World
from evenodds.validation import FloatArray

OwnTest = Callable[[Trial], float]  # a trial's p-value, for tests that are not ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What one simulated data set is drawn from."""

    world: World
    noise: ClassConditionalNoise
    n_rows: int
    n_anchors: int
    tolerance: float = 0.0
    shared_tolerance: float = 0.0
    seed: int = 0

    def draw(self, run: int) -> Trial:
        """Return the data set of one run, the same whoever asks and in whatever order."""
        return self.world.draw(
            self.n_rows,
            self.n_anchors,
            self.noise,
            np.random.default_rng([self.seed, run]),
            tolerance=self.tolerance,
            shared_tolerance=self.shared_tolerance,
        )


@dataclass(frozen=True, slots=True)
class PValues:
    """Computes the p-values of some runs of a setting; nan where the test could not be done."""

    setting: Setting
    method: Method | OwnTest
    alternative: Alternative = "two-sided"

    def __call__(self, runs: range) -> FloatArray:
        if self._can_be_stacked():
            return np.concatenate([self._of_stack(stack) for stack in self._stacks(runs)])
        return np.array([self._of_trial(self.setting.draw(run)) for run in runs])

    def _can_be_stacked(self) -> bool:
        plain = isinstance(self.method, Wald) and self.method == Wald()
        return plain and self.setting.world.row_copies == 1 and self.setting.n_anchors > 0

    def _stacks(self, runs: range) -> Iterator[range]:
        size = samples_in_a_stack(self.setting.n_rows)
        for start in range(0, len(runs), size):
            yield runs[start : start + size]

    def _of_stack(self, runs: range) -> FloatArray:
        """Return p-values of the paper's test, the fits of all runs made at once."""
        trials = [self.setting.draw(run) for run in runs]
        fits = fit_stack(
            np.stack([trial.features for trial in trials]),
            np.stack([trial.labels for trial in trials])[:, None],
        )
        pvalues = np.empty(len(trials))
        for number, trial in enumerate(trials):
            if not fits.converged[number, 0] or trial.anchors is None:
                pvalues[number] = self._of_trial(trial)  # which knows what went wrong
                continue
            design = np.column_stack([np.ones(len(trial.anchors)), trial.anchors.points])
            tolerance, shared = trial.anchors.tolerance, trial.anchors.shared_tolerance
            curve = AnchoredCurve(
                posteriors=expit(design @ fits.coefficients[number, 0]),
                log_odds_covariance=design @ fits.covariance[number, 0] @ design.T,
                error_covariance=trial.anchors.error_covariance(),
                error_variances=(tolerance**2 + shared**2) / 3,
                weights=equal_weights(len(trial.anchors)),
            )
            pvalues[number] = pvalue_of(curve.z(0.0), self.alternative)
        return pvalues

    def _of_trial(self, trial: Trial) -> float:
        """Return the p-value of one data set, nan if the test could not be done."""
        try:
            return self.of_trial(trial)
        except EvenoddsError:
            return float("nan")

    def of_trial(self, trial: Trial) -> float:
        """Return the p-value of one data set, or say why there is none."""
        if not isinstance(self.method, Method):
            return float(self.method(trial))
        rows = read_rows(trial.features, trial.labels, groups=trial.groups)
        z, reference = null_statistic(rows, trial.anchors, self.method)
        return reference.pvalue(z, self.alternative)
