"""Cases to ask about: spread evenly, not alike, the same for a seed."""

from itertools import pairwise

import numpy as np
import pytest

from evenodds.elicit.plan import BAND, PARTS, choose_candidates, fitted_posterior
from evenodds.rows.memory import read_rows
from evenodds.simulation.worlds import two_bells


@pytest.fixture(scope="module")
def rows():
    X, y = two_bells(0.15).draw_rows(3000, np.random.default_rng(1))
    return X, fitted_posterior(read_rows(X, y), X)


def test_every_round_over_the_band_takes_one_case_of_each_part(rows):
    X, posterior = rows
    chosen = choose_candidates(X, posterior, n_cases=60)[0]
    parts = np.floor((posterior[chosen] - BAND[0]) / (BAND[1] - BAND[0]) * PARTS)
    assert [len(set(parts[start : start + PARTS])) for start in range(0, 60, PARTS)] == [PARTS] * 5


def test_the_same_seed_gives_the_same_cases(rows):
    first, again = (choose_candidates(*rows, seed=3)[0] for _ in range(2))
    assert (first == again).all()


def test_another_seed_gives_other_cases(rows):
    first, other = (choose_candidates(*rows, seed=seed)[0] for seed in (3, 4))
    assert set(first.tolist()) != set(other.tolist())


def test_the_mean_case_is_known_better_than_that_of_random_cases(rows):
    """The mean's distance from the middle of the band, over draws of as many cases at random."""
    X, posterior = rows
    chosen = choose_candidates(X, posterior, n_cases=24)[0]
    rng = np.random.default_rng(2)
    edges = np.linspace(*BAND, PARTS + 1)
    parts = [np.flatnonzero((posterior >= a) & (posterior < b)) for a, b in pairwise(edges)]
    middle = np.mean([X[part].mean(axis=0) for part in parts], axis=0)
    at_random = [
        np.linalg.norm(X[[rng.choice(part) for part in parts for _ in "ab"]].mean(axis=0) - middle)
        for _ in range(200)
    ]
    assert np.linalg.norm(X[chosen].mean(axis=0) - middle) < np.quantile(at_random, 0.25)


def test_copies_of_a_case_are_asked_once(rows):
    X, posterior = rows
    thrice = np.repeat(np.arange(len(X)), 3)
    chosen = choose_candidates(X[thrice], posterior[thrice], n_cases=60)[0]
    assert len(np.unique(X[thrice][chosen], axis=0)) == 60


def test_fewer_cases_come_where_there_are_only_a_few_kinds():
    kinds = np.linspace(0.15, 0.85, 9)
    X, posterior = np.tile(kinds, 50)[:, None], np.tile(kinds, 50)
    assert len(choose_candidates(X, posterior, n_cases=60)[0]) == 9


def test_breadth_counts_the_parts_that_have_rows():
    posterior = np.linspace(0.5, 0.9, 200, endpoint=False)
    _, breadth = choose_candidates(posterior[:, None], posterior, n_cases=12)
    assert breadth == pytest.approx(0.4)


def test_columns_that_tell_the_classes_apart_leave_nothing_to_ask(refused):
    posterior = np.repeat([0.001, 0.999], 100)
    with refused("of 200 rows only 0 have a fitted posterior between 0.1 and 0.9"):
        choose_candidates(posterior[:, None], posterior)


def test_rows_that_are_all_alike_leave_too_little_to_ask(refused):
    kinds = np.linspace(0.3, 0.7, 6)
    with refused("only 6 of 600 rows differ enough to be asked about, and a session needs 8"):
        choose_candidates(np.repeat(kinds, 100)[:, None], np.repeat(kinds, 100))


def test_too_few_cases_are_refused(rows, refused):
    with refused("--cases is 3 but must be a whole number of at least 8."):
        choose_candidates(*rows, n_cases=3)
