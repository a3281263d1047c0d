"""Going on with a sitting: only as it was started, and about the same data."""

from typing import TYPE_CHECKING, Any

from evenodds.elicit.sitting import Sitting, fingerprint
from evenodds.elicit.wishes import Wishes
from evenodds.errors import InputError
from evenodds.rows.labels import read_labels
from evenodds.validation import join_quoted

if TYPE_CHECKING:
    import pyarrow as pa


def check_same(sitting: Sitting, table: "pa.Table", wishes: Wishes) -> None:
    """Refuse to go on with a sitting about other data, or as it was not started."""
    where = wishes.database
    same_rows = (
        wishes.label == sitting.label
        and max(sitting.cases) < table.num_rows
        and fingerprint(table, wishes.label, sitting.cases) == sitting.digest
    )
    if not same_rows:
        raise InputError(
            f"{where} holds answers about other rows, or another label than {wishes.label!r}: go "
            "on with the data it was started with, or name another --out."
        )
    labels = read_labels(table[wishes.label].to_numpy(), wishes.positive, repr(wishes.label))
    classes = {str(labels.negative), str(labels.positive)}
    if classes != {sitting.negative, sitting.positive}:
        raise InputError(
            f"{where} holds answers about {join_quoted((sitting.negative, sitting.positive))} but "
            f"the labels now are {join_quoted(sorted(classes))}: name another --out."
        )
    wished = {
        "--positive": (wishes.positive and str(labels.positive), sitting.positive),
        "--features": (_names(wishes.features), _names(sitting.features)),
        "--show": (_names(wishes.show), _names(sitting.shown)),
        "--cases": (wishes.n_cases, sitting.n_cases),
        "--repeats": (wishes.n_repeats, sitting.n_repeats),
        "--seed": (wishes.seed, sitting.seed),
    }
    for option, (now, then) in wished.items():
        if now is not None and now != then:
            raise InputError(
                f"{where} was started with {option} {then}, not {now}: leave {option} out to go "
                "on with it, or name another --out to begin anew."
            )


def _names(columns: tuple[str, ...] | None) -> Any:
    """Return names as an option writes them, in an order that does not matter."""
    return None if columns is None else ",".join(sorted(columns))
