"""Anchors grouped by the posterior they state: one contour a group.

A mean over anchors keeps a line a line, so a group may hold posteriors that differ a little:
the mean posterior of the labels is set against the mean of what was stated.
"""

from dataclasses import dataclass

import numpy as np

from evenodds.anchors import TOSS_UP, Anchors
from evenodds.errors import AnchorError
from evenodds.validation import FloatArray

# Posteriors at most this far from their neighbour share a contour, up to this width.
NEIGHBOURS = 0.02
WIDEST = 0.2
# More different posteriors than this are a model's, not an expert's: all are neighbours then.
MOST_STATED = 12
HAIR = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Contours:
    """Groups of anchors, from the lowest stated posterior to the highest."""

    averaging: FloatArray  # (contours, anchors): rows that sum to one
    stated: FloatArray  # mean stated posterior of each
    covariance: FloatArray  # of the errors of these means
    errors: FloatArray  # covariance of the errors of all anchors
    strayed: FloatArray  # the part of their variances that each anchor has of its own
    counts: tuple[int, ...]
    widest: float  # largest difference between posteriors of one contour

    def __len__(self) -> int:
        return len(self.stated)


def group_anchors(anchors: Anchors) -> Contours:
    """Group anchors by their stated posterior; 0 and 1 are groups of their own, and exact.

    Raises
    ------
    AnchorError
        If all anchors state about the same posterior.
    """
    posterior = anchors.posterior
    members = _members(posterior)
    if len(members) < 2:
        raise AnchorError(
            f"{_who_states(posterior)}: a contour test needs at least two different ones, and "
            "three to tell class-conditional noise from noise that depends on the features. "
            "For toss-ups alone use asymmetry_test."
        )
    averaging = np.array([member / member.sum() for member in members])
    uncertain = np.array((posterior > 0) & (posterior < 1), dtype=np.float64)
    errors = anchors.error_covariance() * np.outer(uncertain, uncertain)
    return Contours(
        averaging=averaging,
        stated=averaging @ posterior,
        covariance=averaging @ errors @ averaging.T,
        errors=errors,
        strayed=anchors.own_variances() * uncertain,
        counts=tuple(int(member.sum()) for member in members),
        widest=max(float(np.ptp(posterior[member])) for member in members),
    )


def _who_states(posterior: FloatArray) -> str:
    """Say what the anchors state, where it is one posterior."""
    several = len(posterior) > 1
    if (posterior == TOSS_UP).all():
        who = f"all {len(posterior)} anchors state" if several else "the only anchor states"
        return (
            f"{who} a posterior of 0.5, as where none is given (posterior= of Anchors, or a column "
            "'posterior' beside the features)"
        )
    if several:
        return f"all {len(posterior)} anchors state a posterior of about {posterior.mean():.2g}"
    return f"there is one anchor, which states a posterior of {posterior[0]:.2g}"


def _members(posterior: FloatArray) -> list[np.ndarray]:
    """Return which anchors belong to each group, the lowest posterior first."""
    inside = np.unique(posterior[(posterior > 0) & (posterior < 1)])
    near = WIDEST if len(inside) > MOST_STATED else NEIGHBOURS
    chains = np.split(inside, np.flatnonzero(np.diff(inside) > near + HAIR) + 1)
    edges = [part for chain in chains if len(chain) for part in _cut(chain)]
    groups = [(posterior >= low) & (posterior <= high) for low, high in edges]
    found = [posterior == 0, *groups, posterior == 1]
    return [member for member in found if member.any()]


def _cut(chain: FloatArray) -> list[tuple[float, float]]:
    """Return a chain of posteriors as ranges that are not too wide, each from its own values."""
    low, high = float(chain[0]), float(chain[-1])
    n_parts = max(int(np.ceil((high - low - HAIR) / WIDEST)), 1)
    places = np.floor((chain - low) / max(high - low, HAIR) * n_parts * (1 - HAIR))
    parts = [chain[places == part] for part in range(n_parts)]
    return [(float(part[0]), float(part[-1])) for part in parts if len(part)]
