"""What a reader chooses about a figure or a report."""

from dataclasses import dataclass

from evenodds.validation import check_between


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """At which level a result is read, and how large an asymmetry would be harmless."""

    significance: float = 0.05
    margin: float = 0.05

    def __post_init__(self) -> None:
        check_between(self.significance, "significance", 0, 1, closed="neither")
        check_between(self.margin, "margin", 0, 1, closed="neither")

    @property
    def percent(self) -> str:
        """The level in words, as ``5 %``, which no line breaks."""
        return f"{100 * self.significance:g}\N{NO-BREAK SPACE}%"

    def settings(self) -> list[tuple[str, str]]:
        """Return the choices by name, for the page."""
        return [("significance", f"{self.significance:g}"), ("margin", f"{self.margin:g}")]
