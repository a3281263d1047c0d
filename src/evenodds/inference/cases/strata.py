"""The strata of a score as a line is fitted to them: labels, and what experts said of cases."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtrc

from evenodds.inference.cases.record import Ints
from evenodds.validation import FloatArray

# Asymmetries that can be tried.
WIDEST = 0.97
# Asymmetries tried beside those of a grid, in errors of the labels.
FLAT_ERRORS = np.array([-4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0])
# Statements as sure as this still vary by what nobody states.
LEAST_DISPERSION = 0.005
# What statements of probabilities vary by, as a share of yes and no; measured where experts
# state posteriors with a blur of 0.07 and cases of a stratum are as unlike as can be.
USUAL_DISPERSION = 0.4
SHARE_FLOOR = 0.01
# How many cases the dispersion of all strata counts as beside those of a stratum.
CASES_OF_ALL = 12.0
# A case is taken to tell at most so much of how far statements follow labels.
MOST_LEVERAGE = 0.9
# What is divided by where there is nothing: no share, no rows, no cases.
NOTHING = 1e-100
# Added to the cases of either kind where a variance is estimated.
HALF_A_CASE = 0.5
# Labels differ between strata below this p-value.
ALIKE = 0.05
COUNTED = ("n", "positive", "judged", "stated", "dispersion")


@dataclass(frozen=True, slots=True)
class Strata:
    """What the line is fitted to: counts of labels and statements, a value a stratum.

    Several of them are fitted at once where the arrays have more axes: the last is the strata.

    Attributes
    ----------
    n, positive : array
        Rows whose labels count, and how many of them are given the positive label.
    judged, stated : array
        Cases that were judged, and the sum of what was stated of them.
    dispersion : array
        Variance of a statement as a share of that of a yes or no.
    freedom : float or array
        Degrees of freedom behind the dispersion; infinite for looked-up answers.
    """

    n: FloatArray
    positive: FloatArray
    judged: FloatArray
    stated: FloatArray
    dispersion: FloatArray
    freedom: float | FloatArray

    def __len__(self) -> int:
        """Return the number of strata."""
        return int(self.n.shape[-1])

    def alike(self, inflation: float = 1.0) -> FloatArray:
        """Return the p-value of labels that do not differ between strata.

        Where it is above `ALIKE` nothing is tested: the slope of the line would be told by chance
        alone, and equal flips rejected in up to 0.2.
        """
        pooled = self.positive.sum(axis=-1) / self.n.sum(axis=-1)
        apart = (self.positive - self.n * pooled[..., None]) ** 2 / np.maximum(self.n, NOTHING)
        spread = np.maximum(pooled * (1 - pooled), NOTHING) * inflation
        return np.asarray(chdtrc(len(self) - 1, apart.sum(axis=-1) / spread))

    def flat(self) -> FloatArray:
        """Return asymmetries of lines that are nearly flat, within errors of the labels.

        There all labels are flips. Likely or not, such lines lie so close together that a search
        over asymmetries far apart would pass them by.
        """
        total = self.n.sum(axis=-1)
        pooled = self.positive.sum(axis=-1) / total
        error = 2 * np.sqrt(pooled * (1 - pooled) / total)
        near = (2 * pooled - 1)[..., None] + error[..., None] * FLAT_ERRORS
        return np.asarray(np.clip(near, -WIDEST, WIDEST))

    @classmethod
    def stacked(cls, several: Sequence["Strata"]) -> "Strata":
        """Return some strata one above the other, to be fitted at once."""
        freedom = np.concatenate([np.atleast_1d(one.freedom) for one in several])
        counts = {
            name: np.concatenate([np.atleast_2d(getattr(one, name)) for one in several])
            for name in COUNTED
        }
        return cls(**counts, freedom=freedom)

    def without_each(self) -> "Strata":
        """Return the strata once for each that is left out: it has no rows and no cases there."""
        kept = 1 - np.eye(len(self))
        left = self._changed(lambda values: values * kept)
        dispersion, freedom = self.dispersion + 0 * kept, self.freedom - self.judged + 1
        return replace(left, dispersion=dispersion, freedom=freedom)

    def beside(self, values: FloatArray) -> "Strata":
        """Return the strata with as many axes before them as some values of a line have."""
        new = (1,) * (values.ndim + 1 - self.n.ndim)
        shape = self.n.shape[:-1] + new + self.n.shape[-1:]
        return self._changed(lambda values: values.reshape(shape))

    def _changed(self, change: Callable[[FloatArray], FloatArray]) -> "Strata":
        """Return the strata with all counts and dispersions changed alike."""
        return replace(self, **{name: change(getattr(self, name)) for name in COUNTED})


def strata_by_label(rows: FloatArray, judged: FloatArray, true: FloatArray) -> Strata:
    """Return what a line is fitted to, from looked-up cases drawn by stratum and given label.

    All arrays have a row a stratum, and a column for the negative and the positive label: rows of
    the data, cases that were looked up, and how many of these are truly positive. The share of a
    stratum that is truly positive is the mean of its labels, weighted by their rows; it counts as
    many cases as would give it the same variance if drawn from the stratum at random.
    """
    n = rows.sum(axis=1)
    weights = rows / n[:, None]
    known = np.maximum(judged, 1.0)
    # Where all are truly positive the share is 1, not 1 less rounding.
    share = np.where((true == judged).all(axis=1), 1.0, (weights * true / known).sum(axis=1))
    near = (true + HALF_A_CASE) / (judged + 2 * HALF_A_CASE)
    variance = (weights**2 * near * (1 - near) / known).sum(axis=1)
    middle = (weights * near).sum(axis=1)
    worth = middle * (1 - middle) / variance
    return Strata(n, rows[:, 1], worth, worth * share, np.ones(len(n)), math.inf)


def strata_by_statement(
    n: FloatArray, positive: FloatArray, of_case: Ints, said: FloatArray, label: FloatArray
) -> tuple[Strata, "Regressed"]:
    """Return what a line is fitted to, from probabilities stated of cases drawn by stratum.

    `n` and `positive` count all rows of each stratum, those that were judged among them; `said`
    and `label` are what was stated of each case, and the label that it was given.
    """
    regressed = Regressed.on_labels(said, label, of_case, positive / n)
    judged = np.bincount(of_case, minlength=len(n)).astype(float)
    means = np.bincount(of_case, regressed.said, len(n)) / judged
    squares = np.asarray(np.bincount(of_case, regressed.off**2, len(n)), dtype=float)
    # A mean is moved at most half of the way to 0 or 1, which were not stated of all.
    plain = np.bincount(of_case, said, len(n)) / judged
    stated = judged * np.clip(means, plain / 2, (1 + plain) / 2)
    # One degree of freedom is for how far statements follow labels.
    freedom = float(len(said) - len(n) - 1)
    dispersion = dispersions(squares, stated, judged)
    # Hardly a clean label differs from a statement that is nearly sure, and a dozen cases may hold
    # none that does. But labels go along with chances no further than these say.
    own = np.asarray(np.bincount(of_case, (said - plain[of_case]) ** 2, len(n)), dtype=float)
    varies = dispersions(own, plain * judged, judged) * yes_or_no(plain)
    unsure = np.bincount(of_case, said * (1 - said), len(n)) / judged + HALF_A_CASE / len(said)
    left = (1 - regressed.pull) ** 2 * varies + regressed.pull**2 * unsure
    dispersion = np.clip(left / yes_or_no(stated / judged), dispersion, 1)
    return Strata(n, positive, judged, stated, dispersion, freedom), regressed


@dataclass(frozen=True, slots=True)
class Regressed:
    """Statements as they would be if the cases of a stratum had the labels of all its rows.

    A case that is labelled positive is the likelier to be truly so, and of a dozen cases more or
    fewer have a positive label than of their stratum, by chance. Which share of the rows has is
    known, so that chance can be taken out: the regression estimator of survey sampling.

    Attributes
    ----------
    said : array
        What was stated of each case, less what its label has to do with it.
    off : array
        How far that is from the mean of its stratum, were the case not among those that tell how
        far statements follow labels.
    pull : array
        How much likelier to be truly positive a positive label makes a case, a value a stratum.
    """

    said: FloatArray
    off: FloatArray
    pull: FloatArray

    @classmethod
    def on_labels(
        cls, said: FloatArray, label: FloatArray, of_case: Ints, share: FloatArray
    ) -> "Regressed":
        """Regress statements on labels, in each stratum as far as cases can differ there.

        Were statements the posteriors, the slope in a stratum would be their variance times
        gamma over that of the labels. The variance goes by the share truly positive as a line
        through all strata tells it: that of a dozen statements would go along with their mean,
        and bias it. `part` is estimated once for all strata.
        """

        def summed(values: FloatArray) -> FloatArray:
            return np.asarray(np.bincount(of_case, values, len(share)), dtype=float)

        cases = summed(np.ones(len(said)))
        means = summed(said) / cases
        off_said = said - means[of_case]
        off_label = label - (summed(label) / cases)[of_case]
        apart = share - share.mean()
        slope = (apart * means).sum() / max((apart**2).sum(), NOTHING)
        near = np.clip(means.mean() + slope * apart, 0, 1)
        of_labels = yes_or_no(share)
        steep = near * (1 - near) / of_labels
        # Least squares, weighted by one over the variance of the statements of a stratum.
        follows = (off_said * off_label / of_labels[of_case]).sum()
        weight = off_label**2 * (steep / of_labels)[of_case]
        part = np.clip(follows / max(weight.sum(), NOTHING), 0, 1)
        pull = np.minimum(part * steep, 1)
        leverage = np.minimum(weight / max(weight.sum(), NOTHING), MOST_LEVERAGE)
        off = (off_said - pull[of_case] * off_label) / (1 - leverage)
        return cls(said - pull[of_case] * (label - share[of_case]), off, pull)


def dispersions(squares: FloatArray, stated: FloatArray, judged: FloatArray) -> FloatArray:
    """Return the dispersion of statements a stratum: its own, drawn towards that of all.

    `squares` are sums of squares around the mean of each stratum. One dispersion for all is too
    small where an expert is sure in most strata and not in one; that of a few statements alone
    is too small by chance, and strata where it is would be trusted most.
    """
    most = yes_or_no(stated / judged)
    pooled = squares.sum() / ((judged - 1) * most).sum()
    drawn = (squares / most + CASES_OF_ALL * pooled) / (judged - 1 + CASES_OF_ALL)
    return np.asarray(np.clip(drawn, LEAST_DISPERSION, 1))


def yes_or_no(share: FloatArray) -> FloatArray:
    """Return the variance of a yes or no: the most that statements of a mean can have."""
    return np.clip(share * (1 - share), SHARE_FLOOR * (1 - SHARE_FLOOR), None)
