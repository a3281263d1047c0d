"""Files to play with: the bundled patients, and what else the commands take, all simulated.

Every file is drawn from a seed. The truth is known: patients are flipped as ``worlds.TRUTH`` says,
and of the animals a quarter of the cats are called dogs.
"""

from collections.abc import Sequence
from pathlib import Path
from shutil import copyfile
from typing import Any

import numpy as np
from scipy.special import logit

from evenodds.errors import InputError
from evenodds.files import make_folder, write_csv
from evenodds.inference.cases.choose import choose_cases
from evenodds.model.scores import out_of_fold_scores
from evenodds.simulation.worlds import FEATURES, PATIENTS, SEED, TOSS_UPS, TRUTH, two_bells

ANIMALS = np.array(["cat", "dog", "fox"])
# Where the animals gather, by size and tail.
CENTRES = np.array([[0.0, 2.0], [-1.8, -1.0], [1.8, -1.0]])


# All that a folder gets, the report of the demonstration included.
NAMES = (
    PATIENTS.name,
    TOSS_UPS.name,
    "stated.csv",
    "scores.csv",
    "judged.json",
    "judged.csv",
    "audit.csv",
    "animals.csv",
    "looked_up.csv",
    "between.csv",
    "rest.csv",
    "report.html",
)


def write_files(folder: Path) -> list[Path]:
    """Write all of them into a folder, which is made if it is not there.

    Raises
    ------
    InputError
        If one of them is there already: nothing is overwritten.
    """
    there = next((folder / name for name in NAMES if (folder / name).exists()), None)
    if there is not None:
        raise InputError(f"{there} is there already: name another folder, or delete it.")
    make_folder(folder)
    rng = np.random.default_rng(SEED)
    written = [Path(copyfile(one, folder / one.name)) for one in (PATIENTS, TOSS_UPS)]

    def write(name: str, header: Sequence[str], *columns: Any) -> None:
        told = (np.char.mod("%.3f", one) if one.dtype == float else one for one in columns)
        write_csv(folder / name, header, zip(*told, strict=True))
        written.append(folder / name)

    patients = np.genfromtxt(PATIENTS, delimiter=",", skip_header=1, dtype=None, encoding="utf-8")
    X, given = np.column_stack([patients["f0"], patients["f1"]]), patients["f2"]

    stated = np.repeat([0.1, 0.3, 0.5, 0.7, 0.9], 8)
    across, along = logit(stated) / 4, rng.uniform(-1, 1, len(stated))  # log-odds are 2 (x1 + x2)
    write("stated.csv", (*FEATURES, "posterior"), across + along, across - along, stated)

    scores = np.round(out_of_fold_scores(X, given), 6)
    write_csv(folder / "scores.csv", ["score"], ((repr(one),) for one in scores.tolist()))
    cases = choose_cases(scores)
    cases.save(folder / "judged.json")
    written += [folder / "scores.csv", folder / "judged.json"]
    truly = two_bells().posterior(X[cases.rows])
    said = np.clip(truly + rng.normal(0, 0.05, len(cases)), 0, 1).round(2)
    write("judged.csv", ("row", *FEATURES, "stated"), cases.rows + 1, *X[cases.rows].T, said)

    ill = rng.integers(0, 2, 400)
    words = np.array(["healthy", "ill"])
    who = np.array(["Ann", "Bo", "Cy", "Di"])[rng.integers(0, 4, 400)]
    write("audit.csv", ("true", "given", "annotator"), words[ill], words[TRUTH.flip(ill, rng)], who)
    _write_animals(write, rng)
    return written


def _write_animals(write: Any, rng: np.random.Generator) -> None:
    """Write animals of three classes, toss-ups between them, and some that were looked up."""
    true = rng.integers(0, 3, 3000)
    X = CENTRES[true] + rng.normal(size=(3000, 2))
    called = ANIMALS[np.where((true == 0) & (rng.random(3000) < 0.25), 1, true)]
    write("animals.csv", ("size", "tail", "given"), *X.T, called)
    write("looked_up.csv", ("true", "given"), ANIMALS[true[:600]], called[:600])
    # As far from two centres, and so as likely of either class, the third being further.
    ends = ((0, 1, (3.0, -1.8)), (0, 2, (3.0, 1.8)), (1, 2, (0.0, 1.0)))
    points, names = [], []
    for one, other, way in ends:
        middle = (CENTRES[one] + CENTRES[other]) / 2
        points += [middle + step * np.array(way) for step in (-0.2, 0.0, 0.2)]
        names += [f"{ANIMALS[one]} | {ANIMALS[other]}"] * 3
    write("between.csv", ("size", "tail", "between"), *np.array(points).T, np.array(names))
    rest = [name.split(" | ")[0] for name in names[:6]] + ["dog"] * 3
    write("rest.csv", ("size", "tail", "between"), *np.array(points).T, np.array(rest))
