"""Anchors as linear equations about the coefficients of the clean curve."""

from dataclasses import dataclass

import numpy as np

from evenodds.anchors import Anchors
from evenodds.errors import AnchorError
from evenodds.model.evidence import Evidence
from evenodds.model.noisy_problem import NoisyProblem
from evenodds.validation import FloatArray

# In spreads of a column; beyond it no digits are left.
FARTHEST_ANCHOR = 1e6


@dataclass(frozen=True, slots=True)
class AnchorEquations:
    """Anchors on the log-odds scale: ``A theta = t + e``, ``e ~ N(0, V)``."""

    design: FloatArray  # A, in the solver's coordinates
    targets: FloatArray  # t
    covariance: FloatArray  # V
    stated: FloatArray  # the posteriors behind t

    @classmethod
    def of(cls, anchors: Anchors, points: FloatArray, problem: NoisyProblem) -> "AnchorEquations":
        """Put anchors on the log-odds scale; posteriors of 0 and 1 are not on it."""
        stated = anchors.posterior
        ends = (stated <= 0) | (stated >= 1)
        if ends.any():
            raise AnchorError(
                f"posterior is {float(stated[np.argmax(ends)]):g} at anchor {int(np.argmax(ends))} "
                "but this test needs them strictly between 0 and 1: a certain case says nothing "
                "about where the boundary runs. Leave it out, or state a posterior you could bet "
                "on, such as 0.9 with a tolerance of 0.05."
            )
        stretch = 1 / (stated * (1 - stated))
        design = problem.design(points)
        if not np.abs(design).max() < FARTHEST_ANCHOR:
            raise AnchorError(
                "an anchor lies absurdly far from the data: check the units of its columns."
            )
        return cls(
            design=design,
            targets=np.log(stated / (1 - stated)),
            covariance=anchors.error_covariance() * np.outer(stretch, stretch),
            stated=stated,
        )

    @classmethod
    def none(cls, n_parameters: int) -> "AnchorEquations":
        """Return no equations at all."""
        nothing = np.empty(0)
        return cls(np.empty((0, n_parameters)), nothing, np.empty((0, 0)), nothing)

    def averaged(self, weights: FloatArray) -> "AnchorEquations":
        """Return the one equation that is the weighted mean of all."""
        return AnchorEquations(
            design=(weights @ self.design)[None, :],
            targets=np.array([weights @ self.targets]),
            covariance=np.array([[weights @ self.covariance @ weights]]),
            stated=np.array([weights @ self.stated]),
        )

    def evidence(self) -> Evidence:
        """Return what the equations say about the coefficients."""
        if len(self.targets) == 0:
            return Evidence.none(self.design.shape[1])
        return Evidence.of(self.design, self.targets, self.covariance)
