"""A multinomial logistic curve seen through flipped labels: its flips, likelihood and fit.

``T[k, m]`` is the chance that a case of class k is labelled m. A family writes it as
``T = I + sum_g rate_g R_g + (1/2) sum_s asymmetry_s D_s``: rates move labels both ways alike,
asymmetries move more of them one way. Rows of every R and D add up to zero.

With clean posteriors ``eta_k``, proportional to ``exp(theta_k'x)`` (the last class is the
reference), a label m has probability ``p_m = sum_k eta_k T[k, m]``. Derivatives are taken in
(theta class by class, rates, asymmetries), in this order.

Like its two-class sibling the likelihood has more than one hill: the climb is damped, keeps
the rates within their bounds, starts from several rates and slopes and keeps the best end.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from evenodds.model.bounded_scoring import STEP_ROWS_A_PARAMETER, Place, climb_bounded
from evenodds.validation import FloatArray

# Beyond these, labels say next to nothing of the class.
LARGEST_REDRAWN = 0.98
LARGEST_EXCHANGE = 0.49
LEAST_KEPT = 0.01


@dataclass(frozen=True, slots=True)
class FlipFamily:
    """Flip matrices with some rates, estimated, and some asymmetries, hypothesised."""

    exchanges: FloatArray  # R, one matrix a rate
    leanings: FloatArray  # D, one matrix an asymmetry
    highest_rates: FloatArray

    def matrix(self, rates: FloatArray, asymmetries: FloatArray) -> FloatArray:
        """Return T."""
        n_classes = self.exchanges.shape[1]
        moved = np.tensordot(rates, self.exchanges, axes=1)
        return np.asarray(np.eye(n_classes) + moved + self._leaning(asymmetries))

    def keeps_classes(self, rates: FloatArray, asymmetries: FloatArray) -> bool:
        """Tell whether every class still gets its own label now and then."""
        return bool(self.matrix(rates, asymmetries).diagonal().min() > LEAST_KEPT)

    def lowest_rates(self, asymmetries: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the rates that keep every flip possible, and how they move with asymmetries."""
        lean = self._leaning(asymmetries)
        low = np.zeros(len(self.exchanges))
        slopes = np.zeros((len(low), len(asymmetries)))
        for number, exchange in enumerate(self.exchanges):
            free = np.where(exchange > 0, lean, np.inf)
            place = np.unravel_index(int(np.argmin(free)), free.shape)
            if free[place] < 0:
                low[number] = -free[place]
                slopes[number] = -self.leanings[:, place[0], place[1]] / 2
        return low, slopes

    def _leaning(self, asymmetries: FloatArray) -> FloatArray:
        if len(asymmetries) == 0:
            return np.zeros(self.exchanges.shape[1:])
        return np.asarray(np.tensordot(asymmetries / 2, self.leanings, axes=1))


def uniform_family(n_classes: int, leanings: FloatArray) -> FlipFamily:
    """Return uniform noise of unknown rate, leaning as asked; the rate is that of each flip."""
    everywhere = np.ones((n_classes, n_classes)) - n_classes * np.eye(n_classes)
    return FlipFamily(everywhere[None], leanings, np.array([LARGEST_REDRAWN / n_classes]))


def pairs_family(n_classes: int, pairs: Sequence[tuple[int, int]]) -> FlipFamily:
    """Return noise with a rate and an asymmetry for each of these pairs.

    All other pairs share one rate and are even.
    """
    exchanges = [exchange(n_classes, pair) for pair in pairs]
    highest = [LARGEST_EXCHANGE] * len(pairs)
    named = {frozenset(pair) for pair in pairs}
    every = [(k, m) for k in range(n_classes) for m in range(k)]
    others = [pair for pair in every if frozenset(pair) not in named]
    if others:
        exchanges.append(np.sum([exchange(n_classes, pair) for pair in others], axis=0))
        highest.append(LARGEST_REDRAWN / n_classes)
    leanings = np.array([split_leaning(n_classes, (first,), (second,)) for first, second in pairs])
    return FlipFamily(np.array(exchanges), leanings, np.array(highest))


def any_family(n_classes: int, even: tuple[int, int] | None = None) -> FlipFamily:
    """Return noise with a rate for each flip of a class to another: any noise by class at all.

    The flips of a pair may be `even` but for one asymmetry: their rate comes first then.
    """
    ways = [(k, m) for k in range(n_classes) for m in range(n_classes) if k != m]
    exchanges = [] if even is None else [exchange(n_classes, even)]
    for k, m in ways:
        if even is None or {k, m} != {*even}:
            one_way = np.zeros((n_classes, n_classes))
            one_way[k, m], one_way[k, k] = 1, -1
            exchanges.append(one_way)
    highest = np.full(len(exchanges), LARGEST_REDRAWN)
    leanings = np.zeros((0, n_classes, n_classes))
    if even is not None:
        highest[0] = LARGEST_EXCHANGE
        leanings = split_leaning(n_classes, (even[0],), (even[1],))[None]
    return FlipFamily(np.array(exchanges), leanings, highest)


def exchange(n_classes: int, pair: tuple[int, int]) -> FloatArray:
    """Return the matrix that flips two classes into each other."""
    matrix = np.zeros((n_classes, n_classes))
    first, second = pair
    matrix[first, second] = matrix[second, first] = 1
    matrix[first, first] = matrix[second, second] = -1
    return matrix


def split_leaning(n_classes: int, positive: Sequence[int], negative: Sequence[int]) -> FloatArray:
    """Return the matrix that flips more into the positive classes and less out of them.

    Spread evenly over the classes of a side, so that an asymmetry of 1 adds 1/2 to the flips of
    a negative case into the positive side, and takes 1/2 from those the other way.
    """
    matrix = np.zeros((n_classes, n_classes))
    matrix[np.ix_(negative, positive)] = 1 / len(positive)
    matrix[np.ix_(positive, negative)] = -1 / len(negative)
    np.fill_diagonal(matrix, -matrix.sum(axis=1))
    return matrix


# Log-odds beyond which a class counts as certain; it keeps probabilities above zero.
FLAT_BEYOND = 30.0
# Numbers of a block: n rows of K x K, or of products of columns.
BLOCK_NUMBERS = 400_000
# Up to this many columns the products of all pairs of them are worth holding.
FEW_COLUMNS = 24


@dataclass(frozen=True, slots=True)
class ClassData:
    """Rows of K classes on the solver's scale."""

    design: FloatArray  # with a leading 1
    labels: NDArray[np.intp]
    weights: FloatArray | None
    n_classes: int
    groups: NDArray[np.int64] | None = None  # which rows belong together, 0, 1, 2, ...

    def blocks(self) -> list[slice]:
        """Return consecutive rows few enough to work on at a time."""
        widest = max(self.n_classes, min(self.design.shape[1], FEW_COLUMNS))
        length = max(BLOCK_NUMBERS // widest**2, 64)
        return [slice(start, start + length) for start in range(0, len(self.labels), length)]


@dataclass(frozen=True, slots=True)
class ClassPoint:
    """A curve of each class but the last, the rates, and the hypothesised asymmetries."""

    coefficients: FloatArray  # (classes - 1, parameters)
    rates: FloatArray
    asymmetries: FloatArray


@dataclass(frozen=True, slots=True)
class ClassEvaluation:
    """The likelihood at a point."""

    point: ClassPoint
    log_likelihood: float
    score: FloatArray
    information: FloatArray
    transition: float  # weight of rows whose class is not certain


def evaluate(
    data: ClassData, family: FlipFamily, point: ClassPoint, *, leaning: bool = True
) -> ClassEvaluation:
    """Return log-likelihood, score and expected information.

    Without `leaning` derivatives in the asymmetries are left out, which a climb does not need.
    """
    flips = family.matrix(point.rates, point.asymmetries)
    turns = family.exchanges  # how T moves with the rates, and with the asymmetries
    if leaning:
        turns = np.concatenate([turns, family.leanings / 2])
    n_curves, n_columns = point.coefficients.shape
    n_theta = n_curves * n_columns
    n_all = n_theta + len(turns)
    score, information = np.zeros(n_all), np.zeros((n_all, n_all))
    log_likelihood = transition = 0.0
    upper, lower = np.tril_indices(n_curves)  # pairs of curves
    products = (flips[upper] * flips[lower]).T
    grams = np.zeros((len(upper), n_columns, n_columns))
    for rows in data.blocks():
        design, labels = data.design[rows], data.labels[rows]
        weights = None if data.weights is None else data.weights[rows]
        clean = posteriors(design, point.coefficients)
        noisy = clean @ flips
        moves = np.matmul(clean, turns)
        logs = np.log(noisy[np.arange(len(labels)), labels])
        unsure = 2 * (1 - np.einsum("nk,nk->n", clean, clean))
        first = row_scores(labels, flips, clean, noisy, moves)
        precision = 1 / noisy
        # sum_m (T_km - p_m)(T_lm - p_m) / p_m = sum_m T_km T_lm / p_m - 1: rows of T add to 1.
        squares = precision @ products
        squares -= 1
        squares *= clean[:, upper] * clean[:, lower]
        if weights is not None:
            logs, unsure = logs * weights, unsure * weights
            first *= weights[:, None]
            precision *= weights[:, None]
            squares *= weights[:, None]
        log_likelihood += float(logs.sum())
        transition += float(unsure.sum())
        score[:n_theta] += (first[:, :n_curves].T @ design).ravel()
        score[n_theta:] += first[:, n_curves:].sum(axis=0)
        grams += _weighted_grams(design, squares)
        levers = moves * precision
        bent = (levers @ flips[:n_curves].T) * clean[:, :n_curves]
        mixed = np.matmul(bent.transpose(0, 2, 1), design)
        information[n_theta:, :n_theta] += mixed.reshape(len(turns), -1)
        wide = (len(turns), -1)
        information[n_theta:, n_theta:] += levers.reshape(wide) @ moves.reshape(wide).T
    blocks = np.zeros((n_curves, n_columns, n_curves, n_columns))
    blocks[upper, :, lower, :] = grams
    information[:n_theta, :n_theta] = blocks.reshape(n_theta, n_theta)
    whole = np.tril(information) + np.tril(information, -1).T
    return ClassEvaluation(point, log_likelihood, score, whole, transition)


def _weighted_grams(design: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the products of the columns, summed over rows with each of many weights."""
    n_columns = design.shape[1]
    if n_columns <= FEW_COLUMNS:
        products = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
        return np.asarray((weights.T @ products).reshape(-1, n_columns, n_columns))
    return np.stack([(design * weight[:, None]).T @ design for weight in weights.T])


def posteriors(design: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Return the clean posterior of every class, the last one being the reference."""
    linear = np.zeros((len(design), len(coefficients) + 1))
    linear[:, :-1] = design @ coefficients.T
    linear -= linear.max(axis=1, keepdims=True)
    np.maximum(linear, -FLAT_BEYOND, out=linear)
    np.exp(linear, out=linear)
    linear /= linear.sum(axis=1, keepdims=True)
    return linear


def rows_between(data: ClassData, coefficients: FloatArray) -> FloatArray:
    """Return how many rows lie between each two classes, a row at the toss-up counting as one."""
    clean = posteriors(data.design, coefficients)
    weighted = clean if data.weights is None else clean * data.weights[:, None]
    return np.asarray(4 * weighted.T @ clean)


def row_scores(
    labels: NDArray[np.intp],
    flips: FloatArray,
    clean: FloatArray,
    noisy: FloatArray,
    moves: FloatArray,
) -> FloatArray:
    """Return each row's derivative of its log-likelihood in (theta_k'x, rates, asymmetries)."""
    n_curves = clean.shape[1] - 1
    own = np.arange(len(labels))
    seen = noisy[own, labels][:, None]
    by_curve = clean[:, :n_curves] * (flips[:n_curves, labels].T / seen - 1)
    by_turn = moves[:, own, labels].T / seen
    return np.concatenate([by_curve, by_turn], axis=1)


def influences(
    data: ClassData, family: FlipFamily, point: ClassPoint, levers: FloatArray
) -> FloatArray:
    """Return each group's share of ``levers @ score``; rows are groups where there are none."""
    flips = family.matrix(point.rates, point.asymmetries)
    turns = np.concatenate([family.exchanges, family.leanings / 2])
    n_curves, n_columns = point.coefficients.shape
    of_curves = levers[:, : n_curves * n_columns].reshape(len(levers), n_curves, n_columns)
    clean = posteriors(data.design, point.coefficients)
    moves = np.matmul(clean, turns)
    scores = row_scores(data.labels, flips, clean, clean @ flips, moves)
    if data.weights is not None:
        scores *= data.weights[:, None]
    shares = np.einsum("nk,skd,nd->ns", scores[:, :n_curves], of_curves, data.design, optimize=True)
    shares += scores[:, n_curves:] @ levers[:, n_curves * n_columns :].T
    if data.groups is None:
        return np.asarray(shares)
    totals = np.zeros((int(data.groups.max()) + 1, len(levers)))
    np.add.at(totals, data.groups, shares)
    return totals


# Shares of labels drawn afresh from all classes, to start from.
START_SHARES = (0.02, 0.2, 0.4, 0.6)
# How much steeper than the best curve so far the next starts are, how much likelihood a steeper
# end must gain to be started from in turn, and how often.
STEEPER = (2.0, 5.0, 12.0)
WORTH_ANOTHER = 1e-2
MOST_ROUNDS = 4
# The climb ends when score times step, the square of the error in standard errors, falls below
# this; one that only prepares the next may stop earlier.
LAST_GAIN = 1e-8
OFF_BOUNDS = 1e-3
LAST_GAIN_ON_THE_WAY = 1e-2


@dataclass(frozen=True, slots=True)
class ClassFit:
    """The best curve for hypothesised asymmetries."""

    here: ClassEvaluation
    free: NDArray[np.bool_]  # which rates are off their bounds
    converged: bool

    @property
    def point(self) -> ClassPoint:
        """The curve and its rates."""
        return self.here.point

    @property
    def is_step(self) -> bool:
        """Whether hardly any row's class is uncertain."""
        n_parameters = self.point.coefficients.size + len(self.free)
        return self.here.transition < STEP_ROWS_A_PARAMETER * n_parameters

    @property
    def nuisance(self) -> NDArray[np.intp]:
        """Places of the coefficients and of the free rates among all derivatives."""
        n_theta = self.point.coefficients.size
        return np.concatenate([np.arange(n_theta), n_theta + np.flatnonzero(self.free)])


def fit_classes(data: ClassData, family: FlipFamily) -> ClassFit:
    """Fit with no asymmetry: from the best curves of a grid of rates, then from steeper ones."""
    on_the_way = partial(climb, data, family, last_gain=LAST_GAIN_ON_THE_WAY)
    profile = _profile(data, family)
    heights = [-np.inf, *(held.here.log_likelihood for held in profile), -np.inf]
    hills = [
        on_the_way(held.point)
        for number, held in enumerate(profile, start=1)
        if heights[number] >= max(heights[number - 1], heights[number + 1])
    ]
    best = _highest(hills)
    for _ in range(MOST_ROUNDS):
        # Strong noise on a steep curve looks like little noise on a mild one: that hill is wide,
        # the steep one narrow and sometimes higher.
        point = best.point
        steeper = _highest(
            [on_the_way(replace(point, coefficients=by * point.coefficients)) for by in STEEPER]
        )
        if steeper.here.log_likelihood <= best.here.log_likelihood + WORTH_ANOTHER:
            break
        best = steeper
    return climb(data, family, best.point)


def _profile(data: ClassData, family: FlipFamily) -> list[ClassFit]:
    """Return the best curve at each rate of the grid, each from the one before."""
    none = np.zeros(len(family.leanings))
    curve = np.zeros((data.n_classes - 1, data.design.shape[1]))
    found, seen = [], 1.0
    for share in START_SHARES:
        # Noise flattens slopes by the share it draws afresh.
        start = ClassPoint(
            curve * seen / (1 - share), _rates_for(share, data.n_classes, family), none
        )
        held = climb(data, family, start, held=True, last_gain=LAST_GAIN_ON_THE_WAY)
        found.append(held)
        curve, seen = held.point.coefficients, 1 - share
    return found


def _highest(ends: list[ClassFit]) -> ClassFit:
    return max(ends, key=lambda end: end.here.log_likelihood)


def climb(
    data: ClassData,
    family: FlipFamily,
    start: ClassPoint,
    *,
    held: bool = False,
    last_gain: float = LAST_GAIN,
) -> ClassFit:
    """Climb by damped Fisher scoring with secants; `held` keeps the rates where they are."""
    low, _ = family.lowest_rates(start.asymmetries)
    high = np.maximum(family.highest_rates, low)
    rates = np.clip(start.rates, low, high)
    bounds = (rates, rates) if held else (low, high)

    def look(point: ClassPoint) -> Place[ClassPoint]:
        here = evaluate(data, family, point, leaning=False)
        return Place(point, here.log_likelihood, here.score, here.information, point.rates)

    def move(place: Place[ClassPoint], step: FloatArray) -> Place[ClassPoint] | None:
        point = place.here
        n_theta, shape = point.coefficients.size, point.coefficients.shape
        ahead = ClassPoint(
            point.coefficients + step[:n_theta].reshape(shape),
            np.clip(point.rates + step[n_theta:], *bounds),
            point.asymmetries,
        )
        kept = family.keeps_classes(ahead.rates, ahead.asymmetries)
        return look(ahead) if kept else None

    first = look(ClassPoint(start.coefficients, rates, start.asymmetries))
    end = climb_bounded(first, move, bounds, last_gain)
    return ClassFit(evaluate(data, family, end.place.here), end.free, end.converged)


def fit_from(data: ClassData, family: FlipFamily, fit: ClassFit, flips: FloatArray) -> ClassFit:
    """Climb from the curve and the flips of a fit of another family, with no asymmetry."""
    shares = [float(flips[matrix > 0].mean()) for matrix in family.exchanges]
    # Off their bounds: from there a rate could not tell whether it rises.
    rates = np.maximum(shares, OFF_BOUNDS)
    return climb(
        data, family, ClassPoint(fit.point.coefficients, rates, np.zeros(len(family.leanings)))
    )


def _rates_for(share: float, n_classes: int, family: FlipFamily) -> FloatArray:
    """Return rates under which this share of labels is drawn afresh from all classes."""
    rates = np.full(len(family.exchanges), share / n_classes)
    return np.asarray(np.minimum(rates, family.highest_rates))
