"""What a plan asks: how often would this test, on data like these, reject?"""

from dataclasses import dataclass, field, replace

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
    FINE,
    MOST_ANCHORS,
    AnchorPlan,
    Grain,
    NoiseAwareCentres,
    WaldCentres,
    centres,
)
from evenodds.planning.summary import AnchorVariance, Centre, wald_power
from evenodds.simulation.own_data import PilotWorld
from evenodds.simulation.world import World
from evenodds.simulation.worlds import find_world
from evenodds.validation import check_between, check_tolerances, check_whole

Design = str | World | AnchorVariance

# Rows that stand for "as many as you like", and the most that a plan is made for.
ENDLESS_ROWS = 1e12
MOST_ROWS = 10**12
# With fewer rows of one label a pilot says too little about the curve.
FEWEST_PILOT_ROWS = 30


@dataclass(frozen=True, slots=True)
class Shortfall:
    """What few rows do to a statistic, beside its centre on exemplary data.

    Measured `at` a number of rows: the factor on its mean. It is taken to approach 1 as the root
    of the rows grows, which is slower than seen where rows are many.
    """

    at: float
    factor: float

    def of(self, centre: Centre, n_rows: float) -> Centre:
        """Return a centre corrected for a number of rows."""
        return replace(centre, mean=centre.mean * self.moved(max(n_rows, self.at)).factor)

    def moved(self, n_rows: float) -> "Shortfall":
        """Return what this one foretells for another number of rows."""
        share = float(np.sqrt(self.at / n_rows))
        return Shortfall(at=n_rows, factor=1 - (1 - self.factor) * share)


EXACT = Shortfall(at=0.0, factor=1.0)


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
    grain: Grain = FINE
    shortfall: Shortfall = EXACT
    _known: dict[ClassConditionalNoise, NoiseAwareCentres | WaldCentres] = field(
        default_factory=dict, compare=False, repr=False
    )

    def power(self, noise: ClassConditionalNoise, n_rows: float | None, n_anchors: int) -> float:
        """Return the probability that the test rejects uniform noise."""
        if isinstance(self.design, AnchorVariance):
            return self._power_from_summary(self.design, noise, n_rows, n_anchors)
        if n_rows is None:
            raise ValueError("a world has no number of rows")  # which check_rows sees to
        # Where both classes are flipped alike there is no mean to fall short.
        shortfall = self.shortfall if noise.asymmetry else EXACT
        powers = [
            shortfall.of(centre, n_rows).power(self.significance, self.alternative)
            for centre in self.centres(noise, n_rows, n_anchors)
        ]
        return float(np.mean(powers))

    def centres(self, noise: ClassConditionalNoise, n_rows: float, n_anchors: int) -> list[Centre]:
        """Return where the statistic is centred on exemplary data, for typical sets of anchors."""
        if not isinstance(self.design, World):
            raise TypeError("summary numbers have no exemplary data")
        if noise not in self._known:
            self._known[noise] = centres(self.design, noise, self.method, self.seed, self.grain)
        plan = AnchorPlan(
            n_anchors=n_anchors, tolerance=self.tolerance, shared_tolerance=self.shared_tolerance
        )
        return self._known[noise].at(n_rows, plan)

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
    if isinstance(chosen, PilotWorld):
        _check_pilot(chosen)
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


def _check_pilot(pilot: PilotWorld) -> None:
    """Refuse a pilot that hardly knows one of its labels."""
    label, count = min(pilot.label_counts, key=lambda pair: pair[1])
    if count < FEWEST_PILOT_ROWS:
        raise InputError(
            f"the pilot has {count:g} rows labelled {label!r} but a plan needs at least "
            f"{FEWEST_PILOT_ROWS} of each label: collect more of them, or plan from a named world."
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
        return check_whole(n_rows, "n_rows", at_least=1, at_most=MOST_ROWS)
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
