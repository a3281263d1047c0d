"""How many rows to audit, before they are audited.

There the score is not used, so no normal law foretells what is found. In small audits the
p-values of all tables are computed at once; in larger ones those of tables drawn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, xlog1py, xlogy

from evenodds.errors import InputError
from evenodds.inference.audit.audit_test import SMALL_CELL, audit_pvalue
from evenodds.inference.audit.counts import Flips
from evenodds.inference.audit.exact import (
    Binomial,
    is_countable,
    is_small,
    likelihood_roots,
    points_needed,
    possible_rates,
    table_asymmetries,
    wrong_labels,
)
from evenodds.inference.audit.result import SampledBy
from evenodds.inference.audit.score import AuditByGiven
from evenodds.inference.multiplicity import wilson_interval
from evenodds.inference.profile import Alternative
from evenodds.inference.results import Result, check_alternative
from evenodds.noise import ClassConditionalNoise, check_noise
from evenodds.validation import MOST_RUNS, FloatArray, check_between, check_choice, check_whole

# The whole data is taken as this many times the audit: its counts are nearly exact.
ROWS_AN_AUDITED_ROW = 1000


@dataclass(frozen=True, slots=True)
class AuditDesign:
    """Noise to be found, and how rows are drawn to find it."""

    noise: ClassConditionalNoise
    prior: float | None
    sampled_by: SampledBy
    share: float  # of audited rows in the positive class drawn

    def drawn(self, n_rows: int) -> tuple[float, float]:
        """Return how many positive and negative rows are audited, as expected where at random.

        By class they are whole, and at least one of each.
        """
        if self.sampled_by == "random":
            return self.share * n_rows, (1 - self.share) * n_rows
        n_positive = min(max(round(self.share * n_rows), 1), n_rows - 1)
        return n_positive, n_rows - n_positive

    def expected(self, n_rows: int) -> Flips:
        """Return the counts of an audit as expected, which need not be whole."""
        alpha, beta = self.noise.alpha, self.noise.beta
        drawn = self.drawn(n_rows)
        if self.sampled_by != "given":
            return Flips(drawn[0], alpha * drawn[0], drawn[1], beta * drawn[1])  # type: ignore[arg-type]
        wrong_positive, wrong_negative = self.wrong_labels()
        flipped_positive, flipped_negative = wrong_negative * drawn[1], wrong_positive * drawn[0]
        n_positive = drawn[0] - flipped_negative + flipped_positive
        return Flips(n_positive, flipped_positive, n_rows - n_positive, flipped_negative)  # type: ignore[arg-type]

    def wrong_labels(self) -> tuple[float, float]:
        """Return the share of wrong labels among positive and among negative ones."""
        prior = self.prior or 0.0
        positive = self.noise.noisy_prior(prior)
        return (1 - prior) * self.noise.beta / positive, prior * self.noise.alpha / (1 - positive)

    def whole_data(self, n_rows: int) -> tuple[float, float]:
        """Return how many rows of the data are labelled negative and positive."""
        total = ROWS_AN_AUDITED_ROW * n_rows
        positive = self.noise.noisy_prior(self.prior or 0.0)
        return (1 - positive) * total, positive * total

    def centre(self, n_rows: int) -> tuple[float, float]:
        """Return the size of the mean of z(0), and its standard deviation."""
        flips = self.expected(n_rows)
        if self.sampled_by == "given":
            return _given_centre(AuditByGiven(flips, *self.whole_data(n_rows)))  # type: ignore[arg-type]
        pooled = (flips.flipped_positive + flips.flipped_negative) / flips.n_rows
        null = pooled * (1 - pooled) * (1 / flips.n_positive + 1 / flips.n_negative)
        alpha, beta = flips.alpha, flips.beta
        true = alpha * (1 - alpha) / flips.n_positive + beta * (1 - beta) / flips.n_negative
        gap = abs(beta - alpha)
        if flips.fewest_expected < SMALL_CELL:
            # The exact test loses about half a row of either class.
            gap = max(gap - (1 / flips.n_positive + 1 / flips.n_negative) / 2, 0.0)
        return float(gap / np.sqrt(null)), float(np.sqrt(true / null))

    def is_small(self, n_rows: int) -> bool:
        """Tell whether an audit by given class has too few wrong labels for the score."""
        return is_small(AuditByGiven(self.expected(n_rows), *self.whole_data(n_rows)))  # type: ignore[arg-type]

    def given_tables(
        self, n_rows: int
    ) -> tuple[tuple[int, int], tuple[int, int], tuple[float, float]]:
        """Return rows audited and rows of the data by label, and chances of a wrong label.

        Audited rows come positive first, rows of the data negative first.
        """
        negative, positive = self.whole_data(n_rows)
        return self._whole(n_rows), (round(negative), round(positive)), self.wrong_labels()

    def _whole(self, n_rows: int) -> tuple[int, int]:
        """Return how many rows of each class are audited, drawn by class."""
        n_positive, n_negative = self.drawn(n_rows)
        return int(n_positive), int(n_negative)

    def draw(self, n_rows: int, rng: np.random.Generator) -> tuple[Flips, tuple[int, int] | None]:
        """Draw an audit, and the counts of the whole data where the test needs them."""
        if self.sampled_by == "random":
            n_positive = int(rng.binomial(n_rows, self.share))
        else:
            n_positive, _ = self._whole(n_rows)
        if self.sampled_by == "given":
            chances = self.wrong_labels()
            wrong = rng.binomial([n_positive, n_rows - n_positive], chances)
            truly = n_positive - int(wrong[0]) + int(wrong[1])
            flips = Flips(truly, int(wrong[1]), n_rows - truly, int(wrong[0]))
            negative, positive = self.whole_data(n_rows)
            return flips, (round(negative), round(positive))
        sizes = [n_positive, n_rows - n_positive]
        flipped = rng.binomial(sizes, [self.noise.alpha, self.noise.beta])
        return Flips(sizes[0], int(flipped[0]), sizes[1], int(flipped[1])), None


def _given_centre(audit: AuditByGiven) -> tuple[float, float]:
    """Return mean and standard deviation of z(0) of an audit by given class."""
    null, seen = audit.constrained(0.0), audit.seen
    gradient, sizes = null.gradient("asymmetry"), audit.sizes
    standard_error = np.sqrt(gradient**2 @ (null.vector * (1 - null.vector) / sizes))
    spread = np.sqrt(gradient**2 @ (seen.vector * (1 - seen.vector) / sizes))
    mean = gradient @ (seen.vector - null.vector) / standard_error
    return float(mean), float(spread / standard_error)


DRAWN_TABLES = 4000
# Tables whose order differs by less than this are as extreme as each other.
DECIMALS = 9


def given_power(
    audited: tuple[int, int],
    counts: tuple[int, int],
    wrong: tuple[float, float],
    level: float,
    alternative: Alternative,
) -> float:
    """Return the chance that an audit of so many positive and negative labels rejects."""
    positive, negative = audited
    audit = AuditByGiven(Flips(positive, 0, negative, 0), *counts)
    if not is_countable(audit):
        return _of_tables_drawn(audit, wrong, level, alternative)
    pvalues = _all_pvalues(audit, alternative)
    # A class that was never true leaves nothing to test.
    pvalues[positive, 0] = pvalues[0, negative] = 1.0
    own, other = Binomial(positive), Binomial(negative)
    chances = (
        np.exp(one.logs(np.array([chance]))[0] + one.ways)
        for one, chance in zip((own, other), wrong, strict=True)
    )
    return float(next(chances) @ (pvalues < level) @ next(chances))


def _all_pvalues(audit: AuditByGiven, alternative: Alternative) -> FloatArray:
    """Return the exact p-value of every table of wrong labels."""
    positive = Binomial(audit.flips.given_positive)
    negative = Binomial(audit.flips.given_negative)
    share = audit.seen.positive_share
    chances = wrong_labels(possible_rates(0.0, share, points_needed(audit)), 0.0, share)
    found = positive.logs(chances.positive), negative.logs(chances.negative)
    roots = likelihood_roots(*found, positive.own[:, None] + negative.own[None, :])
    order = np.where(table_asymmetries(audit) >= 0, roots, -roots).round(DECIMALS)
    own, other = np.exp(found[0] + positive.ways), np.exp(found[1] + negative.ways)
    tables = (own[:, :, None] * other[:, None, :]).reshape(len(own), -1)
    greater, less = (_tail(side * order, tables) for side in (1, -1))
    both = np.minimum(2 * np.minimum(greater, less), 1.0)
    return np.asarray({"two-sided": both, "greater": greater, "less": less}[alternative])


def _tail(order: FloatArray, tables: FloatArray) -> FloatArray:
    """Return the largest chance of a table at least as high in the order, for every table."""
    highest_first = np.argsort(-order, axis=None, kind="stable")
    reached = np.cumsum(tables[:, highest_first], axis=1).max(axis=0)
    ranked = -order.ravel()[highest_first]
    last_alike = np.searchsorted(ranked, ranked, side="right") - 1
    pvalues = np.empty(order.size)
    pvalues[highest_first] = reached[last_alike]
    return pvalues.reshape(order.shape)


def _of_tables_drawn(
    audit: AuditByGiven, wrong: tuple[float, float], level: float, alternative: Alternative
) -> float:
    """Return the share of drawn tables whose likelihood ratio rejects."""
    sizes = audit.flips.given_positive, audit.flips.given_negative
    rng = np.random.default_rng(0)
    drawn = np.unique(
        np.column_stack(
            [
                rng.binomial(sizes[0], wrong[0], DRAWN_TABLES),
                rng.binomial(sizes[1], wrong[1], DRAWN_TABLES),
            ]
        ),
        axis=0,
        return_counts=True,
    )
    shares = drawn[0] / np.array(sizes)
    share = audit.seen.positive_share
    null = wrong_labels(possible_rates(0.0, share, points_needed(audit)), 0.0, share)
    best = np.full(len(shares), -np.inf)
    for chances in zip(null.positive, null.negative, strict=True):
        np.maximum(best, _log_likelihood(drawn[0], sizes, np.array(chances)), out=best)
    free = _log_likelihood(drawn[0], sizes, shares)
    size = np.sqrt(np.maximum(2 * (free - best), 0.0))
    q1, q0 = np.clip(shares, 1e-9, 1 - 1e-9).T
    prior = q0 * (1 - share) + (1 - q1) * share
    root = np.where(q1 * share / (1 - prior) >= q0 * (1 - share) / prior, size, -size)
    tails = {"two-sided": 2 * ndtr(-size), "greater": ndtr(-root), "less": ndtr(root)}
    rejected: NDArray[np.bool_] = tails[alternative] < level
    return float(drawn[1] @ rejected / DRAWN_TABLES)


def _log_likelihood(
    tables: NDArray[np.int64], sizes: tuple[int, int], chances: FloatArray
) -> FloatArray:
    """Return the log-likelihood of tables of wrong labels."""
    return np.asarray(
        (xlogy(tables, chances) + xlog1py(np.array(sizes) - tables, -chances)).sum(axis=1)
    )


# No plan goes beyond this many rows.
MOST_ROWS = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSize(Result):
    """How many rows to audit.

    Attributes
    ----------
    n_rows : int
        Rows to audit.
    n_negative, n_positive : int
        Of these, of the negative and of the positive class: as drawn, or, at random, as expected.
    power : float
        Probability of finding the noise with so many rows: by the normal approximation, or, by
        given class with few wrong labels, of the test itself.
    simulated_power : float or None
        Share of simulated audits that find it; None without simulation.
    simulated_interval : tuple of float or None
        95 % interval of that share.
    alpha, beta : float
        The flip rates to be found.
    prior : float or None
        Share of rows that are truly positive.
    sampled_by, alternative, significance
        How rows are drawn and the test is read.
    """

    _schema: ClassVar[int] = 1

    n_rows: int
    n_negative: int
    n_positive: int
    power: float
    simulated_power: float | None
    simulated_interval: tuple[float, float] | None
    alpha: float
    beta: float
    prior: float | None
    sampled_by: SampledBy
    alternative: Alternative
    significance: float


def audit_size(
    noise: ClassConditionalNoise,
    *,
    prior: float | None = None,
    sampled_by: str = "random",
    share: float | None = None,
    power: float = 0.8,
    alternative: str = "two-sided",
    significance: float = 0.05,
    runs: int = 0,
    seed: int = 0,
) -> AuditSize:
    """Return how many rows to audit to find class-conditional noise.

    Parameters
    ----------
    noise : ClassConditionalNoise
        The flip rates that should be found.
    prior : float, optional
        Share of rows that are truly positive; needed unless rows are drawn by true class.
    sampled_by : {"random", "true", "given"}
        How rows will be drawn.
    share : float, optional
        Share of the audited rows to draw from the positive class (by true or given class only);
        default half.
    power : float, default 0.8
        Wanted probability of finding the noise.
    alternative, significance
        Of the test.
    runs : int, default 0
        Simulated audits to check the answer with.
    seed : int, default 0
        Seed of the simulation.

    Returns
    -------
    AuditSize

    Raises
    ------
    InputError
        If the rates are equal, or no audit of a sane size would do.

    See Also
    --------
    audit_test : The test that is planned.

    Notes
    -----
    The score statistic is taken as normal with the mean and variance it has at the expected
    counts, with a correction for continuity where so few flips are expected that the test is
    exact. By given class, where few wrong labels are expected, power is that of the exact test
    itself, summed over all tables, or over tables drawn where there are too many. `runs` checks
    it.

    Examples
    --------
    >>> import evenodds as eo
    >>> noise = eo.ClassConditionalNoise(alpha=0.2, beta=0.1)
    >>> eo.audit_size(noise, prior=0.5).n_rows
    398
    >>> eo.audit_size(noise, prior=0.1).n_rows  # rare positives are rarely audited
    987
    """
    design = _read_design(check_noise(noise), prior, sampled_by, share)
    side = check_alternative(alternative)
    level = check_between(significance, "significance", 0, 1, closed="neither")
    wanted = check_between(power, "power", 0, 1, closed="neither")
    _check_findable(noise, side)

    def reached(n_rows: int) -> float:
        if design.sampled_by == "given" and design.is_small(n_rows):
            return given_power(*design.given_tables(n_rows), level, side)
        return _power(*design.centre(n_rows), level, side)

    n_rows = _fewest(reached, wanted)
    expected = design.expected(n_rows)
    positive = expected.given_positive if design.sampled_by == "given" else expected.n_positive
    n_runs = check_whole(runs, "runs", at_most=MOST_RUNS)
    found = _simulated(
        design,
        n_rows,
        alternative=side,
        level=level,
        runs=n_runs,
        seed=check_whole(seed, "seed"),
    )
    return AuditSize(
        n_rows=n_rows,
        n_negative=n_rows - round(positive),
        n_positive=round(positive),
        power=reached(n_rows),
        simulated_power=None if found is None else found / n_runs,
        simulated_interval=None if found is None else wilson_interval(found, n_runs),
        alpha=noise.alpha,
        beta=noise.beta,
        prior=design.prior,
        sampled_by=design.sampled_by,
        alternative=side,
        significance=level,
    )


def _read_design(
    noise: ClassConditionalNoise, prior: float | None, sampled_by: str, share: float | None
) -> AuditDesign:
    """Check how an audit will be drawn."""
    drawn: SampledBy = check_choice(sampled_by, "sampled_by", get_args(SampledBy))  # type: ignore[assignment]
    if prior is None and drawn != "true":
        raise InputError(
            f"prior is needed with sampled_by={drawn!r}: what share of the rows is truly positive?"
        )
    known = None
    if prior is not None:
        why = "it is a share of positives"
        known = check_between(prior, "prior", 0, 1, closed="neither", why=why)
    if drawn == "random" and share is not None:
        raise InputError(
            "share is chosen when rows are drawn by class; at random it is the prior: leave it out."
        )
    if drawn == "random":
        part = known
    else:
        part = check_between(0.5 if share is None else share, "share", 0, 1, closed="neither")
    return AuditDesign(noise, known, drawn, part or 0.0)


def _check_findable(noise: ClassConditionalNoise, alternative: Alternative) -> None:
    """Refuse noise without an asymmetry, or on the side that is not tested."""
    if noise.asymmetry == 0:
        raise InputError(f"alpha and beta are both {noise.alpha:g}: there is no asymmetry to find.")
    wrong_way = {"two-sided": 0.0, "greater": -1.0, "less": 1.0}[alternative]
    if wrong_way * noise.asymmetry > 0:
        raise InputError(
            f"alternative is {alternative!r} but beta - alpha is {noise.asymmetry:+g}: a "
            "one-sided test looks the other way."
        )


def _power(mean: float, spread: float, significance: float, alternative: Alternative) -> float:
    """Return the chance that z lies beyond its critical value."""
    if alternative != "two-sided":
        return float(ndtr((abs(mean) + ndtri(significance)) / spread))
    critical = -ndtri(significance / 2)
    return float(ndtr((abs(mean) - critical) / spread) + ndtr((-abs(mean) - critical) / spread))


def _fewest(reached: Callable[[int], float], wanted: float) -> int:
    """Return the smallest number of rows with the wanted power, by doubling and halving."""
    low, high = 2, 4
    while reached(high) < wanted:
        low, high = high, 2 * high
        if high > MOST_ROWS:
            raise InputError(
                f"more than {MOST_ROWS:,} rows would have to be audited: the flip rates are too "
                "close to tell apart. Look for a larger asymmetry."
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) >= wanted else (middle, high)
    return high


def _simulated(
    design: AuditDesign,
    n_rows: int,
    *,
    alternative: Alternative,
    level: float,
    runs: int,
    seed: int,
) -> int | None:
    """Return how many of the simulated audits find the noise."""
    if runs == 0:
        return None
    rng = np.random.default_rng(seed)
    known: dict[Flips, bool] = {}
    found = 0
    for _ in range(runs):
        flips, counts = design.draw(n_rows, rng)
        if flips not in known:
            both_seen = min(flips.n_positive, flips.n_negative) > 0
            known[flips] = both_seen and audit_pvalue(flips, alternative, counts) < level
        found += known[flips]
    return found
