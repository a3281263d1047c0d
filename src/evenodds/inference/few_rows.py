"""Refusing data with hardly any row of one label: any verdict on them would be noise."""

from collections.abc import Iterable
from typing import Any

from evenodds.errors import InputError
from evenodds.rows.base import Rows
from evenodds.rows.classes import ClassRows
from evenodds.validation import FloatArray

# Columns a row from which noisy curves turn into steps: any number of them, and many.
ANY_SHARE = 0.04
MANY_COLUMNS, MANY_SHARE = 50, 0.02
FEWEST_ROWS = 500


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


def check_columns(rows: Rows, method: str) -> None:
    """Refuse more columns than a noisy curve can be told from a step with.

    Below `FEWEST_ROWS` rows the test runs, and withholds what it cannot tell.
    """
    n_rows, n_columns = rows.n_counted, rows.n_features
    share = n_columns / n_rows
    many = n_columns >= MANY_COLUMNS and share >= MANY_SHARE
    if n_rows < FEWEST_ROWS or not (many or share >= ANY_SHARE):
        return
    most = max(int(ANY_SHARE * n_rows - 1e-9), 1)
    if most >= MANY_COLUMNS:
        most = max(int(MANY_SHARE * n_rows - 1e-9), MANY_COLUMNS - 1)
    raise InputError(
        f"{rows.called} has {n_columns} columns and {n_rows:,} rows, too few for method "
        f"{method!r}: its noisy curve would be a step. Keep the columns that matter, at most "
        f"{most} here, or combine them by a formula; or look up the true label of some rows and "
        "use audit_test."
    )


def _check_rarest(counted: Iterable[tuple[Any, float]], n_parameters: int, advice: str) -> None:
    """Refuse a label seen less often than there are parameters."""
    label, count = min(counted, key=lambda pair: pair[1])
    if count < n_parameters:
        raise InputError(
            f"only {count:g} rows are labelled {label!r}, fewer than the {n_parameters} "
            f"parameters of {advice}, or use fewer columns."
        )
