"""Opening a desk: everything is checked, and cases are chosen, before anyone is asked."""

import shlex
import warnings
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from evenodds.elicit.desk import Desk
from evenodds.elicit.outlook import Detect, Outlook, Prospect
from evenodds.elicit.resuming import check_same
from evenodds.elicit.show import Showing, choose_columns
from evenodds.elicit.sitting import MOST_ROWS, N_CASES, N_REPEATS, SEED, Sitting, plan_sitting
from evenodds.elicit.store import Store
from evenodds.elicit.tolerance import MOST_SHARED
from evenodds.elicit.wishes import Wishes
from evenodds.errors import ImprecisionWarning, InputError
from evenodds.planning.solve import detectable_asymmetry
from evenodds.simulation.own_data import data_world
from evenodds.validation import check_between, near_misses

if TYPE_CHECKING:
    import pyarrow as pa


def open_desk(table: "pa.Table", wishes: Wishes, *, must_exist: bool = False) -> Desk:
    """Check everything and return a desk to sit at.

    With `must_exist`, only go on with answers that are there.
    """
    outputs = wishes.outputs()
    check_between(wishes.unseen_lean, "--lean", 0, MOST_SHARED)
    if wishes.images is not None and not wishes.images.is_dir():
        raise InputError(f"--images {wishes.images} is no folder.")
    _check_column(table, wishes.label, wishes)
    store = _open_store(table, wishes, must_exist)
    sitting = store.sitting
    return Desk(
        table=table,
        showing=Showing(sitting.shown, (wishes.images or wishes.data.resolve().parent,)),
        store=store,
        outputs=outputs,
        outlook=Outlook(partial(_detector, table, sitting)),
        unseen_lean=wishes.unseen_lean,
        test_command=_test_command(table, sitting, wishes),
    )


def _open_store(table: "pa.Table", wishes: Wishes, must_exist: bool) -> Store:
    """Go on with the answers there are, or choose cases and begin."""
    path = wishes.database
    if Store.has_begun(path):
        store = Store.open(path)
    elif must_exist:
        raise InputError(f"there are no answers yet: {path} is not there.")
    else:
        # Another start may come first meanwhile: then its sitting is gone on with.
        store = Store.begin(path, _plan(table, wishes))
    try:
        check_same(store.sitting, table, wishes)
    except InputError:
        store.close()
        raise
    return store


def _plan(table: "pa.Table", wishes: Wishes) -> Sitting:
    """Choose the cases of a sitting as wished for."""
    features = _features(table, wishes)
    return plan_sitting(
        table,
        label=wishes.label,
        features=features,
        shown=choose_columns(table, wishes.label, wishes.show or features, str(wishes.data)),
        positive=wishes.positive,
        n_cases=N_CASES if wishes.n_cases is None else wishes.n_cases,
        n_repeats=N_REPEATS if wishes.n_repeats is None else wishes.n_repeats,
        seed=SEED if wishes.seed is None else wishes.seed,
    )


def _features(table: "pa.Table", wishes: Wishes) -> tuple[str, ...]:
    """Return the columns that the test will go by: those named, or all that hold numbers."""
    import pyarrow as pa

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


def _detector(table: "pa.Table", sitting: Sitting) -> Detect:
    """Return a function that works out what a test of these rows could find."""
    step = -(-table.num_rows // MOST_ROWS)
    some = table.take(np.arange(0, table.num_rows, step)) if step > 1 else table
    features, labels = some.select(list(sitting.features)), some[sitting.label].to_numpy()
    with warnings.catch_warnings():
        # Flip rates taken as 0 where the rows cannot tell: an outlook need not be exact.
        warnings.simplefilter("ignore", ImprecisionWarning)
        world = data_world(features, labels, positive=sitting.positive)

    def detect(prospect: Prospect) -> float:
        return detectable_asymmetry(
            world,
            n_rows=table.num_rows,
            n_anchors=prospect.n_anchors,
            tolerance=prospect.tolerance,
            shared_tolerance=prospect.shared_tolerance,
            runs=0,  # an outlook need not be exact, but quick
        )

    return detect


def _test_command(table: "pa.Table", sitting: Sitting, wishes: Wishes) -> str:
    """Return what to run on the result; features need no names where all columns are."""
    words = ["evenodds", "test", str(wishes.data), "--label", sitting.label]
    words += ["--anchors", str(wishes.out)]
    if set(sitting.features) != {*table.column_names} - {sitting.label}:
        words += ["--features", ",".join(sitting.features)]
    # Sliders are about this class, so the test must be too.
    return shlex.join([*words, "--positive", sitting.positive])
