"""The noise-aware tests against the plain fit, and many refits against loops, in one run.

``python -m benchmarks.noise_aware``
"""

from benchmarks import one_thread  # noqa: F401, I001 - before numpy

import time
import warnings
from collections.abc import Callable

import numpy as np
import statsmodels.api as sm
from sklearn.linear_model import LogisticRegression

import evenodds as eo
from benchmarks.data import FloatArray
from evenodds.model.many_fits import fit_labels
from evenodds.model.logistic import fit_rows
from evenodds.inference.asymmetry import null_statistic
from evenodds.rows.memory import read_rows

N_ANCHORS = 8
REFITS = 10_000
LOOPED = 100
ROUNDS = 5


def main() -> None:
    """Measure and print."""
    one_test(1_000_000, 20, rounds=3, z_at_most=3.0, all_at_most=12.0)
    one_test(2_000, 5, rounds=20, milliseconds_at_most=60.0)
    many_refits(2_000, 5)


def one_test(
    n_rows: int,
    n_columns: int,
    *,
    rounds: int,
    z_at_most: float | None = None,
    all_at_most: float | None = None,
    milliseconds_at_most: float | None = None,
) -> None:
    """Time z(0) and everything reported, beside the plain fit."""
    X, labels, anchors = make_noisy(n_rows, n_columns)
    rows = read_rows(X, labels)
    seconds = {"plain fit": [], "boundary z(0)": [], "everything": []}
    for _ in range(rounds):
        seconds["plain fit"].append(cpu(lambda: fit_rows(rows)))
        seconds["boundary z(0)"].append(cpu(lambda: boundary_alone(X, labels, anchors)))
        seconds["everything"].append(cpu(lambda: eo.asymmetry_test(X, labels, anchors)))
    best = {name: min(values) for name, values in seconds.items()}
    limits = {"boundary z(0)": z_at_most, "everything": all_at_most}
    print(f"\n{n_rows:,} x {n_columns}, {N_ANCHORS} anchors, 10% uniform noise")
    for name, value in best.items():
        ratio, limit = value / best["plain fit"], limits.get(name)
        target = "" if limit is None else f"  (at most {limit:g}x: {verdict(ratio <= limit)})"
        if name == "everything" and milliseconds_at_most is not None:
            met = verdict(1000 * value <= milliseconds_at_most)
            target = f"  (at most {milliseconds_at_most:g} ms: {met})"
        print(f"  {name:<14} {1000 * value:9.1f} ms  {ratio:6.1f}x{target}", flush=True)


def many_refits(n_rows: int, n_columns: int) -> None:
    """Time plain refits of labels drawn from a fit, in a batch and in loops."""
    rng = np.random.default_rng(3)
    X, labels, _ = make_noisy(n_rows, n_columns)
    start = eo.fit_logistic(X, labels).coefficients
    design = np.column_stack([np.ones(n_rows), X])
    drawn = rng.random((REFITS, n_rows)) < 1 / (1 + np.exp(-design @ start))
    loops = {
        "statsmodels": (60, lambda y: sm.Logit(y, design).fit(disp=0)),
        "scikit-learn": (
            55,
            lambda y: LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-8).fit(X, y),
        ),
    }
    jobs = {
        "evenodds": (REFITS, lambda: fit_labels(X, drawn)),
        "limit": (REFITS, lambda: one_pass(design, start, drawn)),
        **{
            name: (LOOPED, lambda fit=fit: [fit(y.astype(float)) for y in drawn[:LOOPED]])
            for name, (_, fit) in loops.items()
        },
    }
    best = dict.fromkeys(jobs, np.inf)
    for _ in range(ROUNDS):
        for name, (n_refits, job) in jobs.items():
            best[name] = min(best[name], cpu(job) / n_refits)
    print(f"\n{REFITS:,} refits of {n_rows:,} x {n_columns}, best of {ROUNDS} rounds in turns")
    for name, seconds in best.items():
        ratio, target = seconds / best["evenodds"], ""
        if name in loops:
            least = loops[name][0]
            target = f"  (at least {least}x: {verdict(ratio >= least)})"
        print(f"  {name:<14} {1e6 * seconds:9.1f} us a refit  {ratio:6.2f}x{target}", flush=True)


def one_pass(design: FloatArray, coefficients: FloatArray, labels: FloatArray) -> None:
    """Do what no refit can do without: labels times columns, and one score in double precision."""
    few = max(1, (1 << 15) // len(design))
    curves = np.tile(-coefficients, (few, 1))
    for first in range(0, len(labels), few):
        labels[first : first + few].astype(np.float64) @ design
        linear = curves @ design.T
        np.exp(linear, out=linear)
        linear += 1
        np.reciprocal(linear, out=linear)
        linear @ design


def make_noisy(n_rows: int, n_columns: int) -> tuple[FloatArray, FloatArray, eo.Anchors]:
    """Return normal features, labels with a tenth flipped, and anchors on the boundary."""
    rng = np.random.default_rng(20210303)
    X = rng.normal(size=(n_rows, n_columns))
    slopes = rng.normal(size=n_columns)
    slopes *= 2 / np.linalg.norm(slopes)
    true = rng.random(n_rows) < 1 / (1 + np.exp(0.5 - X @ slopes))
    labels = eo.UniformNoise(0.1).flip(true, rng).astype(np.float64)
    points = rng.normal(size=(N_ANCHORS, n_columns))
    points += ((0.5 - points @ slopes) / (slopes @ slopes))[:, None] * slopes
    return X, labels, eo.Anchors(points)


def boundary_alone(X: FloatArray, labels: FloatArray, anchors: eo.Anchors) -> float:
    """Return the boundary statistic of uniform noise, and nothing else."""
    return null_statistic(read_rows(X, labels), anchors, eo.Boundary())[0]


def cpu(job: Callable[[], object]) -> float:
    """Return the CPU seconds of a job."""
    started = time.process_time()
    job()
    return time.process_time() - started


def verdict(met: bool) -> str:
    """Say whether a target is met."""
    return "met" if met else "MISSED"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
