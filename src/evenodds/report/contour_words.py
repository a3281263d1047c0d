"""What a contour test has shown, in words."""

from typing import Final

from evenodds.inference.contour.checks import list_noise
from evenodds.inference.contour.results import ContourTestResult, Noise
from evenodds.report.verdict import show_interval, show_pvalue

NAMES: Final[dict[str, str]] = {
    "clean": "Clean labels",
    "uniform": "Uniform noise",
    "class-conditional": "Class-conditional noise",
    "instance-dependent": "Noise that depends on the features",
    "cannot tell": "Cannot tell",
}


def verdict(result: ContourTestResult, significance: float = 0.05) -> str:
    """Return the outcome of a contour test in two or three sentences."""
    kept = result.not_rejected(significance)
    sentences = [
        _rejected(result, kept),
        _kept(result, kept, significance),
        _wider(result, kept, significance),
    ]
    if any(check.concern for check in result.diagnostics):
        sentences.append("See what to doubt before acting on it.")
    return " ".join(sentence for sentence in sentences if sentence)


def headline(result: ContourTestResult, significance: float = 0.05) -> str:
    """Return the outcome in one line, for a reader who reads no further."""
    kept = result.not_rejected(significance)
    if kept == "instance-dependent":
        return (
            "No pair of flip rates explains these labels: noise depends on the features, or the "
            "stated posteriors are off."
        )
    unseen = result.not_ruled_out(significance)
    if unseen:
        listed = list_noise(unseen, "or", sizes=False)
        return f"{UNTOLD[kept]}: these cases do not rule out {listed}."
    if kept == "clean":
        return (
            "These labels fit the stated posteriors; noise of the sizes asked about is ruled out."
        )
    if kept == "uniform":
        return "Equal flips of both classes explain these labels; wider noise is ruled out."
    more, less = _flipped_more(result)
    return f"{more!r} is flipped more often than {less!r}; two constant flip rates explain it."


UNTOLD: Final[dict[str, str]] = {
    "clean": "No noise was found, but whether there is some cannot be told",
    "uniform": "There is noise, but of which kind cannot be told",
    "class-conditional": "Not equal flips, but whether flips depend on the case cannot be told",
}


def next_steps(result: ContourTestResult, significance: float = 0.05) -> list[str]:
    """Return what a user can do now, most useful first."""
    reached = result.reached(significance)
    if reached == "cannot tell":
        return [
            "To rule out wider noise, collect more rows, and more cases at five or more posteriors "
            "with a smaller tolerance.",
            "Or look up the truth of some rows: audit_test needs no model of the noise.",
        ]
    if reached == "clean":
        return ["To find weaker noise, collect more rows, or anchors nearer to 0 and 1."]
    if reached == "uniform":
        return [
            "Equal flips move no boundary of a loss that tolerates them; what they cost is rows.",
            "To find smaller asymmetries, use asymmetry_test with toss-up cases.",
        ]
    if reached == "instance-dependent":
        return [
            "Check the stated posteriors first: wrong ones look the same.",
            "See where the labels leave the line, and have an expert look again at such cases.",
            "Do not correct with one pair of flip rates: none fits.",
        ]
    return [
        "Train robustly: NoiseAwareLogisticRegression(alpha, beta) learns the clean curve.",
        "Relabel: evenodds test --flips flips.csv ranks the labels most likely flipped.",
    ]


def why_untested(result: ContourTestResult, noise: Noise = "class-conditional") -> str:
    """Say why a noise was not tested on the contours."""
    if len(result.contours) > 2 or noise != "class-conditional":
        return "too few of the contours are told apart"
    return "two contours always lie on a line"


def _rejected(result: ContourTestResult, reached: Noise) -> str:
    """Say what was rejected on the way."""
    parts = []
    for rung in result.rungs:
        if rung.hypothesis == reached or rung.pvalue is None:
            break
        parts.append(f"{NAMES[rung.hypothesis].lower()} ({show_pvalue(rung.pvalue)})")
    if not parts:
        return ""
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    verb = "is" if len(parts) == 1 and "labels" not in parts[0] else "are"
    return f"{listed[0].upper()}{listed[1:]} {verb} rejected."


def _kept(result: ContourTestResult, reached: Noise, significance: float) -> str:
    """Say what is not rejected."""
    if reached == "instance-dependent":
        return _how_it_depends(result, significance)
    pvalue = result.rung(reached).pvalue
    if pvalue is None or result.rung(reached).contour_pvalue is None:
        if len(result.contours) > 2 or reached != "class-conditional":
            return f"What more there is cannot be tested: {why_untested(result, reached)}."
        return (
            "With two contours any noise is a line: a third would tell class-conditional noise "
            "from noise that depends on the features."
        )
    verb = "are" if reached == "clean" else "is"
    kept = f"{NAMES[reached]} {verb} not rejected ({show_pvalue(pvalue)})"
    if reached == "clean":
        return f"{kept}."
    if reached == "uniform":
        return f"{kept}, at a rate of about {100 * (result.alpha + result.beta) / 2:.0f} in 100."
    interval = result.confidence_interval(1 - significance)
    return (
        f"{kept}: by the line, alpha = {result.alpha:.2f} and beta = {result.beta:.2f}, an "
        f"asymmetry (beta - alpha) {show_interval(interval)}."
    )


def _wider(result: ContourTestResult, kept: Noise, significance: float) -> str:
    """Say which stated noises are ruled out, or could not have been."""
    if kept == "instance-dependent":
        return ""
    unseen = result.not_ruled_out(significance)
    if unseen:
        return (
            "No more noise than that was found, but these cases do not rule out "
            f"{list_noise(unseen, 'or')}."
        )
    beyond = [wider for wider in result.wider if wider.rung == kept]
    return f"Ruled out: {list_noise(beyond, 'and')}."


def _how_it_depends(result: ContourTestResult, significance: float) -> str:
    """Say by which sign noise was seen to depend on the features."""
    line = result.rung("class-conditional").contour_pvalue
    bent = line is not None and line < significance
    apart = result.agreement is not None and result.agreement.pvalue < significance
    if bent and apart:
        how = "The contours lie on no line, and cases of one contour are not labelled alike."
    elif apart:
        how = (
            "The contours could lie on a line, but cases of one contour are not labelled alike: "
            "flips that depend on the features can balance on average."
        )
    else:
        how = "The contours lie on no line."
    return f"{how} Either flips depend on the features, or the stated posteriors are wrong."


def _flipped_more(result: ContourTestResult) -> tuple[object, object]:
    """Return the class that loses more labels, and the other."""
    if result.asymmetry < 0:
        return result.positive, result.negative
    return result.negative, result.positive
