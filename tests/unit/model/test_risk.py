import numpy as np
import pytest

import evenodds as eo
from evenodds.errors import ConvergenceError, RankError
from evenodds.model.losses import MarginLoss
from evenodds.model.robust import fit_robust
from evenodds.rows.memory import read_rows

NOISE = eo.ClassConditionalNoise(0.3, 0.1)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(3000, 3)) * [1.0, 5.0, 0.2] + [0.0, 1.0, -0.1]
    true = (rng.random(3000) < 1 / (1 + np.exp(1 - X @ [1.0, 0.3, -4.0]))).astype(int)
    return X, true, NOISE.flip(true, rng)


def signs_and_design(X, y):
    return 2 * y - 1, np.column_stack([np.ones(len(X)), X])


def test_the_logistic_loss_gives_the_logistic_fit(data):
    X, true, _ = data
    found = eo.minimise_risk(X, true, "logistic")
    fit = eo.fit_logistic(X, true)
    assert found.coefficients == pytest.approx(fit.coefficients, rel=1e-4)
    assert found.risk == pytest.approx(-fit.log_likelihood / len(X), rel=1e-9)


def test_the_squared_loss_gives_least_squares(data):
    X, true, _ = data
    signs, design = signs_and_design(X, true)
    expected = np.linalg.lstsq(design, signs)[0]
    found = eo.minimise_risk(X, true, "squared")
    assert found.coefficients == pytest.approx(expected, rel=1e-6)
    scores = found.scores(X)
    assert found.root_mean_square == pytest.approx(np.sqrt(np.mean(scores**2)))


def test_the_forward_logistic_loss_gives_the_noise_aware_curve(data):
    X, _, given = data
    loss = eo.corrected_loss("logistic", NOISE, correction="forward")
    curve = fit_robust(read_rows(X, given), alpha=0.3, beta=0.1, ridge=1e-12)
    found = eo.minimise_risk(X, given, loss)
    assert found.coefficients == pytest.approx(curve.coefficients, rel=1e-4)
    assert found.risk == pytest.approx(-curve.log_likelihood / len(X), rel=1e-9)


def test_the_backward_logistic_loss_solves_its_equation(data):
    """Mean of (s(f) - unbiased label) x is 0."""
    X, _, given = data
    found = eo.minimise_risk(X, given, eo.corrected_loss("logistic", NOISE))
    _, design = signs_and_design(X, given)
    residuals = 1 / (1 + np.exp(-found.scores(X))) - (given - 0.1) / 0.6
    assert residuals @ design / len(X) == pytest.approx(np.zeros(4), abs=1e-5)


def test_the_unhinged_loss_points_along_least_squares(data):
    X, true, _ = data
    signs, design = signs_and_design(X, true)
    least_squares = np.linalg.lstsq(design, signs)[0]
    found = eo.minimise_risk(X, true, "unhinged", radius=2.5)
    ratios = found.coefficients / least_squares
    assert ratios == pytest.approx(np.full(4, ratios[0]), rel=1e-4)
    assert found.root_mean_square == pytest.approx(2.5)


def test_a_radius_that_is_not_reached_changes_nothing(data):
    X, true, _ = data
    free, bounded = (eo.minimise_risk(X, true, "squared", radius=r) for r in (None, 100))
    assert bounded.coefficients == pytest.approx(free.coefficients, rel=1e-4)


@pytest.mark.parametrize(("loss", "radius"), [("hinge", None), ("sigmoid", 3.0), ("savage", None)])
def test_units_and_origin_of_the_features_do_not_matter(data, loss, radius):
    X, true, _ = data
    moved = X * [10.0, 0.5, 3.0] + [2000.0, 0.0, -7.0]
    one = eo.minimise_risk(X, true, loss, radius=radius)
    other = eo.minimise_risk(moved, true, loss, radius=radius)
    assert other.scores(moved) == pytest.approx(one.scores(X), abs=2e-2)
    assert other.risk == pytest.approx(one.risk, rel=1e-5)


def test_a_weight_is_a_number_of_rows(data):
    X, true, _ = data
    weights = np.arange(len(X)) % 3
    weighted = eo.minimise_risk(X, true, "logistic", sample_weight=weights)
    repeated = eo.minimise_risk(np.repeat(X, weights, 0), np.repeat(true, weights), "logistic")
    assert weighted.coefficients == pytest.approx(repeated.coefficients, rel=1e-6)


def test_labels_keep_their_names(data):
    X, true, _ = data
    found = eo.minimise_risk(X, np.where(true, "ill", "well"), "squared", positive="ill")
    assert (found.positive, found.negative, found.n_rows) == ("ill", "well", 3000)
    assert found.loss == "squared"


def test_rows_may_be_in_a_file(data, tmp_path):
    X, true, _ = data
    path = tmp_path / "rows.csv"
    np.savetxt(path, np.column_stack([X, true]), delimiter=",", header="a,b,c,y", comments="")
    expected = eo.minimise_risk(X, true, "logistic").coefficients
    assert eo.minimise_risk(path, "y", "logistic").coefficients == pytest.approx(expected)


def test_a_flat_loss_has_no_slope_to_follow(data, refused):
    X, true, _ = data
    with refused("loss 'zero-one' is flat, so there is no slope to follow: use 'sigmoid' or"):
        eo.minimise_risk(X, true, "zero-one")


@pytest.mark.parametrize("loss", ["unhinged", "sigmoid"])
def test_a_risk_without_a_minimum_asks_for_a_radius(data, refused, loss):
    X, true, _ = data
    message = f"the risk of loss {loss!r} still falls where scores are 200 on average"
    with refused(message, ConvergenceError):
        eo.minimise_risk(X, true, loss)


def test_a_corrected_risk_that_dives_asks_for_a_radius(refused):
    """Separated rows: the mirrored loss, subtracted, grows faster than the loss."""
    X = np.linspace(-1, 1, 40)[:, None]
    loss = eo.corrected_loss("exponential", NOISE)
    with refused(
        "give radius, the largest root-mean-square score, such as radius=5.", ConvergenceError
    ):
        eo.minimise_risk(X, (X[:, 0] > 0).astype(int), loss)


@pytest.mark.parametrize("radius", [None, 3.0])
def test_a_search_that_runs_out_of_steps_says_so(data, monkeypatch, radius):
    X, true, _ = data
    monkeypatch.setattr("evenodds.model.risk.PATIENCE", 2)
    with pytest.warns(eo.ImprecisionWarning, match="'savage' was still falling after 2 steps"):
        eo.minimise_risk(X, true, "savage", radius=radius)


@pytest.mark.parametrize("radius", [0, -1.0])
def test_a_radius_is_a_size(data, refused, radius):
    X, true, _ = data
    with refused(f"radius is {radius:g} but must be above 0: it is the size of a score."):
        eo.minimise_risk(X, true, "unhinged", radius=radius)


def test_a_repeated_column_is_refused(data, refused):
    X, true, _ = data
    with refused("repeat each other", RankError):
        eo.minimise_risk(np.column_stack([X, X[:, 0]]), true, "squared")


def test_a_loss_of_ones_own(data):
    """The logistic loss under another name."""
    X, true, _ = data
    own = MarginLoss(
        name="mine", psi=lambda m: np.log1p(np.exp(-m)), psi_slope=lambda m: -1 / (1 + np.exp(m))
    )
    expected = eo.minimise_risk(X, true, "logistic").coefficients
    assert eo.minimise_risk(X, true, own).coefficients == pytest.approx(expected, rel=1e-4)


BALANCED = np.array([[-1.0], [-1.0], [1.0], [1.0]] * 10), np.array([0, 1, 0, 1] * 10)


@pytest.mark.parametrize("radius", [None, 5.0])
@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge", "sigmoid", "savage"])
def test_a_start_that_is_the_minimum_is_returned(loss, radius):
    """Labels that the feature says nothing about: no score is best."""
    found = eo.minimise_risk(*BALANCED, loss, radius=radius)
    at_zero = eo.minimise_risk(*BALANCED, loss, radius=1e-6).risk
    assert found.risk == pytest.approx(at_zero, rel=1e-6)


def test_a_convex_loss_of_balanced_labels_scores_zero():
    assert eo.minimise_risk(*BALANCED, "logistic").coefficients == pytest.approx([0, 0], abs=1e-9)


def test_a_loss_that_is_no_number_says_so(data, refused):
    X, true, _ = data
    slopeless = MarginLoss(name="mine", psi=np.exp, psi_slope=lambda m: m * np.nan)
    with refused("the slope of loss 'mine' is nan at a score of -2.99: it must be a number"):
        eo.minimise_risk(X, true, slopeless)
    worthless = MarginLoss(name="mine", psi=lambda m: m * np.nan, psi_slope=np.exp)
    with refused("the value of loss 'mine' is nan at a score of -2.99: it must be a number"):
        eo.minimise_risk(X, true, worthless)


def test_a_loss_that_overflows_at_the_start_says_so(refused):
    own = MarginLoss(
        name="steep", psi=lambda m: np.exp(-1e4 * m), psi_slope=lambda m: -1e4 * np.exp(-1e4 * m)
    )
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1))
    with refused("the risk of loss 'steep' overflows already at the scores of least squares"):
        eo.minimise_risk(X, (X[:, 0] + rng.normal(size=200) > 0).astype(int), own)


@pytest.mark.parametrize("radius", [1e300, 1e-200])
def test_a_radius_beyond_any_score_is_refused(data, refused, radius):
    X, true, _ = data
    with refused(f"radius is {radius:g} but must lie between 1e-06 and 1e+06"):
        eo.minimise_risk(X, true, "unhinged", radius=radius)


@pytest.mark.parametrize("shape", [(5, 2), (3,)])
def test_points_have_the_columns_of_the_data(data, refused, shape):
    X, true, _ = data
    found = eo.minimise_risk(X, true, "squared")
    with refused(f"points has shape {shape} but the score was fitted to 3 features: give an"):
        found.scores(np.zeros(shape))
