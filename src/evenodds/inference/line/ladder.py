"""The ladder of the line: clean, uniform, class-conditional, and what lies beyond."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import fdtrc, stdtr, xlogy

from evenodds.inference.cases.line_fit import Lines, LineStatistic, fit_lines
from evenodds.inference.cases.record import Ints
from evenodds.inference.cases.strata import SHARE_FLOOR, Strata
from evenodds.inference.contour.ladder import Contours, Estimates, wider_noise
from evenodds.inference.contour.result import Wider
from evenodds.inference.line.result import RUNGS, LineRung
from evenodds.inference.results import Diagnostic
from evenodds.validation import FloatArray, counted

# Folds that scores are usually made with.
FOLDS = 5
# Below this many in a stratum the level of stated probabilities does not hold everywhere.
ENOUGH_ANSWERS_PER_STRATUM = 8
# Cases of the rarer class among those judged, as stated: with fewer in all uniform noise would be
# rejected in up to 0.22 (docs/line.md).
FEWEST_OF_A_CLASS = 3.0
DOUBT_BELOW = 0.01
# Answers are taken to rise with labels below this p-value.
RISES = 0.05


def of_one_fold(strata: Strata) -> Strata:
    """Return strata whose labels weigh as if they were those of one fold.

    A label moves the scores, and so the strata, of rows of other folds. Within a fold labels are
    independent of the strata, so the variance of a stratum's count over K folds is at most K
    times the binomial one.
    """
    return replace(strata, n=strata.n / FOLDS, positive=strata.positive / FOLDS)


def ladder(best: LineStatistic) -> tuple[LineRung, ...]:
    """Test the diagonal (clean), a line through the centre (uniform) and any line: the best."""
    strata = best.strata
    free = _free_log_likelihood(strata)
    clean = Lines.at(strata, np.ones(1), np.zeros(1)).log_likelihood
    uniform = fit_lines(strata, np.zeros(1)).log_likelihood
    size = len(strata)
    heights = clean, uniform, best.best.log_likelihood
    # An F of very many degrees of freedom is a chi-squared over its own.
    freedom = min(float(strata.freedom), 1e9)
    found = []
    for noise, height, df in zip(RUNGS, heights, range(size, 0, -1), strict=False):
        statistic = max(2 * float(free - height[0]), 0.0)
        pvalue = float(fdtrc(df, freedom, statistic / df))
        found.append(LineRung(noise=noise, statistic=statistic, df=df, pvalue=pvalue))
    return tuple(found)


def _free_log_likelihood(strata: Strata) -> float:
    """Return the log-likelihood of labels and statements that are free of each other."""
    given, share = strata.positive / strata.n, strata.stated / strata.judged
    labels = xlogy(strata.positive, given) + xlogy(strata.n - strata.positive, 1 - given)
    statements = xlogy(strata.stated, share) + xlogy(strata.judged - strata.stated, 1 - share)
    return float((labels + statements / strata.dispersion).sum())


def wider_than_rungs(
    statistic: LineStatistic, of_case: Ints, said: FloatArray, worth: FloatArray
) -> tuple[Wider, ...]:
    """Set every rung against stated noises above it, with strata for contours.

    `worth` is what each case counts in the mean of its stratum, beside the others there.
    """
    strata, tolerance = statistic.strata, statistic.shared_tolerance
    shares = strata.stated / strata.judged
    averaging = (of_case == np.arange(len(strata))[:, None]) * worth
    averaging /= averaging.sum(axis=1, keepdims=True)
    spread = np.maximum(shares * (1 - shares), SHARE_FLOOR) * strata.dispersion / strata.judged
    given, labels = strata.positive / strata.n, strata.n / FOLDS
    contours = Contours(
        averaging=averaging,
        stated=shares,
        covariance=np.diag(spread) + tolerance**2 / 3,
        errors=np.zeros((len(said), len(said))),
        strayed=np.zeros(len(said)),
        counts=tuple(int(m) for m in strata.judged),
        widest=0.0,
    )
    floor = np.maximum(given * (1 - given), SHARE_FLOOR)
    return wider_noise(contours, said, Estimates(given, np.diag(floor / labels)))


def off_the_line(rungs: tuple[LineRung, ...]) -> Diagnostic | None:
    """Tell of strata that lie on no line."""
    line = [rung for rung in rungs if rung.noise == "class-conditional"]
    if not line or line[0].pvalue >= DOUBT_BELOW:
        return None
    return Diagnostic(
        name="line",
        message="Labels and answers do not lie on a line: flips depend on the case, or answers are "
        "wrong in some strata. The asymmetry is then no single number.",
        concern=True,
        statistic=line[0].statistic,
        pvalue=line[0].pvalue,
    )


def against_labels(
    strata: Strata, *, misfit: bool, positive: str, other: str, answers: str = "answers"
) -> str | None:
    """Return why answers cannot be of these rows: they do not rise with the given labels.

    Flips leave labels rising with the truth unless most of them are wrong. Answers that fall are
    those of the other class, answers that lie anywhere those of other cases. A line through
    either would say as much of flips as chance. `misfit` tells whether no flip rates fit them.
    """
    given, stated = strata.positive / strata.n, strata.stated / strata.judged
    ahead = strata.judged * (given - np.average(given, weights=strata.judged))
    spread = strata.dispersion * np.maximum(stated * (1 - stated), SHARE_FLOOR) / strata.judged
    z = float(ahead @ stated) / math.sqrt(float(ahead**2 @ spread))
    freedom = min(float(strata.freedom), 1e9)
    if stdtr(freedom, z) < DOUBT_BELOW:
        return (
            f"{answers} fall where given labels rise: they state the chance of {other} instead of "
            f"{positive}, belong to other cases, or most labels are flipped"
        )
    if stdtr(freedom, -z) >= RISES and misfit:
        return (
            f"{answers} do not rise with the given labels, and no flip rates fit them: check that "
            "each stands beside its own case"
        )
    return None


def one_sided_answers(strata: Strata, positive: Any, negative: Any) -> str | None:
    """Return why answers tell too little: hardly any of them speaks for one of the classes.

    A few high statements among many low ones carry mean and spread together. Where none of them
    happened to be drawn both are too small, and the line is trusted too much.
    """
    if not np.isfinite(strata.freedom).all():  # looked up: how these vary is known
        return None
    judged = float(strata.judged.sum())
    for share, label in (
        (float(strata.stated.sum()), positive),
        (judged - float(strata.stated.sum()), negative),
    ):
        if share < FEWEST_OF_A_CLASS:
            return (
                f"the chances stated of {label!r} add up to {share:.1f} in {judged:.0f} cases, and "
                f"fewer than {FEWEST_OF_A_CLASS:g} do not tell where the line runs: judge more "
                "cases, or look labels up and audit them"
            )
    return None


STEEPER = (
    "labels follow the scores more steeply than the answers do, which no flips bring about: the "
    "answers are unreliable, shy away from 0 and 1 or belong to other cases, or the scores have "
    "seen the labels of their own rows (make them out of fold, with out_of_fold_scores)"
)


def seen_own_labels(strata: Strata) -> Diagnostic | None:
    """Tell of labels that follow the score more steeply than the truth does.

    Flips only flatten: labels as steep as the answers are clean, steeper ones are those that
    the score was fitted to. Errors of the answers flatten the slope, so it doubts too seldom.
    """
    given, stated = strata.positive / strata.n, strata.stated / strata.judged
    spread = np.maximum(given * (1 - given), SHARE_FLOOR * (1 - SHARE_FLOOR)) / strata.n
    spread += strata.dispersion * np.maximum(stated * (1 - stated), SHARE_FLOOR) / strata.judged
    weights = 1 / spread
    off = stated - np.average(stated, weights=weights)
    size = float(weights @ off**2)
    slope = float(weights @ (off * given)) / size if size > 0 else 0.0
    z = (slope - 1) * math.sqrt(size)
    pvalue = float(stdtr(min(float(strata.freedom), 1e9), -z))
    if pvalue >= DOUBT_BELOW:
        return None
    return Diagnostic(
        name="own labels",
        message=f"From low scores to high, labels change {slope:.1f} times as much as the answers "
        "say; no flips do that. Either the answers are unreliable or shy away from 0 and 1, or the "
        "scores saw the labels of their own rows: make them out of fold, with out_of_fold_scores.",
        concern=True,
        statistic=z,
        pvalue=pvalue,
    )


def few_answers(judged: FloatArray) -> Diagnostic | None:
    """Tell of strata with so few stated probabilities that how these vary is hardly known."""
    if judged.min() >= ENOUGH_ANSWERS_PER_STRATUM:
        return None
    return Diagnostic(
        name="answers",
        message=f"Stratum {int(judged.argmin()) + 1} has {counted(int(judged.min()), 'answer')}. "
        f"With fewer than {ENOUGH_ANSWERS_PER_STRATUM} in a stratum uniform noise may be rejected "
        "in 13% of data sets instead of 5%: judge more cases.",
        concern=True,
        statistic=float(judged.min()),
        pvalue=None,
    )


def experts_differ(said: FloatArray) -> Diagnostic | None:
    """Tell of experts who lean apart: the mean difference of each from the first."""
    if said.shape[1] == 1:
        return None
    apart = said[:, 1:] - said[:, :1]
    error = apart.std(axis=0, ddof=1) / math.sqrt(len(apart))
    t = np.divide(apart.mean(axis=0), error, out=np.zeros(len(error)), where=error > 0)
    pvalues = np.minimum(2 * stdtr(len(apart) - 1, -np.abs(t)) * len(t), 1.0)
    worst = int(pvalues.argmin())
    if pvalues[worst] >= DOUBT_BELOW:
        return None
    return Diagnostic(
        name="experts",
        message=f"Expert {worst + 2} states {abs(apart[:, worst].mean()):.3f} "
        f"{'more' if t[worst] > 0 else 'less'} than expert 1 on average: one of them leans.",
        concern=True,
        statistic=float(t[worst]),
        pvalue=float(pvalues[worst]),
    )
