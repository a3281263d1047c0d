"""The issue type of Datalab: our test on its data, and no claim without answers."""

import contextlib
import io
import subprocess
import sys

import numpy as np
import pytest
from cleanlab import Datalab

import evenodds as eo
import evenodds.bridges.cleanlab

NAME = "class_conditional_noise"
WORDS = np.array(["ham", "spam"])
N_ROWS = 3000


def make(alpha, beta, seed=0):
    """Return features, the truth and given labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, 3))
    true = (X[:, 0] + 0.5 * rng.logistic(size=N_ROWS) > 0).astype(int)
    return X, true, eo.ClassConditionalNoise(alpha, beta).flip(true, rng)


@pytest.fixture(scope="module")
def leaning():
    X, true, given = make(0.05, 0.3)
    scores = eo.out_of_fold_scores(X, given)
    cases = eo.choose_cases(scores, n_cases=100, given=given)
    return X, true, given, scores, cases


def found(labels, **settings):
    """Return Datalab after a search, and what it printed."""
    lab = Datalab({"y": labels}, label_name="y")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        lab.find_issues(issue_types={NAME: settings})
    return lab, said.getvalue()


def report(lab):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        lab.report()
    return said.getvalue()


def both(scores):
    return np.column_stack([1 - scores, scores])


def test_looked_up_answers_are_an_audit_within_strata(leaning):
    _, true, given, scores, cases = leaning
    answers = WORDS[true[cases.rows]]
    lab, _ = found(
        WORDS[given], pred_probs=both(scores), cases=cases, answers=answers, kind="looked-up"
    )
    expected = eo.audit_test(answers, WORDS[given], strata=cases, scores=scores)
    assert lab.get_info(NAME)["result"]["pvalue"] == expected.pvalue
    assert lab.get_info(NAME)["asymmetry"] == expected.asymmetry
    assert float(lab.get_issue_summary(NAME)["score"].iloc[0]) == expected.pvalue


def test_stated_probabilities_are_a_line(leaning):
    X, _, given, scores, _ = leaning
    chance = 1 / (1 + np.exp(-2 * X[:, 0]))
    cases = eo.choose_cases(scores)
    stated = chance[cases.rows]
    lab, _ = found(
        WORDS[given], pred_probs=both(scores), cases=cases, answers=stated, kind="probability"
    )
    expected = eo.line_test(scores, WORDS[given], cases, stated, answers="probability")
    assert lab.get_info(NAME)["pvalue"] == expected.pvalue


def test_a_rejection_flags_rows_of_the_class_that_gains_the_worst_first(leaning):
    _, true, given, scores, cases = leaning
    lab, _ = found(
        given, pred_probs=both(scores), cases=cases, answers=true[cases.rows], kind="looked-up"
    )
    issues = lab.get_issues(NAME)
    flagged = issues[f"is_{NAME}_issue"].to_numpy()
    assert flagged.any()
    assert (given[flagged] == 1).all()  # truly negative rows are flipped more often
    assert np.mean(true[flagged] != given[flagged]) > 0.5
    worst = issues[f"{NAME}_score"].to_numpy()
    assert worst[flagged].max() < worst[~flagged].min()
    assert "rows that are truly 0 are flipped more often" in report(lab)
    assert "Good job" not in report(lab)


def test_a_rejection_flags_a_row_even_where_the_model_agrees_with_every_label(leaning):
    X, true, given, _, _ = leaning
    scores = 0.5 + 0.4 * eo.out_of_fold_scores(X, given)  # never below 1/2
    cases = eo.choose_cases(scores, n_cases=200, given=given)
    lab, _ = found(
        given, pred_probs=both(scores), cases=cases, answers=true[cases.rows], kind="looked-up"
    )
    assert lab.get_info(NAME)["pvalue"] < 0.05
    assert lab.get_issues(NAME)[f"is_{NAME}_issue"].sum() >= 1


def test_uniform_noise_flags_nothing():
    X, true, given = make(0.1, 0.1, seed=2)
    scores = eo.out_of_fold_scores(X, given)
    cases = eo.choose_cases(scores, n_cases=100, given=given)
    lab, _ = found(
        given, pred_probs=both(scores), cases=cases, answers=true[cases.rows], kind="looked-up"
    )
    assert lab.get_info(NAME)["pvalue"] > 0.05
    assert not lab.get_issues(NAME)[f"is_{NAME}_issue"].any()
    assert "Good job" in report(lab)


@pytest.mark.parametrize("kind", ["looked-up", "probability"])
def test_without_answers_rows_are_drawn_and_nothing_is_claimed(leaning, kind, tmp_path):
    X, true, given, _, _ = leaning
    path = tmp_path / "cases.json"
    lab, said = found(given, features=X, cases=path, kind=kind, n_cases=80)
    drawn = eo.Cases.read(path)
    assert len(drawn) == 80
    assert (drawn.given_hash is not None) == (kind == "looked-up")
    assert f"nothing was tested. 80 rows were drawn: {drawn.rows[0]}, {drawn.rows[1]}, " in said
    assert lab.issue_summary.empty
    assert "Good job" not in report(lab)
    _, again = found(given, features=X, cases=path, kind=kind)  # the draw stays
    assert f"80 rows were drawn: {drawn.rows[0]}, " in again
    if kind == "looked-up":
        lab, _ = found(given, features=X, cases=path, answers=true[drawn.rows], kind=kind)
        assert lab.get_info(NAME)["pvalue"] < 0.05


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": None}, "kind is missing: say 'looked-up'"),
        ({"kind": "guess"}, "kind is 'guess'"),
        ({"answers": None, "cases": None}, "nothing was tested: labels and predictions alone"),
        ({"cases": None}, "cases is missing: give the drawn rows"),
        ({"cases": "nowhere.json"}, "nowhere.json cannot be read as cases"),
        ({"pred_probs": None}, "pred_probs is missing: pass it, or features, inside issue_types"),
        ({"pred_probs": np.full((9, 3), 1 / 3)}, r"pred_probs has shape (9, 3) but must have"),
        ({"answers": [0.5] * 100}, "true has 0.5 but given has 0 and 1"),
        ({"answers": ["spam"] * 101}, "true has shape (101,) but there are 100 cases"),
        ({"significance": 2}, "significance is 2 but must be"),
    ],
)
def test_careless_settings_get_one_sentence(leaning, change, message):
    _, true, given, scores, cases = leaning
    usual = {"pred_probs": both(scores), "cases": cases, "kind": "looked-up"}
    lab, said = found(given, **{**usual, "answers": true[cases.rows], **change})
    assert message in said
    assert lab.issue_summary.empty


def test_answers_for_other_scores_are_refused(leaning):
    _, true, given, scores, cases = leaning
    _, said = found(
        given,
        pred_probs=both(scores[::-1]),
        cases=cases,
        answers=true[cases.rows],
        kind="looked-up",
    )
    assert "these are not the scores that the cases were drawn from" in said


def test_three_classes_are_refused(leaning):
    *_, scores, cases = leaning
    labels = np.arange(N_ROWS) % 3
    _, said = found(labels, pred_probs=both(scores), cases=cases, kind="looked-up")
    assert "the data has 3 classes" in said


def test_data_without_labels_are_refused(leaning):
    *_, scores, cases = leaning
    lab = Datalab({"x": np.arange(N_ROWS)})
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        settings = {"pred_probs": both(scores), "cases": cases, "kind": "looked-up"}
        lab.find_issues(issue_types={NAME: settings})
    assert "Datalab has no labels to test" in said.getvalue()


def test_without_the_extra_one_sentence_says_what_to_install():
    code = "import sys; sys.modules['cleanlab'] = None; import evenodds.bridges.cleanlab"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "install evenodds[cleanlab]" in run.stderr
