"""What was checked beside the ladder, each as a number and a plain sentence."""

from collections.abc import Sequence

from evenodds.inference.contour.groups import Contours
from evenodds.inference.contour.ladder import NoiseFit
from evenodds.inference.contour.results import Agreement, Noise, Wider
from evenodds.inference.results import Diagnostic

# A flip rate this many standard errors below zero, or a slope above it, is no chance.
FAR_FROM_ZERO = 2.0
# Below so many rows on the slope a parameter, counted as clean ones, the shape of the curve is a
# guess: the ladder then climbed too far in up to .22 of simulated runs, though not always.
CLEAN_ROWS_A_PARAMETER = 50
# The level at which a check rules noise out.
LEVEL = 0.05


def contours_check(contours: Contours) -> Diagnostic:
    """Say how anchors were grouped, and whether the line can be tested."""
    listed = ", ".join(f"{stated:.2g}" for stated in contours.stated)
    message = f"The anchors form {len(contours)} contours, at stated posteriors {listed}."
    if contours.widest > 0:
        message += f" Posteriors up to {contours.widest:.2g} apart share one."
    few = len(contours) < 3
    if few:
        message += (
            " A line runs through any two points: with a third, class-conditional noise could be "
            "told from noise that depends on the features."
        )
    return Diagnostic(name="contours", message=message, concern=few, statistic=float(len(contours)))


def wider_check(wider: tuple[Wider, ...], kept: Noise) -> Diagnostic | None:
    """Say which stated noises beyond the one that is not rejected would have gone unseen."""
    beyond = [each for each in wider if each.rung == kept]
    if not beyond:
        return None
    unseen = [each for each in beyond if not each.ruled_out(LEVEL)]
    start = f"Beyond {NOUNS[kept]} these contours"
    message = (
        f"{start} do not rule out {list_noise(unseen, 'or')} (at {LEVEL:.0%})."
        if unseen
        else f"{start} rule out {list_noise(beyond, 'and')} (at {LEVEL:.0%})."
    )
    pvalues = [1.0 if each.pvalue is None else each.pvalue for each in beyond]
    return Diagnostic(
        name="wider noise", message=message, concern=bool(unseen), pvalue=max(pvalues)
    )


NOUNS = {
    "clean": "clean labels",
    "uniform": "uniform noise",
    "class-conditional": "class-conditional noise",
}


def list_noise(wider: Sequence[Wider], word: str, *, sizes: bool = True) -> str:
    """Return stated noises, with or without their sizes, as a list in words."""
    named = [f"{WIDER[each.noise]}{_size(each) if sizes else ''}" for each in wider]
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} {word} {named[-1]}"


WIDER = {
    "uniform": "uniform noise",
    "asymmetry": "an asymmetry",
    "hard cases": "hard-case noise",
    "sure cases": "sure-case noise",
}


def _size(wider: Wider) -> str:
    size = f"{100 * wider.size:.0f} in 100"
    return {
        "hard cases": f" ({size} more flips at toss-ups than at sure cases)",
        "sure cases": f" ({size} more flips at sure cases than at toss-ups)",
    }.get(wider.noise, f" of {size}")


def agreement_check(
    agreement: Agreement | None, contours: Contours, n_features: int
) -> Diagnostic | None:
    """Say that cases of one contour were not compared, where a contour might have told."""
    if agreement is not None or n_features == 1:
        return None  # along one feature, cases of one posterior are one case
    single = max(contours.counts) == 1
    why = (
        "every contour has one case; name several at each"
        if single
        else "they do not differ in their features, or groups are too few"
    )
    return Diagnostic(
        name="within contours",
        message=(
            f"Whether cases of one contour are labelled alike was not asked ({why}): noise that "
            "depends on the features but balances on average would not be seen."
        ),
        concern=single,
    )


def direction_check(line: NoiseFit) -> Diagnostic | None:
    """Doubt a line that does not rise, or asks for a flip rate below zero; no noise does."""
    slope = 1 - float(line.rates.sum())
    spread = float(line.covariance.sum()) ** 0.5
    if slope < FAR_FROM_ZERO * spread:
        return _no_rise(slope, spread)
    spreads = line.covariance.diagonal() ** 0.5
    distances = line.rates / spreads
    name, distance = min(zip(("alpha", "beta"), distances, strict=True), key=lambda x: x[1])
    if float(distance) >= -FAR_FROM_ZERO:
        return None
    message = (
        f"The line puts {name} {-distance:.1f} standard errors below zero, which no noise does: "
        "labels are surer than the stated posteriors. The expert may be too timid, or the "
        "tolerance too small."
    )
    return Diagnostic(name="direction", message=message, concern=True, statistic=float(distance))


def noise_check(rows_on_slope: float, line: NoiseFit, n_features: int) -> Diagnostic | None:
    """Doubt a curve whose shape few or noisy labels can hardly tell; None where they can.

    A row tells as much of the shape as the square of the line's slope of a clean one does.
    """
    slope = max(1 - float(line.rates.sum()), 0.0)
    clean = rows_on_slope * slope**2
    each = clean / (n_features + 1)
    if each >= CLEAN_ROWS_A_PARAMETER:
        return None
    return Diagnostic(
        name="noise",
        message=(
            f"The {rows_on_slope:,.0f} rows on the slope tell its shape as {clean:,.0f} without "
            f"noise would, {each:.0f} a parameter: below about {CLEAN_ROWS_A_PARAMETER}, p-values "
            "may be too small."
        ),
        concern=True,
        statistic=each,
    )


def _no_rise(slope: float, spread: float) -> Diagnostic:
    """Say that labels do not follow the stated posteriors: alpha + beta is not below 1."""
    if slope < -FAR_FROM_ZERO * spread:
        message = (
            "The line falls: the stated posteriors, or the labels, are the wrong way round "
            f"(alpha + beta is {1 - slope:.2f}, and noise keeps it below 1). Check which label is "
            "the positive one, and give it as positive=."
        )
    else:
        message = (
            f"The line is nearly flat: alpha + beta is {1 - slope:.2f}, give or take "
            f"{spread:.2f}, so it may be 1, where labels say nothing of the true class. Check that "
            "labels and anchors belong together; else collect more rows, or anchors nearer to 0 "
            "and 1."
        )
    return Diagnostic(name="direction", message=message, concern=True, statistic=slope)


def impossible_check(outside: int, n_contours: int) -> Diagnostic | None:
    """Say so where the fit puts a share of labels beyond 0 or 1; None where it does not."""
    if outside == 0:
        return None
    return Diagnostic(
        name="share of labels",
        message=(
            f"At {outside} of {n_contours} contours the fit leaves 0 to 1, as a straight "
            "correction may by chance: hardly any label there is of the other class."
        ),
        concern=False,
        statistic=float(outside),
    )
