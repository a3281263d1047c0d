"""Checks that a whole result carries: what is drawn, and what is asked of them."""

from dataclasses import dataclass

import numpy as np
from scipy.special import logit

import evenodds as eo
from evenodds.simulation.rejection import Setting
from tests.calibration.class_cells import WORLDS as CLASS_WORLDS
from tests.calibration.class_cells import ClassCell
from tests.calibration.local import Cell as LocalCell
from tests.calibration.rare import logistic_world

BINARY = {"even": (0.5, 2, "normal"), "rare": (0.08, 3, "normal")}
AUDITED = 400


@dataclass(frozen=True)
class ResultCell:
    """A check of a result in one setting: how often it doubts."""

    check: str
    setting: str
    n: int
    asked: float | None  # the power it must have; None where the level is measured

    @property
    def columns(self) -> tuple[str, str, str]:
        """Check, labels and anchors, for the table."""
        return self.check, self.setting, ""

    def flags(self, seed: int, run: int) -> tuple[bool, bool]:
        """Return whether the check doubts, and whether it said nothing, or the test was refused."""
        rng = np.random.default_rng([seed, run])
        name, draw = DRAWN[self.check]
        try:
            checks = draw(self, seed, run, rng)
        except eo.EvenoddsError:
            return False, True
        found = [check for check in checks if check.name.endswith(name)]
        return any(check.concern for check in found), not found


def _wald(cell, seed, run, rng):
    """Labels with flips, which flatten the plain curve."""
    world, rate = cell.setting.split(", flips ")
    X, true = logistic_world(*BINARY[world]).draw_rows(cell.n, rng)
    y = eo.UniformNoise(float(rate)).flip(true, rng)
    anchors = eo.Anchors(X[:1])
    return eo.asymmetry_test(X, y, anchors, method="wald").diagnostics


def _classes(cell, seed, run, rng):
    """Four classes; a bent column, or random rows as toss-ups of one pair."""
    drawn = ClassCell("lopsided", cell.n, "one-vs-one", tolerance=0.05)
    X, y, anchors = drawn.draw(seed, run)
    if cell.setting == "a bent column":
        X = _bent(X)
        anchors = {split: _at(_bent(those.points)) for split, those in anchors.items()}
    if cell.setting == "random rows as toss-ups of one pair":
        anchors[(0,), (1,)] = _at(X[rng.choice(cell.n, drawn.k, replace=False)])
    if cell.setting == "one toss-up of a pair at 0.9":
        anchors[(0,), (1,)] = _one_off(anchors[(0,), (1,)])
    result = eo.multiclass_test(X, y, anchors, scheme="one-vs-one")
    of_pair = next(split for split in result.splits if split.name == "0 | 1")
    return (*result.diagnostics, *of_pair.diagnostics)


def _bent(X):
    return np.column_stack([np.exp(X[:, 0] / 2), X[:, 1:]])


def _one_off(anchors):
    """Move one toss-up to 0.9, straight away from the boundary of its pair."""
    centres = CLASS_WORLDS["lopsided"].centres
    slopes = centres[0] - centres[1]
    points = anchors.points.copy()
    points[0] += slopes * logit(0.9) / (slopes @ slopes)
    return _at(points)


def _at(points):
    return eo.Anchors(points, tolerance=0.05)


def _local(cell, seed, run, rng):
    """Toss-ups among the cases of a world without a logistic curve; rows drawn at random."""
    trial = LocalCell("level", "quadratic", cell.n, 8, 0.15, 0.15).draw(run, seed)
    anchors = trial.anchors
    if cell.setting == "random rows as toss-ups":
        # Of the inner half, where every row has neighbours enough.
        out = np.linalg.norm(trial.features - trial.features.mean(axis=0), axis=1)
        inner = np.flatnonzero(out < np.median(out))
        anchors = eo.Anchors(trial.features[rng.choice(inner, len(anchors), replace=False)])
    return eo.asymmetry_test(trial.features, trial.labels, anchors, method="local").diagnostics


def _audit(cell, seed, run, rng):
    """Audit rows of the same noise, or rows that are flipped more often."""
    setting = Setting(
        world=logistic_world(*BINARY["even"]),
        noise=eo.UniformNoise(0.1),
        n_rows=cell.n,
        n_anchors=8,
        tolerance=0.05,
        shared_tolerance=0.05,
        seed=seed,
    )
    trial = setting.draw(run)
    true = np.repeat([0, 1], AUDITED // 2)
    rate = 0.1 if cell.setting == "an audit of the same noise" else 0.2
    given = eo.UniformNoise(rate).flip(true, rng)
    audit = eo.Audit(true, given)
    return eo.asymmetry_test(trial.features, trial.labels, trial.anchors, audit=audit).diagnostics


DRAWN = {
    "curve (wald)": ("curve", _wald),
    "link (classes)": ("link", _classes),
    "toss-ups agree (classes)": ("anchors and curve", _classes),
    "anchors agree (local)": ("anchors and curve", _local),
    "audit fits": ("audit", _audit),
}
RESULT_CELLS = (
    ResultCell("curve (wald)", "even, flips 0", 2000, None),
    ResultCell("curve (wald)", "rare, flips 0", 2000, None),
    ResultCell("curve (wald)", "even, flips 0.05", 2000, 0.0),
    ResultCell("curve (wald)", "even, flips 0.1", 2000, 0.5),
    ResultCell("curve (wald)", "even, flips 0.2", 2000, 0.5),
    ResultCell("curve (wald)", "rare, flips 0.1", 2000, 0.9),
    ResultCell("link (classes)", "straight log-odds", 2000, None),
    ResultCell("link (classes)", "a bent column", 2000, 0.0),
    ResultCell("toss-ups agree (classes)", "honest toss-ups", 2000, None),
    ResultCell("toss-ups agree (classes)", "random rows as toss-ups of one pair", 2000, 0.7),
    ResultCell("toss-ups agree (classes)", "one toss-up of a pair at 0.9", 2000, 0.5),
    ResultCell("anchors agree (local)", "honest toss-ups", 4000, None),
    ResultCell("anchors agree (local)", "random rows as toss-ups", 4000, 0.9),
    ResultCell("audit fits", "an audit of the same noise", 4000, None),
    ResultCell("audit fits", "an audit of rows flipped twice as often", 4000, 0.5),
)
