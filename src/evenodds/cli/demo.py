"""`evenodds demo`: the test on bundled data whose truth is known, and files to play with."""

from pathlib import Path

from evenodds.cli.options import OUTPUT, optional
from evenodds.cli.output import guarded, make_console, show_sheet, tell

EXAMPLES = """\
evenodds demo
evenodds demo --out demo"""


@guarded
def run_demo(
    out: Path | None = optional(
        OUTPUT,
        "Also write the files, a report, and what the examples in the help of the other "
        "commands run on.",
        "DIR",
    ),
) -> None:
    """Run the test on bundled, simulated data and show the truth afterwards."""
    from evenodds.anchors import Anchors
    from evenodds.inference.asymmetry import asymmetry_test
    from evenodds.report.html import write_report
    from evenodds.report.sheet import View, sheet_of
    from evenodds.simulation import demo, worlds
    from evenodds.validation import signed

    files = [] if out is None else demo.write_files(out)
    console = make_console()
    console.print(
        f"{worlds.N_ROWS:,} simulated patients, two measurements, and a recorded diagnosis. An "
        f"expert has named {worlds.N_ANCHORS} toss-ups: cases where either diagnosis was as "
        "likely. Are ill patients recorded as healthy more often than the other way round?\n"
    )
    anchors = Anchors(worlds.TOSS_UPS, tolerance=worlds.TOLERANCE)
    sheet = sheet_of(asymmetry_test(worlds.PATIENTS, worlds.LABEL, anchors), View())
    show_sheet(sheet)
    truth = worlds.TRUTH
    console.print(
        "\n[bold]The truth[/bold], known because a generator in this package wrote the data: "
        f"{truth.alpha:.0%} of ill patients are recorded as healthy and {truth.beta:.0%} of "
        f"healthy ones as ill, so beta − alpha is {signed(truth.asymmetry, 2)}.\n"
    )
    if out is not None:
        command = "evenodds test patients.csv --label diagnosis --anchors toss_ups.csv"
        report = write_report(sheet, out / "report.html", worlds.PATIENTS.name, command)
        for path in (*files, report):
            tell(f"wrote {path}")
        console.print(f"[bold]Try it[/bold]: open {report}, then\n  cd {out}\n  {command}")
        return
    console.print(
        "[bold]The same on your data[/bold]:\n"
        "  evenodds test rows.csv --label diagnosis --anchors toss_ups.csv\n"
        "[bold]Files to play with[/bold]:\n"
        "  evenodds demo --out demo"
    )
