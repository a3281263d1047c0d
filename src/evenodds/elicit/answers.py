"""What an expert answers, and which cases count as toss-ups by it."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """The answers there are."""

    negative = "negative"
    toss_up = "toss-up"
    positive = "positive"
    skip = "skip"


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
    verdict : Verdict
        What the expert said.
    chance : float or None
        Where the slider was put: of such cases, the share that is positive; None if untouched.
    time : str
        When, in UTC.
    """

    expert: str
    case: int
    occasion: int
    verdict: Verdict
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


def first_answers(answers: Sequence[Answer]) -> dict[str, dict[int, Answer]]:
    """Return each expert's first answers by case, without skipped cases."""
    first: dict[str, dict[int, Answer]] = defaultdict(dict)
    for answer in answers:
        if answer.occasion == 1 and answer.verdict is not Verdict.skip:
            first[answer.expert][answer.case] = answer
    return dict(first)
