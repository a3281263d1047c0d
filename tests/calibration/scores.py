"""Level of `boundary` on columns that are not the ones the posterior is logistic in.

Ten normal columns; log-odds have two interactions, so that no column, principal component or
spline of one column holds all of the posterior. Toss-ups are chosen by truth: fresh cases whose
true posterior is 1/2. Labels have uniform noise of 0.1. `score` is the log-odds of five-fold
out-of-fold predictions, toss-ups scored by the model of all rows; `components` are the first five
principal components, `splines` cubic ones of every column with four knots, `formula` the columns
with the two products, which is the right one. Run as a module, it prints the table of
docs/data.md.
"""

import argparse
from collections.abc import Callable

import numpy as np
from scipy import stats

import evenodds as eo
from evenodds.inference.asymmetry import null_statistic
from evenodds.rows.memory import read_rows

N_ROWS, N_COLUMNS, N_ANCHORS, N_FOLDS = 2000, 10, 8, 5
SLOPES = np.array([1.0, -1.0, 0.5, 0.5] + [0.0] * 6)
# Intercepts that give about half, 30% and 16% positives.
SHARES = {0.5: 0.0, 0.3: -1.45, 0.16: -2.8}
CRITICAL = stats.norm.isf(0.025)


def log_odds(X, intercept):
    return intercept + X @ SLOPES + 1.2 * X[:, 4] * X[:, 5] + 1.2 * X[:, 6] * X[:, 7]


def draw(intercept, rng):
    """Return rows, noisy labels and toss-ups chosen by truth."""
    X = rng.normal(size=(N_ROWS, N_COLUMNS))
    y = rng.random(N_ROWS) < 1 / (1 + np.exp(-log_odds(X, intercept)))
    more = rng.normal(size=(200 * N_ANCHORS * 10, N_COLUMNS))
    near = np.argsort(np.abs(log_odds(more, intercept)), kind="stable")[: 20 * N_ANCHORS]
    toss_ups = more[rng.choice(near, N_ANCHORS, replace=False)]
    return X, eo.UniformNoise(0.1).flip(y.astype(int), rng), toss_ups


def logistic(X, labels):
    """Return a model that knows the columns and not their products."""
    curve = eo.fit_logistic(X, labels).coefficients
    return lambda cases: curve[0] + cases @ curve[1:]


def boosted(X, labels):
    """Return boosted trees."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, random_state=0)
    model.fit(X, labels)
    return lambda cases: np.diff(np.log(model.predict_proba(cases)), axis=1)[:, 0]


def score_of(train: Callable) -> Callable:
    """Return features that are a model's score, out of fold for the rows."""

    def features(X, labels, toss_ups):
        folds = np.arange(len(X)) % N_FOLDS
        scores = np.empty(len(X))
        for fold in range(N_FOLDS):
            scores[folds == fold] = train(X[folds != fold], labels[folds != fold])(X[folds == fold])
        return scores[:, None], train(X, labels)(toss_ups)[:, None]

    return features


def components(X, labels, toss_ups):
    axes = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:5].T
    return X @ axes, toss_ups @ axes


def splines(X, labels, toss_ups):
    from sklearn.preprocessing import SplineTransformer

    bent = SplineTransformer(n_knots=4, include_bias=False, extrapolation="linear").fit(X)
    return bent.transform(X), bent.transform(toss_ups)


def formula(X, labels, toss_ups):
    def with_products(cases):
        return np.column_stack([cases, cases[:, 4] * cases[:, 5], cases[:, 6] * cases[:, 7]])

    return with_products(X), with_products(toss_ups)


WAYS = {
    "score, logistic": score_of(logistic),
    "score, boosted": score_of(boosted),
    "components": components,
    "splines": splines,
    "formula": formula,
}


def rejections(way, share, runs, seed=0):
    """Return how many runs reject uniform noise at 5%."""
    found = 0
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        X, labels, toss_ups = draw(SHARES[share], rng)
        features, points = WAYS[way](X, labels, toss_ups)
        anchors = eo.Anchors(points, tolerance=0.05, shared_tolerance=0.0)
        found += abs(null_statistic(read_rows(features, labels), anchors, eo.Boundary())[0]) > (
            CRITICAL
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=40)
    runs = parser.parse_args().runs
    print(f"| columns | {' | '.join(f'{share:.0%} positives' for share in SHARES)} |")
    for way in WAYS:
        rates = [rejections(way, share, runs) / runs for share in SHARES]
        print(f"| {way} | {' | '.join(f'{rate:.2f}' for rate in rates)} |", flush=True)


if __name__ == "__main__":
    main()
