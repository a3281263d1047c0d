"""Label Studio: tasks to judge drawn cases there, and its JSON export read back.

Of an export are read ``id``, ``data`` and ``annotations`` of each task, and of an annotation
``completed_by``, ``was_cancelled``, ``ground_truth``, and ``choices`` of the values in ``result``.
Numbers are not read, and tasks do not ask for them: Label Studio 1.23.2 keeps 0.01, typed into a
number field, as 1. https://labelstud.io/guide/task_format
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from evenodds.bridges.annotations import (
    STEPS,
    Annotation,
    Annotations,
    missing,
    read_json,
    read_text,
    tasks_of,
)
from evenodds.errors import InputError
from evenodds.files import as_path, whole_file
from evenodds.inference.cases.record import Cases, check_answers
from evenodds.validation import join_quoted

ADVICE = ": export the project as JSON, not as JSON-MIN or CSV"


def write_tasks(path: str | Path, cases: Cases, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write drawn cases as tasks to import; the file appears whole or not at all.

    Parameters
    ----------
    path : path
        The file, ``.json``.
    cases : Cases
        The draw of `choose_cases`.
    rows : list of dict
        What to show of the drawn rows, in the order of ``cases.rows``: no label, no score.

    Examples
    --------
    >>> import json, tempfile
    >>> import numpy as np
    >>> import evenodds as eo
    >>> from evenodds.bridges import label_studio
    >>> cases = eo.choose_cases(np.random.default_rng(0).random(500), n_cases=30)
    >>> rows = [{"note": f"patient {row}"} for row in cases.rows]
    >>> path = label_studio.write_tasks(tempfile.mkdtemp() + "/tasks.json", cases, rows)
    >>> sorted(json.loads(path.read_text())[0]["data"])
    ['draw', 'note', 'row', 'text']
    """
    tasks = [{"data": task} for task in tasks_of(cases, rows)]
    with whole_file(as_path(path)) as file:
        file.write(json.dumps(tasks, indent=1, ensure_ascii=False))
    return as_path(path)


def labelling_config(kind: str, classes: tuple[Any, Any]) -> str:
    """Return the labelling interface that these tasks need, to paste into the project.

    Parameters
    ----------
    kind : {"probability", "looked-up"}
        What to ask: how likely a case is truly positive, or which it is.
    classes : pair
        The negative and the positive label.

    Examples
    --------
    >>> from evenodds.bridges import label_studio
    >>> print(label_studio.labelling_config("looked-up", ("healthy", "ill")))
    <View>
      <Header value="What is it truly?"/>
      <Text name="case" value="$text"/>
      <Choices name="stated" toName="case" choice="single" required="true">
        <Choice value="healthy"/>
        <Choice value="ill"/>
      </Choices>
    </View>
    """
    named = [str(name) for name in classes]
    question, layout = "What is it truly?", ""
    choices = [f"    <Choice value={quoteattr(name)}/>" for name in named]
    if check_answers(kind, "kind") == "probability":
        named = named[1:]
        question, layout = f"How likely is this to be truly {classes[1]!r}?", ' showInline="true"'
        choices = [f'    <Choice value="{100 * step:g}%" alias="{step:g}"/>' for step in STEPS]
    variable = next((name for name in named if "$" in name), None)
    if variable is not None:
        raise InputError(
            f"the class {variable!r} has a '$', and Label Studio shows the field of that name "
            "instead: rename the class, or judge cases in a sheet."
        )
    lines = [
        "<View>",
        f"  <Header value={quoteattr(question)}/>",
        '  <Text name="case" value="$text"/>',
        f'  <Choices name="stated" toName="case" choice="single"{layout} required="true">',
        *choices,
        "  </Choices>",
        "</View>",
    ]
    return "\n".join(lines)


def looks_like_export(path: str | Path) -> bool:
    """Tell a list of JSON, as an export is, from a record."""
    return read_text(path).lstrip().startswith("[")


def read(path: str | Path, *, from_name: str | None = None) -> Annotations:
    """Read a JSON export.

    Parameters
    ----------
    path : path
        The file.
    from_name : str, optional
        The control whose answers count, where the project has several.

    Returns
    -------
    Annotations
        An annotation that was skipped, or has no choice, is no answer; one that is marked as
        ground truth is the truth, and nobody's label.

    Raises
    ------
    InputError
        If the file is no such export; the message names the field that was missed.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> from evenodds.bridges import label_studio
    >>> def annotation(who, choice, **more):
    ...     value = {"from_name": "verdict", "type": "choices", "value": {"choices": [choice]}}
    ...     return {"completed_by": who, "was_cancelled": False, "result": [value], **more}
    >>> task = {
    ...     "id": 1,
    ...     "data": {"text": "a case"},
    ...     "annotations": [annotation(7, "pass"), annotation(8, "fail", ground_truth=True)],
    ... }
    >>> path = pathlib.Path(tempfile.mkdtemp(), "export.json")
    >>> _ = path.write_text(json.dumps([task]))
    >>> audited = label_studio.read(path).audit()
    >>> audited.given.tolist(), audited.true.tolist(), audited.annotators.tolist()
    (['pass'], ['fail'], ['7'])
    """
    source = str(path)
    tasks = read_json(read_text(path), source)
    if not isinstance(tasks, list):
        raise InputError(f"{source} is no list of tasks with 'annotations'{ADVICE}.")
    answers: list[Annotation] = []
    items: dict[str, Any] = {}
    silent = ""  # where the first annotation without a choice stands that was not skipped
    for number, task in enumerate(tasks, 1):
        place = f"task {number}"
        for name, kind in (("annotations", list), ("data", dict), ("id", (int, str))):
            if not isinstance(task, dict) or not isinstance(task.get(name), kind):
                raise InputError(missing(source, place, name, ADVICE))
        item = str(task["id"])
        if item in items:
            raise InputError(
                f"{place} of {source} is one more task with the 'id' {item}: keep one."
            )
        items[item] = task["data"]
        place = f"{place} (id {item})"
        for annotation in task["annotations"]:
            answers.append(_annotation(annotation, item, place, source, from_name))
            if answers[-1].said is None and not annotation.get("was_cancelled"):
                silent = silent or place
    if silent and all(one.said is None for one in answers):
        wanted = "" if from_name is None else f" of {from_name!r}"
        raise InputError(
            f"{silent} of {source} has no field 'result[].value.choices'{wanted}, and no other "
            "annotation has it: the test needs one choice of each annotator."
        )
    return Annotations(source=source, answers=tuple(answers), items=items)


def _annotation(
    record: Any, item: str, place: str, source: str, from_name: str | None
) -> Annotation:
    """Read one annotation of a task."""
    if not isinstance(record, dict) or not isinstance(record.get("result"), list):
        raise InputError(missing(source, place, "annotations[].result", ADVICE))
    marks = {name: record.get(name) or False for name in ("was_cancelled", "ground_truth")}
    for name, mark in marks.items():
        if not isinstance(mark, bool):
            raise InputError(
                f"{place} of {source} has {mark!r} as 'annotations[].{name}', which is true or "
                "false."
            )
    said = None if marks["was_cancelled"] else _said(record["result"], place, source, from_name)
    return Annotation(
        place=place,
        item=item,
        annotator=_annotator(record.get("completed_by"), place, source),
        said=said,
        is_truth=marks["ground_truth"],
    )


def _annotator(user: Any, place: str, source: str) -> str:
    """Return who answered: a number, or a record with an address."""
    if isinstance(user, dict):
        user = user.get("email") or user.get("id")
    if not isinstance(user, (int, str)) or isinstance(user, bool):
        advice = ": once an account is deleted it is empty, and needs a number"
        raise InputError(missing(source, place, "annotations[].completed_by", advice))
    return str(user)


def _said(result: list[Any], place: str, source: str, from_name: str | None) -> str | None:
    """Return the only choice of an annotation; None where nothing was chosen."""
    found: list[tuple[str, Any]] = []
    for one in result:
        value = one.get("value") if isinstance(one, dict) else None
        if isinstance(value, dict) and "choices" in value:
            control = str(one.get("from_name"))
            if from_name in (None, control):
                found.append((control, value["choices"]))
    if not found:
        return None
    if len(found) > 1:
        controls = list(dict.fromkeys(name for name, _ in found))
        advice = f": label_studio.read(path, from_name=...) reads one of {join_quoted(controls)}"
        raise InputError(
            f"{place} of {source} has {len(found)} answers in 'result' where the test needs one"
            f"{advice * (len(controls) > 1)}."
        )
    said = found[0][1]
    if isinstance(said, list) and len(said) == 1 and isinstance(said[0], str):
        return said[0]
    n_choices = len(said) if isinstance(said, list) else "no"
    raise InputError(
        f"{place} of {source} has {n_choices} choices in 'result[].value.choices' where the test "
        "needs one."
    )
