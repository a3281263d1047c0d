"""The front door for three classes or more: is any class flipped more often than others?"""

from typing import Any

import numpy as np

from evenodds.anchors import Anchors
from evenodds.errors import InputError
from evenodds.inference.equations import AnchorEquations
from evenodds.inference.few_rows import check_rarest_class
from evenodds.inference.multiclass.attribution import Finding, each_alone, strongest_first
from evenodds.inference.multiclass.checks import (
    anchors_check,
    curve_check,
    doubts_about,
    range_check,
    rows_check,
    shape_check,
    withheld_check,
)
from evenodds.inference.multiclass.codes import read_codes
from evenodds.inference.multiclass.confusion import confusion_test
from evenodds.inference.multiclass.confusion_result import ConfusionTestResult
from evenodds.inference.multiclass.crossing import Problem, SplitAnchors
from evenodds.inference.multiclass.records import tested_record, untested_record
from evenodds.inference.multiclass.results import MulticlassTestResult
from evenodds.inference.multiclass.splits import (
    Scheme,
    Split,
    anchors_beside,
    check_scheme,
    naming,
    read_split_anchors,
    splits_of,
)
from evenodds.inference.multiclass.withheld import boundless, steps
from evenodds.inference.outcome import data_notes, ignored_check
from evenodds.inference.results import Diagnostic
from evenodds.inference.weights import equal_weights
from evenodds.model.noisy_problem import NoisyProblem
from evenodds.model.problem import set_up
from evenodds.model.softmax.climb import ClassFit, fit_classes
from evenodds.model.softmax.flips import FlipFamily, pairs_family, split_leaning, uniform_family
from evenodds.model.softmax.sums import ClassData
from evenodds.rows.classes import ClassRows, read_class_rows
from evenodds.validation import join_quoted


def multiclass_test(
    X: Any,
    y: Any,
    anchors: Any,
    *,
    scheme: str = "one-vs-one",
    codes: Any = None,
    audit: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    formula: str | None = None,
) -> MulticlassTestResult:
    r"""Test whether labels of three or more classes are flipped unevenly.

    The null hypothesis depends on the scheme. *One-vs-one*: the two classes of a pair are
    flipped into each other equally often, whatever happens elsewhere. *One-vs-rest* and
    *output-codes*: noise is uniform, every label is flipped equally often and to every other
    class alike. A side of few classes then loses more than it gains, and the test knows by how
    much.

    Parameters
    ----------
    X : array, data frame or path
        Features, without an intercept column; read in memory.
    y : array-like or str
        Labels of three classes or more, or the name of their column in X.
    anchors : dict
        Toss-ups of each split, as `Anchors`: ``{("cat", "dog"): ...}`` for one-vs-one (cases that
        are a cat or a dog, nobody can tell which), ``{"cat": ...}`` for one-vs-rest (a cat, or
        anything else), ``{"cat + dog | fox + owl": ...}`` for output codes. A stated posterior is
        that of the side named first. Splits without anchors are not tested.
    scheme : {"one-vs-one", "one-vs-rest", "output-codes"}
        How the classes are split.
    codes : array-like or OutputCodes, optional
        For output codes: one row a class in the order of their names, one column a split, +1 and
        -1 for its sides, 0 for classes left out. Default: every split up to six classes, random
        dense ones beyond.
    audit : tuple of (true, given), optional
        Both labels of rows that were looked up, for `confusion_test` beside it.
    sample_weight, groups : array-like or str, optional
        Frequency weights, and rows that belong together; as for `asymmetry_test`.
    formula : str, optional
        Features by a formula, such as ``"poly(age, 2) + C(site)"``.

    Returns
    -------
    MulticlassTestResult

    Raises
    ------
    InputError
        If the data or the anchors cannot be used; the message says what to do.

    See Also
    --------
    asymmetry_test : For two classes.
    confusion_test : For rows whose true class is known.

    Notes
    -----
    All classes are fitted at once: clean posteriors :math:`\eta_k \propto e^{\theta_k^\top x}`
    seen through a flip matrix :math:`T`, so that a label m has probability
    :math:`\sum_k \eta_k T_{km}`. One split alone would not do: one class against the rest is not
    logistic even where every pair is, and rows of third classes leak into a pair. The
    statistic is the gap between this curve's log-odds at the toss-ups and the stated ones, over
    its standard error.

    Pairs are tested strongest first, each with those before it free to lean: flips from i to j
    also move the curve at the toss-ups of i and k. Splits of the other schemes are tested each
    alone and adjusted by Holm's method.

    The log-odds between any two classes must be linear in the columns, or in those of a formula
    (which helps if it is the right one), and noise must depend on the class only. Pairs without
    toss-ups are taken to be even. Where hardly any row lies between the two sides of a split, the
    curve is a step: the split has no numbers, and `withheld` says why.

    Examples
    --------
    A fifth of the cats are labelled as dogs; the toss-ups lie halfway between two classes.

    >>> import numpy as np
    >>> import evenodds as eo
    >>> rng = np.random.default_rng(5)
    >>> centres = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 2.0]])
    >>> true = rng.integers(0, 3, size=3000)
    >>> X = centres[true] + rng.normal(size=(3000, 2))
    >>> names = np.array(["cat", "dog", "fox"])
    >>> given = np.where((true == 0) & (rng.random(3000) < 0.2), "dog", names[true])
    >>> result = eo.multiclass_test(X, given, {
    ...     ("cat", "dog"): eo.Anchors([[1.0, -0.5], [1.0, 0.0]]),
    ...     ("cat", "fox"): eo.Anchors([[0.5, 1.0], [-0.1, 1.3]]),
    ...     ("dog", "fox"): eo.Anchors([[1.5, 1.0], [2.1, 1.3]]),
    ... })
    >>> [split.name for split in result.splits if split.rejected()]
    ['cat | dog']
    """
    checked = check_scheme(scheme)
    if codes is not None and checked != "output-codes":
        raise InputError(f"codes goes with scheme='output-codes', but scheme is {checked!r}.")
    audited = _read_audit(audit)
    rows = read_class_rows(X, y, sample_weight=sample_weight, groups=groups, formula=formula)
    _check_audit(audited, rows)
    return run_on_class_rows(rows, anchors, checked, codes=codes, audit=audited)


def run_on_class_rows(
    rows: ClassRows,
    anchors: Any,
    scheme: Scheme,
    *,
    codes: Any = None,
    audit: ConfusionTestResult | None = None,
) -> MulticlassTestResult:
    """Run the test on checked rows; see `multiclass_test`."""
    names = rows.classes.names
    matrix = read_codes(codes, len(names)) if scheme == "output-codes" else None
    every = read_split_anchors(
        anchors, scheme, rows.classes, splits_of(scheme, rows.classes, matrix)
    )
    counts = np.zeros(len(names))
    np.add.at(counts, rows.classes.codes, 1.0 if rows.weights is None else rows.weights)
    check_rarest_class(rows, counts)
    logistic, _ = set_up(rows.rows)
    measured = NoisyProblem(rows.rows, logistic.scaling)
    known = anchors_beside(rows, every)
    equations = [_equations(split, points, rows, measured) for split, points in known]
    problem = Problem(
        data=ClassData(
            measured.design(rows.features),
            rows.classes.codes,
            rows.weights,
            len(names),
            rows.groups,
        ),
        family=_family(scheme, len(names), [split for split, _ in known]),
        anchors=[
            _averaged(split, found) for (split, _), found in zip(known, equations, strict=True)
        ],
    )
    null = fit_classes(problem.data, problem.family)
    found, best = _test_what_can_be_told(problem, null, scheme)
    tested = {
        split: (one, _split_checks(problem, best, split, stated, one))
        for (split, _), stated, one in zip(known, equations, found, strict=True)
    }
    records = [untested_record(split, points, rows, counts, scheme) for split, points in every]
    for place, (split, points) in enumerate(every):
        if points is not None:
            records[place] = tested_record(records[place], *tested[split])
    withheld = [record for record in records if record.withheld is not None]
    flips = problem.family.matrix(null.point.rates, null.point.asymmetries)
    enough, bent = rows_check(rows, counts), shape_check(problem, best)
    return MulticlassTestResult(
        scheme=scheme,
        classes=names,
        class_counts=tuple(round(count) for count in counts),
        splits=tuple(records),
        noise_rate=None if len(withheld) == len(known) else float(1 - flips.diagonal().mean()),
        n_rows=round(float(counts.sum())),
        n_features=rows.features.shape[1],
        diagnostics=(
            curve_check(null),
            *([bent] if bent is not None else []),
            *([enough] if enough.concern or not withheld else []),
            *([withheld_check(withheld)] if withheld else []),
            *data_notes(rows.rows),
            *ignored_check([name for _, points in known for name in points.ignored]),
            *(doubt for record in records for doubt in doubts_about(record)),
        ),
        audit=audit,
    )


def _test_what_can_be_told(
    problem: Problem, null: ClassFit, scheme: Scheme
) -> tuple[list[Finding | str], ClassFit]:
    """Return what was found for each split, or why it is withheld, and the fit to check."""
    collapsed = steps(problem, null, rivals=True)
    every = range(len(problem.anchors))
    test = strongest_first if scheme == "one-vs-one" else each_alone
    found, best = test(problem, null, [number for number in every if number not in collapsed])
    collapsed = steps(problem, best) | collapsed
    return [
        collapsed.get(number) or boundless(found[number]) or found[number] for number in every
    ], best


def _read_audit(audit: Any) -> ConfusionTestResult | None:
    """Test the confusion matrix of an audit sample, where there is one."""
    if audit is None:
        return None
    if not isinstance(audit, (tuple, list)) or len(audit) != 2:
        raise InputError("audit must be a tuple (true, given): both labels of the audited rows.")
    return confusion_test(*audit)


def _check_audit(audit: ConfusionTestResult | None, rows: ClassRows) -> None:
    """Refuse an audit of other classes; one that never met a rare class will do."""
    strange = [
        name for name in (audit.classes if audit else ()) if rows.classes.number(name) is None
    ]
    if strange:
        raise InputError(
            f"audit has class {strange[0]!r}, which no label has: the classes are "
            f"{join_quoted(rows.classes.names)}; give audited rows of this data."
        )


def _equations(
    split: Split, anchors: Anchors, rows: ClassRows, measured: NoisyProblem
) -> AnchorEquations:
    """Return what the anchors of a split say, and name the split where they are at fault."""
    source = rows.rows
    with naming(split, rows):
        points = anchors.points_for(source.feature_names, source.n_features)
        return AnchorEquations.of(anchors, points, measured)


def _averaged(split: Split, equations: AnchorEquations) -> SplitAnchors:
    weights = equal_weights(len(equations.targets))
    return SplitAnchors(
        positive=split.positive,
        negative=split.negative,
        design=equations.design,
        target=float(weights @ equations.targets),
        variance=float(weights @ equations.covariance @ weights),
    )


def _family(scheme: Scheme, n_classes: int, splits: list[Split]) -> FlipFamily:
    """Return the noise that the null allows, leaning along the splits."""
    if scheme == "one-vs-one":
        return pairs_family(n_classes, [(s.positive[0], s.negative[0]) for s in splits])
    leanings = [split_leaning(n_classes, s.positive, s.negative) for s in splits]
    return uniform_family(n_classes, np.array(leanings))


def _split_checks(
    problem: Problem,
    fit: ClassFit,
    split: Split,
    equations: AnchorEquations,
    found: Finding | str,
) -> tuple[Diagnostic, ...]:
    low = problem.data.design.min(axis=0)
    high = problem.data.design.max(axis=0)
    checks = (
        # Nothing contradicts a step.
        None if isinstance(found, str) else anchors_check(problem, fit, split, equations),
        range_check(equations.design, low, high),
    )
    return tuple(check for check in checks if check is not None)
