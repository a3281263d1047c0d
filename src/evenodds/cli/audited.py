"""Audited rows from files, and their test."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenodds.cli.undeclared_groups import doubt_undeclared
from evenodds.errors import InputError
from evenodds.inference.audit.annotators import AnnotatorAuditResult, annotator_audit
from evenodds.inference.audit.door import audit_test
from evenodds.inference.audit.result import AuditTestResult
from evenodds.inference.audit.sample import Audit, rows_among
from evenodds.inference.results import Diagnostic
from evenodds.rows.anchor_points import whole
from evenodds.rows.base import Rows
from evenodds.rows.tables.opening import open_table
from evenodds.rows.values import is_missing_in
from evenodds.validation import near_misses

if TYPE_CHECKING:
    import pyarrow as pa

# Longer counts are slips of the key; Python itself stops reading at 4,300 digits.
MOST_DIGITS = 100


@dataclass(frozen=True, slots=True)
class AuditFile:
    """Columns of a file: given labels of all rows, true labels of the audited ones."""

    true: NDArray[Any]
    given: NDArray[Any]
    annotators: NDArray[Any] | None
    audited: NDArray[np.bool_]
    groups: tuple[NDArray[Any], ...] = ()  # of the audited rows, one array a declared column
    doubts: tuple[Diagnostic, ...] = ()  # columns that look like groups and were not declared

    @property
    def n_unaudited(self) -> int:
        """Rows without a true label."""
        return int(np.count_nonzero(~self.audited))


def read_audit_file(
    sources: Sequence[str],
    true: str,
    given: str,
    annotator: str | None = None,
    groups: Sequence[str] = (),
) -> AuditFile:
    """Read true and given labels; rows without a true label were not audited."""
    import pyarrow as pa

    needed = [name for name in (true, given, annotator, *groups) if name is not None]
    if len(set(needed)) < len(needed):
        raise InputError("--true, --given, --annotator and --group must name different columns.")
    source = sources[0] if len(sources) == 1 else list(sources)
    mixed: set[str] = set()

    def choose(names: tuple[str, ...]) -> tuple[str, ...]:
        for name in needed:
            if name not in names:
                raise InputError(f"{source} has no column {name!r}; {near_misses(name, names)}")
        mixed.update(names)  # columns that nobody named may hold anything
        return names

    opened = open_table(source, choose, text_if_mixed=mixed)
    table = whole(opened).combine_chunks()
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    audited = ~is_missing_in(columns[true])
    if not audited.any():
        raise InputError(f"column {true!r} is empty: no row was audited.")
    for name in needed[1:]:
        missing = is_missing_in(columns[name])
        if missing.any():
            raise InputError(
                f"column {name!r} has {int(missing.sum())} missing value(s), the first in row "
                f"{int(np.argmax(missing))}: fill or drop them."
            )
    truth = _values(columns[true], audited)
    grouped = tuple(_values(columns[name], audited) for name in groups)
    kept = pa.array(audited)
    others = {name: column.filter(kept) for name, column in columns.items() if name not in needed}
    return AuditFile(
        true=truth,
        given=_values(columns[given]),
        annotators=None if annotator is None else _values(columns[annotator]),
        audited=audited,
        groups=grouped,
        # One annotator's rows are answers to different items, as a rule.
        doubts=() if annotator is not None else doubt_undeclared(others, truth, list(grouped)),
    )


def read_audit(path: Path) -> Audit:
    """Read an audit that goes with a test: columns true and given, no holes."""
    rows = read_audit_file([str(path)], "true", "given")
    if rows.n_unaudited:
        raise InputError(
            f"{path} has {rows.n_unaudited:,} rows without a true label: leave them out; rows that "
            "were not audited belong to the data."
        )
    return Audit(rows.true, rows.given)


def read_audited_rows(sources: Sequence[str], true: str, rows: Rows, sampled_by: str) -> Audit:
    """Read which rows of the data were looked up, and their true labels.

    Rows that the fit leaves out, for a missing value or as toss-ups, are left out here too.
    """
    source = sources[0] if len(sources) == 1 else list(sources)
    opened = open_table(source, lambda names: [true], text_if_mixed=[true])
    column = whole(opened).combine_chunks()[true].combine_chunks()
    audited = ~is_missing_in(column)
    fitted = rows_among(np.flatnonzero(audited), rows)
    if len(fitted) == 0:
        raise InputError(f"column {true!r} has no true label of a row that is tested.")
    chosen = np.zeros(len(audited), dtype=bool)
    chosen[fitted] = True
    return Audit(_values(column, chosen), rows=fitted, sampled_by=sampled_by)  # type: ignore[arg-type]


def _values(column: "pa.Array", chosen: NDArray[np.bool_] | None = None) -> NDArray[Any]:
    """Return the values of a column as an array, those of the chosen rows alone."""
    import pyarrow as pa

    kept = column if chosen is None else column.filter(pa.array(chosen))
    values: NDArray[Any] = kept.to_numpy(zero_copy_only=False)
    return values


def audit_file(
    rows: AuditFile, *, sampled_by: str, given_counts: dict[str, int] | None, **options: Any
) -> AuditTestResult | AnnotatorAuditResult:
    """Test audited rows, all together or by annotator."""
    given = rows.given[rows.audited]
    result: AuditTestResult | AnnotatorAuditResult
    if rows.annotators is None:
        counts: Any = given_counts
        if counts is None and sampled_by == "given":
            counts = _counted(rows)
        result = audit_test(
            rows.true,
            given,
            sampled_by=sampled_by,
            given_counts=counts,
            groups=rows.groups or None,
            **options,
        )
    else:
        if given_counts is not None:
            raise InputError(
                "--given-counts is for all rows together: with --annotator, give DATA with the "
                "rows that were not audited too (an empty true label), so that they are counted "
                "by annotator."
            )
        by_annotator = None
        if sampled_by == "given":
            who = rows.annotators
            by_annotator = {name: _counted(rows, who == name) for name in np.unique(who)}
        result = annotator_audit(
            rows.true,
            given,
            rows.annotators[rows.audited],
            sampled_by=sampled_by,
            given_counts=by_annotator,
            **options,
        )
    notes = *rows.doubts, *audit_notes(rows, sampled_by)
    return replace(result, diagnostics=(*result.diagnostics, *notes))


def _counted(rows: AuditFile, chosen: NDArray[np.bool_] | None = None) -> dict[Any, int]:
    """Return how many rows have each given label."""
    if rows.n_unaudited == 0:
        raise InputError(
            "--given-counts is missing: rows audited by given label say nothing of how many rows "
            "have each label. Give the counts of the whole data, as no=9000,yes=1000, or DATA with "
            "the rows that were not audited too (an empty true label)."
        )
    given = rows.given if chosen is None else rows.given[chosen]
    labels, counts = np.unique(given, return_counts=True)
    return dict(zip(labels.tolist(), counts.tolist(), strict=True))


def read_counts(text: str | None) -> dict[str, int] | None:
    """Return counts by label from ``no=9000,yes=1000``."""
    if text is None:
        return None
    counts: dict[str, int] = {}
    for part in text.split(","):
        label, equals, number = part.rpartition("=")
        if not equals or not number.strip().isdecimal():
            raise InputError(
                f"--given-counts has {part!r} but needs label=count, such as no=9000,yes=1000."
            )
        if label.strip() in counts:
            raise InputError(
                f"--given-counts names {label.strip()!r} twice: give one count for each label."
            )
        if len(number.strip()) > MOST_DIGITS:
            raise InputError(
                f"--given-counts of {label.strip()!r} has {len(number.strip()):,} digits: no data "
                "has so many rows."
            )
        counts[label.strip()] = int(number)
    return counts


def audit_notes(rows: AuditFile, sampled_by: str = "random") -> tuple[Diagnostic, ...]:
    """Say how many rows were left out, and what they were used for."""
    if rows.n_unaudited == 0:
        return ()
    use = ", and count towards the shares of given labels" if sampled_by == "given" else ""
    message = f"{rows.n_unaudited:,} of {len(rows.given):,} rows have no true label{use}."
    return (Diagnostic(name="data", message=message, concern=False),)
