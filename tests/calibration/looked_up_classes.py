"""Level, coverage and power of the flip matrix looked up within strata."""

import argparse
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy import stats

import evenodds as eo
from evenodds.inference.multiclass.confusion_strata import class_cells

# Flip rates looked at: kept labels, the leaning pair both ways, and another.
RATES = ((0, 0), (1, 1), (0, 1), (1, 0), (1, 2))
CRITICAL = stats.norm.isf(0.025)


@dataclass(frozen=True)
class Design:
    """A world of K classes with a score, how labels are flipped in it, and how many are looked up.

    Attributes
    ----------
    noise : float
        Share of each class that is flipped, to every other class alike.
    lean : float
        Share of the first class that is flipped to the second on top of that.
    hard : bool
        Whether rows between classes are flipped more often than others.
    learner : bool
        Whether scores are learnt from features and given labels, by boosting.
    """

    name: str
    n_classes: int
    noise: float
    lean: float = 0.0
    signal: float = 6.0
    sizes: tuple[float, ...] | None = None
    hard: bool = False
    learner: bool = False
    per_class: int = 40
    n_rows: int = 5000

    @property
    def flips(self) -> np.ndarray:
        """The flip matrix of an average row."""
        matrix = np.full((self.n_classes, self.n_classes), self.noise / (self.n_classes - 1))
        np.fill_diagonal(matrix, 1 - self.noise)
        matrix[0, :2] += [-self.lean, self.lean]
        return matrix

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return true and given classes, and logits of the true one."""
        base = np.log(np.ones(self.n_classes) if self.sizes is None else self.sizes)
        logits = base + self.signal * rng.normal(size=(n, self.n_classes))
        chances = np.exp(logits - logits.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        true = _outcome(chances, rng)
        flips = self.flips[true]
        if self.hard:
            flips = flips * np.minimum(6 * (1 - chances.max(axis=1)), 2.5)[:, None]
        flips[np.arange(n), true] = 0.0
        flips[np.arange(n), true] = 1 - flips.sum(axis=1)
        return true, _outcome(flips, rng), logits

    @cached_property
    def truth(self) -> np.ndarray:
        """The flip matrix of the process; drawn where flips depend on the case."""
        if not self.hard:
            return self.flips
        true, given, _ = self.draw(2_000_000, np.random.default_rng(0))
        counts = np.zeros((self.n_classes, self.n_classes))
        np.add.at(counts, (true, given), 1)
        return counts / counts.sum(axis=1, keepdims=True)

    def scores(self, given: np.ndarray, logits: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return probabilities of the given labels: of a learner, or of the process, blurred."""
        if self.learner:
            from sklearn.ensemble import HistGradientBoostingClassifier
            from sklearn.model_selection import cross_val_predict

            model = HistGradientBoostingClassifier(max_iter=25, learning_rate=0.2)
            return cross_val_predict(model, logits, given, cv=5, method="predict_proba")
        chances = np.exp(logits - logits.max(axis=1, keepdims=True))
        mixed = chances / chances.sum(axis=1, keepdims=True) @ self.flips
        blurred = mixed * np.exp(0.5 * rng.normal(size=mixed.shape))
        return blurred / blurred.sum(axis=1, keepdims=True)

    def judge(self, seed: int, run: int) -> dict[str, np.ndarray] | None:
        """Return adjusted p-values, z of every pair and of some rates at the truth, and counts."""
        rng = np.random.default_rng([seed, run])
        true, given, logits = self.draw(self.n_rows, rng)
        scores = self.scores(given, logits, rng)
        n_cases = self.per_class * self.n_classes
        cases = eo.choose_cases(scores, n_cases=n_cases, given=given, seed=run)
        try:
            found = eo.confusion_test(true[cases.rows], given, strata=cases, scores=scores)
        except eo.InputError as error:
            if "no row that was looked up is truly" not in str(error):
                raise
            return None
        cells, truth = class_cells(found.strata, found.classes), self.truth
        pairs = list(combinations(range(self.n_classes), 2))
        even = self.flips == self.flips.T  # hard rows are equally many in classes of equal size
        return {
            "adjusted": np.array([pair.adjusted for pair in found.pairs]),
            "even": np.array([bool(even[pair]) for pair in pairs]),
            "pairs": np.array([
                found.pairs[k].statistic if even[i, j] else
                cells.pair_z(truth[j, i] - truth[i, j], i, j)
                for k, (i, j) in enumerate(pairs)
            ]),
            "rates": np.array([cells.rate_z(truth[place], *place) for place in RATES]),
            "wrong": np.array((true != given)[cases.rows].sum()),
            "right": np.array((scores.argmax(axis=1) == true).mean()),
        }  # fmt: skip


def _outcome(chances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one class a row."""
    return (rng.random(len(chances))[:, None] > chances.cumsum(axis=1)[:, :-1]).sum(axis=1)


DESIGNS = (
    Design("three, even", 3, 0.1),
    Design("three, a poor score", 3, 0.15, signal=2.5),
    Design("three, of unequal size", 3, 0.1, sizes=(6.0, 3.0, 1.0)),
    Design("three, hard rows flipped", 3, 0.1, 0.1, signal=4.0, hard=True),
    Design("three, one pair leans", 3, 0.1, 0.15),
    Design("three, 200 a class", 3, 0.1, per_class=200),
    Design("five, even", 5, 0.1),
    Design("five, one pair leans", 5, 0.1, 0.15),
    Design("five, one pair leans, 60 a class", 5, 0.1, 0.15, per_class=60),
)
LEARNT = (
    Design("three, boosted", 3, 0.1, learner=True),
    Design("three, boosted, one pair leans", 3, 0.1, 0.15, learner=True),
    Design("five, boosted, one pair leans", 5, 0.1, 0.15, learner=True),
)


def show(designs: tuple[Design, ...], runs: int) -> int:
    """Print how often the truth is rejected; return how many designs are out of bounds."""
    most = stats.binom.ppf(1 - 1e-3 / len(designs), runs, 0.05)
    print(f"{runs} runs a design; any false pair may be named in {most / runs:.3f} of them\n")
    print(
        "| design | score right | wrong rows | any false pair named | a pair's truth rejected "
        "| a rate's truth rejected | leaning pair named |\n|---|---|---|---|---|---|---|"
    )
    failures = 0
    for one in designs:
        told = [found for run in range(runs) if (found := one.judge(51, run)) is not None]
        adjusted, even, pairs, rates = (
            np.array([found[name] for found in told])
            for name in ("adjusted", "even", "pairs", "rates")
        )
        false = float(((adjusted < 0.05) & even).any(axis=1).mean())
        off_pairs = (np.abs(pairs) > CRITICAL).mean(axis=0)
        off_rates = (np.abs(rates) > CRITICAL).mean(axis=0)
        worst = max(false, off_pairs.max(), off_rates.max())
        failures += worst * len(told) > stats.binom.ppf(1 - 1e-4 / rates.shape[1], runs, 0.05)
        named = f"{(adjusted[:, 0] < 0.05).mean():.3f}" if one.lean else ""
        right, wrong = (np.mean([found[name] for found in told]) for name in ("right", "wrong"))
        print(
            f"| {one.name} | {right:.2f} | {wrong:.0f} | {false:.3f} "
            f"| {off_pairs.min():.3f} to {off_pairs.max():.3f} "
            f"| {off_rates.min():.3f} to {off_rates.max():.3f} | {named} |",
            flush=True,
        )
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--learnt", action="store_true", help="with scores learnt by boosting")
    parser.add_argument("--design", type=int, action="append", help="number of a design")
    options = parser.parse_args()
    designs = LEARNT if options.learnt else DESIGNS
    chosen = tuple(designs[place] for place in options.design or range(len(designs)))
    started = time.process_time()
    failures = show(chosen, options.runs)
    print(f"\n{failures} out of bounds; {time.process_time() - started:.0f} s of CPU")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
