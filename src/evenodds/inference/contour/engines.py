"""Where the noisy posteriors at the anchors come from: two fits that can bend."""

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from evenodds.inference.local.checks import nearby_check
from evenodds.inference.noise_aware import FittedRows
from evenodds.inference.results import Diagnostic
from evenodds.model.bending.bent_curve import fit_bent
from evenodds.model.local.holding import hold_locally
from evenodds.model.local.posteriors import refuse_lonely
from evenodds.rows.base import Rows
from evenodds.validation import FloatArray, check_choice

Engine = Literal["spline", "local"]

DEFAULT: Engine = "spline"
KERNEL = "gaussian"
# What takes anchors and rows that a local fit does not.
INSTEAD = "engine='spline'"
# Fewer rows on the slope of the curve than this a parameter make its bends unreliable.
ROWS_A_PARAMETER = 10


@dataclass(frozen=True, slots=True, eq=False)
class AtAnchors:
    """Noisy posteriors at the anchors, and how they were found."""

    posterior: FloatArray
    covariance: FloatArray
    engine: Engine
    settings: dict[str, str]
    check: Diagnostic
    rows_on_slope: float | None = None


def read_engine(engine: Any) -> Engine:
    """Return a checked engine; None is the default."""
    if engine is None:
        return DEFAULT
    checked: Engine = check_choice(engine, "engine", get_args(Engine))  # type: ignore[assignment]
    return checked


def posteriors_at(rows: Rows, points: FloatArray, engine: Engine) -> AtAnchors:
    """Estimate the posterior of the labels at points."""
    return _by_spline(rows, points) if engine == "spline" else _by_neighbours(rows, points)


def _by_spline(rows: Rows, points: FloatArray) -> AtAnchors:
    """Fit a spline in the fitted index: sums over rows, for any number of features."""
    fitted = FittedRows.of(rows)
    curve = fit_bent(fitted.problem, fitted.plain_coefficients)
    posterior, covariance = curve.at(points)
    few = curve.transition < ROWS_A_PARAMETER * curve.design.n_columns
    if curve.plain:
        message = (
            "No smooth noisy curve fits these rows, so the spline starts from the plain one: "
            "the sample is too small or too noisy; treat the numbers as rough."
        )
    elif few:
        message = (
            f"Only about {curve.transition:.0f} rows lie on the slope of the curve, for "
            f"{curve.design.n_columns} parameters: p-values may be too small."
        )
    else:
        message = f"About {curve.transition:,.0f} rows lie on the slope of the curve."
    check = Diagnostic(
        name="slope",
        message=message,
        concern=curve.plain or few,
        statistic=float(curve.transition),
    )
    settings = {"knots": str(len(curve.design.knots))}
    return AtAnchors(posterior, covariance, "spline", settings, check, float(curve.transition))


def _by_neighbours(rows: Rows, points: FloatArray) -> AtAnchors:
    """Fit around each point, with the rows held in memory."""
    held = hold_locally(rows, INSTEAD)
    near = held.posteriors(points, held.bandwidth(KERNEL), KERNEL)
    refuse_lonely(near, rows.n_features, f"use {INSTEAD}")
    check = replace(nearby_check(near, rows.n_features), name="neighbours")
    settings = {"bandwidth": f"{near.bandwidth:.3g}"}
    return AtAnchors(near.posterior, near.covariance, "local", settings, check)
