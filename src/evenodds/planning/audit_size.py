"""How many rows to audit, before they are audited.

There the score is not used, so no normal law foretells what is found. In small audits the
p-values of all tables are computed at once; in larger ones those of tables drawn.
"""

from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from evenodds.errors import InputError
from evenodds.inference.audit.audit_test import SMALL_CELL, audit_pvalue
from evenodds.inference.audit.counts import Flips
from evenodds.inference.audit.exact import is_small
from evenodds.inference.audit.result import SampledBy
from evenodds.inference.audit.score import AuditByGiven, GivenSample
from evenodds.inference.audit.stratified import Cells, StratifiedAudit
from evenodds.inference.cases.choose import FEWEST_CASES, edges_of, shares_of_cells
from evenodds.inference.cases.record import cut, read_scores
from evenodds.inference.looks import planned_looks
from evenodds.inference.multiplicity import wilson_interval
from evenodds.inference.profile import Alternative, Reference
from evenodds.inference.results import Result, check_alternative
from evenodds.noise import ClassConditionalNoise, check_noise
from evenodds.planning.exact_power import given_power, true_power
from evenodds.planning.expected_data import Centre
from evenodds.planning.power import check_findable, fewest
from evenodds.validation import MOST_RUNS, FloatArray, check_between, check_choice, check_whole

# With fewer rows of a class the power is that of the test itself, summed over all tables; at random
# it is the mean over so many equally likely draws.
FEW_ROWS, SIZES_DRAWN = 20, 100
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

    @property
    def labels(self) -> GivenSample:
        """Shares of wrong labels in either given class, and of positive ones."""
        return GivenSample.of(self.noise.alpha, self.noise.beta, self.prior or 0.0)

    def expected(self, n_rows: int) -> Flips:
        """Return the counts of an audit as expected, which need not be whole."""
        positive, negative = self.drawn(n_rows)
        if self.sampled_by == "given":
            wrong = self.labels.wrong_positive * positive, self.labels.wrong_negative * negative
            return _flips_by_given(n_rows, positive, *wrong)
        flipped = self.noise.alpha * positive, self.noise.beta * negative
        return Flips(positive, flipped[0], negative, flipped[1])  # type: ignore[arg-type]

    def by_given(self, n_rows: int) -> AuditByGiven:
        """Return an audit by given class as expected."""
        share, total = self.labels.positive_share, ROWS_AN_AUDITED_ROW * n_rows
        return AuditByGiven(self.expected(n_rows), (1 - share) * total, share * total)

    def whole_data(self, n_rows: int) -> tuple[int, int]:
        """Return how many rows of the data are labelled negative and positive."""
        audit = self.by_given(n_rows)
        return round(audit.given_negative), round(audit.given_positive)

    def centre(self, n_rows: int) -> Centre:
        """Return where z(0) is centred, and its standard deviation."""
        if self.sampled_by == "given":
            audit = self.by_given(n_rows)
            null = audit.constrained(0.0)
            spread, usual = (audit.variance(null, of, "asymmetry") for of in (audit.seen, null))
            return Centre(audit.at(0.0).z, float(np.sqrt(spread / usual)))
        flips = self.expected(n_rows)
        pooled = (flips.flipped_positive + flips.flipped_negative) / flips.n_rows
        each_row = 1 / flips.n_positive + 1 / flips.n_negative
        usual = pooled * (1 - pooled) * each_row
        alpha, beta = flips.alpha, flips.beta
        spread = alpha * (1 - alpha) / flips.n_positive + beta * (1 - beta) / flips.n_negative
        gap = abs(flips.asymmetry)
        if flips.fewest_expected < SMALL_CELL:
            # The exact test loses about half a row of either class.
            gap = max(gap - each_row / 2, 0.0)
        mean = np.copysign(gap, flips.asymmetry) / np.sqrt(usual)
        return Centre(float(mean), float(np.sqrt(spread / usual)))

    def power(self, n_rows: int, level: float, alternative: Alternative) -> float:
        """Return the chance to find the noise, of the test itself where it is a small one."""
        if self.sampled_by == "given":
            if not is_small(self.by_given(n_rows)):
                return self.centre(n_rows).power(level, alternative)
            positive, negative = map(int, self.drawn(n_rows))
            wrong = self.labels.wrong_positive, self.labels.wrong_negative
            counts = self.whole_data(n_rows)
            return given_power((positive, negative), counts, wrong, level, alternative)
        if min(self.drawn(n_rows)) >= FEW_ROWS:
            return self.centre(n_rows).power(level, alternative)
        positives = [int(self.drawn(n_rows)[0])]
        if self.sampled_by == "random":
            middles = (np.arange(SIZES_DRAWN) + 0.5) / SIZES_DRAWN
            positives = binom.ppf(middles, n_rows, self.share).astype(int).tolist()
        flipped = self.noise.alpha, self.noise.beta
        chances = [true_power((n, n_rows - n), flipped, level, alternative) for n in positives]
        return float(np.mean(chances))

    def draw(self, n_rows: int, rng: np.random.Generator) -> tuple[Flips, tuple[int, int] | None]:
        """Draw an audit, and the counts of the whole data where the test needs them."""
        positive = self.drawn(n_rows)[0]
        if self.sampled_by == "random":
            positive = rng.binomial(n_rows, self.share)
        sizes = [int(positive), n_rows - int(positive)]
        if self.sampled_by == "given":
            wrong = rng.binomial(sizes, self.labels.vector[:2]).tolist()
            return _flips_by_given(n_rows, sizes[0], *wrong), self.whole_data(n_rows)
        flipped = rng.binomial(sizes, [self.noise.alpha, self.noise.beta]).tolist()
        return Flips(sizes[0], flipped[0], sizes[1], flipped[1]), None


def _flips_by_given(
    n_rows: int, positive: float, wrong_positive: float, wrong_negative: float
) -> Flips:
    """Return the flips of an audit by the rows labelled positive, and the wrong labels."""
    truly = positive - wrong_positive + wrong_negative
    return Flips(truly, wrong_negative, n_rows - truly, wrong_positive)  # type: ignore[arg-type]


# No plan goes beyond this many rows.
MOST_ROWS = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStratum:
    """Rows to audit within one step of the score, of one given label.

    Attributes
    ----------
    low, high : float
        Scores it lies between.
    labelled_positive : bool
        The label of its rows.
    n_rows : int
        Rows to audit.
    wrong : float
        Share of its labels that are wrong, if flip rates are as assumed.
    """

    low: float
    high: float
    labelled_positive: bool
    n_rows: int
    wrong: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AuditSize(Result):
    """How many rows to audit.

    Attributes
    ----------
    n_rows : int
        Rows to audit.
    n_negative, n_positive : int
        Of these, of the negative and of the positive class: as drawn, or, at random, as expected.
    power : float
        Probability of finding the noise with so many rows: by the normal approximation, or, with
        few rows of a class or, by given class, few wrong labels, of the test itself.
    simulated_power : float or None
        Share of simulated audits that find it; None without simulation.
    simulated_interval : tuple of float or None
        95% interval of that share.
    alpha, beta : float
        The flip rates to be found.
    prior : float or None
        Share of rows that are truly positive.
    sampled_by, alternative, significance
        How rows are drawn and the test is read.
    split : tuple of PlannedStratum
        With scores: rows to audit of every stratum and given label.
    saves : float or None
        With scores: rows that a random audit would need, over those of this one.
    """

    _schema: ClassVar[int] = 2

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
    split: tuple[PlannedStratum, ...] = ()
    saves: float | None = None

    def looks(self, n_looks: int) -> tuple[int, ...]:
        """Return rows at each of 2 to 5 looks that together have the power of this audit.

        For ``audit_test(..., looks=)``: equal steps, the last a few in a hundred beyond `n_rows`.

        Examples
        --------
        >>> import evenodds as eo
        >>> plan = eo.audit_size(eo.ClassConditionalNoise(alpha=0.3, beta=0.1), prior=0.4)
        >>> plan.n_rows, plan.looks(4)
        (139, (36, 71, 107, 142))
        """
        sides = 2 if self.alternative == "two-sided" else 1
        power = max(self.power, self.significance)
        return planned_looks(self.n_rows, n_looks, self.significance, sides, power)


# Of a label that a stratum is not expected to have.
NO_ROWS = 1e-9


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """An audit along a score as `choose_cases` would draw it, with flips as assumed."""

    edges: FloatArray  # of the strata, those of the whole scale included
    expected: Cells  # labelled negative and positive in turn, stratum by stratum
    noise: ClassConditionalNoise

    @classmethod
    def of(cls, scores: FloatArray, noise: ClassConditionalNoise, n_rows: int) -> "ScoredRows":
        """Work out the flips of every cell, if they depend on the class alone."""
        slope = 1 - noise.alpha - noise.beta
        inner = edges_of(scores, n_rows)
        step = cut(scores, inner)
        n = np.bincount(step).astype(float)
        true = np.clip((np.bincount(step, scores) / n - noise.beta) / slope, 0.0, 1.0)
        given = noise.beta + slope * true
        labelled = np.column_stack([1 - given, given])
        flipped = np.column_stack([noise.alpha * true, noise.beta * (1 - true)])
        wrong = np.divide(flipped, labelled, out=np.zeros_like(flipped), where=labelled > 0)
        rows = np.maximum(n[:, None] * labelled, NO_ROWS).ravel()
        split = shares_of_cells(np.ceil(rows).astype(np.intp), n_rows).astype(float)
        is_positive = np.arange(len(rows)) % 2 == 1
        cells = Cells(np.maximum(rows, split), split, split * wrong.ravel(), is_positive)
        return cls(np.concatenate([[0.0], inner, [1.0]]), cells, noise)

    def power(self, level: float, alternative: Alternative) -> float:
        """Return the chance to find the noise: z is centred where it is at the expected counts."""
        z = StratifiedAudit(self.expected).z(0.0)
        shares = self.expected.wrong / self.expected.audited
        part = self.expected.part(self.expected.seen, "asymmetry")
        deviation = np.sqrt((part**2 * shares * (1 - shares) / self.expected.audited).sum())
        usual = abs(self.noise.asymmetry) / max(abs(z), NO_ROWS)
        return Centre(z, float(deviation / usual)).power(level, alternative)

    def simulated(self, level: float, alternative: Alternative, runs: int, seed: int) -> int:
        """Return how many of some audits drawn find the noise."""
        rng, cells, found = np.random.default_rng(seed), self.expected, 0
        chances = np.clip(cells.wrong / cells.audited, 0.0, 1.0)
        for _ in range(runs):
            wrong = rng.binomial(cells.audited.astype(int), chances).astype(float)
            z = StratifiedAudit(replace(cells, wrong=wrong)).z(0.0)
            found += Reference().pvalue(z, alternative) < level
        return found

    @property
    def split(self) -> tuple[PlannedStratum, ...]:
        """Rows to audit, cell by cell."""
        cells = self.expected
        return tuple(
            PlannedStratum(
                low=float(self.edges[place // 2]),
                high=float(self.edges[place // 2 + 1]),
                labelled_positive=bool(cells.positive[place]),
                n_rows=int(audited),
                wrong=float(cells.wrong[place] / audited),
            )
            for place, audited in enumerate(cells.audited)
        )


def _along_scores(
    scores: FloatArray,
    noise: ClassConditionalNoise,
    settings: tuple[float, float, Alternative],
    runs: int,
    seed: int,
) -> AuditSize:
    """Return how many rows to audit along a score, beside a random audit."""
    wanted, level, side = settings
    most = len(scores) // 2

    def enough(n_rows: int) -> bool:
        return n_rows <= most and ScoredRows.of(scores, noise, n_rows).power(level, side) >= wanted

    high = fewest(enough, FEWEST_CASES, FEWEST_CASES, most)
    if high is None:
        raise InputError(
            f"more than {most:,} rows would have to be audited, half of those in scores: the "
            "flip rates are too close to tell apart in these rows."
        )
    plan = ScoredRows.of(scores, noise, high)
    at_random = audit_size(
        noise, prior=plan.expected.seen.prior, power=wanted, alternative=side, significance=level
    )
    found = plan.simulated(level, side, runs, seed)
    labelled_positive = int(plan.expected.audited[plan.expected.positive].sum())
    return replace(
        at_random,
        n_rows=high,
        n_positive=labelled_positive,
        n_negative=high - labelled_positive,
        power=plan.power(level, side),
        simulated_power=found / runs if runs else None,
        simulated_interval=wilson_interval(found, runs) if runs else None,
        sampled_by="given",
        split=plan.split,
        saves=at_random.n_rows / high,
    )


def audit_size(
    noise: ClassConditionalNoise,
    *,
    prior: float | None = None,
    sampled_by: SampledBy = "random",
    share: float | None = None,
    scores: ArrayLike | None = None,
    power: float = 0.8,
    alternative: Alternative = "two-sided",
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
    scores : array-like of float, optional
        For each row of the data, the probability that its given label is positive: rows are
        then split over strata of it, and both labels, as ``choose_cases(..., given=)`` does, and
        `saves` tells what that saves. Without `prior`, `share` and `sampled_by`.
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
    exact. With fewer than 20 rows of a class its power is summed over all tables. With `scores`
    flips are taken to depend on the class alone, so that the share wrong in each stratum follows.
    Rows go by the root of those there are: a split that is best for assumed rates (Neyman's)
    leaves strata nearly empty that the test, which assumes no rates, must then allow anything in.
    By given class, where few wrong labels are expected, power is that of the exact test itself,
    summed over all tables, or over tables drawn where there are too many. `runs` checks it.

    Examples
    --------
    >>> import numpy as np
    >>> import evenodds as eo
    >>> noise = eo.ClassConditionalNoise(alpha=0.2, beta=0.1)
    >>> eo.audit_size(noise, prior=0.5).n_rows
    398
    >>> eo.audit_size(noise, prior=0.1).n_rows  # rare positives are rarely audited
    987
    >>> true = 1 / (1 + np.exp(-2.2 * np.random.default_rng(0).normal(size=5000)))
    >>> plan = eo.audit_size(noise, scores=0.1 + 0.7 * true)  # a score that knows much
    >>> plan.n_rows, round(plan.saves, 1)
    (140, 2.8)
    """
    check_noise(noise)
    side = check_alternative(alternative)
    level = check_between(significance, "significance", 0, 1, closed="neither")
    wanted = check_between(power, "power", 0, 1, closed="neither")
    check_findable(noise, side)
    if scores is not None:
        if prior is not None or share is not None or sampled_by != "random":
            raise InputError(
                "prior, share and sampled_by are not asked with scores: rows are drawn by score "
                "and given label, and the scores tell the share of positives. Leave them out."
            )
        times = check_whole(runs, "runs", at_most=MOST_RUNS)
        seed = check_whole(seed, "seed")
        return _along_scores(read_scores(scores), noise, (wanted, level, side), times, seed)
    design = _read_design(noise, prior, sampled_by, share)

    @cache
    def reached(n_rows: int) -> float:
        return design.power(n_rows, level, side)

    n_rows = fewest(lambda n_rows: reached(n_rows) >= wanted, 2, 4, MOST_ROWS)
    if n_rows is None:
        raise InputError(
            f"more than {MOST_ROWS:,} rows would have to be audited: the flip rates are too close "
            "to tell apart. Look for a larger asymmetry."
        )
    expected = design.expected(n_rows)
    positive = expected.given_positive if design.sampled_by == "given" else expected.n_positive
    n_runs = check_whole(runs, "runs", at_most=MOST_RUNS)
    rng = np.random.default_rng(check_whole(seed, "seed"))
    drawn = Counter(design.draw(n_rows, rng) for _ in range(n_runs))
    found = sum(
        times
        for (flips, counts), times in drawn.items()
        if min(flips.n_positive, flips.n_negative) > 0 and audit_pvalue(flips, side, counts) < level
    )
    return AuditSize(
        n_rows=n_rows,
        n_negative=n_rows - round(positive),
        n_positive=round(positive),
        power=reached(n_rows),
        simulated_power=found / n_runs if n_runs else None,
        simulated_interval=wilson_interval(found, n_runs) if n_runs else None,
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
    if prior is not None:
        why = "it is a share of positives"
        prior = check_between(prior, "prior", 0, 1, closed="neither", why=why)
    if drawn == "random" and share is not None:
        raise InputError(
            "share is chosen when rows are drawn by class; at random it is the prior: leave it out."
        )
    if drawn == "random":
        share = prior
    part = check_between(0.5 if share is None else share, "share", 0, 1, closed="neither")
    return AuditDesign(noise, prior, drawn, part)
