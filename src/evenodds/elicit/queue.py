"""Who sees which case next: an order for each expert, with some cases coming back."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenodds.elicit.answers import Answer, Verdict
from evenodds.elicit.candidates import PARTS

# A case comes back after at least this many others, so that it is judged and not remembered.
GAP = 10
# Of the cases that come back, every third is no toss-up: else coming back would tell.
TOSS_UPS_IN_A_ROW = 2


@dataclass(frozen=True, slots=True)
class Question:
    """A case to ask about now."""

    case: int
    occasion: int
    number: int  # questions answered before this one


@dataclass(frozen=True, slots=True)
class Queue:
    """The cases of a sitting, in the order they were chosen.

    Every expert gets all of them, so that experts can be compared, and in an order of
    their own, so that tiredness does not fall on the same cases.
    """

    cases: tuple[int, ...]
    n_repeats: int
    seed: int

    @property
    def n_questions(self) -> int:
        """How many questions a whole sitting has."""
        return len(self.cases) + self.n_repeats

    def next_question(self, expert: str, answered: Sequence[Answer]) -> Question | None:
        """Return what to ask an expert after these answers; None at the end."""
        number = len(answered)
        seen = {answer.case for answer in answered}
        fresh = next((case for case in self._order(expert) if case not in seen), None)
        if fresh is None or self._is_turn_of_a_repeat(number):
            again = self._repeat(expert, answered)
            if again is not None:
                return Question(again, 2, number)
        return None if fresh is None else Question(fresh, 1, number)

    def _order(self, expert: str) -> list[int]:
        """Shuffle within rounds over the band: a sitting broken off is spread evenly too."""
        rng = np.random.default_rng([self.seed, _code(expert)])
        rounds = [self.cases[start : start + PARTS] for start in range(0, len(self.cases), PARTS)]
        return [int(case) for cases in rounds for case in rng.permutation(cases)]

    def _is_turn_of_a_repeat(self, number: int) -> bool:
        if self.n_repeats == 0:
            return False
        return number % max(self.n_questions // self.n_repeats, 2) == 1

    def _repeat(self, expert: str, answered: Sequence[Answer]) -> int | None:
        """Return a case to ask again, if any has been away long enough."""
        repeated = [answer for answer in answered if answer.occasion == 2]
        if len(repeated) == self.n_repeats:
            return None
        taken = {answer.case for answer in repeated}
        away = [
            answer
            for answer in answered[: max(len(answered) - GAP, 0)]
            if answer.occasion == 1
            and answer.case not in taken
            and answer.verdict is not Verdict.skip
        ]
        wants_toss_up = len(repeated) % (TOSS_UPS_IN_A_ROW + 1) < TOSS_UPS_IN_A_ROW
        liked = [a for a in away if (a.verdict is Verdict.toss_up) == wants_toss_up] or away
        if not liked:
            return None
        rng = np.random.default_rng([self.seed, _code(expert), len(answered)])
        return liked[int(rng.integers(len(liked)))].case


def _code(expert: str) -> int:
    """Return a number for a name, the same in every run."""
    return zlib.crc32(expert.encode())
