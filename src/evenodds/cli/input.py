"""What the command line reads: rows, anchors, looked-up labels and codes, from files and columns.

A column is doubted where its values repeat and

- its name ends in a word for who gave labels (worker, annotator_id), or
- its name ends in a word for what was labelled (item, pair_id), and a value has at most 20 rows
  on average, or
- whatever its name, it holds text or whole numbers, most rows share a value with another, at
  most 20 on average, and rows that share a value always have the same true label, which would
  hardly happen by chance. Measurements such as an age do not pass that.
"""

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenodds.anchors import TOSS_UP, Anchors, anchors_of
from evenodds.bridges import label_studio, prodigy
from evenodds.bridges.annotations import Annotations
from evenodds.cli.options import AnchorOptions, TableOptions
from evenodds.cli.output import pass_progress, tell
from evenodds.errors import InputError
from evenodds.inference.asymmetry import METHODS
from evenodds.inference.audit.annotators import AnnotatorAuditResult, annotator_audit
from evenodds.inference.audit.as_evidence import Audit, rows_among
from evenodds.inference.audit.audit_test import audit_test
from evenodds.inference.audit.result import AuditTestResult, SampledBy
from evenodds.inference.audit.share import (
    CorrectedShareResult,
    GroupSharesResult,
    corrected_share,
)
from evenodds.inference.bootstrap import Bootstrap
from evenodds.inference.cases.record import Cases
from evenodds.inference.method import Method
from evenodds.inference.multiclass.confusion import ConfusionTestResult, confusion_of
from evenodds.inference.multiclass.splits import OutputCodes, split_table
from evenodds.inference.results import Diagnostic
from evenodds.rows.anchor_points import (
    STATED,
    anchor_table,
    columns_beside,
    refuse_holes,
    whole,
)
from evenodds.rows.base import Rows
from evenodds.rows.dask_sums import workers
from evenodds.rows.formula_syntax import FormulaText
from evenodds.rows.open_table import PACKED, open_table
from evenodds.rows.read import ClassRows, read_data
from evenodds.rows.tables import Table, as_numpy, filtered, is_missing_in, kind_of, plain_array
from evenodds.validation import check_column, counted, join_quoted

if TYPE_CHECKING:
    import pyarrow as pa


def check_label(label: str | None, formula: str | None) -> None:
    """Refuse data without a label, which may stand on the left of the formula."""
    if label is None and (formula is None or FormulaText(formula).label is None):
        raise InputError("--label is missing: name the column of given labels.")


@contextmanager
def data_and_anchors(
    data: list[str], table: TableOptions, anchors: Path | None, error: AnchorOptions, **how: Any
) -> Iterator[tuple[Rows, Anchors | None]]:
    """Read the files of a test, here or on the workers of a cluster, and show its progress.

    What else is told is for `read_data`.
    """
    if anchors is not None and how["anchor"] is not None:
        raise InputError("give --anchors or --anchor-column, not both.")
    with workers(table.workers) as on_workers:
        rows = read_data(
            data,
            table.label,
            on_workers=on_workers,
            features=split_names(table.features),
            formula=table.formula,
            sample_weight=table.weight,
            groups=table.group,
            positive=table.positive,
            missing=table.missing,
            **how,
        )
        known = anchors_of(
            rows, anchors, tolerance=error.tolerance, shared_tolerance=error.shared_tolerance
        )
        with pass_progress(rows):
            yield rows, known


def say_positive(
    rows: Any, asked: str | None, *, one_sided: bool = False, stated: bool = False
) -> None:
    """Say on standard error which label was taken as positive, where the answer turns on it.

    That is a guess where labels are words and nobody named one, and it matters where a side was
    asked for or chances other than 1/2 were stated.
    """
    if asked is not None or not isinstance(rows.positive, str) or not (one_sided or stated):
        return
    positive, negative = repr(rows.positive), str(rows.negative)
    said = (
        f"stated chances are read as the chance of {positive}; if they mean {negative!r}"
        if stated
        else f"{positive} is taken as the positive label, the later in alphabetical order; if it "
        f"is {negative!r}"
    )
    tell(f"evenodds: {said}, add --positive {shlex.quote(negative)}.")


def not_toss_ups(anchors: Anchors | None) -> bool:
    """Tell whether chances other than 1/2 were stated, of the positive class."""
    return anchors is not None and bool((anchors.posterior != TOSS_UP).any())


def one_source(sources: Sequence[str]) -> Any:
    """Return the only file as it is, or several as a list."""
    return sources[0] if len(sources) == 1 else list(sources)


def read_columns(
    sources: Sequence[str],
    needed: Mapping[str, str] | Sequence[str],
    *,
    numbers: Collection[str] = (),
    if_there: Collection[str] = (),
    everything: bool = False,
) -> "tuple[pa.Table, Table]":
    """Read columns, or the whole table they are in, and what it was opened as.

    Where `needed` are names with a sentence each, it tells what to do if the column is not there;
    those of `if_there` may be missing.
    In text files any column but the `numbers` may mix numbers and text.
    """
    import pyarrow as pa

    source = one_source(sources)
    advice = needed if isinstance(needed, Mapping) else dict.fromkeys(needed, "")
    mixed: set[str] = set()

    def choose(names: tuple[str, ...]) -> list[str]:
        for name, sentence in advice.items():
            check_column(name, names, source, advice=sentence)
        chosen = chosen_of(names)
        mixed.update({*chosen} - {*numbers})
        return chosen

    def chosen_of(names: Sequence[str]) -> list[str]:
        return [name for name in names if everything or name in advice or name in if_there]

    opened = open_table(source, choose, text_if_mixed=mixed)
    wanted = chosen_of(opened.names)
    return pa.Table.from_batches([batch for _, batch in opened.batches(wanted)]), opened


def split_names(names: str | None, option: str = "--features") -> tuple[str, ...] | None:
    """Return comma-separated names, each once."""
    if names is None:
        return None
    found = tuple(name.strip() for name in names.split(",") if name.strip())
    if not found:
        raise InputError(f"{option} names nothing.")
    twice = {name for name in found if found.count(name) > 1}
    if twice:
        raise InputError(f"{option} names {join_quoted(sorted(twice))} twice.")
    return found


PEOPLE = re.compile(
    "annotator|coder|expert|grader|judge|labell?er|rater|reviewer|tagger|user|who|worker"
)
THINGS = re.compile(
    "case|doc|document|example|group|id|image|instance|item|key|pair|patient|question|record|"
    "sample|sentence|subject|task|text|tweet|uid|unit|uuid"
)
# Words at the end of a name that say how a thing is written, not what it is.
ENDINGS = re.compile("code|hash|id|key|name|no|nr|num|number")
MOST_NAMED = 2
MOST_ROWS_EACH = 20
FEWEST_VALUES = 10
# Of the rows, so many must share a value: by a name that says so, and without.
REPEATED_IF_NAMED, REPEATED_IF_NOT = 0.05, 0.5
# By chance all rows that share a value have one true label less often than this.
BY_CHANCE = 1e-4


def doubt_undeclared(
    columns: "dict[str, pa.Array]", true: NDArray[Any], declared: list[NDArray[Any]]
) -> tuple[Diagnostic, ...]:
    """Say which columns of the audited rows look like groups that were not declared."""
    known, found = list(declared), []
    for name, column in columns.items():
        numbers = _numbered(column)
        if numbers is None or _is_known(numbers, known):
            continue
        if _looks_like_groups(name, numbers, true):
            known.append(numbers)
            found.append((name, len(np.unique(numbers))))
    if not found:
        return ()
    named = " and ".join(f"{name!r} ({count:,} values)" for name, count in found[:MOST_NAMED])
    look, them = f"Column {named} looks like an id that repeats", "it"
    if len(found) > 1:
        look, them = f"Columns {named} look like ids that repeat", "them"
    options = " ".join(f"--group {name}" for name, _ in found[:MOST_NAMED])
    message = (
        f"{look} among the {len(true):,} audited rows. Rows that share an item or an annotator are "
        "not independent, and taken as such they make p-values too small: declare "
        f"{them} with {options}."
    )
    return (Diagnostic(name="undeclared groups", message=message, concern=True),)


def _numbered(column: "pa.Array") -> NDArray[np.int64] | None:
    """Return a column of text or whole numbers with its values numbered; None for any other."""
    from pyarrow import types

    values = plain_array(column)
    if kind_of(values.type) != "text" and not types.is_integer(values.type):
        return None
    if len(values) == 0 or is_missing_in(values).any():
        return None
    return as_numpy(values.dictionary_encode().indices).astype(np.int64)


def _is_known(numbers: NDArray[np.int64], declared: list[NDArray[Any]]) -> bool:
    """Tell whether rows that share a value share a declared group anyway."""
    for groups in declared:
        codes = np.unique(groups, return_inverse=True)[1]
        if len(np.unique(np.column_stack([numbers, codes]), axis=0)) == len(np.unique(numbers)):
            return True
    return False


def _looks_like_groups(name: str, numbers: NDArray[np.int64], true: NDArray[Any]) -> bool:
    """Tell whether a column is doubted; see the head of this file."""
    sizes = np.bincount(numbers)
    repeated = float(sizes[sizes > 1].sum()) / len(numbers)
    word = _last_word(name)
    if PEOPLE.fullmatch(word):
        return len(sizes) > 1 and repeated >= REPEATED_IF_NAMED
    if len(sizes) < FEWEST_VALUES or len(numbers) > MOST_ROWS_EACH * len(sizes):
        return False
    if THINGS.fullmatch(word):
        return repeated >= REPEATED_IF_NAMED
    return repeated >= REPEATED_IF_NOT and _has_one_truth_each(numbers, true)


def _last_word(name: str) -> str:
    """Return the word that a name ends in, singular; the one before "id" and the like."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    words = [word for word in re.split(r"[^a-z]+", spaced.lower()) if word]
    while len(words) > 1 and ENDINGS.fullmatch(words[-1]):
        words.pop()
    return words[-1].removesuffix("s") if words else ""


def _has_one_truth_each(numbers: NDArray[np.int64], true: NDArray[Any]) -> bool:
    """Tell whether rows that share a value always share the true label, and not by chance."""
    truth = np.unique(true.astype(str), return_inverse=True)[1]
    sizes, positive = np.bincount(numbers), np.bincount(numbers, truth)
    if (truth > 1).any() or ((positive > 0) & (positive < sizes)).any():
        return False
    share = truth.mean()
    by_chance = np.log(share**sizes + (1 - share) ** sizes).sum()
    return bool(by_chance < np.log(BY_CHANCE))


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
    strata: NDArray[Any] | None = None  # of all rows: stratum, score or chance to be drawn
    doubts: tuple[Diagnostic, ...] = ()  # columns that look like groups and were not declared

    @property
    def truth(self) -> NDArray[Any]:
        """True labels of all rows, None where a row was not audited."""
        true = np.full(len(self.given), None, dtype=object)
        true[self.audited] = self.true
        return true

    @property
    def n_unaudited(self) -> int:
        """Rows without a true label."""
        return int(np.count_nonzero(~self.audited))


def read_audit_file(
    sources: Sequence[str],
    true: str | None,
    given: str | None,
    annotator: str | None = None,
    groups: Sequence[str] = (),
    strata: str | None = None,
) -> AuditFile:
    """Read true and given labels; rows without a true label were not audited.

    `strata` is the column of strata, of scores, or of chances to be drawn. Of an export, `true` is
    the annotator who looked the truth up, and `given` the field of given labels; both may be left
    out.
    """
    import pyarrow as pa

    export = read_export(sources)
    skipped: tuple[Diagnostic, ...] = ()
    if export is not None:
        made = pa.table(export.columns(truth=true, given=given))
        true, given, skipped = "true", "given", _skipped(export)
    if true is None or given is None:
        absent = "--true" if true is None else "--given"
        raise InputError(f"{absent} is missing: name the column of {absent[2:]} labels.")
    needed = [name for name in (true, given, annotator, strata, *groups) if name is not None]
    twice = next((name for name in needed if needed.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            "--true, --given, --annotator, --group, --stratum, --scores and --inclusion must name "
            f"different columns, but two of them name {twice!r}."
        )
    if export is None:
        table, _ = read_columns(sources, needed, everything=True)
    else:
        table = made
        for name in needed:
            check_column(name, made.column_names, sources[0])
    table = table.combine_chunks()
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    audited = ~is_missing_in(columns[true])
    if not audited.any():
        raise InputError(f"column {true!r} is empty: no row was audited.")
    for name in needed[1:]:
        missing = is_missing_in(columns[name])
        if missing.any():
            count = int(missing.sum())
            raise InputError(
                f"column {name!r} has {counted(count, 'missing value')}, the first "
                f"in row {int(np.argmax(missing)) + 1} of {' and '.join(sources)}, counted from 1: "
                f"fill or drop {'it' if count == 1 else 'them'}."
            )
    truth = as_numpy(filtered(columns[true], audited))
    grouped = tuple(as_numpy(filtered(columns[name], audited)) for name in groups)
    others = {
        name: filtered(column, audited) for name, column in columns.items() if name not in needed
    }
    return AuditFile(
        true=truth,
        given=as_numpy(columns[given]),
        annotators=None if annotator is None else as_numpy(columns[annotator]),
        audited=audited,
        groups=grouped,
        strata=None if strata is None else as_numpy(columns[strata]),
        # One annotator's rows are answers to different items, as a rule.
        doubts=skipped
        if annotator is not None
        else (*skipped, *doubt_undeclared(others, truth, list(grouped))),
    )


def read_export(sources: Sequence[str]) -> Annotations | None:
    """Read an export of a labelling tool, by how its name ends; None for any other file."""
    readers = {".json": label_studio.read, ".jsonl": prodigy.read}
    for source in sources:
        suffix = Path(source).suffix.lower()
        if suffix in PACKED:
            raise InputError(f"{source} is compressed: unpack it first.")
        if suffix in readers and len(sources) > 1:
            raise InputError(f"{source} is an export, and exports are read one at a time.")
    reader = readers.get(Path(sources[0]).suffix.lower())
    return None if reader is None else reader(sources[0])


def _skipped(export: Annotations) -> tuple[Diagnostic, ...]:
    """Say how many answers an export lacks, and what they may be good for."""
    n_skipped = len(export.skipped)
    if not n_skipped:
        return ()
    message = (
        f"{n_skipped:,} of {len(export.answers):,} answers were skipped, or chose nothing, and "
        "count for nothing. Where nobody could tell, an expert may name the item as a toss-up."
    )
    return (Diagnostic(name="skipped", message=message, concern=False),)


def read_audit(path: Path) -> Audit:
    """Read an audit that goes with a test: columns true and given, no holes."""
    rows = read_audit_file([str(path)], "true", "given")
    if rows.n_unaudited:
        raise InputError(
            f"{path} has {counted(rows.n_unaudited, 'row')} without a true label: list audited "
            "rows alone; those that were not audited belong to the data."
        )
    return Audit(rows.true, rows.given)


def read_audited_rows(sources: Sequence[str], true: str, rows: Rows, sampled_by: str) -> Audit:
    """Read which rows of the data were looked up, and their true labels.

    Rows that the fit leaves out, for a missing value or as toss-ups, are left out here too.
    """
    column = read_columns(sources, [true])[0].combine_chunks()[true].combine_chunks()
    audited = ~is_missing_in(column)
    fitted = rows_among(np.flatnonzero(audited), rows)
    if len(fitted) == 0:
        raise InputError(f"column {true!r} has no true label of a row that is tested.")
    chosen = np.zeros(len(audited), dtype=bool)
    chosen[fitted] = True
    return Audit(as_numpy(filtered(column, chosen)), rows=fitted, sampled_by=sampled_by)  # type: ignore[arg-type]


def audit_file(
    rows: AuditFile,
    *,
    sampled_by: SampledBy,
    given_counts: dict[str, int] | None,
    cases: Path | None = None,
    by_chances: bool = False,
    **options: Any,
) -> AuditTestResult | AnnotatorAuditResult:
    """Test audited rows, all together, within strata or by annotator."""
    given, who = rows.given[rows.audited], rows.annotators
    result: AuditTestResult | AnnotatorAuditResult
    if cases is not None:
        result = _audit_cases(rows, cases, sampled_by=sampled_by, **options)
    elif by_chances:
        result = audit_test(rows.truth, rows.given, inclusion=rows.strata, **options)
    elif who is None:
        counts: Any = given_counts
        if rows.strata is not None:
            names = np.unique(rows.strata)
            options["strata"] = rows.strata[rows.audited]
            counts = {name: _counted(rows, rows.strata == name, "stratum") for name in names}
        elif counts is None and sampled_by == "given":
            counts = _counted(rows)
        options |= {"sampled_by": sampled_by, "groups": rows.groups or None}
        result = audit_test(rows.true, given, given_counts=counts, **options)
    else:
        if given_counts is not None:
            raise InputError(
                "--given-counts is for all rows together: with --annotator, give DATA with the "
                "rows that were not audited too (an empty true label), so that they are counted "
                "by annotator."
            )
        by_annotator = None
        if sampled_by == "given":
            by_annotator = {
                name: _counted(rows, who == name, "annotator") for name in np.unique(who)
            }
        options |= {"sampled_by": sampled_by, "given_counts": by_annotator}
        result = annotator_audit(rows.true, given, who[rows.audited], **options)
    notes = *rows.doubts, *audit_notes(rows, sampled_by)
    return replace(result, diagnostics=(*result.diagnostics, *notes))


def correct_share(
    rows: AuditFile, audit: AuditTestResult | AnnotatorAuditResult
) -> CorrectedShareResult | GroupSharesResult:
    """Return the share truly positive, of all rows or by annotator."""
    if isinstance(audit, AnnotatorAuditResult):
        return corrected_share(rows.given, audit, groups=rows.annotators)
    counts = audit.given_counts  # by given label they may have been told
    told = dict(zip((audit.negative, audit.positive), counts, strict=True)) if counts else None
    share = corrected_share(told or rows.given, audit)
    return replace(share, diagnostics=(*share.diagnostics, *rows.doubts))


def _audit_cases(rows: AuditFile, path: Path, **options: Any) -> AuditTestResult:
    """Test the rows that a record of cases says to look up."""
    cases = Cases.read(path)
    true = rows.truth
    if len(true) == cases.n_rows:  # else the test says what is wrong
        others = int(np.count_nonzero(rows.audited)) - int(rows.audited[cases.rows].sum())
        if others:
            raise InputError(
                f"DATA has the true label of {counted(others, 'row')} not drawn: keep the true "
                f"labels of the cases in {path} alone."
            )
        true = true[cases.rows]
    return audit_test(
        true[: len(cases)],
        rows.given,
        strata=cases,
        scores=rows.strata,
        groups=rows.groups or None,
        **options,
    )


def _counted(
    rows: AuditFile, chosen: NDArray[np.bool_] | None = None, of_each: str = ""
) -> dict[Any, int]:
    """Return how many rows have each given label, of those chosen for a stratum or the like."""
    if rows.n_unaudited == 0 and chosen is not None:
        raise InputError(
            "DATA has no rows that were not audited (an empty true label), but those of each "
            f"{of_each} are counted in it: give DATA with all rows."
        )
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


def read_sizes(text: str) -> tuple[int, ...]:
    """Return numbers of rows from ``50,100,150``."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and len(part) <= MOST_DIGITS for part in parts):
        raise InputError(f"--looks has {text!r} but needs numbers of rows, such as 50,100,150,200.")
    return tuple(map(int, parts))


def audit_notes(rows: AuditFile, sampled_by: str = "random") -> tuple[Diagnostic, ...]:
    """Say how many rows were left out, and what they were used for."""
    if rows.n_unaudited == 0:
        return ()
    use = ", and count towards the shares of given labels" if sampled_by == "given" else ""
    without = "has" if rows.n_unaudited == 1 else "have"
    message = f"{rows.n_unaudited:,} of {len(rows.given):,} rows {without} no true label{use}."
    return (Diagnostic(name="data", message=message, concern=False),)


def read_split_anchors_file(
    path: Path, between: str, rows: ClassRows, **settings: float | None
) -> dict[str, Anchors]:
    """Read the anchors of all splits from one file."""
    table = anchor_table(path)
    parts = split_table(table, between, path, " Name it by --between.")
    names = [name for name in table.column_names if name != between]
    needed, _ = columns_beside(names, rows.rows, path, names)
    refuse_holes(table, [*(needed or ()), *(name for name in STATED if name in names)], path)
    return {
        key: Anchors.in_table(part, rows.rows, path, any_others=True, **settings)
        for key, part in parts.items()
    }


def read_codes_file(path: Path, rows: ClassRows) -> OutputCodes:
    """Read a code matrix whose first column names the classes."""
    table = whole(open_table(path))
    places = [rows.classes.number(name) for name in table.column(0).to_pylist()]
    known = [place for place in places if place is not None]
    if len(known) < len(places) or sorted(known) != list(range(len(rows.classes.names))):
        raise InputError(
            f"the first column of {path} must name every class once: "
            f"{join_quoted(rows.classes.names)}."
        )
    if table.num_columns < 2:
        raise InputError(
            f"{path} has the column of classes only: add a column of +1, -1 and 0 for each split."
        )
    for name in table.column_names[1:]:
        if kind_of(table[name].type) != "number" or table[name].null_count:
            raise InputError(
                f"column {name!r} of {path} must hold +1, -1 or 0 for every class, and nothing "
                "else."
            )
    entries = np.column_stack([as_numpy(table.column(n)) for n in range(1, table.num_columns)])
    return OutputCodes(entries[np.argsort(known)])


def confusion_of_file(sources: Sequence[str], true: str, given: str) -> ConfusionTestResult:
    """Test the confusion matrix of a file."""
    rows = read_audit_file(sources, true, given)
    called = (f"column {true!r}", f"column {given!r}")
    result = confusion_of(rows.true, rows.given[rows.audited], called=called)
    return replace(result, diagnostics=audit_notes(rows))


# What to do instead of a setting that the method has not.
INSTEAD = {
    "covariance": "; use --group for rows that repeat",
    "weights": ": joint uses every anchor, local those nearby",
}
NUMBERS = {"bandwidth": float, "draws": int, "seed": int}


def method_of(method: str, given: Sequence[str], progress: Any = None) -> Method:
    """Return a method with its settings, each as name=value; those that it has not are refused."""
    told: dict[str, Any] = {}
    for one in given:
        name, equals, value = (part.strip() for part in one.partition("="))
        if not equals or not name or not value or name in told:
            raise InputError(f"--set {one!r} must be name=value, such as weights=optimal, once.")
        told[name] = _number(name, value) if name in NUMBERS else value
    owned = {
        name: [one.name for one in fields(kind) if one.name != "bootstrap"]  # type: ignore[arg-type]
        for name, kind in METHODS.items()
    }
    drawn = {name: told.pop(name) for name in ("draws", "seed") if name in told}
    for name in told:
        having = [other for other in METHODS if name in owned[other]]
        if method not in having:
            has = f"--method {method} has {join_quoted(owned[method])}."
            if not having:
                raise InputError(f"--set names {name!r}, which no method has. {has}")
            raise InputError(
                f"--set {name} is for --method {' and '.join(having)}{INSTEAD.get(name, '')}. {has}"
            )
    bootstrapped = told.get("calibration") == "bootstrap"
    if drawn and not bootstrapped:
        raise InputError(f"--set {next(iter(drawn))} goes with --set calibration=bootstrap.")
    if bootstrapped:
        told["bootstrap"] = Bootstrap(**drawn, progress=progress)
    return METHODS[method](**told)


def _number(name: str, value: str) -> float:
    """Return a setting that is a number."""
    try:
        number: float = NUMBERS[name](value)
    except ValueError:
        whole_or_not = "whole number" if NUMBERS[name] is int else "number"
        raise InputError(f"--set {name} is {value!r} but must be a {whole_or_not}.") from None
    return number
