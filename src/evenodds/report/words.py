"""Words that several sheets share: the question, its alternatives, and the glossary."""

from typing import Final

QUESTION: Final = "Is one class flipped more often than the other?"

ALTERNATIVES: Final = {
    "two-sided": "either class is flipped more",
    "greater": "negatives are flipped more (beta > alpha)",
    "less": "positives are flipped more (beta < alpha)",
}

FLIP: Final = ("Flip", "A label that is not the true class.")
UNIFORM_NOISE: Final = (
    "Uniform noise",
    "Labels of both classes are flipped equally often. Labels may be very noisy and still be so.",
)
CLASS_CONDITIONAL_NOISE: Final = (
    "Class-conditional noise",
    "One class is flipped more often than the other. What is learned from such labels is biased.",
)
ANCHOR: Final = (
    "Anchor, toss-up",
    "A case where an expert who knows the truth could not tell the class.",
)
NOT_REJECTED: Final = (
    "Not rejected",
    "The labels do not speak against equal flips. It never means that flips are equal: see which "
    "asymmetries remain possible.",
)
PVALUE: Final = (
    "p-value",
    "How often equal flips alone would give a result at least this far out. It is not the "
    "probability that flips are equal.",
)
AUDIT: Final = ("Audit", "A sample of rows whose true class was looked up.")


def known_to(tolerance: tuple[float, float], shared: float, *, by_default: bool) -> str:
    """Say how well anchors are known: each, and all together."""
    low, high = tolerance
    if high == 0 and shared == 0:
        return "taken as exact"
    own = f"±{low:g}" if low == high else f"±{low:g} to ±{high:g}"
    how = "by default" if by_default else "as stated"
    return f"tolerance {own}, shared {f'±{shared:g}' if shared else 'none'} ({how})"
