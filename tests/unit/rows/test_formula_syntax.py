"""What a formula may say. No hostile formula may run anything: each would write a file."""

import numpy as np
import pandas as pd
import pytest

import evenodds as eo
from evenodds.rows.formula_syntax import ELEMENTWISE, FormulaText, environment

WRITE = "open('{canary}', 'w').write('x')"
SYSTEM = "__import__('os').system('touch {canary}')"
HOSTILE = [
    f"I(x1*{SYSTEM})",
    f"{{{{{WRITE}}}}}",
    f"{{{{{SYSTEM}}}}} + x1",
    "x1 + {{x2.to_csv('{canary}')}}",
    "np.f2py.os.system('touch {canary}')",
    "I(np.f2py.os.system('touch {canary}'))",
    "np.save('{canary}', x1)",
    "I(np.savetxt('{canary}', x1))",
    "x2.to_csv('{canary}')",
    "I(x2.to_csv('{canary}'))",
    "`x2`.to_csv('{canary}')",
    "log(x2.to_csv('{canary}'))",
    f"C(x1, {WRITE})",
    f"C(x1, levels={WRITE})",
    f"poly(x1, {WRITE})",
    f"poly(x1, degree={WRITE})",
    f"bs(x1, df={WRITE})",
    f"bs(x1, knots=[{WRITE}])",
    f"scale(x1, **{{{{'ddof': {WRITE}}}}})",
    f"scale(x1, *[{WRITE}])",
    f"poly({WRITE}) ~ x1",
    f"{{{{{WRITE}}}}} ~ x1",
    f"label ~ x1 + I({WRITE})",
    f"I([{WRITE} for _ in x1])",
    f"I({{{{{WRITE} for _ in x1}}}})",
    f"I((lambda: {WRITE})())",
    f"I((y := {WRITE}))",
    f"I(x1 if {WRITE} else x2)",
    f"I(x1 and {WRITE})",
    f"I(not {WRITE})",
    f"I(f'{{{{{WRITE}}}}}' == x1)",
    f"I(x1[{WRITE}])",
    f"x1[{WRITE}]",
    f"I(({WRITE}, x1))",
    f"I(x1 in [{WRITE}])",
    f"exec({WRITE!r})",
    f"eval({WRITE!r})",
    f"I(eval({WRITE!r}))",
    f"compile({WRITE!r}, '', 'exec')",
    "getattr(x1, 'to_csv')('{canary}')",
    "I(().__class__.__base__.__subclasses__())",
    "x1.__class__",
    "__import__",
    "I(__FORMULAIC_CONTEXT__)",
    "I(`__FORMULAIC_STATE__`)",
    "I(__builtins__)",
    f"hashed(x1, {WRITE})",
    f"lag(x1, {WRITE})",
    f"contr.treatment({WRITE})",
    f"Q({WRITE})",
    f"Q('x1', _context={WRITE})",
    f"poly(x1, raw='\"] or {WRITE} or [\"')",
    f"Q('x1\"] or {WRITE} or [\"')",
    f"I(x1 == '\"] or {WRITE} or [\"')",
    f"center(x1, _state={WRITE})",
    f"center(x1, _spec={WRITE})",
    f"I(abs(x1)({WRITE}))",
    f"np.log.__call__({WRITE})",
    f"np.log.at({WRITE})",
    f"[x1 ~ {WRITE}]",
    f"I(await_({WRITE}))",
    f"I(print({WRITE}))",
    f"(x1 + x2)**({WRITE})",
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(200, 2)), columns=["x1", "x2"])
    frame["odd name"] = rng.integers(0, 3, 200)
    frame["site"] = np.where(rng.random(200) < 0.5, "Bonn", "Ulm")
    return frame.assign(label=np.where(rng.random(200) < 0.5, "ill", "well"))


def fitted(data, formula):
    return eo.fit_logistic(data, None if "~" in formula else "label", formula=formula)


@pytest.mark.parametrize("formula", HOSTILE)
def test_no_formula_runs_anything(data, tmp_path, formula):
    canary = tmp_path / "canary"
    with pytest.raises(eo.InputError):
        fitted(data, formula.format(canary=canary))
    assert not canary.exists()


@pytest.mark.parametrize("formula", HOSTILE[::10])
def test_a_hostile_formula_gets_a_sentence_and_exit_code_2(data, tmp_path, formula):
    from typer.testing import CliRunner

    from evenodds.cli.main import app

    canary = tmp_path / "canary"
    data.to_csv(tmp_path / "rows.csv", index=False)
    words = ["test", str(tmp_path / "rows.csv"), "--method", "joint", "--formula"]
    label = [] if "~" in formula else ["--label", "label"]
    found = CliRunner().invoke(app, [*words, formula.format(canary=canary), *label])
    assert (found.exit_code, found.output.count("\n"), canary.exists()) == (2, 1, False)


def test_no_name_but_those_allowed_is_in_reach():
    reach = environment()
    open_names = {name for name, value in reach.items() if value is not None}
    assert open_names == {*ELEMENTWISE, "np"}
    assert vars(reach["np"]).keys() == {*ELEMENTWISE}
    assert {"__import__", "open", "eval", "exec", "hashed", "contr"} <= reach.keys() - open_names


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (
            "x1 | x2",
            "the formula has '|' between its terms, which nothing is made of here: use + -",
        ),
        ("label ~ .", "the formula has '.' between its terms"),
        ("[x1]", "the formula has '[' between its terms"),
        ("'x1'", "the formula has the text 'x1' among its terms: put names of columns in backtick"),
        ("(x1 + x2)**50", "the formula has '50' after **: between terms it must be a whole number"),
        ("x1**0", "formula 'x1**0' cannot be parsed: "),
        ("x1^x2", "the formula has 'x2' after ^"),
        ("(x1 + x2)**10", "makes more than 1,000 terms: name those that matter."),
        ("*".join(f"a{i}" for i in range(30)), "makes more than 1,000 terms"),
        ("+".join(["x1"] * 1500), "makes more than 1,000 terms"),
        ("(" * 200 + "x1" + ")" * 200, "has 402 characters and brackets 200 deep"),
        ("log(" * 200 + "x1" + ")" * 200, "brackets 200 deep"),
        ("x1 + " * 5000 + "x2", "has 25,002 characters"),
        (f"I({'-' * 5000}x1)", "of the formula uses 'I(----"),
        ("I(x1 ** 1e9)", "has the power '1000000000.0': it must be at most 10."),
        ("I(9**9**9)", "of the formula has the power '9 ** 9': it must be at most 10."),
        ("I((9**9)**9)", "uses '9 ** 9', which is neither a column nor allowed"),
        ("I('x' * 1000000000)", "uses \"'x'\", which is neither a column nor allowed"),
        ("I(1 << 10)", "uses '1 << 10', which is neither a column nor allowed"),
        ("I(x1 @ x2)", "uses 'x1 @ x2'"),
        ("I(1j * x1)", "uses '1j'"),
        ("poly(x1, 10000)", "has degree=10000: it must be a whole number of at least 1 and at mos"),
        ("poly(x1, degree=2.5)", "has degree=2.5"),
        ("bs(x1, df=1000000)", "has df=1000000: it must be a whole number of at least 1 and at mo"),
        ("cr(x1, 100000)", "has df=100000"),
        ("bs(x1, knots=[" + "1," * 500 + "2])", "which is neither a column nor allowed"),
        ("poly()", "uses 'poly()'"),
        ("poly(x1, 2, 3, 4)", "uses 'poly(x1, 2, 3, 4)'"),
        ("log(x1, x2)", "uses 'log(x1, x2)'"),
        ("np.pi", "X has no column 'np.pi'"),
        ("I(np.pi)", "uses 'np.pi'"),
        ("I(np)", "X has no column 'np'"),
        ("I(x1 >)", "which is neither a column nor allowed: a formula may use columns, numbers, "),
        (
            "lgo(x1)",
            "uses 'lgo', which is neither a column nor allowed: a formula may use columns, numbers"
            ", arithmetic, comparison and the functions poly, bs, cr, cc, center, scale, C, I, log"
            ", log2, log10, log1p, exp, expm1, sqrt, abs, sin, cos (the last 10 also after np.).",
        ),
    ],
)
def test_what_a_formula_may_not_say(refused, data, formula, message):
    with refused(message):
        fitted(data, formula)


def test_crossed_categories_are_counted_before_they_are_made(refused, data):
    codes = {f"c{i}": np.arange(len(data)) % 150 for i in range(3)}
    with refused("makes up to 3,375,001 features but a fit takes at most 10,000: cross fewer"):
        fitted(data.assign(**codes), "C(c0):C(c1):C(c2)")


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("x1 * x2", ["x1", "x2", "x1:x2"]),
        ("(x1 + x2)**2", ["x1", "x2", "x1:x2"]),
        ("x1 + x2 - x1", ["x2"]),
        ("x1 %in% x2", ["x2", "x2:x1"]),
        ("{x1 + x2}", ["x1 + x2"]),
        ("I(x1 ** 2)", ["I(x1 ** 2)"]),
        ("I(2 ** x1)", ["I(2 ** x1)"]),
        ("I(x1 / 10**6)", ["I(x1 / 10 ** 6)"]),
        ("I((x1 > 0) & (x2 <= 1))", ["I((x1 > 0) & (x2 <= 1))"]),
        ("I(x1 * (site == 'Ulm'))", ["I(x1 * (site == 'Ulm'))"]),
        ("np.abs(x1)", ["np.abs(x1)"]),
        ("np.log1p(abs(x1))", ["np.log1p(abs(x1))"]),
        ("log10(exp(x1))", ["log10(exp(x1))"]),
        ("poly(x1, 2, raw=True)", ["poly(x1, 2, raw=True)[0]", "poly(x1, 2, raw=True)[1]"]),
        ("C(`odd name`)", ["C(`odd name`)[T.1]", "C(`odd name`)[T.2]"]),
        ("`odd name`", ["odd name"]),
    ],
)
def test_what_a_formula_may_say(data, formula, expected):
    assert fitted(data, formula).feature_names == tuple(expected)


@pytest.mark.parametrize(
    "formula", ["bs(x1, df=4)", "cr(x1, df=3)", "cc(x1, 3)", "scale(x1)", "center(x1)"]
)
def test_a_row_is_encoded_the_same_whatever_is_read_with_it(data, formula):
    from evenodds.rows.read import read_data

    rows = read_data(data, "label", formula=formula)
    (_, batch), *_ = rows.table.batches(rows.encoding.columns)
    whole = rows.encoding.features(batch)
    assert rows.encoding.features(batch[:7]) == pytest.approx(whole[:7], rel=1e-12)


def test_whole_numbers_do_not_wrap_around(data):
    frame = data.assign(count=np.arange(200) * 10**8)
    formula = fitted(frame, "I(count * count / 1e16)")
    by_hand = eo.fit_logistic(np.arange(200.0)[:, None] ** 2, data["label"])
    assert formula.coefficients == pytest.approx(by_hand.coefficients, rel=1e-9)


def test_a_long_sum_of_columns_is_welcome():
    assert len(list(FormulaText("+".join(f"x{i}" for i in range(900))).parsed())) == 901
