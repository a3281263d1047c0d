"""`evenodds elicit`: a page where experts name the toss-ups, or judge cases along a score."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from evenodds.cli import options
from evenodds.cli.options import DATA, OUTPUT, argument, option, optional
from evenodds.cli.output import guarded, refuse_given, tell
from evenodds.errors import InputError

if TYPE_CHECKING:
    from evenodds.elicit.session import Session, Wishes


PAGE, QUESTIONS = "Page", "Questions"
EXAMPLES = """\
evenodds elicit patients.csv --label diagnosis --out found.parquet
evenodds elicit patients.csv --label diagnosis --scores scores.csv --out said.json"""


@guarded
def run_elicit(
    data: Annotated[Path, argument("CSV, TSV or Parquet file with one row a case.")],
    label: Annotated[str, option(DATA, "Column of given labels; it is never shown.", "COL")],
    out: Annotated[
        Path,
        option(
            OUTPUT,
            "Anchors to write (.parquet or .csv), for evenodds test; with scores, answers to write "
            "(.json), for evenodds line.",
            "FILE",
        ),
    ],
    features: str | None = optional(
        DATA, "Columns that the test, or --score, uses. Default: all numeric ones.", "COLS"
    ),
    *,
    own: options.RowOptions,
    scores: str | None = optional(
        QUESTIONS,
        "Judge cases along a score instead of seeking toss-ups: a column of out-of-fold "
        "scores, or a file of them, as evenodds scores writes one.",
        "COL|FILE",
    ),
    score: bool = optional(
        QUESTIONS,
        "The same, with scores made here and written beside --out.",
        name="--score",
        default=False,
    ),
    kind: options.AnswerKind | None = optional(
        QUESTIONS, "With scores: ask for probabilities, or for the looked-up truth."
    ),
    cases: int | None = optional(
        QUESTIONS, "How many cases to ask about. Default: 60; 40 a class of three and more.", "N"
    ),
    repeats: int | None = optional(
        QUESTIONS,
        "How many of them come back, unannounced. Default: 12; 6 with scores, none where the "
        "truth is looked up.",
        "N",
    ),
    looks: str | None = optional(
        QUESTIONS,
        "With --kind looked-up: cases answered at each planned look, as 60,120; the last is "
        "the number of cases. Answers are tested at these only.",
        "SIZES",
    ),
    lean: float = optional(
        QUESTIONS,
        "Half-width of a bias of one expert that answers cannot show.",
        "WIDTH",
        default=0.03,
    ),
    seed: int | None = optional(QUESTIONS, "Seed of the choice of cases. Default: 0.", "N"),
    show: str | None = optional(
        PAGE, "Columns to show, as a,b,c. Default: those the test uses; with scores, all.", "COLS"
    ),
    images: Path | None = optional(PAGE, "Folder of pictures. Default: that of DATA.", "DIR"),
    port: int = optional(PAGE, "Port to listen on; 0 takes any free one.", "N", default=0),
    browser: bool = optional(PAGE, "Open the page in a browser.", default=True),
    raw: Path | None = optional(
        OUTPUT, "Raw answers to write, .csv or .jsonl. Default: beside --out, as CSV.", "FILE"
    ),
    export: bool = optional(
        OUTPUT,
        "Write the files from the answers so far; ask nothing.",
        name="--export",
        default=False,
    ),
) -> None:
    """Ask experts which cases are toss-ups, one at a time, on a local web page.

    With --scores or --score, for embeddings, boosted trees or many columns: draw cases along a
    score, and ask how likely each is to be positive, or what it truly is.

    Answers are saved one by one beside --out. Stop with Ctrl-C; start again to continue.
    """
    _check_extra()
    from evenodds.cli.input import read_sizes, split_names
    from evenodds.elicit.session import Session, Wishes, open_session, opening_lines
    from evenodds.elicit.web import listen, serve
    from evenodds.rows.anchor_points import whole
    from evenodds.rows.open_table import open_table

    wishes = Wishes(
        data=data,
        label=label,
        out=out,
        raw=raw,
        show=split_names(show, "--show"),
        features=split_names(features),
        positive=own.positive,
        n_cases=cases,
        n_repeats=repeats,
        unseen_lean=lean,
        images=images,
        seed=seed,
        looks=None if looks is None else read_sizes(looks),
    )
    wishes.outputs()  # names that cannot be written are refused before the data are read
    of_scores = {"--scores": scores, "--score": score or None, "--kind": kind}
    of_scores |= {"--weight": own.weight, "--group": own.group, "--looks": looks}
    of_toss_ups = {"--raw": raw, "--features": None if score else features}
    if wishes.along_score:
        refuse_given(of_toss_ups, "is for toss-ups: leave it out, or name --out anchors.csv.")
    else:
        refuse_given(
            of_scores,
            "is for cases along a score, whose answers are a .json file: name --out answers.json.",
        )
    if scores is not None and score:
        raise InputError("give --scores or --score, not both: scores are there, or are made.")
    if not export:
        with listen(port):  # a port that cannot be used is told before a session begins
            tell("Reading the data and choosing cases ...")
    session: Session
    if wishes.along_score:
        if score:
            scores, wishes = _make_scores(wishes, own)
        session = _open_judging(wishes, scores, kind, own, must_exist=export)
    else:
        session = open_session(whole(open_table(data)), wishes, must_exist=export)
    if not export:
        for line in [*opening_lines(session), *session.prospects()]:
            tell(line)
        serve(session, port, lambda address: _announce(address, browser))
    _finish(session)


def _open_judging(
    wishes: "Wishes", scores: str | None, kind: Any, own: options.RowOptions, *, must_exist: bool
) -> "Session":
    """Open a session along a score; to go on with one, none need be named."""
    from evenodds.cli.scored import read_scored_or_classes
    from evenodds.elicit.judging import Scored, open_judging
    from evenodds.rows.anchor_points import whole
    from evenodds.rows.open_table import open_table

    if scores is None:
        table = whole(open_table(wishes.data))
        return open_judging(table, wishes, None, kind, must_exist=must_exist)
    read = read_scored_or_classes([str(wishes.data)], wishes.label, scores, own, shown=None)
    scored = Scored(
        scores=read.scores,
        name=scores,
        weight=own.weight,
        group=own.group,
        weights=read.weights,
        groups=read.groups,
    )
    return open_judging(read.table, wishes, scored, kind, must_exist=must_exist)


def _make_scores(wishes: "Wishes", own: options.RowOptions) -> tuple[str, "Wishes"]:
    """Score the rows; a session that has begun keeps its own scores.

    Returns the file of scores, and wishes that name the features.
    """
    from evenodds.cli.scored import check_scores_file, make_scores
    from evenodds.elicit.store import Store
    from evenodds.rows.open_table import open_table
    from evenodds.rows.tables import kind_of
    from evenodds.validation import check_column

    path = wishes.out.with_name(f"{wishes.out.stem}_scores.parquet")
    if path.exists() and Store.has_begun(wishes.database):
        return str(path), wishes
    check_scores_file(path, [str(wishes.data)])
    features = wishes.features
    if features is None:
        schema = open_table(wishes.data).schema
        check_column(wishes.label, schema.names, wishes.data)
        numbers = [part.name for part in schema if kind_of(part.type) == "number"]
        others = (wishes.label, own.weight, own.group)
        features = tuple(name for name in numbers if name not in others)
    for line in make_scores(path, [str(wishes.data)], wishes.label, own, features=features)[1]:
        tell(line)
    return str(path), replace(wishes, features=features)


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
    found = session.closing()
    written = session.export()
    session.store.close()
    for path in written:
        tell(f"wrote {path}")
    print(found.found)
    for line in found.lines:
        print(f"  {line}")
    if not found.missing:
        print(f"Next: {session.test_command}")
