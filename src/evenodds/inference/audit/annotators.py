"""One audit test for each annotator, with their number accounted for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from evenodds.errors import InputError
from evenodds.inference.audit.audit_test import audit_counts
from evenodds.inference.audit.counts import (
    AuditedLabels,
    Flips,
    check_both_classes,
    read_audited,
    read_given_counts,
    refuse_lookalikes,
    refuse_needless_counts,
)
from evenodds.inference.audit.result import AuditTestResult, SampledBy
from evenodds.inference.multiplicity import benjamini_hochberg, holm
from evenodds.inference.profile import Alternative, Equivalence
from evenodds.inference.results import (
    Diagnostic,
    Result,
    check_alternative,
    frame_row,
    versions_in_use,
)
from evenodds.rows.labels import as_labels, distinct_labels, plain
from evenodds.validation import check_choice, check_same_order


def read_annotators(annotators: Any, n_rows: int) -> NDArray[Any]:
    """Return one annotator a row."""
    who = as_labels(annotators, "annotators")
    if who.shape != (n_rows,):
        raise InputError(
            f"annotators has shape {who.shape} but there are {n_rows:,} audited rows: say who "
            "gave the label of each."
        )
    return who


def counts_of_each(given_counts: Any, sampled_by: SampledBy, names: list[Any]) -> dict[str, Any]:
    """Return the counts of each annotator by name, where the design needs them."""
    if sampled_by != "given":
        refuse_needless_counts(given_counts, sampled_by)
        return {}
    if not isinstance(given_counts, Mapping):
        raise InputError(
            "given_counts is missing: rows audited by given class say nothing of how many rows "
            "have each label. Give the counts of each annotator, as "
            f"{{{plain(names[0])!r}: {{label: count, ...}}, ...}}."
        )
    known = {str(plain(name)): counts for name, counts in given_counts.items()}
    absent = [plain(name) for name in names if str(plain(name)) not in known]
    if absent:
        raise InputError(
            f"given_counts lacks annotator {absent[0]!r}: give the counts of each annotator's rows."
        )
    return known


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorTest:
    """The test of one annotator.

    Attributes
    ----------
    annotator : object
        Who.
    holm, benjamini_hochberg : float
        The p-value adjusted for the number of annotators: below 0.05, at most 5% of such
        tables name anyone falsely (Holm), or at most 5% of those named are named falsely
        (Benjamini and Hochberg).
    result : AuditTestResult
        The test itself.
    """

    annotator: Any
    holm: float
    benjamini_hochberg: float
    result: AuditTestResult


@dataclass(frozen=True, slots=True, kw_only=True)
class UntestedAnnotator:
    """An annotator whose rows allow no test, and why."""

    annotator: Any
    n_rows: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AnnotatorAuditResult(Result):
    """Outcome of one audit test for each annotator.

    Attributes
    ----------
    tests : tuple of AnnotatorTest
        By p-value, the smallest first.
    untested : tuple of UntestedAnnotator
        Annotators for whom a class was never true, or never given.
    alternative, sampled_by : str
        What was asked, and how the audited rows were drawn.
    positive, negative : object
        The two labels.
    n_rows : int
        Audited rows, of all annotators.
    diagnostics : tuple of Diagnostic
        What a reader should know of the rows.
    versions : dict
        Of the libraries that the numbers depend on.

    Notes
    -----
    ``result.plot("annotators")`` draws the asymmetry of each annotator with its interval.
    """

    _derived: ClassVar[tuple[str, ...]] = ("pvalue",)

    tests: tuple[AnnotatorTest, ...]
    untested: tuple[UntestedAnnotator, ...]
    alternative: Alternative
    sampled_by: SampledBy
    positive: Any
    negative: Any
    n_rows: int
    diagnostics: tuple[Diagnostic, ...] = ()
    versions: dict[str, str] = field(default_factory=versions_in_use)

    @property
    def pvalue(self) -> float:
        """Of "no annotator flips one class more often": the smallest of Holm's p-values."""
        return min(test.holm for test in self.tests)

    def equivalence(self, margin: float = 0.05) -> Equivalence:
        """Test whether every annotator's asymmetry is smaller than `margin` in size.

        The largest of their p-values, which needs no adjusting; 1 where an annotator could
        not be tested.
        """
        largest = max(test.result.equivalence(margin).pvalue for test in self.tests)
        return Equivalence(margin=margin, pvalue=1.0 if self.untested else largest)

    def _rows(self, level: float) -> list[dict[str, Any]]:
        """Return a row an annotator, also of those who could not be tested."""
        tested = [{**frame_row(test), **frame_row(test.result, level)} for test in self.tests]
        return tested + [frame_row(one) for one in self.untested]


def annotator_audit(
    true: Any,
    given: Any,
    annotators: Any,
    *,
    sampled_by: SampledBy = "random",
    given_counts: Mapping[Any, Any] | None = None,
    alternative: Alternative = "two-sided",
    positive: Any = None,
) -> AnnotatorAuditResult:
    """Test for each annotator whether they flip one class more often than the other.

    The null hypothesis of each test is that this annotator flips both classes equally often.

    Parameters
    ----------
    true, given : array-like of shape (n_rows,)
        True labels of the audited rows, and the labels their annotators gave.
    annotators : array-like of shape (n_rows,)
        Who gave the label of each row.
    sampled_by : {"random", "true", "given"}
        How the rows of each annotator were chosen; see `audit_test`.
    given_counts : dict, optional
        With ``sampled_by="given"``: for each annotator, the counts that `audit_test` takes.
    alternative : {"two-sided", "greater", "less"}
        "greater" means that negatives are flipped more often (beta > alpha).
    positive : object, optional
        The positive label; default the larger, True, or the later in sort order.

    Returns
    -------
    AnnotatorAuditResult

    Raises
    ------
    InputError
        If the columns cannot be used, or no annotator can be tested.

    See Also
    --------
    audit_test : One test of all rows.

    Notes
    -----
    Annotators with few rows get exact tests, which may well find nothing: not being named
    is no certificate. Rows are taken as independent; where several annotators label the same
    rows, Holm's p-values still hold, those of Benjamini and Hochberg nearly so.

    Examples
    --------
    >>> import numpy as np
    >>> import evenodds as eo
    >>> rng = np.random.default_rng(3)
    >>> true = rng.integers(0, 2, size=900)
    >>> who = np.repeat(["ann", "ben", "cas"], 300)
    >>> alpha = np.where(who == "ben", 0.4, 0.1)  # Ben misses positives
    >>> given = np.where(true == 1, rng.random(900) >= alpha, rng.random(900) < 0.1).astype(int)
    >>> result = eo.annotator_audit(true, given, who)
    >>> result.tests[0].annotator, result.tests[0].holm < 0.001
    ('ben', True)
    """
    check_same_order(true=true, given=given, annotators=annotators)
    labels = read_audited(true, given, positive)
    design: SampledBy = check_choice(sampled_by, "sampled_by", get_args(SampledBy))  # type: ignore[assignment]
    who = read_annotators(annotators, len(labels.true))
    names = distinct_labels(who, "annotators")
    refuse_lookalikes(names, "annotators")
    counts = counts_of_each(given_counts, design, names)
    side = check_alternative(alternative)
    results: dict[Any, AuditTestResult] = {}
    untested = []
    known: dict[tuple[Flips, tuple[int, int] | None], AuditTestResult] = {}
    for name, flips in _flips_of_each(labels, who, names):
        try:
            check_both_classes(flips, design, labels)
        except InputError as error:
            untested.append(UntestedAnnotator(annotator=name, n_rows=flips.n_rows, why=str(error)))
            continue
        try:
            own = read_given_counts(counts.get(str(name)), design, flips, labels)
        except InputError as error:
            raise InputError(f"of annotator {name!r}: {error}") from None
        # Annotators with the same counts have the same test, and small audits are often alike.
        if (flips, own) not in known:
            known[flips, own] = audit_counts(
                flips, labels, sampled_by=design, given_counts=own, alternative=side
            )
        results[name] = known[flips, own]
    if not results:
        example = ", for example" if len(untested) > 1 else ""
        raise InputError(
            f"no annotator can be tested. Of annotator {untested[0].annotator!r}{example}: "
            f"{untested[0].why}"
        )
    return AnnotatorAuditResult(
        tests=_ranked(results),
        untested=tuple(untested),
        alternative=side,
        sampled_by=design,
        positive=labels.positive,
        negative=labels.negative,
        n_rows=len(labels.true),
    )


def _flips_of_each(
    labels: AuditedLabels, who: NDArray[Any], names: list[Any]
) -> Iterator[tuple[Any, Flips]]:
    """Count the flips of each annotator, in one pass over the rows."""
    places = {name: place for place, name in enumerate(names)}
    codes = np.fromiter(map(places.__getitem__, who.tolist()), np.intp, len(who))
    cells = np.bincount(4 * codes + labels.cells, minlength=4 * len(names)).reshape(-1, 4)
    return zip(map(plain, names), map(Flips.of_cells, cells), strict=True)


def _ranked(results: dict[Any, AuditTestResult]) -> tuple[AnnotatorTest, ...]:
    """Adjust the p-values and order by them; equal ones by the size of the asymmetry."""
    pvalues = [result.pvalue for result in results.values()]
    adjusted = zip(results.items(), holm(pvalues), benjamini_hochberg(pvalues), strict=True)
    tests = [
        AnnotatorTest(
            annotator=name, holm=float(cautious), benjamini_hochberg=float(bolder), result=result
        )
        for (name, result), cautious, bolder in adjusted
    ]
    return tuple(sorted(tests, key=lambda test: (test.result.pvalue, -abs(test.result.asymmetry))))
