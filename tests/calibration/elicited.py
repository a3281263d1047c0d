"""Level, power and estimates with elicited anchors: ``python -m tests.calibration.elicited``."""

import argparse
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import stats

import evenodds as eo
from evenodds.elicit.answers import UNSEEN_LEAN
from evenodds.inference.asymmetry import null_statistic
from evenodds.rows.memory import read_rows
from evenodds.simulation.worlds import WORLDS
from tests.calibration.experts import SimulatedExpert, elicited, own_toss_ups, random_cases
from tests.calibration.other_columns import CRITICAL, show_other_columns

PLACES = ("paper", "rare", "skewed")


@dataclass(frozen=True)
class Panel:
    """Who sits: experts of known judgement, leaning as far as is allowed for."""

    n_experts: int = 1
    width: float = 0.1
    persistent: float = 0.04
    momentary: float = 0.04
    slider: bool = False
    bias: float = 0.0  # on top of the lean, and not allowed for

    @property
    def name(self) -> str:
        """A short name for tables."""
        words = [f"{self.n_experts} expert{'s' if self.n_experts > 1 else ''}"]
        words += [f"calls +-{self.width:g} a toss-up"]
        words += [f"errs by {self.persistent:g} and {self.momentary:g}"]
        words += ["uses the slider"] * self.slider
        words += [f"biased by {self.bias:+g}"] * (self.bias != 0)
        return ", ".join(words)

    def experts(self, rng):
        """Return experts with leans drawn as the exported shared tolerance says."""
        return [
            SimulatedExpert(
                name=f"expert {number}",
                width=self.width,
                lean=self.bias + rng.uniform(-UNSEEN_LEAN, UNSEEN_LEAN),
                persistent=self.persistent,
                momentary=self.momentary,
                slider=self.slider,
            )
            for number in range(self.n_experts)
        ]


LEVEL_PANELS = (
    Panel(),
    Panel(slider=True),
    Panel(n_experts=2),
    Panel(width=0.2),  # calls more a toss-up than the page says
    Panel(persistent=0.0, momentary=0.1),
)
# Errors that come back with the case are seen by nothing one expert says: beyond what is claimed.
BEYOND_PANELS = (Panel(persistent=0.1), Panel(persistent=0.15))


@dataclass(frozen=True)
class Elicited:
    """One setting: a world, its noise, its rows, who sits, and which cases are asked."""

    world: str
    noise: eo.ClassConditionalNoise
    panel: Panel = Panel()
    n_rows: int = 2000
    choose: Callable | None = None  # other cases than the package chooses
    seed: int = 1

    def draw(self, run):
        """Return rows, labels and anchors of one run, the same whoever asks."""
        rng = np.random.default_rng([self.seed, run])
        return elicited(
            WORLDS[self.world],
            self.noise,
            self.n_rows,
            self.panel.experts(rng),
            rng,
            choose=self.choose,
        )

    def z(self, run):
        """Return z(0) of the boundary test; 0 where no toss-up was found and none is done."""
        X, labels, anchors = self.draw(run)
        if anchors is None:
            return 0.0
        return null_statistic(read_rows(X, labels), anchors, eo.Boundary())[0]

    def spread(self, run):
        """Return the curve's variance at the mean toss-up, its true error, and the claimed one."""
        X, labels, anchors = self.draw(run)
        if anchors is None:
            return np.nan, np.nan, np.nan
        mean = np.append(1, anchors.points.mean(axis=0))
        error = np.mean(WORLDS[self.world].posterior(anchors.points) - anchors.posterior)
        claimed = anchors.error_covariance().mean()
        return mean @ eo.fit_logistic(X, labels).covariance @ mean, error, claimed

    def estimate(self, run):
        """Return the test's p-value, estimate and tipping point; nan where it has none."""
        X, labels, anchors = self.draw(run)
        if anchors is None:
            return 1.0, np.nan, np.nan
        result = eo.asymmetry_test(X, labels, anchors)
        tipping = [d.statistic for d in result.diagnostics if d.name == "tipping point"]
        size = np.nan if result.asymmetry is None else result.asymmetry
        return result.pvalue, size, tipping[0] if tipping else np.nan


def rejections(setting, runs, over=map):
    """Return how many runs reject at 5%."""
    return sum(abs(z) > CRITICAL for z in over(setting.z, range(runs)))


def show_level(over, runs):
    """Print the level of every panel in every world; return how many are out of bounds."""
    upper = stats.binom.ppf(1 - 1e-3 / (len(LEVEL_PANELS) * len(PLACES)), runs, 0.05)
    print(f"Level at nominal 5%, {runs} runs, at most {upper / runs:.3f}")
    return sum(count > upper for count in _levels(LEVEL_PANELS, over, runs))


def show_beyond(over, runs):
    """Print the level of panels that err by more than is claimed to be held; return 0."""
    print(f"Level at nominal 5% beyond what is claimed, {runs} runs")
    list(_levels(BEYOND_PANELS, over, runs))
    return 0


def _levels(panels, over, runs):
    """Print and yield how many runs reject, panel by panel and world by world."""
    for panel in panels:
        for world in PLACES:
            count = rejections(Elicited(world, eo.UniformNoise(0.1), panel), runs, over)
            print(f"  {world:<7} {panel.name:<75} {count / runs:.3f}", flush=True)
            yield count


def show_power(over, runs):
    """Print power and estimates, asking about a band or about the curve's own toss-ups."""
    print(f"Flips 0.05 and 0.15, {runs} runs: power, mean estimate (truth +0.10), no toss-up found")
    for world in PLACES:
        for choose in (None, own_toss_ups):
            noise = eo.ClassConditionalNoise(0.05, 0.15)
            setting = Elicited(world, noise, choose=choose, seed=2)
            found = np.array(list(over(setting.estimate, range(runs))))
            asked = "the curve's own toss-ups" if choose else "a band of the posterior"
            power, mean = np.mean(found[:, 0] < 0.05), np.nanmean(found[:, 1])
            none = int(np.isnan(found[:, 1]).sum())
            print(f"  {world:<7} {asked:<26} {power:.3f}  {mean:+.3f}  {none}", flush=True)
    return 0


def show_bias(over, runs):
    """Print how often a biased expert makes the test reject, and how often it is told."""
    print(f"A biased expert, uniform noise 0.1, 5000 rows, {runs} runs:")
    print("  rejected; of these, tipping point within the bias; its median size")
    for bias in (0.05, 0.1, 0.15):
        for world in PLACES:
            setting = Elicited(world, eo.UniformNoise(0.1), Panel(bias=bias), 5000, seed=3)
            found = np.array(list(over(setting.estimate, range(runs))))
            sizes = np.abs(found[found[:, 0] < 0.05, 2])
            told, middle = (np.mean(sizes <= bias), np.median(sizes)) if len(sizes) else (0, 0)
            share = len(sizes) / runs
            print(f"  {world:<7} {bias:.2f}  {share:.3f}  {told:.3f}  {middle:.3f}", flush=True)
    return 0


def show_spread(over, runs):
    """Print what choosing cases does beside drawing them at random."""
    print(f"Cases as chosen / at random, uniform noise 0.1, {runs} runs:")
    print(
        "  curve's variance at the mean toss-up, ratio; standard error of the mean toss-up, both;"
    )
    print("  the one that the exported tolerances claim")
    for world in (*PLACES, "many features"):
        chosen, drawn = (
            np.array(
                list(
                    over(
                        Elicited(world, eo.UniformNoise(0.1), choose=c, seed=4).spread, range(runs)
                    )
                )
            )
            for c in (None, random_cases)
        )
        ratio = np.nanmean(chosen[:, 0]) / np.nanmean(drawn[:, 0])
        errors = [np.sqrt(np.nanmean(found[:, 1] ** 2)) for found in (chosen, drawn)]
        claimed = np.sqrt(np.nanmean(chosen[:, 2]))
        print(
            f"  {world:<13} {ratio:.2f}  {errors[0]:.4f} {errors[1]:.4f}  {claimed:.4f}", flush=True
        )
    return 0


# What is shown, and how many times fewer runs it takes than the level.
PARTS = {
    "level": (show_level, 1),
    "beyond": (show_beyond, 1),
    "columns": (show_other_columns, 1),
    "power": (show_power, 2),
    "spread": (show_spread, 2),
    "bias": (show_bias, 5),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400, help="for the level")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=tuple(PARTS))
    options = parser.parse_args()
    started, failures = time.perf_counter(), 0
    with ProcessPoolExecutor(options.workers) as pool:
        for name, (show, fewer) in PARTS.items():
            if options.only in {None, name}:
                failures += show(partial(pool.map, chunksize=10), options.runs // fewer)
    print(f"{failures} cells out of bounds; {time.perf_counter() - started:.0f} s")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
