"""Words, numbers and pages of every result are those that were last read and kept."""

import pytest

from tests.snapshots.results import MAKERS, PAGES, written


@pytest.mark.parametrize("name", MAKERS)
def test_a_result_says_what_it_said(name):
    assert written(MAKERS[name]()) == (PAGES / f"{name}.txt").read_text(encoding="utf-8")


def test_no_page_is_left_over():
    assert {page.stem for page in PAGES.iterdir()} == set(MAKERS)
