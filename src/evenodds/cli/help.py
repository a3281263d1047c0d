"""How a command explains itself: its options by panel, and examples as they are typed."""

from typing import Any

from typer.core import TyperCommand


class PanelledCommand(TyperCommand):
    """A command whose help has its options by panel; its epilog is lines to type.

    Plain text, as rich's boxes would cost a terminal of 80 columns a tenth of its width.
    """

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what follows the name in the line of usage."""
        return ["[OPTIONS]", *(_named(one) for one in self.get_params(ctx) if _is_argument(one))]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options of each panel, those of none last."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for one in self.get_params(ctx):
            record = one.get_help_record(ctx)
            if record is not None:
                name = _named(one) if _is_argument(one) else record[0]
                panel = getattr(one, "rich_help_panel", None) or "Options"
                panels.setdefault(panel, []).append((name, record[1]))
        for title, records in panels.items():
            with formatter.section(title):
                formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, unbroken so that they can be copied."""
        if self.epilog:
            with formatter.section("Examples, on the files of evenodds demo --out DIR"):
                for line in self.epilog.splitlines():
                    formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def _named(argument: Any) -> str:
    """Return an argument as it is written in help."""
    return f"{argument.metavar}{'...' if argument.nargs == -1 else ''}"
