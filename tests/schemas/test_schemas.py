"""What results and the command line write is what the schemas say."""

import json
from functools import cache

import jsonschema
import pytest
from typer.testing import CliRunner

from evenodds.cli.main import app
from evenodds.cli.options import ShownOptions
from evenodds.cli.output import deliver
from evenodds.inference.results import Result
from evenodds.simulation.worlds import PATIENTS, TOSS_UPS
from tests.schemas.shapes import RESULTS, published, written
from tests.snapshots.results import MAKERS

TOLD_BY_OTHERS = {"audit_size", "line_plan", "prior", "prior_clean"}
COMMANDS = {
    "AsymmetryTestResult": f"test {PATIENTS} --label diagnosis --anchors {TOSS_UPS}",
    "AuditSize": "audit plan --alpha 0.2 --beta 0.05 --prior 0.3",
    "Plan": "plan --world paper --alpha 0.2 --beta 0.05 --rows 1000 --anchors 8 --runs 0",
    "PriorTestResult": "prior 60 100 0.4",
}


def refuse(constant):
    raise ValueError(f"{constant} is no JSON")


def check(document, name):
    """Hold a document, as text, against the schema of a result."""
    schema = json.loads(
        published(next(one for one in RESULTS if one.__name__ == name)).read_text("utf-8")
    )
    record = json.loads(document, parse_constant=refuse)
    jsonschema.Draft202012Validator(schema).validate(record)
    return record


@cache
def made(name):
    return MAKERS[name]()


@pytest.mark.parametrize("name", MAKERS)
def test_a_record_is_of_its_schema(name):
    result = made(name)
    check(json.dumps(result.to_dict(), default=str), type(result).__name__)


@pytest.mark.parametrize("name", sorted(MAKERS.keys() - TOLD_BY_OTHERS))
def test_what_the_command_line_prints_of_a_result_is_of_its_schema(name, capsys):
    result = made(name)
    deliver(result, ShownOptions(output_format="json"), name="data")
    told = check(capsys.readouterr().out, type(result).__name__)
    assert told.keys() >= {"schema_version", "significance", "reject", "verdict"}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_command_prints_is_of_its_schema(name):
    done = CliRunner().invoke(app, [*COMMANDS[name].split(), "--format", "json"])
    assert "verdict" in check(done.stdout, name)


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.__name__)
def test_a_published_schema_is_that_of_the_record(result):
    """If not, raise the record's `_schema` and run `python -m tests.schemas`."""
    assert published(result).read_text(encoding="utf-8") == written(result)


def test_every_result_has_a_schema():
    def below(kind):
        for one in kind.__subclasses__():
            yield one.__name__
            yield from below(one)

    assert set(below(Result)) - {"PairsResult", "Profiled"} == {one.__name__ for one in RESULTS}


def test_a_field_more_is_refused():
    record = made("prior").to_dict() | {"more": 1}
    with pytest.raises(jsonschema.ValidationError, match="'more' was unexpected"):
        check(json.dumps(record), "PriorTestResult")


def test_a_field_less_is_refused():
    record = made("prior").to_dict()
    del record["pvalue"]
    with pytest.raises(jsonschema.ValidationError, match="'pvalue' is a required property"):
        check(json.dumps(record), "PriorTestResult")
