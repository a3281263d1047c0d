"""Draw the rows that are judged or looked up, at random within strata of a score.

Strata are fixed before anybody is asked. Cases come in one random order across strata, so that
the first of them are a valid, smaller design.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenodds.errors import InputError
from evenodds.inference.cases.line_fit import leverages
from evenodds.inference.cases.record import (
    FEWEST_ANSWERS,
    Cases,
    Ints,
    cut,
    cut_classes,
    hash_of,
    hash_of_labels,
    hash_of_weights,
    read_probabilities,
    read_scores,
)
from evenodds.inference.cases.strata import USUAL_DISPERSION, Strata
from evenodds.rows.labels import read_classes, read_labels
from evenodds.rows.memory import read_groups, read_weights
from evenodds.validation import FloatArray, check_same_order, check_whole, counted

FEWEST_CASES, MOST_CASES = 12, 100_000
FEWEST_STRATA, MOST_STRATA = 2, 20
# Without a wish: three strata for 30 cases, five for 60, eight for 120 and more.
CASES_PER_STRATUM, USUAL_STRATA = 15, (3, 8)
# A stratum holds at least this many rows, and two for each of its cases.
FEWEST_ROWS = 15
# Steps of confidence within a predicted class: at most so many, with so many cases a cell.
CASES_PER_CELL, MOST_STEPS = 10, 3
# Cases of a cell go by this power of its rows; of several classes nearer to proportion, since
# flips of each pair may hide in the few cells that hold most rows.
OF_TWO, OF_SEVERAL, EQUALLY = 0.5, 0.75, 0.0
# Of every given label of a stratum, where cases are drawn by label.
FEWEST_OF_A_CELL = 2
# Of the cases to be stated, so many go to every stratum alike; the others go where they tell most,
# if one label in ten were flipped in either class and statements varied as they usually do.
# Of ten, five are left if somebody stops half-way: the fewest that a line can be read from.
ALIKE, ENOUGH = 2 / 3, 10
FLIPPED = 0.1
# Others are shared out in so many turns at most.
TURNS = 200
# Steps of the probability lie between these, with one stratum beyond at either end.
FIRST_STEP, LAST_STEP = 0.1, 0.9
# Where fewer steps than this hold enough rows, strata are cut at quantiles of the score.
FEWEST_STEPS = 4


def choose_cases(
    scores: ArrayLike,
    *,
    n_cases: int = 60,
    n_strata: int | None = None,
    given: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    seed: int = 0,
) -> Cases:
    """Draw the rows that an expert judges, at random within strata of a score.

    Parameters
    ----------
    scores : array-like of float
        For each row, the probability that its given label is positive, by a model that did not
        see that label: `out_of_fold_scores` makes them. Of three classes or more, a column for
        each in sort order (scikit-learn's ``cross_val_predict(..., method="predict_proba")``).
    n_cases : int, default 60
        How many rows are judged.
    n_strata : int, optional
        Strata of the score; by default three for 30 cases, five for 60, eight for 120. Of several
        classes, steps of confidence within each predicted class: by default up to three, as long
        as strata have about 15 cases on average, or cells of stratum and label ten.
    given : array-like, optional
        Given labels of all rows, where the truth will be looked up: cases are then drawn from
        all labels of every stratum, as `audit_test` and `confusion_test` read them best. Not for
        stated probabilities.
    groups : array-like, optional
        Rows that belong together (one patient); at most one row of each is judged.
    sample_weight : array-like, optional
        Frequency weights, not sampling weights: how many rows each row is; it is drawn in
        proportion.
    seed : int, default 0
        Of the draw.

    Returns
    -------
    Cases
        Numbers of the rows in the order to show them, their strata, and the edges of the strata.

    Raises
    ------
    InputError
        If the scores cannot be divided into strata, or hold fewer rows than cases.

    See Also
    --------
    line_test : The test on what was stated of these cases.
    audit_test : The test on what was looked up, valid whatever flips depend on.
    confusion_test : The same for three classes and more, looked up.

    Notes
    -----
    Steps of the score are even between 0.1 and 0.9, with a stratum beyond at either end; steps
    with too few rows are joined to their neighbours. Where fewer than four are left, strata
    are cut at quantiles of the score. Every stratum gets two thirds of an equal share of the
    cases, and the others go to the strata where the planned variance of the asymmetry falls most.

    With `given`, a stratum and label gets cases in proportion to the root of its rows, and at
    least two, or all of its rows. The order is random, and spreads each of them evenly from the
    first case to the last. Of several classes a cell is a predicted class, a step of the highest
    probability and a given label, and gets cases by the power 0.75 of its rows; without `given`
    strata get equally many, at most half of their rows, and those below 15 rows none.

    Examples
    --------
    >>> import numpy as np
    >>> import evenodds as eo
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(2000)
    >>> given = rng.random(2000) < scores
    >>> cases = eo.choose_cases(scores, n_cases=60, given=given)
    >>> [int((cases.strata[given[cases.rows]] == stratum).sum()) for stratum in range(5)]
    [2, 5, 8, 9, 6]
    """
    several = np.ndim(scores) == 2 and np.shape(scores)[1] > 2
    values = read_probabilities(scores) if several else read_scores(scores, lent=True)
    wanted = check_whole(n_cases, "n_cases", at_least=FEWEST_CASES, at_most=MOST_CASES)
    seed = check_whole(seed, "seed")
    if n_strata is not None:
        fewest = 1 if several else FEWEST_STRATA
        n_strata = check_whole(n_strata, "n_strata", at_least=fewest, at_most=MOST_STRATA)
    check_same_order(scores=scores, given=given, groups=groups, sample_weight=sample_weight)
    if len(values) < 2 * wanted:
        raise InputError(
            f"scores has {len(values):,} rows but {wanted} cases need at least {2 * wanted}: half "
            "of the rows must be left to count labels. Ask for fewer cases."
        )
    if several:
        if groups is not None or sample_weight is not None:
            raise InputError(
                "scores of several classes go without groups and sample_weight: every row counts "
                "as one, independent of others."
            )
        return _choose_by_class(values, given, wanted, n_strata, seed)
    edges = edges_of(values, wanted, n_strata)
    if given is None:
        _refuse_few(wanted, len(edges) + 1)
    strata = cut(values, edges)
    rng = np.random.default_rng(seed)
    weights = read_weights(sample_weight, len(values))
    alike = None
    if groups is not None:
        alike = read_groups(groups, len(values), whose=f"scores has {len(values):,} rows")[0]
    labelled = None if given is None else _read_given(given, len(values))
    if labelled is None:
        rows = _draw(values, strata, wanted, rng, weights=weights, groups=alike)
    elif weights is None and alike is None:
        rows = _draw_by_cell(2 * strata + labelled, wanted, rng)
    else:
        raise InputError(
            "given goes without groups and sample_weight: a stratified audit takes every row as "
            "one, independent of others."
        )
    return Cases(
        rows=rows,
        strata=strata[rows],
        edges=edges,
        n_rows=len(values),
        seed=seed,
        scores_hash=hash_of(values),
        given_hash=None if labelled is None else hash_of_labels(labelled),
        weights_hash=hash_of_weights(weights),
    )


def _choose_by_class(
    values: FloatArray,
    given: ArrayLike | None,
    n_cases: int,
    n_steps: int | None,
    seed: int,
) -> Cases:
    """Draw cases by predicted class and step of confidence, and by given label where known."""
    n_rows, n_classes = values.shape
    codes = None if given is None else _read_classes_of(given, values)
    if n_steps is None:
        per_step = CASES_PER_STRATUM if codes is None else CASES_PER_CELL * n_classes
        steps = n_cases / (per_step * n_classes)
        n_steps = int(np.clip(round(steps) if codes is None else steps, 1, MOST_STEPS))
    sure = values.max(axis=1)
    edges = np.unique(np.quantile(sure, np.arange(1, n_steps) / n_steps))
    edges = edges[edges > sure.min()]
    strata = cut_classes(values, edges)
    rng = np.random.default_rng(seed)
    if codes is not None:
        rows = _draw_by_cell(n_classes * strata + codes, n_cases, rng, OF_SEVERAL)
    else:
        rows = _draw_by_stratum(strata, n_cases, rng)
    return Cases(
        rows=rows,
        strata=strata[rows],
        edges=edges,
        n_rows=n_rows,
        seed=seed,
        scores_hash=hash_of(values),
        given_hash=None if codes is None else hash_of_labels(codes),
        n_classes=n_classes,
    )


def _read_classes_of(given: ArrayLike, values: FloatArray) -> Ints:
    """Return given labels as numbers of classes, one for each column of the scores."""
    n_rows, n_classes = values.shape
    labels = read_classes(given, "given")
    if len(labels.codes) != n_rows:
        raise InputError(f"given has {len(labels.codes):,} labels but scores has {n_rows:,} rows.")
    if len(labels.names) != n_classes:
        raise InputError(
            f"scores has {n_classes} columns but given has {len(labels.names)} classes: give a "
            "column for each, in sort order."
        )
    return labels.codes


def _draw_by_stratum(strata: Ints, n_cases: int, rng: np.random.Generator) -> Ints:
    """Return equally many rows of each stratum, at most half of it; small ones are left out."""
    sizes = np.bincount(strata)
    large = np.flatnonzero((sizes >= FEWEST_ROWS)[strata])
    room = int((sizes[sizes >= FEWEST_ROWS] // 2).sum())
    if room < n_cases:
        raise InputError(
            f"n_cases is {n_cases} but strata of {FEWEST_ROWS} rows and more have room for "
            f"{room}, half of their rows: ask for fewer cases or fewer strata."
        )
    return np.asarray(large[_draw_by_cell(strata[large], n_cases, rng, EQUALLY, part=2)])


def _refuse_few(n_cases: int, n_strata: int) -> None:
    """Refuse strata with fewer cases than a line needs answers."""
    least, of_chances = FEWEST_ANSWERS["looked-up"], FEWEST_ANSWERS["probability"]
    if n_cases < least * n_strata:
        raise InputError(
            f"n_cases is {n_cases} but a line through {n_strata} strata needs {least} looked-up "
            f"truths or {of_chances} stated probabilities in each: give n_cases of at least "
            f"{least * n_strata} or {of_chances * n_strata}, or fewer strata."
        )


def _fewest_rows(n_cases: int, n_strata: int) -> int:
    """Return the rows that every stratum needs: twice its cases, so that some are left to count."""
    return max(FEWEST_ROWS, 2 * -(-n_cases // n_strata))


def edges_of(scores: FloatArray, n_cases: int, wished: int | None = None) -> FloatArray:
    """Return where strata end: even steps of the score that hold enough rows, or quantiles."""
    usual = int(np.clip(round(n_cases / CASES_PER_STRATUM) + 1, *USUAL_STRATA))
    n_strata = usual if wished is None else wished
    steps = np.linspace(FIRST_STEP, LAST_STEP, n_strata - 1) if n_strata > 2 else np.array([0.5])
    kept = _joined(scores, steps, n_cases)
    if len(kept) + 1 < min(FEWEST_STEPS, n_strata):
        quantiles = np.unique(np.quantile(scores, np.arange(1, n_strata) / n_strata))
        kept = _joined(scores, quantiles[quantiles > scores.min()], n_cases)
    if not len(kept):
        distinct = len(np.unique(scores))
        raise InputError(
            f"the scores cannot be divided: they have {counted(distinct, 'distinct value')}, and "
            f"{n_cases} cases need two strata of "
            f"{_fewest_rows(n_cases, 2)} rows each. Ask for fewer cases; a score that is the same "
            "for every row knows nothing of the labels."
        )
    return kept


def _joined(scores: FloatArray, edges: FloatArray, n_cases: int) -> FloatArray:
    """Return edges without those that leave a stratum with too few rows, the smallest first.

    The fewer strata are left, the more cases each of them has, and the more rows it needs.
    """
    kept = list(edges)
    while kept:
        sizes = np.bincount(cut(scores, np.array(kept)), minlength=len(kept) + 1)
        smallest = int(sizes.argmin())
        if sizes[smallest] >= _fewest_rows(n_cases, len(sizes)):
            break
        # Ends join inwards; others the smaller of their neighbours.
        below = smallest == len(kept) or (
            smallest > 0 and sizes[smallest - 1] <= sizes[smallest + 1]
        )
        kept.pop(smallest - 1 if below else smallest)
    return np.array(kept)


def _read_given(given: ArrayLike, n_rows: int) -> NDArray[np.bool_]:
    labels = read_labels(given, name="given")
    if len(labels) != n_rows:
        raise InputError(f"given has {len(labels):,} labels but scores has {n_rows:,} rows.")
    return np.asarray(labels.block(slice(None)) == 1)


def _draw_by_cell(
    cells: Ints, n_cases: int, rng: np.random.Generator, power: float = OF_TWO, part: int = 1
) -> Ints:
    """Return rows drawn within cells, in an order whose beginnings are spread over all cells.

    Of each cell one row in `part` at most.
    """
    shuffled = rng.permutation(len(cells))
    shuffled = shuffled[np.argsort(cells[shuffled], kind="stable")]
    _, starts, sizes = np.unique(cells[shuffled], return_index=True, return_counts=True)
    shares = shares_of_cells(sizes // part, n_cases, power)
    turn = np.arange(len(cells)) - np.repeat(starts, sizes)
    drawn = shuffled[turn < np.repeat(shares, sizes)]
    return _spread(np.split(drawn, np.cumsum(shares)[:-1]), rng)


def _spread(drawn: list[Ints], rng: np.random.Generator) -> Ints:
    """Return rows of all cells in one random order, those of each spread evenly over it."""
    # A cell's first case falls into its first share of the order, and so on.
    place = [(np.arange(len(rows)) + rng.random(len(rows))) / len(rows) for rows in drawn]
    return np.asarray(np.concatenate(drawn)[np.argsort(np.concatenate(place))])


def shares_of_cells(sizes: Ints, n_cases: int, power: float = OF_TWO) -> Ints:
    """Return cases of each cell, near a power of its rows: at least two, or all that it has.

    Between equal numbers, which waste cases on small cells, and numbers in proportion, which
    leave small ones out.
    """
    shares = np.minimum(FEWEST_OF_A_CELL, sizes)
    if shares.sum() > n_cases:
        called = "strata" if power == EQUALLY else "cells of stratum and given label"
        raise InputError(
            f"n_cases is {n_cases} but {len(sizes)} {called} need "
            f"{shares.sum()}: ask for more cases or fewer strata."
        )
    for _ in range(n_cases - int(shares.sum())):
        wanting = np.where(shares < sizes, sizes**power / (shares + 0.5), 0.0)
        shares[int(wanting.argmax())] += 1
    return shares


def _draw(
    scores: FloatArray,
    strata: Ints,
    n_cases: int,
    rng: np.random.Generator,
    *,
    weights: FloatArray | None,
    groups: Ints | None,
) -> Ints:
    """Return rows drawn within strata, in an order whose beginnings are spread over them."""
    counts = np.ones(len(strata)) if weights is None else weights
    allowed = np.flatnonzero(counts > 0)
    if not len(allowed):
        raise InputError("sample_weight is 0 for every row: nothing can be drawn.")
    present, place = np.unique(strata[allowed], return_inverse=True)
    members = [allowed[place == one] for one in range(len(present))]
    n = np.array([counts[rows].sum() for rows in members])
    labelled = np.array([np.average(scores[rows], weights=counts[rows]) for rows in members])
    # Half of the rows, or of the groups; and no row so often that its weight would not do.
    alone = members if groups is None else [np.unique(groups[rows]) for rows in members]
    heaviest = np.array([counts[rows].max() for rows in members])
    room = np.minimum([len(one) // 2 for one in alone], (n / heaviest).astype(int))
    shares = shares_of_strata(n, labelled, room, n_cases, rng)
    if groups is not None:
        keys = rng.exponential(size=len(allowed)) / counts[allowed]
        order = allowed[np.argsort(keys, kind="stable")]
        wanted = dict(zip(present, shares, strict=True))
        drawn = _skipping_groups(order, strata, wanted, groups)
    else:
        drawn = [
            _sampled(rows, int(share), weights, rng)
            for rows, share in zip(members, shares, strict=True)
        ]
    return _spread([rng.permutation(rows) for rows in drawn], rng)


def shares_of_strata(
    n: FloatArray, labelled: FloatArray, room: Ints, n_cases: int, rng: np.random.Generator
) -> Ints:
    """Return the cases of each stratum: most of them alike, the others where they tell most.

    A case more in a stratum of `m` takes ``reach**2 * spread / m**2`` off the variance of the
    asymmetry, where a statement has the variance `spread` and the stratum counts by its `reach`.
    No stratum gets more others than it has room for.
    """
    equal = n_cases // len(n)
    shares = np.full(len(n), max(min(ENOUGH, equal), int(ALIKE * equal)))
    slope = 1 - 2 * FLIPPED
    true = np.clip((labelled - FLIPPED) / slope, FLIPPED / 2, 1 - FLIPPED / 2)
    dispersion = np.full(len(n), USUAL_DISPERSION)
    left = n_cases - int(shares.sum())
    while left and (shares < room).any():
        design = Strata(n, n * labelled, shares.astype(float), shares * true, dispersion, np.inf)
        reach, _ = leverages(design, slope, true, 0.0)
        gain = np.where(shares < room, reach**2 * true * (1 - true) / shares**2, -1.0)
        best = int(gain.argmax())
        step = min(max(1, n_cases // TURNS), left, int(room[best] - shares[best]))
        shares[best] += step
        left -= step
    shares += left // len(n)
    shares[rng.permutation(len(n))[: left % len(n)]] += 1
    return shares


def _skipping_groups(order: Ints, strata: Ints, wanted: dict[int, int], groups: Ints) -> list[Ints]:
    """Return rows of each stratum in the order of a draw that skips groups it has met."""
    met: set[int] = set()
    drawn: dict[int, list[int]] = {one: [] for one in wanted}
    missing = sum(wanted.values())
    for row in order:
        of_row = drawn[strata[row]]
        if groups[row] not in met and len(of_row) < wanted[strata[row]]:
            met.add(groups[row])
            of_row.append(int(row))
            missing -= 1
            if not missing:
                break
    for one, rows in drawn.items():
        _refuse_too_few(len(rows), wanted[one])
    return [np.array(rows, dtype=np.intp) for rows in drawn.values()]


def _refuse_too_few(found: int, share: int) -> None:
    if found < share:
        raise InputError(
            f"a stratum has {found} rows that may be judged but {share} are needed: ask for fewer "
            "cases or fewer strata."
        )


def _sampled(rows: Ints, share: int, weights: FloatArray | None, rng: np.random.Generator) -> Ints:
    """Return some of the rows: each alike, or in proportion to its weight (systematically)."""
    _refuse_too_few(len(rows), share)
    if weights is None:
        return rng.choice(rows, share, replace=False)
    shuffled = rng.permutation(rows)
    ends = np.cumsum(weights[shuffled]) * share / weights[shuffled].sum()
    if (np.diff(ends, prepend=0.0) > 1).any():
        heaviest = shuffled[weights[shuffled].argmax()]
        raise InputError(
            f"row {heaviest + 1:,} of {len(weights):,} has so much of the weight of its stratum "
            "that it would be drawn more than once: ask for fewer cases, or drop sample_weight."
        )
    return shuffled[np.searchsorted(ends, rng.random() + np.arange(share), side="right")]
