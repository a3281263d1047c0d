"""Wide tables: exact fits against scikit-learn's two solvers, and scores at the price of a fit.

``python -m benchmarks.wide [--quick]``. Every fit comes with its covariance; scikit-learn's is one
product more. lbfgs has a tolerance at which it stops improving: its gap from the optimum is shown.
"""

from benchmarks import one_thread  # noqa: F401, I001 - before numpy

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any, get_args

import numpy as np

from benchmarks.data import Kind, make_data
from benchmarks.libraries import versions, with_evenodds, with_lbfgs, with_scikit_learn
from benchmarks.memory import extra_mebibytes

SIZES = (200_000, 500), (100_000, 400), (20_000, 384)
QUICK_SIZES = ((20_000, 120),)
# How many times faster than newton-cholesky and lbfgs, and extra memory as a share of the data.
WANTED = {(200_000, 500): (5.0, 2.5), (100_000, 400): (5.0, 2.5), (20_000, 384): (2.0, 2.0)}
MEMORY_SHARE = 0.15
# Scores: times one plain fit, times one ridge fit a fold in scikit-learn, and how many times faster
# than its choice of penalties.
SCORES_AT_MOST, SCORES_WITHIN, SCORES_AT_LEAST = 4.0, 1.5, 15.0
ROUNDS = 2


def main() -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sizes, without targets")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    print("one thread; " + ", ".join(f"{name} {number}" for name, number in versions().items()))
    sizes = QUICK_SIZES if quick else SIZES
    # All before any data are made here: a process starts with its parent's mark.
    extra = [extra_mebibytes("evenodds", *size) for size in sizes]
    for size, mebibytes in zip(sizes, extra, strict=True):
        share = mebibytes / (size[0] * size[1] * 8 / 2**20)
        print(
            f"\n{size[0]:,} x {size[1]}: extra memory {share:.2f} of the data (wanted at most "
            f"{MEMORY_SHARE:g})"
        )
        for kind in get_args(Kind):
            _fits(kind, size)
    _scores(*((100_000, 50) if quick else (1_000_000, 100)))
    _scores_of_one_penalty(*((5_000, 100) if quick else (20_000, 384)))
    _scores_elsewhere(*((5_000, 20) if quick else (50_000, 50)))


def _fits(kind: Kind, size: tuple[int, int]) -> None:
    X, y = make_data(kind, *size)
    (ours, answer), *others = _in_turns(
        lambda: with_evenodds(X, y), lambda: with_scikit_learn(X, y), lambda: with_lbfgs(X, y)
    )
    for name, (theirs, other) in zip(("newton-cholesky", "lbfgs"), others, strict=True):
        gap = np.abs(other[0] - answer[0]).max()
        wanted = WANTED.get(size, (None, None))[name == "lbfgs"]
        target = "" if wanted is None else f" (wanted {wanted:g}x)"
        print(
            f"  {kind}: {ours:.2f} s, {name} {theirs:.2f} s, {theirs / ours:.1f}x{target}, "
            f"gap {gap:.0e}",
            flush=True,
        )


def _scores(n_rows: int, n_columns: int) -> None:
    """Compare five-fold scores, eight penalties, with one plain fit."""
    import evenodds as eo

    X, y = make_data("normal", n_rows, n_columns)
    (fit, _), (scores, _) = _in_turns(
        lambda: eo.fit_logistic(X, y), lambda: eo.out_of_fold_scores(X, y)
    )
    print(
        f"\nscores {n_rows:,} x {n_columns}: {scores:.2f} s, {scores / fit:.1f} plain fits "
        f"(wanted at most {SCORES_AT_MOST:g})",
        flush=True,
    )


def _scores_of_one_penalty(n_rows: int, n_columns: int) -> None:
    """Compare with scikit-learn's default: one ridge fit a fold, its penalty not chosen."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    import evenodds as eo

    X, y = make_data("normal", n_rows, n_columns)
    (ours, _), (theirs, _) = _in_turns(
        lambda: eo.out_of_fold_scores(X, y),
        lambda: cross_val_predict(LogisticRegression(), X, y, cv=5, method="predict_proba"),
    )
    print(
        f"scores {n_rows:,} x {n_columns}: {ours:.2f} s, LogisticRegression in cross_val_predict "
        f"{theirs:.2f} s, {ours / theirs:.1f} of it (wanted at most {SCORES_WITHIN:g})",
        flush=True,
    )


def _scores_elsewhere(n_rows: int, n_columns: int) -> None:
    """Compare with the same in scikit-learn: a penalty chosen inside each training part."""
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.model_selection import cross_val_predict
    from sklearn.preprocessing import StandardScaler

    import evenodds as eo

    X, y = make_data("normal", n_rows, n_columns)
    scaled = StandardScaler().fit_transform(X)
    model = LogisticRegressionCV(Cs=1 / (np.geomspace(1, 1e-5, 8) * n_rows), cv=5)
    (ours, mine), (theirs, other) = _in_turns(
        lambda: eo.out_of_fold_scores(X, y),
        lambda: cross_val_predict(model, scaled, y, cv=5, method="predict_proba")[:, 1],
    )
    likeness = np.corrcoef(mine, other)[0, 1]
    print(
        f"scores {n_rows:,} x {n_columns}: {ours:.2f} s, LogisticRegressionCV in "
        f"cross_val_predict {theirs:.2f} s, {theirs / ours:.1f}x (wanted {SCORES_AT_LEAST:g}x), "
        f"correlation {likeness:.4f}"
    )


def _in_turns(*works: Callable[[], Any]) -> list[tuple[float, Any]]:
    """Return CPU seconds of the best round of each work, and what it returned."""
    best = [(np.inf, None)] * len(works)
    for _ in range(ROUNDS):
        for place, work in enumerate(works):
            started = time.process_time()
            made = work()
            best[place] = min(best[place][0], time.process_time() - started), made
    return best


if __name__ == "__main__":
    main()
