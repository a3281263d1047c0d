"""The figures of any result, drawn by name."""

from matplotlib.figure import Figure

from evenodds.errors import InputError
from evenodds.report.sheet import Sheet, SheetPicture
from evenodds.report.style import in_house_style
from evenodds.validation import check_choice


def draw_titled(sheet: Sheet, kind: str) -> Figure:
    """Return one figure of a result under its question."""
    pictures = sheet.pictures()
    picture = pictures[check_choice(kind, "kind", pictures)]
    if picture.why_not:
        raise InputError(f"kind {kind!r} cannot be drawn: {picture.why_not}.")
    figure = picture.draw()
    _add_title(figure, picture.question)
    return figure


def drawable(pictures: dict[str, SheetPicture]) -> dict[str, SheetPicture]:
    """Return the figures that a result has."""
    return {kind: picture for kind, picture in pictures.items() if not picture.why_not}


@in_house_style
def _add_title(figure: Figure, title: str) -> None:
    figure.axes[0].set_title(title, loc="left", pad=6)
