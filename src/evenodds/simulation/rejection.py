"""How often a test rejects, measured: its level under uniform noise, its power otherwise."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from evenodds.errors import EvenoddsError, ImprecisionWarning, InputError
from evenodds.inference.asymmetry import null_statistic, read_method
from evenodds.inference.method import Method, MethodName
from evenodds.inference.multiplicity import wilson_interval
from evenodds.inference.null_fits import equal_weights
from evenodds.inference.profile import Alternative, pvalue_of
from evenodds.inference.results import check_alternative
from evenodds.inference.wald import AnchoredCurve, Wald
from evenodds.model.many_fits import fit_stack, samples_in_a_stack
from evenodds.noise import ClassConditionalNoise, UniformNoise, check_noise
from evenodds.rows.memory import read_rows
from evenodds.simulation.parallel import Progress, carry_out, in_tasks
from evenodds.simulation.world import Trial, World
from evenodds.simulation.worlds import find_world
from evenodds.validation import (
    MOST_RUNS,
    FloatArray,
    check_between,
    check_whole,
    check_workers,
)

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

    def of_all(
        self, runs: int, *, runs_a_task: int, workers: int, progress: Progress | None = None
    ) -> tuple[FloatArray, bool]:
        """Return the p-values of all runs; fewer, and True, if an interrupt came."""
        tasks = in_tasks(runs, runs_a_task)
        done = carry_out(self, tasks, workers=workers, progress=progress, size=len)
        parts = [part for part in done.results if part is not None]
        return np.concatenate(parts), done.interrupted

    def __call__(self, runs: range) -> FloatArray:
        setting = self.setting
        # The fits of the paper's plain test are made many at once.
        if self.method == Wald() and setting.world.row_copies == 1 and setting.n_anchors > 0:
            size = samples_in_a_stack(setting.n_rows)
            starts = range(0, len(runs), size)
            return np.concatenate([self._of_stack(runs[start : start + size]) for start in starts])
        return np.array([self._of_trial(setting.draw(run)) for run in runs])

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
            pvalue = float(self.method(trial))
            if pvalue < 0 or pvalue > 1:
                raise ValueError(f"the test returned {pvalue:g}: a p-value lies between 0 and 1.")
            return pvalue
        rows = read_rows(trial.features, trial.labels, groups=trial.groups)
        z, reference = null_statistic(rows, trial.anchors, self.method)
        return reference.pvalue(z, self.alternative)


# Runs of one task: long enough to be worth handing out, short enough to see progress.
RUNS_A_TASK = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectionRate:
    """How often a test rejected.

    Attributes
    ----------
    rate : float
        Share of the runs that rejected; a run whose test could not be done did not reject.
    low, high : float
        Wilson interval for it, at 95%.
    rejections, runs, failures : int
        The counts behind it; failures are runs whose test could not be done.
    significance : float
        Level the test was used at.
    """

    rate: float
    low: float
    high: float
    rejections: int
    runs: int
    failures: int
    significance: float

    def __str__(self) -> str:
        text = f"{self.rate:.3f} (95% interval {self.low:.3f} to {self.high:.3f}, {self.runs} runs)"
        return text if not self.failures else f"{text}, {self.failures} of which had no fit"


def rejection_rate(
    world: str | World,
    noise: ClassConditionalNoise | None = None,
    *,
    n_rows: int,
    n_anchors: int,
    method: MethodName | Method | OwnTest = "boundary",
    alternative: Alternative = "two-sided",
    tolerance: float = 0.05,
    shared_tolerance: float | None = None,
    significance: float = 0.05,
    runs: int = 1000,
    seed: int = 0,
    workers: int = 1,
    batch_size: int = RUNS_A_TASK,
    progress: Progress | None = None,
) -> RejectionRate:
    """Measure how often a test rejects uniform noise, by simulation.

    Under uniform noise this is its level and should be close to `significance`; under
    class-conditional noise it is its power.

    Parameters
    ----------
    world : str or World
        Where data come from: a name such as "paper", "rare" or "skewed", or a `World`;
        `data_world` makes one of your own data.
    noise : UniformNoise or ClassConditionalNoise, optional
        How labels are flipped; default none are.
    n_rows, n_anchors : int
        Size of every data set; without anchors only method "joint" runs.
    method : {"boundary", "joint", "local", "wald"}, a record of settings, or a callable
        The test; a callable takes a `Trial` (features, labels, anchors, groups) and
        returns a p-value.
    alternative : {"two-sided", "greater", "less"}
        "greater" means that negatives are flipped more often (beta > alpha).
    tolerance, shared_tolerance : float
        How far the expert errs, case by case and always the same way, and what the anchors
        state. A shared tolerance of None is as wide as the tolerance, as for `Anchors`.
    significance : float, default 0.05
        Reject below this p-value.
    runs : int, default 1000
        Number of data sets.
    seed : int, default 0
        The same seed gives the same numbers, whatever `workers` and `batch_size`.
    workers : int, default 1
        Number of processes. With more than one, a script needs the usual
        ``if __name__ == "__main__":``.
    batch_size : int
        Data sets handed to a process at a time.
    progress : callable, optional
        Called with the number of runs done and in all.

    Returns
    -------
    RejectionRate
        An interrupt returns what is finished, with a warning.

    Raises
    ------
    InputError
        If the test cannot be done on any of the data sets; the message is that of the test.

    Examples
    --------
    >>> import evenodds as eo
    >>> noise = eo.UniformNoise(0.2)
    >>> wald = eo.rejection_rate(
    ...     "rare", noise, n_rows=2000, n_anchors=4, tolerance=0, method="wald", runs=200
    ... )
    >>> wald.rate > 0.2  # nominal 0.05: do not use it on lopsided data
    True
    """
    test = _read_test(method)
    k = check_whole(n_anchors, "n_anchors")
    if k == 0 and isinstance(test, Method) and not test.reads_shape:
        raise InputError("n_anchors is 0 but only method 'joint' runs without anchors.")
    level = check_between(significance, "significance", 0, 1, closed="neither")
    check_whole(runs, "runs", at_least=1, at_most=MOST_RUNS)
    step = check_whole(batch_size, "batch_size", at_least=1)
    place = find_world(world)
    own, shared = place.tolerances(tolerance, shared_tolerance)
    setting = Setting(
        world=place,
        noise=UniformNoise(0.0) if noise is None else check_noise(noise),
        n_rows=check_whole(n_rows, "n_rows", at_least=1),
        n_anchors=k,
        tolerance=own,
        shared_tolerance=shared,
        seed=check_whole(seed, "seed"),
    )
    return measure_rejections(
        PValues(setting, test, check_alternative(alternative)),
        runs,
        significance=level,
        workers=check_workers(workers),
        runs_a_task=step,
        progress=progress,
    )


def measure_rejections(
    of_runs: PValues,
    runs: int,
    *,
    significance: float,
    workers: int,
    runs_a_task: int = RUNS_A_TASK,
    progress: Progress | None = None,
) -> RejectionRate:
    """Return how often p-values of simulated data sets fall below a level."""
    pvalues, interrupted = of_runs.of_all(
        runs, runs_a_task=runs_a_task, workers=workers, progress=progress
    )
    if interrupted:
        warnings.warn(
            f"interrupted after {len(pvalues)} of {runs} runs: the rate is of these.",
            ImprecisionWarning,
            stacklevel=3,
        )
    rejections, failures = int((pvalues < significance).sum()), int(np.isnan(pvalues).sum())
    if failures == len(pvalues):
        of_runs.of_trial(of_runs.setting.draw(0))  # says what is wrong with all of them
        raise InputError("the test returned nan for every data set: it must return a p-value.")
    low, high = wilson_interval(rejections, len(pvalues))
    return RejectionRate(
        rate=rejections / len(pvalues),
        low=low,
        high=high,
        rejections=rejections,
        runs=len(pvalues),
        failures=failures,
        significance=significance,
    )


def _read_test(method: Any) -> Method | OwnTest:
    """Return one of our tests, or a callable as it is."""
    # A class is callable too, but calling it tests nothing.
    if callable(method) and not isinstance(method, type):
        own: OwnTest = method
        return own
    return read_method(method)
