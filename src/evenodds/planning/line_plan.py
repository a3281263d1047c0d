"""How many cases a line test needs, from the scores at hand, before anybody is asked."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, stdtrit

from evenodds.errors import InputError
from evenodds.inference.cases.choose import FEWEST_CASES, choose_cases
from evenodds.inference.cases.line_fit import LineStatistic
from evenodds.inference.cases.record import Answers, check_answers, cut, read_scores
from evenodds.inference.cases.strata import (
    ALIKE,
    LEAST_DISPERSION,
    NOTHING,
    USUAL_DISPERSION,
    Strata,
)
from evenodds.inference.line.ladder import FEWEST_OF_A_CLASS
from evenodds.inference.line.line_test import DEFAULT_SHARED_TOLERANCE
from evenodds.inference.profile import Alternative
from evenodds.inference.results import Result, check_alternative
from evenodds.noise import ClassConditionalNoise, check_noise
from evenodds.planning.power import check_findable, fewest, harder_asymmetry, leaning
from evenodds.rows.labels import read_labels
from evenodds.validation import FloatArray, check_between, check_whole

Unknown = Literal["cases", "asymmetry", "power"]

MOST_CASES_PLANNED = 5000
# Beside the plan, the power of so many times its cases.
FACTORS = (0.5, 1, 2, 4)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LinePlan(Result):
    """A line test to be: the one unknown worked out, and the power around it.

    Attributes
    ----------
    unknown : {"cases", "asymmetry", "power"}
        What was worked out from the others.
    n_rows, n_cases, n_strata : int
        Rows with scores, cases to judge, and strata they are drawn from.
    noise : ClassConditionalNoise
        What is to be found.
    power : float
        The probability of finding it.
    answers, alternative : str
        The kind of answers, and the test.
    significance, shared_tolerance, dispersion : float
        Level of the test, how far an expert may lean, and what answers vary by as a share of
        yes and no.
    case_numbers, powers : tuple
        Power for other numbers of cases.
    """

    _schema: ClassVar[int] = 1

    unknown: Unknown
    n_rows: int
    n_cases: int
    n_strata: int
    noise: ClassConditionalNoise
    power: float
    answers: Answers
    alternative: Alternative
    significance: float
    shared_tolerance: float
    dispersion: float
    case_numbers: tuple[int, ...]
    powers: tuple[float, ...]

    def _rows(self, level: float) -> list[dict[str, Any]]:
        """Return the power for each number of cases around the plan."""
        return [
            {"n_cases": n_cases, "power": power}
            for n_cases, power in zip(self.case_numbers, self.powers, strict=True)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """A line test with everything settled but noise and cases."""

    scores: FloatArray
    given: FloatArray
    answers: Answers
    alternative: Alternative
    significance: float
    shared_tolerance: float
    dispersion: float
    _known: dict[int, tuple[FloatArray, FloatArray, FloatArray]] = field(default_factory=dict)

    def counted(self, n_cases: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return rows that count, the share of positive labels and the cases, a value a stratum."""
        if n_cases not in self._known:
            cases = choose_cases(self.scores, n_cases=n_cases)
            strata = cut(self.scores, cases.edges)
            rows = np.bincount(strata, minlength=cases.n_strata).astype(float)
            positive = np.bincount(strata, self.given, minlength=cases.n_strata)
            judged = np.bincount(cases.strata, minlength=cases.n_strata).astype(float)
            left = rows - judged if self.answers == "looked-up" else rows
            self._known[n_cases] = left, positive / rows, judged
        return self._known[n_cases]

    def power(self, noise: ClassConditionalNoise, n_cases: int) -> float:
        """Return the probability of a rejection: z on data just as expected, and its spread."""
        n, labelled, judged = self.counted(n_cases)
        slope = 1 - noise.alpha - noise.beta
        true = np.clip((labelled - noise.beta) / slope, 0, 1)
        given = noise.beta + slope * true
        spread = np.full(len(n), self.dispersion)
        if self.answers == "probability":
            # What is left once statements that are posteriors are regressed on labels.
            follows = slope**2 * spread * true * (1 - true)
            spread *= 1 - follows / np.maximum(given * (1 - given), follows + LEAST_DISPERSION)
        strata = Strata(n, n * given, judged, judged * true, spread, math.inf)
        if self.alike(n_cases) >= ALIKE:
            return 0.0
        centre = LineStatistic.of(strata, self.shared_tolerance).at_zero
        freedom = math.inf if self.answers == "looked-up" else n_cases - len(n)
        tail = self.significance / (2 if self.alternative == "two-sided" else 1)
        critical = -float(stdtrit(min(freedom, 1e9), tail))
        above, below = ndtr(centre - critical), ndtr(-centre - critical)
        found = {"two-sided": above + below, "greater": above, "less": below}[self.alternative]
        return float(found * self._both_spoken_of(judged, true))

    def alike(self, n_cases: int) -> float:
        """Return the p-value of labels that do not differ between strata, as the test has it."""
        n, labelled, judged = self.counted(n_cases)
        return float(Strata(n, n * labelled, judged, judged, judged, math.inf).alike())

    def _both_spoken_of(self, judged: FloatArray, true: FloatArray) -> float:
        """Return how likely chances of either class add up to what the test needs."""
        if self.answers == "looked-up":
            return 1.0
        error = math.sqrt(max(float((judged * self.dispersion * true * (1 - true)).sum()), NOTHING))
        sums = float(judged @ true), float(judged @ (1 - true))
        return float(np.prod(ndtr((np.array(sums) - FEWEST_OF_A_CLASS) / error)))


def line_plan(
    scores: ArrayLike,
    y: ArrayLike,
    *,
    n_cases: int | None = None,
    noise: ClassConditionalNoise | None = None,
    power: float | None = None,
    rate: float = 0.05,
    answers: Answers = "probability",
    positive: Any = None,
    alternative: Alternative = "two-sided",
    significance: float = 0.05,
    shared_tolerance: float | None = None,
    dispersion: float | None = None,
) -> LinePlan:
    """Plan a line test from scores at hand: leave out the one thing to be worked out.

    Parameters
    ----------
    scores, y : array-like
        Out-of-fold scores and given labels, as for `line_test`.
    n_cases : int, optional
        Cases to be judged.
    noise : ClassConditionalNoise, optional
        What is to be found.
    power : float, optional
        The probability of finding it. Of `n_cases`, `noise` and `power` exactly one is None.
    rate : float, default 0.05
        Flip rate of the class flipped less, where `noise` is sought.
    answers : {"probability", "looked-up"}
        What the answers will be.
    positive, alternative, shared_tolerance
        As for `line_test`.
    significance : float, default 0.05
        Level of the test.
    dispersion : float, optional
        Variance of an answer as a share of that of a yes or no; 0.4 by default for
        probabilities, 1 for looked-up answers.

    Returns
    -------
    LinePlan

    Raises
    ------
    InputError
        If not exactly one is left out, or no number of cases is enough.

    Examples
    --------
    >>> import evenodds as eo
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.beta(1, 2, size=20_000)
    >>> y = rng.random(20_000) < scores
    >>> noise = eo.ClassConditionalNoise(0.05, 0.2)
    >>> plan = eo.line_plan(scores, y, n_cases=60, noise=noise)
    >>> round(plan.power, 2)
    0.86
    >>> eo.line_plan(scores, y, noise=noise, power=0.8).n_cases
    46
    """
    labels = read_labels(y, positive)
    values = read_scores(scores)
    if len(labels) != len(values):
        raise InputError(f"y has {len(labels):,} labels but there are {len(values):,} scores.")
    kind = check_answers(answers)
    tolerance = DEFAULT_SHARED_TOLERANCE[kind] if shared_tolerance is None else shared_tolerance
    usual = USUAL_DISPERSION if kind == "probability" else 1.0
    spread = usual if dispersion is None else dispersion
    question = _Question(
        scores=values,
        given=labels.block(slice(None)),
        answers=kind,
        alternative=check_alternative(alternative),
        significance=check_between(significance, "significance", 0, 1, closed="neither"),
        shared_tolerance=check_between(tolerance, "shared_tolerance", 0, 0.5, closed="left"),
        dispersion=check_between(spread, "dispersion", LEAST_DISPERSION, 1),
    )
    unknown = _left_out(n_cases, noise, power)
    cases, found = _worked_out(question, n_cases, noise, power, rate)
    numbers = sorted({_possible(round(factor * cases), len(values)) for factor in FACTORS})
    return LinePlan(
        unknown=unknown,
        n_rows=len(values),
        n_cases=cases,
        n_strata=len(question.counted(cases)[0]),
        noise=found,
        power=question.power(found, cases),
        answers=kind,
        alternative=question.alternative,
        significance=question.significance,
        shared_tolerance=question.shared_tolerance,
        dispersion=question.dispersion,
        case_numbers=tuple(numbers),
        powers=tuple(question.power(found, number) for number in numbers),
    )


def _left_out(
    n_cases: int | None, noise: ClassConditionalNoise | None, power: float | None
) -> Unknown:
    given = {"cases": n_cases, "asymmetry": noise, "power": power}
    missing: list[Any] = [name for name, value in given.items() if value is None]
    if len(missing) != 1:
        raise InputError(
            "a plan works out one of n_cases, noise and power from the other two, but "
            f"{' and '.join(missing) or 'none'} of them "
            f"{'are' if len(missing) > 1 else 'is'} left out."
        )
    unknown: Unknown = missing[0]
    return unknown


def _worked_out(
    question: _Question, n_cases: Any, noise: Any, power: Any, rate: float
) -> tuple[int, ClassConditionalNoise]:
    """Return the cases and the noise of the plan, one of them as it must be."""
    most = _possible(MOST_CASES_PLANNED, len(question.scores))
    if n_cases is not None:
        check_whole(n_cases, "n_cases", at_least=FEWEST_CASES)
    if noise is not None:
        check_noise(noise)
    if power is not None:
        check_between(power, "power", question.significance, 1, closed="neither")
    alike = question.alike(most if n_cases is None else n_cases)
    if alike >= ALIKE:
        raise InputError(
            f"labels are much the same in all strata of the score (p = {alike:.2f}), so a test "
            "along it would show nothing, however many cases are judged: make a score that tells "
            "the labels apart."
        )
    if noise is None:
        check_between(rate, "rate", 0, 0.5, closed="left")
        return n_cases, _harder(question, n_cases, power, rate)
    if n_cases is not None:
        return n_cases, noise
    check_findable(noise, question.alternative)

    def enough(number: int) -> bool:
        return bool(question.power(noise, number) >= power)

    found = fewest(enough, FEWEST_CASES - 1, FEWEST_CASES, most) if enough(most) else None
    if found is None:
        raise InputError(
            f"no number of cases reaches a power of {power:g}: with {most:,} it is "
            f"{question.power(noise, most):.2f}. It takes a score that tells the classes apart "
            "better, or a smaller shared_tolerance."
        )
    return found, noise


def _possible(n_cases: int, n_rows: int) -> int:
    """Return a number of cases that these rows allow."""
    return max(FEWEST_CASES, min(n_cases, n_rows // 4))


def _harder(question: _Question, n_cases: int, power: float, rate: float) -> ClassConditionalNoise:
    """Return the smallest asymmetry that is found, in the direction that is harder to find."""

    def excess(noise: ClassConditionalNoise) -> float:
        return question.power(noise, n_cases) - power

    def refuse(sign: int, most: float) -> NoReturn:
        raise InputError(
            f"with {n_cases} cases no asymmetry is found with a power of {power:g}: plan more "
            "cases, or make a score that tells the classes apart better."
        )

    return leaning(rate, harder_asymmetry(excess, rate, question.alternative, refuse))
