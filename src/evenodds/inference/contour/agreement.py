r"""Do cases of one contour agree? Noise that knows the class alone treats them alike.

Under class-conditional noise the share of positive labels depends on a case through its true
posterior only, so it is the same all along a contour. Within the contours it is therefore
regressed on the features, what the stated posteriors explain taken out: all coefficients are zero
unless noise depends on the features (theory page, "Contours").

A tolerance of its own lets every case stray from its contour, and where it strayed to shows in
its features: errors of all cases may point one way in them. So each direction is granted the
errors of all cases together.
"""

import numpy as np

from evenodds.inference.contour.groups import Contours
from evenodds.inference.contour.ladder import Estimates
from evenodds.inference.contour.results import Agreement
from evenodds.inference.contour.whitening import directions, upper_tail, whitener
from evenodds.validation import FloatArray

# Directions in which anchors of one contour differ by less than this share count as none.
ZERO = 1e-6
ROUNDING = 1e-12


def agreement(
    contours: Contours,
    points: FloatArray,
    stated: FloatArray,
    estimates: Estimates,
) -> Agreement | None:
    """Test whether anchors of one contour have one noisy posterior; None if they cannot differ.

    `estimates` are those at the anchors. Errors of the stated posteriors count in full, as under
    clean labels: no noise lets more through.
    """
    contrasts = within_contours(contours, points, stated)
    if len(contrasts) == 0:
        return None
    known = contrasts @ estimates.covariance @ contrasts.T
    white = whitener(directions(known), known + _errors(contours, contrasts))
    whitened = white @ (contrasts @ estimates.posterior)
    statistic, df = float(whitened @ whitened), len(whitened)
    if estimates.n_groups is not None and estimates.n_groups <= df:
        return None
    pvalue = upper_tail(statistic, df, df, estimates.n_groups)
    return Agreement(statistic=statistic, df=df, pvalue=pvalue)


def _errors(contours: Contours, contrasts: FloatArray) -> FloatArray:
    """Return the covariance of the errors of what is stated, along the contrasts."""
    common = contours.errors - np.diag(contours.strayed)
    # What each case strayed from the mean of its contour, summed: all of it may lie in one
    # direction, and the contrasts have unit length.
    shares = (contours.averaging**2).sum(axis=1)[np.argmax(contours.averaging, axis=0)]
    together = float(contours.strayed @ (1 - shares))
    covariance: FloatArray = contrasts @ common @ contrasts.T + together * np.eye(len(contrasts))
    return covariance


def within_contours(contours: Contours, points: FloatArray, stated: FloatArray) -> FloatArray:
    """Return contrasts, (directions, anchors): features centred in their contour.

    They are orthogonal to constants and to the stated posteriors within each contour, so any
    line in the posterior is invisible to them.
    """
    centred = _centred(contours, points)
    spreads = np.sqrt((centred**2).mean(axis=0))
    centred = centred / np.where(spreads > 0, spreads, 1.0)
    moved = _centred(contours, stated[:, None])[:, 0]
    length = float(moved @ moved)
    if length > 0:
        centred = centred - np.outer(moved, moved @ centred) / length
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    kept: FloatArray = left[:, sizes > ZERO * np.sqrt(len(points))].T
    return kept


def _centred(contours: Contours, values: FloatArray) -> FloatArray:
    """Return values less their mean in the contour."""
    member = np.argmax(contours.averaging, axis=0)
    centred = values - (contours.averaging @ values)[member]
    # What rounding leaves of equal values is no difference.
    seen = np.abs(centred) > ROUNDING * np.abs(values).max(axis=0)
    return np.where(seen, centred, 0.0)
