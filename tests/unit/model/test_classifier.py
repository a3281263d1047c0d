import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import evenodds as eo
from evenodds.model.robust import fit_robust
from evenodds.rows.memory import read_rows

TRUE = np.array([-1.0, 2.0, -1.5])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(20_000, 2))
    true = (rng.random(20_000) < 1 / (1 + np.exp(-TRUE[0] - X @ TRUE[1:]))).astype(int)
    return X, true, eo.ClassConditionalNoise(0.3, 0.05).flip(true, rng)


@parametrize_with_checks(
    [eo.NoiseAwareLogisticRegression(alpha=0.1, beta=0.05), eo.NoiseAwareLogisticRegression()]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::evenodds.errors.ImprecisionWarning")
def test_scikit_learn_manners(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "rates", [{"alpha": 0.3, "beta": 0.05}, {"alpha": 0.3}, {"beta": 0.05}, {}], ids=str
)
def test_the_clean_curve_is_learnt_from_noisy_labels(data, rates):
    X, _, given = data
    model = eo.NoiseAwareLogisticRegression(**rates).fit(X, given)
    found = np.r_[model.intercept_, model.coef_[0]]
    assert np.abs(found - TRUE).max() < 0.25


def test_a_plain_curve_is_not(data):
    X, _, given = data
    model = LogisticRegression(C=np.inf).fit(X, given)
    assert np.abs(np.r_[model.intercept_, model.coef_[0]] - TRUE).max() > 0.7


def test_estimated_flip_rates(data):
    X, _, given = data
    model = eo.NoiseAwareLogisticRegression().fit(X, given)
    assert (model.alpha_, model.beta_) == pytest.approx((0.3, 0.05), abs=0.03)


def test_flip_probabilities_are_the_share_of_flipped_labels(data):
    X, true, given = data
    chances = eo.NoiseAwareLogisticRegression(0.3, 0.05).fit(X, given).flip_probability(X, given)
    suspicious = chances > 0.8
    assert (true != given)[suspicious].mean() == pytest.approx(chances[suspicious].mean(), abs=0.03)


def test_flips_are_ranked(data):
    X, true, given = data
    chances = eo.NoiseAwareLogisticRegression(0.3, 0.05).fit(X, given).flip_probability(X, given)
    worst = np.argsort(-chances)[:1000]
    assert (true != given)[worst].mean() > 4 * (true != given).mean()


def test_clean_rates_give_the_plain_fit(data):
    X, true, _ = data
    curve = fit_robust(read_rows(X, true), alpha=0.0, beta=0.0, ridge=1e-12)
    expected = eo.fit_logistic(X, true).coefficients
    assert curve.coefficients == pytest.approx(expected, abs=1e-5)


def test_separated_labels_warn_that_no_rates_can_be_estimated():
    X = np.linspace(-1, 1, 30)[:, None]
    with pytest.warns(eo.ImprecisionWarning, match="to estimate flip rates from the shape"):
        model = eo.NoiseAwareLogisticRegression().fit(X, (X[:, 0] > 0.01).astype(int))
    assert (model.alpha_, model.beta_) == (0, 0)


def test_rates_that_leave_nothing_are_refused(data):
    X, _, given = data
    with pytest.raises(eo.InputError, match=r"alpha \+ beta is 1 but must be below 1"):
        eo.NoiseAwareLogisticRegression(0.5, 0.5).fit(X, given)
