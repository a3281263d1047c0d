"""How well corrected losses restore a boundary: ``python -m tests.calibration.losses``.

Two tables. Errors on true labels beyond the best possible, in 100 cases; and the distance of the
fitted boundary from the true one along the true slopes, at the point of the true boundary nearest
to the rows: its mean, and its root-mean-square over the runs.
"""

import argparse
import sys
import time
from dataclasses import dataclass

import numpy as np

import evenodds as eo
from evenodds.errors import ConvergenceError
from evenodds.simulation.worlds import WORLDS
from evenodds.study.losses import CLASS_CONDITIONAL, UNIFORM

RADIUS = 10
PLACES = ("paper", "rare", "skewed")


@dataclass(frozen=True)
class Restoring:
    """One setting: a world, its noise, its rows."""

    world: str
    noise: eo.ClassConditionalNoise
    n_rows: int

    def errors(self, method, run):
        """Return shift and excess errors of one run; nan where there is no minimum."""
        world, rng = WORLDS[self.world], np.random.default_rng([7, run])
        X, true = world.draw_rows(self.n_rows, rng)
        given = self.noise.flip(true, rng)
        try:
            coefficients = METHODS[method](X, true, given, self.noise)
        except ConvergenceError:
            return np.nan, np.nan
        return boundary_errors(coefficients, world, X)

    def over_runs(self, method, runs):
        """Return the shifts and the excess errors of all runs."""
        return np.array([self.errors(method, run) for run in range(runs)]).T


def boundary_errors(coefficients, world, X):
    """Return how far a linear boundary lies from the true one, and the errors that makes."""
    intercept, *slopes = world.index.coefficients
    length = np.linalg.norm(slopes)
    normal, centre = np.array(slopes) / length, X.mean(axis=0)
    start = centre - (intercept + centre @ slopes) / length * normal
    shift = -(coefficients[0] + start @ coefficients[1:]) / (coefficients[1:] @ normal)
    posterior = world.posterior(X)
    wrong = (coefficients[0] + X @ coefficients[1:] > 0) != (posterior > 0.5)
    return shift, np.mean(np.abs(2 * posterior - 1) * wrong)


def of_true_labels(X, true, given, noise):
    return eo.fit_logistic(X, true).coefficients


def plain(X, true, given, noise):
    return eo.fit_logistic(X, given).coefficients


def plain_sigmoid(X, true, given, noise):
    return eo.minimise_risk(X, given, "sigmoid", radius=RADIUS).coefficients


def corrected(name, correction, radius=None):
    """Return a fit of the given labels with a corrected loss."""

    def fit(X, true, given, noise):
        loss = eo.corrected_loss(name, noise, correction=correction)
        return eo.minimise_risk(X, given, loss, radius=radius).coefficients

    return fit


METHODS = {
    "logistic, true labels": of_true_labels,
    "logistic": plain,
    "backward": corrected("logistic", "backward"),
    "forward": corrected("logistic", "forward"),
    "sigmoid": plain_sigmoid,
    "sigmoid, costs": corrected("sigmoid", "costs", RADIUS),
}


def show_excess(shifts, excesses):
    """Write the mean of excess errors, and how many runs had no minimum."""
    failed = int(np.isnan(shifts).sum())
    return f"{100 * np.nanmean(excesses):.2f}" + (f" ({failed} without)" if failed else "")


def show_shift(shifts, excesses):
    """Write mean and root-mean-square distance."""
    return f"{np.nanmean(shifts):+.2f}, {np.sqrt(np.nanmean(shifts**2)):.2f}"


def print_table(title, settings, found, show):
    """Print a Markdown table, a row for each setting and a column for each method."""
    print(f"{title}\n\n| world | flips | rows | {' | '.join(METHODS)} |")
    print("|---" * (3 + len(METHODS)) + "|")
    for setting, results in zip(settings, found, strict=True):
        flips = f"{setting.noise.alpha:g}, {setting.noise.beta:g}"
        cells = " | ".join(show(*result) for result in results)
        print(f"| {setting.world} | {flips} | {setting.n_rows:,} | {cells} |")
    print()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    runs = parser.parse_args().runs
    started = time.process_time()
    settings = [
        Restoring(world, noise, n_rows)
        for world in PLACES
        for noise in (UNIFORM, CLASS_CONDITIONAL)
        for n_rows in (1000, 10_000)
    ]
    found = [[setting.over_runs(method, runs) for method in METHODS] for setting in settings]
    print_table("Errors beyond the best, in 100 cases", settings, found, show_excess)
    print_table("Distance of the boundary: mean, root-mean-square", settings, found, show_shift)
    print(f"{runs} runs, {time.process_time() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
