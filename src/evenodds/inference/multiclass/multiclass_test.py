"""Three classes or more: is any class flipped more often than others?

Where hardly any row lies between two sides, the fitted curve is a step. It passes a toss-up at
any height, its slope has no bound, and numbers read there are those of where the climb stopped.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import chdtrc, ndtri

from evenodds.anchors import Anchors
from evenodds.errors import InputError
from evenodds.inference.asymmetry import check_rarest_class
from evenodds.inference.diagnostics import (
    DOUBT_BELOW,
    doubt_check,
    enough_rows,
    range_check,
    slope_check,
)
from evenodds.inference.method import data_notes, ignored_check
from evenodds.inference.multiclass.confusion import ConfusionTestResult, confusion_test
from evenodds.inference.multiclass.crossing import (
    Finding,
    Problem,
    SplitAnchors,
    each_alone,
    log_odds_of_each,
    pair_by_pair,
    sides_at,
    with_any_noise,
)
from evenodds.inference.multiclass.result import MulticlassTestResult, SplitRecord
from evenodds.inference.multiclass.splits import (
    Scheme,
    Split,
    anchors_beside,
    check_scheme,
    naming,
    read_split_anchors,
    splits_of,
)
from evenodds.inference.multiplicity import holm
from evenodds.inference.null_fits import AnchorEquations
from evenodds.inference.results import Diagnostic
from evenodds.model import softmax
from evenodds.model.bounded_scoring import STEP_ROWS_A_PARAMETER
from evenodds.model.logistic import set_up
from evenodds.model.noisy_likelihood import NoisyProblem
from evenodds.model.softmax import ClassData, ClassFit, FlipFamily
from evenodds.model.sums import ZERO, chi_squared, symmetric_inverse
from evenodds.rows.read import ClassRows, read_class_rows
from evenodds.validation import FloatArray, counted, join_quoted

# With more classes the bends of all curves are too many to test one by one.
MOST_BENT = 6
# Log-odds beyond which a bend no longer grows, so that one far row cannot decide.
HELD_AT = 8.0
# Splits whose withheld numbers are accounted for one by one.
MOST_NAMED = 3


def curve_check(fit: ClassFit) -> Diagnostic:
    """Say whether the curve settled, with rows on its slopes."""
    return slope_check(
        fit,
        step="The classes hardly overlap: only about {rows:.0f} rows lie between them. There is "
        "little to see at the toss-ups; use more rows or fewer columns.",
        fine="About {rows:,.0f} rows lie between the classes.",
    )


def rows_check(rows: ClassRows, counts: FloatArray) -> Diagnostic:
    """Say whether every class has enough rows for the normal approximation."""
    rarest = int(np.argmin(counts))
    each = float(counts[rarest]) / (rows.features.shape[1] + 1)
    return enough_rows(each, f"the rarest label, {rows.classes.names[rarest]!r},")


def withheld_check(records: Sequence[SplitRecord]) -> Diagnostic:
    """Say which splits the data cannot tell of, and why."""
    reasons = [f"{record.name}: {record.withheld}" for record in records[:MOST_NAMED]]
    more = ["The records of the others say why."] if len(records) > MOST_NAMED else []
    count = counted(len(records), "split")
    message = " ".join([f"These data cannot tell about {count}.", *reasons, *more])
    return Diagnostic(name="withheld", message=message, concern=True, statistic=float(len(records)))


def doubts_about(record: SplitRecord) -> tuple[Diagnostic, ...]:
    """Return the concerns about a split, named after it."""
    return tuple(
        replace(
            check, name=f"{record.name}: {check.name}", message=f"{record.name}: {check.message}"
        )
        for check in record.diagnostics
        if check.concern
    )


def shape_check(problem: Problem, fit: ClassFit) -> Diagnostic | None:
    """Test whether the log-odds between classes bend: squares of them as columns more.

    With all flips that the fit knows free: noise that leans must not look like a bend. None where
    no bend is seen, since a mild one seldom is.
    """
    if fit.is_step or problem.data.groups is not None:
        why = "they are steps" if fit.is_step else "rows come in groups"
        message = f"The shape of the curves was not tested: {why}."
        return Diagnostic(name="link", message=message, concern=False)
    data, point = problem.data, fit.point
    bends = np.clip(data.design @ point.coefficients.T, -HELD_AT, HELD_AT) ** 2
    if data.n_classes > MOST_BENT:
        bends = bends.mean(axis=1, keepdims=True)
    bends -= bends.mean(axis=0)
    bends /= np.maximum(bends.std(axis=0), 1e-300)
    wide = replace(data, design=np.hstack([data.design, bends]))
    # Curves with columns more, whose coefficients are zero.
    added = (0, 0), (0, bends.shape[1])
    straight = np.pad(point.coefficients, added)
    here = softmax.evaluate(wide, problem.family, replace(point, coefficients=straight))
    bent = np.pad(np.zeros_like(point.coefficients, dtype=bool), added, constant_values=True)
    kept = np.concatenate([~bent.ravel(), fit.free, np.ones_like(point.asymmetries, dtype=bool)])
    tested = np.append(bent.ravel(), np.zeros(len(kept) - bent.size, dtype=bool))
    shared = here.information[np.ix_(tested, kept)]
    lever = shared @ symmetric_inverse(here.information[np.ix_(kept, kept)])
    score = here.score[tested] - lever @ here.score[kept]
    information = here.information[np.ix_(tested, tested)] - lever @ shared.T
    statistic, rank = chi_squared(score, information, zero=1e-8)
    pvalue = float(chdtrc(rank, statistic))
    if pvalue >= DOUBT_BELOW:
        return None
    uneven = " or noise is not uniform in more than these splits" if len(point.asymmetries) else ""
    message = (
        f"The log-odds between classes are not linear in the columns{uneven} (p = {pvalue:.2g}): "
        "give a formula if you know the right one; if you do not, look true labels up "
        "(confusion_test)."
    )
    return Diagnostic(
        name="link", message=message, concern=True, statistic=statistic, pvalue=pvalue
    )


def anchors_check(fit: ClassFit, group: SplitAnchors) -> Diagnostic | None:
    """Test whether the anchors of a split agree with each other; None with one anchor."""
    n_anchors = len(group.design)
    if n_anchors < 2:
        return None
    log_odds, slopes = log_odds_of_each(group, fit.point.coefficients)
    gaps = log_odds - group.targets
    kept = fit.nuisance
    inverse = symmetric_inverse(fit.here.information[np.ix_(kept, kept)])
    n_theta = fit.point.coefficients.size
    covariance = slopes @ inverse[:n_theta, :n_theta] @ slopes.T + group.covariance
    # Only differences between anchors: an asymmetry moves all of them together.
    centre = np.eye(n_anchors) - 1 / n_anchors
    apart, spread = centre @ gaps, centre @ covariance @ centre
    least = ZERO * float(covariance.diagonal().max())
    statistic, rank = chi_squared(apart, spread, zero=1e-6, least=least)
    pvalue = float(chdtrc(max(rank, 1), statistic))
    worst = int(np.argmax(np.abs(apart)))
    return doubt_check(
        "anchors and curve",
        statistic,
        pvalue,
        doubt=f"Its toss-ups contradict each other (p = {pvalue:.2g}); anchor {worst + 1} is "
        "furthest off. That anchor, the tolerance or the curve is wrong.",
        fine=f"Its toss-ups agree with each other (p = {pvalue:.2g}).",
    )


def untested_record(
    split: Split, anchors: Anchors | None, rows: ClassRows, counts: FloatArray, scheme: Scheme
) -> SplitRecord:
    """Return the record of a split before anything is known of it."""
    names = rows.classes.names
    sides = (*split.positive, *split.negative)
    return SplitRecord(
        name=split.name(rows.classes, rest=scheme == "one-vs-rest"),
        positive=tuple(names[k] for k in split.positive),
        negative=tuple(names[k] for k in split.negative),
        left_out=tuple(name for k, name in enumerate(names) if k not in sides),
        null_ratio=len(split.negative) / len(split.positive),
        n_rows=round(float(counts[list(sides)].sum())),
        n_anchors=0 if anchors is None else len(anchors),
        shared_tolerance=0.0 if anchors is None else anchors.shared_tolerance,
        shared_is_default=anchors is not None and anchors.shared_is_default,
        untested="no toss-ups were given for it." if anchors is None else "",
    )


def tested_record(
    split: SplitRecord, found: Finding | str, adjusted: float, checks: tuple[Diagnostic, ...]
) -> SplitRecord:
    """Return the record of a split with what was found, or with why it is withheld."""
    if isinstance(found, str):
        unknown = dict.fromkeys(("statistic", "pvalue", "adjusted_pvalue"), math.nan)
        return replace(split, **unknown, withheld=found, diagnostics=checks)  # type: ignore[arg-type]
    out, into = len(split.negative) * found.rate, len(split.positive) * found.rate
    return replace(
        split,
        statistic=found.statistic,
        pvalue=found.pvalue,
        adjusted_pvalue=adjusted,
        asymmetry=found.asymmetry,
        standard_error=found.standard_error,
        # Not cut off at 0: the two must differ by the asymmetry beside them.
        alpha=out - found.asymmetry / 2,
        beta=into + found.asymmetry / 2,
        diagnostics=checks,
    )


def all_counted(found: Sequence[Finding | str]) -> list[float]:
    """Return p-values adjusted by Holm's method; splits withheld are not counted, and have nan."""
    pvalues = np.array([math.nan if isinstance(one, str) else one.pvalue for one in found])
    told = ~np.isnan(pvalues)
    pvalues[told] = holm(pvalues[told])
    return list(pvalues.tolist())


# An interval of this level without an end on either side says nothing.
LEVEL = 0.95
# With so many times the rows needed no step can do as well; with fewer it is tried, from curves so
# much steeper. It does as well where it loses less log-likelihood than this, about what one
# parameter gains by chance once in 200 times.
ENOUGH = 8.0
NEAR_STEP = 12.0
AS_WELL = 4.0


def steps(problem: Problem, fit: ClassFit, *, rivals: bool = False) -> dict[int, str]:
    """Return the splits whose sides a fit parts by a step, with the reason.

    With `rivals` also those where a step would do as well.
    """
    # A curve of its own, the rate and the asymmetry.
    needed = STEP_ROWS_A_PARAMETER * (problem.data.design.shape[1] + 2)
    found, few = {}, set[int]()
    for number, rows in enumerate(_rows_at_the_anchors(problem, fit)):
        if not rows >= needed:
            found[number] = (
                f"Only about {rows:.0f} rows lie between the two sides and {needed:.0f} are "
                "needed: the fitted curve is a step there."
            )
        elif rows < ENOUGH * needed:
            few |= {*problem.anchors[number].positive, *problem.anchors[number].negative}
    for rival in _near_steps(problem, fit, few) if rivals else ():
        lost = fit.here.log_likelihood - rival.here.log_likelihood
        for number, rows in enumerate(_rows_at_the_anchors(problem, rival)):
            if rows < needed and lost < AS_WELL:
                found.setdefault(number, "A curve that is a step there fits about as well.")
    return found


def _rows_at_the_anchors(problem: Problem, fit: ClassFit) -> list[float]:
    """Return how many rows lie between the classes that meet at the anchors of each split."""
    between = softmax.rows_between(problem.data, fit.point.coefficients)
    meeting = [sides_at(group, fit.point.coefficients) for group in problem.anchors]
    return [
        float(np.einsum("ak,kl,al->a", first, between, second).min())
        for (first, _), (second, _) in meeting
    ]


def _near_steps(problem: Problem, fit: ClassFit, classes: set[int]) -> list[ClassFit]:
    """Return where climbs end that start with one of some classes, or all, parted by near-steps."""
    curves = np.vstack([fit.point.coefficients, np.zeros(fit.point.coefficients.shape[1])])
    starts = [NEAR_STEP * curves] if classes else []
    for one in sorted(classes):
        others = np.delete(curves, one, axis=0).mean(axis=0)
        starts.append(curves.copy())
        starts[-1][one] = others + NEAR_STEP * (curves[one] - others)
    return [
        softmax.climb(
            problem.data,
            problem.family,
            replace(fit.point, coefficients=start[:-1] - start[-1]),
            last_gain=softmax.LAST_GAIN_ON_THE_WAY,
        )
        for start in starts
    ]


def boundless(found: Finding) -> str | None:
    """Return why the numbers of a split say nothing, or None where they do."""
    if not math.isfinite(found.asymmetry) or abs(found.asymmetry) > 1:
        return "No possible asymmetry carries the fitted curve to its toss-ups."
    reach = float(ndtri((1 + LEVEL) / 2)) * found.standard_error
    if not reach < 1 + abs(found.asymmetry):
        return "Asymmetries of any size and sign fit its toss-ups."
    return None


def multiclass_test(
    X: Any,
    y: Any,
    anchors: Any,
    *,
    scheme: Scheme = "one-vs-one",
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
    anchors : dict, data frame or path
        Toss-ups of each split, as `Anchors`, a data frame or a path: ``{("cat", "dog"): ...}`` for
        one-vs-one (cases that are a cat or a dog, nobody can tell which), ``{"cat": ...}`` for
        one-vs-rest (a cat, or anything else), ``{"cat + dog | fox + owl": ...}`` for output codes.
        Or one data frame or file of all toss-ups, with a column ``between`` that names the split
        of each, as "cat | dog". A stated posterior is that of the side named first. Splits without
        anchors are not tested.
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

    Flips from i to j also move the curve at the toss-ups of i and k. So a pair is tested with every
    other flip a rate of its own, fitted to the labels. Splits of the other schemes are tested each
    alone. P-values are adjusted by Holm's method.

    The log-odds between any two classes must be linear in the columns, or in those of a formula
    (which helps if it is the right one), and noise must depend on the class only. Where hardly any
    row lies between the two sides of a split, the curve is a step: the split has no numbers, and
    `withheld` says why.

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
    rows = read_class_rows(X, y, sample_weight=sample_weight, groups=groups, formula=formula)
    audited = None if audit is None else _read_audit(audit, rows)
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
    splits = splits_of(scheme, len(names), codes)
    every = read_split_anchors(anchors, scheme, rows.classes, splits)
    counts = np.zeros(len(names))
    np.add.at(counts, rows.classes.codes, 1.0 if rows.weights is None else rows.weights)
    check_rarest_class(rows, counts)
    logistic, _ = set_up(rows.rows)
    measured = NoisyProblem(rows.rows, logistic.scaling)
    known = anchors_beside(rows, every)
    stated = []
    for split, given, points in known:
        with naming(split, rows.classes):
            said = AnchorEquations.of(given, points, measured)
        sides = split.positive, split.negative
        stated.append(SplitAnchors(*sides, said.design, said.targets, said.covariance))
    design = measured.design(rows.features)
    problem = Problem(
        data=ClassData(design, rows.classes.codes, rows.weights, len(names), rows.groups),
        family=_family(scheme, len(names), [split for split, *_ in known]),
        anchors=stated,
    )
    null = softmax.fit_classes(problem.data, problem.family)
    found, checked, best = _test_what_can_be_told(problem, null, scheme)
    tested = {}
    for (split, _, points), group, one, adjusted in zip(
        known, stated, found, all_counted(found), strict=True
    ):
        # Nothing contradicts a step.
        agreeing = None if isinstance(one, str) else anchors_check(best, group)
        checks = agreeing, range_check(rows.rows, points)
        tested[split] = one, adjusted, tuple(check for check in checks if check is not None)
    records = []
    for split, toss_ups in every:
        record = untested_record(split, toss_ups, rows, counts, scheme)
        records.append(tested_record(record, *tested[split]) if split in tested else record)
    withheld = [record for record in records if record.withheld is not None]
    flips = checked.family.matrix(best.point.rates, best.point.asymmetries)
    enough, bent = rows_check(rows, counts), shape_check(checked, best)
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
            *ignored_check([name for _, given, _ in known for name in given.ignored]),
            *(doubt for record in records for doubt in doubts_about(record)),
        ),
        audit=audit,
    )


def _test_what_can_be_told(
    problem: Problem, null: ClassFit, scheme: Scheme
) -> tuple[list[Finding | str], Problem, ClassFit]:
    """Return what was found for each split, or why it is withheld, and the fit to check."""
    collapsed = steps(problem, null, rivals=True)
    every = range(len(problem.anchors))
    told = [number for number in every if number not in collapsed]
    checked, best = problem, null
    if scheme == "one-vs-one":
        checked, best = with_any_noise(problem, null)
        found = pair_by_pair(checked, best, told)
    else:
        found = each_alone(problem, null, told)
    collapsed = steps(checked, best) | collapsed
    return (
        [collapsed.get(number) or boundless(found[number]) or found[number] for number in every],
        checked,
        best,
    )


def _read_audit(audit: Any, rows: ClassRows) -> ConfusionTestResult:
    """Test the confusion matrix of an audit sample; it may never have met a rare class."""
    if not isinstance(audit, (tuple, list)) or len(audit) != 2:
        raise InputError("audit must be a tuple (true, given): both labels of the audited rows.")
    audited = confusion_test(*audit)
    strange = [name for name in audited.classes if rows.classes.number(name) is None]
    if strange:
        raise InputError(
            f"audit has class {strange[0]!r}, which no label has: the classes are "
            f"{join_quoted(rows.classes.names)}; give audited rows of this data."
        )
    return audited


def _family(scheme: Scheme, n_classes: int, splits: list[Split]) -> FlipFamily:
    """Return the noise that the null allows, leaning along the splits."""
    if scheme == "one-vs-one":
        return softmax.pairs_family(n_classes, [(s.positive[0], s.negative[0]) for s in splits])
    leanings = [softmax.split_leaning(n_classes, s.positive, s.negative) for s in splits]
    return softmax.uniform_family(n_classes, np.array(leanings))
