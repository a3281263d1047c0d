"""Label noise with a known rate: what it does to posteriors, priors and labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenodds.errors import InputError
from evenodds.validation import FloatArray, check_between, check_number, check_zero_one


@dataclass(frozen=True, slots=True)
class ClassConditionalNoise:
    """Labels flipped at a rate that depends on the true class.

    Parameters
    ----------
    alpha : float
        Share of true positives that are labelled negative.
    beta : float
        Share of true negatives that are labelled positive. ``alpha + beta < 1``:
        at 1 the labels carry no information, beyond it they are reversed.

    Examples
    --------
    >>> noise = ClassConditionalNoise(alpha=0.25, beta=0.125)
    >>> noise.asymmetry
    -0.125
    >>> float(noise.noisy_posterior(0.5))  # a toss-up no longer looks like one
    0.4375
    """

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", check_between(self.alpha, "alpha", 0, 1, closed="left"))
        object.__setattr__(self, "beta", check_between(self.beta, "beta", 0, 1, closed="left"))
        if self.alpha + self.beta >= 1:
            raise InputError(
                f"alpha + beta is {self.alpha + self.beta:g} but must be below 1: "
                "at 1 labels say nothing about the truth, beyond it they are reversed."
            )

    @property
    def asymmetry(self) -> float:
        """``beta - alpha``, zero under uniform noise."""
        return self.beta - self.alpha

    def noisy_posterior(self, posterior: ArrayLike) -> FloatArray:
        """Probability of a positive *label* where the probability of a positive is `posterior`."""
        clean = np.asarray(posterior, dtype=np.float64)
        if not ((clean >= 0) & (clean <= 1)).all():
            raise InputError("posterior must lie between 0 and 1: it is a probability.")
        noisy: FloatArray = self.beta + (1 - self.alpha - self.beta) * clean
        return noisy

    def noisy_prior(self, prior: float) -> float:
        """Share of positive labels when the share of true positives is `prior`."""
        return float(self.noisy_posterior(check_between(prior, "prior", 0, 1)))

    def flip(self, labels: ArrayLike, rng: np.random.Generator | int) -> NDArray[np.int8]:
        """Return noisy copies of 0/1 `labels`, each flipped at its class's rate.

        `rng` is a generator, or the seed of one.
        """
        positive = check_zero_one(labels)
        try:
            draws = np.random.default_rng(rng)
        except (TypeError, ValueError):
            raise InputError(
                f"rng is {rng!r}: give a seed, or numpy.random.default_rng(seed)."
            ) from None
        flipped = draws.random(positive.shape) < np.where(positive, self.alpha, self.beta)
        return np.asarray(positive ^ flipped, dtype=np.int8)


class UniformNoise(ClassConditionalNoise):
    """Labels of both classes flipped equally often.

    Parameters
    ----------
    rate : float
        Share of labels flipped, at least 0 and below 1/2.

    Examples
    --------
    >>> UniformNoise(0.2).asymmetry
    0.0
    >>> float(UniformNoise(0.2).noisy_posterior(0.5))  # toss-ups stay toss-ups
    0.5
    """

    __slots__ = ()

    def __init__(self, rate: float) -> None:
        checked = check_between(
            check_number(rate, "rate"), "rate", 0, 0.5, closed="left", why="at 1/2 labels are coins"
        )
        super().__init__(alpha=checked, beta=checked)

    @property
    def rate(self) -> float:
        """Share of labels flipped in either class."""
        return self.alpha

    def __repr__(self) -> str:
        return f"UniformNoise(rate={self.rate!r})"


def check_noise(noise: Any) -> ClassConditionalNoise:
    """Refuse what is no noise."""
    if not isinstance(noise, ClassConditionalNoise):
        raise InputError(
            f"noise is {noise!r}: give ClassConditionalNoise(alpha, beta), the two flip rates, or "
            "UniformNoise(rate)."
        )
    return noise
