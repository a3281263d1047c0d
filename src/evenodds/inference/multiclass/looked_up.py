r"""Flip rates of K classes from rows looked up within cells, without a model of the noise.

A cell is a stratum and a given label. With :math:`W_c` the share of all rows in cell c and
:math:`q_{ci}` the share of them that are truly i, flip rates are ratios of sums over cells,

    pi_i = sum of W_c q_ci over all cells,
    T_ij = sum of W_c q_ci over cells labelled j, over pi_i.

That ``T_ij = r`` is linear in the shares, ``sum of W_c (1[labelled j] - r) q_ci = 0``, and that
two rates differ by Delta_0 is two such equations along the one rate left free. Shares are fitted
under the hypothesis, and what is left over is read off its own distribution, a weighted sum of
multinomial counts, as in the stratified audit (theory page, "Classes looked up within strata").
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from evenodds.inference.audit.stratified import (
    ADDED_ROWS,
    EXCLUDED_Z,
    LikeliestShares,
    deviate,
    deviate_of,
)
from evenodds.validation import FloatArray

# Newton's steps of multipliers and of sums within cells, and how exact they are.
MOST_STEPS, PRECISE = 100, 1e-11
# Log-likelihood to be gained by a step of Newton's that is the last.
NEAR = 1e-8
# Rows of a third class where there is none: any two rates are then possible.
LEAST_COUNT = 1e-6
# Rates are kept this far from 0 and 1 where they divide.
EDGE = 1e-9


@dataclass(frozen=True)
class ClassCells:
    """Rows of every stratum and given label, and the true classes of those looked up.

    Attributes
    ----------
    n_rows : array of shape (n_cells,)
        Rows of the data.
    given : array of int
        Number of the label that they carry.
    found : array of shape (n_cells, n_classes)
        Rows looked up, by true class; at least one in each cell.
    """

    n_rows: FloatArray
    given: NDArray[np.intp]
    found: FloatArray

    @property
    def audited(self) -> FloatArray:
        """Rows looked up in each cell."""
        return np.asarray(self.found.sum(axis=1))

    @property
    def weights(self) -> FloatArray:
        """The share of all rows in each cell."""
        return np.asarray(self.n_rows / self.n_rows.sum())

    def carries(self, label: int) -> FloatArray:
        """Return 1 for cells with this label and 0 for others."""
        return np.asarray(self.given == label, dtype=np.float64)

    @cached_property
    def matrix(self) -> FloatArray:
        """Estimated share of all rows by true class (down) and given label (across)."""
        each = self.weights[:, None] * self.found / self.audited[:, None]
        labelled = np.eye(self.found.shape[1])[self.given]
        return np.asarray(each.T @ labelled)

    @property
    def flip_rates(self) -> FloatArray:
        """Estimated share of each true class given each label."""
        return np.asarray(self.matrix / self.matrix.sum(axis=1, keepdims=True))

    @cached_property
    def filled(self) -> FloatArray:
        """Counts with half a row added to each cell, of classes as all rows with that label."""
        n_classes = self.found.shape[1]
        shares = np.zeros_like(self.found)
        for label in np.unique(self.given):
            here = self.given == label
            seen = self.n_rows[here] @ (self.found[here] / self.audited[here, None])
            rows = self.audited[here].sum()
            usual = (seen / self.n_rows[here].sum() * rows + 1 / n_classes) / (rows + 1)
            shares[here] = usual
        return np.asarray(self.found + ADDED_ROWS * shares)

    def rate_z(self, rate: float, true: int, given: int) -> float:
        """Return z of a hypothesised share of one true class that is given one label."""
        hits, rows = self.filled[:, true], self.filled.sum(axis=1)
        parts = self.weights * (self.carries(given) - rate)
        fit = LikeliestShares.of(hits, rows, parts)
        shares = fit.shares(fit.pull_for(np.zeros(1), MOST_STEPS))[0]
        # The rows are one outcome of what makes them; the draw has its own part of that.
        chance = rate * (1 - rate) * float(self.weights @ shares) / float(self.n_rows.sum())
        chance -= float((parts**2 * shares * (1 - shares) / self.n_rows).sum())
        return deviate(self.found[:, true], self.audited, shares, parts, max(chance, 0.0))

    def pair_z(self, difference: float, first: int, second: int) -> float:
        """Return z of a hypothesised ``T_second,first - T_first,second``."""
        if abs(difference) >= 1 - 2 * EDGE:
            return -float(np.sign(difference)) * EXCLUDED_Z
        fit, audited = self.pair_fit(first, second), self.audited
        fitted, rates = fit.under(difference)
        shares = fitted[:, :2]
        sizes = self.weights @ shares
        # By how much the difference rises with the share of either class in a cell.
        parts = np.column_stack(fit.parts(*rates)) * np.array([-1, 1]) / sizes
        within = (parts**2 * shares).sum(axis=1) - (parts * shares).sum(axis=1) ** 2
        flips = sum(rate * (1 - rate) / size for rate, size in zip(rates, sizes, strict=True))
        chance = flips / float(self.n_rows.sum()) - float((within / self.n_rows).sum())
        score = float((parts * (self.found[:, [first, second]] / audited[:, None] - shares)).sum())
        counts = audited, shares, parts / audited[:, None]
        return deviate_of(score, counts, float((within / audited).sum()), max(chance, 0.0))

    def least_pvalue(self, first: int, second: int) -> float:
        """Return about the smallest p-value that a pair could have, by its exchanged rows.

        Under equal flip rates each of them went the one way or the other with chances that the
        rows looked up decide; the rarest outcome is that all went the less likely way.
        """
        fitted, _ = self.pair_fit(first, second).under(0.0)
        there, back = self.carries(second), self.carries(first)
        exchanged = float(there @ self.found[:, first] + back @ self.found[:, second])
        ways = there @ (self.audited * fitted[:, 0]), back @ (self.audited * fitted[:, 1])
        rarer = float(min(ways) / max(sum(ways), EDGE))
        return float(min(1.0, 2 * rarer**exchanged))

    def pair_fit(self, first: int, second: int) -> "LikeliestPair":
        """Return what fits the shares of two classes."""
        pair = self.filled[:, [first, second]]
        others = np.maximum(self.filled.sum(axis=1) - pair.sum(axis=1), LEAST_COUNT)
        labels = self.carries(second), self.carries(first)
        return LikeliestPair(np.column_stack([pair, others]), self.weights, *labels)


@dataclass(frozen=True, slots=True)
class LikeliestPair:
    """Trinomial counts: which shares are likeliest if two flip rates differ by so much.

    Attributes
    ----------
    counts : array of shape (n_cells, 3)
        Rows of the first class, of the second, and of all others.
    weights : array
        Share of all rows in each cell.
    to_second, to_first : array
        1 for cells that carry the label of the other class, else 0.
    """

    counts: FloatArray
    weights: FloatArray
    to_second: FloatArray
    to_first: FloatArray

    def parts(self, first: float, second: float) -> tuple[FloatArray, FloatArray]:
        """Return factors of the shares of either class, whose sums are 0 at these flip rates."""
        return self.weights * (self.to_second - first), self.weights * (self.to_first - second)

    def rates_of(self, shares: FloatArray) -> tuple[float, float]:
        """Return both flip rates from shares."""
        each = self.weights[:, None] * shares[:, :2]
        to_other = self.to_second @ each[:, 0], self.to_first @ each[:, 1]
        sizes = each.sum(axis=0)
        return float(to_other[0] / sizes[0]), float(to_other[1] / sizes[1])

    def under(self, difference: float) -> tuple[FloatArray, tuple[float, float]]:
        """Return the likeliest shares and flip rates under ``second - first = difference``.

        Along the second rate, the log-likelihood rises by the multipliers times the sizes of the
        classes: it is likeliest where that is 0.
        """
        low, high = max(0.0, difference), min(1.0, 1.0 + difference)
        pulls = np.zeros(2)

        def slope(second: float) -> float:
            nonlocal pulls
            pulls, shares = self.at(second - difference, second, pulls)
            rise = float(pulls @ (self.weights @ shares[:, :2]))
            return rise * (second - low) * (high - second)  # which is finite at the ends

        # About between both rates as seen; else anywhere.
        seen = self.rates_of(self.counts / self.counts.sum(axis=1, keepdims=True))
        first, last = sorted((seen[1], seen[0] + difference))
        margin = (last - first) / 8
        first, last = max(first - margin, low + EDGE), min(last + margin, high - EDGE)
        if not (first < last and slope(first) > 0 > slope(last)):
            first, last = low + EDGE, high - EDGE
        second = float(brentq(slope, first, last, xtol=1e-9, rtol=1e-9))
        _, shares = self.at(second - difference, second, pulls)
        return shares, (second - difference, second)

    def at(self, first: float, second: float, start: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return multipliers and likeliest shares at two flip rates, by Newton's method.

        Shares are ``counts / (total + pull * part)``; the pulls minimise a convex function, whose
        gradient is the sums that should be 0.
        """
        parts = np.column_stack([*self.parts(first, second), np.zeros(len(self.weights))])
        pulls = min(start, np.zeros(2), key=lambda one: self._shares(one, parts)[1])
        shares, height = self._shares(pulls, parts)
        for _ in range(MOST_STEPS):
            sums = (parts * shares).sum(axis=0)[:2]
            curvature = self._curvature(shares, parts)
            step = np.linalg.solve(curvature, sums)
            gain = float(sums @ step)
            size, (ahead, lower) = 1.0, self._shares(pulls + step, parts)
            # Near the end rounding hides what is gained, and whole steps are right.
            while gain > NEAR and lower > height - size * gain / 4:
                size /= 2
                ahead, lower = self._shares(pulls + size * step, parts)
            pulls, shares, height = pulls + size * step, ahead, lower
            if gain < NEAR:
                break
        return pulls, shares

    def _shares(self, pulls: FloatArray, parts: FloatArray) -> tuple[FloatArray, float]:
        """Return shares at these pulls, and the function that the right pulls minimise."""
        pull = parts * np.append(pulls, 0.0)
        above = pull - pull.min(axis=1, keepdims=True)  # sums of which do not cancel
        # From below, where the sum of shares is above 1, Newton's steps cannot overshoot.
        total = (self.counts - above).max(axis=1)
        for _ in range(MOST_STEPS):
            shares = self.counts / (total[:, None] + above)
            excess = shares.sum(axis=1) - 1
            if excess.max() < PRECISE:
                break
            total = total + excess / (shares**2 / self.counts).sum(axis=1)
        return shares, float((self.counts * np.log(shares) - pull * shares).sum())

    def _curvature(self, shares: FloatArray, parts: FloatArray) -> FloatArray:
        """Return the second derivatives of that function."""
        slope = shares**2 / self.counts
        moved = (slope * parts)[:, :2]
        own = np.diag((slope * parts**2).sum(axis=0)[:2])
        return np.asarray(own - moved.T @ (moved / slope.sum(axis=1)[:, None]))
