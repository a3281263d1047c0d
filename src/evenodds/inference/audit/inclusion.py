"""Audited rows that were drawn with recorded chances, such as the likelier to be wrong.

Rows of about the same chance are a stratum: within it, and within a given label, the draw was at
random. In a stratum rows are weighted by one over their chance, and count as so many rows of
equal weight (Kish 1965); the strata are then those of any stratified audit, which holds with few
wrong rows because a stratum in which none was found may still have some (theory page, "Rows drawn
with chances").
"""

import math
from typing import Any

import numpy as np

from evenodds.errors import InputError
from evenodds.inference.audit.counts import (
    AuditedLabels,
    check_both_classes,
    read_audited,
)
from evenodds.inference.audit.result import AuditStratum
from evenodds.inference.results import Diagnostic
from evenodds.rows.labels import as_labels, is_missing
from evenodds.validation import FloatArray, check_vector

# Chances of one stratum differ by at most this factor, and it has so many audited rows.
RATIO, FEWEST_AUDITED = 2.0, 5
# Rows drawn that are further than this from those that the chances would draw, in z.
SURPRISING = 4.0


def read_inclusion(
    true: Any, given: Any, inclusion: Any, positive: Any = None
) -> tuple[AuditedLabels, tuple[AuditStratum, ...], tuple[int, int], Diagnostic]:
    """Return audited labels, strata of like chances, counts of given labels, and a check.

    All three columns are of all rows; the truth is missing where a row was not drawn.
    """
    whole, truth = as_labels(given, "given"), as_labels(true, "true")
    chances = check_vector(inclusion, "inclusion", len(whole), "row", one_for_all=False)
    if truth.shape != whole.shape:
        raise InputError(
            f"true has shape {truth.shape} but given has {len(whole):,} rows: with inclusion, give "
            "the truth of all rows, missing where a row was not drawn."
        )
    outside = np.flatnonzero((chances <= 0) | (chances > 1))
    if len(outside):
        raise InputError(
            f"inclusion must lie above 0 and at most at 1 but row {outside[0]:,} has "
            f"{chances[outside[0]]:g}: give the chance with which each row was drawn (one over its "
            "weight); a row that could not be drawn is not of the data audited."
        )
    drawn = np.array([not (is_missing(one) or one == "") for one in truth.tolist()], dtype=bool)
    if not drawn.any():
        raise InputError("true is missing for every row: no row was audited.")
    labels = read_audited(truth[drawn], whole[drawn], positive)
    check_both_classes(labels.flips(), "given", labels)
    labelled = labels.positive_among(whole)
    wrong = np.zeros(len(whole))
    wrong[drawn] = labels.true != labels.given
    strata = [
        _stratum(chances[rows], drawn[rows], wrong[rows], name)
        for value, name in ((False, labels.negative), (True, labels.positive))
        for rows in _alike(chances, drawn, np.flatnonzero(labelled == value))
    ]
    counts = int((~labelled).sum()), int(labelled.sum())
    return labels, tuple(strata), counts, inclusion_check(chances, drawn)


def _alike(chances: FloatArray, drawn: Any, rows: Any) -> list[Any]:
    """Return rows in steps of their chance, from the least; a step has enough audited rows."""
    steps = np.floor(np.log(chances[rows] / chances[rows].min()) / math.log(RATIO) + 1e-9)
    found: list[Any] = [np.empty(0, dtype=np.intp)]
    for step in np.unique(steps):
        if drawn[found[-1]].sum() >= FEWEST_AUDITED:
            found.append(np.empty(0, dtype=np.intp))
        found[-1] = np.concatenate([found[-1], rows[steps == step]])
    if len(found) > 1 and drawn[found[-1]].sum() < FEWEST_AUDITED:
        last = found.pop()
        found[-1] = np.concatenate([found[-1], last])
    return found


def _stratum(chances: FloatArray, drawn: Any, wrong: FloatArray, given: Any) -> AuditStratum:
    """Return rows of one given label and like chances."""
    weights, off = 1 / chances[drawn], wrong[drawn]
    shares = weights / weights.sum()
    wrong_share = min(float(shares @ off), 1.0)
    worth = min(1 / float((shares**2).sum()), float(len(shares)))  # never more, by rounding
    # Where the wrong rows are those of large weight, they are worth less than that.
    variance = float((shares**2 * (off - wrong_share) ** 2).sum())
    if variance > 0:
        worth = min(worth, wrong_share * (1 - wrong_share) / variance)
    low, high = f"{chances.min():.3g}", f"{chances.max():.3g}"
    return AuditStratum(
        stratum=f"chance {low}" if low == high else f"chance {low} to {high}",
        given=given,
        n_rows=len(chances),
        n_audited=int(drawn.sum()),
        n_wrong=int(off.sum()),
        worth=worth,
        share_wrong=wrong_share,
    )


def inclusion_check(chances: FloatArray, drawn: Any) -> Diagnostic:
    """Doubt chances that would hardly have drawn these rows: they must stand for all."""
    n, expected = int(drawn.sum()), float(chances.sum())
    stands_for = float((1 / chances[drawn]).sum())
    spread = math.sqrt(float(((1 - chances) / chances).sum())) or 1.0
    z = (stands_for - len(chances)) / spread
    concern = abs(z) > SURPRISING
    message = (
        f"{n:,} rows were drawn where the chances add up to {expected:,.1f}, and stand for "
        f"{stands_for:,.0f} of {len(chances):,}"
    )
    message += (
        ": such chances would hardly draw these rows. Are they those of this draw, and is every "
        "drawn row there?"
        if concern
        else "."
    )
    return Diagnostic(name="inclusion", message=message, concern=concern, statistic=z)
