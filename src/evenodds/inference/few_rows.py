"""Refusing data with hardly any row of one label: any verdict on them would be noise."""

from collections.abc import Iterable
from typing import Any

from evenodds.errors import InputError
from evenodds.rows.base import Rows
from evenodds.rows.classes import ClassRows
from evenodds.validation import FloatArray


def check_rarer_label(rows: Rows) -> None:
    """Refuse rows of which one label has fewer than the curve has parameters."""
    positives = rows.positive_weight()
    counted = (rows.positive, positives), (rows.negative, rows.total_weight - positives)
    _check_rarest(counted, rows.n_features + 1, "the curve: collect more of them")


def check_rarest_class(rows: ClassRows, counts: FloatArray) -> None:
    """Refuse rows of which one class has fewer than its curve has parameters."""
    counted = zip(rows.classes.names, counts, strict=True)
    advice = "its curve: collect more of them, merge the class with another"
    _check_rarest(counted, rows.features.shape[1] + 1, advice)


def _check_rarest(counted: Iterable[tuple[Any, float]], n_parameters: int, advice: str) -> None:
    """Refuse a label seen less often than there are parameters."""
    label, count = min(counted, key=lambda pair: pair[1])
    if count < n_parameters:
        raise InputError(
            f"only {count:g} rows are labelled {label!r}, fewer than the {n_parameters} "
            f"parameters of {advice}, or use fewer columns."
        )
