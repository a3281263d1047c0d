"""What there is to say about a contour test."""

from dataclasses import asdict
from typing import Final

from evenodds.inference.contour.contour_test import list_noise
from evenodds.inference.contour.result import ContourTestResult, Noise
from evenodds.report import wording
from evenodds.report.sheet import (
    Caption,
    Key,
    Sheet,
    SheetPicture,
    SheetTable,
    View,
)
from evenodds.validation import signed, unsigned

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
    if wording.is_doubted(result):
        sentences.append(wording.DOUBTED)
    return " ".join(sentence for sentence in sentences if sentence)


def headline(result: ContourTestResult, significance: float = 0.05) -> str:
    """Return the outcome in one line, for a reader who reads no further."""
    kept = result.not_rejected(significance)
    unseen = result.not_ruled_out(significance)
    if unseen:
        listed = list_noise(unseen, "or", sizes=False)
        return f"{UNTOLD[kept]}: these cases do not rule out {listed}."
    if kept != "class-conditional":
        return TOLD[kept]
    more, less = result.negative, result.positive
    if result.asymmetry < 0:
        more, less = less, more
    return f"{more!r} is flipped more often than {less!r}; two constant flip rates explain it."


TOLD: Final[dict[str, str]] = {
    "clean": "These labels fit the stated posteriors; noise of the sizes asked about is ruled out.",
    "uniform": "Equal flips of both classes explain these labels; wider noise is ruled out.",
    "instance-dependent": "No pair of flip rates explains these labels: noise depends on the "
    "features, or the stated posteriors are off.",
}
UNTOLD: Final[dict[str, str]] = {
    "clean": "No noise was found, but whether there is some cannot be told",
    "uniform": "There is noise, but of which kind cannot be told",
    "class-conditional": "Not equal flips, but whether flips depend on the case cannot be told",
}
# What a user can do now, most useful first, by the noise reached.
NEXT_STEPS: Final[dict[str, list[str]]] = {
    "cannot tell": [
        "To rule out wider noise, collect more rows, and more cases at five or more posteriors "
        "with a smaller tolerance.",
        "Or look up the truth of some rows: audit_test needs no model of the noise.",
    ],
    "clean": ["To find weaker noise, collect more rows, or anchors nearer to 0 and 1."],
    "uniform": [
        "Equal flips move no boundary of a loss that tolerates them; what they cost is rows.",
        f"{wording.SMALLER} use asymmetry_test with toss-up cases.",
    ],
    "class-conditional": [
        f"{wording.train_robustly()}.",
        "Relabel: evenodds test --flips flips.csv ranks the labels most likely flipped.",
    ],
    "instance-dependent": [
        "Check the stated posteriors first: wrong ones look the same.",
        "See where the labels leave the line, and have an expert look again at such cases.",
        "Do not correct with one pair of flip rates: none fits.",
    ],
}


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
        parts.append(f"{NAMES[rung.hypothesis].lower()} ({wording.show_pvalue(rung.pvalue)})")
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
    kept = f"{NAMES[reached]} {verb} not rejected ({wording.show_pvalue(pvalue)})"
    if reached == "clean":
        return f"{kept}."
    if reached == "uniform":
        return f"{kept}, at a rate of about {100 * (result.alpha + result.beta) / 2:.0f} in 100."
    interval = result.confidence_interval(1 - significance)
    positive, negative = wording.show_label(result.positive), wording.show_label(result.negative)
    return (
        f"{kept}: by the line, about {max(100 * result.alpha, 0):.0f} of every 100 true {positive} "
        f"and {max(100 * result.beta, 0):.0f} of every 100 true {negative} are flipped, an "
        f"asymmetry {wording.show_interval(interval)}."
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
    how = "The contours lie on no line."
    if bent and apart:
        how = "The contours lie on no line, and cases of one contour are not labelled alike."
    elif apart:
        how = (
            "The contours could lie on a line, but cases of one contour are not labelled alike: "
            "flips that depend on the features can balance on average."
        )
    return f"{how} Either flips depend on the features, or the stated posteriors are wrong."


QUESTION: Final = "Which noise do these labels have?"

WORDS: Final = [
    *wording.explained(*wording.NOISES, *wording.RATES, "Posterior", "Tolerance"),
    (
        "Noise that depends on the features",
        "Some cases are flipped more often than others of their class, such as the hard ones.",
    ),
    ("Contour", "Cases of which an expert states the same chance of being positive."),
    (
        "P-value of a rung",
        "Twice the smaller of two: that of the contours, and that of cases within contours, where "
        "these could be asked.",
    ),
    (
        "Ladder",
        "Noise models from the simplest to the widest, tested in this order; the first that is "
        "not rejected is where it stops.",
    ),
    (
        "Ruled out",
        "Wider noise of the stated size is itself rejected. Where it is not, it would have gone "
        "unseen, and which noise these labels have cannot be told.",
    ),
]


def contour_sheet(result: ContourTestResult, view: View) -> Sheet:
    """Return the sheet of a contour test."""
    significance = view.significance
    return Sheet(
        result=result,
        view=view,
        question=QUESTION,
        headline=headline(result, significance),
        verdict=verdict(result, significance),
        keys=_keys(result, view),
        facts=_facts(result, view),
        tables=(_ladder(result, view), *_wider_table(result, view), _contours(result)),
        next_steps=NEXT_STEPS[result.reached(significance)],
        takes=_assumptions(result),
        made_with=[("engine", result.engine), *result.settings.items()],
        formulas="contour_formulas.html",
        python=_python(result),
        words=WORDS,
        answers={
            **wording.interval_answers(result, view, "confidence_interval"),
            "alpha_interval": asdict(result.confidence_interval(view.level, "alpha")),
            "beta_interval": asdict(result.confidence_interval(view.level, "beta")),
            "reached": result.reached(significance),
            "not_rejected": result.not_rejected(significance),
            "not_ruled_out": [asdict(wider) for wider in result.not_ruled_out(significance)],
        },
        holds="shares of labels at the contours and at single cases, no rows",
        pictures={"contours": SheetPicture("Do the contours lie on a line?", _contour_caption)},
    )


def _keys(result: ContourTestResult, view: View) -> tuple[Key, ...]:
    line = result.rung("class-conditional")
    interval = result.confidence_interval(view.level)
    sizes = f"{result.n_anchors} anchors, {result.n_rows:,} rows"
    how = f"{len(result.contours)} contours, {result.engine} fit"
    return (
        Key("Which noise", NAMES[result.reached(view.significance)], sizes),
        Key("Two flip rates fit?", _shown(line.pvalue, "not tested"), how),
        wording.asymmetry_key(result.asymmetry, interval, ", if the line holds"),
    )


def _facts(result: ContourTestResult, view: View) -> list[tuple[str, str]]:
    settings = ", ".join(f"{name} {value}" for name, value in result.settings.items())
    lines = [
        ("engine", f"{result.engine} ({settings})"),
        ("noise", NAMES[result.reached(view.significance)].lower()),
        ("not rejected", NAMES[result.not_rejected(view.significance)].lower()),
    ]
    for name, rate in (("flip rates", "alpha"), ("", "beta"), ("", "asymmetry")):
        interval = result.confidence_interval(view.level, rate)  # type: ignore[arg-type]
        written = signed if rate == "asymmetry" else unsigned
        shown = f"{rate} = {written(getattr(result, rate))}"
        lines.append((name, f"{shown}, {wording.interval_in_full(interval, written)}"))
    agreement = result.agreement
    if agreement is not None:
        found = f"chi2 = {agreement.statistic:.2f} on {agreement.df}"
        lines.append(("within contours", f"{found}, {wording.show_pvalue(agreement.pvalue)}"))
    contours = f"{len(result.contours)} contours, {wording.known_to(result)}"
    return [
        *lines,
        wording.rows_fact(result),
        ("anchors", f"{result.n_anchors} in {contours}"),
        wording.label_fact(result),
    ]


def _ladder(result: ContourTestResult, view: View) -> SheetTable:
    """Return the rungs, and where the sequence stopped."""
    kept = result.not_rejected(view.significance)
    rows, going = [], True
    for rung in result.rungs:
        stops = rung.hypothesis == kept
        tested = rung.contour_pvalue is not None
        outcome = ("not rejected" if tested else "not tested") if stops else "rejected"
        rows.append(
            (
                NAMES[rung.hypothesis],
                f"{rung.statistic:.2f}" if tested else "",
                str(rung.df),
                _shown(rung.contour_pvalue, "not tested"),
                _shown(rung.pvalue, ""),
                outcome if going else "not asked",
            )
        )
        going = going and not stops
    header = ("noise", "chi2", "df", "contours", "with cases", "outcome")
    return SheetTable("The ladder", header, tuple(rows))


def _wider_table(result: ContourTestResult, view: View) -> tuple[SheetTable, ...]:
    """Return the stated noises beyond the one that is not rejected; no table where all are."""
    kept = result.not_rejected(view.significance)
    rows = tuple(
        (
            list_noise([wider], "or"),
            "unknown" if wider.standard_error is None else f"{wider.standard_error:.3f}",
            _shown(wider.pvalue, ""),
            "ruled out" if wider.ruled_out(view.significance) else "cannot tell",
        )
        for wider in result.wider
        if wider.rung == kept
    )
    if not rows:
        return ()
    header = ("beyond it", "± s.e.", "this much or more", "outcome")
    return (SheetTable(f"Would wider noise than {NAMES[kept].lower()} be seen?", header, rows),)


def _shown(pvalue: float | None, otherwise: str) -> str:
    return otherwise if pvalue is None else wording.show_pvalue(pvalue)


def _contours(result: ContourTestResult) -> SheetTable:
    rows = []
    for one in result.contours:
        numbers = (one.stated, one.stated_error, one.estimate, one.standard_error)
        shown = [f"{number:.3f}" for number in (*numbers, result.line(one.stated)[0])]
        rows.append((*shown, str(one.n_anchors)))
    header = ("stated", "± s.e.", "share labelled positive", "± s.e.", "line", "anchors")
    return SheetTable("The contours", header, tuple(rows))


def _assumptions(result: ContourTestResult) -> tuple[tuple[str, ...], ...]:
    shape = (
        "Labels depend on the features through one index, along any curve."
        if result.engine == "spline"
        else "The share of positive labels is nearly straight within reach of each anchor."
    )
    return (
        ("The stated posteriors are right, within their tolerance.", "direction"),
        (wording.CHOSEN_BLINDLY,),
        (shape, "slope", "neighbours"),
        (wording.INDEPENDENT, "groups"),
        ("There are far more rows than parameters.", "rows per parameter"),
    )


def _python(result: ContourTestResult) -> str:
    stated = f", shared_tolerance={result.shared_tolerance:g}"
    shared = "" if result.shared_is_default else stated
    comments = [
        f"# X: {result.n_rows:,} rows; y: their labels; points: the {result.n_anchors} anchors",
        f"anchors = eo.Anchors(points, posterior=posteriors, tolerance=tolerances{shared})",
    ]
    arguments = ["X, y, anchors", f"engine={result.engine!r}", f"positive={result.positive!r}"]
    if any(check.name == "groups" for check in result.diagnostics):
        arguments.append("groups=groups")
    return wording.repeat_call(comments, "contour_test", arguments)


def _contour_caption(result: ContourTestResult, view: View) -> Caption:
    """Say how the figure is read, and what it shows."""
    line = result.rung("class-conditional")
    if line.contour_pvalue is None:
        finding = f"{why_untested(result).capitalize()}."
    else:
        bent = line.contour_pvalue < view.significance
        what = "The contours leave the line" if bent else "No bend of the line is shown"
        finding = f"{what} ({wording.show_pvalue(line.contour_pvalue)})."
    apart = result.agreement
    if apart is not None and apart.pvalue < view.significance:
        finding += (
            f" Cases of one contour are labelled apart ({wording.show_pvalue(apart.pvalue)})."
        )
    return Caption(
        reading=(
            "Each black dot is a contour: anchors of one stated posterior. Without flips dots lie "
            "on the dashed diagonal; equal flips turn it about the cross at 1/2; unequal flips "
            "make it any flatter line. Dots that lie on no line, or single cases of one contour "
            "far apart, speak of noise that depends on the features."
        ),
        finding=finding,
    )
