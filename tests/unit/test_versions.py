"""What a bug report needs to know."""

import platform
import re
from importlib import metadata
from pathlib import Path

import numpy as np

import evenodds as eo


def test_versions_of_everything_in_use_are_shown(capsys):
    eo.show_versions()
    told = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert told["evenodds"] == eo.__version__
    assert told["Python"] == platform.python_version()
    assert told["numpy"] == np.__version__
    assert "pytest" not in told


def test_a_library_that_is_absent_is_said_to_be(capsys, monkeypatch):
    monkeypatch.setattr(metadata, "requires", lambda _: ["numpy>=1.26", "no-such-library>=2; x"])
    eo.show_versions()
    assert "no-such-library not installed" in capsys.readouterr().out


def test_the_citation_names_this_version_and_a_day():
    text = (Path(__file__).parents[2] / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", text, re.MULTILINE)[1] == eo.__version__
    assert re.search(r"^date-released: \d{4}-\d\d-\d\d$", text, re.MULTILINE)
