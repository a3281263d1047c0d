"""What flip rates the labels allow, whatever the curve.

Of any rows that are not chosen by their labels, a share of at least beta is labelled positive
and at least alpha negative: true negatives that are flipped, true positives that are. So no
beta is larger than the share of positive labels, among all rows or among those where it is
lowest, and no alpha larger than that of negative ones.
"""

from dataclasses import dataclass

import numpy as np

from evenodds.model.noisy_problem import NoisyProblem
from evenodds.model.noisy_starts import index_counts
from evenodds.validation import FloatArray

# The lowest share is looked for among many sets of rows, and has this many standard errors'
# room; fewer rows than this say nothing.
ROOM = 3.5
FEWEST_ROWS = 30


@dataclass(frozen=True, slots=True)
class RateBounds:
    """The largest flip rates that labels allow."""

    alpha: float
    beta: float

    def limits(self, widest: tuple[float, float]) -> tuple[float, float]:
        """Return the asymmetries that the labels allow."""
        return max(-self.alpha, widest[0]), min(self.beta, widest[1])

    def rate_within(self, rate: float, asymmetry: float) -> float:
        """Return the mean flip rate, no larger than either flip rate may be."""
        highest = min(self.beta - asymmetry / 2, self.alpha + asymmetry / 2)
        return max(min(rate, highest), abs(asymmetry) / 2)


def rate_bounds_of(problem: NoisyProblem, plain_coefficients: FloatArray) -> RateBounds:
    """Return the largest flip rates that the labels allow, along the plain curve."""
    rows = problem.rows
    share = rows.positive_weight() / rows.total_weight
    alpha, beta = 1 - share, share
    if rows.n_groups is None:  # else the error of a share is not known so simply
        _, positives, negatives = index_counts(problem.small, plain_coefficients)
        beta = min(beta, _lowest_share(positives, negatives))
        alpha = min(alpha, _lowest_share(negatives[::-1], positives[::-1]))
    return RateBounds(alpha, beta)


def _lowest_share(counted: FloatArray, others: FloatArray) -> float:
    """Return an upper limit of the share of `counted` in the first bins, the lowest of all cuts."""
    total = np.cumsum(counted + others)
    enough = total >= FEWEST_ROWS
    share = np.cumsum(counted)[enough] / total[enough]
    room = ROOM**2 / total[enough]
    upper = share + room / 2 + np.sqrt(room * share * (1 - share) + room**2 / 4)
    return float(np.min(upper / (1 + room), initial=1.0))
