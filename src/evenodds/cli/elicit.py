"""`evenodds elicit`: a page on this machine where experts name the toss-ups."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenodds.cli import options
from evenodds.cli.output import guarded, tell

if TYPE_CHECKING:
    from evenodds.elicit.session import Session


@guarded
def run_elicit(
    data: Annotated[Path, typer.Argument(help="CSV, TSV or Parquet file with one row a case.")],
    label: Annotated[str, typer.Option(help="Column of given labels; nobody is shown it.")],
    out: Annotated[
        Path, typer.Option(help="Anchors to write, .parquet or .csv: what evenodds test takes.")
    ],
    show: Annotated[
        str | None, typer.Option(help="Columns to show, as a,b,c. Default: those the test goes by.")
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(help="Columns the test will go by. Default: all that hold numbers."),
    ] = None,
    positive: options.Positive = None,
    raw: Annotated[
        Path | None,
        typer.Option(help="Raw answers to write, .csv or .jsonl. Default: beside --out, as CSV."),
    ] = None,
    cases: Annotated[
        int | None, typer.Option(help="How many cases to ask about. Default: 60.")
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(help="How many of them come back, unannounced. Default: 12.")
    ] = None,
    lean: Annotated[
        float, typer.Option(help="How far one expert may lean one way, unseen by anyone.")
    ] = 0.03,
    images: Annotated[
        Path | None, typer.Option(help="Folder of pictures. Default: that of DATA.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the choice of cases. Default: 0.")
    ] = None,
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes any free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    export: Annotated[
        bool, typer.Option("--export", help="Only write the files from the answers so far.")
    ] = False,
) -> None:
    """Ask experts which cases are toss-ups, one at a time, on a page of this machine.

    Answers are saved one by one beside --out. Stop with Ctrl-C; start again to go on.
    """
    _check_extra()
    from evenodds.cli.input import split_names
    from evenodds.elicit.session import Wishes, open_session, opening_lines
    from evenodds.rows.anchor_points import whole
    from evenodds.rows.open_table import open_table

    wishes = Wishes(
        data=data,
        label=label,
        out=out,
        raw=raw,
        show=split_names(show, "--show"),
        features=split_names(features),
        positive=positive,
        n_cases=cases,
        n_repeats=repeats,
        unseen_lean=lean,
        images=images,
        seed=seed,
    )
    wishes.outputs()  # names that cannot be written are refused before the data are read
    if not export:
        tell("Reading the data and choosing cases ...")
    session = open_session(whole(open_table(data)), wishes, must_exist=export)
    if not export:
        from evenodds.elicit.web import serve

        for line in opening_lines(session):
            tell(line)
        serve(session, port, lambda address: _announce(address, browser))
    _finish(session)


def _check_extra() -> None:
    """Say what to install where the page cannot be served."""
    from evenodds.errors import MissingExtraError

    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "evenodds elicit needs the 'web' extra: install evenodds[web]."
        ) from None


def _announce(address: str, browser: bool) -> None:
    """Print where the page is, and open it where somebody watches."""
    print(f"Open this address on this computer (it is a secret): {address}")
    print("Press Ctrl-C here to stop; every answer is saved as it is given.")
    sys.stdout.flush()
    if browser and sys.stdout.isatty():
        import webbrowser

        webbrowser.open(address)


def _finish(session: "Session") -> None:
    """Write the files, and say what they are and what comes next."""
    from evenodds.elicit.session import closing_lines, count

    found = session.judgement()
    written = session.export()
    session.store.close()
    for path in written:
        tell(f"wrote {path}")
    print(f"{count(len(found.toss_ups), 'toss-up')} found.")
    for line in closing_lines(session.plan, found):
        print(f"  {line}")
    if found.toss_ups:
        print(f"Next: {session.test_command}")
