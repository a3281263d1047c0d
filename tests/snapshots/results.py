"""One result of every kind, drawn from seeds, and how it is written down."""

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

import evenodds as eo
from evenodds.simulation.worlds import two_bells

PAGES = Path(__file__).parent / "pages"
TOSS_UPS = [[1.0, -1.0], [0.5, -0.5], [-1.5, 1.5]]
LEANING = eo.ClassConditionalNoise(alpha=0.3, beta=0.05)
# A picture depends on the version of the library that drew it, its words do not.
NEXT_TO_NOTHING = 1e-8
NOT_WORDS = re.compile(r"<svg.*?</svg>|<style.*?</style>|<td>\d+\.\d+\.\d+[^<]*</td>", re.DOTALL)


def _draw(n: int, noise: Any, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X, true = two_bells().draw_rows(n, rng)
    return X, noise.flip(true, rng)


def _tested(noise: Any = LEANING, n: int = 2000, seed: int = 1, **settings: Any) -> Any:
    X, y = _draw(n, noise, seed)
    settings.setdefault("anchors", eo.Anchors(TOSS_UPS))
    return eo.asymmetry_test(X, np.where(y, "ill", "well"), **settings)


def _doubtful() -> Any:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 2))
    true = rng.random(1500) < expit(2 * X[:, 0] + 1.5 * X[:, 0] ** 2 - 2)
    given = eo.ClassConditionalNoise(alpha=0.2, beta=0.05).flip(true.astype(int), rng)
    return eo.asymmetry_test(X, given, eo.Anchors([[0.6, 9.0], [0.7, -0.5], [0.65, 1.5]]))


def _step() -> Any:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(32, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=32) > 0).astype(int)
    return eo.asymmetry_test(X, y, eo.Anchors([[0.0, 0.5, -0.5], [0.1, -0.5, 0.5]]))


def _audit(*counts: int, **settings: Any) -> Any:
    true = np.repeat(["ill", "ill", "well", "well"], counts)
    given = np.repeat(["ill", "well", "ill", "well"], counts)
    return eo.audit_test(true, given, positive="ill", **settings)


def _audit_in_strata():
    """Return an audit within three strata, in one of which labels are often wrong."""
    counts = {1: (30, 1, 8, 2), 2: (20, 4, 15, 3), 3: (12, 6, 25, 1)}  # audited, wrong, by label
    rows = {1: (900, 100), 2: (500, 300), 3: (100, 700)}
    true, given, strata = [], [], []
    for name, (negative, missed, positive, false) in counts.items():
        given += ["well"] * negative + ["ill"] * positive
        true += ["ill"] * missed + ["well"] * (negative - missed + false)
        true += ["ill"] * (positive - false)
        strata += [name] * (negative + positive)
    told = {name: {"well": well, "ill": ill} for name, (well, ill) in rows.items()}
    return eo.audit_test(
        true, given, strata=strata, given_counts=told, sampled_by="given", positive="ill"
    )


def _audit_by_chances() -> Any:
    """Return an audit of rows that were drawn the likelier the more they looked wrong."""
    rng = np.random.default_rng(12)
    true = rng.random(2000) < 0.4
    flipped = rng.random(2000) < np.where(true, 0.25, 0.05)
    chances = np.where(flipped, 0.3, 0.05) * rng.uniform(0.5, 1.0, 2000)
    words = np.array(["well", "ill"], dtype=object)
    truth = np.where(rng.random(2000) < chances, words[true.astype(int)], None)
    given = words[(true ^ flipped).astype(int)]
    return eo.audit_test(truth, given, inclusion=chances, positive="ill")


def _repeated_audit() -> Any:
    rng = np.random.default_rng(6)
    true = np.repeat(rng.integers(0, 2, 60), 3)
    hard = np.repeat(rng.random(60) < 0.3, 3)
    given = np.where(rng.random(180) < np.where(hard, 0.4, 0.05), 1 - true, true)
    return eo.audit_test(true, given, groups=np.repeat(np.arange(60), 3))


def _shares_by_group() -> Any:
    rng = np.random.default_rng(11)
    group = np.repeat(["north", "south"], [2000, 1000])
    true = rng.random(3000) < 0.3
    rates = np.where(true, np.where(group == "south", 0.4, 0.1), 0.05)
    given = np.where(true ^ (rng.random(3000) < rates), "ill", "well")
    rows = np.r_[rng.choice(2000, 200, False), 2000 + rng.choice(1000, 150, False)]
    audits = eo.annotator_audit(np.where(true, "ill", "well")[rows], given[rows], group[rows],
                                positive="ill")  # fmt: skip
    return eo.corrected_share(given, audits, groups=group)


def _annotators() -> Any:
    rng = np.random.default_rng(5)
    true, who = rng.integers(0, 2, 600), rng.integers(0, 6, 600)
    rates = np.where(who == 2, np.where(true == 1, 0.4, 0.05), 0.1)
    given = np.where(rng.random(600) < rates, 1 - true, true)
    return eo.annotator_audit(true, given, [f"rater {one}" for one in who])


def _contour(noise: Any, **settings: Any) -> Any:
    X, y = _draw(4000, noise, 2)
    states = np.repeat([0.1, 0.3, 0.5, 0.7, 0.9], 8)
    rng = np.random.default_rng(3)
    along = rng.uniform(-1, 1, 40)
    # Two bells at (1, 1) and (-1, -1) have log-odds 2 (x1 + x2).
    middle = np.log(states / (1 - states)) / 4
    points = np.column_stack([middle + along, middle - along])
    return eo.contour_test(X, y, eo.Anchors(points, posterior=states, **settings))


def _classes(n: int = 3000) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(7)
    centres = np.array([[0.0, 2.0], [-1.8, -1.0], [1.8, -1.0]])
    true = rng.integers(0, 3, n)
    X = centres[true] + rng.normal(size=(n, 2))
    lost = (true == 0) & (rng.random(n) < 0.25)
    return X, true, np.array(["cat", "dog", "fox"])[np.where(lost, 1, true)]


def _multiclass() -> Any:
    X, _, given = _classes()
    sides = {("cat", "dog"): (-0.9, 0.5), ("cat", "fox"): (0.9, 0.5), ("dog", "fox"): (0.0, -1.0)}
    along = {("cat", "dog"): (3.0, -1.8), ("cat", "fox"): (3.0, 1.8), ("dog", "fox"): (0.0, 1.0)}
    anchors = {
        pair: eo.Anchors([np.add(side, np.multiply(step, along[pair])) for step in (-0.2, 0, 0.2)])
        for pair, side in sides.items()
    }
    return eo.multiclass_test(X, given, anchors)


def _confusion() -> Any:
    _, true, given = _classes(900)
    return eo.confusion_test(np.array(["cat", "dog", "fox"])[true], given)


def _confusion_strata() -> Any:
    _, true, given = _classes(900)
    true = np.array(["cat", "dog", "fox"])[true]
    labels, counts = np.unique(given, return_counts=True)
    rows = np.concatenate([np.flatnonzero(given == label)[:50] for label in labels])
    told = {"all": {str(label): int(count) for label, count in zip(labels, counts, strict=True)}}
    return eo.confusion_test(true[rows], given[rows], strata=["all"] * 150, given_counts=told)


def _line(noise: Any, **settings: Any) -> Any:
    rng = np.random.default_rng(8)
    index = rng.normal(size=3000)
    eta = expit(2 * index)
    given = noise.flip((rng.random(3000) < eta).astype(int), rng)
    scores = expit(index + 0.5 * rng.normal(size=3000))
    cases = eo.choose_cases(scores)
    stated = np.clip(eta[cases.rows] + rng.normal(0, 0.07, len(cases)), 0, 1)
    return eo.line_test(scores, given, cases, stated, answers="probability", **settings)


def _line_plan() -> Any:
    rng = np.random.default_rng(9)
    scores = rng.beta(1, 2, size=5000)
    return eo.line_plan(scores, rng.random(5000) < scores, noise=LEANING, power=0.8)


def _class_line(lean: float) -> Any:
    rng = np.random.default_rng(10)
    chances = rng.dirichlet([0.3, 0.3, 0.3], size=3000)
    true = (rng.random(3000)[:, None] > chances.cumsum(axis=1)[:, :2]).sum(axis=1)
    given = np.where((true == 0) & (rng.random(3000) < lean), 1, true)
    scores = 0.1 + 0.7 * (chances if lean else rng.permutation(chances))
    cases = eo.choose_cases(scores, n_cases=120)
    labels = np.array(["cat", "dog", "fox"])[given]
    return eo.line_test(scores, labels, cases, chances[cases.rows], answers="probability")


MAKERS = {
    "boundary_rejects": _tested,
    "boundary_retains": lambda: _tested(eo.UniformNoise(0.1), 1500, 3),
    "boundary_strict": lambda: _tested(
        eo.UniformNoise(0.1), 20_000, 3, anchors=eo.Anchors(TOSS_UPS, tolerance=0)
    ),
    "boundary_one_sided": lambda: _tested(alternative="less"),
    "boundary_bootstrap": lambda: _tested(
        n=400, method=eo.Boundary(calibration="bootstrap", bootstrap=eo.Bootstrap(draws=99))
    ),
    "boundary_audited": lambda: _tested(
        audit=eo.Audit(
            np.repeat(["ill", "well"], 50), np.repeat(["ill", "well", "well"], [40, 10, 50])
        )
    ),
    "boundary_doubtful": _doubtful,
    "boundary_withheld": _step,
    "joint": lambda: _tested(method="joint"),
    "joint_without_anchors": lambda: _tested(anchors=None, method="joint"),
    "wald": lambda: _tested(method="wald"),
    "local": lambda: _tested(method="local"),
    "audit_random": lambda: _audit(300, 100, 20, 380),
    "audit_retains": lambda: _audit(90, 10, 12, 88),
    "audit_small": lambda: _audit(9, 1, 1, 9),
    "audit_by_given": lambda: _audit(
        45, 5, 5, 55, sampled_by="given", given_counts={"ill": 1000, "well": 9000}
    ),
    "audit_by_true": lambda: _audit(90, 30, 10, 110, sampled_by="true"),
    "audit_grouped": _repeated_audit,
    "audit_strata": _audit_in_strata,
    "audit_by_chances": _audit_by_chances,
    "audit_looked_at": lambda: _audit(70, 30, 20, 80, looks=(100, 200, 300)),
    "annotators": _annotators,
    "share_by_labels": lambda: eo.corrected_share(
        {"ill": 1200, "well": 2800}, _audit(60, 30, 10, 100)
    ),
    "share_by_rates": lambda: eo.corrected_share(
        {"ill": 1200, "well": 2800}, _audit(90, 30, 10, 110, sampled_by="true")
    ),
    "shares_by_group": _shares_by_group,
    "contour_leans": lambda: _contour(eo.ClassConditionalNoise(0.3, 0.1)),
    "contour_uniform": lambda: _contour(eo.UniformNoise(0.15), tolerance=0),
    "line_plan": _line_plan,
    "line_leans": lambda: _line(LEANING),
    "line_uniform": lambda: _line(eo.UniformNoise(0.15), shared_tolerance=0),
    "line_classes": lambda: _class_line(0.25),
    "line_classes_withheld": lambda: _class_line(0.0),
    "multiclass": _multiclass,
    "confusion": _confusion,
    "confusion_strata": _confusion_strata,
    "prior": lambda: eo.prior_test(300, 1000, 0.25, prior_standard_error=0.01),
    "prior_clean": lambda: eo.prior_test(300, 1000, 0.25, null="clean"),
    "audit_size": lambda: eo.audit_size(eo.ClassConditionalNoise(0.05, 0.15), prior=0.3),
}


def written(result: Any) -> str:
    """Return what a result says: as text, record and frame, and as a page without pictures."""
    with tempfile.TemporaryDirectory() as folder:
        page = result.report(Path(folder) / "page.html").read_text(encoding="utf-8")
    parts = {
        "text": str(result),
        "record": json.dumps(_rounded(result.to_dict()), indent=1),
        "frame": result.to_frame().to_csv(index=False, float_format="%.5g").strip(),
        "page": NOT_WORDS.sub("", page),
    }
    return "\n\n".join(f"=== {name} ===\n{text}" for name, text in parts.items()) + "\n"


def _rounded(value: Any, name: str = "") -> Any:
    """Return a record whose numbers have five digits, and whose versions say nothing.

    Next to nothing is nothing, but for p-values: z at the estimate is another number on every kind
    of processor.
    """
    if isinstance(value, float):
        told = "pvalue" in name or abs(value) > NEXT_TO_NOTHING
        return float(f"{value:.5g}") if told else 0.0
    if isinstance(value, dict):
        return {key: _rounded(one, key) for key, one in value.items() if "version" not in str(key)}
    return [_rounded(one, name) for one in value] if isinstance(value, (list, tuple)) else value
