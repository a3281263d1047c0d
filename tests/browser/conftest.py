"""A real browser for pages: Chromium as the system has it."""

import os
import shutil
from contextlib import contextmanager

import pytest

from tests.browser.sessions import Server, write_patients

NAMES = ("chromium", "chromium-browser", "google-chrome")


def _program():
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def open_chromium():
    """Open a headless browser."""
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # which root cannot have
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_program(), args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def chromium():
    """Return a headless browser; without one skip, or fail where one is required."""
    if _program() is None:
        missing = "browser tests need Chromium (Debian and Ubuntu: apt-get install chromium)"
        if os.environ.get("EVENODDS_BROWSER_REQUIRED"):
            pytest.fail(missing)
        pytest.skip(missing)
    with open_chromium() as browser:
        yield browser


@pytest.fixture
def page(chromium):
    """Return a page of its own, with nothing remembered from others."""
    context = chromium.new_context()
    yield context.new_page()
    context.close()


@pytest.fixture
def server(tmp_path):
    """Return a session about patients, with a picture outside the folder of the data."""
    folder = tmp_path / "inner" / "data"
    folder.mkdir(parents=True)
    (tmp_path / "secret.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    write_patients(folder)
    one = Server(folder)
    yield one
    one.kill()
