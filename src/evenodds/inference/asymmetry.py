"""Is one class flipped more often than the other? The public test, and its statistic alone."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NoReturn

from numpy.typing import ArrayLike

from evenodds.anchors import Anchors
from evenodds.errors import AnchorError, InputError
from evenodds.inference.audit.as_evidence import Audit, check_words
from evenodds.inference.boundary import Boundary, Joint, NoiseAware
from evenodds.inference.local import Local
from evenodds.inference.method import Known, Method, MethodName, ignored_check
from evenodds.inference.noise_aware import FittedRows
from evenodds.inference.profile import Alternative, Reference
from evenodds.inference.results import AsymmetryTestResult, check_alternative
from evenodds.inference.wald import Wald
from evenodds.rows.anchor_points import STATED
from evenodds.rows.base import Rows
from evenodds.rows.memory import as_frame
from evenodds.rows.read import ClassRows, is_path, read_data
from evenodds.rows.table_rows import Missing
from evenodds.validation import FloatArray, join_quoted, kind_of_value

# Columns a row from which noisy curves turn into steps: any number of them, and many.
ANY_SHARE = 0.04
MANY_COLUMNS, MANY_SHARE = 50, 0.02
FEWEST_ROWS = 500


def check_rarer_label(rows: Rows) -> None:
    """Refuse rows of which one label has fewer than the curve has parameters."""
    positives = rows.positive_weight()
    counted = (rows.positive, positives), (rows.negative, rows.total_weight - positives)
    _check_rarest(counted, rows.n_features + 1, "the curve: collect more of them")


def check_rarest_class(rows: ClassRows, counts: FloatArray) -> None:
    """Refuse rows of which one class has fewer than its curve has parameters."""
    counted = zip(rows.classes.names, counts, strict=True)
    advice = "its curve: collect more of them, merge the class with another"
    _check_rarest(counted, rows.features.shape[1] + 1, advice)


def check_columns(rows: Rows, method: str) -> None:
    """Refuse more columns than a noisy curve can be told from a step with.

    Below `FEWEST_ROWS` rows the test runs, and withholds what it cannot tell.
    """
    n_rows, n_columns = rows.n_counted, rows.n_features
    share = n_columns / n_rows
    many = n_columns >= MANY_COLUMNS and share >= MANY_SHARE
    if n_rows < FEWEST_ROWS or not (many or share >= ANY_SHARE):
        return
    most = max(int(ANY_SHARE * n_rows - 1e-9), 1)
    if most >= MANY_COLUMNS:
        most = max(int(MANY_SHARE * n_rows - 1e-9), MANY_COLUMNS - 1)
    raise InputError(
        f"{rows.called} has {n_columns} columns and {n_rows:,} rows, too few for method "
        f"{method!r}: its noisy curve would be a step. Keep the columns that matter, at most "
        f"{most} here, or combine them by a formula; or judge rows drawn along a score and use "
        "line_test; or look up the true label of some rows and use audit_test."
    )


def _check_rarest(found: Iterable[tuple[Any, float]], n_parameters: int, advice: str) -> None:
    """Refuse a label seen less often than there are parameters."""
    label, count = min(found, key=lambda pair: pair[1])
    if count < n_parameters:
        raise InputError(
            f"label {label!r} has only {count:g} row{'' if count == 1 else 's'}, fewer than the "
            f"{n_parameters} parameters of {advice}, or use fewer columns."
        )


# Every test by its name, which is what results keep; and those that fit one curve to all rows.
METHODS: dict[str, type[Method]] = {test.name: test for test in (Boundary, Joint, Local, Wald)}
CURVE_METHODS = {name: test for name, test in METHODS.items() if test.fits_curve}


def asymmetry_test(
    X: Any,
    y: Any,
    anchors: Anchors | Any = None,
    *,
    method: MethodName | Method = "boundary",
    alternative: Alternative = "two-sided",
    positive: Any = None,
    sample_weight: ArrayLike | str | None = None,
    groups: ArrayLike | str | None = None,
    formula: str | None = None,
    probabilities: str | None = None,
    missing: Missing = "refuse",
    audit: Audit | None = None,
    device: str | None = None,
) -> AsymmetryTestResult:
    r"""Test whether the labels of one class are flipped more often than the other's.

    The null hypothesis is uniform noise: both classes are flipped equally often, so a
    case that is truly a toss-up (an anchor) still gets positive labels half of the time.
    Class-conditional noise moves that share by half the difference of the flip rates.

    Parameters
    ----------
    X : array, data frame or path
        Features, without an intercept column. Columns of text become one 0/1 column a level.
        A path, a list of paths, a folder or a glob names a table (CSV, TSV, Parquet, Feather,
        .npy, .npz), which may be larger than memory. Dask arrays and data frames are summed
        where their partitions are, tensors of torch and arrays of CuPy on their device.
    y : array-like of shape (n_rows,) or str
        The given labels: 0/1, -1/+1, bool or two strings; or the name of their column in X.
    anchors : Anchors, data frame or path
        Cases whose true posterior is about 1/2; a frame or a file is read as ``Anchors(...)``
        reads a file. They may be rows of X, but neither come with
        their labels nor be more than half of the rows.
    method : {"boundary", "joint", "local", "wald"} or Boundary, Joint, Local, Wald
        The test, by name or as a record of its settings.

        - "boundary" asks whether the curve, noise and all, crosses 1/2 at the anchors.
        - "joint" also reads the shape of the curve: far more powerful if the posterior is
          truly logistic, misleading if it is not. It runs without anchors, on that shape alone.
        - "local" looks at the rows around each anchor alone and assumes no shape of the curve.
          At most five features, and rows near every anchor; it also takes anchors stated at
          0 and 1, which give both flip rates.
        - "wald" is the test of the paper [1]_, for comparison.
    alternative : {"two-sided", "greater", "less"}
        "greater" means that negatives are flipped more often (beta > alpha).
    positive : object, optional
        The positive label; default the larger, True, or the later in sort order.
    sample_weight : array-like or str, optional
        Frequency weights: a row of weight 3 counts as three rows. They are not
        sampling weights. Or their column in X.
    groups : array-like or str, optional
        Rows that belong together (one patient, one annotator), or their column in X; rows
        of different groups must be independent.
    formula : str, optional
        Features by a formula, such as ``"log1p(size) + poly(age, 2) + C(site)"``; anchors are
        encoded the same way. ``"y ~ ..."`` names the label too.
    probabilities : str, optional
        Column of a model's out-of-sample predicted probabilities, whose log-odds become the
        single feature. Refused with anchors: where a score says 1/2, cases are no toss-ups.
    missing : {"refuse", "drop"}
        What to do with rows that lack a value; the result says how many were dropped.
    audit : Audit, optional
        Rows whose true label was looked up, as more evidence; with it, anchors may be left out.
    device : str, optional
        Where torch is to hold and sum the rows of an array or a file, such as "cuda".

    Returns
    -------
    AsymmetryTestResult

    Raises
    ------
    InputError
        If the data or the anchors cannot be used; the message says what to do.

    See Also
    --------
    prior_test : When the true share of positives is known instead of anchors.
    audit_test : When the true label of some rows is known, without features.

    Notes
    -----
    The noise-aware tests fit :math:`p(x) = \beta + (1 - \alpha - \beta)\, s(\theta^\top x)`,
    a logistic curve between two plateaus, for each hypothesised asymmetry
    :math:`\Delta_0 = \beta - \alpha`, with the noise rate estimated and the anchors as evidence
    about :math:`\theta`. *Boundary* standardises the distance between the anchors' stated
    log-odds and what the rows alone say of them; *joint* is the efficient score for
    :math:`\Delta`. Either gives one function :math:`z(\Delta_0)`: the test is :math:`z(0)`, the
    estimate its root, the interval where it stays small.

    All methods need far more rows than columns, and noise that depends on the class only: noise
    that depends on the features can balance exactly at the anchors. All but "local" also need the
    posterior to be logistic in the columns of X, or in those of a formula, which helps if it is the
    right one. A posterior that levels off by itself is the same curve as flipped labels, and no
    check can tell them apart. Where none of this is likely to hold, look labels up (`audit_test`).

    Method "wald" fits a plain logistic curve, which moves under uniform noise unless rows lie
    evenly about the boundary: with rare positives it rejects far too often, the more so the
    more rows there are, and its estimate overstates the asymmetry.

    References
    ----------
    .. [1] Poyiadzi, R., Yang, W., Twomey, N., Santos-Rodriguez, R. (2021).
           Hypothesis testing for class-conditional label noise. arXiv:2103.02630.

    Examples
    --------
    Positives are lost three times as often as negatives; the anchors lie where the true
    posterior is 1/2.

    >>> import numpy as np
    >>> import evenodds as eo
    >>> rng = np.random.default_rng(7)
    >>> true = rng.integers(0, 2, size=2000)
    >>> X = rng.normal(size=(2000, 2)) + (2 * true - 1)[:, None]
    >>> given = eo.ClassConditionalNoise(alpha=0.3, beta=0.1).flip(true, rng)
    >>> toss_ups = eo.Anchors([[1.0, -1.0], [0.0, 0.0], [-2.0, 2.0]])
    >>> result = eo.asymmetry_test(X, given, toss_ups)
    >>> result.pvalue < 0.001  # uniform noise is rejected
    True
    >>> round(result.asymmetry, 2), round(result.alpha, 2), round(result.beta, 2)
    (-0.2, 0.3, 0.1)
    """
    settings = read_method(method)
    checked_alternative = check_alternative(alternative)
    known = read_anchors(anchors)
    if probabilities is not None and known is not None:
        refuse_anchors_on_scores("probabilities=")
    rows = read_data(
        X,
        y,
        positive=positive,
        sample_weight=sample_weight,
        groups=groups,
        formula=formula,
        probabilities=probabilities,
        missing=missing,
        device=device,
    )
    return run_on_rows(rows, Known(known, _read_audit(audit)), settings, checked_alternative)


def run_on_rows(
    rows: Rows, known: Known, settings: Method, alternative: Alternative
) -> AsymmetryTestResult:
    """Run a test on any source of rows; see `asymmetry_test`."""
    check_rarer_label(rows)
    if isinstance(settings, NoiseAware):
        check_columns(rows, settings.name)
    if known.audit is not None:
        check_words(known.audit, rows)
    if known.anchors is None:
        return settings.run(rows, known, alternative)
    anchors = known.anchors.beside(rows)
    result = settings.run(rows, replace(known, anchors=anchors), alternative)
    return replace(result, diagnostics=(*ignored_check(anchors.ignored), *result.diagnostics))


def refuse_anchors_on_scores(option: str) -> NoReturn:
    """Refuse anchors beside a model's predictions, where the curve does not run as they need."""
    raise InputError(
        f"{option} cannot be used with anchors: a score is drawn towards the base rate, so cases "
        "that are truly toss-ups do not lie where the score says 1/2, and uniform noise would be "
        "rejected; judge rows drawn along the score and use line_test, test on the columns "
        "themselves (a few of them, or a formula), or look up the true labels of some rows and use "
        "audit_test (evenodds audit)."
    )


def read_anchors(anchors: Any) -> Anchors | None:
    """Return anchors as they are, or from a data frame or a file; refuse anything else."""
    if anchors is None or isinstance(anchors, Anchors):
        return anchors
    if is_path(anchors):
        return Anchors(anchors)
    frame = as_frame(anchors, "anchors")
    if frame is not None:
        stated = {name: frame[name].to_numpy() for name in STATED if name in frame.columns}
        return Anchors(frame.drop([*stated]).to_native(), **stated)
    raise AnchorError(
        f"anchors is {kind_of_value(anchors)}: wrap the points as evenodds.Anchors(points)."
    )


def _read_audit(audit: Any) -> Audit | None:
    """Refuse what is no audit."""
    if audit is not None and not isinstance(audit, Audit):
        raise InputError(
            f"audit is {kind_of_value(audit)}: wrap the labels as evenodds.Audit(true, given)."
        )
    return audit


def read_method(method: MethodName | Method) -> Method:
    """Return the settings behind a method's name."""
    if isinstance(method, Method):
        return method
    if not isinstance(method, str) or method not in METHODS:
        raise InputError(
            f"method is {method!r} but must be one of {join_quoted(METHODS, 'or')}, "
            "or a record of its settings."
        )
    return METHODS[method]()


def null_statistic(
    rows: Rows, anchors: Anchors | None, method: Method, fitted: FittedRows | None = None
) -> tuple[float, Reference]:
    """Return z(0) and what it is compared with; nan where the test would withhold it.

    `fitted` are the rows with their plain curve, where several sets of anchors share them.
    """
    return method.null_statistic(rows, Known(anchors), fitted)
