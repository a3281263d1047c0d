"""Records as Label Studio and Prodigy export them."""

STAMP = "2026-03-09T22:16:08.728353Z"


def choice(label, from_name="stated"):
    """Return one result of an annotation."""
    return {
        "id": "Dx_aB91ISN",
        "from_name": from_name,
        "to_name": "case",
        "type": "choices",
        "origin": "manual",
        "value": {"choices": [str(label)]},
    }


def annotation(who, label, **more):
    """Return one annotation, skipped where the label is None."""
    return {
        "id": 1001,
        "completed_by": who,
        "result": [] if label is None else [choice(label)],
        "was_cancelled": label is None,
        "ground_truth": False,
        "created_at": STAMP,
        "updated_at": STAMP,
        "lead_time": 4.288,
        "prediction": {},
        "result_count": 0,
        "task": 1,
        "parent_prediction": None,
        **more,
    }


def task(number, annotations, **data):
    """Return one task of an export."""
    return {
        "id": number,
        "annotations": annotations,
        "file_upload": "1a2b-tasks.json",
        "drafts": [],
        "predictions": [],
        "data": data,
        "meta": {},
        "created_at": STAMP,
        "updated_at": STAMP,
        "inner_id": number,
        "total_annotations": len(annotations),
        "cancelled_annotations": 0,
        "project": 83,
        "updated_by": 1,
    }


def line(number, answer, who="headlines-ada", **more):
    """Return one line of an export of Prodigy."""
    return {
        "text": f"case {number}",
        "_input_hash": -1842734674 + number,
        "_task_hash": 636683182 + number,
        "_view_id": "classification",
        "answer": answer,
        "_timestamp": 1741558568,
        "_annotator_id": who,
        "_session_id": who,
        **more,
    }
