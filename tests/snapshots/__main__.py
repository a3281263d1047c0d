"""Write the pages anew; what changed is read in the diff before it is kept."""

from tests.snapshots.results import MAKERS, PAGES, written

if __name__ == "__main__":
    PAGES.mkdir(exist_ok=True)
    for name, make in MAKERS.items():
        (PAGES / f"{name}.txt").write_text(written(make()), encoding="utf-8")
