"""The front door of the contour test: which noise do these labels have?"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evenodds.anchors import Anchors
from evenodds.errors import AnchorError, InputError
from evenodds.inference.asymmetry import read_anchors
from evenodds.inference.contour.agreement import agreement
from evenodds.inference.contour.checks import (
    LEVEL,
    agreement_check,
    contours_check,
    direction_check,
    impossible_check,
    noise_check,
    wider_check,
)
from evenodds.inference.contour.engines import Engine, posteriors_at, read_engine
from evenodds.inference.contour.groups import Contours, group_anchors
from evenodds.inference.contour.ladder import (
    Estimates,
    NoiseFit,
    fit_class_conditional,
    fit_uniform,
    one_sided_clean,
)
from evenodds.inference.contour.results import (
    Agreement,
    Contour,
    ContourTestResult,
    Noise,
    Rung,
    first_kept,
)
from evenodds.inference.contour.wider import wider_noise
from evenodds.inference.diagnostics import groups_check, range_check, rows_check
from evenodds.inference.few_rows import check_rarer_label
from evenodds.inference.outcome import data_notes, ignored_check
from evenodds.rows.base import Rows
from evenodds.rows.door import read_data
from evenodds.rows.reading import Missing
from evenodds.validation import FloatArray

# Single anchors that a result keeps for its figure.
MOST_CASES = 300


def contour_test(
    X: Any,
    y: Any,
    anchors: Anchors,
    *,
    engine: str | None = None,
    positive: Any = None,
    sample_weight: ArrayLike | str | None = None,
    groups: ArrayLike | str | None = None,
    formula: str | None = None,
    probabilities: str | None = None,
    missing: Missing = "refuse",
) -> ContourTestResult:
    r"""Test which kind of noise the labels have, from anchors at several posteriors.

    Clean labels, uniform noise and class-conditional noise are tried in this order; past the
    last, noise depends on the features. The first that is not rejected is the answer if wider
    noise of a stated size is ruled out, else the answer is "cannot tell".

    Parameters
    ----------
    X : array, data frame or path
        Features, as for `asymmetry_test`: any source of rows, also larger than memory.
    y : array-like of shape (n_rows,) or str
        The given labels, or the name of their column in X.
    anchors : Anchors
        Cases whose true posterior is stated, at three or more different posteriors such as
        0.1, 0.5 and 0.9; 0 and 1 are welcome and taken as exact. Posteriors that differ by no
        more than 0.02 form one contour; more than twelve different ones, as a model states, are
        cut into contours of at most 0.2.
    engine : {"spline", "local"}, optional
        How the share of positive labels at the anchors is estimated. "spline", the default:
        a spline in the fitted index, for any number of features and rows. "local": from the
        rows around each anchor, without any index; up to five features, rows in memory.
    positive : object, optional
        The positive label; default the larger, True, or the later in sort order.
    sample_weight : array-like or str, optional
        Frequency weights: a row of weight 3 counts as three rows. Or their column in X.
    groups : array-like or str, optional
        Rows that belong together, or their column in X.
    formula : str, optional
        Features by a formula; anchors are encoded the same way.
    probabilities : str, optional
        Refused for now: a model's score is no axis for cases chosen by their true posterior.
    missing : {"refuse", "drop"}
        What to do with rows that lack a value.

    Returns
    -------
    ContourTestResult

    Raises
    ------
    InputError
        If the data or the anchors cannot be used; the message says what to do.

    See Also
    --------
    asymmetry_test : When all anchors are toss-ups.

    Notes
    -----
    Under class-conditional noise a case of true posterior p has a positive label with
    probability :math:`\beta + (1 - \alpha - \beta) p`: a line in p, the diagonal where labels
    are clean, and through (1/2, 1/2) where noise is uniform. The line is fitted to the contours
    by generalised least squares; errors of the stated posteriors count with the slope of the
    line. Each rung is tested against everything above it, "clean" one-sided, since flip rates
    are not negative. The tests are a fixed sequence, so with many rows the chance to climb past
    the true noise is at most the significance level; at 5 % it was .000 to .080 in simulation, and
    more where labels are very noisy, which the result then doubts (docs/contour.md).

    "spline" needs the labels to depend on the features through one index
    :math:`\theta^\top x`, of any curve; "local" needs many rows near every anchor. Neither can
    tell noise that depends on the features from stated posteriors that are wrong along the
    contours: what is rejected is that both fit together.

    Examples
    --------
    Labels of clear cases are right, those of hard ones often wrong: the line bends.

    >>> import numpy as np
    >>> import evenodds as eo
    >>> rng = np.random.default_rng(3)
    >>> X = rng.normal(size=(6000, 2))
    >>> true = 1 / (1 + np.exp(-2 * X[:, 0] - X[:, 1]))
    >>> flips = 1.4 * true * (1 - true)
    >>> shown = true * (1 - flips) + (1 - true) * flips
    >>> given = rng.random(6000) < shown
    >>> stated = np.repeat([0.1, 0.3, 0.5, 0.7, 0.9], 4)
    >>> side = rng.uniform(-1, 1, size=20)
    >>> points = np.column_stack([(np.log(stated / (1 - stated)) - side) / 2, side])
    >>> anchors = eo.Anchors(points, posterior=stated, tolerance=0)
    >>> eo.contour_test(X, given, anchors).reached()
    'instance-dependent'
    """
    refuse_scores(probabilities, "probabilities=")
    chosen = read_engine(engine)
    known = read_anchors(anchors)
    rows = read_data(
        X,
        y,
        positive=positive,
        sample_weight=sample_weight,
        groups=groups,
        formula=formula,
        missing=missing,
    )
    return climb_on_rows(rows, known, chosen)


def refuse_scores(probabilities: str | None, option: str) -> None:
    """Refuse a model's score as the single feature."""
    if probabilities is not None:
        raise InputError(
            f"{option} is {probabilities!r}, but a contour test takes no model's score: a score is "
            "drawn towards the base rate, so cases chosen by their true posterior would show noise "
            "where there is none. Give the columns that the model learned from, or look up the "
            "truth of some rows (audit_test, evenodds audit)."
        )


def climb_on_rows(rows: Rows, anchors: Anchors | None, engine: Engine) -> ContourTestResult:
    """Run the test on any source of rows; see `contour_test`."""
    if anchors is None:
        raise AnchorError(
            "anchors is None but a contour test needs cases of stated posterior, such as 0.1, 0.5 "
            "and 0.9: give Anchors(points, posterior=...)."
        )
    contours = group_anchors(anchors)
    check_rarer_label(rows)
    anchors = anchors.beside(rows)
    points = anchors.points_for(rows.feature_names, rows.n_features)
    if rows.n_groups is not None and rows.n_groups <= len(contours):
        raise InputError(
            f"groups has {rows.n_groups} groups for {len(contours)} contours: their scatter is all "
            "that tells how sure the contours are, so give more groups than contours."
        )
    with np.errstate(all="ignore"):  # what lies beyond all numbers is refused below
        found = posteriors_at(rows, points, engine)
    lost = ~(np.isfinite(found.posterior) & np.isfinite(found.covariance).all(axis=1))
    if lost.any():
        raise AnchorError(
            f"anchor {int(np.argmax(lost))} lies so far outside the data that nothing can be "
            "computed there: check its features."
        )
    at_anchors = Estimates(found.posterior, found.covariance, rows.n_groups)
    estimates = Estimates(
        posterior=contours.averaging @ found.posterior,
        covariance=contours.averaging @ found.covariance @ contours.averaging.T,
        n_groups=rows.n_groups,
    )
    line = fit_class_conditional(contours, estimates)
    (alpha, beta), spread = line.rates, line.covariance
    agreeing = agreement(contours, points, anchors.posterior, at_anchors)
    rungs = _rungs(contours, estimates, line, agreeing)
    wider = wider_noise(contours, anchors.posterior, estimates)
    outside = int(((estimates.posterior < 0) | (estimates.posterior > 1)).sum())
    checks = (
        contours_check(contours),
        wider_check(wider, first_kept(rungs, LEVEL)),
        found.check,
        None
        if found.rows_on_slope is None
        else noise_check(found.rows_on_slope, line, rows.n_features),
        direction_check(line),
        agreement_check(agreeing, contours, rows.n_features),
        impossible_check(outside, len(contours)),
        range_check(rows, points),
        rows_check(rows),
        groups_check(rows),
        *data_notes(rows),
        *ignored_check(anchors.ignored),
    )
    return ContourTestResult(
        rungs=rungs,
        wider=wider,
        agreement=agreeing,
        alpha=float(alpha),
        beta=float(beta),
        asymmetry=float(beta - alpha),
        rate_covariance=(
            (float(spread[0, 0]), float(spread[0, 1])),
            (float(spread[1, 0]), float(spread[1, 1])),
        ),
        contours=_contours(contours, estimates),
        cases=_cases(anchors.posterior, found.posterior),
        engine=found.engine,
        settings=found.settings,
        positive=rows.positive,
        negative=rows.negative,
        n_rows=round(rows.total_weight),
        n_features=rows.n_features,
        n_anchors=len(anchors),
        tolerance=anchors.tolerance_range(),
        shared_tolerance=anchors.shared_tolerance,
        shared_is_default=anchors.shared_is_default,
        diagnostics=tuple(check for check in checks if check is not None),
    )


def _rungs(
    contours: Contours, estimates: Estimates, line: NoiseFit, agreeing: Agreement | None
) -> tuple[Rung, ...]:
    """Test each noise against everything above it."""
    clean, clean_pvalue = one_sided_clean(contours, estimates)
    uniform = fit_uniform(contours, estimates)

    def rung(hypothesis: Noise, statistic: float, df: int, pvalue: float | None) -> Rung:
        return Rung(
            hypothesis=hypothesis,
            statistic=statistic,
            df=df,
            contour_pvalue=pvalue,
            pvalue=_with_agreement(pvalue, agreeing),
        )

    return (
        rung("clean", clean, uniform.df + 1, clean_pvalue),
        rung("uniform", uniform.statistic, uniform.df, uniform.pvalue),
        rung("class-conditional", line.statistic if line.df else 0.0, line.df, line.pvalue),
    )


def _with_agreement(pvalue: float | None, agreeing: Agreement | None) -> float | None:
    """Return the p-value of a rung by both tests: twice the smaller one, by Bonferroni."""
    pvalues = [pvalue, None if agreeing is None else agreeing.pvalue]
    known = [each for each in pvalues if each is not None]
    return min(1.0, len(known) * min(known)) if known else None


def _cases(stated: FloatArray, estimates: FloatArray) -> tuple[tuple[float, float], ...]:
    """Return single anchors for the figure, evenly spaced by what is stated where very many."""
    order = np.argsort(stated, kind="stable")
    step = -(-len(order) // MOST_CASES)
    return tuple((float(stated[place]), float(estimates[place])) for place in order[::step])


def _contours(contours: Contours, estimates: Estimates) -> tuple[Contour, ...]:
    stated_errors = np.sqrt(np.maximum(contours.covariance.diagonal(), 0))
    errors = np.sqrt(np.maximum(estimates.covariance.diagonal(), 0))
    return tuple(
        Contour(
            stated=float(contours.stated[place]),
            stated_error=float(stated_errors[place]),
            estimate=float(estimates.posterior[place]),
            standard_error=float(errors[place]),
            n_anchors=contours.counts[place],
        )
        for place in range(len(contours))
    )
