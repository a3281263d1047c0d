"""From a score to the posterior it states, and to the score that noisy labels ask for.

A proper loss is least, on average over labels, at the score that states their posterior. Such
a score ``f`` states ``p``; labels with noise have the posterior ``beta + (1 - alpha - beta) p``,
and the score stating *that* is the noisy score.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit, logit

from evenodds.noise import ClassConditionalNoise
from evenodds.validation import FloatArray


class Link(Protocol):
    """How scores state posteriors."""

    @property
    def linear(self) -> bool:
        """Whether the noisy score is a straight line in the score."""

    def posterior(self, scores: FloatArray) -> FloatArray:
        """Return the probability that a score states."""

    def score(self, posterior: FloatArray) -> FloatArray:
        """Return the score that states a probability."""

    def noisy_scores(self, scores: FloatArray, noise: ClassConditionalNoise) -> FloatArray:
        """Return the scores that state the noisy posteriors."""

    def noisy_slopes(self, scores: FloatArray, noise: ClassConditionalNoise) -> FloatArray:
        """Return the derivative of the noisy score in the score."""


@dataclass(frozen=True, slots=True)
class LogOddsLink:
    """The score is the log-odds, divided by `scale`."""

    scale: float = 1.0
    linear: bool = False

    def posterior(self, scores: FloatArray) -> FloatArray:
        posterior: FloatArray = expit(self.scale * scores)
        return posterior

    def score(self, posterior: FloatArray) -> FloatArray:
        score: FloatArray = logit(posterior) / self.scale
        return score

    def noisy_scores(self, scores: FloatArray, noise: ClassConditionalNoise) -> FloatArray:
        # log of (beta + (1 - alpha) e^g) / (1 - beta + alpha e^g), without the overflow.
        log_odds = self.scale * scores
        kept, lost, gained, spared = _log_rates(noise)
        above = np.logaddexp(gained, kept + log_odds)
        noisy: FloatArray = (above - np.logaddexp(spared, lost + log_odds)) / self.scale
        return noisy

    def noisy_slopes(self, scores: FloatArray, noise: ClassConditionalNoise) -> FloatArray:
        log_odds = self.scale * scores
        kept, lost, gained, spared = _log_rates(noise)
        slopes: FloatArray = expit(log_odds + kept - gained) - expit(log_odds + lost - spared)
        return slopes


@dataclass(frozen=True, slots=True)
class LinearLink:
    """The score is ``2 p - 1``; scores beyond -1 and 1 state certainty."""

    linear: bool = True

    def posterior(self, scores: FloatArray) -> FloatArray:
        return np.clip((1 + scores) / 2, 0, 1)

    def score(self, posterior: FloatArray) -> FloatArray:
        return 2 * posterior - 1

    def noisy_scores(self, scores: FloatArray, noise: ClassConditionalNoise) -> FloatArray:
        return noise.asymmetry + (1 - noise.alpha - noise.beta) * scores

    def noisy_slopes(self, scores: FloatArray, noise: ClassConditionalNoise) -> FloatArray:
        return np.full_like(scores, 1 - noise.alpha - noise.beta)


def _log_rates(noise: ClassConditionalNoise) -> tuple[float, float, float, float]:
    """Return the logs of 1 - alpha, alpha, beta and 1 - beta; no noise is minus infinity."""
    with np.errstate(divide="ignore"):
        lost, gained = float(np.log(noise.alpha)), float(np.log(noise.beta))
    return float(np.log1p(-noise.alpha)), lost, gained, float(np.log1p(-noise.beta))
