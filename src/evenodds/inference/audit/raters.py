r"""Several raters a case: what their majority says is the truth, and how far that may be wrong.

The mean of raters who err in a share r of the cases is as wrong as one of them; the majority of
three errs in about :math:`3 r^2`. How often two raters differ, d, says how large r is if errors are
independent: :math:`2 r (1 - r) = d`. If instead raters guess at hard cases and agree on all others,
2d of the cases are hard, and any majority errs in d. Three raters cannot tell the two apart. A
truth that errs in a share q turns the flipped rows A of :math:`1 - P` labelled negative into
:math:`A + q (1 - P - 2A)`, which is solved for A (theory page, "Several raters").
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import InputError
from evenodds.inference.audit.result import AuditTestResult
from evenodds.inference.audit.stratified import Shares
from evenodds.inference.results import Diagnostic
from evenodds.rows.labels import as_labels, is_missing, plain
from evenodds.validation import FloatArray, join_quoted, signed

# An asymmetry that moves by more than this share of the interval's half-width, about half a
# standard error, is doubted: equal rates are then rejected in 0.08 and not 0.05.
MUCH = 0.25
# A majority that errs in half of the cases says nothing.
MOST_WRONG = 0.49


@dataclass(frozen=True, slots=True)
class Rated:
    """Cases by the majority of their raters.

    Attributes
    ----------
    truth : array
        What the majority says; None where nobody has answered.
    margins : array of int
        By how many answers it won, of the cases answered.
    differ : float
        How often two raters differ, where both were asked whatever they would say.
    """

    truth: NDArray[Any]
    margins: NDArray[np.intp]
    n_split: int
    differ: float

    @property
    def errs(self) -> float:
        """How often a rater errs, if errors are independent of each other."""
        return float(1 - np.sqrt(max(1 - 2 * self.differ, 0.0))) / 2

    @property
    def majority_errs(self) -> float:
        """How often the majority errs then: by the odds of each case's answers."""
        odds: FloatArray = np.array((self.errs / (1 - self.errs)) ** self.margins)
        return float(np.mean(odds / (1 + odds)))


def read_raters(true: Any) -> Rated | None:
    """Return the majority of a column a rater; None where there is one column."""
    answers = as_labels(true, "true")
    if answers.ndim != 2 or answers.shape[1] < 2:
        return None
    truth, margins, n_split = np.full(len(answers), None, object), [], 0
    sides = np.zeros(answers.shape)  # with the majority or against it; 0 where not asked
    for place, row in enumerate(answers.tolist()):
        asked = [column for column, one in enumerate(row) if not (is_missing(one) or one == "")]
        said = [plain(row[column]) for column in asked]
        if not said:
            continue
        (truth[place], most), *others = Counter(said).most_common()
        if len(others) > 1:
            named = join_quoted(sorted({*map(str, said)}))
            raise InputError(
                f"raters gave case {place + 1:,} the labels {named} but this test needs two."
            )
        margins.append(most - sum(n for _, n in others))
        if not margins[-1]:
            raise InputError(
                f"raters are divided evenly over case {place + 1:,}: ask one more of it, let them "
                "agree and give what they agreed on, or test the answers of one."
            )
        n_split += bool(others)
        sides[place, asked] = [1 if one == truth[place] else -1 for one in said]
    return Rated(truth, np.array(margins), n_split, _differ(sides))


def _differ(sides: FloatArray) -> float:
    """Return how often two raters differ, over pairs of columns.

    A third who was asked because two differ, in less than half of the cases, would make raters look
    as if they differed less, or more: a pair counts if it has more than half of the cases of any.
    """
    first, second = np.triu_indices(sides.shape[1], 1)
    both, alike = np.abs(sides).T @ np.abs(sides), sides.T @ sides
    cases, sums = both[first, second], alike[first, second]
    if not cases.any():
        raise InputError("true has a column for each rater but no case has two answers.")
    kept = cases > cases.max() / 2
    return float((1 - sums[kept].sum() / cases[kept].sum()) / 2)


def raters_check(result: AuditTestResult, rated: Rated) -> Diagnostic:
    """Say how raters agree, and what their errors would have made of the asymmetry."""
    labelled = result.given_counts or (result.counts.given_negative, result.counts.given_positive)
    share = labelled[1] / sum(labelled)
    gamma = 1 - result.alpha - result.beta
    prior = (share - result.beta) / gamma if gamma else share
    seen = result.alpha * prior, result.beta * (1 - prior)

    def without(wrong: float) -> float:
        """Return the asymmetry if the majority errs in such a share of the cases."""
        q = min(wrong, MOST_WRONG)
        positives = max(seen[0] - q * (1 - share), 0.0) / (1 - 2 * q)
        negatives = max(seen[1] - q * share, 0.0) / (1 - 2 * q)
        return Shares(positives, negatives, share).asymmetry

    apart, coin = without(rated.majority_errs), without(rated.differ)
    interval = result.confidence_interval()
    reach = MUCH * (interval.high - interval.low) / 2
    moved = max(abs(one - result.asymmetry) for one in (apart, coin))
    message = (
        f"Two raters agree on {1 - rated.differ:.0%} of the cases; {rated.n_split:,} of "
        f"{len(rated.margins):,} are not unanimous, and count as the majority says. If raters err "
        f"independently, it errs in {rated.majority_errs:.1%} and the asymmetry is "
        f"{signed(apart)}; if they only guess at hard cases, in {rated.differ:.1%}, and it is "
        f"{signed(coin)}. Errors that all of them make are not seen."
    )
    doubt = moved > reach
    if doubt:
        message += " Settle the cases that are not unanimous together, and give what was agreed on."
    return Diagnostic(name="raters", message=message, concern=doubt, statistic=1 - rated.differ)
