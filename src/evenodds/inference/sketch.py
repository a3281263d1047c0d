"""What the figures are drawn from: a few numbers an anchor, a bin or a cell, never a row."""

from dataclasses import dataclass
from typing import Any, Self

from evenodds.anchors import TOSS_UP


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorPosition:
    """What the labels say of one anchor, if the noise is uniform.

    Attributes
    ----------
    number : int
        Place among the anchors, counted from 0.
    stated : float
        The expert's posterior.
    posterior : float
        What the rows alone say of it.
    standard_error : float
        Of `posterior` about `stated`, the anchor's tolerance included.
    """

    number: int
    stated: float
    posterior: float
    standard_error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveBin:
    """Rows of similar log-odds: how many of their labels are positive, and should be.

    Attributes
    ----------
    log_odds : float
        Mean log-odds of the clean curve, those beyond the bins counted at their edge.
    fitted, observed : float
        Share of positive labels that the curve with its plateaus expects, and that there is.
    low, high : float
        95 % interval of the observed share.
    n_rows : float
        Rows, counted with their weights.
    """

    log_odds: float
    fitted: float
    observed: float
    low: float
    high: float
    n_rows: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """Rows and anchors on the two strongest features, with the clean curve's log-odds.

    The log-odds are ``intercept + slopes[0] * first + slopes[1] * second``. Further features
    are counted into the second, in its units, so that every case keeps its side of the
    boundary.

    Attributes
    ----------
    first, second : str
        Names of the two features.
    n_others : int
        Features counted into the second.
    intercept : float
    slopes : tuple of float
    first_range, second_range : tuple of float
        What the cells cover.
    counts, positives : tuple of tuple of float
        Rows and positive labels, by weight, one row of cells for each step along the first
        feature.
    anchors : tuple of tuple of float
        Where the anchors of the sketch lie.
    """

    first: str
    second: str
    n_others: int
    intercept: float
    slopes: tuple[float, float]
    first_range: tuple[float, float]
    second_range: tuple[float, float]
    counts: tuple[tuple[float, ...], ...]
    positives: tuple[tuple[float, ...], ...]
    anchors: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """Small summaries of a test's rows and anchors.

    Attributes
    ----------
    n_rows_seen : float
        Rows that bins and cells were counted on: a sample where there are very many.
    anchors : tuple of AnchorPosition
        All anchors, or where there are many a few from the lowest to the highest.
    bins : tuple of CurveBin
        By rising log-odds.
    plane : Plane or None
        None with fewer than two features, or for a method without flip rates.
    noisy_boundary : float or None
        Log-odds of the clean curve where a label is as likely positive as negative; None
        where that is nowhere.
    between : float or None
        Share of the rows between the clean and the noisy boundary.
    """

    n_rows_seen: float
    anchors: tuple[AnchorPosition, ...]
    bins: tuple[CurveBin, ...]
    plane: Plane | None = None
    noisy_boundary: float | None = None
    between: float | None = None

    @property
    def only_toss_ups(self) -> bool:
        """Whether every anchor shown was stated at 1/2."""
        return all(anchor.stated == TOSS_UP for anchor in self.anchors)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Rebuild a sketch from plain values, also after a trip through JSON."""
        known = dict(values)
        known["anchors"] = tuple(AnchorPosition(**record) for record in known["anchors"])
        known["bins"] = tuple(CurveBin(**record) for record in known["bins"])
        if known["plane"] is not None:
            known["plane"] = Plane(**{name: _frozen(v) for name, v in known["plane"].items()})
        return cls(**known)


def _frozen(value: Any) -> Any:
    """Turn lists into tuples, all the way down."""
    return tuple(_frozen(part) for part in value) if isinstance(value, (list, tuple)) else value
