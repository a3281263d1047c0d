"""What every test of the asymmetry is: a record of settings whose class carries its facts.

So nothing asks which test it has in hand by name; a result, which keeps the name alone, finds
the facts in `evenodds.inference.asymmetry.METHODS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from evenodds.anchors import Anchors
from evenodds.errors import AnchorError, InputError
from evenodds.inference.audit.as_evidence import Audit
from evenodds.inference.profile import Alternative, Reference
from evenodds.inference.results import AsymmetryTestResult, Diagnostic
from evenodds.rows.base import Rows
from evenodds.validation import FloatArray, join_quoted

if TYPE_CHECKING:
    from evenodds.inference.noise_aware import FittedRows

MethodName = Literal["boundary", "joint", "local", "wald"]


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What is known of the truth: cases whose posterior is stated, rows looked up, or both."""

    anchors: Anchors | None = None
    audit: Audit | None = None

    def points_for(self, rows: Rows) -> FloatArray:
        """Return the anchors' points with columns in the order of the rows'; none, maybe."""
        if self.anchors is None:
            return np.empty((0, rows.n_features))
        return self.anchors.points_for(rows.feature_names, rows.n_features)


class Method(ABC):
    """A test of the asymmetry: its settings, the facts about it, and how it is run."""

    __slots__: tuple[str, ...] = ()

    name: ClassVar[str]
    fits_curve: ClassVar[bool] = True  # one to all rows; plans and studies know these tests
    has_rates: ClassVar[bool] = True  # it estimates both flip rates, whatever the anchors
    reads_shape: ClassVar[bool] = False  # of the curve, so that it runs without anchors
    overstates: ClassVar[bool] = False  # asymmetries, where labels are noisy
    why_no_audit: ClassVar[str] = ""  # set where an audit has no place in it

    @abstractmethod
    def run(self, rows: Rows, known: Known, alternative: Alternative) -> AsymmetryTestResult:
        """Run the test on checked rows; see `asymmetry_test`."""

    @abstractmethod
    def null_statistic(
        self, rows: Rows, known: Known, fitted: "FittedRows | None" = None
    ) -> tuple[float, Reference]:
        """Return z(0) and what it is compared with; nan where the test would withhold it."""

    def anchors_of(self, known: Known) -> Anchors:
        """Return the anchors of a test that runs on anchors only."""
        if self.why_no_audit and known.audit is not None:
            raise InputError(
                f"audit cannot be used with method {self.name!r}, {self.why_no_audit}: use "
                "method='boundary' or 'joint', or audit_test on the audit alone."
            )
        if known.anchors is None:
            raise AnchorError(
                f"anchors is None but method {self.name!r} needs at least one: name cases where "
                "an expert could not tell the class. Without any, only method='joint' runs, on "
                "the shape of the curve alone; prior_test needs the true share of positives "
                "instead, audit_test rows whose true label is known."
            )
        return known.anchors

    def asked(
        self, rows: Rows, known: Known, alternative: Alternative, settings: dict[str, str]
    ) -> dict[str, Any]:
        """Return the fields of a result that say what was asked, and of which data."""
        return {
            "method": self.name,
            "alternative": alternative,
            "settings": settings,
            "n_audited": 0 if known.audit is None else len(known.audit),
            **about(rows, known.anchors),
        }


def about(rows: Rows, anchors: Anchors | None) -> dict[str, Any]:
    """Return the fields of a result that tell of its rows and anchors."""
    return {
        "positive": rows.positive,
        "negative": rows.negative,
        "n_rows": round(rows.total_weight),
        "n_features": rows.n_features,
        "n_anchors": 0 if anchors is None else len(anchors),
        "tolerance": (0.0, 0.0) if anchors is None else anchors.tolerance_range(),
        "shared_tolerance": 0.0 if anchors is None else anchors.shared_tolerance,
        "shared_is_default": anchors is not None and anchors.shared_is_default,
    }


def ignored_check(ignored: Iterable[str]) -> tuple[Diagnostic, ...]:
    """Name columns of anchors that an expert may have judged by and the test does not use."""
    names = tuple(dict.fromkeys(ignored))
    if not names:
        return ()
    them = "them" if len(names) > 1 else "it"
    message = (
        f"The anchors have {join_quoted(names)}, which the test does not use: an expert who judged "
        f"by {them} called other cases toss-ups than these features do. Test with the columns that "
        "the expert saw, or have cases judged by those of the test alone."
    )
    return (Diagnostic(name="columns", message=message, concern=True),)


def all_checks(rows: Rows, checks: Iterable[Diagnostic | None]) -> tuple[Diagnostic, ...]:
    """Return the checks that say something, and what to know of how the rows were read."""
    said = (check for check in checks if check is not None)
    return (*said, *data_notes(rows))


def data_notes(rows: Rows) -> tuple[Diagnostic, ...]:
    """Return what a reader should know of how the rows were read."""
    return tuple(Diagnostic(name="data", message=note, concern=False) for note in rows.notices)
