"""Level, coverage and power of the line of several classes, by stated probabilities."""

import argparse
import sys
import time
from dataclasses import dataclass

import numpy as np
from scipy import stats

import evenodds as eo
from evenodds.inference.line.class_fit import ClassLine
from evenodds.inference.line.class_line import counts_of
from tests.calibration.looked_up_classes import CRITICAL, Design


@dataclass(frozen=True)
class Stated(Design):
    """A world of K classes with a score, and an expert who states the chance of each class.

    Attributes
    ----------
    precision : float
        Of the expert: statements are drawn around the chances (Dirichlet), the nearer the higher.
    own_lean : float
        How far the expert may lean from the second class to the first, drawn uniformly; a class
        that would fall below 0 stays there.
    blind : bool
        Whether the score knows nothing of the classes.
    """

    precision: float = 20.0
    own_lean: float = 0.0
    blind: bool = False

    def said(self, logits: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return what the expert states of some rows."""
        chances = np.exp(logits - logits.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        drawn = rng.gamma(np.maximum(self.precision * chances, 1e-9))
        said = drawn / np.maximum(drawn.sum(axis=1, keepdims=True), 1e-300)
        lean = self.own_lean * rng.uniform(-1, 1)
        moved = np.clip(lean, -said[:, 0], said[:, 1])
        said[:, 0] += moved
        said[:, 1] -= moved
        return said / said.sum(axis=1, keepdims=True)

    def judge(self, seed: int, run: int) -> dict[str, np.ndarray] | None:
        """Return adjusted p-values and z of every pair at the truth; None where it cannot tell.

        Both without a shared tolerance, and adjusted p-values with the usual one too.
        """
        rng = np.random.default_rng([seed, run])
        true, given, logits = self.draw(self.n_rows, rng)
        scores = self.scores(given, logits, rng)
        if self.blind:
            scores = rng.permutation(scores)
        cases = eo.choose_cases(scores, n_cases=self.per_class * self.n_classes, seed=run)
        said = self.said(logits[cases.rows], rng)
        found, usual = (
            eo.line_test(scores, given, cases, said, answers="probability", shared_tolerance=wide)
            for wide in (0.0, None)
        )
        if np.isnan(found.pvalue):
            return None
        line = ClassLine(counts_of(found.strata), 0.0)
        first, second = line.strata.pairs.T
        truth = self.flips[second, first] - self.flips[first, second]
        return {
            "adjusted": np.array([pair.adjusted for pair in found.pairs]),
            "usual": np.array([pair.adjusted for pair in usual.pairs]),
            "even": truth == 0,
            "pairs": line.z(line.strata.pairs, truth),
            "doubted": np.array(any(check.concern for check in found.diagnostics)),
            "right": np.array((scores.argmax(axis=1) == true).mean()),
        }


UNEQUAL = {3: (6.0, 3.0, 1.0), 5: (5.0, 4.0, 3.0, 2.0, 1.0)}
DESIGNS = tuple(
    Stated(f"{word}, {name}", n_classes, **{"noise": 0.1, **settings})
    for word, n_classes in (("three", 3), ("five", 5))
    for name, settings in (
        ("even", {}),
        ("one pair leans", {"lean": 0.15}),
        ("of unequal size, one pair leans", {"lean": 0.15, "sizes": UNEQUAL[n_classes]}),
        ("of unequal size, a poor score", {"sizes": UNEQUAL[n_classes], "signal": 2.5}),
        ("a poor score", {"noise": 0.15, "signal": 2.5}),
        ("40% flipped", {"noise": 0.4, "signal": 4.0}),
        ("clean labels", {"noise": 0.0, "signal": 4.0}),
        ("a sure expert", {"precision": 500.0, "signal": 4.0}),
        ("a vague expert", {"precision": 5.0, "signal": 4.0}),
        ("20 a class", {"per_class": 20, "signal": 4.0}),
        ("an expert who leans up to 0.05", {"own_lean": 0.05, "signal": 2.5}),
        ("a score that knows nothing", {"blind": True, "signal": 4.0}),
    )
)
LEARNT = tuple(
    Stated(f"{word}, boosted{name}", n_classes, 0.1, lean, signal=4.0, learner=True)
    for word, n_classes in (("three", 3), ("five", 5))
    for name, lean in (("", 0.0), (", one pair leans", 0.15))
)


def show(designs: tuple[Stated, ...], runs: int, seed: int) -> int:
    """Print how often the truth is rejected; return how many designs are out of bounds."""
    most = stats.binom.ppf(1 - 1e-3 / len(designs), runs, 0.05)
    print(f"{runs} runs a design; any false pair may be named in {most / runs:.3f} of them\n")
    print(
        "| design | score right | cannot tell | any false pair named | a pair's truth rejected "
        "| doubted | leaning pair named | the same, tolerance 0.05 |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    failures = 0
    for one in designs:
        told = [found for run in range(runs) if (found := one.judge(seed, run)) is not None]
        blank = 1 - len(told) / runs
        if not told:
            print(f"| {one.name} |  | {blank:.3f} |  |  |  |  |  |", flush=True)
            continue
        adjusted, usual, even, pairs = (
            np.array([found[name] for found in told])
            for name in ("adjusted", "usual", "even", "pairs")
        )
        # An expert who leans is allowed for by the usual tolerance alone.
        judged = usual if one.own_lean else adjusted
        false = int(((judged < 0.05) & even).any(axis=1).sum())
        off = (np.abs(pairs) > CRITICAL).sum(axis=0)
        within = stats.binom.ppf(1 - 1e-3 / len(designs) / pairs.shape[1], runs, 0.05)
        failures += false > most or (not one.own_lean and off.max() > within)
        right, doubted = (np.mean([found[name] for found in told]) for name in ("right", "doubted"))
        named = [
            f"{(each[:, 0] < 0.05).mean():.3f}" if one.lean else "" for each in (adjusted, usual)
        ]
        print(
            f"| {one.name} | {right:.2f} | {blank:.3f} | {false / runs:.3f} "
            f"| {off.min() / runs:.3f} to {off.max() / runs:.3f} | {doubted:.3f} "
            f"| {' | '.join(named)} |",
            flush=True,
        )
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=61)
    parser.add_argument("--learnt", action="store_true", help="with scores learnt by boosting")
    parser.add_argument("--design", type=int, action="append", help="number of a design")
    options = parser.parse_args()
    designs = LEARNT if options.learnt else DESIGNS
    chosen = tuple(designs[place] for place in options.design or range(len(designs)))
    started = time.process_time()
    failures = show(chosen, options.runs, options.seed)
    print(f"\n{failures} out of bounds; {time.process_time() - started:.0f} s of CPU")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
