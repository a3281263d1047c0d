"""CPU time of each library, in rounds that take turns, and how exact each one was."""

import time
from dataclasses import dataclass

from benchmarks.data import Kind, make_data
from benchmarks.libraries import LIBRARIES, OURS, Answer
from benchmarks.reference import largest_gaps, newton_to_the_floor


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All libraries on one data set.

    Attributes
    ----------
    seconds : dict of str to list of float
        CPU seconds of every round, by library.
    coefficient_gap, covariance_gap : dict of str to float
        Distance from Newton run to the rounding floor, by library.
    """

    kind: Kind
    n_rows: int
    n_columns: int
    seconds: dict[str, list[float]]
    coefficient_gap: dict[str, float]
    covariance_gap: dict[str, float]

    def best(self, library: str) -> float:
        """Return the CPU seconds of the fastest round."""
        return min(self.seconds[library])

    def ratio(self, library: str) -> float:
        """Return how many times slower than evenodds a library is."""
        return self.best(library) / self.best(OURS)


def compare(kind: Kind, n_rows: int, n_columns: int, rounds: int) -> Comparison:
    """Time every library on the same data, one after the other in each round."""
    X, y = make_data(kind, n_rows, n_columns)
    seconds: dict[str, list[float]] = {name: [] for name in LIBRARIES}
    answers: dict[str, Answer] = {}
    for _ in range(rounds):
        for name, fit in LIBRARIES.items():
            started = time.process_time()
            answers[name] = fit(X, y)
            seconds[name].append(time.process_time() - started)
    reference = newton_to_the_floor(X, y)
    gaps = {name: largest_gaps(answer, reference) for name, answer in answers.items()}
    return Comparison(
        kind=kind,
        n_rows=n_rows,
        n_columns=n_columns,
        seconds=seconds,
        coefficient_gap={name: gap[0] for name, gap in gaps.items()},
        covariance_gap={name: gap[1] for name, gap in gaps.items()},
    )


def warm_up() -> None:
    """Load every library and run it once, so that no round pays for imports."""
    X, y = make_data("normal", 500, 3)
    for fit in LIBRARIES.values():
        fit(X, y)
