r"""Noisy posteriors at anchors as a line in the stated ones.

Class-conditional noise makes ``E e_j = (1 + Delta)/2 + gamma (p_j - 1/2)`` with
``gamma = 1 - alpha - beta``: Delta is the height of the line at 1/2, gamma its slope. At
anchors that are all toss-ups the slope never shows; at others it is a nuisance, estimated with
the height. Read at 0 and 1 the line is beta and 1 - alpha (theory page, "Local likelihood").
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from evenodds.anchors import TOSS_UP, Anchors
from evenodds.errors import AnchorError
from evenodds.model.inverses import chi_squared
from evenodds.validation import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class AnchorLine:
    """Noisy posteriors `noisy` at anchors stated at `stated`, with their covariances.

    `error` is the covariance of the stated posteriors.
    """

    stated: FloatArray
    noisy: FloatArray
    covariance: FloatArray
    error: FloatArray

    @classmethod
    def of(cls, anchors: Anchors, noisy: FloatArray, covariance: FloatArray) -> "AnchorLine":
        """Set what the labels say beside what was stated; 0 and 1 are read as exact."""
        inside = (anchors.posterior > 0) & (anchors.posterior < 1)
        error = anchors.error_covariance() * np.outer(inside, inside)
        return cls(anchors.posterior, noisy, covariance, error)

    @property
    def has_slope(self) -> bool:
        """Whether anchors are stated at different posteriors."""
        return bool(np.ptp(self.stated) > 0)

    def weights_at(self, posterior: float) -> FloatArray:
        """Return the weights whose mean of `noisy` is the least-squares line at a posterior.

        For toss-ups, and the posterior 1/2, they are equal.
        """
        n_anchors = len(self.stated)
        weights = np.full(n_anchors, 1 / n_anchors)
        if self.has_slope:
            centred = self.stated - self.stated.mean()
            weights += (posterior - self.stated.mean()) * centred / (centred @ centred)
        return weights

    @property
    def slope(self) -> float | None:
        """Estimate of ``1 - alpha - beta``; None where all anchors are stated alike."""
        if not self.has_slope:
            return None
        return float((self.weights_at(1.0) - self.weights_at(0.0)) @ self.noisy)

    def height(self, posterior: float = TOSS_UP) -> float:
        """Return the line at a stated posterior."""
        return float(self.weights_at(posterior) @ self.noisy)

    def error_share(self, asymmetry: float) -> float:
        """Return how much of an error on a stated posterior reaches the labels, at most.

        That is ``1 - alpha - beta``, never more than ``1 - |Delta|``.
        """
        most = 1 - abs(asymmetry)
        return most if self.slope is None else min(max(self.slope, 0.0), most)

    def total_covariance(self, asymmetry: float) -> FloatArray:
        """Return the covariance of `noisy` about the line."""
        total: FloatArray = self.covariance + self.error_share(asymmetry) ** 2 * self.error
        return total

    def standard_error(self, asymmetry: float, posterior: float = TOSS_UP) -> float:
        """Return the error of the line at a posterior."""
        weights = self.weights_at(posterior)
        return float(np.sqrt(weights @ self.total_covariance(asymmetry) @ weights))

    def z(self, asymmetry: float) -> float:
        """Return the statistic at a hypothesised asymmetry."""
        return (self.height() - (1 + asymmetry) / 2) / self.standard_error(asymmetry)

    def without(self, anchor: int) -> "AnchorLine":
        """Return the line without one anchor."""
        kept = np.arange(len(self.stated)) != anchor
        both = np.ix_(kept, kept)
        return AnchorLine(
            self.stated[kept], self.noisy[kept], self.covariance[both], self.error[both]
        )

    def departure(self, asymmetry: float) -> tuple[float, float, int] | None:
        """Test whether the anchors lie on one line; None with too few to tell.

        Returns the statistic, its p-value and the anchor furthest off.
        """
        design = np.ones((len(self.stated), 2 if self.has_slope else 1))
        design[:, 1:] = self.stated[:, None] - TOSS_UP
        if len(design) <= design.shape[1]:
            return None
        covariance = self.total_covariance(asymmetry)
        # What the least-squares line leaves over, whatever its height and slope.
        leaving = np.eye(len(design)) - design @ np.linalg.pinv(design)
        gaps, spread = leaving @ self.noisy, leaving @ covariance @ leaving
        statistic, rank = chi_squared(gaps, spread)
        if rank == 0:
            return None
        worst = int(np.argmax(np.abs(gaps) / np.sqrt(np.maximum(spread.diagonal(), 1e-300))))
        return statistic, float(chdtrc(rank, statistic)), worst


def check_stated(anchors: Anchors) -> None:
    """Refuse anchors whose line says nothing at 1/2."""
    low, high = float(anchors.posterior.min()), float(anchors.posterior.max())
    if low <= TOSS_UP <= high:
        return
    where = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    raise AnchorError(
        f"anchors are stated at {where} but method 'local' needs toss-ups (0.5), or posteriors on "
        "both sides of 0.5: elsewhere uniform noise moves the labels too, by an unknown amount."
    )


def refuse_contradictions(anchors: Anchors, points: FloatArray) -> None:
    """Refuse strict anchors that state two posteriors for one point."""
    if not anchors.strict:
        return
    first_at: dict[bytes, int] = {}
    for number, point in enumerate(points + 0.0):  # which makes -0 a 0
        first = first_at.setdefault(point.tobytes(), number)
        if anchors.posterior[first] != anchors.posterior[number]:
            raise AnchorError(
                f"anchors {first} and {number} are the same point, stated at "
                f"{anchors.posterior[first]:g} and at {anchors.posterior[number]:g}, and strict: "
                "they contradict each other. Leave one out, or give a tolerance."
            )
