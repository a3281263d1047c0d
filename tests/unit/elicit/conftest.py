"""A small session: patients with words, texts and pictures, and a session to sit at."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from tests.unit.elicit.asking import HERE, TOKEN, Client

import evenodds as eo
from evenodds.elicit.answers import Answer, Verdict
from evenodds.elicit.session import Wishes, open_session
from evenodds.simulation.worlds import two_bells

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.fixture(scope="session")
def patients():
    """600 rows of the rare world, with a column of every kind that is shown."""
    rng = np.random.default_rng(5)
    X, true = two_bells(0.15).draw_rows(600, rng)
    given = eo.ClassConditionalNoise(0.2, 0.05).flip(true, rng)
    return pa.table(
        {
            "age": X[:, 0],
            "dose": X[:, 1],
            "note": ["<b>bold</b> & <script>alert(1)</script>"] * 600,
            "scan": ["pictures/scan.png"] * 600,
            "diagnosis": np.where(given, "ill", "healthy"),
        }
    )


@pytest.fixture
def folder(tmp_path, patients):
    """Return a folder with the data and a picture."""
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "scan.png").write_bytes(PNG)
    csv.write_csv(patients, tmp_path / "patients.csv")
    return tmp_path


@pytest.fixture
def wishes(folder):
    """Return a function that wishes for a session, with some of it changed."""

    def make(**changed):
        plain = {
            "data": folder / "patients.csv",
            "label": "diagnosis",
            "out": folder / "anchors.parquet",
            "show": ("age", "dose", "note", "scan"),
            "n_cases": 24,
            "n_repeats": 6,
        }
        return Wishes(**{**plain, **changed})

    return make


@pytest.fixture
def session(patients, wishes):
    """Return a session that nobody has sat at yet."""
    opened = open_session(patients, wishes())
    yield opened
    opened.store.close()


@pytest.fixture
def answer_next():
    """Return a function that answers an expert's next question at a session."""

    def answer(session, verdict, expert="Ada"):
        question = session.question(expert, session.store.answers(expert))
        return session.answer(
            expert,
            number=question.number,
            case=question.case,
            verdict=Verdict(verdict),
            chance=None,
        )

    return answer


@pytest.fixture
def said():
    """Return a function that makes an answer."""

    def make(case, verdict, *, expert="Ada", occasion=1, chance=None):
        return Answer(
            expert=expert,
            case=case,
            occasion=occasion,
            verdict=Verdict(verdict),
            chance=chance,
            time="2024-05-01T10:00:00+00:00",
        )

    return make


@pytest.fixture
def client(session):
    """Return what asks the page as its own form would."""
    return Client(session, origin=HERE)


@pytest.fixture
def at(client):
    """Return a function that asks for an address below the token."""

    def get(path="", **settings):
        return client.ask("GET", f"/{TOKEN}/{path}", **settings)

    return get


@pytest.fixture
def send(client):
    """Return a function that sends a form below the token."""

    def post(path, headers=None, **form):
        return client.ask("POST", f"/{TOKEN}/{path}", data=form, headers=headers)

    post.session = client.session
    return post
