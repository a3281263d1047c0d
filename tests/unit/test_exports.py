"""The package itself: a lazy table of public names."""

import ast
from pathlib import Path

import pytest

import evenodds as eo


@pytest.mark.parametrize("name", eo.__all__)
def test_every_public_name_loads(name):
    assert getattr(eo, name) is not None


def test_dir_lists_the_public_names():
    assert dir(eo) == sorted(eo.__all__)


def test_the_stub_names_the_same_things_as_the_table():
    stub = ast.parse(Path(eo.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imported = {
        alias.asname or alias.name
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(eo.__all__) <= imported | {"__version__"}


def test_an_unknown_name_is_named_in_the_error():
    with pytest.raises(AttributeError, match="module 'evenodds' has no attribute 'asymetry'"):
        _ = eo.asymetry
