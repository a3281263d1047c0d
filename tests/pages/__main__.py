"""Run pages in a folder each and say what differs.

python -m tests.pages docs/start.md
python -m tests.pages --pictures     # all pages; the docs get the pictures they draw
"""

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.pages.run import PAGES, run_page

if __name__ == "__main__":
    wrong, asked = [], sys.argv[1:]
    with ExitStack() as stack:
        if "--pictures" in asked:
            from tests.browser.conftest import open_chromium
            from tests.pages.pictures import keep

            browser = stack.enter_context(open_chromium())
        for page in [Path(name).resolve() for name in asked if name != "--pictures"] or PAGES:
            with tempfile.TemporaryDirectory() as folder:
                wrong += run_page(page, Path(folder))
                if "--pictures" in asked:
                    keep(Path(folder), browser)
    sys.exit("\n".join(wrong) or 0)
