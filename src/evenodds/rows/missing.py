"""Finding the values no fit can use, once a sum has shown there are some."""

import numpy as np

from evenodds.errors import InputError
from evenodds.rows.base import Block, Rows


class MissingPlaces:
    """How many values are missing or infinite, and where the first one is."""

    def __init__(self) -> None:
        self.n_missing = 0
        self.n_infinite = 0
        self.first: tuple[int, int] | None = None

    def add(self, block: Block) -> None:
        bad = ~np.isfinite(block.features)
        if not bad.any():
            return
        row, column = (int(places[0]) for places in np.nonzero(bad))
        number = block.start + row if block.numbers is None else int(block.numbers[row])
        self._note_place((number, column))
        n_missing = int(np.isnan(block.features).sum())
        self.n_missing += n_missing
        self.n_infinite += int(bad.sum()) - n_missing

    def merge(self, other: "MissingPlaces") -> None:
        self.n_missing += other.n_missing
        self.n_infinite += other.n_infinite
        if other.first is not None:
            self._note_place(other.first)

    def _note_place(self, place: tuple[int, int]) -> None:
        self.first = place if self.first is None else min(self.first, place)


def refuse_missing(rows: Rows) -> None:
    """Raise with the count and the first place, if any value is missing or infinite."""
    seen, advice = rows.as_read(), f"drop or fill them before testing{rows.advice_on_missing}"
    places = seen.sum_over_rows(MissingPlaces())
    if places.first is None and seen is not rows:
        seen, places = rows, rows.unheld().sum_over_rows(MissingPlaces())
        advice = "no row of the data lacks one, so change that term, or leave such rows out"
    if places.first is None:
        return
    counts = [
        f"{count} {kind}"
        for count, kind in ((places.n_missing, "missing"), (places.n_infinite, "infinite"))
        if count
    ]
    plural = "s" if places.n_missing + places.n_infinite > 1 else ""
    raise InputError(
        f"{rows.called} has {' and '.join(counts)} value{plural}, the first in "
        f"{seen.place(*places.first)}: {advice}."
    )
