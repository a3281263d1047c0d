"""A real browser: headless Chromium as the system has it, driven by Playwright.

Without it these tests skip and say so; with EVENODDS_BROWSER_REQUIRED=1 they fail instead.
"""

import os
import shutil

import pytest

NAMES = ("chromium", "chromium-browser")


def _unavailable(reason):
    """Skip, or fail where a browser was promised."""
    if os.environ.get("EVENODDS_BROWSER_REQUIRED") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def chromium():
    """Return a running browser."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        _unavailable("no Chromium here: install the system package 'chromium'")
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 - not everyone has it
    except ImportError:
        _unavailable("no Playwright here: install evenodds[dev]")
    # Chromium refuses its sandbox to root, which is who runs tests in a container.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium):
    """Return a fresh page, with no memory of others."""
    context = chromium.new_context()
    yield context.new_page()
    context.close()
