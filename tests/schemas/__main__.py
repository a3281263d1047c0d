"""Publish the schemas of results: python -m tests.schemas

A version that is published is not changed: whoever adds a field to a record raises its `_schema`.
`--unreleased` overwrites all the same, for a version that no release has carried.
"""

import sys

from tests.schemas.shapes import FOLDER, RESULTS, published, written

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for result in RESULTS:
        path, schema = published(result), written(result)
        if path.exists() and path.read_text(encoding="utf-8") == schema:
            continue
        if path.exists() and "--unreleased" not in sys.argv:
            sys.exit(f"{path.name} is published: raise _schema of {result.__name__}.")
        path.write_text(schema, encoding="utf-8")
