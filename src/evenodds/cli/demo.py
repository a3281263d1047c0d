"""`evenodds demo`: the main job on bundled data whose truth is known."""

from evenodds.cli.guard import guarded


@guarded
def run_demo() -> None:
    """Run the test on bundled, simulated data and show the truth afterwards."""
    from evenodds.anchors import Anchors
    from evenodds.cli.show import make_console, show_sheet
    from evenodds.inference.asymmetry import asymmetry_test
    from evenodds.report.sheet import View, sheet_of
    from evenodds.simulation.worlds import (
        LABEL,
        N_ANCHORS,
        N_ROWS,
        PATIENTS,
        TOLERANCE,
        TOSS_UPS,
        TRUTH,
    )

    console = make_console()
    console.print(
        f"{N_ROWS:,} simulated patients, two measurements, and a recorded diagnosis. "
        f"An expert has named {N_ANCHORS} cases where either diagnosis was as likely. "
        "Are ill patients recorded as healthy more often than the other way round?\n"
    )
    anchors = Anchors(TOSS_UPS, tolerance=TOLERANCE)
    result = asymmetry_test(PATIENTS, LABEL, anchors)
    show_sheet(sheet_of(result, View()))
    truth = TRUTH
    console.print(
        "\n[bold]The truth[/bold], known because a generator in this package wrote the data: "
        f"{truth.alpha:.0%} of ill patients are recorded as healthy and {truth.beta:.0%} of "
        f"healthy ones as ill, so beta - alpha is {truth.asymmetry:+.2f}.\n"
        "\n[bold]The same on your data[/bold]:\n"
        "  evenodds test rows.csv --label diagnosis --anchors toss_ups.csv"
    )
