"""Tests of a whole confusion matrix: rows whose true class is known beside the given one."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from evenodds.errors import InputError
from evenodds.inference.audit.counts import read_pair
from evenodds.inference.multiclass.confusion_strata import (
    StratifiedConfusionResult,
    stratified_confusion,
)
from evenodds.inference.results import Diagnostic, Result, frame_row, versions_in_use
from evenodds.rows.labels import read_classes
from evenodds.validation import MOST_RUNS, FloatArray, check_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixTest:
    """One hypothesis about a confusion matrix.

    Attributes
    ----------
    name : {"uniform", "symmetry", "homogeneity"}
    statistic, pvalue : float
    degrees_of_freedom : int
    reference : {"chi2", "Monte Carlo"}
        What the statistic is compared with; drawn where a cell has few rows.
    """

    name: str
    statistic: float
    pvalue: float
    degrees_of_freedom: int
    reference: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ConfusionTestResult(Result):
    """Outcome of the tests of a confusion matrix.

    Attributes
    ----------
    classes : tuple
        Names, in the order of rows and columns.
    counts : tuple of tuple of int
        Rows by true class (down) and given label (across).
    uniform, symmetry, homogeneity : MatrixTest
        Flips go to every other class alike; as many go from i to j as from j to i; given labels
        are as frequent as true classes.
    noise_rate : float
        Share of rows whose label is wrong.
    settings : dict
        Tables drawn for p-values of small samples, and the seed they were drawn with.
    diagnostics : tuple of Diagnostic
        What was noted of the rows.
    versions : dict
        Of the libraries that the numbers depend on.
    """

    _schema: ClassVar[int] = 1
    _derived: ClassVar[tuple[str, ...]] = ("pvalue", "statistic", "n_rows")

    classes: tuple[Any, ...]
    counts: tuple[tuple[int, ...], ...]
    uniform: MatrixTest
    symmetry: MatrixTest
    homogeneity: MatrixTest
    noise_rate: float
    settings: dict[str, int]
    diagnostics: tuple[Diagnostic, ...] = ()
    versions: dict[str, str] = field(default_factory=versions_in_use)

    @property
    def pvalue(self) -> float:
        """Of the uniform-noise hypothesis, the question of this house."""
        return self.uniform.pvalue

    @property
    def statistic(self) -> float:
        """Of the uniform-noise hypothesis."""
        return self.uniform.statistic

    @property
    def n_rows(self) -> int:
        """Rows with both labels."""
        return sum(map(sum, self.counts))

    def flip_rates(self) -> FloatArray:
        """Return the share of each true class given each label."""
        table = np.array(self.counts, dtype=np.float64)
        return np.asarray(table / table.sum(axis=1, keepdims=True))

    def _rows(self, level: float) -> list[dict[str, Any]]:
        return [frame_row(test) for test in (self.uniform, self.symmetry, self.homogeneity)]


# Fewer rows expected in a cell than this, and p-values are drawn instead of looked up.
FEW_EXPECTED = 5.0
# A block of draws takes a few megabytes with fifty classes.
DRAWS_AT_ONCE = 500

Counts = NDArray[np.int64]


@overload
def confusion_test(
    true: Any, given: Any, *, draws: int = ..., seed: int = ...
) -> ConfusionTestResult: ...


@overload
def confusion_test(
    true: Any, given: Any, *, strata: Any, scores: Any = ..., given_counts: Any = ...
) -> StratifiedConfusionResult: ...


def confusion_test(
    true: Any,
    given: Any,
    *,
    strata: Any = None,
    scores: Any = None,
    given_counts: Any = None,
    draws: int = 9999,
    seed: int = 0,
) -> ConfusionTestResult | StratifiedConfusionResult:
    r"""Test what kind of noise turned true classes into given labels.

    Three null hypotheses about the K x K table of rows whose true class was looked up:
    *uniform* (every class is flipped equally often, to every other class alike), *symmetry*
    (Bowker: as many rows of i are labelled j as rows of j are labelled i) and *homogeneity*
    (Stuart and Maxwell: each label is given as often as its class occurs).

    With `strata`, rows were drawn within strata of a score, or by given label: one null hypothesis
    for every pair of classes, that as large a share of i is labelled j as of j is labelled i,
    and the whole flip matrix with intervals, valid whatever flips depend on.

    Parameters
    ----------
    true, given : array-like
        True class and given label of the same rows, drawn at random or by true class. With cases:
        the true classes of the cases, in their order, and the labels of all rows.
    strata : Cases or array-like, optional
        What `choose_cases` drew from probabilities of all classes, or the stratum of each row
        that was looked up.
    scores : array-like, optional
        With cases: the probabilities that they were drawn from, a column a class.
    given_counts : dict, optional
        With a stratum for each row: rows of the data, ``{stratum: {label: count}}``.
    draws : int
        Of the Monte Carlo p-values, used where a cell expects fewer than five rows.
    seed : int
        Of those draws.

    Returns
    -------
    ConfusionTestResult or StratifiedConfusionResult
        The second with `strata`.

    Raises
    ------
    InputError
        If the labels cannot be used; the message says what to do.

    Notes
    -----
    Symmetry and homogeneity are about *counts*: where classes are of different size, uniform
    noise breaks both (more rows leave the large class than enter it). Only *uniform* is about
    rates. Its statistic is Pearson's, against the fitted
    :math:`\hat e / (K - 1)` in every cell off the diagonal, with
    :math:`K (K - 1) - 1` degrees of freedom; given the number of flips, which rows are flipped
    and to what is free of :math:`e` under the null, so the drawn p-value is exact.

    Within strata each pair has a z of its own, and p-values are adjusted by Holm's method, so
    that the chance of naming any pair falsely is below the level; pairs between which too few
    rows were exchanged to come as low are not counted ([4]_). The statistic is read off the
    distribution of multinomial counts within strata under the hypothesis (theory page, "Classes
    looked up within strata"): with few wrong rows it is cautious, and a stratum in which none was
    found wrong is not taken to have none. Intervals are for one rate or pair each. Rows count as
    one, independent of others; strata and draw must not depend on the true classes.

    References
    ----------
    .. [1] Bowker, A. H. (1948). A test for symmetry in contingency tables. JASA 43, 572-574.
    .. [2] Stuart, A. (1955). A test for homogeneity of the marginal distributions in a two-way
           classification. Biometrika 42, 412-416.
    .. [3] Maxwell, A. E. (1970). Comparing the classification of subjects by two independent
           judges. Br. J. Psychiatry 116, 651-655.
    .. [4] Tarone, R. E. (1990). A modified Bonferroni method for discrete data. Biometrics 46,
           515-522.

    Examples
    --------
    >>> true = ["cat"] * 60 + ["dog"] * 60 + ["fox"] * 60
    >>> given = true.copy()
    >>> given[:12] = ["dog"] * 12  # a fifth of the cats became dogs
    >>> given[60], given[120] = "fox", "cat"
    >>> result = confusion_test(true, given)
    >>> result.pvalue < 0.001, round(result.noise_rate, 3)
    (True, 0.078)

    One stratum: rows were drawn by given label, 60 of each, from many more of them.

    >>> given_counts = {"all": {"cat": 900, "dog": 2000, "fox": 600}}
    >>> result = confusion_test(true, given, strata=["all"] * 180, given_counts=given_counts)
    >>> pair = result.leading
    >>> pair.first, pair.second, round(pair.asymmetry, 2)  # of all cats, 28% became dogs
    ('cat', 'dog', -0.28)
    >>> interval = result.asymmetry_interval("cat", "dog")
    >>> round(interval.low, 2), round(interval.high, 2), pair.adjusted < 0.05
    (-0.38, -0.17, True)
    """
    if strata is not None:
        return stratified_confusion(true, given, strata, scores, given_counts)
    if scores is not None or given_counts is not None:
        raise InputError("scores and given_counts go with strata: say how the rows were drawn.")
    return confusion_of(true, given, draws=draws, seed=seed)


def confusion_of(
    true: Any,
    given: Any,
    *,
    draws: int = 9999,
    seed: int = 0,
    called: tuple[str, str] = ("true", "given"),
) -> ConfusionTestResult:
    """Test labels that messages call by names of their own; see `confusion_test`."""
    draws = check_whole(draws, "draws", at_least=99, at_most=MOST_RUNS)
    rng = np.random.default_rng(check_whole(seed, "seed"))
    counts, names = _counted(true, given, called)
    return ConfusionTestResult(
        classes=names,
        counts=tuple(tuple(int(cell) for cell in row) for row in counts),
        uniform=_uniform(counts, draws, rng),
        symmetry=_balance(counts, "symmetry", draws, rng),
        homogeneity=_balance(counts, "homogeneity", draws, rng),
        noise_rate=float(1 - counts.trace() / counts.sum()),
        settings={"draws": draws, "seed": seed},
    )


def _counted(true: Any, given: Any, called: tuple[str, str]) -> tuple[Counts, tuple[Any, ...]]:
    """Return the table of true by given labels."""
    read_pair(true, given, called)
    known = read_classes(true, called[0], for_two="audit_test (evenodds audit)")
    codes = read_classes(given, called[1], known=known.names).codes
    counts = np.zeros((len(known.names),) * 2, dtype=np.int64)
    np.add.at(counts, (known.codes, codes), 1)
    return counts, known.names


def _tested(
    name: str, statistic: float, degrees: int, drawn: Callable[[], FloatArray] | None
) -> MatrixTest:
    """Compare a statistic with what was drawn under its hypothesis, else with its limiting law."""
    if drawn is not None and degrees > 0:
        # A hair of slack: the same table may differ in the last digit.
        draws = drawn() >= statistic * (1 - 1e-12)
        pvalue, reference = float((1 + draws.sum()) / (len(draws) + 1)), "Monte Carlo"
    else:
        pvalue, reference = float(chdtrc(degrees, statistic)) if degrees else 1.0, "chi2"
    return MatrixTest(
        name=name,
        statistic=statistic,
        pvalue=pvalue,
        degrees_of_freedom=degrees,
        reference=reference,
    )


def _uniform(counts: Counts, draws: int, rng: np.random.Generator) -> MatrixTest:
    """Test that flips go from every class to every other class alike."""
    n_classes, sizes = len(counts), counts.sum(axis=1)
    flipped = int(counts.sum() - counts.trace())
    degrees = n_classes * (n_classes - 1) - 1
    rate = flipped / counts.sum()
    statistic = sum(
        float(_pearson(counts[[k]], k, int(sizes[k]), rate)[0]) for k in range(n_classes)
    )
    few = 0 < float(sizes.min()) * rate / (n_classes - 1) < FEW_EXPECTED
    drawn = partial(_uniform_draws, sizes, flipped, draws, rng) if few else None
    return _tested("uniform", statistic, degrees, drawn)


def _pearson(labels: Counts, own: int, size: int, rate: float) -> FloatArray:
    """Return what one true class adds to Pearson's statistic, for each count of its labels."""
    expected = np.full(labels.shape[1], size * rate / (labels.shape[1] - 1))
    expected[own] = size * (1 - rate)
    # Where every label is flipped none is expected to stay, and none does.
    seen = expected > 0
    return np.asarray(((labels[:, seen] - expected[seen]) ** 2 / expected[seen]).sum(axis=1))


def _uniform_draws(sizes: Counts, flipped: int, draws: int, rng: np.random.Generator) -> FloatArray:
    """Return Pearson's statistics of uniform noise with this many flips among these rows.

    One true class at a time: whole tables of fifty classes would fill a gigabyte.
    """
    n_classes, rate = len(sizes), flipped / sizes.sum()
    out = rng.multivariate_hypergeometric(sizes, flipped, size=draws)
    statistics = np.zeros(draws)
    for k in range(n_classes):
        labels = np.insert(
            rng.multinomial(out[:, k], np.full(n_classes - 1, 1 / (n_classes - 1))),
            k,
            sizes[k] - out[:, k],
            axis=1,
        )
        statistics += _pearson(labels, k, int(sizes[k]), rate)
    return statistics


def _balance(counts: Counts, name: str, draws: int, rng: np.random.Generator) -> MatrixTest:
    """Test symmetry (Bowker) or equal margins (Stuart and Maxwell)."""
    upper = np.triu_indices(len(counts), 1)
    exchanged = (counts + counts.T)[upper]
    measure = _bowker if name == "symmetry" else _stuart_maxwell
    statistic, degrees = measure(2.0 * counts[upper][None] - exchanged, exchanged, len(counts))

    def drawn() -> FloatArray:
        # Under symmetry each exchanged row went either way alike.
        found = []
        for start in range(0, draws, DRAWS_AT_ONCE):
            size = (min(DRAWS_AT_ONCE, draws - start), len(exchanged))
            forth = rng.binomial(exchanged, 0.5, size=size)
            found.append(measure(2.0 * forth - exchanged, exchanged, len(counts))[0])
        return np.concatenate(found)

    few = exchanged[exchanged > 0].min(initial=MOST_RUNS) < 2 * FEW_EXPECTED
    return _tested(name, float(statistic[0]), degrees, drawn if few else None)


def _bowker(gaps: FloatArray, exchanged: Counts, n_classes: int) -> tuple[FloatArray, int]:
    """Return Bowker's statistics; pairs without a flip say nothing and do not count."""
    seen = exchanged > 0
    return np.asarray((gaps[:, seen] ** 2 / exchanged[seen]).sum(axis=1)), int(seen.sum())


def _stuart_maxwell(gaps: FloatArray, exchanged: Counts, n_classes: int) -> tuple[FloatArray, int]:
    """Return the statistics of Stuart and Maxwell, on K - 1 unless some classes never mix."""
    first, second = np.triu_indices(n_classes, 1)
    # What a row that goes from one class to another takes from the one and adds to the other.
    moves = np.eye(n_classes)[first] - np.eye(n_classes)[second]
    margins, covariance = gaps @ moves, moves.T @ (exchanged[:, None] * moves)
    statistics = np.einsum("ti,ij,tj->t", margins, np.linalg.pinv(covariance), margins)
    return np.asarray(statistics), int(np.linalg.matrix_rank(covariance))
