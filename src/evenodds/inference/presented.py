"""How a result shows itself: its presenter is looked up when called, the one look upwards."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from evenodds.report.sheet import Sheet


class Presented:
    """A result that can be printed, drawn and reported."""

    __slots__ = ()

    def plot(self, kind: str, *, significance: float = 0.05, margin: float = 0.05) -> "Figure":
        """Draw one figure, each the answer to one question.

        Parameters
        ----------
        kind : str
            Which figure; the result's own page names them, and so does the answer to a
            wrong name.
        significance : float, default 0.05
            Level at which it is read.
        margin : float, default 0.05
            Size of an asymmetry that would be harmless.

        Returns
        -------
        matplotlib.figure.Figure
            No part of pyplot; ``savefig`` writes it as PNG, SVG or PDF.
        """
        from evenodds.report.pictures import draw_titled

        return draw_titled(_sheet(self, significance, margin), kind)

    def report(
        self,
        path: "str | Path",
        *,
        significance: float = 0.05,
        margin: float = 0.05,
        name: str | None = None,
    ) -> "Path":
        """Write the report: one HTML file that needs nothing else, and return its path.

        Parameters
        ----------
        path : str or Path
            Where to; the file appears whole or not at all.
        significance : float, default 0.05
            Level at which the result is read.
        margin : float, default 0.05
            Size of an asymmetry that would be harmless, for the equivalence test.
        name : str, optional
            Name of the data, for the title.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        from evenodds.report.html import Source, write_report
        from evenodds.report.view import View

        view = View(significance=significance, margin=margin)
        return write_report(self, path, view, Source(name=name))

    def _repr_html_(self) -> str:
        from evenodds.report.html import first_section
        from evenodds.report.view import View

        return first_section(self, View())

    def __str__(self) -> str:
        from evenodds.report.text import describe

        return describe(_sheet(self))


def _sheet(result: Presented, significance: float = 0.05, margin: float = 0.05) -> "Sheet":
    """Return what there is to say about a result."""
    from evenodds.report.sheets import sheet_of
    from evenodds.report.view import View

    return sheet_of(result, View(significance=significance, margin=margin))
