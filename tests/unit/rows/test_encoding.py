"""Text, formulas and probabilities as features, for the data and for its anchors."""

import pickle

import numpy as np
import pandas as pd
import pytest
from formulaic import model_matrix

import evenodds as eo
from evenodds.rows import formula as teaching
from evenodds.rows import open_table, table_rows

N_ROWS = 4000
FORMULA = "log1p(size) + poly(age, 2) + bs(dose, df=5) + C(site) + C(code)"


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(
        {
            "size": rng.exponential(2, N_ROWS),
            "age": rng.normal(50, 10, N_ROWS),
            "dose": 5 * rng.random(N_ROWS),
            "site": rng.choice(["east", "north", "south"], N_ROWS),
            "code": rng.integers(1, 4, N_ROWS),
            "odd name": rng.normal(size=N_ROWS),
        }
    )
    log_odds = frame["size"] - 2 + (frame["site"] == "north") - frame["odd name"]
    frame["y"] = np.where(rng.random(N_ROWS) < 1 / (1 + np.exp(-log_odds)), "ill", "well")
    return frame


@pytest.fixture(scope="module")
def files(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoded")
    data.to_csv(folder / "rows.csv", index=False)
    data.to_parquet(folder / "rows.parquet", row_group_size=900)
    return folder


@pytest.fixture(scope="module")
def cases(data):
    """Return two rows of the data as anchors, columns in another order."""
    return data.drop(columns="y")[:2][["code", "site", "dose", "odd name", "age", "size"]]


def coefficients(*arguments, **settings):
    return eo.fit_logistic(*arguments, **settings).coefficients


def test_text_becomes_a_column_a_level_but_the_first(data):
    by_hand = np.column_stack(
        [data["age"], data["site"] == "north", data["site"] == "south"]
    ).astype(float)
    found = eo.fit_logistic(data[["age", "site"]], data["y"])
    assert found.feature_names == ("age", "site[north]", "site[south]")
    assert found.coefficients == pytest.approx(coefficients(by_hand, data["y"]), rel=1e-10)


def test_text_as_features_is_said(data):
    (notice,) = eo.fit_logistic(data[["age", "site"]], data["y"]).notices
    assert notice == (
        "Column 'site' holds text: 2 0/1 columns for its levels beside the reference 'east'."
    )


def test_categories_of_a_frame_are_text_too(data):
    frame = data[["age", "site"]].astype({"site": "category"})
    expected = coefficients(data[["age", "site"]], data["y"])
    assert coefficients(frame, data["y"]) == pytest.approx(expected, rel=1e-12)


def test_a_formula_gives_the_columns_of_formulaic(data):
    design = model_matrix(FORMULA, data, context={"log1p": np.log1p})
    expected = coefficients(np.asarray(design)[:, 1:], data["y"])
    assert coefficients(data, "y", formula=FORMULA) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
@pytest.mark.parametrize("taught", [500, 50_000])
def test_a_streamed_formula_gives_what_memory_gives(data, files, monkeypatch, name, taught):
    monkeypatch.setattr(teaching, "TEACHING_ROWS", taught)
    expected = coefficients(data, "y", formula=FORMULA)
    monkeypatch.setattr(table_rows, "HELD_BYTES", 0)
    monkeypatch.setattr(open_table, "HELD_BYTES", 0)
    found = coefficients(files / name, "y", formula=FORMULA)
    assert found == pytest.approx(expected, rel=1e-10)


def test_a_polynomial_of_few_teaching_rows_spans_the_same_curves(data, cases, monkeypatch):
    anchors = eo.Anchors(cases)
    settings = {"formula": "y ~ poly(age, 3) + scale(size)", "method": "wald"}
    expected = eo.asymmetry_test(data, None, anchors, **settings).statistic
    monkeypatch.setattr(teaching, "TEACHING_ROWS", 300)
    found = eo.asymmetry_test(data, None, anchors, **settings).statistic
    assert found == pytest.approx(expected, rel=1e-8)


def test_learning_from_some_rows_is_said(data, monkeypatch):
    from evenodds.rows import formula

    for module in (teaching, formula):
        monkeypatch.setattr(module, "TEACHING_ROWS", 300)
    (notice,) = eo.fit_logistic(data, "y", formula="bs(dose, df=4)").notices
    assert notice.startswith("Knots and centres of the formula were learnt from 30")


def test_anchors_are_encoded_as_the_data_is(data, cases):
    design = np.asarray(model_matrix(FORMULA, data, context={"log1p": np.log1p}))[:, 1:]
    by_hand = eo.asymmetry_test(design, data["y"], eo.Anchors(design[:2]), method="wald")
    found = eo.asymmetry_test(data, "y", eo.Anchors(cases), formula=FORMULA, method="wald")
    assert found.statistic == pytest.approx(by_hand.statistic, rel=1e-10)


def test_anchors_from_a_file_state_what_its_columns_say(data, cases, tmp_path):
    cases.assign(posterior=0.5, tolerance=[0.1, 0.2]).to_csv(tmp_path / "a.csv", index=False)
    anchors = eo.Anchors(tmp_path / "a.csv")
    assert (anchors.tolerance.tolist(), len(anchors.feature_names)) == ([0.1, 0.2], 6)


def test_anchors_taken_from_rows_of_text(data):
    features = data.drop(columns="y")
    found = eo.Anchors.from_rows(features, [0, 1])
    expected = eo.asymmetry_test(data, "y", eo.Anchors(features[:2]), method="wald")
    result = eo.asymmetry_test(data, "y", found, method="wald")
    assert result.statistic == pytest.approx(expected.statistic, rel=1e-12)


def test_an_encoding_can_be_sent_elsewhere(files):
    from evenodds.rows.read import read_data

    rows = read_data(files / "rows.parquet", "y", formula=FORMULA)
    encoding = pickle.loads(pickle.dumps(rows.reader.encoding))
    (_, batch), *_ = rows.table.batches(encoding.columns)
    assert (encoding.features(batch) == rows.reader.encoding.features(batch)).all()


def test_odd_names_are_quoted_in_a_formula(data):
    expected = coefficients(data[["odd name"]].to_numpy() ** 3, data["y"])
    for formula in ("I(`odd name` ** 3)", "I(Q('odd name') ** 3)"):
        assert coefficients(data, "y", formula=formula) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("age + lgo(size)", "term lgo(size) of the formula uses 'lgo', which is neither a column"),
        ("age +", "formula 'age +' cannot be parsed: "),
        ("ages + size", "X has no column 'ages'; did you mean 'age'?"),
        ("age - 1", "takes the intercept out, but the curve always has one: remove '- 1'"),
        ("1", "formula '1' uses no column of X."),
        ("  ", "formula is '  ' but must be text such as 'age + C(site)'."),
        ("I(age - age.mean())", "uses 'age.mean', which is neither a column nor allowed: a form"),
        ("log(agee)", "X has no column 'agee'; did you mean 'age'?"),
        ("log(y) ~ age", "has 'log(y)' on its left: put the name of the label column there"),
        (
            "y ~ y + age",
            "formula 'y ~ y + age' has the label 'y' among its features: a label would",
        ),
        ("C(y) + age", "formula 'C(y) + age' has the label 'y' among its features: a label would"),
        ("C(dose)", "column 'dose' of X holds more than 200 different numbers: too many for one"),
        ("poly(site, 2)", "term poly(site, 2) of the formula cannot be evaluated: could not"),
        ("log(age - 1000)", "X has 4000 missing values, the first in row 0, column 'log(age - 10"),
    ],
)
def test_a_formula_that_cannot_be_used_is_refused(refused, data, formula, message):
    with refused(message):
        eo.fit_logistic(data, "y" if "~" not in formula else None, formula=formula)


@pytest.mark.parametrize("formula", ["age + y", "y ~ age + y", "age:log1p(y)"])
def test_labels_given_apart_are_no_features_of_a_formula(refused, data, formula):
    with refused(f"formula {formula!r} has the label 'y' among its features"):
        eo.fit_logistic(data, data["y"], formula=formula)


def test_a_label_of_three_classes_is_no_feature_of_a_formula(refused, data):
    several = data.assign(kind=[f"kind {row % 3}" for row in range(len(data))])
    with refused("formula 'age + kind' has the label 'kind' among its features"):
        eo.multiclass_test(several, "kind", {}, formula="age + kind")


@pytest.mark.parametrize(
    ("changes", "settings", "message"),
    [
        (
            {"site": ["east", "nroth"]},
            {},
            "column 'site' of anchors holds 'nroth', which the data h",
        ),
        ({"code": [1, 9]}, {"formula": "C(code)"}, "anchors has a level that the data has not: 9"),
        ({"dose": [1, 99]}, {"formula": "bs(dose, df=4)"}, "anchors has values outside the range"),
        (
            {"site": ["east", None]},
            {},
            "anchors has 1 missing value in column 'site', the first",
        ),
        (
            {"size": [0, 1]},
            {"formula": "log(size)"},
            "log(size) is -inf at anchor 1: an anchor need",
        ),
        ({"more": 1.0}, {}, "anchors has a column 'more' that X has not; "),
        ({"more": 1.0}, {"formula": "age"}, "anchors has a column 'more' that X has not; "),
    ],
)
def test_anchors_unlike_the_data_are_refused(refused, data, cases, changes, settings, message):
    with refused(message, eo.AnchorError):
        eo.asymmetry_test(data, "y", eo.Anchors(cases.assign(**changes)), **settings)


def test_anchors_that_lack_a_column_are_refused(refused, data, cases):
    with refused("anchors has no column 'dose', which X has; ", eo.AnchorError):
        eo.asymmetry_test(data, "y", eo.Anchors(cases.drop(columns="dose")), formula="dose")


def test_anchors_without_names_cannot_be_encoded(refused, data):
    with refused("anchors has no column names, but features are made from the columns 'age' and"):
        eo.asymmetry_test(data, "y", eo.Anchors([[1.0, 2.0]]), formula="age + site")


def test_anchors_of_text_need_data_of_text(refused, data, cases):
    with refused("anchors has text in 'site' but X has numbers only", eo.AnchorError):
        eo.asymmetry_test(data[["age"]].to_numpy(), data["y"], eo.Anchors(cases))


def test_no_anchors_of_text_are_refused(refused, cases):
    with refused("anchors is empty: give at least one point.", eo.AnchorError):
        eo.Anchors(cases[:0])


def test_columns_the_formula_does_not_use_may_be_with_the_anchors(data, cases, files):
    for source in (data, files / "rows.csv"):
        test = eo.asymmetry_test(source, "y", eo.Anchors(cases), formula="age + dose")
        assert test.n_features == 2


def test_probabilities_enter_as_log_odds(data):
    chances = 1 / (1 + np.exp(-data["odd name"]))
    expected = coefficients(data[["odd name"]].to_numpy(), data["y"])
    found = coefficients(data.assign(score=chances), "y", probabilities="score")
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1.0, "column 'score' is exactly 1 in row 7, whose log-odds are infinite: use a model"),
        (0.0, "column 'score' is exactly 0 in row 7, whose log-odds are infinite"),
        (1.2, "column 'score' is 1.2 in row 7 but must be above 0 and below 1: it is a predicted"),
    ],
)
def test_probabilities_without_finite_log_odds_are_refused(refused, data, value, message):
    scores = np.full(N_ROWS, 0.3)
    scores[7] = value
    with refused(message):
        eo.fit_logistic(data.assign(score=scores), "y", probabilities="score")


def test_probabilities_are_numbers(refused, data):
    with refused("column 'site' of X holds"):
        eo.fit_logistic(data, "y", probabilities="site")


@pytest.mark.parametrize("method", ["boundary", "joint", "local", "wald"])
def test_a_score_takes_no_anchors(refused, data, method):
    frame = data.assign(score=1 / (1 + np.exp(-data["odd name"])))
    anchors = eo.Anchors(pd.DataFrame({"score": [0.5, 0.6]}))
    with refused("probabilities= cannot be used with anchors: a score is drawn towards the base"):
        eo.asymmetry_test(frame, "y", anchors, probabilities="score", method=method)


def test_a_score_may_be_read_by_its_shape_alone(data):
    log_odds = data["odd name"]
    frame = data.assign(score=1 / (1 + np.exp(-log_odds)))
    found = eo.asymmetry_test(frame, "y", probabilities="score", method="joint")
    expected = eo.asymmetry_test(log_odds.to_numpy()[:, None], data["y"], method="joint")
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-6, abs=1e-9)
