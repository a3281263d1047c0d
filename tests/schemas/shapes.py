"""JSON schemas of results, worked out from the fields of their records."""

import inspect
import json
import types
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import evenodds as eo
from evenodds.inference.results import Result
from evenodds.planning.audit_size import AuditSize
from evenodds.planning.line_plan import LinePlan
from evenodds.planning.plan import Plan

FOLDER = Path(__file__).parents[2] / "docs" / "schema"
RESULTS: tuple[type[Result], ...] = (
    eo.AnnotatorAuditResult,
    eo.AsymmetryTestResult,
    AuditSize,
    eo.AuditTestResult,
    eo.ClassLineResult,
    eo.ConfusionTestResult,
    eo.ContourTestResult,
    eo.CorrectedShareResult,
    eo.GroupSharesResult,
    LinePlan,
    eo.LineTestResult,
    eo.MulticlassTestResult,
    Plan,
    eo.PriorTestResult,
    eo.StratifiedConfusionResult,
)
NUMBER = {"type": ["number", "null"]}
INTERVAL = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("low", "high", "level"), NUMBER),
        "low_is_limit": {"type": "boolean"},
        "high_is_limit": {"type": "boolean"},
    },
    "required": ["low", "high", "level"],
    "additionalProperties": False,
}
PLAIN = {float: NUMBER["type"], int: "integer", str: "string", bool: "boolean", type(None): "null"}
# What the command line says beside the record, as far as a result has it.
BESIDE: dict[str, Any] = {
    "significance": NUMBER,
    "reject": {"type": "boolean"},
    "verdict": {"type": "string"},
    **dict.fromkeys(("confidence_interval", "alpha_interval", "beta_interval"), INTERVAL),
    "equivalence": {"type": "object", "additionalProperties": NUMBER},
    "line_pvalue": NUMBER,
    "reached": {"type": "string"},
    "not_rejected": {"type": "string"},
    "not_ruled_out": {"type": "array", "items": {"type": "object"}},
    "intervals": {"type": ["array", "object"]},
    "asymmetry_matrix": {"type": "array", "items": {"type": "array", "items": NUMBER}},
}


def shape_of(result: type[Result]) -> dict[str, Any]:
    """Return the schema of a result's record, alone or as the command line prints it."""
    defined: dict[str, Any] = {}
    own = _record(result, defined, whole=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": result.__name__,
        "description": (
            f"{inspect.cleandoc(result.__doc__ or '').splitlines()[0]} Version {result._schema}. "
            "Numbers that are not known are null."
        ),
        **own,
        "properties": {**BESIDE, **own["properties"]},
        "$defs": dict(sorted(defined.items())),
    }


def _record(record: Any, defined: dict[str, Any], *, whole: bool = False) -> dict[str, Any]:
    """Return the schema of a record: all of its fields, and no others."""
    shapes: dict[str, Any] = {}
    if whole:
        shapes["schema_version"] = {"const": record._schema}
        for name in record._derived:
            found = getattr(record, name)  # a property, or the same for all of its kind
            kind = get_type_hints(found.fget)["return"] if isinstance(found, property) else None
            shapes[name] = {"const": found} if kind is None else _shape(kind, defined)
    for part in fields(record):
        shapes[part.name] = _shape(part.type, defined, direct=whole)
    return {
        "type": "object",
        "properties": shapes,
        "required": list(shapes),
        "additionalProperties": False,
    }


def _shape(kind: Any, defined: dict[str, Any], *, direct: bool = False) -> dict[str, Any]:
    """Return the schema of one type; records go to `defined`.

    A result that is itself a field of a result is stored whole, with its version.
    """
    origin, parts = get_origin(kind), get_args(kind)
    shape: dict[str, Any] = {}
    if kind in PLAIN:
        shape = {"type": PLAIN[kind]}
    elif origin is Literal:
        shape = {"enum": list(parts)}
    elif origin in {Union, types.UnionType}:
        shape = {"anyOf": [_shape(part, defined, direct=direct) for part in parts]}
    elif origin is tuple and parts[-1] is Ellipsis:
        shape = {"type": "array", "items": _shape(parts[0], defined)}
    elif origin is tuple:
        inside = [_shape(part, defined) for part in parts]
        shape = {"type": "array", "prefixItems": inside, "items": False, "minItems": len(parts)}
    elif origin is dict:
        shape = {"type": "object", "additionalProperties": _shape(parts[1], defined)}
    elif is_dataclass(kind):
        # A field may hold a record of a narrower kind, with fields of its own.
        kinds = {kind.__name__: kind} | {one.__name__: one for one in kind.__subclasses__()}
        for name, one in kinds.items():
            if name not in defined:
                defined[name] = _record(one, defined, whole=direct and issubclass(one, Result))
        refs = [{"$ref": f"#/$defs/{name}"} for name in sorted(kinds)]
        shape = refs[0] if len(refs) == 1 else {"anyOf": refs}
    elif kind is not Any:
        raise TypeError(f"{kind!r} has no shape yet: teach it to {__name__}.")
    return shape


def published(result: type[Result]) -> Path:
    """Return the file that holds a result's schema, in its present version."""
    return FOLDER / f"{result.__name__}-{result._schema}.json"


def written(result: type[Result]) -> str:
    """Return the schema as its file holds it."""
    return json.dumps(shape_of(result), indent=1) + "\n"
