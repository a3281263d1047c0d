"""Preparing a session: everything that is refused, and going on."""

import pyarrow as pa
import pytest

from evenodds.elicit.plan import plan_session
from evenodds.elicit.session import open_session


def test_features_are_the_columns_of_numbers(session):
    assert session.plan.features == ("age", "dose")


def test_the_command_to_run_next_names_features_where_some_columns_are_none(session):
    assert session.test_command.endswith("anchors.parquet --features age,dose --positive ill")


def test_the_command_needs_no_features_where_all_columns_are(patients, wishes):
    session = open_session(patients.drop_columns(["note", "scan"]), wishes(show=None))
    assert session.test_command.endswith(
        f"--label diagnosis --anchors {wishes().out} --positive ill"
    )
    session.store.close()


def test_the_features_are_shown_where_nothing_else_is_asked_for(patients, wishes):
    session = open_session(patients, wishes(show=None))
    assert session.showing.columns == ("age", "dose")
    session.store.close()


def test_going_on_finds_the_same_cases_and_the_answers(session, patients, wishes, answer_next):
    answer_next(session, "toss-up")
    again = open_session(patients, wishes())
    assert again.plan == session.plan
    assert len(again.store.answers("Ada")) == 1
    again.store.close()


STARTED = {
    "positive": "healthy",
    "features": ("dose",),
    "show": ("dose", "note"),
    "n_cases": 12,
    "n_repeats": 3,
    "seed": 7,
}


def test_going_on_needs_none_of_what_it_was_started_with(patients, wishes):
    open_session(patients, wishes(**STARTED)).store.close()
    again = open_session(patients, wishes(**dict.fromkeys(STARTED)), must_exist=True)
    assert again.test_command.endswith("--features dose --positive healthy")
    assert again.showing.columns == ("dose", "note")
    assert (again.plan.positive, again.plan.negative) == ("healthy", "ill")
    again.store.close()


@pytest.mark.parametrize(
    ("name", "other", "text"),
    [
        ("positive", "ill", "was started with --positive healthy, not ill: leave --positive out"),
        ("features", ("age",), "was started with --features dose, not age: leave --features out"),
        ("show", ("dose",), "was started with --show dose,note, not dose: leave --show out"),
        ("n_cases", 60, "was started with --cases 12, not 60: leave --cases out"),
        ("n_repeats", 0, "was started with --repeats 3, not 0: leave --repeats out"),
        ("seed", 0, "was started with --seed 7, not 0: leave --seed out"),
    ],
)
def test_going_on_otherwise_than_started_is_refused(patients, wishes, refused, name, other, text):
    open_session(patients, wishes(**STARTED)).store.close()
    with refused(text):
        open_session(patients, wishes(**{**STARTED, name: other}))


def test_other_class_names_are_not_gone_on_with(session, patients, wishes, refused):
    place = patients.column_names.index("diagnosis")
    renamed = pa.array([{"ill": "sick"}.get(v, v) for v in patients["diagnosis"].to_pylist()])
    with refused("holds answers about 'healthy' and 'ill' but the labels now are 'healthy' and"):
        open_session(patients.set_column(place, "diagnosis", renamed), wishes())


def test_relabelled_data_are_still_the_same_cases(session, patients, wishes):
    place = patients.column_names.index("diagnosis")
    flipped = [{"ill": "healthy"}.get(v, "ill") for v in patients["diagnosis"].to_pylist()]
    relabelled = patients.set_column(place, "diagnosis", pa.array(flipped))
    open_session(relabelled, wishes()).store.close()


@pytest.mark.parametrize("change", ["other rows", "fewer rows"])
def test_other_data_are_not_gone_on_with(session, patients, wishes, refused, change):
    other = patients.slice(1) if change == "other rows" else patients.slice(0, 30)
    with refused("anchors_answers.db holds answers about other rows, or another label"):
        open_session(other, wishes())


def test_exporting_needs_answers(patients, wishes, refused):
    with refused("there are no answers yet:"):
        open_session(patients, wishes(), must_exist=True)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"label": "diagnoses"}, "has no column 'diagnoses'; did you mean 'diagnosis'"),
        ({"features": ("agee",)}, "has no column 'agee'; did you mean 'age'?"),
        ({"features": ()}, "--features must name columns, and not the label."),
        ({"features": ("diagnosis",)}, "--features must name columns, and not the label."),
        ({"features": ("note",)}, "column 'note' of X holds string values, not numbers"),
        ({"unseen_lean": 0.3}, "--lean is 0.3 but must be at least 0 and at most 0.09."),
        ({"n_repeats": -1}, "--repeats is -1 but must be a whole number of at least 0."),
        ({"positive": "sick"}, "positive is 'sick' but the labels are"),
    ],
)
def test_wishes_that_cannot_be_met_are_named(patients, wishes, refused, changed, text):
    with refused(text):
        open_session(patients, wishes(**changed))


def test_a_folder_of_pictures_must_be_one(patients, wishes, refused, folder):
    with refused("nowhere is no folder."):
        open_session(patients, wishes(images=folder / "nowhere"))


def test_the_data_are_not_overwritten(patients, wishes, refused):
    with refused("--out or --raw would overwrite"):
        open_session(patients, wishes(raw=wishes().data))


def test_data_without_numbers_are_refused(patients, wishes, refused):
    with refused("has no column of numbers beside 'diagnosis' for a test to go by."):
        open_session(patients.select(["note", "diagnosis"]), wishes())


def test_missing_values_among_the_features_are_named(patients, refused):
    holes = pa.array([None, *patients["age"].to_pylist()[1:]])
    table = patients.set_column(0, "age", holes)
    with refused("X has 1 missing value, the first in row 0, column 'age'"):
        plan_session(table, label="diagnosis", features=("age", "dose"))


def test_a_failed_start_leaves_no_file_behind(patients, wishes, refused, folder):
    with refused("positive is 'sick'"):
        open_session(patients, wishes(positive="sick"))
    assert not (folder / "anchors_answers.db").exists()
