"""What experts stated of cases: numbers between 0 and 1, in the order of the draw, without gaps."""

import math
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr

from evenodds.errors import InputError
from evenodds.inference.cases.record import FEWEST_ANSWERS, Answers, Cases
from evenodds.inference.line.ladder import DOUBT_BELOW
from evenodds.inference.results import Diagnostic
from evenodds.validation import FloatArray, as_array, counted

# Guesses dressed as truth: an expert who states probabilities states more than these.
THREE_WAY = (0.0, 0.5, 1.0)
# Below this many in a stratum the level of stated probabilities does not hold everywhere.
ENOUGH_ANSWERS_PER_STRATUM = 8


def read_statements(stated: ArrayLike, cases: Cases, answers: Answers) -> FloatArray:
    """Return what was stated of the first cases, a column an expert."""
    said = read_numbers(stated, "case")
    said = said[:, None] if said.ndim == 1 else said
    if said.ndim != 2 or len(said) > len(cases) or not said.size:
        _refuse_shape(said, cases)
    known = ~np.isnan(said)
    if (known[1:] & ~known[:-1]).any():
        expert = int((known[1:] & ~known[:-1]).any(axis=0).argmax())
        gap = int((~known[:, expert]).argmax())
        raise InputError(
            f"stated has no answer for case {gap + 1} but has some for later ones: cases may be "
            "left out at the end only, for whoever skips the hard ones changes the answer."
        )
    said = said[known.all(axis=1)]
    if not len(said):
        raise InputError(f"stated has no answers: give one for each of the {len(cases)} cases.")
    outside = np.argwhere((said < 0) | (said > 1))
    if len(outside):
        raise InputError(
            f"stated is {said[tuple(outside[0])]:g} for case {outside[0][0] + 1} but must lie "
            "between 0 and 1: it is a probability (divide percentages by 100), or the truth."
        )
    # Strata too small to draw cases from are left out, and need none.
    drawn = np.unique(cases.strata)
    counts = np.bincount(cases.strata[: len(said)], minlength=cases.n_strata)[drawn]
    fewest = FEWEST_ANSWERS[answers]
    if (counts < fewest).any():
        if len(known) != said.shape[1] == len(cases):  # a row an expert
            _refuse_shape(known, cases)
        raise InputError(
            f"stratum {drawn[counts.argmin()] + 1} of {cases.n_strata} has "
            f"{counted(counts.min(), 'answer')} and needs {fewest}: "
            f"{len(said)} of {len(cases)} cases are answered; answer some more."
        )
    refuse_other_kinds(said, answers)
    return np.asarray(said)


def _refuse_shape(said: NDArray[Any], cases: Cases) -> NoReturn:
    raise InputError(
        f"stated has shape {said.shape} but there are {len(cases)} cases: give one value for "
        "each, in the order of cases.rows, or a column for each expert."
    )


def read_numbers(stated: ArrayLike, of_what: str) -> FloatArray:
    """Return what was stated as real numbers."""
    try:
        given = as_array(stated)
        if given.dtype.kind != "c":
            return np.array(given, dtype=float)
    except (TypeError, ValueError):
        pass
    raise InputError(f"stated must hold numbers between 0 and 1, one a {of_what}.")


def refuse_other_kinds(said: FloatArray, answers: Answers) -> None:
    """Refuse guesses that are called something else."""
    if answers == "looked-up":
        between = np.argwhere((said > 0) & (said < 1))
        if len(between):
            raise InputError(
                f"stated is {said[tuple(between[0])]:g} for case {between[0][0] + 1} but looked-up "
                "answers are 0 or 1: say answers='probability' for stated probabilities."
            )
        return
    if (said == said[0, 0]).all() and said[0, 0] not in (0, 1):
        raise InputError(
            f"all {counted(said.size, 'answer')} are {said[0, 0]:g}: they say nothing of the cases."
        )
    if np.isin(said, THREE_WAY).all():
        values = "0 and 1" if np.isin(said, (0, 1)).all() else "0, 1/2 and 1"
        raise InputError(
            f"all answers are {values}: as probabilities these are guesses, which bias the test. "
            "Ask how likely each case is, or say answers='looked-up' where the truth was."
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
