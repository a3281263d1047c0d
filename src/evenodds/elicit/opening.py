"""Opening a desk: everything is checked, and cases are chosen, before anyone is asked."""

import shlex
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evenodds.elicit.desk import Desk
from evenodds.elicit.export import Outputs
from evenodds.elicit.outlook import Detect, Outlook, Prospect
from evenodds.elicit.show import Showing, choose_columns
from evenodds.elicit.sitting import MOST_ROWS, check_same, plan_sitting
from evenodds.elicit.store import Store
from evenodds.elicit.tolerance import MOST_SHARED, UNSEEN_LEAN
from evenodds.errors import ImprecisionWarning, InputError
from evenodds.planning.solve import detectable_asymmetry
from evenodds.simulation.own_data import data_world
from evenodds.validation import check_between, near_misses

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What whoever prepares a sitting asks for; see `evenodds elicit --help`."""

    data: Path
    label: str
    out: Path
    raw: Path | None = None
    show: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    positive: str | None = None
    n_cases: int = 60
    n_repeats: int = 12
    unseen_lean: float = UNSEEN_LEAN
    images: Path | None = None
    seed: int = 0

    def outputs(self) -> Outputs:
        """Return where results are written to, refusing the data itself."""
        outputs = Outputs(self.out, self.raw or self.out.with_name(f"{self.out.stem}_answers.csv"))
        if self.data.resolve() in {outputs.anchors.resolve(), outputs.answers.resolve()}:
            raise InputError(f"--out or --raw would overwrite {self.data}: name another file.")
        return outputs

    @property
    def database(self) -> Path:
        """Where answers are kept as they come."""
        return self.out.with_name(f"{self.out.stem}_answers.db")


def open_desk(table: "pa.Table", wishes: Wishes, *, must_exist: bool = False) -> Desk:
    """Check everything and return a desk to sit at.

    With `must_exist`, only go on with answers that are there.
    """
    outputs = wishes.outputs()
    check_between(wishes.unseen_lean, "--lean", 0, MOST_SHARED)
    if wishes.images is not None and not wishes.images.is_dir():
        raise InputError(f"--images {wishes.images} is no folder.")
    _check_column(table, wishes.label, wishes)
    columns = choose_columns(table, wishes.label, wishes.show, str(wishes.data))
    features = _features(table, wishes)
    return Desk(
        table=table,
        showing=Showing(columns, (wishes.images or wishes.data.resolve().parent,)),
        store=_open_store(table, features, wishes, must_exist),
        outputs=outputs,
        anchor_columns=features,
        outlook=Outlook(_detector(table, features, wishes)),
        unseen_lean=wishes.unseen_lean,
        test_command=_test_command(table, features, wishes),
    )


def _open_store(
    table: "pa.Table", features: tuple[str, ...], wishes: Wishes, must_exist: bool
) -> Store:
    """Go on with the answers there are, or choose cases and begin."""
    path = wishes.database
    if Store.has_begun(path):
        store = Store.open(path)
    elif must_exist:
        raise InputError(f"there are no answers yet: {path} is not there.")
    else:
        sitting = plan_sitting(
            table,
            label=wishes.label,
            features=features,
            positive=wishes.positive,
            n_cases=wishes.n_cases,
            n_repeats=wishes.n_repeats,
            seed=wishes.seed,
        )
        # Another start may have come first meanwhile: then its sitting is gone on with.
        store = Store.begin(path, sitting)
    check_same(store.sitting, table, wishes.label, str(path))
    return store


def _features(table: "pa.Table", wishes: Wishes) -> tuple[str, ...]:
    """Return the columns that the test will go by: those named, or all that hold numbers."""
    import pyarrow as pa  # noqa: PLC0415 - only tables need it

    if wishes.features is not None:
        for name in wishes.features:
            _check_column(table, name, wishes)
        if not wishes.features or wishes.label in wishes.features:
            raise InputError("--features must name columns, and not the label.")
        return wishes.features
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    found = tuple(
        field.name
        for field in table.schema
        if field.name != wishes.label and any(is_number(field.type) for is_number in numbers)
    )
    if not found:
        raise InputError(
            f"{wishes.data} has no column of numbers beside {wishes.label!r} for a test to go by."
        )
    return found


def _check_column(table: "pa.Table", name: str, wishes: Wishes) -> None:
    if name not in table.column_names:
        near = near_misses(name, table.column_names)
        raise InputError(f"{wishes.data} has no column {name!r}; {near}")


def _detector(table: "pa.Table", features: tuple[str, ...], wishes: Wishes) -> Detect:
    """Return a function that works out what a test of these rows could find."""
    step = -(-table.num_rows // MOST_ROWS)
    some = table.take(np.arange(0, table.num_rows, step)) if step > 1 else table
    with warnings.catch_warnings():
        # Flip rates taken as 0 where the rows cannot tell: an outlook need not be exact.
        warnings.simplefilter("ignore", ImprecisionWarning)
        world = data_world(
            some.select(list(features)), some[wishes.label].to_numpy(), positive=wishes.positive
        )

    def detect(prospect: Prospect) -> float:
        return detectable_asymmetry(
            world,
            n_rows=table.num_rows,
            n_anchors=prospect.n_anchors,
            tolerance=prospect.tolerance,
            shared_tolerance=prospect.shared_tolerance,
        )

    return detect


def _test_command(table: "pa.Table", features: tuple[str, ...], wishes: Wishes) -> str:
    """Return what to run on the result; features need no names where all columns are."""
    words = ["evenodds", "test", str(wishes.data), "--label", wishes.label]
    words += ["--anchors", str(wishes.out)]
    every = {name for name in table.column_names if name != wishes.label}
    if wishes.features is not None or set(features) != every:
        words += ["--features", ",".join(features)]
    if wishes.positive is not None:
        words += ["--positive", wishes.positive]
    return shlex.join(words)
