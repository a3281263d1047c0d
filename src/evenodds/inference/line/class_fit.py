r"""The likelihood of a flip matrix by stated classes, and z of a pair (theory page, "The line").

In every stratum `s` of probabilities that did not see the row's own label, flips that depend on
the class alone give ``lambda_s = T' c_s``: shares of *given* labels are the flip matrix `T`,
transposed, times the shares that are *truly* of each class. Labels are multinomial around it;
statements of an expert are quasi-multinomial around ``c_s``. With two classes this is the line.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.special import chdtrc, fdtrc, ndtri, xlogy

from evenodds.inference.cases.line_fit import normal_of_t
from evenodds.inference.cases.record import Ints
from evenodds.inference.cases.strata import LEAST_DISPERSION, NOTHING, SHARE_FLOOR
from evenodds.inference.line.ladder import FOLDS
from evenodds.validation import FloatArray

# Steps of a climb, the rise of the log-likelihood that ends it, and how often in a row.
MOST_STEPS, LAST_RISE, QUIET = 5_000, 1e-7, 3
# Of Newton's method for the rate that two classes share, and for the end of an interval.
MOST_TRIES, PRECISE = 60, 1e-10
NEAR_END, FURTHER = 1e-4, 1.2
# Where a climb starts: labels kept, and the cases added to each stratum.
KEPT, ADDED = 0.9, 0.5
# How far from its bounds a search begins, as a part of the scale.
INSIDE = 0.05
# The part of a step that is kept at least, where a longer one would leave the scale.
LEAST_PART = 0.01
# Shares of labels are not below this where their variance is needed.
LEAST_SHARE = 1e-6
# Asymmetries that can be tried.
WIDEST = 0.97


@dataclass(frozen=True)
class ClassStrata:
    """What a flip matrix is fitted to: labels and statements, a row a stratum.

    Attributes
    ----------
    labels : array of shape (n_strata, n_classes)
        Rows that were not judged, by given label.
    judged : array of shape (n_strata,)
        Cases that were judged.
    stated : array of shape (n_strata, n_classes)
        Sums of what was stated of them.
    products : array of shape (n_strata, n_classes, n_classes)
        Sums of squares and products of statements about their mean.
    """

    labels: FloatArray
    judged: FloatArray
    stated: FloatArray
    products: FloatArray

    @property
    def pairs(self) -> Ints:
        """All pairs of classes, one a row."""
        return np.array(list(combinations(range(self.labels.shape[1]), 2)), dtype=np.intp)

    @property
    def freedom(self) -> float:
        """Degrees of freedom behind the dispersion."""
        return float(self.judged.sum() - len(self.judged))

    @property
    def means(self) -> FloatArray:
        """Mean statements, not nearer to 0 and 1 than a few can tell."""
        means = np.clip(self.stated / self.judged[:, None], SHARE_FLOOR, 1 - SHARE_FLOOR)
        return np.asarray(means / means.sum(axis=1, keepdims=True))

    @cached_property
    def dispersion(self) -> FloatArray:
        """Variance of statements as a share of that of a yes or no, a value a stratum.

        Its own, at least that of all, at most 1.
        """
        most = (self.judged - 1) * (self.means * (1 - self.means)).sum(axis=1)
        squares = np.trace(self.products, axis1=1, axis2=2)
        pooled = max(squares.sum() / most.sum(), LEAST_DISPERSION)
        return np.asarray(np.clip(squares / most, pooled, 1.0))

    @cached_property
    def weighed(self) -> FloatArray:
        """Statements as rows of each class that would tell as much."""
        return np.asarray(self.stated / self.dispersion[:, None])

    def alike(self) -> float:
        """Return the p-value of labels whose shares do not span all classes.

        Where it is high, strata differ in fewer directions than are needed to tell the flips of
        every class: the least singular value of the table of strata by labels, as a chi-squared.
        """
        n_strata, n_classes = self.labels.shape
        freedom = n_strata - n_classes + 1
        if freedom < 1:
            return 1.0
        total, rows = self.labels.sum(), self.labels.sum(axis=1)
        usual = self.labels.sum(axis=0) / total
        apart = (self.labels - rows[:, None] * usual) / np.sqrt(
            np.maximum(rows[:, None] * usual, NOTHING)
        )
        least = np.linalg.svd(apart, compute_uv=False)[n_classes - 2]
        return float(chdtrc(freedom, least**2))

    def misfit(self) -> tuple[float, float] | None:
        """Return how far labels are from any one flip matrix, with its p-value.

        Labels weigh as if they were those of one fold, as in the ladder of two classes. None
        where any shares fit.
        """
        n_strata, n_classes = self.labels.shape
        freedom = (n_strata - n_classes) * (n_classes - 1)
        if freedom < 1:
            return None
        strata = replace(self, labels=self.labels / FOLDS)
        given = strata.labels / strata.labels.sum(axis=1, keepdims=True)
        said = strata.stated / strata.judged[:, None]
        free = xlogy(strata.labels, given).sum() + xlogy(strata.weighed, said).sum()
        statistic = max(2 * float(free - climb(strata).height[0]), 0.0)
        return statistic, float(fdtrc(freedom, self.freedom, statistic / freedom))


@dataclass(frozen=True, slots=True)
class Hypotheses:
    """Pairs whose two flip rates differ by so much: ``T_ji - T_ij = asymmetry``."""

    first: Ints
    second: Ints
    asymmetry: FloatArray

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.asymmetry)

    def matrices(self, moves: FloatArray, near: FloatArray | None = None) -> FloatArray:
        """Return the likeliest flip matrices for rows moved from class to class.

        Shares of each row; of a pair, the two rates that are likeliest together: one concave
        dimension, by Newton steps within a bracket, from the matrices that lie `near`.
        """
        each = np.arange(len(self))
        rows = np.maximum(moves.sum(axis=-1), NOTHING)
        flips = moves / rows[..., None]
        there, back = moves[each, self.first, self.second], moves[each, self.second, self.first]
        stay, wait = rows[each, self.first] - there, rows[each, self.second] - back
        delta = self.asymmetry
        low, high = np.maximum(0.0, -delta), np.minimum(1.0, 1.0 - delta)
        if near is None:
            rate = (there + back) / (there + back + stay + wait) - delta / 2
            inside = INSIDE * (high - low)  # where Newton's steps begin: on the bounds they stay
            rate = np.clip(rate, low + inside, high - inside)
        else:
            rate = near[each, self.first, self.second]
        for _ in range(MOST_TRIES):
            lost, kept = np.maximum(rate, NOTHING), np.maximum(1 - rate, NOTHING)
            won, left = np.maximum(rate + delta, NOTHING), np.maximum(1 - rate - delta, NOTHING)
            rise = there / lost + back / won - stay / kept - wait / left
            bend = there / lost / lost + back / won / won + stay / kept / kept + wait / left / left
            low, high = np.where(rise > 0, rate, low), np.where(rise > 0, high, rate)
            ahead = rate + rise / bend
            ahead = np.where((ahead >= low) & (ahead <= high), ahead, (low + high) / 2)
            step, rate = np.abs(ahead - rate).max(), ahead
            if step < PRECISE:
                break
        for own, other, value, rest in (
            (self.first, self.second, rate, stay),
            (self.second, self.first, rate + delta, wait),
        ):
            part = np.where(rest > 0, (1 - value) / np.maximum(rest, NOTHING), 0.0)
            flips[each, own] = moves[each, own] * part[:, None]
            flips[each, own, other] = value
        return np.asarray(flips)


@dataclass(frozen=True, slots=True)
class FlipFit:
    """The likeliest flip matrices and shares truly of each class, one a hypothesis."""

    height: FloatArray  # log-likelihood
    flips: FloatArray  # (hypotheses, classes, classes)
    shares: FloatArray  # (hypotheses, strata, classes)

    def at(self, place: int) -> "FlipFit":
        """Return one of them."""
        one = slice(place, place + 1)
        return FlipFit(self.height[one], self.flips[one], self.shares[one])


def climb(
    strata: ClassStrata, wanted: Hypotheses | None = None, near: FlipFit | None = None
) -> FlipFit:
    """Return the most likely flip matrices, under hypotheses or freely.

    True classes of rows that were not judged are missing: expectation and maximisation (EM) by
    turns, with steps lengthened where they go on (SQUAREM), never downhill. No rate or share
    leaves its scale.
    """
    n_classes = strata.labels.shape[1]
    size = 1 if wanted is None else len(wanted)
    flips = np.full((n_classes, n_classes), (1 - KEPT) / (n_classes - 1))
    np.fill_diagonal(flips, KEPT)
    shares = strata.weighed + ADDED / n_classes
    shares = shares / shares.sum(axis=1, keepdims=True)
    if near is not None:  # not on the bounds, from which no step leads away
        flips, shares = (
            INSIDE * start + (1 - INSIDE) * known
            for start, known in ((flips, near.flips), (shares, near.shares))
        )
    flips = _within(np.broadcast_to(flips, (size, n_classes, n_classes)), wanted)
    shares = np.broadcast_to(shares, (size, *strata.labels.shape))
    height, quiet = _height(strata, flips, shares), 0
    for _ in range(MOST_STEPS):
        first = _step(strata, flips, shares, wanted)
        second = _step(strata, *first, wanted)
        longer = _lengthened(flips, shares, *first, *second)
        third = _step(strata, _within(longer[0], wanted), longer[1], wanted)
        plain, far = _height(strata, *second), _height(strata, *third)
        higher = (far >= plain)[:, None, None]
        flips, shares = (np.where(higher, *both) for both in zip(third, second, strict=True))
        rise, height = np.maximum(far, plain) - height, np.maximum(far, plain)
        quiet = quiet + 1 if rise.max() < LAST_RISE else 0
        if quiet == QUIET:
            break
    return FlipFit(height, flips, shares)


def _within(flips: FloatArray, wanted: Hypotheses | None) -> FloatArray:
    """Return matrices that keep to the hypotheses."""
    return flips.copy() if wanted is None else wanted.matrices(flips)


def _height(strata: ClassStrata, flips: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the log-likelihood of labels and statements."""
    given = xlogy(strata.labels, np.maximum(shares @ flips, NOTHING))
    said = xlogy(strata.weighed, np.maximum(shares, NOTHING))
    return np.asarray((given + said).sum(axis=(-1, -2)))


def _step(
    strata: ClassStrata, flips: FloatArray, shares: FloatArray, wanted: Hypotheses | None
) -> tuple[FloatArray, FloatArray]:
    """Count rows by the true classes expected of them, and return what is likeliest for these."""
    ratio = strata.labels / np.maximum(shares @ flips, NOTHING)
    moves = flips * (np.swapaxes(shares, -1, -2) @ ratio)
    true = strata.weighed + shares * (ratio @ np.swapaxes(flips, -1, -2))
    kept = moves / np.maximum(moves.sum(axis=-1, keepdims=True), NOTHING)
    flips = kept if wanted is None else wanted.matrices(moves, flips)
    return flips, true / true.sum(axis=-1, keepdims=True)


def _lengthened(*points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return where two steps in a row point to, by the length that the change of steps allows."""
    starts, ones, twos = points[0:2], points[2:4], points[4:6]
    steps = [one - start for start, one in zip(starts, ones, strict=True)]
    turns = [two - one - step for one, two, step in zip(ones, twos, steps, strict=True)]
    squared, turned = (
        sum((part**2).sum(axis=(-1, -2)) for part in parts) for parts in (steps, turns)
    )
    length = np.maximum(np.sqrt(squared / np.maximum(turned, NOTHING)), 1.0)[:, None, None]
    ahead = [
        np.maximum(start + 2 * length * step + length**2 * turn, LEAST_PART * two)
        for start, step, turn, two in zip(starts, steps, turns, twos, strict=True)
    ]
    flips, shares = (part / part.sum(axis=-1, keepdims=True) for part in ahead)
    return flips, shares


@dataclass(frozen=True)
class ClassLine:
    """z of each pair of classes: the signed root of the likelihood's drop, on a normal scale.

    `shared_tolerance` is how far an expert may lean from one class to another in every answer.
    """

    strata: ClassStrata
    shared_tolerance: float

    @cached_property
    def best(self) -> FlipFit:
        """The likeliest flip matrix."""
        return climb(self.strata)

    @property
    def rates(self) -> FloatArray:
        """The likeliest flip matrix: shares of each true class (down) given each label."""
        return np.asarray(self.best.flips[0])

    def asymmetries(self, pairs: Ints) -> FloatArray:
        """Return what the first of each pair gains from the second."""
        first, second = pairs.T
        return np.asarray(self.rates[second, first] - self.rates[first, second])

    def z(self, pairs: Ints, asymmetries: FloatArray) -> FloatArray:
        """Return z of hypothesised asymmetries, one a pair."""
        wanted = Hypotheses(pairs[:, 0], pairs[:, 1], asymmetries)
        fits = climb(self.strata, wanted, self.best)
        drop = 2 * np.maximum(self.best.height - fits.height, 0.0)
        widened = [self._spread(fits.at(place), pair)[1] for place, pair in enumerate(pairs)]
        sign = np.sign(self.asymmetries(pairs) - asymmetries)
        return normal_of_t(sign * np.sqrt(drop / np.array(widened)), self.strata.freedom)

    def standard_errors(self, pairs: Ints) -> FloatArray:
        """Return the standard error of each asymmetry, to first order."""
        found = [self._spread(self.best, pair) for pair in pairs]
        return np.array([math.sqrt(variance * widened) for variance, widened in found])

    def _spread(self, fit: FlipFit, pair: Ints) -> tuple[float, float]:
        """Return the variance of an asymmetry, and by how much the squared z is to be divided.

        Statements may vary more along a pair than one dispersion of a stratum says: their own
        variance there is then taken. A lean adds to it as well.
        """
        strata, flips, shares = self.strata, fit.flips[0], fit.shares[0]
        n, m = strata.labels.sum(axis=1)[:, None, None], strata.judged[:, None, None]
        labels = _scatter(np.maximum(shares @ flips, LEAST_SHARE)) / n
        phi = strata.dispersion[:, None, None]
        heights = labels + flips.T @ (phi * _scatter(shares) / m) @ flips
        # Shares of labels add up to 1, so the last tells nothing new.
        weights = np.linalg.inv(heights[:, :-1, :-1])
        n_classes = len(flips)
        information = np.einsum("si,sj,sab->iajb", shares, shares, weights)
        information = information.reshape(2 * (n_classes * (n_classes - 1),))
        first, second = pair
        toward = np.zeros_like(flips)
        toward[second, first], toward[first, second] = 1.0, -1.0
        toward = (toward[:, :-1] - toward[:, -1:]).ravel()
        solved = np.linalg.pinv(information, hermitian=True) @ toward
        variance = float(toward @ solved)
        # What labels and statements of each stratum add to the asymmetry.
        reach = np.einsum("sab,si,ib->sa", weights, shares, solved.reshape(n_classes, -1))
        reach = np.pad(reach, ((0, 0), (0, 1)))
        of_cases = reach @ flips.T
        from_labels = np.einsum("sa,sab,sb->s", reach, labels, reach)
        usual, own = (
            from_labels + np.einsum("sa,sab,sb->s", of_cases, each, of_cases)
            for each in (phi * _scatter(strata.means) / m, strata.products / (m - 1) / m)
        )
        both = [first, second]
        slope = float(np.trace(flips[np.ix_(both, both)]) - flips[first, second])
        lean = (slope - flips[second, first]) ** 2 * self.shared_tolerance**2 / 3
        widened = max(float(own.sum() / usual.sum()), 1.0) + lean / variance
        return variance, widened

    def ends(self, pairs: Ints, level: float) -> FloatArray:
        """Return where z passes its critical values, a lower and an upper end a pair.

        From the estimate outwards as far as a straight z would have it, then by chords, of which
        the end that stays is halved (the Illinois rule).
        """
        critical = float(-ndtri((1 - level) / 2))
        pairs, side = np.repeat(pairs, 2, axis=0), np.tile([-1.0, 1.0], len(pairs))
        start = self.asymmetries(pairs)
        inner, short = np.zeros(len(start)), np.full(len(start), -critical)
        outer, over = WIDEST - side * start, np.full(len(start), np.inf)
        reach, last = (
            np.minimum(critical * self.standard_errors(pairs), outer),
            np.zeros(len(start)),
        )
        for _ in range(MOST_TRIES):
            off = np.abs(self.z(pairs, start + side * reach)) - critical
            inside = off < 0
            again = last == np.where(inside, -1, 1)
            short = np.where(inside, off, np.where(again, short / 2, short))
            over = np.where(inside, np.where(again, over / 2, over), off)
            inner, outer = np.where(inside, reach, inner), np.where(inside, outer, reach)
            last = np.where(inside, -1, 1)
            chord = inner - short * (outer - inner) / (over - short)
            further = FURTHER * inner * critical / (critical + np.maximum(off, -critical / 2))
            ahead = np.minimum(np.where(np.isinf(over), further, chord), outer)
            moved, reach = np.abs(ahead - reach).max(), ahead
            if moved < NEAR_END:
                break
        return np.asarray((start + side * reach).reshape(-1, 2))


def _scatter(shares: FloatArray) -> FloatArray:
    """Return the covariances of one row of each multinomial."""
    own = shares[..., None] * np.eye(shares.shape[-1])
    return np.asarray(own - shares[..., :, None] * shares[..., None, :])
