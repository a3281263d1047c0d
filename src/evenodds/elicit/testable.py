"""What a test would refuse, refused before anyone is asked."""

from typing import TYPE_CHECKING

from evenodds.errors import InputError
from evenodds.model.logistic import climb
from evenodds.rows.anchor_points import STATED
from evenodds.rows.missing import refuse_missing
from evenodds.rows.source import read_rows
from evenodds.validation import join_quoted

if TYPE_CHECKING:
    import pyarrow as pa


def refuse_untestable(
    table: "pa.Table", label: str, features: tuple[str, ...], positive: str | None
) -> None:
    """Raise where the rows have no curve to test, or their columns cannot be named to a test."""
    clash = [name for name in STATED if name in features]
    if clash:
        raise InputError(
            f"the data has a feature named {join_quoted(clash)}, which an anchors file uses for "
            "what experts state: rename that column."
        )
    every = {*table.column_names} - {label}
    unspeakable = [name for name in features if "," in name or name != name.strip() or not name]
    if unspeakable and set(features) != every:
        raise InputError(
            f"the test will need --features, which cannot name {join_quoted(unspeakable)}: rename "
            "columns with commas, or spaces around their names."
        )
    rows = read_rows(table.select(list(features)), table[label].to_numpy(), positive=positive)
    refuse_missing(rows)
    climb(rows)
