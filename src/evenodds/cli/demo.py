"""`evenodds demo`: the test on bundled, simulated data whose truth is known."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenodds.cli.output import guarded

if TYPE_CHECKING:
    from evenodds.report.sheet import Sheet


@guarded
def run_demo(
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the two files of the demonstration and its report."),
    ] = None,
) -> None:
    """Run the test on bundled, simulated data and show the truth afterwards."""
    from evenodds.anchors import Anchors
    from evenodds.cli.show import make_console, show_sheet
    from evenodds.inference.asymmetry import asymmetry_test
    from evenodds.report.sheet import View, sheet_of
    from evenodds.simulation.worlds import LABEL, N_ANCHORS, N_ROWS, PATIENTS, TOSS_UPS, TRUTH

    places = [] if out is None else _free_places(out, PATIENTS.name, TOSS_UPS.name, "report.html")
    console = make_console()
    console.print(
        f"{N_ROWS:,} simulated patients, two measurements, and a recorded diagnosis. "
        f"An expert has named {N_ANCHORS} cases where either diagnosis was as likely. "
        "Are ill patients recorded as healthy more often than the other way round?\n"
    )
    sheet = sheet_of(asymmetry_test(PATIENTS, LABEL, Anchors(TOSS_UPS)), View())
    show_sheet(sheet)
    console.print(
        "\n[bold]The truth[/bold], known because a generator in this package wrote the data: "
        f"{TRUTH.alpha:.0%} of ill patients are recorded as healthy and {TRUTH.beta:.0%} of "
        f"healthy ones as ill, so beta - alpha is {TRUTH.asymmetry:+.2f}."
    )
    if places:
        _write_demo(places, sheet)
        names = ", ".join(place.name for place in places)
        print(f"\nWritten to {out}: {names}.")
    rows, toss_ups, *_ = places or [Path("rows.csv"), Path(TOSS_UPS.name)]
    print(f"\nThe same on {'these files' if places else 'your data'}:")
    print(f"  {_test_command(rows, toss_ups)}")


def _test_command(rows: Path, toss_ups: Path) -> str:
    """Return the command that tests two files, as a shell takes it."""
    from evenodds.simulation.worlds import LABEL

    parts = ["evenodds", "test", rows, "--label", LABEL, "--anchors", toss_ups]
    return shlex.join(map(str, parts))


def _free_places(folder: Path, *names: str) -> list[Path]:
    """Return where files go in a folder, which is made if need be; none is overwritten."""
    from evenodds.errors import InputError
    from evenodds.files import check_writable

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {folder} cannot be made: {error.strerror or error}.") from None
    places = [folder / name for name in names]
    for place in places:
        if place.exists():
            raise InputError(f"{place} is there already: name another folder, or delete it.")
        check_writable(place)
    return places


def _write_demo(places: list[Path], sheet: "Sheet") -> None:
    """Write copies of the two files, and the report of testing them."""
    from evenodds.files import whole_file
    from evenodds.report.html import write_report
    from evenodds.simulation.worlds import LABEL, PATIENTS, TOSS_UPS

    patients, toss_ups, report = places
    for bundled, place in ((PATIENTS, patients), (TOSS_UPS, toss_ups)):
        with whole_file(place) as file:
            file.write(bundled.read_text(encoding="utf-8"))
    command = _test_command(Path(patients.name), Path(toss_ups.name))
    write_report(sheet, report, f"{patients.name}: {LABEL}", command)
