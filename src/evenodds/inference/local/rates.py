"""Flip rates from the ends of the anchors' line."""

from scipy.special import ndtri

from evenodds.inference.local.line import AnchorLine
from evenodds.inference.results import FlipRate

CONFIDENCE = 0.95
CRITICAL = float(-ndtri((1 - CONFIDENCE) / 2))


def flip_rates(line: AnchorLine, asymmetry: float) -> tuple[FlipRate, ...]:
    """Return alpha and beta with intervals; nothing where all anchors are stated alike."""
    if not line.has_slope:
        return ()
    beta, alpha = line.height(0.0), 1 - line.height(1.0)
    return tuple(
        FlipRate(
            name=name,
            estimate=_kept(rate),
            low=_kept(rate - CRITICAL * line.standard_error(asymmetry, end)),
            high=_kept(rate + CRITICAL * line.standard_error(asymmetry, end)),
            level=CONFIDENCE,
            n_anchors=int((line.stated == end).sum()),
        )
        for name, rate, end in (("alpha", alpha, 1.0), ("beta", beta, 0.0))
    )


def _kept(rate: float) -> float:
    """Return a rate inside its scale, which a line may leave by chance."""
    return float(min(max(rate, 0.0), 1.0))
