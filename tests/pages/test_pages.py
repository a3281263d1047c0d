"""Every command and number of the first page and of the tutorials is what a reader gets."""

import pytest

from tests.pages.pictures import FIGURES, differing
from tests.pages.run import BLOCK, DOCS, PAGES, run_commands, run_page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs_from_files_to_report_and_pictures(page, tmp_path):
    assert not run_page(page, tmp_path)
    assert not differing(tmp_path)
    assert list(tmp_path.glob("*.html"))


def test_another_picture_is_seen(tmp_path):
    (tmp_path / "survey.png").write_bytes((FIGURES / "tumours.png").read_bytes())
    assert differing(tmp_path) == ["survey.png"]


def test_a_wrong_number_on_a_page_is_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo 4\n5\n```\n\n```python\n>>> 2 + 2\n5\n\n```\n", "utf-8")
    assert len(run_page(page, tmp_path)) == 2


def test_a_command_may_go_on_in_the_next_line(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo one \\\n    two\none two\n```\n", "utf-8")
    assert run_page(page, tmp_path) == []


def test_a_command_that_fails_is_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ false\n```\n", "utf-8")
    assert len(run_page(page, tmp_path)) == 1


def test_the_readme_shows_the_files_and_the_verdict_as_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    block = next(one[2] for one in BLOCK.finditer(text) if "demo --out" in one[2])
    assert not run_commands(block)
