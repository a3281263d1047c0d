"""Level and power of every method over many worlds, as tables, heat maps and verdicts.

Ours is held against flip rates as others estimate them, from predicted posteriors alone: they read
the rates off rows that a classifier is sure of, so they need regions where the true classes do not
overlap. Neither comes with an interval or a test.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, Colormap, ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from scipy.special import expit

from evenodds.errors import EvenoddsError, InputError
from evenodds.files import make_folder, write_columns
from evenodds.inference.asymmetry import CURVE_METHODS, null_statistic
from evenodds.inference.multiplicity import wilson_interval
from evenodds.inference.noise_aware import FittedRows
from evenodds.model.logistic import fit_logistic
from evenodds.noise import ClassConditionalNoise, UniformNoise
from evenodds.report.style import BLACK, in_house_style, new_figure, save_figure
from evenodds.rows.memory import read_rows
from evenodds.simulation.parallel import Progress, carry_out, in_tasks
from evenodds.simulation.rejection import Setting
from evenodds.simulation.world import Trial
from evenodds.simulation.worlds import WORLDS, find_world
from evenodds.study.paper import Columns, in_order, kept
from evenodds.validation import FloatArray, check_choice, join_quoted

BoolArray = NDArray[np.bool_]

# As in the experiments of Patrini et al.: the single most extreme row is often an outlier.
PERCENTILE: Final = 97.0
N_FOLDS: Final = 5


@dataclass(frozen=True, slots=True)
class NoiseRates:
    """Estimated flip rates of the positives (alpha) and of the negatives (beta).

    Unlike `ClassConditionalNoise` they may add up to 1 or more: they are estimates.
    """

    alpha: float
    beta: float

    @property
    def asymmetry(self) -> float:
        """``beta - alpha``, zero under uniform noise."""
        return self.beta - self.alpha


def extreme_posterior_rates(features: FloatArray, given: BoolArray) -> NoiseRates:
    """Estimate flip rates from the rows that look most like their class.

    Notes
    -----
    With ``p(x)`` the fitted probability of a positive *label*, the row at the 97th percentile of
    ``p`` is taken for a certain positive, the row at that percentile of ``1 - p`` for a certain
    negative, and the transition matrix is read off there: ``alpha = 1 - p`` at the first,
    ``beta = p`` at the second ([1]_, theorem 3). The classifier here is plain logistic
    regression, fitted to all rows.

    Biased when no row is certain: overlap of the classes is then counted as noise. Biased too
    because a logistic curve has no plateaus to read the rates from.

    References
    ----------
    .. [1] Patrini, G., Rozza, A., Menon, A. K., Nock, R., Qu, L. (2017). Making deep neural
           networks robust to label noise: a loss correction approach. CVPR. arXiv:1609.03683.
    """
    return rates_at_extremes(expit(fit_logistic(features, given).log_odds(features)))


def rates_at_extremes(posterior: FloatArray, percentile: float = PERCENTILE) -> NoiseRates:
    """Read flip rates off the predicted posteriors at one percentile from either end."""
    # 'lower' takes a posterior that some row has, and swapping the classes swaps the rates.
    alpha = 1 - np.percentile(posterior, percentile, method="lower")
    beta = 1 - np.percentile(1 - posterior, percentile, method="lower")
    return NoiseRates(float(alpha), float(beta))


def confident_joint_rates(
    features: FloatArray, given: BoolArray, rng: np.random.Generator
) -> NoiseRates:
    """Estimate flip rates from the counts of rows confidently in each class.

    Notes
    -----
    A row's posterior is predicted by a fit without its fold, and the row is confidently in a class
    if that reaches the mean over the rows
    given that label; if it is in both, the more likely counts. The counts by given and
    confident class, each given label's scaled to all its rows, estimate the joint distribution
    of given and true labels ([1]_, section 3), and its columns the flip rates.

    Biased when the classes overlap: a row on the wrong side of the boundary is counted as
    mislabelled although it may well be what its label says.

    References
    ----------
    .. [1] Northcutt, C. G., Jiang, L., Chuang, I. L. (2021). Confident learning: estimating
           uncertainty in dataset labels. J. Artif. Intell. Res. 70. arXiv:1911.00068.
    """
    posterior = cross_fitted_posterior(features, given, rng)
    return rates_of_joint(confident_joint(posterior, given), given)


def confident_joint(posterior: FloatArray, given: BoolArray) -> NDArray[np.int64]:
    """Count rows by given label (rows: negative, positive) and confident class (columns).

    `posterior` is the predicted probability of a positive label. The diagonal is at least 1,
    so that a label none of whose rows is confident is taken to be right.
    """
    reaches_positive = posterior >= posterior[given].mean()
    reaches_negative = 1 - posterior >= (1 - posterior[~given]).mean()
    both = reaches_positive & reaches_negative
    # Where the two are equally likely the given label stands.
    more_likely = np.where(posterior == 0.5, given, posterior > 0.5)
    positive = np.where(both, more_likely, reaches_positive)
    confident = reaches_positive | reaches_negative
    counts = np.bincount(2 * given[confident] + positive[confident], minlength=4).reshape(2, 2)
    np.fill_diagonal(counts, np.maximum(counts.diagonal(), 1))
    return counts.astype(np.int64)


def rates_of_joint(counts: NDArray[np.int64], given: BoolArray) -> NoiseRates:
    """Scale the counts of each given label to all its rows; return the shares flipped."""
    n_given = np.array([np.count_nonzero(~given), np.count_nonzero(given)])
    joint = counts / counts.sum(axis=1, keepdims=True) * n_given[:, None]
    flipped = joint / joint.sum(axis=0)
    return NoiseRates(alpha=float(flipped[0, 1]), beta=float(flipped[1, 0]))


def cross_fitted_posterior(
    features: FloatArray, given: BoolArray, rng: np.random.Generator
) -> FloatArray:
    """Return each row's probability of a positive label, by a fit that has not seen the row.

    Raises
    ------
    InputError
        If a label has fewer rows than there are folds, or a fold has no fit.
    """
    fewest = min(np.count_nonzero(given), np.count_nonzero(~given))
    if fewest < N_FOLDS:
        raise InputError(
            f"one label has {fewest} rows but there are {N_FOLDS} folds: every fold needs rows of "
            "both labels, so use more rows."
        )
    # Rows are dealt at random, those of either label evenly.
    shuffled = rng.permutation(len(given))
    folds = np.empty(len(given), dtype=np.int64)
    folds[shuffled[np.argsort(given[shuffled], kind="stable")]] = np.arange(len(given)) % N_FOLDS
    posterior = np.empty(len(given))
    for fold in range(N_FOLDS):
        inside = folds == fold
        fit = fit_logistic(features[~inside], given[~inside])
        posterior[inside] = expit(fit.log_odds(features[inside]))
    return posterior


Extent = Literal["small", "full"]

# What is varied: numbers of rows, of anchors, tolerances, uniform rates, unequal rates.
GRIDS: dict[Extent, tuple[Sequence[int], Sequence[int], Sequence[float], Sequence[float]]] = {
    "small": ((500, 2000), (1, 8), (0.0, 0.05), (0.0, 0.1, 0.3)),
    "full": ((500, 1000, 2000, 5000), (1, 4, 8, 32), (0.0, 0.05, 0.1), (0.0, 0.1, 0.2, 0.3)),
}
UNEQUAL = (ClassConditionalNoise(0.05, 0.15), ClassConditionalNoise(0.2, 0.1))
BASELINES: dict[str, Callable[[Trial, np.random.Generator], NoiseRates]] = {
    "extreme posteriors": lambda trial, _: extreme_posterior_rates(
        trial.features, trial.labels == 1
    ),
    "confident joint": lambda trial, rng: confident_joint_rates(
        trial.features, trial.labels == 1, rng
    ),
}
SIGNIFICANCE = 0.05
# A practitioner with estimates alone is taken to call labels lopsided beyond this.
NOTICED = 0.05


@dataclass(frozen=True, slots=True)
class AtlasTask:
    """Some runs of one setting."""

    setting: Setting
    runs: range


def atlas_settings(extent: Extent, worlds: Sequence[str] | None, seed: int) -> Iterator[Setting]:
    """Return every setting of an atlas."""
    sizes, anchor_numbers, tolerances, rates = GRIDS[extent]
    noises = [*(UniformNoise(rate) for rate in rates), *UNEQUAL]
    chosen = [find_world(name) for name in (worlds or WORLDS)]
    for world, n, k, tolerance, noise in product(chosen, sizes, anchor_numbers, tolerances, noises):
        yield Setting(
            world=world,
            noise=noise,
            n_rows=n,
            n_anchors=k,
            tolerance=tolerance,
            shared_tolerance=0.0,
            seed=seed,
        )


def run_task(task: AtlasTask) -> FloatArray:
    """Run every method on the same data sets.

    Returns which way each leans, method by method and run by run, and whether it rejects; nan
    where it could not be done. Below 0 a lean says that positives are flipped more.
    """
    n_tests = len(CURVE_METHODS)
    leans = np.full((n_tests + len(BASELINES), len(task.runs)), np.nan)
    pvalues = leans[:n_tests].copy()
    for place, run in enumerate(task.runs):
        trial = task.setting.draw(run)
        try:
            rows = read_rows(trial.features, trial.labels, groups=trial.groups)
            fitted = FittedRows.of(rows)
        except EvenoddsError:
            continue
        for number, method in enumerate(CURVE_METHODS.values()):
            with suppress(EvenoddsError):
                z, reference = null_statistic(rows, trial.anchors, method(), fitted)
                leans[number, place] = z
                pvalues[number, place] = reference.pvalue(z, "two-sided")
        for number, estimate in enumerate(BASELINES.values()):
            rng = np.random.default_rng([task.setting.seed, run, number])
            with suppress(EvenoddsError):
                leans[n_tests + number, place] = estimate(trial, rng).asymmetry
    estimates = leans[n_tests:]
    rejected = np.concatenate([pvalues < SIGNIFICANCE, np.abs(estimates) > NOTICED])
    failed = np.isnan(np.concatenate([pvalues, estimates]))
    return np.stack([leans, np.where(failed, np.nan, rejected)])


# A level whose interval lies above this is no level of 5%.
HELD: Final = 0.08

Key = tuple[str, str, int, int]
CELL: Final = ("method", "world", "n_rows", "n_anchors")


@dataclass(frozen=True, slots=True)
class Cells:
    """Rejection rates by method, world and size; nan where nothing was run."""

    methods: list[str]
    worlds: list[str]
    sizes: list[tuple[int, int]]  # rows and anchors
    rates: FloatArray
    marked: NDArray[np.bool_]


def under_uniform_noise(columns: Columns) -> Columns:
    """Return the rows under uniform noise."""
    return kept(columns, columns["alpha"] == columns["beta"])


def levels_not_held(uniform: Columns) -> set[Key]:
    """Return the cells in which some level is surely too high."""
    counts = zip(uniform["rejections"].tolist(), uniform["runs"].tolist(), strict=True)
    lows = [wilson_interval(rejections, runs)[0] if runs else 0.0 for rejections, runs in counts]
    return {key for key, low in zip(_keys(uniform), lows, strict=True) if low > HELD}


def arrange(columns: Columns, not_held: set[Key]) -> Cells:
    """Arrange rows by cell, the largest share of rejections of each."""
    methods, worlds = in_order(columns["method"]), in_order(columns["world"])
    keys = _keys(columns)
    sizes = sorted({(n_rows, n_anchors) for _, _, n_rows, n_anchors in keys})
    rates = np.full((len(methods), len(worlds), len(sizes)), np.nan)
    marked = np.zeros(rates.shape, dtype=bool)
    shares = np.full(len(keys), np.nan)  # where no run could be done
    np.divide(columns["rejections"], columns["runs"], out=shares, where=columns["runs"] > 0)
    for key, rate in zip(keys, shares.tolist(), strict=True):
        method, world, *size = key
        place = methods.index(method), worlds.index(world), sizes.index((size[0], size[1]))
        rates[place] = np.fmax(rates[place], rate)
        marked[place] = key in not_held
    return Cells(methods, worlds, sizes, rates, marked)


def _keys(columns: Columns) -> list[Key]:
    """Name the cell each row belongs to."""
    named = (columns[name].tolist() for name in CELL)
    return list(zip(*named, strict=True))


# Steps of the level's colours, even around the nominal 0.05 and halfway between the numbers
# written, so that equal numbers have equal colours.
LEVEL_STEPS: Final = (0, 0.015, 0.025, 0.035, 0.065, 0.085, 0.125, 0.255, 0.505, 1)
LEVEL_NAMES: Final = (
    "≤ .01",
    ".02",
    ".03",
    ".04 to .06",
    ".07, .08",
    "to .12",
    "to .25",
    "to .50",
    "above",
)
# Where those colours are taken from a scale that runs from orange over white to purple.
LEVEL_SHADES: Final = (0.78, 0.68, 0.58, 0.5, 0.38, 0.3, 0.22, 0.14, 0.05)


@dataclass(frozen=True, slots=True)
class Shading:
    """Which colour a rate has."""

    colors: Colormap
    norm: Normalize

    def text_color(self, rate: float) -> str:
        """Return black or white, whichever is read more easily on the cell."""
        red, green, blue, _ = self.colors(self.norm(rate))
        return BLACK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


@in_house_style
def level_figure(atlas: Columns) -> Figure:
    """Draw how often each method rejects uniform noise, which it should in 5% of the runs.

    Of the flip rates in the atlas, which must be of one tolerance, each cell shows the worst.

    Notes
    -----
    Purple rejects too rarely, orange too often. A frame marks a cell whose 95% Wilson interval
    lies above 0.08; a hatched cell was not run.
    """
    columns = under_uniform_noise(atlas)
    shading = Shading(
        ListedColormap(colormaps["PuOr"](LEVEL_SHADES)),
        BoundaryNorm(LEVEL_STEPS, len(LEVEL_SHADES)),
    )
    drawn = [f"{100 * value:g}" for value in in_order(columns["alpha"])]
    rates = f"worst of {', '.join(drawn[:-1])} and {drawn[-1]}" if len(drawn) > 1 else drawn[0]
    return _draw(
        arrange(columns, levels_not_held(columns)),
        shading,
        f"Level: {rates}% of both classes flipped, {_anchors_of(columns)}",
        "Share of runs that rejected; nominal 0.05. "
        f"Framed: surely above {HELD:g}. Hatched: not run.",
    )


@in_house_style
def power_heatmap_figure(atlas: Columns, noise: ClassConditionalNoise) -> Figure:
    """Draw how often each method rejects class-conditional noise, which it should always.

    Notes
    -----
    Rejections of a method that also rejects uniform noise are no power. Where the atlas, which must
    be of one tolerance, shows that (a level whose 95% Wilson interval lies above 0.08) the cell is
    framed.
    """
    columns = kept(atlas, (atlas["alpha"] == noise.alpha) & (atlas["beta"] == noise.beta))
    shading = Shading(colormaps["Blues"], Normalize(0, 1))
    return _draw(
        arrange(columns, levels_not_held(under_uniform_noise(atlas))),
        shading,
        f"Power: {100 * noise.alpha:g}% of positives and {100 * noise.beta:g}% of negatives "
        f"flipped, {_anchors_of(columns)}",
        "Share of runs that rejected. Framed: rejects uniform noise too. Hatched: not run.",
    )


def _draw(cells: Cells, shading: Shading, title: str, scale: str) -> Figure:
    """Draw one panel a method, and the colour scale under them, as high whatever their number."""
    n_panels = len(cells.methods)
    height = 1.1 + n_panels * (0.25 + 0.175 * len(cells.worlds))
    figure, axes = new_figure(n_panels, height=height, share_x=True)
    for method, panel in enumerate(axes.flat):
        _draw_panel(panel, cells, method, shading)
    axes[-1, 0].set_xlabel("Number of toss-ups, k")
    figure.suptitle(title)
    bar = figure.colorbar(
        ScalarMappable(shading.norm, shading.colors),
        ax=figure.axes,
        location="bottom",
        aspect=45,
        fraction=0.2 / height,
        pad=0.1 / height,
        label=scale,
    )
    if isinstance(shading.norm, BoundaryNorm):
        middles = (np.array(LEVEL_STEPS[1:]) + LEVEL_STEPS[:-1]) / 2
        bar.set_ticks(middles.tolist(), labels=LEVEL_NAMES)
        bar.ax.tick_params(length=0)
    return figure


def _draw_panel(panel: Axes, cells: Cells, method: int, shading: Shading) -> None:
    """Draw the cells of one method, with their numbers and frames."""
    rates = cells.rates[method]
    panel.patch.set(facecolor="white", edgecolor="#BBBBBB", hatch="//////")
    panel.pcolormesh(
        np.ma.masked_invalid(rates),
        cmap=shading.colors,
        norm=shading.norm,
        edgecolors="white",
        linewidth=0.8,
    )
    for (row, column), rate in np.ndenumerate(rates):
        if np.isfinite(rate):
            panel.text(
                column + 0.5,
                row + 0.5,
                f"{rate:.2f}".removeprefix("0"),
                color=shading.text_color(rate),
                fontsize=6.5,
                ha="center",
                va="center_baseline",
            )
        if cells.marked[method, row, column]:
            panel.add_patch(
                Rectangle(
                    (column + 0.05, row + 0.06), 0.9, 0.88, fill=False, linewidth=1.1, zorder=3
                )
            )
    panel.set_ylim(len(cells.worlds), 0)
    panel.set_yticks(np.arange(len(cells.worlds)) + 0.5, cells.worlds)
    panel.set_xticks(np.arange(len(cells.sizes)) + 0.5, [str(k) for _, k in cells.sizes])
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)
    panel.annotate(
        cells.methods[method],
        xy=(0, 1),
        xytext=(-4, 3),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="right",
        fontweight="bold",
    )
    _name_row_counts(panel, [n_rows for n_rows, _ in cells.sizes])


def _name_row_counts(panel: Axes, n_rows: Sequence[int]) -> None:
    """Write the number of rows above the columns that share it, and part them by a line."""
    groups = {n: [place for place, m in enumerate(n_rows) if m == n] for n in n_rows}
    above = panel.secondary_xaxis("top")
    above.set_xticks(
        [(places[0] + places[-1] + 1) / 2 for places in groups.values()],
        [f"{n:,} rows" for n in groups],
    )
    above.tick_params(length=0, pad=1)
    above.spines[:].set_visible(False)
    for places in list(groups.values())[1:]:
        panel.axvline(places[0], color="white", linewidth=3)


def _anchors_of(columns: Columns) -> str:
    """Say how exact the anchors of these rows are."""
    tolerance = float(columns["tolerance"][0])
    return f"toss-ups within ±{tolerance:g} of ½" if tolerance else "exact toss-ups"


RUNS_A_TASK = 10
# Numbers are rounded in the CSV, which is what people read.
CSV_DIGITS = 4


def run_atlas_study(
    out: Path,
    *,
    extent: Extent = "small",
    worlds: Sequence[str] | None = None,
    runs: int = 200,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> tuple[list[Path], list[str], bool]:
    """Measure the atlas and write it into a folder.

    Returns the files written, a verdict for each method, and whether an interrupt cut it short;
    then settings that were not reached are left out and others have fewer runs.
    """
    check_choice(extent, "extent", get_args(Extent))
    make_folder(out)
    atlas, interrupted = measure_atlas(
        list(atlas_settings(extent, worlds, seed)), runs, workers=workers, progress=progress
    )
    rounded = {
        name: np.round(column, CSV_DIGITS) if column.dtype.kind == "f" else column
        for name, column in atlas.items()
    }
    written = [
        write_columns(out / "atlas.parquet", atlas),
        write_columns(out / "atlas.csv", rounded),
    ]
    for tolerance in in_order(atlas["tolerance"]):
        name = f"tolerance_{tolerance:.2f}"
        here = kept(atlas, atlas["tolerance"] == tolerance)
        written += save_figure(level_figure(here), out / f"level_{name}")
        for noise in UNEQUAL:
            if not ((here["alpha"] == noise.alpha) & (here["beta"] == noise.beta)).any():
                continue  # an interrupt came before
            path = out / f"power_{noise.alpha:.2f}_{noise.beta:.2f}_{name}"
            written += save_figure(power_heatmap_figure(here, noise), path)
    return written, atlas_verdicts(atlas), interrupted


def measure_atlas(
    settings: Sequence[Setting],
    runs: int,
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> tuple[dict[str, Any], bool]:
    """Return the atlas as columns, a row for every setting and method."""
    tasks = [
        AtlasTask(setting, some) for setting in settings for some in in_tasks(runs, RUNS_A_TASK)
    ]
    done = carry_out(
        run_task, tasks, workers=workers, progress=progress, size=lambda task: len(task.runs)
    )
    parts: dict[Setting, list[FloatArray]] = {}
    for task, outcomes in zip(tasks, done.results, strict=True):
        if outcomes is not None:
            parts.setdefault(task.setting, []).append(outcomes)
    rows = [row for setting, found in parts.items() for row in _rows(setting, found)]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}, done.interrupted


def _rows(setting: Setting, parts: Sequence[FloatArray]) -> list[dict[str, Any]]:
    """Return a row for each method in one setting."""
    common = {
        "world": setting.world.name,
        "n_rows": setting.n_rows,
        "n_anchors": setting.n_anchors,
        "tolerance": setting.tolerance,
        "alpha": setting.noise.alpha,
        "beta": setting.noise.beta,
        "n_features": len(setting.draw(0).features[0]),
    }
    rows = []
    every = zip([*CURVE_METHODS, *BASELINES], *np.concatenate(parts, axis=2), strict=True)
    for method, leans, rejected in every:
        # What could not be done is neither a rejection nor a run.
        done = ~np.isnan(rejected)
        runs, rejections = int(done.sum()), int((rejected == 1).sum())
        low, high = wilson_interval(rejections, runs) if runs else (np.nan, np.nan)
        estimates = leans[done] if method in BASELINES else np.array([])
        # Rejections that name the class flipped less; none where neither is.
        wrong_way = (rejected == 1) & (leans * setting.noise.asymmetry < 0)
        rows.append(
            {
                "method": method,
                **common,
                "runs": runs,
                "rejections": rejections,
                "failures": len(rejected) - runs,
                "wrong_way": int(wrong_way.sum()),
                "rate": rejections / runs if runs else np.nan,
                "low": low,
                "high": high,
                "mean_estimate": float(estimates.mean()) if len(estimates) else np.nan,
                "sd_estimate": float(estimates.std()) if len(estimates) else np.nan,
            }
        )
    return rows


def atlas_verdicts(atlas: dict[str, Any]) -> list[str]:
    """Return, for each method, where it must not be used."""
    uniform = under_uniform_noise(atlas)
    broken = levels_not_held(uniform)
    verdicts = []
    for method in in_order(uniform["method"]):
        own = kept(uniform, (uniform["method"] == method) & (uniform["runs"] > 0))
        impossible = int(((uniform["method"] == method) & (uniform["runs"] == 0)).sum())
        also = f" In {impossible} settings it could not be done at all." if impossible else ""
        settings = f"{len(own['world'])} settings under uniform noise"
        worlds = [w for w in in_order(own["world"]) if any(k[:2] == (method, w) for k in broken)]
        called = "rejects" if method in CURVE_METHODS else f"is off by more than {NOTICED:g}"
        if not worlds:
            verdicts.append(
                f"{method}: surely above {HELD:.0%} in none of {settings} ({called} in at most "
                f"{own['rate'].max():.0%} of runs).{also}"
            )
            continue
        there = kept(own, np.isin(own["world"], worlds))
        verdicts.append(
            f"{method}: do not use it on data like {join_quoted(worlds)} ({called} in up to "
            f"{there['rate'].max():.0%} of runs where both classes are flipped alike; surely above "
            f"{HELD:.0%} there).{also}"
        )
    return verdicts
