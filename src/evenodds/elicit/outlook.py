"""What could be found with the toss-ups so far, worked out aside so that no click waits."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

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


class Outlook:
    """Remembers what could be found, and works out the latest question in a thread."""

    def __init__(self, detect: Detect) -> None:
        self._detect = detect
        self._known: dict[Prospect, float | None] = {}
        self._asked: Prospect | None = None
        self._working = False
        self._lock = threading.Lock()

    def ask(self, prospect: Prospect) -> tuple[bool, float | None]:
        """Return whether it is known, and the asymmetry, None if none could be found."""
        with self._lock:
            if prospect in self._known:
                return True, self._known[prospect]
            self._asked = prospect
            if not self._working:
                self._working = True
                threading.Thread(target=self._work, daemon=True).start()
        return False, None

    def _work(self) -> None:
        """Work until nothing new is asked; questions overtaken meanwhile are left out."""
        while True:
            with self._lock:
                prospect = self._asked
                if prospect is None or prospect in self._known:
                    self._working = False
                    return
            try:
                found: float | None = self._detect(prospect)
            except InputError:
                found = None
            with self._lock:
                self._known[prospect] = found
