"""What could be found with the toss-ups so far, worked out aside so that no click waits."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from evenodds.elicit.tolerance import Judgement
from evenodds.errors import InputError

# Numbers of toss-ups that are worked out; between them the lower one is shown, which is safe.
STEPS = (3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128)


@dataclass(frozen=True, slots=True)
class Prospect:
    """Toss-ups as a plan knows them: so many, known so well."""

    n_anchors: int
    tolerance: float
    shared_tolerance: float

    @classmethod
    def of(cls, n_toss_ups: int, judgement: Judgement) -> "Prospect | None":
        """Round what there is to what is worth working out; None below the first step."""
        reached = [step for step in STEPS if step <= n_toss_ups]
        if not reached:
            return None
        typical = (judgement.width**2 + 3 * judgement.blur**2) ** 0.5
        # Rounded up to steps of 0.02 and 0.01, so that an answer seldom starts new work.
        own, shared = -(-typical // 0.02) * 0.02, -(-judgement.shared_tolerance // 0.01) * 0.01
        return cls(reached[-1], min(round(own, 2), 0.3), round(shared, 2))


# Works out the asymmetry that a test would find; raises InputError where it would find none.
Detect = Callable[[Prospect], float]


@dataclass(frozen=True, slots=True)
class View:
    """What can be said now: nothing yet, nothing ever, or the latest that was worked out."""

    state: Literal["unknown", "unavailable", "known"]
    asymmetry: float | None = None  # None where no asymmetry could be found
    working: bool = False  # something newer is on its way


class Preview:
    """Remembers what could be found, and works out the latest question in a thread.

    Parameters
    ----------
    prepare : callable
        Returns what works questions out; called in the thread, once, as it takes a while.
    """

    def __init__(self, prepare: Callable[[], Detect]) -> None:
        self._prepare = prepare
        self._detect: Detect | None = None
        self._broken = False
        self._known: dict[Prospect, float | None] = {}
        self._asked: Prospect | None = None
        self._last = View("unknown")
        self._working = False
        self._lock = threading.Lock()

    def ask(self, prospect: Prospect) -> View:
        """Return what is known of it; until it is, what was last known of others."""
        with self._lock:
            if prospect in self._known:
                self._last = View("known", self._known[prospect])
                return self._last
            if self._broken:
                return View("unavailable")
            self._asked = prospect
            if not self._working:
                self._working = True
                threading.Thread(target=self._work, daemon=True).start()
            return replace(self._last, working=True)

    def _work(self) -> None:
        """Work until nothing new is asked; questions overtaken meanwhile are left out."""
        while True:
            with self._lock:
                prospect = self._asked
                if prospect is None or prospect in self._known or self._broken:
                    self._working = False
                    return
            try:
                found = self._work_out(prospect)
            except Exception:  # an preview is an extra: whatever goes wrong, the session goes on
                with self._lock:
                    self._broken = True
                continue
            with self._lock:
                self._known[prospect] = found

    def _work_out(self, prospect: Prospect) -> float | None:
        if self._detect is None:
            self._detect = self._prepare()
        try:
            return self._detect(prospect)
        except InputError:
            return None
