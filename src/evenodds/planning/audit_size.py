"""How many rows to audit, before they are audited."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from scipy.special import ndtr, ndtri

from evenodds.errors import InputError
from evenodds.inference.audit.door import audit_pvalue
from evenodds.inference.audit.result import SampledBy
from evenodds.inference.profile import Alternative
from evenodds.inference.results import check_alternative
from evenodds.inference.wilson import wilson_interval
from evenodds.noise import ClassConditionalNoise, check_noise
from evenodds.planning.audit_design import AuditDesign
from evenodds.planning.given_power import given_power
from evenodds.validation import MOST_RUNS, check_between, check_choice, check_whole

if TYPE_CHECKING:
    from evenodds.inference.audit.counts import Flips

# No plan goes beyond this many rows.
MOST_ROWS = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSize:
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

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python values, ready for JSON."""
        return {"schema_version": 1, **asdict(self)}

    def __str__(self) -> str:
        from evenodds.report.audit_size_text import describe_audit_size

        return describe_audit_size(self)


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
