r"""Audits drawn within strata of a score: z(Delta_0) without a model of the noise.

A cell is a stratum and a given label. With :math:`W_c` the share of all rows in cell c and
:math:`e_c` the share of them that are wrong, the flipped rows are sums over cells,

    A = P(y = 1, y~ = 0) = sum of W_c e_c over cells labelled negative,
    B = P(y = 0, y~ = 1) = sum of W_c e_c over cells labelled positive.

The share P of positive labels is counted, so ``pi = A + P - B``, ``alpha = A / pi`` and
``beta = B / (1 - pi)``. z is the score ``u' ((A, B) seen - (A, B) fitted)`` with gradient u and
shares of a fit under the hypothesis, read off its own distribution there, a weighted sum of
binomial counts: a few wrong rows of unequal weight are far from normal (theory page, "The
stratified audit").
"""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from evenodds.inference.audit.counts import Quantity
from evenodds.inference.audit.score import (
    FARTHEST_SHARE,
    at_likeliest_share,
    line_of_rates,
    rates_between,
    share_off_by,
)
from evenodds.inference.profile import EXACT_MARGINS, Profile
from evenodds.validation import FloatArray

# Rows added to each cell where a fit is made, as often wrong as all with that label: a share
# fitted to the few rows of one cell would vary less than it should.
ADDED_ROWS = 0.5
# Flip rates tried for a fit, then between the neighbours of the best.
FIRST_RATES, NEXT_RATES, ZOOMS = 33, 9, 3
# Sizes of a pull tabulated to either side, and steps from there.
PULLS, ROUGHLY, MOST_STEPS = 120, 3, 60
PRECISE = 1e-11
# Shares are kept this far from 0 and 1 where they divide.
NEARLY_ZERO = 1e-9
# The distribution of the score is a sum of so many waves, over so many standard deviations.
WAVES, REACH = 1024, 8.0
# The last wave is damped by a blur, far below any step of the score; ties are within some of it.
DAMPED, TIE = 5.0, 3.0
# The table: its first stride is at least this, grows by this, and ends where z is so large;
# ends of usual intervals are pinned down in so many rounds.
LEAST_STRIDE, LONGER, FAR, PINS = 0.004, 1.5, 5.0, 2
PINNED_LEVELS = (0.9, 0.95, 0.99)
# How near the limits of the asymmetry come to those that labels leave possible.
INSIDE = 1 - 1e-9
# Tails smaller than this are lost in rounding: z goes no further than 6.
SMALLEST_TAIL = 1e-9
EXCLUDED_Z = float(-ndtri(SMALLEST_TAIL))


@dataclass(frozen=True, slots=True)
class Cells:
    """Rows of every stratum and given label, and what was found of those audited.

    Attributes
    ----------
    n_rows, audited, wrong : array
        Rows of the data, how many of them were audited, and how many of these are wrong.
    positive : array of bool
        Which cells are labelled positive.
    """

    n_rows: FloatArray
    audited: FloatArray
    wrong: FloatArray
    positive: NDArray[np.bool_]

    @property
    def weights(self) -> FloatArray:
        """The share of all rows in each cell."""
        return np.asarray(self.n_rows / self.n_rows.sum())

    @property
    def positive_share(self) -> float:
        """Share of all rows that are labelled positive."""
        return float(self.weights[self.positive].sum())

    def at_share(self, share: float) -> "Cells":
        """Return the same audit of as many rows with another share of positive labels."""
        known = self.positive_share
        if share == known:
            return self
        scale = np.where(self.positive, share / known, (1 - share) / (1 - known))
        return replace(self, n_rows=self.n_rows * scale)

    def sums(self, wrong: FloatArray) -> "Shares":
        """Return the flipped rows of all, from the share wrong in each cell."""
        each = self.weights * wrong
        flipped = float(each[~self.positive].sum()), float(each[self.positive].sum())
        return Shares(*flipped, self.positive_share)

    @property
    def seen(self) -> "Shares":
        """The flipped rows as estimated."""
        return self.sums(self.wrong / self.audited)

    def counts_with_added(self) -> tuple[FloatArray, FloatArray]:
        """Return wrong and audited rows with some added, as often wrong as all with that label."""
        found = np.empty((2, len(self.wrong)))
        for label in (False, True):
            chosen = self.positive == label
            counts = self.wrong[chosen], self.audited[chosen], self.n_rows[chosen]
            added = with_added(*(part[:, None] for part in counts))
            found[:, chosen] = np.concatenate(added, axis=1).T
        return found[0], found[1]

    def variance(self, quantity: Quantity = "asymmetry") -> float:
        """Return the variance of an estimate over draws from these very rows."""
        share = self.wrong / self.audited
        left_out = 1 - self.audited / self.n_rows
        each = share * (1 - share) / np.maximum(self.audited - 1, 1.0) * left_out
        return float((self.part(self.seen, quantity) ** 2 * each).sum())

    def part(self, shares: "Shares", quantity: Quantity) -> FloatArray:
        """Return by how much a quantity rises with the share wrong in each cell."""
        gradient = shares.gradient(quantity)
        return self.weights * gradient[self.positive.astype(np.intp)]


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of all rows: flipped positives, flipped negatives, and positive labels."""

    flipped_positive: float  # A
    flipped_negative: float  # B
    positive_share: float  # P

    @property
    def prior(self) -> float:
        """The share of rows that are truly positive."""
        found = self.flipped_positive + self.positive_share - self.flipped_negative
        return min(max(found, NEARLY_ZERO), 1 - NEARLY_ZERO)

    @property
    def alpha(self) -> float:
        """Share of the true positives that are labelled negative."""
        return min(self.flipped_positive / self.prior, 1.0)

    @property
    def beta(self) -> float:
        """Share of the true negatives that are labelled positive."""
        return min(self.flipped_negative / (1 - self.prior), 1.0)

    @property
    def asymmetry(self) -> float:
        """How much more often negatives are flipped."""
        return self.beta - self.alpha

    def gradient(self, quantity: Quantity) -> FloatArray:
        """Return the derivatives of a flip rate, or of their difference, in A and B."""
        alpha = np.array([1 - self.alpha, self.alpha]) / self.prior
        beta = np.array([self.beta, 1 - self.beta]) / (1 - self.prior)
        return {"alpha": alpha, "beta": beta, "asymmetry": beta - alpha}[quantity]

    def variance_of_flips(self, quantity: Quantity) -> float:
        """Return the variance of a rate among all rows, times their number: flips are chance."""
        alpha = self.alpha * (1 - self.alpha) / self.prior
        beta = self.beta * (1 - self.beta) / (1 - self.prior)
        return {"alpha": alpha, "beta": beta, "asymmetry": alpha + beta}[quantity]


@dataclass(frozen=True, slots=True)
class StratifiedAudit:
    """z(Delta_0) of an audit drawn within strata."""

    cells: Cells

    @property
    def seen(self) -> Shares:
        """What has the flip rates as estimated."""
        return self.cells.seen

    @property
    def counted(self) -> tuple[float, float]:
        """The share of positive labels, and the rows that it is of."""
        return self.cells.positive_share, float(self.cells.n_rows.sum())

    @property
    def limits(self) -> tuple[float, float]:
        """The asymmetries that any share of positive labels leaves possible, counted or near it."""
        low, high = (share_off_by(*self.counted, side * FARTHEST_SHARE) for side in (-1, 1))
        return (low - 1) * INSIDE, high * INSIDE

    def z(self, value: float, quantity: Quantity = "asymmetry") -> float:
        """Return z for a hypothesised difference of the flip rates, or for one of them."""
        seen = self.seen
        return at_likeliest_share(
            lambda share: StratifiedAudit(self.cells.at_share(share))._z(value, quantity),
            value,
            quantity,
            self.counted,
            otherwise=float(np.copysign(EXCLUDED_Z, getattr(seen, quantity) - value)),
            above_chance=seen.alpha + seen.beta >= 1,
        )

    def _z(self, value: float, quantity: Quantity) -> float:
        """Return z at the share of positive labels that the cells have."""
        wrong, cells = self.fit(value, quantity), self.cells
        shares = cells.sums(wrong)
        part = cells.part(shares, quantity)
        # Of the chance of the flips themselves, what is not in the draw already.
        flips = shares.variance_of_flips(quantity) / float(cells.n_rows.sum())
        flips -= float((part**2 * wrong * (1 - wrong) / cells.n_rows).sum())
        return deviate(cells.wrong, cells.audited, wrong, part, max(flips, 0.0))

    def profile(self) -> Profile:
        """Return the table of z: at usual margins, around the estimate, where intervals end."""
        low, high = self.limits
        estimate = min(max(self.seen.asymmetry, low), high)
        wanted = {0.0, *EXACT_MARGINS, *(-margin for margin in EXACT_MARGINS)}
        knots = {place: self.z(place) for place in wanted}
        knots[estimate] = 0.0
        for side, limit in ((-1, low), (1, high)):
            stride = max(float(np.sqrt(self.cells.variance())) / 2, LEAST_STRIDE)
            place, found = estimate, 0.0
            while place != limit and abs(found) < FAR:
                place = estimate + side * min(abs(place - estimate) + stride, abs(limit - estimate))
                place = limit if abs(place - limit) < LEAST_STRIDE else place
                found = knots[place] = self.z(place)
                stride *= LONGER if abs(found) > 1 else 1.0
        for _ in range(PINS):
            ordered = tuple(sorted(knots))
            table = Profile(ordered, tuple(knots[one] for one in ordered), estimate, (low, high))
            for level, side in product(PINNED_LEVELS, (-1, 1)):
                end = table.crossing(side * float(ndtri((1 - level) / 2)), side)
                if end is not None and end not in knots:
                    knots[end] = self.z(end)
        ordered = tuple(sorted(knots))
        return Profile(ordered, tuple(knots[one] for one in ordered), estimate, (low, high))

    def fit(self, value: float, quantity: Quantity = "asymmetry") -> FloatArray:
        """Return the likeliest share wrong in each cell under a hypothesis.

        Along the flip rates that the hypothesis and the share of positive labels allow; each of
        them fixes the flipped rows of either label, and so the shares of its cells.
        """
        share = self.cells.positive_share
        labels = [LikeliestShares.of_label(self.cells, which) for which in (False, True)]
        best, likeliest = -np.inf, [0.0, 0.0]
        rates = rates_between(*self._line(value, quantity, share), FIRST_RATES)
        for _ in range(ZOOMS):
            totals = _flipped(*line_of_rates(rates, value, quantity), share)
            heights = np.add(
                *(
                    one.log_likelihood(one.pull_for(total, ROUGHLY))
                    for one, total in zip(labels, totals, strict=True)
                )
            )
            place = int(np.argmax(heights))
            if heights[place] > best:
                best, likeliest = float(heights[place]), [total[place] for total in totals]
            ends = rates[max(place - 1, 0)], rates[min(place + 1, len(rates) - 1)]
            rates = np.linspace(*ends, NEXT_RATES)
        wrong = np.empty(len(self.cells.wrong))
        for one, total, which in zip(labels, likeliest, (False, True), strict=True):
            pull = one.pull_for(np.array([total]), MOST_STEPS)
            wrong[self.cells.positive == which] = one.shares(pull)[0]
        return wrong

    def _line(self, value: float, quantity: Quantity, share: float) -> tuple[float, float]:
        """Return the range of the rate left free, on the side of chance where labels are."""
        if quantity == "alpha":  # beta is free
            return (0.0, share) if value < 1 - share else (share, 1.0)
        if quantity == "beta":
            return (0.0, 1 - share) if value < share else (1 - share, 1.0)
        if self.seen.alpha + self.seen.beta < 1:
            return max(0.0, -value), min(share - value, 1 - share)
        return max(share - value, 1 - share), min(1.0, 1.0 - value)


def deviate(
    hits: FloatArray, rows: FloatArray, chances: FloatArray, parts: FloatArray, normal: float
) -> float:
    """Return the normal deviate of a weighted sum of shares, read off its own distribution.

    Shares of so many rows with such chances, and a normal part of variance `normal`.
    """
    score = float(parts @ (hits / rows - chances))
    variance = float((parts**2 * chances * (1 - chances) / rows).sum())
    return deviate_of(score, (rows, chances, parts / rows), variance, normal)


def deviate_of(
    score: float, counts: tuple[FloatArray, FloatArray, FloatArray], variance: float, normal: float
) -> float:
    """Return the normal deviate of a sum of counts; see `tails`."""
    deviation = max(float(np.sqrt(variance + normal)), 1e-15)
    high, low = tails(score, counts, normal, deviation)
    size = float(max(-ndtri(max(min(high, low), SMALLEST_TAIL)), 0.0))
    return size if high <= low else -size


def with_added(
    wrong: FloatArray, audited: FloatArray, n_rows: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return wrong and audited rows with some added, as often wrong as all; a column a label."""
    rows = audited.sum(axis=0)
    share = (n_rows * wrong / np.maximum(audited, 1)).sum(axis=0) / n_rows.sum(axis=0)
    usual = (share * rows + 0.5) / (rows + 1)
    return wrong + ADDED_ROWS * usual, audited + ADDED_ROWS


def _flipped(alphas: FloatArray, betas: FloatArray, share: float) -> tuple[FloatArray, FloatArray]:
    """Return the flipped rows, A and B, that flip rates make with a share of positive labels."""
    stretch = 1 - alphas - betas
    coin = np.abs(stretch) < NEARLY_ZERO
    prior = np.where(coin, 0.5, (share - betas) / np.where(coin, 1.0, stretch))
    prior = np.clip(prior, 0.0, 1.0)
    return prior * alphas, (1 - prior) * betas


@dataclass(frozen=True, slots=True)
class LikeliestShares:
    """Binomial counts: which shares are likeliest, if a weighted sum of them is known."""

    wrong: FloatArray
    rows: FloatArray
    weights: FloatArray
    pulls: FloatArray  # tried, falling
    totals: FloatArray  # weighted sums at these, rising

    @classmethod
    def of_label(cls, cells: Cells, positive: bool) -> "LikeliestShares":
        """Tabulate the flipped rows of one given label."""
        chosen = cells.positive == positive
        wrong, rows = cells.counts_with_added()
        return cls.of(wrong[chosen], rows[chosen], cells.weights[chosen])

    @classmethod
    def of(cls, wrong: FloatArray, rows: FloatArray, weights: FloatArray) -> "LikeliestShares":
        """Tabulate the weighted sums for pulls of every size; weights may have either sign."""
        sizes = np.geomspace(1e-3, 1e12, PULLS) * rows.sum() / np.abs(weights).sum()
        pulls = np.concatenate([sizes[::-1], [0.0], -sizes])
        totals = cls(wrong, rows, weights, pulls, pulls).shares(pulls) @ weights
        return cls(wrong, rows, weights, pulls, totals)

    def shares(self, pulls: FloatArray) -> FloatArray:
        """Return the likeliest share wrong of each cell: ``k/e - (n - k)/(1 - e) = pull W``."""
        pull = np.multiply.outer(pulls, self.weights)
        middle = pull + self.rows
        root = np.sqrt(np.maximum(middle**2 - 4 * pull * self.wrong, 0.0))
        # Of the two forms of the root, the one that does not subtract.
        by_sum = 2 * self.wrong / np.where(middle > 0, middle + root, 1.0)
        by_difference = (middle - root) / np.where(middle > 0, 1.0, 2 * pull)
        return np.asarray(np.where(middle > 0, by_sum, by_difference))

    def pull_for(self, totals: FloatArray, steps: int) -> FloatArray:
        """Return the pulls that make up the sums wanted, by Newton steps from a table."""
        wanted = np.clip(totals, self.totals[0], self.totals[-1])
        place = np.clip(np.searchsorted(self.totals, wanted), 1, len(self.totals) - 1)
        high, low = self.pulls[place - 1], self.pulls[place]
        gap = np.maximum(self.totals[place] - self.totals[place - 1], 1e-300)
        share = (wanted - self.totals[place - 1]) / gap
        pull = high + share * (low - high)
        for _ in range(steps):
            shares = np.clip(self.shares(pull), 1e-150, 1 - 1e-16)
            off = shares @ self.weights - wanted
            high, low = np.where(off > 0, high, pull), np.where(off > 0, pull, low)
            inner = self.wrong / shares**2 + (self.rows - self.wrong) / (1 - shares) ** 2
            ahead = pull + off / (self.weights**2 / inner).sum(axis=-1)
            ahead = np.where((ahead > low) & (ahead < high), ahead, (low + high) / 2)
            if (np.abs(off) <= PRECISE * (1e-3 + np.abs(wanted))).all():
                break
            pull = ahead
        return np.asarray(pull)

    def log_likelihood(self, pulls: FloatArray) -> FloatArray:
        """Return the log-likelihood of the shares at these pulls."""
        shares = np.clip(self.shares(pulls), 1e-300, 1 - 1e-16)
        right = self.rows - self.wrong
        return np.asarray((self.wrong * np.log(shares) + right * np.log1p(-shares)).sum(axis=-1))


def tails(
    score: float, counts: tuple[FloatArray, FloatArray, FloatArray], normal: float, deviation: float
) -> tuple[float, float]:
    """Return the chances of a weighted sum of binomial counts at least as high, and as low.

    `counts` are rows, chances and steps, of multinomial counts with a column an outcome; the sum
    is taken about its mean, with a normal part of variance `normal`. A Fourier series of a step
    function, on a circle wide enough for all of it.
    """
    rows, chances, steps = counts
    chances, steps = (part.reshape(len(rows), -1) for part in (chances, steps))
    half = max(REACH * deviation, abs(score) + 8 * deviation)
    order = np.arange(1, WAVES + 1)
    waves = np.pi / half * order
    blur = DAMPED / waves[-1]
    turns = np.exp(1j * np.multiply.outer(steps, waves))
    logs = rows @ np.log(1 + (chances[:, :, None] * (turns - 1)).sum(axis=1))
    mean = float(rows @ (chances * steps).sum(axis=1))
    logs -= 1j * waves * mean + waves**2 * (blur**2 + normal) / 2
    series, signs = np.exp(logs) / (-1j * waves), np.where(order % 2, -1.0, 1.0)

    def below(place: float) -> float:
        inside = min(max(place, -half), half)
        terms = series * (np.exp(-1j * waves * inside) - signs)
        share = (inside + half + 2 * float(terms.real.sum())) / (2 * half)
        return min(max(share, 0.0), 1.0)

    hair = TIE * blur
    return 1 - below(score - hair), below(score + hair)
