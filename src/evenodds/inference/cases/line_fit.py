r"""The line's likelihood, and its statistic z(Delta_0) (theory page, "The line").

In every stratum `s` of a score that did not see the row's own label, class-conditional noise
gives ``lambda_s = beta + gamma c_s`` with ``gamma = 1 - alpha - beta``: the share of positive
*given* labels is a straight line in the share that is *truly* positive. Labels are binomial
around the line; statements of an expert are quasi-binomial around ``c_s``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtr, xlogy

from evenodds.inference.cases.record import Ints
from evenodds.inference.cases.strata import NOTHING, WIDEST, Strata
from evenodds.inference.profile import EXACT_LEVELS, EXACT_MARGINS, Profile
from evenodds.validation import FloatArray

# The slope of the line can be anything up to 1 - |Delta|; below this, labels tell nothing.
LEAST_SLOPE = 1e-3
# Slopes tried before the search (roughly), and steps of a search.
SLOPES, MOST_STEPS = 9, 40
ROUGH, PRECISE = 1e-3, 1e-9
# A score is zero below this part of what it is beside the best of a grid.
STEEP = 1e-3
# Shares start at least this part of the way from a bound to what was stated.
INSIDE = 1e-3
# Asymmetries tried before the search for the best.
ASYMMETRIES = 17


@dataclass(frozen=True, slots=True)
class LineFit:
    """The best lines for some hypothesised asymmetries, one a row."""

    log_likelihood: FloatArray
    slope: FloatArray
    shares: FloatArray  # truly positive, (asymmetries, strata)
    score: FloatArray  # how fast the log-likelihood rises with the asymmetry

    def at(self, places: Ints) -> "LineFit":
        """Return one of the lines of each row."""
        height, slope, score = (
            np.take_along_axis(values, places, axis=-1)
            for values in (self.log_likelihood, self.slope, self.score)
        )
        shares = np.take_along_axis(self.shares, places[..., None], axis=-2)
        return LineFit(height, slope, shares, score)

    def replaced(self, where: NDArray[np.bool_], others: "LineFit") -> "LineFit":
        """Return the lines, some of them replaced."""
        height, slope, score = (
            np.where(where, getattr(others, name), getattr(self, name))
            for name in ("log_likelihood", "slope", "score")
        )
        return LineFit(height, slope, np.where(where[..., None], others.shares, self.shares), score)


def fit_lines(strata: Strata, asymmetries: FloatArray, near: LineFit | None = None) -> LineFit:
    """Return the most likely line for each hypothesised asymmetry.

    From the best of a few slopes, or from lines that lie near, Newton steps on the slope, with
    the shares truly positive at their best for every slope.
    """
    delta = np.broadcast_to(asymmetries, strata.n.shape[:-1] + np.shape(asymmetries)[-1:])
    most = 1 - np.abs(delta)
    if near is None:
        slope, shares, low, high = _best_of_some(strata, delta)
    else:
        slope, shares = np.clip(near.slope, LEAST_SLOPE, most), near.shares
        low, high = np.full(delta.shape, LEAST_SLOPE), most
    at_last = np.zeros(delta.shape, dtype=bool)
    for _ in range(MOST_STEPS):
        lines = Lines.at(strata, slope, delta, start=shares)
        low = np.where(lines.rise > 0, slope, low)
        high = np.where(lines.rise > 0, high, slope)
        ahead = slope + lines.rise / np.maximum(lines.bend, NOTHING)
        # The last slope allowed is tried once, if the rise points there.
        at_last |= slope == most
        beyond = np.where((ahead >= most) & ~at_last, most, (low + high) / 2)
        ahead = np.where((ahead >= low) & (ahead <= high), ahead, beyond)
        ahead = np.where((slope == most) & (lines.rise >= 0), most, ahead)
        step, slope = ahead - slope, ahead
        shares = lines.followed(step)
        if np.abs(step).max() < PRECISE:
            break
    lines = Lines.at(strata, slope, delta, start=shares)
    # On its bound the slope goes along with the asymmetry.
    along = np.where(slope == most, np.maximum(lines.rise, 0) * np.sign(delta), 0.0)
    return LineFit(lines.log_likelihood, slope, lines.shares, lines.score - along)


def _best_of_some(strata: Strata, delta: FloatArray) -> tuple[FloatArray, ...]:
    """Return the best of a few slopes, its shares, and the slopes to either side."""
    steps = np.linspace(0, 1, SLOPES) ** 2  # close together where lines are flat
    slopes = LEAST_SLOPE + (1 - np.abs(delta) - LEAST_SLOPE)[..., None] * steps
    tried = Lines.at(strata, slopes, delta[..., None], precise=ROUGH)
    best = tried.log_likelihood.argmax(axis=-1)[..., None]
    slope, low, high = (
        np.take_along_axis(slopes, np.clip(best + side, 0, SLOPES - 1), axis=-1)[..., 0]
        for side in (0, -1, 1)
    )
    shares = np.take_along_axis(tried.shares, best[..., None], axis=-2)[..., 0, :]
    return slope, shares, low, high


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of given slopes and asymmetries, with the shares that are most likely for them."""

    log_likelihood: FloatArray
    shares: FloatArray
    rise: FloatArray  # of the log-likelihood, with the slope
    bend: FloatArray
    score: FloatArray
    drift: FloatArray  # of the shares, with the slope

    def followed(self, step: FloatArray) -> FloatArray:
        """Return about where the shares will be once the slope has changed."""
        ahead = self.shares + self.drift * step[..., None]
        return np.clip(ahead, self.shares / 2, (1 + self.shares) / 2)

    @classmethod
    def at(
        cls,
        strata: Strata,
        slopes: FloatArray,
        delta: FloatArray,
        start: FloatArray | None = None,
        precise: float = PRECISE,
    ) -> "Lines":
        """Find the shares: one concave maximum a stratum, by Newton steps within a bracket."""
        strata, slope = strata.beside(slopes), slopes[..., None]
        low_end = (1 - slope + delta[..., None]) / 2
        n, positive, judged, stated = strata.n, strata.positive, strata.judged, strata.stated
        trust = 1 / strata.dispersion
        shape = np.broadcast_shapes(slope.shape, n.shape)
        below, above = np.zeros(shape), np.ones(shape)
        said = np.broadcast_to((stated + 0.5) / (judged + 1), shape)
        # Newton steps away from a bound would only ever double: they start well inside.
        share = said if start is None else np.clip(start, said * INSIDE, 1 - (1 - said) * INSIDE)
        # Where all statements are 0 (or 1) and labels do not object, so is the share.
        least, last = np.clip(low_end, NOTHING, 1), np.clip(low_end + slope, 0, 1 - 1e-16)
        rise_low = slope * (positive / least - (n - positive) / (1 - least)) - trust * judged
        rise_high = slope * (positive / last - (n - positive) / (1 - last)) + trust * judged
        at_zero = (stated == 0) & (rise_low <= 0)
        at_one = (stated == judged) & (rise_high >= 0)
        share = np.where(at_zero, 0.0, np.where(at_one, 1.0, share))
        ended = at_zero | at_one
        for _ in range(MOST_STEPS):
            given = np.clip(low_end + slope * share, NOTHING, 1 - 1e-16)
            yes_share, no_share = np.maximum(share, NOTHING), np.maximum(1 - share, NOTHING)
            ours, others = positive / given, (n - positive) / (1 - given)
            yes, no = trust * stated / yes_share, trust * (judged - stated) / no_share
            labels_bend = ours / given + others / (1 - given)
            rise = slope * (ours - others) + yes - no
            bend = slope**2 * labels_bend + yes / yes_share + no / no_share
            below, above = np.where(rise > 0, share, below), np.where(rise > 0, above, share)
            ahead = share + rise / np.maximum(bend, NOTHING)
            ahead = np.where((ahead >= below) & (ahead <= above), ahead, (below + above) / 2)
            ahead = np.where(ended, share, ahead)
            settled = np.abs(ahead - share).max() < precise
            share = ahead
            if settled:
                break
        given = np.clip(low_end + slope * share, 0.0, 1.0)
        labels = xlogy(positive, given) + xlogy(n - positive, 1 - given)
        statements = trust * (xlogy(stated, share) + xlogy(judged - stated, 1 - share))
        # The shares follow the slope: what they take of its bend is subtracted.
        off_centre, pull = share - 0.5, ours - others
        mixed = np.where(ended, 0.0, pull - slope * off_centre * labels_bend)
        drift = mixed / np.maximum(bend, NOTHING)
        own = (off_centre**2 * labels_bend).sum(axis=-1)
        return cls(
            (labels + statements).sum(axis=-1),
            share,
            (pull * off_centre).sum(axis=-1),
            own - (mixed * drift).sum(axis=-1),
            pull.sum(axis=-1) / 2,
            drift,
        )


def first_order_variance(
    strata: Strata, slope: float | FloatArray, shares: FloatArray, asymmetry: float | FloatArray
) -> FloatArray:
    """Return the variance of the estimated asymmetry (also the formula that plans use)."""
    reach, variances = leverages(strata, slope, shares, asymmetry)
    return np.asarray((reach**2 * variances).sum(axis=-1))


def leverages(
    strata: Strata, slope: float | FloatArray, shares: FloatArray, asymmetry: float | FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return what the height of each stratum adds to the asymmetry, and its variance."""
    gamma = np.asarray(slope, dtype=float)
    strata, gamma = strata.beside(gamma), gamma[..., None]
    given = (1 - gamma + np.asarray(asymmetry, dtype=float)[..., None]) / 2 + gamma * shares
    labels = np.clip(given * (1 - given), 1e-9, None) / np.maximum(strata.n, NOTHING)
    statements = gamma**2 * strata.dispersion * shares * (1 - shares)
    variances = labels + statements / np.maximum(strata.judged, NOTHING)
    weights = 1 / variances
    total = weights.sum(axis=-1, keepdims=True)
    centre = (weights * shares).sum(axis=-1, keepdims=True) / total
    spread = (weights * (shares - centre) ** 2).sum(axis=-1, keepdims=True)
    reach = (0.5 - centre) * (shares - centre) / np.maximum(spread, NOTHING)
    return 2 * weights * (1 / total + reach), variances


@dataclass(frozen=True, slots=True)
class Ends:
    """Two asymmetries with the best between them, and how the log-likelihood rises and falls."""

    low: FloatArray
    high: FloatArray
    rise: FloatArray
    fall: FloatArray

    @classmethod
    def of(cls, tried: FloatArray, fits: LineFit) -> tuple["Ends", LineFit]:
        """Return the neighbours of the best of a grid, and the line at that."""
        tried = np.broadcast_to(tried, fits.score.shape)
        best = np.clip(fits.log_likelihood.argmax(axis=-1), 1, tried.shape[-1] - 2)[..., None]
        low, high, rise, fall = (
            np.take_along_axis(values, best + side, axis=-1)
            for values in (tried, fits.score)
            for side in (-1, 1)
        )
        return cls(low, high, np.maximum(rise, 0), np.minimum(fall, 0)), fits.at(best)


def _best_between(strata: Strata, ends: Ends, near: LineFit | None) -> tuple[FloatArray, LineFit]:
    """Return where the score is zero, and the line there.

    By chords, of which the end that stays is halved (the Illinois rule); each line starts from
    the one before, if there is one near.
    """
    low, high, rise, fall = ends.low, ends.high, ends.rise, ends.fall
    best, moved_low = np.full(low.shape, np.inf), np.zeros(low.shape)
    follow = near is not None
    for _ in range(MOST_STEPS):
        last, best = best, low + rise / np.maximum(rise - fall, NOTHING) * (high - low)
        if np.abs(best - last).max() < PRECISE:
            break
        near = fit_lines(strata, best, near if follow else None)
        score = near.score
        rises, again = score > 0, moved_low == np.where(score > 0, 1, -1)
        kept = np.where(again, 0.5, 1.0)
        rise, fall = np.where(rises, score, rise * kept), np.where(rises, fall * kept, score)
        low, high = np.where(rises, best, low), np.where(rises, high, best)
        moved_low = np.where(rises, 1, -1)
    return best, fit_lines(strata, best, near if follow else None)


@dataclass(frozen=True, slots=True)
class LineStatistic:
    """z(Delta_0) of the line: the signed root of the likelihood's drop, on a normal scale.

    `shared_tolerance` is how far an expert may lean the same way in every answer; `inflation`
    by how much rows of one group widen the variance.
    """

    strata: Strata
    shared_tolerance: float
    best: LineFit
    estimates: FloatArray
    inflation: float = 1.0

    @classmethod
    def of(cls, strata: Strata, shared_tolerance: float = 0.0) -> "LineStatistic":
        """Find the best asymmetry: around the best of a grid, where the score is zero.

        A search that goes from line to line may follow one that is not the most likely. It then
        ends where the score is not zero, or below the grid, and starts anew without such help, on
        a finer grid.
        """
        flat = strata.flat()
        evenly = np.broadcast_to(
            np.linspace(-WIDEST, WIDEST, ASYMMETRIES), (*flat.shape[:-1], ASYMMETRIES)
        )
        tried = np.sort(np.concatenate([evenly, flat], axis=-1), axis=-1)
        fits = fit_lines(strata, tried)
        ends, nearest = Ends.of(tried, fits)
        best, near = _best_between(strata, ends, nearest)
        steep = np.abs(near.score) > STEEP * np.maximum(ends.rise, -ends.fall)
        if (steep | (near.log_likelihood < fits.log_likelihood.max(axis=-1, keepdims=True))).any():
            finer = np.linspace(ends.low[..., 0], ends.high[..., 0], ASYMMETRIES, axis=-1)
            ends, _ = Ends.of(finer, fit_lines(strata, finer))
            best, near = _best_between(strata, ends, None)
        # Where a class is never flipped the top may be a corner at 0, which is on the grid.
        top = fits.log_likelihood.argmax(axis=-1)[..., None]
        of_grid = fits.at(top)
        higher = of_grid.log_likelihood > near.log_likelihood
        best = np.where(higher, np.take_along_axis(tried, top, axis=-1), best)
        return cls(strata, shared_tolerance, near.replaced(higher, of_grid), best[..., 0])

    @property
    def estimate(self) -> float:
        """The best asymmetry."""
        return float(self.estimates)

    @property
    def rates(self) -> tuple[float, float]:
        """The best alpha and beta; on its bound one is 0, and not a rounding error below it."""
        lost = 1 - float(self.best.slope[0])
        return max(0.0, (lost - self.estimate) / 2), max(0.0, (lost + self.estimate) / 2)

    def widened_by(self, rows: "GroupedRows") -> "LineStatistic":
        """Return the statistic with the variance of rows in groups: their sandwich."""
        slope, shares = float(self.best.slope[0]), self.best.shares[0]
        of_groups = rows.variance(self.strata, slope, shares, self.estimate)
        alone = float(first_order_variance(self.strata, slope, shares, self.estimate))
        return replace(self, inflation=max(of_groups / alone, 1.0))

    def __call__(self, asymmetries: FloatArray) -> FloatArray:
        """Return z for some hypothesised asymmetries."""
        fits = fit_lines(self.strata, asymmetries)
        z = self.signed_root(fits, asymmetries)
        on_bound = fits.slope == 1 - np.abs(asymmetries)
        return np.where(on_bound, self.on_bound(z, fits, asymmetries), z)

    def signed_root(self, fits: LineFit, asymmetries: FloatArray) -> FloatArray:
        """Return the root of twice the drop to some lines, on a normal scale inside the bounds."""
        drop = 2 * np.maximum(self.best.log_likelihood - fits.log_likelihood, 0)
        variance = first_order_variance(self.strata, fits.slope, fits.shares, asymmetries)
        lean = (2 * fits.slope) ** 2 * self.shared_tolerance**2 / 3
        widened = self.inflation + lean / variance
        root = np.sign(self.estimates[..., None] - asymmetries) * np.sqrt(drop / widened)
        return normal_of_t(root, self.strata.freedom)

    def on_bound(self, z: FloatArray, fits: LineFit, asymmetries: FloatArray) -> FloatArray:
        """Return z with the tail that it has where the hypothesised line is on its bound.

        There one class is never flipped. In the plane of slope and asymmetry, with their
        information as its metric, the hypothesis is a ray that ends on the edge of what is
        possible; the wider the angle between the two, the further the best line can be from the
        end of the ray by chance (theory page, "The line").
        """
        _, variances = leverages(self.strata, fits.slope, fits.shares, asymmetries)
        off = fits.shares - 0.5
        of_asymmetry = (0.25 / variances).sum(axis=-1)
        of_slope = (off**2 / variances).sum(axis=-1)
        side = np.sign(asymmetries)
        both = side * (off / 2 / variances).sum(axis=-1)
        edge = np.sqrt(np.maximum((of_asymmetry - 2 * both + of_slope) * of_slope, NOTHING))
        angle = np.arccos(np.clip((both - of_slope) / edge, -1, 1))
        angle = np.where(z * side < 0, angle, np.pi - angle)
        more = np.maximum(angle - np.pi / 2, 0) / np.pi * np.exp(-(z**2) / 2)
        tail = np.clip(ndtr(-np.abs(z)) + more, 1e-300, 0.5)
        return np.where((side == 0) | (more == 0), z, -np.sign(z) * ndtri(tail))

    @classmethod
    def of_each(
        cls, several: Sequence["Strata"], shared_tolerance: float = 0.0
    ) -> list["LineStatistic"]:
        """Return what `of` does for each of several strata, fitted at once."""
        together = cls.of(Strata.stacked(several), shared_tolerance)
        ends = np.cumsum([np.atleast_2d(strata.n).shape[0] for strata in several])
        found = []
        for strata, end in zip(several, ends.tolist(), strict=True):
            alone = strata.n.ndim == 1
            place = end - 1 if alone else slice(end - strata.n.shape[0], end)
            best = LineFit(*(getattr(together.best, part.name)[place] for part in fields(LineFit)))
            found.append(cls(strata, shared_tolerance, best, together.estimates[place]))
        return found

    @property
    def at_zero(self) -> float:
        """Value of z at no asymmetry: the test itself."""
        return float(self(np.zeros(1))[0])

    @property
    def smallest_margin(self) -> float:
        """The smallest asymmetry that equivalence could ever rule out, at the 5% level."""
        lean = float(-ndtri(0.05)) * 2 * self.shared_tolerance / math.sqrt(3)
        # A line that is so far from the centre cannot be steeper than one less the margin.
        return lean * min(float(self.best.slope[0]), 1 / (1 + lean))

    def profile(self) -> Profile:
        """Return the table of z, with knots at usual levels and margins."""
        best, at_best = self.best, np.array([self.estimate])
        variance = first_order_variance(self.strata, best.slope, best.shares, at_best)
        deviation = math.sqrt(float(variance[0]) * self.inflation)
        reach = np.concatenate([np.linspace(0, 5, 26)[1:], [7, 10, 20]]) * max(deviation, 1e-6)
        around = np.concatenate([self.estimate - reach, self.estimate + reach])
        margins = np.array([*EXACT_MARGINS, 0.0])
        ends = [self.estimate, -WIDEST, WIDEST]
        knots = np.concatenate([around, margins, -margins, self.strata.flat(), ends])
        table = self._table(np.unique(np.clip(knots, -WIDEST, WIDEST)))
        crossings = [
            table.crossing(side * float(ndtri((1 - level) / 2)), side)
            for level in EXACT_LEVELS
            for side in (-1, 1)
        ]
        exact = self._table(np.unique([place for place in crossings if place is not None]))
        places, z = table.asymmetries + exact.asymmetries, table.z + exact.z
        known = sorted(dict(zip(places, z, strict=True)).items())
        return self._falling(*np.array(known).T)

    def _table(self, asymmetries: FloatArray) -> Profile:
        z = self(asymmetries)
        z[asymmetries == self.estimate] = 0.0
        return self._falling(asymmetries, z)

    def _falling(self, asymmetries: FloatArray, z: FloatArray) -> Profile:
        """Return z as a table that falls: no asymmetry is ruled out if one further off is not.

        Lines of very different slope can fit alike, and z then rises on the way from the one to
        the other; it also steps where the line comes upon its bound.
        """
        below, above = asymmetries < self.estimate, asymmetries > self.estimate
        z[below] = np.minimum.accumulate(z[below])
        z[above] = np.maximum.accumulate(z[above][::-1])[::-1]
        return Profile(tuple(asymmetries.tolist()), tuple(z.tolist()), self.estimate)


def normal_of_t(root: FloatArray, freedom: float | FloatArray) -> FloatArray:
    """Return values of Student's t as the standard normal values of the same tail."""
    if np.isinf(freedom).all():
        return root
    tail = np.clip(stdtr(np.asarray(freedom)[..., None], -np.abs(root)), 1e-300, None)
    return np.asarray(-np.sign(root) * ndtri(tail))


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedRows:
    """Rows and cases with the groups they belong to, and how far statements follow labels."""

    group: Ints
    stratum: Ints
    label: FloatArray
    weight: FloatArray
    case_group: Ints
    case_stratum: Ints
    statement: FloatArray
    pull: FloatArray

    def variance(self, strata: Strata, slope: float, shares: FloatArray, asymmetry: float) -> float:
        """Return the variance of the asymmetry: squares of what each group adds to it."""
        reach, _ = leverages(strata, slope, shares, asymmetry)
        off = self.label - (strata.positive / strata.n)[self.stratum]
        # A label counts in its stratum, and in what statements are regressed on.
        own = reach * (1 - slope * self.pull) / strata.n
        labels = own[self.stratum] * off * self.weight
        off = self.statement - (strata.stated / strata.judged)[self.case_stratum]
        statements = -(reach * slope / strata.judged)[self.case_stratum] * off
        size = int(self.group.max()) + 1
        added = np.bincount(self.group, labels, size)
        added += np.bincount(self.case_group, statements, size)
        return float((added**2).sum())
