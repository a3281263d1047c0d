"""The bundled demonstration data, and the generator that wrote it.

Simulated: 2,000 patients, two measurements, and a diagnosis of which a known share
was recorded wrongly. ``python -m evenodds.simulation.demo`` writes the files again.
"""

from pathlib import Path

import numpy as np

from evenodds.files import write_csv
from evenodds.noise import ClassConditionalNoise
from evenodds.simulation.worlds import two_bells

FOLDER = Path(__file__).parent / "demo_data"
PATIENTS = FOLDER / "patients.csv"
TOSS_UPS = FOLDER / "toss_ups.csv"

SEED = 20210303
N_ROWS = 2000
N_ANCHORS = 12
TOLERANCE = 0.05
TRUTH = ClassConditionalNoise(alpha=0.25, beta=0.05)
LABEL = "diagnosis"
FEATURES = ("marker", "score")


def write_demo(folder: Path) -> None:
    """Write the two demonstration files into `folder`."""
    rng = np.random.default_rng(SEED)
    world = two_bells()
    features, true = world.draw_rows(N_ROWS, rng)
    given = np.where(TRUTH.flip(true, rng), "ill", "healthy")
    anchors = world.draw_anchors(N_ANCHORS, rng, tolerance=TOLERANCE)
    rows = [[*_rounded(row), label] for row, label in zip(features, given, strict=True)]
    write_csv(folder / PATIENTS.name, [*FEATURES, LABEL], rows)
    write_csv(folder / TOSS_UPS.name, [*FEATURES], [_rounded(point) for point in anchors.points])


def _rounded(values: np.ndarray) -> list[str]:
    return [f"{value:.3f}" for value in values]


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    write_demo(FOLDER)
