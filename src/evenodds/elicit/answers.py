"""What an expert answers, which cases count as toss-ups by it, and how well those are known.

An expert sees a case of true posterior p as ``p + lean + blur`` and calls it a toss-up if
that is within `width` of 1/2. Cases are spread evenly, so given a toss-up p is off 1/2 by the
lean, which all toss-ups share, and by an independent error of variance
``width^2/3 + blur^2`` (docs/elicit.md, "What the answers are worth").
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations, permutations
from math import exp, pi, sqrt

from scipy.optimize import brentq
from scipy.special import ndtr


class Verdict(StrEnum):
    """The answers there are; a case along a score is stated to have a chance, or looked up."""

    negative = "negative"
    toss_up = "toss-up"
    positive = "positive"
    skip = "skip"
    stated = "stated"


class Chances(str):
    """What is said of three classes and more: the chance of each in 100, as ``60,0,40``."""

    __slots__ = ()

    @property
    def value(self) -> str:
        """As it is written."""
        return str(self)

    @property
    def shares(self) -> tuple[float, ...]:
        """The chance of each class."""
        return tuple(float(part) / 100 for part in self.split(","))


def read_verdict(text: str) -> Verdict | Chances:
    """Return an answer as it was kept; a ValueError where it is none."""
    if "," not in text:
        return Verdict(text)
    said = Chances(text)
    if not abs(sum(said.shares) - 1) < 1e-3:
        raise ValueError(f"{text} are no chances")
    return said


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer of one expert about one case.

    Attributes
    ----------
    expert : str
        Who answered.
    case : int
        Row number of the case in the data.
    occasion : int
        1 when the expert saw the case for the first time, 2 when it came back.
    verdict : Verdict or Chances
        What the expert said.
    chance : float or None
        Where the slider was put: of such cases, the share that is positive; None if untouched.
    time : str
        When, in UTC.
    """

    expert: str
    case: int
    occasion: int
    verdict: Verdict | Chances
    chance: float | None
    time: str


@dataclass(frozen=True, slots=True)
class TossUp:
    """A case that counts as a toss-up."""

    case: int
    posterior: float  # as the slider states it on average; 1/2 where it was not touched
    experts: tuple[str, ...]  # who said so


# A toss-up put further from 1/2 than this by its own slider is no toss-up.
FARTHEST = 0.15


def toss_ups(answers: Iterable[Answer]) -> list[TossUp]:
    """Return the cases that more than half of the answers call a toss-up, in order of row."""
    by_case: dict[int, list[Answer]] = defaultdict(list)
    for answer in answers:
        if answer.verdict is not Verdict.skip:
            by_case[answer.case].append(answer)
    found = []
    for case, given in sorted(by_case.items()):
        said = [answer for answer in given if answer.verdict is Verdict.toss_up]
        if 2 * len(said) <= len(given):
            continue
        chances = [0.5 if answer.chance is None else answer.chance for answer in said]
        posterior = sum(chances) / len(chances)
        if abs(posterior - 0.5) <= FARTHEST:
            found.append(TossUp(case, posterior, tuple(sorted({a.expert for a in said}))))
    return found


# What the page calls a toss-up, 40 to 60 of 100 such cases, counts as this many sliders.
STATED_WIDTH, STATED_COUNTS_AS = 0.1, 5
# The same for the number of toss-ups: few answers say little about how wide they are.
COUNT_COUNTS_AS = 10
# How far one expert may lean unseen, as a half-width; it counts as one expert more.
UNSEEN_LEAN = 0.03
# Repeats see what changes within an hour only, so an error is never taken to be smaller.
LEAST_TOLERANCE = 0.05
# A vaguer toss-up than this is hardly one; it also keeps every error inside (0, 1).
MOST_TOLERANCE, MOST_SHARED = 0.25, 0.09
# Blur in widths, beyond which agreement is that of guessing.
MOST_BLUR = 5.0
SIDE: dict[str, int] = {Verdict.negative: -1, Verdict.toss_up: 0, Verdict.positive: 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """How well experts know a toss-up when they see one.

    Attributes
    ----------
    toss_ups : tuple of TossUp
        The cases that count as toss-ups.
    width : float
        Half-width of what is called a toss-up.
    blur : float
        Standard error of one look at a case.
    consistency : float or None
        Share of toss-ups that were called so again when they came back; None without repeats.
    n_repeats : int
        Toss-ups that came back.
    agreement : float or None
        Share of toss-ups that another expert calls so too; None with one expert.
    shared_tolerance : float
        Half-width of the error that all toss-ups share.
    """

    toss_ups: tuple[TossUp, ...]
    width: float
    blur: float
    consistency: float | None
    n_repeats: int
    agreement: float | None
    shared_tolerance: float

    def tolerance(self, toss_up: TossUp) -> float:
        """Return the half-width of the error of one toss-up; more experts blur it less."""
        squared = self.width**2 + 3 * self.blur**2 / len(toss_up.experts)
        return min(max(sqrt(squared), LEAST_TOLERANCE), MOST_TOLERANCE)


FirstAnswers = dict[str, dict[int, Answer]]  # of each expert, by case


def _first_answers(answers: Sequence[Answer]) -> FirstAnswers:
    """Return each expert's first answers by case, without skipped cases."""
    first: FirstAnswers = defaultdict(dict)
    for answer in answers:
        if answer.occasion == 1 and answer.verdict is not Verdict.skip:
            first[answer.expert][answer.case] = answer
    return dict(first)


def judge(
    answers: Sequence[Answer], *, breadth: float, unseen_lean: float = UNSEEN_LEAN
) -> Judgement:
    """Work out toss-ups and tolerances from answers about cases spread evenly over `breadth`."""
    found, first = toss_ups(answers), _first_answers(answers)
    width = _width(answers, first, breadth)
    again, others = _pairs_of_repeats(answers, first), _pairs_of_experts(first)
    within, between = _blur(again, width), _blur(others, width) if others else 0.0
    return Judgement(
        toss_ups=tuple(found),
        width=width,
        blur=max(within, between),
        consistency=_agreeing(again),
        n_repeats=len(again),
        agreement=_agreeing(others),
        shared_tolerance=_shared(first, found, width, unseen_lean),
    )


def agreement_of(blur: float) -> float:
    """Return how often a toss-up is called one again, by blur in units of the width.

    The two looks differ by D of variance ``2 blur^2``; a first look is anywhere in the width,
    so the second stays within it with probability ``E max(0, 1 - |D| / 2)``.
    """
    if blur <= 0:
        return 1.0
    spread = sqrt(2) * blur
    inside = 2 * float(ndtr(2 / spread)) - 1
    return inside - spread / sqrt(2 * pi) * (1 - exp(-2 / spread**2))


def _width(answers: Sequence[Answer], first: FirstAnswers, breadth: float) -> float:
    """Return the wider of what experts say a toss-up is and what they do.

    A slider within the width is anywhere in it, so its mean square is ``width^2 / 3``; and of
    cases spread over `breadth` a share of ``2 width / breadth`` is called a toss-up.
    """
    put = [a.chance for a in answers if a.verdict is Verdict.toss_up and a.chance is not None]
    squares = 3 * sum((chance - 0.5) ** 2 for chance in put)
    said = sqrt((STATED_COUNTS_AS * STATED_WIDTH**2 + squares) / (STATED_COUNTS_AS + len(put)))
    seen = [answer for by_case in first.values() for answer in by_case.values()]
    n_toss_ups = sum(answer.verdict is Verdict.toss_up for answer in seen)
    counted = n_toss_ups * breadth / 2 + COUNT_COUNTS_AS * STATED_WIDTH
    return max(said, counted / (len(seen) + COUNT_COUNTS_AS))


Pair = tuple[Answer, Answer]  # of one case: a toss-up, and another look at it


def _pairs_of_repeats(answers: Sequence[Answer], first: FirstAnswers) -> list[Pair]:
    """Return toss-ups with what the same expert said when they came back."""
    pairs = []
    for later in answers:
        before = first.get(later.expert, {}).get(later.case)
        if later.occasion == 1 or later.verdict is Verdict.skip or before is None:
            continue
        if before.verdict is Verdict.toss_up:
            pairs.append((before, later))
    return pairs


def _pairs_of_experts(first: FirstAnswers) -> list[Pair]:
    """Return toss-ups of each expert with what every other said of them."""
    return [
        (said, first[other][case])
        for one, other in permutations(first, 2)
        for case, said in first[one].items()
        if said.verdict is Verdict.toss_up and case in first[other]
    ]


def _agreeing(pairs: Sequence[Pair]) -> float | None:
    """Return the share of pairs in which the other look is a toss-up too."""
    if not pairs:
        return None
    return sum(later.verdict is Verdict.toss_up for _, later in pairs) / len(pairs)


def _blur(pairs: Sequence[Pair], width: float) -> float:
    """Return the standard error of a look, from verdicts and, where both have one, sliders.

    One agreeing and one disagreeing pair are added: without repeats little is known.
    """
    agreeing = sum(later.verdict is Verdict.toss_up for _, later in pairs)
    share = (agreeing + 1) / (len(pairs) + 2)
    if share <= agreement_of(MOST_BLUR):
        by_verdict = MOST_BLUR * width
    else:
        by_verdict = width * brentq(lambda blur: agreement_of(blur) - share, 0, MOST_BLUR)
    gaps = [
        before.chance - later.chance
        for before, later in pairs
        if before.chance is not None and later.chance is not None
    ]
    weight = len(pairs) + 2
    squares = weight * by_verdict**2 + sum(gap**2 for gap in gaps) / 2
    return sqrt(squares / (weight + len(gaps)))


def _shared(
    first: FirstAnswers, found: Sequence[TossUp], width: float, unseen_lean: float
) -> float:
    """Return the half-width of what all toss-ups share: the mean lean of their experts.

    Moving every look of an expert by b moves as many cases from negative to toss-up as from
    toss-up to positive, so b is the difference of two experts' sums of sides, a toss-up, times
    the width. One expert's own lean is invisible and taken as stated.
    """
    squares = []
    for one, other in combinations(first, 2):
        both = first[one].keys() & first[other].keys()
        pairs = [(first[one][case].verdict, first[other][case].verdict) for case in both]
        n_toss_ups = sum((a is Verdict.toss_up) + (b is Verdict.toss_up) for a, b in pairs) / 2
        if n_toss_ups:
            lean = width * sum(SIDE[a] - SIDE[b] for a, b in pairs) / n_toss_ups
            squares.append(lean**2 / 2)
    variance = unseen_lean**2 / 3
    if squares:
        extra = len(first) - 1
        variance = (variance + extra * sum(squares) / len(squares)) / (1 + extra)
    return min(sqrt(3 * variance / _experts_at_work(found)), MOST_SHARED)


def _experts_at_work(found: Sequence[TossUp]) -> float:
    """Return the number of experts behind the toss-ups; one who named few counts little."""
    shares: dict[str, float] = defaultdict(float)
    for toss_up in found:
        for expert in toss_up.experts:
            shares[expert] += 1 / len(toss_up.experts)
    if not shares:
        return 1.0
    return sum(shares.values()) ** 2 / sum(share**2 for share in shares.values())
