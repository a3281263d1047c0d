"""Answers as files: anchors that a test takes as they are, and the raw answers beside them."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenodds.elicit.answers import Answer, TossUp, toss_ups
from evenodds.elicit.plan import SessionPlan
from evenodds.elicit.tolerance import UNSEEN_LEAN, Judgement, judge
from evenodds.errors import InputError
from evenodds.files import check_writable, whole_file, write_csv
from evenodds.validation import join_quoted

if TYPE_CHECKING:
    import pyarrow as pa


ANCHOR_FILES = (".parquet", ".pq", ".csv", ".tsv")
ANSWER_FILES = (".csv", ".jsonl")


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where a session is written to."""

    anchors: Path
    answers: Path

    def __post_init__(self) -> None:
        for path, kinds in ((self.anchors, ANCHOR_FILES), (self.answers, ANSWER_FILES)):
            if path.suffix.lower() not in kinds:
                raise InputError(f"{path} must end in {join_quoted(kinds, 'or')}.")
            check_writable(path)
        if self.anchors.resolve() == self.answers.resolve():
            raise InputError(f"--out and --raw are both {self.anchors}: name two files.")


@dataclass(frozen=True, slots=True)
class Findings:
    """What the answers of a session amount to."""

    toss_ups: tuple[TossUp, ...]
    judgement: Judgement


def findings(
    answers: Sequence[Answer], plan: SessionPlan, unseen_lean: float = UNSEEN_LEAN
) -> Findings:
    """Return the toss-ups that answers name, and how well they are known."""
    found = toss_ups(answers)
    known = judge(answers, found, breadth=plan.breadth, unseen_lean=unseen_lean)
    return Findings(tuple(found), known)


def anchor_table(table: "pa.Table", features: Sequence[str], found: Findings) -> "pa.Table":
    """Return the toss-ups with their features, and what a test needs to know of each."""
    import pyarrow as pa

    if not found.toss_ups:
        raise InputError("no case was called a toss-up, so there are no anchors to write yet.")
    chosen = table.select(list(features)).take([toss_up.case for toss_up in found.toss_ups])
    stated = {
        "posterior": [toss_up.posterior for toss_up in found.toss_ups],
        "tolerance": [found.judgement.tolerance(toss_up) for toss_up in found.toss_ups],
        "shared_tolerance": [found.judgement.shared_tolerance] * len(found.toss_ups),
    }
    for name, values in stated.items():
        chosen = chosen.append_column(name, pa.array(values, pa.float64()))
    return chosen


def write_anchors(path: Path, anchors: "pa.Table") -> None:
    """Write anchors as the file's name asks; private, as the data they come from may be."""
    if path.suffix.lower() in {".parquet", ".pq"}:
        from pyarrow import parquet

        with whole_file(path, private=True) as file:
            parquet.write_table(anchors, file.buffer)
        return
    rows = (row.values() for row in anchors.to_pylist())
    delimiter = "," if path.suffix.lower() == ".csv" else "\t"
    write_csv(path, anchors.column_names, rows, delimiter=delimiter, private=True)


def write_answers(path: Path, answers: Sequence[Answer], plan: SessionPlan) -> None:
    """Write every standing answer, one a line, with expert, time and row number."""
    said = {"negative": plan.negative, "positive": plan.positive}
    rows: list[dict[str, Any]] = [
        {**asdict(answer), "answer": said.get(answer.verdict.value, answer.verdict.value)}
        for answer in answers
    ]
    if path.suffix.lower() == ".jsonl":
        with whole_file(path, private=True) as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        return
    names = [*(field.name for field in fields(Answer)), "answer"]
    write_csv(path, names, ([row[name] for name in names] for row in rows), private=True)
