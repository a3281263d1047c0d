"""The contour test: which noise do these labels have?"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from evenodds.anchors import Anchors
from evenodds.errors import AnchorError, InputError
from evenodds.inference.asymmetry import check_rarer_label, read_anchors
from evenodds.inference.contour.ladder import (
    Contours,
    Estimates,
    NoiseFit,
    agreement,
    fit_noise,
    group_anchors,
    one_sided_clean,
    wider_noise,
)
from evenodds.inference.contour.result import (
    Agreement,
    Contour,
    ContourTestResult,
    Noise,
    Rung,
    Wider,
    first_kept,
)
from evenodds.inference.diagnostics import groups_check, range_check, rows_check
from evenodds.inference.local import nearby_check
from evenodds.inference.method import about, all_checks, ignored_check
from evenodds.inference.noise_aware import FittedRows
from evenodds.inference.results import Diagnostic
from evenodds.model.bent_curve import fit_bent
from evenodds.model.local_fit import hold_locally, refuse_lonely
from evenodds.rows.base import Rows
from evenodds.rows.read import read_data
from evenodds.rows.table_rows import Missing
from evenodds.validation import FloatArray, check_choice, counted

# A flip rate this many standard errors below zero, or a slope above it, is no chance.
FAR_FROM_ZERO = 2.0
# Below so many rows on the slope a parameter, counted as clean ones, the shape of the curve is a
# guess: the ladder then climbed too far in up to .22 of simulated runs, though not always.
CLEAN_ROWS_A_PARAMETER = 50
# Below so many places of rows on the slope the ladder climbed too far in up to .27 of simulated
# runs.
LEAST_PLACES = 4
# The level at which a check rules noise out.
LEVEL = 0.05


def contours_check(contours: Contours) -> Diagnostic:
    """Say how anchors were grouped, and whether the line can be tested."""
    listed = ", ".join(f"{stated:.2g}" for stated in contours.stated)
    message = f"The anchors form {len(contours)} contours, at stated posteriors {listed}."
    if contours.widest > 0:
        message += f" Posteriors up to {contours.widest:.2g} apart share one."
    few = len(contours) < 3
    if few:
        message += (
            " A line runs through any two points: with a third, class-conditional noise could be "
            "told from noise that depends on the features."
        )
    return Diagnostic(name="contours", message=message, concern=few, statistic=float(len(contours)))


def wider_check(wider: tuple[Wider, ...], kept: Noise) -> Diagnostic | None:
    """Say which stated noises beyond the one that is not rejected would have gone unseen."""
    beyond = [each for each in wider if each.rung == kept]
    if not beyond:
        return None
    unseen = [each for each in beyond if not each.ruled_out(LEVEL)]
    start = f"Beyond {NOUNS[kept]}, at {LEVEL:.0%}, these contours"
    message = (
        f"{start} do not rule out {list_noise(unseen, 'or')}."
        if unseen
        else f"{start} rule out {list_noise(beyond, 'and')}."
    )
    pvalues = [1.0 if each.pvalue is None else each.pvalue for each in beyond]
    return Diagnostic(
        name="wider noise", message=message, concern=bool(unseen), pvalue=max(pvalues)
    )


NOUNS = {
    "clean": "clean labels",
    "uniform": "uniform noise",
    "class-conditional": "class-conditional noise",
}


def list_noise(wider: Sequence[Wider], word: str, *, sizes: bool = True) -> str:
    """Return stated noises, with or without their sizes, as a list in words."""
    named = [
        f"{WIDER[each.noise]}{_size(each) if sizes else EXPLAINED.get(each.noise, '')}"
        for each in wider
    ]
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} {word} {named[-1]}"


WIDER = {
    "uniform": "uniform noise",
    "asymmetry": "an asymmetry",
    "hard cases": "hard-case noise",
    "sure cases": "sure-case noise",
}
EXPLAINED = {
    "hard cases": " (more flips at toss-ups)",
    "sure cases": " (more flips at sure cases)",
}


def _size(wider: Wider) -> str:
    size = f"{100 * wider.size:.0f} in 100"
    return {
        "hard cases": f" ({size} more flips at toss-ups than at sure cases)",
        "sure cases": f" ({size} more flips at sure cases than at toss-ups)",
    }.get(wider.noise, f" of {size}")


def agreement_check(
    agreement: Agreement | None, contours: Contours, n_features: int
) -> Diagnostic | None:
    """Say that cases of one contour were not compared, where a contour might have told."""
    if agreement is not None or n_features == 1:
        return None  # along one feature, cases of one posterior are one case
    single = max(contours.counts) == 1
    why = (
        "every contour has one case; name several at each"
        if single
        else "they do not differ in their features, or groups are too few"
    )
    return Diagnostic(
        name="within contours",
        message=(
            f"Whether cases of one contour are labelled alike was not asked ({why}): noise that "
            "depends on the features but balances on average would not be seen."
        ),
        concern=single,
    )


def direction_check(line: NoiseFit) -> Diagnostic | None:
    """Doubt a line that does not rise, or asks for a flip rate below zero; no noise does."""
    slope = 1 - float(line.rates.sum())
    spread = float(line.covariance.sum()) ** 0.5
    distances = line.rates / line.covariance.diagonal() ** 0.5
    name, distance = min(zip(("alpha", "beta"), distances, strict=True), key=lambda x: x[1])
    statistic = slope
    if slope < -FAR_FROM_ZERO * spread:
        message = (
            "The line falls: the stated posteriors, or the labels, are the wrong way round "
            f"(alpha + beta is {1 - slope:.2f}, and noise keeps it below 1). Check which label is "
            "the positive one, and give it as positive=."
        )
    elif slope < FAR_FROM_ZERO * spread:
        message = (
            f"The line is nearly flat: alpha + beta is {1 - slope:.2f}, give or take "
            f"{spread:.2f}, so it may be 1, where labels say nothing of the true class. Check that "
            "labels and anchors belong together; else collect more rows, or anchors nearer to 0 "
            "and 1."
        )
    elif distance < -FAR_FROM_ZERO:
        statistic = float(distance)
        message = (
            f"The line puts {name} {-distance:.1f} standard errors below zero, which no noise "
            "does: labels are surer than the stated posteriors. The expert may be too timid, or "
            "the tolerance too small."
        )
    else:
        return None
    return Diagnostic(name="direction", message=message, concern=True, statistic=statistic)


def noise_check(rows_on_slope: float | None, line: NoiseFit, n_features: int) -> Diagnostic | None:
    """Doubt a curve whose shape few or noisy labels can hardly tell; None where they can.

    A row tells as much of the shape as the square of the line's slope of a clean one does.
    """
    if rows_on_slope is None:
        return None  # no curve was fitted
    slope = max(1 - float(line.rates.sum()), 0.0)
    clean = rows_on_slope * slope**2
    each = clean / (n_features + 1)
    if each >= CLEAN_ROWS_A_PARAMETER:
        return None
    return Diagnostic(
        name="noise",
        message=(
            f"The {rows_on_slope:,.0f} rows on the slope are worth {clean:,.0f} without noise, "
            f"{each:.0f} per parameter: below about {CLEAN_ROWS_A_PARAMETER}, p-values may be too "
            "small."
        ),
        concern=True,
        statistic=each,
    )


def places_check(places: float | None) -> Diagnostic | None:
    """Doubt a spline between few values of the index; None where there are enough.

    With fewer than the spline has bends, what it reads between them is made up.
    """
    if places is None or places >= LEAST_PLACES:
        return None
    return Diagnostic(
        name="places",
        message=(
            f"Rows on the slope of the curve lie at about {places:.1f} places along it: between so "
            f"few the curve is a guess, and below {LEAST_PLACES} p-values may be too small. Take "
            "anchors at values that rows have, or columns of more values."
        ),
        concern=True,
        statistic=places,
    )


def impossible_check(outside: int, n_contours: int) -> Diagnostic | None:
    """Say so where the fit puts a share of labels beyond 0 or 1; None where it does not."""
    if outside == 0:
        return None
    return Diagnostic(
        name="share of labels",
        message=(
            f"At {outside} of {n_contours} contours the fit leaves 0 to 1, as a straight "
            "correction may by chance: hardly any label there is of the other class."
        ),
        concern=False,
        statistic=float(outside),
    )


Engine = Literal["spline", "local"]

DEFAULT: Engine = "spline"
KERNEL = "gaussian"
# What takes anchors and rows that a local fit does not.
INSTEAD = "engine='spline'"
# Fewer rows on the slope of the curve than this a parameter make its bends unreliable.
ROWS_A_PARAMETER = 10


@dataclass(frozen=True, slots=True, eq=False)
class AtAnchors(Estimates):
    """Noisy posteriors at the anchors, and how they were found."""

    settings: dict[str, str] = field(default_factory=dict)
    check: Diagnostic | None = None
    rows_on_slope: float | None = None
    places: float | None = None


def read_engine(engine: Any) -> Engine:
    """Return a checked engine; None is the default."""
    chosen = DEFAULT if engine is None else engine
    return check_choice(chosen, "engine", get_args(Engine))  # type: ignore[return-value]


def posteriors_at(rows: Rows, points: FloatArray, engine: Engine) -> AtAnchors:
    """Estimate the posterior of the labels at points."""
    return _by_spline(rows, points) if engine == "spline" else _by_neighbours(rows, points)


def _by_spline(rows: Rows, points: FloatArray) -> AtAnchors:
    """Fit a spline in the fitted index: sums over rows, for any number of features."""
    fitted = FittedRows.of(rows)
    curve = fit_bent(fitted.problem, fitted.plain_coefficients)
    posterior, covariance = curve.at(points)
    few = curve.transition < ROWS_A_PARAMETER * curve.design.n_columns
    if curve.plain:
        message = (
            "No smooth noisy curve fits these rows, so the spline starts from the plain one: "
            "the sample is too small or too noisy; treat the numbers as rough."
        )
    elif few:
        message = (
            f"Only about {curve.transition:.0f} rows lie on the slope of the curve, for "
            f"{curve.design.n_columns} parameters: p-values may be too small."
        )
    else:
        message = f"About {curve.transition:,.0f} rows lie on the slope of the curve."
    check = Diagnostic(
        name="slope",
        message=message,
        concern=curve.plain or few,
        statistic=float(curve.transition),
    )
    settings = {"knots": str(len(curve.design.knots))}
    transition = float(curve.transition)
    return AtAnchors(
        posterior, covariance, rows.n_groups, settings, check, transition, curve.places
    )


def _by_neighbours(rows: Rows, points: FloatArray) -> AtAnchors:
    """Fit around each point, with the rows held in memory."""
    held = hold_locally(rows, INSTEAD)
    near = held.posteriors(points, held.bandwidth(KERNEL), KERNEL)
    refuse_lonely(near, rows.n_features, f"use {INSTEAD}")
    check = replace(nearby_check(near, rows.n_features), name="neighbours")
    settings = {"bandwidth": f"{near.bandwidth:.3g}"}
    return AtAnchors(near.posterior, near.covariance, rows.n_groups, settings, check)


# Single anchors that a result keeps for its figure.
MOST_CASES = 300


def contour_test(
    X: Any,
    y: Any,
    anchors: Anchors | Any,
    *,
    engine: Engine | None = None,
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
    anchors : Anchors, data frame or path
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
    the true noise is at most the significance level; at 5% it was .000 to .080 in simulation, and
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
            f"groups has {counted(rows.n_groups, 'group')} for {len(contours)} contours: their "
            "scatter is all that tells how sure the contours are, so give more groups than "
            "contours."
        )
    with np.errstate(all="ignore"):  # what lies beyond all numbers is refused below
        found = posteriors_at(rows, points, engine)
    lost = ~(np.isfinite(found.posterior) & np.isfinite(found.covariance).all(axis=1))
    if lost.any():
        raise AnchorError(
            f"anchor {int(np.argmax(lost)) + 1} lies so far outside the data that nothing can be "
            "computed there: check its features."
        )
    estimates = found.averaged(contours.averaging)
    line = fit_noise("class-conditional", contours, estimates)
    alpha, beta = line.rates.tolist()
    agreeing = agreement(contours, points, anchors.posterior, found)
    rungs = _rungs(contours, estimates, line, agreeing)
    wider = wider_noise(contours, anchors.posterior, estimates)
    outside = int(((estimates.posterior < 0) | (estimates.posterior > 1)).sum())
    checks = (
        contours_check(contours),
        wider_check(wider, first_kept(rungs, LEVEL)),
        found.check,
        noise_check(found.rows_on_slope, line, rows.n_features),
        places_check(found.places),
        direction_check(line),
        agreement_check(agreeing, contours, rows.n_features),
        impossible_check(outside, len(contours)),
        range_check(rows, points),
        rows_check(rows),
        groups_check(rows.n_groups),
    )
    return ContourTestResult(
        rungs=rungs,
        wider=wider,
        agreement=agreeing,
        alpha=alpha,
        beta=beta,
        asymmetry=beta - alpha,
        rate_covariance=tuple(tuple(row) for row in line.covariance.tolist()),  # type: ignore[arg-type]
        contours=_contours(contours, estimates),
        cases=_cases(anchors.posterior, found.posterior),
        engine=engine,
        settings=found.settings,
        **about(rows, anchors),
        diagnostics=(*all_checks(rows, checks), *ignored_check(anchors.ignored)),
    )


def _rungs(
    contours: Contours, estimates: Estimates, line: NoiseFit, agreeing: Agreement | None
) -> tuple[Rung, ...]:
    """Test each noise against everything above it."""
    clean, clean_pvalue = one_sided_clean(contours, estimates)
    uniform = fit_noise("uniform", contours, estimates)
    tested: tuple[tuple[Noise, float, int, float | None], ...] = (
        ("clean", clean, uniform.df + 1, clean_pvalue),
        ("uniform", uniform.statistic, uniform.df, uniform.pvalue),
        ("class-conditional", line.statistic if line.df else 0.0, line.df, line.pvalue),
    )
    return tuple(
        Rung(
            hypothesis=noise,
            statistic=statistic,
            df=df,
            contour_pvalue=pvalue,
            pvalue=_with_agreement(pvalue, agreeing),
        )
        for noise, statistic, df, pvalue in tested
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
    variances = contours.covariance.diagonal(), estimates.covariance.diagonal()
    stated_errors, errors = np.sqrt(np.maximum(variances, 0)).tolist()
    return tuple(
        Contour(
            stated=float(contours.stated[place]),
            stated_error=stated_errors[place],
            estimate=float(estimates.posterior[place]),
            standard_error=errors[place],
            n_anchors=contours.counts[place],
        )
        for place in range(len(contours))
    )
