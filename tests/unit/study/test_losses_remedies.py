"""Where losses put a boundary: what noise cannot hurt, what it does, and what repairs it."""

from pathlib import Path

import numpy as np
import pytest

import evenodds as eo
from evenodds.model.losses import margin_losses
from evenodds.study.losses import (
    NOISES,
    REMEDIES,
    SHARES,
    Remedy,
    boundary_move,
    noisy_boundary,
    remedies_table,
)

PAGE = Path(__file__).parents[3] / "docs" / "robust.md"
RARE = SHARES["rare"]
UNIFORM, CLASS_CONDITIONAL = NOISES["uniform"], NOISES["class-conditional"]
SYMMETRIC = [
    Remedy("sigmoid", radius=5),
    Remedy("ramp", radius=5),
    Remedy("unhinged", radius=5),
    Remedy("zero-one"),
]


@pytest.fixture(scope="module")
def table():
    return remedies_table()


@pytest.mark.parametrize("share", SHARES.values(), ids=SHARES)
@pytest.mark.parametrize("remedy", SYMMETRIC, ids=str)
def test_uniform_noise_cannot_move_the_boundary_of_a_symmetric_loss(remedy, share):
    clean, noisy = (boundary_move(remedy, NOISES[name], share) for name in ("clean", "uniform"))
    assert noisy == pytest.approx(clean, abs=1e-4)


@pytest.mark.parametrize("name", ["logistic", "exponential", "squared hinge", "savage"])
def test_it_moves_that_of_other_losses_where_positives_are_rare(name):
    clean, noisy = (boundary_move(Remedy(name), NOISES[one], RARE) for one in ("clean", "uniform"))
    assert noisy - clean > 0.1


def test_it_makes_the_hinge_loss_call_everything_negative():
    assert boundary_move(Remedy("hinge", radius=20), UNIFORM, RARE) == np.inf


def test_the_squared_loss_is_spared_though_not_symmetric():
    clean, noisy = (boundary_move(Remedy("squared"), NOISES[n], RARE) for n in ("clean", "uniform"))
    assert margin_losses["squared"].symmetry_constant is None
    assert noisy == pytest.approx(clean, abs=1e-6)


@pytest.mark.parametrize("share", SHARES.values(), ids=SHARES)
def test_class_conditional_noise_moves_a_symmetric_loss_to_where_labels_are_even(share):
    expected = noisy_boundary(CLASS_CONDITIONAL, share) - noisy_boundary(NOISES["clean"], share)
    found = boundary_move(Remedy("zero-one"), CLASS_CONDITIONAL, share)
    assert found == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("share", SHARES.values(), ids=SHARES)
@pytest.mark.parametrize(
    "remedy",
    [
        Remedy("logistic", "backward"),
        Remedy("squared", "backward"),
        Remedy("squared hinge", "backward"),
        Remedy("savage", "backward"),
        Remedy("logistic", "forward"),
        Remedy("exponential", "forward"),
        Remedy("sigmoid", "costs", radius=5),
        Remedy("zero-one", "costs"),
    ],
    ids=str,
)
def test_a_corrected_loss_finds_the_boundary_of_clean_labels(remedy, share):
    clean = boundary_move(Remedy(remedy.loss, radius=remedy.radius), NOISES["clean"], share)
    corrected = boundary_move(remedy, CLASS_CONDITIONAL, share)
    assert corrected == pytest.approx(clean, abs=1e-4)


def test_forward_correction_needs_scores_that_can_follow_the_posterior():
    """A line cannot follow 2 eta - 1, so noise still decides where it fits worst."""
    clean = boundary_move(Remedy("squared hinge"), NOISES["clean"], RARE)
    corrected = boundary_move(Remedy("squared hinge", "forward"), CLASS_CONDITIONAL, RARE)
    assert corrected - clean > 0.3


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("share", SHARES.values(), ids=SHARES)
def test_a_balanced_zero_one_loss_is_least_where_the_posterior_is_the_prior(share, noise):
    """Whatever the noise, and without knowing it: theta'x = logit of the prior."""
    log_odds = np.log(share / (1 - share))
    expected = log_odds / (2 * np.sqrt(2))
    found = boundary_move(Remedy("zero-one", "balanced"), noise, share)
    assert found == pytest.approx(expected, abs=1e-4)


def test_noise_without_a_toss_up_calls_everything_negative():
    """No label is more likely positive than negative."""
    move = boundary_move(Remedy("zero-one"), eo.ClassConditionalNoise(0.55, 0.1))
    assert move == np.inf


def test_noise_the_other_way_calls_everything_positive():
    move = boundary_move(Remedy("zero-one"), eo.ClassConditionalNoise(0.1, 0.55))
    assert move == -np.inf


def test_the_table_has_every_remedy_world_and_noise(table):
    n_cells = len(REMEDIES) * len(SHARES) * len(NOISES)
    assert {len(column) for column in table.values()} == {n_cells}
    assert not np.isnan(table["move"]).any()


def test_the_table_holds_the_moves(table):
    place = next(
        place
        for place in range(len(table["move"]))
        if (table["loss"][place], table["remedy"][place]) == ("logistic", "none")
        and (table["world"][place], table["noise"][place]) == ("rare", "uniform")
    )
    assert table["move"][place] == boundary_move(Remedy("logistic"), UNIFORM, RARE)


def test_the_page_shows_the_table(table):
    text = PAGE.read_text(encoding="utf-8")
    header = "| loss | remedy | even: clean | uniform | 40/10 | rare: clean | uniform | 40/10 |"
    lines = text.split(header)[1].split("\n\n")[0].splitlines()[2:]
    shown = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines]
    moves = table["move"].reshape(len(REMEDIES), -1).tolist()
    expected = []
    for remedy, row in zip(REMEDIES, moves, strict=True):
        size = f", radius {remedy.radius:g}" if remedy.loss == "sigmoid" else ""
        expected.append([f"{remedy.loss}{size}", remedy.remedy, *map(as_printed, row)])
    assert shown == expected


def as_printed(move):
    """Write a distance as the page does: two digits, no zero before the point."""
    if np.isinf(move):
        return "none"
    text = f"{abs(move):.2f}".removeprefix("0")
    return "0" if text == ".00" else f"{'−' if move < 0 else ''}{text}"
