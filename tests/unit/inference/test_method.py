"""The facts that methods carry, and what they refuse."""

import pytest

import evenodds as eo
from evenodds.inference.asymmetry import CURVE_METHODS, METHODS
from evenodds.inference.method import Known, Method
from evenodds.rows.memory import read_rows


def test_every_method_is_found_by_its_name():
    assert {name: test.__name__ for name, test in METHODS.items()} == {
        "boundary": "Boundary",
        "joint": "Joint",
        "local": "Local",
        "wald": "Wald",
    }


@pytest.mark.parametrize("name", METHODS)
def test_a_record_of_settings_is_a_method_and_hashable(name):
    assert isinstance(METHODS[name](), Method)
    assert METHODS[name]() == METHODS[name]()
    assert len({METHODS[name](), METHODS[name]()}) == 1


@pytest.mark.parametrize("name", METHODS)
def test_a_result_keeps_the_name_and_has_the_rates_it_should(labelled, name):
    near = eo.Anchors([[0.0, 0.0]])
    result = eo.asymmetry_test(labelled.X, labelled.y, near, method=name)
    assert result.method == name
    assert (result.alpha is not None) == METHODS[name].has_rates
    assert bool(result.sketch.bins) == METHODS[name].fits_curve == (name in CURVE_METHODS)


@pytest.mark.parametrize("name", ["local", "wald"])
def test_an_audit_is_refused_where_it_has_no_place(labelled, toss_ups, refused, name):
    known = Known(toss_ups, eo.Audit([1, 0], [1, 0]))
    with refused(f"audit cannot be used with method {name!r}, {METHODS[name].why_no_audit}"):
        METHODS[name]().run(read_rows(labelled.X, labelled.y), known, "two-sided")
