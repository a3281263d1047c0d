"""Losses of the margin: the score, times -1 where the label is negative."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evenodds.model.losses.base import signs_and_scores
from evenodds.model.losses.links import Link
from evenodds.validation import FloatArray, check_between

# How far from 0 the symmetry of a loss is looked at, and in how many steps.
REACH = 10.0
STEPS = 4001
# A sum that is constant departs from it by rounding alone.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Symmetry:
    """Whether ``psi(m) + psi(-m)`` is the same at every margin.

    Attributes
    ----------
    constant : float
        ``2 psi(0)``, the only value it could have.
    departure : float
        The largest distance from it found.
    margin : float
        Where that was.
    """

    constant: float
    departure: float
    margin: float

    @property
    def holds(self) -> bool:
        """Whether the sum is constant, up to rounding."""
        return self.departure <= ROUNDING * max(1.0, abs(self.constant))

    def __str__(self) -> str:
        if self.holds:
            return f"psi(m) + psi(-m) = {self.constant:g} at every margin."
        return (
            f"psi(m) + psi(-m) is not constant: {self.constant:.4g} at margin 0, off by "
            f"{self.departure:.4g} at margin {self.margin:g}."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginLoss:
    """A loss ``psi(m)`` of the margin ``m``: the score, negated for negative labels.

    Parameters
    ----------
    name : str
        What messages call it.
    psi : callable
        Its value, from an array of margins.
    psi_slope : callable
        Its derivative, or a subgradient where there is a kink.
    convex : bool, default False
        Whether it is known to be convex.
    linear_odd : bool, default False
        Whether ``psi(m) - psi(-m)`` is a straight line; backward correction then keeps it convex.
    symmetry_constant : float, optional
        K, where ``psi(m) + psi(-m) = K`` is known to hold; `symmetry` measures it.
    link : Link, optional
        Which posterior a score states, for a proper loss; forward correction needs it.

    Examples
    --------
    >>> from evenodds.model.losses.catalogue import margin_losses
    >>> margin_losses["sigmoid"].values([2.0, 2.0], [1, 0]).round(3)
    array([0.119, 0.881])
    >>> print(margin_losses["sigmoid"].symmetry())
    psi(m) + psi(-m) = 1 at every margin.
    >>> print(margin_losses["logistic"].symmetry())
    psi(m) + psi(-m) is not constant: 1.386 at margin 0, off by 8.614 at margin 10.
    """

    name: str
    psi: Callable[[FloatArray], FloatArray]
    psi_slope: Callable[[FloatArray], FloatArray]
    convex: bool = False
    linear_odd: bool = False
    symmetry_constant: float | None = None
    link: Link | None = None

    def values(self, scores: ArrayLike, labels: ArrayLike) -> FloatArray:
        """Return the loss of each score where the label is 1 or 0."""
        signs, known = signs_and_scores(scores, labels)
        return self.psi(signs * known)

    def slopes(self, scores: ArrayLike, labels: ArrayLike) -> FloatArray:
        """Return the derivative in the score, or a subgradient where there is a kink."""
        signs, known = signs_and_scores(scores, labels)
        return signs * self.psi_slope(signs * known)

    def symmetry(self, reach: float = REACH) -> Symmetry:
        """Look at ``psi(m) + psi(-m)`` for margins up to `reach`."""
        margins = np.linspace(0, check_between(reach, "reach", 0, 500, closed="neither"), STEPS)
        sums = self.psi(margins) + self.psi(-margins)
        departures = np.abs(sums - sums[0])
        worst = int(np.argmax(departures))
        return Symmetry(float(sums[0]), float(departures[worst]), float(margins[worst]))
