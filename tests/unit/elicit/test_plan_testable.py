"""What a test would refuse is refused before anyone is asked."""

import numpy as np
import pyarrow as pa
import pytest

from evenodds.elicit.plan import plan_session, refuse_untestable
from evenodds.errors import InputError


@pytest.fixture
def table():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 200))
    return pa.table({"a": a, "b": b, "y": (a + rng.logistic(size=200) > 0).astype(int)})


def refuse(table, features, label="y"):
    refuse_untestable(table, label, features, None)


def test_rows_that_can_be_tested_are_let_through(table):
    refuse(table, ("a", "b"))


def test_a_constant_column_is_refused(table, refused):
    with refused("column 'k' of X is constant (always 3)"):
        refuse(table.append_column("k", pa.array([3.0] * 200)), ("a", "b", "k"))


def test_repeated_columns_are_refused(table, refused):
    with refused("columns 'a', 'c' of X repeat each other"):
        refuse(table.append_column("c", table["a"]), ("a", "b", "c"))


def test_separated_labels_are_refused_without_a_warning(table, refused):
    sign = pa.array((table["a"].to_numpy() > 0).astype(int))
    with refused("column 'a' alone separates the labels."):
        refuse(table.append_column("sign", sign), ("a", "b"), label="sign")


@pytest.mark.parametrize("name", ["posterior", "tolerance", "shared_tolerance"])
def test_a_feature_of_a_reserved_name_is_refused(table, refused, name):
    with refused(f"the data has a feature named '{name}', which an anchors file uses"):
        refuse(table.rename_columns(["a", name, "y"]), ("a", name))


@pytest.mark.parametrize("name", ["b,c", " b"])
def test_a_feature_that_the_command_could_not_name_is_refused(table, refused, name):
    renamed = table.rename_columns(["a", name, "y"]).append_column("note", pa.array(["-"] * 200))
    with refused(f"the test will need --features, which cannot name '{name}': rename columns"):
        refuse(renamed, ("a", name))


def test_such_a_name_does_no_harm_where_all_columns_are_features(table):
    refuse(table.rename_columns(["a", "b,c", "y"]), ("a", "b,c"))


def test_a_column_that_only_some_rows_fill_is_judged_by_all_of_them():
    """Cases are chosen from 50,000 rows at most, in which a rare sign may not occur."""
    rng = np.random.default_rng(4)
    a = rng.normal(size=120_000)
    rare = np.zeros(120_000)
    rare[[5, 6]] = 1
    y = (a + rng.logistic(size=120_000) > 0).astype(int)
    y[[5, 6]] = 0, 1
    table = pa.table({"a": a, "rare": rare, "y": y})
    assert plan_session(table, label="y", features=("a", "rare"), seed=1).cases


def test_few_rows_are_counted_and_not_called_clear(refused):
    table = pa.table({"a": [0.0, 1.0, 2.0, 1.5], "y": [0, 1, 0, 1]})
    with refused("the data has 4 rows but a session needs 8 to ask about.", InputError):
        plan_session(table, label="y", features=("a",))
