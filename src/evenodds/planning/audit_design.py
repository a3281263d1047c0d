"""What an audit of any size looks like: expected counts, the law of z, and draws."""

from dataclasses import dataclass

import numpy as np

from evenodds.inference.audit.by_given import AuditByGiven
from evenodds.inference.audit.counts import Flips
from evenodds.inference.audit.door import SMALL_CELL
from evenodds.inference.audit.exact_given import is_small
from evenodds.inference.audit.result import SampledBy
from evenodds.noise import ClassConditionalNoise

# The whole data is taken as this many times the audit: its counts are nearly exact.
ROWS_AN_AUDITED_ROW = 1000


@dataclass(frozen=True, slots=True)
class AuditDesign:
    """Noise to be found, and how rows are drawn to find it."""

    noise: ClassConditionalNoise
    prior: float | None
    sampled_by: SampledBy
    share: float  # of audited rows in the positive class drawn

    def drawn(self, n_rows: int) -> tuple[float, float]:
        """Return how many positive and negative rows are audited, as expected where at random.

        By class they are whole, and at least one of each.
        """
        if self.sampled_by == "random":
            return self.share * n_rows, (1 - self.share) * n_rows
        n_positive = min(max(round(self.share * n_rows), 1), n_rows - 1)
        return n_positive, n_rows - n_positive

    def expected(self, n_rows: int) -> Flips:
        """Return the counts of an audit as expected, which need not be whole."""
        alpha, beta = self.noise.alpha, self.noise.beta
        drawn = self.drawn(n_rows)
        if self.sampled_by != "given":
            return Flips(drawn[0], alpha * drawn[0], drawn[1], beta * drawn[1])  # type: ignore[arg-type]
        wrong_positive, wrong_negative = self.wrong_labels()
        flipped_positive, flipped_negative = wrong_negative * drawn[1], wrong_positive * drawn[0]
        n_positive = drawn[0] - flipped_negative + flipped_positive
        return Flips(n_positive, flipped_positive, n_rows - n_positive, flipped_negative)  # type: ignore[arg-type]

    def wrong_labels(self) -> tuple[float, float]:
        """Return the share of wrong labels among positive and among negative ones."""
        prior = self.prior or 0.0
        positive = self.noise.noisy_prior(prior)
        return (1 - prior) * self.noise.beta / positive, prior * self.noise.alpha / (1 - positive)

    def whole_data(self, n_rows: int) -> tuple[float, float]:
        """Return how many rows of the data are labelled negative and positive."""
        total = ROWS_AN_AUDITED_ROW * n_rows
        positive = self.noise.noisy_prior(self.prior or 0.0)
        return (1 - positive) * total, positive * total

    def centre(self, n_rows: int) -> tuple[float, float]:
        """Return the size of the mean of z(0), and its standard deviation."""
        flips = self.expected(n_rows)
        if self.sampled_by == "given":
            return _given_centre(AuditByGiven(flips, *self.whole_data(n_rows)))  # type: ignore[arg-type]
        pooled = (flips.flipped_positive + flips.flipped_negative) / flips.n_rows
        null = pooled * (1 - pooled) * (1 / flips.n_positive + 1 / flips.n_negative)
        alpha, beta = flips.alpha, flips.beta
        true = alpha * (1 - alpha) / flips.n_positive + beta * (1 - beta) / flips.n_negative
        gap = abs(beta - alpha)
        if flips.fewest_expected < SMALL_CELL:
            # The exact test loses about half a row of either class.
            gap = max(gap - (1 / flips.n_positive + 1 / flips.n_negative) / 2, 0.0)
        return float(gap / np.sqrt(null)), float(np.sqrt(true / null))

    def is_small(self, n_rows: int) -> bool:
        """Tell whether an audit by given class has too few wrong labels for the score."""
        return is_small(AuditByGiven(self.expected(n_rows), *self.whole_data(n_rows)))  # type: ignore[arg-type]

    def given_tables(
        self, n_rows: int
    ) -> tuple[tuple[int, int], tuple[int, int], tuple[float, float]]:
        """Return rows audited and rows of the data by label, and chances of a wrong label.

        Audited rows come positive first, rows of the data negative first.
        """
        negative, positive = self.whole_data(n_rows)
        return self._whole(n_rows), (round(negative), round(positive)), self.wrong_labels()

    def _whole(self, n_rows: int) -> tuple[int, int]:
        """Return how many rows of each class are audited, drawn by class."""
        n_positive, n_negative = self.drawn(n_rows)
        return int(n_positive), int(n_negative)

    def draw(self, n_rows: int, rng: np.random.Generator) -> tuple[Flips, tuple[int, int] | None]:
        """Draw an audit, and the counts of the whole data where the test needs them."""
        if self.sampled_by == "random":
            n_positive = int(rng.binomial(n_rows, self.share))
        else:
            n_positive, _ = self._whole(n_rows)
        if self.sampled_by == "given":
            chances = self.wrong_labels()
            wrong = rng.binomial([n_positive, n_rows - n_positive], chances)
            truly = n_positive - int(wrong[0]) + int(wrong[1])
            flips = Flips(truly, int(wrong[1]), n_rows - truly, int(wrong[0]))
            negative, positive = self.whole_data(n_rows)
            return flips, (round(negative), round(positive))
        sizes = [n_positive, n_rows - n_positive]
        flipped = rng.binomial(sizes, [self.noise.alpha, self.noise.beta])
        return Flips(sizes[0], int(flipped[0]), sizes[1], int(flipped[1])), None


def _given_centre(audit: AuditByGiven) -> tuple[float, float]:
    """Return mean and standard deviation of z(0) of an audit by given class."""
    null, seen = audit.constrained(0.0), audit.seen
    gradient, sizes = null.gradient("asymmetry"), audit.sizes
    standard_error = np.sqrt(gradient**2 @ (null.vector * (1 - null.vector) / sizes))
    spread = np.sqrt(gradient**2 @ (seen.vector * (1 - seen.vector) / sizes))
    mean = gradient @ (seen.vector - null.vector) / standard_error
    return float(mean), float(spread / standard_error)
