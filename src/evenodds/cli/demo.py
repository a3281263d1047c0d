"""`evenodds demo`: the main job on bundled data whose truth is known."""

from evenodds.cli.guard import guarded


@guarded
def run_demo() -> None:
    """Run the test on bundled, simulated data and show the truth afterwards."""
    from evenodds.cli.data import Columns, read_inputs  # noqa: PLC0415 - keeps help quick
    from evenodds.cli.show import make_console, show_result  # noqa: PLC0415
    from evenodds.inference.asymmetry import asymmetry_test  # noqa: PLC0415
    from evenodds.simulation import demo as bundled  # noqa: PLC0415

    console = make_console()
    console.print(
        f"{bundled.N_ROWS:,} simulated patients, two measurements, and a recorded diagnosis. "
        f"An expert has named {bundled.N_ANCHORS} cases where either diagnosis was as likely. "
        "Are ill patients recorded as healthy more often than the other way round?\n"
    )
    columns = Columns(label=bundled.LABEL)
    inputs = read_inputs(bundled.PATIENTS, columns, bundled.TOSS_UPS, bundled.TOLERANCE, 0.0)
    show_result(asymmetry_test(inputs.features, inputs.labels, inputs.anchors), 0.05)
    truth = bundled.TRUTH
    console.print(
        "\n[bold]The truth[/bold], known because a generator in this package wrote the data: "
        f"{truth.alpha:.0%} of ill patients are recorded as healthy and {truth.beta:.0%} of "
        f"healthy ones as ill, so beta - alpha is {truth.asymmetry:+.2f}.\n"
        "\n[bold]The same on your data[/bold]:\n"
        "  evenodds test rows.csv --label diagnosis --anchors toss_ups.csv"
    )
