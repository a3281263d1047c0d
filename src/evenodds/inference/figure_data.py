"""Summing rows and anchors up for the figures."""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import expit

from evenodds.inference.multiplicity import wilson_interval
from evenodds.inference.noise_aware import crossings, grouped_scores
from evenodds.inference.null_fits import AnchorEquations
from evenodds.inference.results import AnchorPosition, CurveBin, Plane, Sketch
from evenodds.model.curve_shape import (
    IndexShape,
    Projection,
    bin_limits,
    cell_counts,
    curve_bins,
    gathered,
)
from evenodds.model.noisy_fit import NoisyFit
from evenodds.model.noisy_likelihood import NoisyPoint, NoisyProblem
from evenodds.model.sums import shifted
from evenodds.rows.base import Rows
from evenodds.validation import FloatArray

# More anchors than this are shown by some of them, from the lowest to the highest.
MOST_ANCHORS = 24


@dataclass(frozen=True, slots=True, eq=False)
class CurveOnRows:
    """A curve in features that are shifted only, and rows (or a sample of them) to see it on."""

    rows: Rows
    point: NoisyPoint
    shift: FloatArray | None


def sketch_noise_aware(
    problem: NoisyProblem,
    null: NoisyFit,
    best: NoisyFit,
    equations: AnchorEquations,
    points: FloatArray,
) -> Sketch:
    """Return the summaries of a test whose curve has plateaus.

    Anchors are seen from the null fit, as the test sees them; rows from the best fit.
    """
    small = problem.small
    curve = CurveOnRows(small.rows, small.outside(best.point), small.scaling.shift)
    anchors = anchor_positions(null, equations, grouped_scores(problem, null.point))
    shape = IndexShape.of(curve.rows, curve.point.coefficients, curve.shift)
    boundary = noisy_boundary(curve.point)
    bins, between = _fill_bins(curve, shape, boundary)
    return Sketch(
        n_rows_seen=curve.rows.total_weight,
        anchors=anchors,
        bins=bins,
        plane=_plane(curve, shape, points[[anchor.number - 1 for anchor in anchors]]),
        noisy_boundary=boundary,
        between=None if boundary is None else between / curve.rows.total_weight,
    )


def sketch_plain(curve: CurveOnRows, anchors: tuple[AnchorPosition, ...]) -> Sketch:
    """Return the summaries of a plain curve, which knows of no clean boundary."""
    shape = IndexShape.of(curve.rows, curve.point.coefficients, curve.shift)
    bins, _ = _fill_bins(curve, shape, None)
    return Sketch(n_rows_seen=curve.rows.total_weight, anchors=anchors, bins=bins)


def noisy_boundary(point: NoisyPoint) -> float | None:
    """Return the clean log-odds where a label is as likely positive as negative, if anywhere."""
    clean = 0.5 - point.asymmetry / (2 * (1 - 2 * point.rate))
    return math.log(clean / (1 - clean)) if 0 < clean < 1 else None


def anchor_positions(
    fit: NoisyFit, equations: AnchorEquations, group_scores: FloatArray | None
) -> tuple[AnchorPosition, ...]:
    """Return what the rows say of each anchor: the boundary statistic of that anchor alone."""
    _, distances, errors = crossings(fit, equations, group_scores)
    stated = equations.stated
    posteriors = expit(equations.targets + distances)
    return spread_out(stated, posteriors, stated * (1 - stated) * errors)


def spread_out(
    stated: FloatArray, posteriors: FloatArray, errors: FloatArray
) -> tuple[AnchorPosition, ...]:
    """Return the anchors, or where they are many some from the lowest to the highest."""
    ranked = np.argsort((posteriors - stated) / errors, kind="stable")
    if len(ranked) > MOST_ANCHORS:
        ranked = ranked[np.linspace(0, len(ranked) - 1, MOST_ANCHORS).round().astype(int)]
    return tuple(
        AnchorPosition(
            number=int(number) + 1,
            stated=float(stated[number]),
            posterior=float(posteriors[number]),
            standard_error=float(errors[number]),
        )
        for number in np.sort(ranked)
    )


def _fill_bins(
    curve: CurveOnRows, shape: IndexShape, boundary: float | None
) -> tuple[tuple[CurveBin, ...], float]:
    """Return rows in bins, with an interval for each observed share, and those between boundaries.

    These are rows on the other side of the noisy boundary than of the clean.
    """
    limits = bin_limits(shape.mean, shape.spread)
    fine, between = curve.rows.totals(
        partial(curve_bins, curve.point, curve.shift, limits, boundary)
    )
    records = []
    for weight, positives, log_odds, fitted in gathered(fine).T.tolist():
        low, high = wilson_interval(positives, weight)
        records.append(
            CurveBin(
                log_odds=log_odds / weight,
                fitted=fitted / weight,
                observed=positives / weight,
                low=low,
                high=high,
                n_rows=weight,
            )
        )
    return tuple(records), between


def _plane(curve: CurveOnRows, shape: IndexShape, points: FloatArray) -> Plane | None:
    """Count rows over the two strongest features, and place the anchors among them."""
    projection = Projection.of(curve.point.coefficients, curve.shift, shape)
    if projection is None:
        return None
    counts, positives = curve.rows.totals(partial(cell_counts, projection, curve.shift))
    first, second = projection.features
    slopes = projection.slopes.tolist()
    low, high = projection.low.tolist(), projection.high.tolist()
    placed = projection.coordinates(shifted(points, curve.shift)).tolist()
    return Plane(
        first=_name(curve.rows, first),
        second=_name(curve.rows, second),
        n_others=curve.rows.n_features - 2,
        intercept=projection.intercept,
        slopes=(slopes[0], slopes[1]),
        first_range=(low[0], high[0]),
        second_range=(low[1], high[1]),
        counts=tuple(tuple(map(_short, row)) for row in counts.tolist()),
        positives=tuple(tuple(map(_short, row)) for row in positives.tolist()),
        anchors=tuple((across, up) for across, up in placed),
    )


def _short(count: float) -> float:
    """Return a count as a whole number where it is one, else with the digits a figure needs."""
    return int(count) if count == int(count) else float(f"{count:.4g}")


def _name(rows: Rows, column: int) -> str:
    """Return a column's name, or its number in words."""
    return rows.column(column) if rows.feature_names is None else rows.feature_names[column]
