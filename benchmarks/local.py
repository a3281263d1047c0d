"""Local fits at many anchors and bandwidths against one scikit-learn fit for each, in one run.

``python -m benchmarks.local``
"""

from benchmarks import one_thread  # noqa: F401, I001 - before numpy

import warnings
from itertools import product

import numpy as np
from sklearn.linear_model import LogisticRegression

import evenodds as eo
from benchmarks.data import FloatArray
from benchmarks.noise_aware import cpu, verdict
from evenodds.model.local_fit import fit_bandwidths
from evenodds.model.neighbours import SPREAD, kernel_weights
from evenodds.model.local_fit import LocalRows

N_ROWS, N_ANCHORS, N_BANDWIDTHS = 20_000, 32, 10
ROUNDS = 5
AT_LEAST = 50.0
# scikit-learn as it comes stops at a gradient of 1e-4; so it is asked how far off that leaves it.
EXACT = {"tol": 1e-10, "max_iter": 1000}
LOOPED = 40


def main() -> None:
    """Measure and print."""
    for kernel in ("gaussian", "tricube"):
        compare(kernel)
    whole_test()


def compare(kernel: str) -> None:
    """Time the ladder of bandwidths at all anchors, and a sample of the loop."""
    X, labels, points = make_rows()
    rows = LocalRows.of(X, labels)
    around, anchors = rows.around, rows.standard(points)
    spreads = np.geomspace(0.8, 0.1, N_BANDWIDTHS)
    bandwidths = [float(spread / SPREAD[kernel]) for spread in spreads]
    n_fits = N_ANCHORS * N_BANDWIDTHS
    places = np.random.default_rng(1).permutation(n_fits)[:LOOPED]
    looped = [list(product(bandwidths, anchors))[place] for place in places]

    def loop(**settings: float) -> list[float]:
        return [
            fit_alone(around.features, labels, (width, kernel), point, settings)
            for width, point in looped
        ]

    seconds: dict[str, list[float]] = {"single": [], "double": [], "scikit-learn": []}
    for _ in range(ROUNDS):
        for name, dtype in (("single", np.float32), ("double", np.float64)):
            job = lambda dtype=dtype: fit_bandwidths(  # noqa: E731
                around, anchors, bandwidths, kernel, dtype=dtype
            )
            seconds[name].append(cpu(job) / n_fits)
        seconds["scikit-learn"].append(cpu(loop) / LOOPED)
    best = {name: min(values) for name, values in seconds.items()}
    print(
        f"\n{N_ROWS:,} rows of 2 features, {N_ANCHORS} anchors, {N_BANDWIDTHS} bandwidths, {kernel}"
    )
    print(f"  scikit-learn  {1e6 * best['scikit-learn']:8.0f} us a fit")
    for name, target in (("single", AT_LEAST), ("double", None)):
        ratio = best["scikit-learn"] / best[name]
        said = "" if target is None else f"  (at least {target:g}x: {verdict(ratio >= target)})"
        print(f"  {name:<8}      {1e6 * best[name]:8.0f} us a fit  {ratio:6.1f}x{said}", flush=True)
    found = {
        dtype: np.concatenate(
            [f.log_odds for f in fit_bandwidths(around, anchors, bandwidths, kernel, dtype=dtype)]
        )
        for dtype in (np.float32, np.float64)
    }
    gap = np.abs(found[np.float32] - found[np.float64]).max()
    print(f"  log-odds: single against double within {gap:.0e}", end="; ")
    rough = np.abs(np.array(loop()) - np.array(loop(**EXACT))).max()
    print(f"scikit-learn's own tolerance leaves {rough:.0e}", flush=True)


def fit_alone(
    features: FloatArray,
    labels: FloatArray,
    kernel: tuple[float, str],
    point: FloatArray,
    settings: dict[str, float],
) -> float:
    """Return the log-odds at one anchor by scikit-learn, kernel weights and all."""
    moved = features - point
    weights = kernel_weights((moved**2).sum(axis=1), *kernel)
    fit = LogisticRegression(C=np.inf, **settings).fit(moved, labels, sample_weight=weights)
    return float(fit.intercept_[0])


def whole_test() -> None:
    """Time everything that is reported, bandwidth search included."""
    X, labels, points = make_rows()
    anchors = eo.Anchors(points)
    seconds = min(cpu(lambda: eo.asymmetry_test(X, labels, anchors, method="local")) for _ in "123")
    print(f"\nthe whole test, {N_ROWS:,} rows and {N_ANCHORS} anchors: {1000 * seconds:.0f} ms")


def make_rows() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return two bells with 15% positives, a tenth of the labels flipped, and toss-ups."""
    rng = np.random.default_rng(20231216)
    true = (rng.random(N_ROWS) < 0.15).astype(int)
    X = rng.normal(size=(N_ROWS, 2)) + (2 * true - 1)[:, None]
    labels = eo.UniformNoise(0.1).flip(true, rng).astype(np.float64)
    along = rng.uniform(-1.5, 1.5, N_ANCHORS)
    points = np.column_stack([along, -along]) - np.log(0.15 / 0.85) / 4
    return X, labels, points


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
