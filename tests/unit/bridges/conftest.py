"""Export files on disk, and cases to judge."""

import json

import numpy as np
import pytest

import evenodds as eo


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a list as JSON, or lines as JSONL."""

    def save(records, name="export.json"):
        path = tmp_path / name
        if isinstance(records, str):
            path.write_text(records, encoding="utf-8")
        elif name.endswith("l"):
            path.write_text("\n".join(map(json.dumps, records)) + "\n", encoding="utf-8")
        else:
            path.write_text(json.dumps(records), encoding="utf-8")
        return path

    return save


@pytest.fixture(scope="session")
def drawn():
    """Return scores, the chance of each row, its truth and its given label, and 40 cases."""
    rng = np.random.default_rng(5)
    chance = rng.random(1500)
    true = (rng.random(1500) < chance).astype(int)
    given = eo.ClassConditionalNoise(0.05, 0.35).flip(true, rng)
    scores = 0.05 + 0.6 * chance + 0.3 * rng.random(1500)
    return scores, chance, true, given, eo.choose_cases(scores, n_cases=40)
