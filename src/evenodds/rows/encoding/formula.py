"""Features by a formula: ``y ~ log1p(size) + poly(age, 2) + bs(dose, df=5) + C(site)``.

formulaic parses and evaluates it. What a term has to know of the data (levels, knots,
centres) is learnt once, from rows that `teaching_rows` chooses the same way for a frame in
memory and for a file; every block, and the anchors, are then encoded with that knowledge.
"""

import re
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenodds.errors import InputError
from evenodds.rows.encoding.allowed_terms import environment
from evenodds.rows.encoding.base import Encoding
from evenodds.rows.encoding.columns import Levels
from evenodds.rows.encoding.formula_text import FormulaText
from evenodds.rows.encoding.levels import learn_levels
from evenodds.rows.encoding.teaching import TEACHING_ROWS, teaching_rows
from evenodds.rows.selection import Selection
from evenodds.rows.tables.base import Table
from evenodds.rows.values import is_missing_in, kind_of, measurements
from evenodds.validation import FloatArray

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

INTERCEPT = "Intercept"
# More features than this make a covariance of a gigabyte and more.
MOST_FEATURES = 10_000


@dataclass(frozen=True, slots=True)
class FormulaEncoding(Encoding):
    """The right-hand side of a formula, with all that its terms have learnt."""

    formula: FormulaText
    columns: tuple[str, ...]
    levels: tuple[Levels | None, ...]  # None for a column of numbers
    categories: frozenset[str]  # columns whose numbers are levels
    spec: Any  # of formulaic
    notices: tuple[str, ...] = ()

    @property
    def feature_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names formulaic gives, without the intercept."""
        return tuple(name for name in self.spec.column_names if name != INTERCEPT)

    def features(self, batch: "pa.RecordBatch", called: str = "X") -> FloatArray:
        complete = np.ones(batch.num_rows, dtype=bool)
        for name in self.columns:
            complete &= ~is_missing_in(batch.column(name))
        features = np.full((batch.num_rows, len(self.feature_names)), np.nan)
        if complete.any():
            frame = _as_frame(batch, self.columns, self.levels, self.categories, called)
            features[complete] = self._evaluated(frame[complete], called)
        return features

    def _evaluated(self, frame: "pd.DataFrame", called: str) -> FloatArray:
        """Evaluate the terms for rows without holes."""
        from formulaic.errors import DataMismatchWarning

        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", DataMismatchWarning)
            try:
                matrix = self.spec.get_model_matrix(frame, context=environment())
            except DataMismatchWarning as warning:
                raise InputError(
                    f"{called} has a level that the data has not: {_levels_in(str(warning))}."
                ) from None
            except Exception as error:
                self.formula.refuse_term(error, called)
        kept = [place for place, name in enumerate(self.spec.column_names) if name != INTERCEPT]
        return np.asarray(matrix, dtype=np.float64)[:, kept]


def learn_formula(table: Table, formula: FormulaText, selection: Selection) -> FormulaEncoding:
    """Learn levels, knots and centres; one pass for text columns, one for the rest.

    Raises
    ------
    InputError
        If a term cannot be evaluated, or the terms make too many features.
    """
    columns = formula.columns(table.names, table.name)
    kinds = {name: kind_of(table.schema.field(name).type) for name in columns}
    odd = [name for name in columns if kinds[name] not in {"number", "text"}]
    if odd:
        raise InputError(
            f"column {odd[0]!r} of {table.name} holds {table.schema.field(odd[0]).type} values: "
            "a formula takes numbers and text."
        )
    text = [name for name in columns if kinds[name] == "text"]
    found = learn_levels(table, text, selection, formula=True) if text else {}
    levels = tuple(Levels(found[name]) if name in found else None for name in columns)
    categories = formula.categories(columns)
    taught = teaching_rows(table, columns, selection, categories)
    frame = _as_frame(taught, columns, levels, categories, table.name)
    _check_width(formula, {name: frame[name].nunique() for name in {*text, *categories}})
    spec, notices = _learnt(formula, frame, table.name), _notices(taught, table, formula)
    return FormulaEncoding(formula, columns, levels, categories, spec, notices)


def _check_width(formula: FormulaText, n_levels: dict[str, int]) -> None:
    """Refuse crossed categories and splines that make too many features, before they do."""
    width = formula.width(n_levels)
    if width > MOST_FEATURES:
        raise InputError(
            f"formula {formula.text!r} makes up to {width:,} features but a fit takes at most "
            f"{MOST_FEATURES:,}: cross fewer categories, or give splines fewer knots."
        )


def _learnt(formula: FormulaText, frame: "pd.DataFrame", source: str) -> Any:
    """Let formulaic learn what its terms need, and return it."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            matrix = formula.parsed().get_model_matrix(
                frame, context=environment(), output="numpy", na_action="ignore"
            )
        except Exception as error:
            formula.refuse_term(error, source)
    spec = matrix.model_spec
    if INTERCEPT not in spec.column_names:
        raise InputError(
            f"formula {formula.text!r} takes the intercept out, but the curve always has one: "
            "remove '- 1' or '+ 0'."
        )
    if len(spec.column_names) < 2:
        raise InputError(f"formula {formula.text!r} has no features: name at least one column.")
    return spec


def _notices(taught: "pa.Table", table: Table, formula: FormulaText) -> tuple[str, ...]:
    if not formula.learns or table.n_rows <= TEACHING_ROWS:
        return ()
    return (
        f"Knots and centres of the formula were learnt from {taught.num_rows:,} of "
        f"{table.n_rows:,} rows, the smallest and largest values among them.",
    )


def _as_frame(
    batch: Any,
    columns: Sequence[str],
    levels: Sequence[Levels | None],
    categories: Collection[str],
    called: str,
) -> "pd.DataFrame":
    """Return a data frame of floats, numbers that are levels, and text with all its levels."""
    import pandas as pd

    read: dict[str, Any] = {}
    for name, known in zip(columns, levels, strict=True):
        column = batch.column(name)
        column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
        if known is None:
            read[name] = measurements(column, name, called)
            if name not in categories:  # whole numbers would wrap around in products
                read[name] = read[name].astype(np.float64)
            continue
        codes = np.nan_to_num(known.codes(column, name, called), nan=-1).astype(np.int64)
        read[name] = pd.Categorical.from_codes(codes, categories=list(known.texts))
    return pd.DataFrame(read)


def _levels_in(message: str) -> str:
    """Return the levels that formulaic's warning lists."""
    listed = message.partition("{")[2].partition("}")[0] or message
    return re.sub(r"np\.\w+\((.*?)\)", r"\1", listed)
