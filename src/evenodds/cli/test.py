"""`evenodds test`: is one class flipped more often than the other? Which labels look flipped?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from evenodds.cli import options
from evenodds.cli.options import ANCHORS, OUTPUT, TEST, optional
from evenodds.cli.output import (
    check_delivery,
    check_output,
    deliver,
    guarded,
    name_data,
    progress_bar,
)
from evenodds.errors import InputError

if TYPE_CHECKING:
    from evenodds.inference.audit.as_evidence import Audit
    from evenodds.inference.results import AsymmetryTestResult
    from evenodds.model.robust import RobustCurve
    from evenodds.rows.base import Block, Rows


EXAMPLES = """\
evenodds test patients.csv --label diagnosis --anchors toss_ups.csv
evenodds test patients.csv --label diagnosis --anchors toss_ups.csv \\
    --report report.html --flips flips.csv --margin 0.1"""


@guarded
def run_test(
    data: options.Data,
    table: options.TableOptions,
    anchors: Path | None = optional(
        ANCHORS, "File of toss-up cases, with the feature columns.", "FILE"
    ),
    anchor_column: str | None = optional(
        ANCHORS, "Column marking toss-ups in DATA: true/false, or the posterior.", "COL"
    ),
    *,
    error: options.AnchorOptions,
    audit: Path | None = optional(
        ANCHORS,
        "File of audited rows that are not in DATA, with columns true and given: more "
        "evidence, with or without toss-ups.",
        "FILE",
    ),
    true: str | None = optional(
        ANCHORS,
        "Column of true labels in DATA, empty where none was looked up: the same evidence "
        "from rows of DATA, each counted once.",
        "COL",
    ),
    sampled_by: options.Drawn | None = optional(
        ANCHORS, "With --true: how those rows were chosen. Default: random."
    ),
    probabilities: Annotated[str | None, typer.Option(hidden=True)] = None,
    method: options.Method = optional(TEST, "Which test.", default="boundary"),
    settings: list[str] | None = optional(
        TEST,
        "Setting of the method, such as calibration=bootstrap for few rows (then draws=999, "
        "seed=0); weights=optimal, covariance=sandwich; for local bandwidth=0.5, "
        "kernel=tricube. Once for each.",
        "NAME=VALUE",
        name="--set",
    ),
    alternative: options.Alternative = "two-sided",
    output: options.GatedOptions,
    flips: Path | None = optional(
        OUTPUT, "Write how likely each label is flipped, most likely first, as CSV.", "FILE"
    ),
) -> None:
    """Test whether the labels of one class are flipped more often than the other's.

    An expert names toss-ups: cases that are as likely of either class. Without any, see
    evenodds elicit; for embeddings, trees or many columns, see evenodds line.

    Exit code 0: the test ran, whatever its verdict. 1: a gate failed. 2: bad input.
    """
    from evenodds.cli.input import (
        check_label,
        data_and_anchors,
        method_of,
        not_toss_ups,
        read_audit,
        read_audited_rows,
        say_positive,
    )
    from evenodds.inference.asymmetry import METHODS, refuse_anchors_on_scores, run_on_rows
    from evenodds.inference.method import Known

    if audit is not None and true is not None:
        raise InputError(
            "give --audit or --true, not both: an audit is of other rows, or of these."
        )
    if true is not None and "-" in data:
        raise InputError("--true reads DATA twice, which standard input cannot: give a file.")
    if sampled_by is not None and true is None:
        raise InputError("--sampled-by goes with --true, the column of true labels in DATA.")
    read = [*data, *(str(path) for path in (anchors, audit) if path is not None)]
    check_delivery(output, [*read, *([] if flips is None else [str(flips)])])
    check_label(table.label, table.formula)
    if probabilities is not None and (anchors is not None or anchor_column is not None):
        refuse_anchors_on_scores("--probabilities")
    evidence = (anchors, anchor_column, audit, true)
    test = METHODS[method]
    if all(each is None for each in evidence) and not test.reads_shape:
        instead = "" if test.why_no_audit else ", or an --audit FILE, or --true COL"
        raise InputError(
            f"--method {method} needs toss-up cases: give --anchors FILE or --anchor-column "
            f"COL{instead}; evenodds elicit asks an expert for some. Without any, only --method "
            "joint runs, on the shape of the curve alone."
        )
    if flips is not None and not test.has_rates:
        lacking = "flip rates" if test.fits_curve else "a curve through all rows"
        raise InputError(
            f"--flips needs {lacking}, which --method {method} does not estimate: use --method "
            "boundary."
        )
    if flips is not None:
        if flips.suffix.lower() not in ("", ".csv"):
            raise InputError(f"--flips {flips} must end in '.csv'.")
        check_output(flips, "--flips", read)
    with (
        data_and_anchors(
            data,
            table,
            anchors,
            error,
            anchor=anchor_column,
            probabilities=probabilities,
            true=true,
        ) as (rows, known),
        progress_bar("Bootstrap", wanted="calibration=bootstrap" in (settings or ())) as progress,
    ):
        looked_up = None if audit is None else read_audit(audit)
        if true is not None:
            looked_up = read_audited_rows(data, true, rows, sampled_by or "random")
        chosen = method_of(method, settings or (), progress)
        result = run_on_rows(rows, Known(known, looked_up), chosen, alternative)
        if flips is not None:
            write_flips(flips, rows, result, looked_up)
    one_sided, stated = alternative != "two-sided", not_toss_ups(known)
    say_positive(rows, table.positive, one_sided=one_sided, stated=stated)
    deliver(result, output, name=name_data(data, rows.label_names[0]))


class FlipChances:
    """Rows by number, whether each is labelled positive, and how likely that is a flip."""

    def __init__(self, curve: "RobustCurve") -> None:
        self.curve = curve
        self.parts: list[tuple[Any, Any, Any]] = []

    def add(self, block: "Block") -> None:
        import numpy as np

        numbered = block.start + np.arange(len(block.labels))
        chances = self.curve.flip_probability(block.features, block.labels)
        self.parts.append(
            (numbered if block.numbers is None else block.numbers, block.labels == 1, chances)
        )

    def merge(self, other: Self) -> None:
        self.parts += other.parts


def write_flips(
    path: Path, rows: "Rows", result: "AsymmetryTestResult", audit: "Audit | None" = None
) -> None:
    """Write row number (from 1), given label and probability of being flipped, most likely first.

    Rows that were audited are left out: whether they are flipped is known.
    """
    import numpy as np

    from evenodds.files import write_csv
    from evenodds.model.robust import fit_robust

    if result.withheld:
        raise InputError(
            f"--flips needs flip rates, but these data cannot tell: {result.withheld}."
        )
    curve = fit_robust(rows, alpha=result.alpha, beta=result.beta)
    found = rows.unheld().sum_over_rows(FlipChances(curve))
    numbered, given, chances = map(np.concatenate, zip(*found.parts, strict=True))
    known = np.isin(numbered, [] if audit is None or audit.rows is None else audit.rows)
    order = np.argsort(-chances, kind="stable")
    ranked = order[~known[order]]
    labels = np.array([rows.negative, rows.positive], dtype=object)[given[ranked].astype(int)]
    written = (f"{chance:.6f}" for chance in chances[ranked])
    columns = zip(numbered[ranked] + 1, labels, written, strict=True)
    write_csv(path, ["row", "label", "flip_probability"], columns)
