"""Prodigy: tasks to judge drawn cases there, and its JSONL export (``db-out``) read back.

Of each line are read ``answer`` ("accept", "reject", "ignore"), ``_input_hash``, who answered
(``_annotator_id`` or ``_session_id``), and the ``label`` that was asked about or, with
``options``, the ids in ``accept``. https://prodi.gy/docs/api-interfaces
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenodds.bridges.annotations import (
    STEPS,
    TEXT,
    Annotation,
    Annotations,
    missing,
    read_json,
    read_text,
    tasks_of,
)
from evenodds.errors import InputError
from evenodds.files import as_path, whole_file
from evenodds.inference.cases.judged import ROW
from evenodds.inference.cases.record import Cases, check_answers

ANSWERS = ("accept", "reject", "ignore")
ADVICE = ": export answers by prodigy db-out"
NOBODY = "default"  # who answers where sessions have no names


def write_tasks(
    path: str | Path,
    cases: Cases,
    rows: Sequence[Mapping[str, Any]],
    *,
    kind: str,
    positive: Any,
) -> Path:
    """Write drawn cases as tasks; the file appears whole or not at all.

    Looked-up answers are accepted or rejected: ``prodigy mark NAME tasks.jsonl --view-id
    classification``. Probabilities are chosen: ``--view-id choice``.

    Parameters
    ----------
    path : path
        The file, ``.jsonl``.
    cases : Cases
        The draw of `choose_cases`.
    rows : list of dict
        What to show of the drawn rows, in the order of ``cases.rows``: no label, no score.
    kind : {"probability", "looked-up"}
        What to ask.
    positive : object
        The class that is asked about.

    Examples
    --------
    >>> import json, tempfile
    >>> import numpy as np
    >>> import evenodds as eo
    >>> from evenodds.bridges import prodigy
    >>> cases = eo.choose_cases(np.random.default_rng(0).random(500), n_cases=30)
    >>> rows = [{"note": f"patient {row}"} for row in cases.rows]
    >>> path = tempfile.mkdtemp() + "/tasks.jsonl"
    >>> path = prodigy.write_tasks(path, cases, rows, kind="looked-up", positive="ill")
    >>> first = json.loads(path.read_text().splitlines()[0])
    >>> first["label"], [first["row"]] == cases.rows[:1].tolist()
    ('ill', True)
    """
    asked: dict[str, Any] = {"label": str(positive)}
    if check_answers(kind, "kind") == "probability":
        asked["label"] = f"How likely is this to be truly {positive!r}?"
        asked["options"] = [{"id": f"{step:g}", "text": f"{100 * step:g}%"} for step in STEPS]
    with whole_file(as_path(path)) as file:
        for task in tasks_of(cases, rows):
            kept = {name: task[name] for name in (TEXT, ROW, "draw")}
            file.write(json.dumps({**kept, **asked}, ensure_ascii=False) + "\n")
    return as_path(path)


def read(path: str | Path) -> Annotations:
    """Read an export by ``prodigy db-out``.

    Parameters
    ----------
    path : path
        The file, a JSON record a line.

    Returns
    -------
    Annotations
        Of a choice, the label is the chosen id; else that which was accepted, or ``"not "`` and
        that which was rejected. Ignored items have no answer; `Annotations.toss_ups` offers them.

    Raises
    ------
    InputError
        If the file is no such export; the message names the field that was missed.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> from evenodds.bridges import prodigy
    >>> task = {"text": "a case", "label": "SPAM", "_input_hash": 5}
    >>> told = [("ada", "accept"), ("gold", "reject")]
    >>> path = pathlib.Path(tempfile.mkdtemp(), "answers.jsonl")
    >>> with path.open("w") as file:
    ...     for who, answer in told:
    ...         print(json.dumps({**task, "_session_id": who, "answer": answer}), file=file)
    >>> audited = prodigy.read(path).audit(truth="gold")
    >>> audited.given.tolist(), audited.true.tolist()
    (['SPAM'], ['not SPAM'])
    """
    source = str(path)
    answers = []
    items: dict[str, Any] = {}
    asked: dict[str, str] = {}
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        place = f"line {number}"
        record = read_json(line, source, place)
        if not isinstance(record, dict) or record.get("answer") not in ANSWERS:
            raise InputError(missing(source, place, "answer", ADVICE))
        if not isinstance(record.get("_input_hash"), int):
            raise InputError(missing(source, place, "_input_hash", ADVICE))
        if "options" not in record and isinstance(record.get("label"), str):
            asked.setdefault(record["label"], place)
        item = str(record["_input_hash"])
        if items.setdefault(item, record).get(ROW) != record.get(ROW):
            raise InputError(
                f"{place} of {source} is about another 'row' than a line before it, with the same "
                f"'_input_hash' {item}: Prodigy took two cases for one."
            )
        who = str(record.get("_annotator_id") or record.get("_session_id") or NOBODY)
        said = _said(record, place, source)
        answers.append(Annotation(place=place, item=item, annotator=who, said=said))
    if len(asked) > 1:
        (first, here), (second, there), *_ = asked.items()
        raise InputError(
            f"{source} asks about {first!r} in {here} and about {second!r} in {there}: keep the "
            "lines of one 'label'."
        )
    return Annotations(source=source, answers=tuple(answers), items=items)


def _said(record: dict[str, Any], place: str, source: str) -> str | None:
    """Return the label that a line tells; None where the item was ignored."""
    answer = record["answer"]
    if answer == "ignore":
        return None
    if "options" not in record:
        label = record.get("label")
        if not isinstance(label, str):
            raise InputError(missing(source, place, "label", ", nor 'options'"))
        return label if answer == "accept" else f"not {label}"
    if answer == "reject":
        return None
    chosen = record.get("accept")
    if not isinstance(chosen, list) or len(chosen) != 1:
        n_chosen = len(chosen) if isinstance(chosen, list) else "no"
        raise InputError(
            f"{place} of {source} has {n_chosen} choices in 'accept' where the test needs one."
        )
    return str(chosen[0])
