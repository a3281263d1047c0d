"""What a plan asks: how often would this test, on data like these, reject?"""

from dataclasses import dataclass, field

import numpy as np

from evenodds.errors import InputError
from evenodds.inference.asymmetry import CurveMethod, Method, read_method
from evenodds.inference.boundary import Boundary
from evenodds.inference.joint import Joint
from evenodds.inference.local.method import Local
from evenodds.inference.profile import Alternative
from evenodds.inference.results import check_alternative
from evenodds.inference.wald import Wald
from evenodds.noise import ClassConditionalNoise
from evenodds.planning.exemplary import (
    MOST_ANCHORS,
    AnchorPlan,
    NoiseAwareCentres,
    WaldCentres,
    centres,
)
from evenodds.planning.summary import AnchorVariance, wald_power
from evenodds.simulation.world import World
from evenodds.simulation.worlds import find_world
from evenodds.validation import check_between, check_tolerances, check_whole

Design = str | World | AnchorVariance

# Rows that stand for "as many as you like".
ENDLESS_ROWS = 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A test to be planned, with everything but noise, rows and anchors settled."""

    design: World | AnchorVariance
    method: CurveMethod
    alternative: Alternative
    tolerance: float
    shared_tolerance: float
    shared_is_default: bool
    significance: float
    seed: int
    _known: dict[ClassConditionalNoise, NoiseAwareCentres | WaldCentres] = field(
        default_factory=dict, compare=False, repr=False
    )

    def power(self, noise: ClassConditionalNoise, n_rows: float | None, n_anchors: int) -> float:
        """Return the probability that the test rejects uniform noise."""
        if isinstance(self.design, AnchorVariance):
            return self._power_from_summary(self.design, noise, n_rows, n_anchors)
        if n_rows is None:
            raise ValueError("a world has no number of rows")  # which check_rows sees to
        if noise not in self._known:
            self._known[noise] = centres(self.design, noise, self.method, self.seed)
        plan = AnchorPlan(
            n_anchors=n_anchors, tolerance=self.tolerance, shared_tolerance=self.shared_tolerance
        )
        return float(
            np.mean(
                [
                    centre.power(self.significance, self.alternative)
                    for centre in self._known[noise].at(n_rows, plan)
                ]
            )
        )

    def _power_from_summary(
        self,
        variance: AnchorVariance,
        noise: ClassConditionalNoise,
        n_rows: float | None,
        n_anchors: int,
    ) -> float:
        own = self.tolerance**2 / (3 * n_anchors)
        return wald_power(
            noise,
            variance.of(n_anchors, n_rows),
            significance=self.significance,
            anchor_variance=own + self.shared_tolerance**2 / 3,
            alternative=self.alternative,
        )


def read_question(
    design: Design,
    *,
    method: str | Method | None,
    alternative: str,
    tolerance: float,
    shared_tolerance: float | None,
    significance: float,
    seed: int,
) -> Question:
    """Check what a plan is asked to go by."""
    chosen = design if isinstance(design, AnchorVariance) else find_world(design)
    default = "wald" if isinstance(design, AnchorVariance) else "boundary"
    test = _check_settings(read_method(default if method is None else method))
    if isinstance(design, AnchorVariance) and not isinstance(test, Wald):
        raise InputError(
            "an AnchorVariance describes method 'wald' only: for other methods plan from a world, "
            "such as data_world(X, y) of a pilot sample."
        )
    read = chosen.tolerances if isinstance(chosen, World) else check_tolerances
    own, shared = read(tolerance, shared_tolerance)
    return Question(
        design=chosen,
        method=test,
        alternative=check_alternative(alternative),
        tolerance=own,
        shared_tolerance=shared,
        shared_is_default=shared_tolerance is None,
        significance=check_between(significance, "significance", 0, 1, closed="neither"),
        seed=check_whole(seed, "seed"),
    )


def _check_settings(method: Method) -> CurveMethod:
    """Refuse settings that the formulas do not cover; simulation covers all."""
    if isinstance(method, Local):
        raise InputError(
            "method is 'local' but plans are worked out for the tests that fit one curve: use "
            "rejection_rate, which simulates, or plan for method 'boundary'."
        )
    if getattr(method, "weights", "equal") != "equal":
        raise InputError(
            "weights is 'optimal' but plans are worked out for equal weights: use rejection_rate, "
            "which simulates."
        )
    if isinstance(method, Boundary | Joint) and method.calibration != "asymptotic":
        raise InputError(
            "calibration is 'bootstrap' but plans are worked out for the normal law: use "
            "rejection_rate, which simulates."
        )
    return method


def check_rows(n_rows: int | None, question: Question) -> int | None:
    """Check a number of rows; summary numbers may come without."""
    if n_rows is not None:
        return check_whole(n_rows, "n_rows", at_least=1)
    if not isinstance(question.design, AnchorVariance):
        raise InputError("n_rows is needed: a world does not say how much data you will have.")
    return None


def check_anchor_number(n_anchors: int, question: Question) -> int:
    """Check a number of anchors; the joint test alone can do without."""
    fewest = 0 if isinstance(question.method, Joint) else 1
    k = check_whole(n_anchors, "n_anchors", at_least=fewest)
    if k > MOST_ANCHORS and not isinstance(question.design, AnchorVariance):
        raise InputError(f"n_anchors is {k} but plans consider at most {MOST_ANCHORS}.")
    return k


def check_direction(question: Question, noise: ClassConditionalNoise) -> None:
    """Refuse a one-sided test that looks away from the noise."""
    wrong_way = {"two-sided": 0.0, "greater": -1.0, "less": 1.0}[question.alternative]
    if wrong_way * noise.asymmetry > 0:
        raise InputError(
            f"alternative is {question.alternative!r} but beta - alpha is {noise.asymmetry:+g}: a "
            "one-sided test looks the other way."
        )
