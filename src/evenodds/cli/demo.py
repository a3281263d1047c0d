"""`evenodds demo`: the main job on bundled data whose truth is known."""

from evenodds.cli.guard import guarded


@guarded
def run_demo() -> None:
    """Run the test on bundled, simulated data and show the truth afterwards."""
    from evenodds.anchors import Anchors
    from evenodds.cli.show import make_console, show_sheet
    from evenodds.inference.asymmetry import asymmetry_test
    from evenodds.report.sheets import sheet_of
    from evenodds.report.view import View
    from evenodds.simulation import demo as bundled

    console = make_console()
    console.print(
        f"{bundled.N_ROWS:,} simulated patients, two measurements, and a recorded diagnosis. "
        f"An expert has named {bundled.N_ANCHORS} cases where either diagnosis was as likely. "
        "Are ill patients recorded as healthy more often than the other way round?\n"
    )
    anchors = Anchors(bundled.TOSS_UPS, tolerance=bundled.TOLERANCE)
    result = asymmetry_test(bundled.PATIENTS, bundled.LABEL, anchors)
    show_sheet(sheet_of(result, View()))
    truth = bundled.TRUTH
    console.print(
        "\n[bold]The truth[/bold], known because a generator in this package wrote the data: "
        f"{truth.alpha:.0%} of ill patients are recorded as healthy and {truth.beta:.0%} of "
        f"healthy ones as ill, so beta - alpha is {truth.asymmetry:+.2f}.\n"
        "\n[bold]The same on your data[/bold]:\n"
        "  evenodds test rows.csv --label diagnosis --anchors toss_ups.csv"
    )
