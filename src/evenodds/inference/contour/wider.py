r"""Noise wider than a rung, of a stated size: do these contours rule it out?

A rung that is not rejected is the answer only if noise above it would have been seen. So each
stated noise d, a gap at every contour beyond what the rung explains, is a hypothesis of its own,
"this much or more". With d and the residuals r of the rung fitted beyond d, both whitened, and
the part of d that the rung's own rates explain taken out,

    z = d'r / |d|,    p = Phi(z),    standard error of the size: size / |d|

(theory page, "Contours"). Where p is small, noise of this size is ruled out.
"""

from collections.abc import Callable, Iterator

import numpy as np

from evenodds.inference.contour.groups import Contours
from evenodds.inference.contour.ladder import (
    Estimates,
    NoiseFit,
    fit_class_conditional,
    fit_clean,
    fit_uniform,
)
from evenodds.inference.contour.results import Noise, Wider
from evenodds.inference.contour.whitening import upper_tail
from evenodds.validation import FloatArray

# What must not go unseen: equal flips where labels are called clean, and a difference between
# flip rates, of the two classes or of toss-ups and sure cases.
EQUAL_FLIPS = 0.1
DIFFERENCE = 0.2
# A noise with less than this share of its squared length beyond the rung looks like the rung.
ZERO = 1e-6

Fit = Callable[[Contours, Estimates, FloatArray], NoiseFit]


def wider_noise(contours: Contours, stated: FloatArray, estimates: Estimates) -> tuple[Wider, ...]:
    """Set every rung against the stated noises above it; `stated` are the anchors' posteriors."""
    mean = contours.stated
    ones = np.ones(len(contours))
    hard, sure = gaps_by_difficulty(contours, stated)
    asymmetry = (ones / 2, -ones / 2)
    one_class = (1 - mean, -mean)  # flips of negatives alone, of positives alone

    def against(rung: Noise, fit: Fit) -> Iterator[Wider]:
        def wider(noise: str, size: float, *columns: FloatArray) -> Wider:
            tried = [_tried(fit, contours, estimates, size * column) for column in columns]
            return _widest(rung, noise, size, tried)

        if rung == "clean":
            yield wider("uniform", EQUAL_FLIPS, 1 - 2 * mean)
        if rung != "class-conditional":
            yield wider("asymmetry", DIFFERENCE, *(one_class if rung == "clean" else asymmetry))
        yield wider("hard cases", DIFFERENCE, hard)
        yield wider("sure cases", DIFFERENCE, sure)

    return (
        *against("clean", fit_clean),
        *against("uniform", fit_uniform),
        *against("class-conditional", fit_class_conditional),
    )


def gaps_by_difficulty(contours: Contours, stated: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the gaps of flips at toss-ups alone, 4p(1 - p), and of the rest, (1 - 2p)^2.

    Flips f(p) of both classes make a gap of f(p)(1 - 2p). Both gaps are cubics, so that errors of
    what is stated, of variance v, move their mean by half the second derivative times v.
    """
    variances = contours.errors.diagonal()
    centred = 1 - 2 * stated
    sure = centred**3 + 12 * centred * variances
    averaged: FloatArray = contours.averaging @ sure
    return contours.averaging @ centred - averaged, averaged


def _tried(
    fit: Fit, contours: Contours, estimates: Estimates, beyond: FloatArray
) -> tuple[float, float] | None:
    """Return p-value and length of a noise beyond a rung; None where it looks like the rung."""
    found = fit(contours, estimates, beyond)
    noise = found.whitener @ beyond
    apart = noise - found.design @ (np.linalg.pinv(found.design) @ noise)
    length = float(np.linalg.norm(apart))
    if length**2 <= ZERO * float(noise @ noise):
        return None
    z = float(apart @ found.residuals) / length
    tail = upper_tail(z**2, 1, len(noise), estimates.n_groups) / 2
    return (tail if z < 0 else 1 - tail), length


def _widest(rung: Noise, noise: str, size: float, tried: list[tuple[float, float] | None]) -> Wider:
    """Return what was found of a noise; of its two directions, that which is ruled out less."""
    known = [each for each in tried if each is not None]
    whole = len(known) == len(tried)
    return Wider(
        rung=rung,
        noise=noise,
        size=size,
        standard_error=size / min(length for _, length in known) if whole else None,
        pvalue=max(pvalue for pvalue, _ in known) if whole else None,
    )
