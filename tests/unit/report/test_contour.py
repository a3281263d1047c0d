"""What is said of a contour test: never more than it has shown."""

from dataclasses import replace

import pytest

from evenodds.inference.contour.result import (
    Agreement,
    Contour,
    ContourTestResult,
    Rung,
    Wider,
)
from evenodds.report.contour import headline, verdict
from evenodds.report.sheet import View, sheet_of

NAMES = ("clean", "uniform", "class-conditional")
SIZES = {"uniform": 0.1, "asymmetry": 0.2, "hard cases": 0.2, "sure cases": 0.2}


def _wider(**pvalues):
    """Return what is asked beyond each rung; ruled out where no p-value is given."""
    return tuple(
        Wider(
            rung=rung,
            noise=noise,
            size=size,
            standard_error=0.05,
            pvalue=pvalues.get(noise.split()[0], 0.001),
        )
        for place, rung in enumerate(NAMES)
        for noise, size in list(SIZES.items())[place:]
    )


def _result(*pvalues, line=None, agreement=None, **wider):
    """Return a result with these p-values; `line` is that of the contours alone."""
    alone = [*pvalues[:2], pvalues[2] if line is None else line]
    return ContourTestResult(
        rungs=tuple(
            Rung(hypothesis=name, statistic=5.0, df=3, contour_pvalue=own, pvalue=pvalue)
            for name, own, pvalue in zip(NAMES, alone, pvalues, strict=True)
        ),
        wider=_wider(**wider),
        agreement=None if agreement is None else Agreement(statistic=9.0, df=2, pvalue=agreement),
        alpha=0.3,
        beta=0.1,
        asymmetry=-0.2,
        rate_covariance=((1e-4, 0.0), (0.0, 1e-4)),
        contours=tuple(
            Contour(
                stated=stated,
                stated_error=0.01,
                estimate=0.1 + 0.6 * stated,
                standard_error=0.02,
                n_anchors=4,
            )
            for stated in (0.2, 0.5, 0.8)
        ),
        cases=((0.2, 0.21), (0.5, 0.4), (0.5, 0.5), (0.8, 0.6)),
        engine="spline",
        settings={"knots": "5"},
        positive="ill",
        negative="well",
        n_rows=1000,
        n_features=2,
        n_anchors=12,
        tolerance=(0.0, 0.0),
        shared_tolerance=0.0,
        shared_is_default=True,
        diagnostics=(),
    )


CLEAN = _result(0.4, 0.5, 0.6)
UNIFORM = _result(0.001, 0.5, 0.6)
UNEVEN = _result(0.001, 0.001, 0.6)
THREE_ALIKE = _result(0.001, 0.001, None, hard=None, sure=None)
PERHAPS_CLEAN = _result(0.4, 0.5, 0.6, uniform=0.2, hard=0.3)
PERHAPS_UNIFORM = _result(0.001, 0.5, 0.6, hard=0.3)
PERHAPS_UNEVEN = _result(0.001, 0.001, 0.6, hard=0.3)
UNTOLD = replace(THREE_ALIKE, contours=THREE_ALIKE.contours[:2])
BENT = _result(0.001, 0.001, 0.001)
APART = _result(0.002, 0.002, 0.002, line=0.5, agreement=0.001)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (CLEAN, "Clean labels are not rejected (p = 0.40). Ruled out: uniform noise of 10 in 100,"),
        (UNIFORM, "Clean labels (p = 0.001) are rejected. Uniform noise is not rejected"),
        (UNIFORM, "Ruled out: an asymmetry of 20 in 100, hard-case noise (20 in 100 more flips at"),
        (
            PERHAPS_CLEAN,
            "these cases do not rule out uniform noise of 10 in 100 or hard-case noise",
        ),
        (
            PERHAPS_UNIFORM,
            "No more noise than that was found, but these cases do not rule out hard-",
        ),
        (
            PERHAPS_UNEVEN,
            "these cases do not rule out hard-case noise (20 in 100 more flips at toss",
        ),
        (
            UNEVEN,
            "about 30 of every 100 true 'ill' and 10 of every 100 true 'well' are flipped, an "
            "asymmetry from −0.23 to −0.17.",
        ),
        (UNTOLD, "With two contours any noise is a line: a third would tell"),
        (THREE_ALIKE, "cannot be tested: too few of the contours are told apart"),
        (BENT, "The contours lie on no line. Either flips depend on the features, or the stated"),
        (APART, "could lie on a line, but cases of one contour are not labelled alike"),
    ],
)
def test_the_verdict_says_what_was_shown(result, words):
    assert words in verdict(result)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (CLEAN, "These labels fit the stated posteriors; noise of the sizes asked about is ruled"),
        (UNIFORM, "Equal flips of both classes explain these labels; wider noise is ruled out"),
        (UNEVEN, "'ill' is flipped more often than 'well'; two constant flip rates explain it"),
        (UNTOLD, "whether flips depend on the case cannot be told: these cases do not rule out"),
        (
            PERHAPS_CLEAN,
            "No noise was found, but whether there is some cannot be told: these cases do not rule "
            "out uniform noise or hard-case noise (more flips at toss-ups).",
        ),
        (
            PERHAPS_UNIFORM,
            "There is noise, but of which kind cannot be told: these cases do not rule out "
            "hard-case noise (more flips at toss-ups).",
        ),
        (BENT, "No pair of flip rates explains these labels: noise depends on the features, or"),
    ],
)
def test_the_headline_names_the_noise(result, words):
    assert words in headline(result)


@pytest.mark.parametrize("result", [PERHAPS_CLEAN, PERHAPS_UNIFORM, PERHAPS_UNEVEN, UNTOLD])
def test_what_may_have_gone_unseen_is_no_answer(result):
    sheet = sheet_of(result, View())
    assert result.reached() == sheet.answers["reached"] == "cannot tell"
    assert sheet.keys[0].value == "Cannot tell"
    assert "hard cases" in [wider["noise"] for wider in sheet.answers["not_ruled_out"]]
    assert "audit_test" in sheet.next_steps[1]
    assert any(row[-1] == "cannot tell" for row in sheet.tables[1].rows)


def test_noise_that_two_rates_do_not_explain_needs_nothing_ruled_out():
    bent = _result(0.001, 0.001, 0.001, hard=0.9)
    assert bent.reached() == "instance-dependent"
    assert len(sheet_of(bent, View()).tables) == 2


def test_bent_contours_ask_for_a_look_at_the_anchors_first():
    steps = sheet_of(BENT, View()).next_steps
    assert steps[0] == "Check the stated posteriors first: wrong ones look the same."


def test_the_picture_is_titled_by_its_question():
    axes = UNEVEN.plot("contours").axes[0]
    assert axes.get_title(loc="left") == "Do the contours lie on a line?"
    assert axes.get_xlabel() == "Chance of being positive, as stated"


def test_the_table_tells_what_was_not_asked():
    assert "not asked" in str(UNIFORM)
    assert "not tested" in str(UNTOLD)


def test_a_line_that_was_not_tested_says_why():
    assert UNTOLD.plot("contours") is not None
    assert _finding(UNTOLD) == "Two contours always lie on a line."
    assert _finding(THREE_ALIKE) == "Too few of the contours are told apart."


def _finding(result):
    return sheet_of(result, View()).caption("contours").finding


def test_two_contours_whose_cases_disagree_were_tested():
    """What cases of one contour say rejects any line, also through two contours."""
    apart = _result(0.001, 0.001, 0.002, agreement=0.001)
    line = replace(apart.rungs[2], contour_pvalue=None)
    sheet = sheet_of(replace(apart, rungs=(*apart.rungs[:2], line)), View())
    assert sheet.keys[1].value == "p = 0.002"


def test_rates_have_no_sign_and_an_asymmetry_has_one_kind_of_minus():
    facts = [value for _, value in sheet_of(_result(0.001, 0.001, 0.3), View()).facts]
    assert "alpha = 0.300, 95% interval from 0.280 to 0.320" in facts
    assert "asymmetry = −0.200, 95% interval from −0.228 to −0.172" in facts
