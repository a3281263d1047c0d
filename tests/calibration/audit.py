"""Level, power and coverage of audits: ``python -m tests.calibration.audit``."""

import sys

from scipy import stats

import evenodds as eo
from tests.calibration.audit_cells import (
    ANNOTATORS,
    BIASED,
    EVIDENCE_LEVEL_CELLS,
    EVIDENCE_POWER_CELLS,
    LEVEL_CELLS,
    POWER_CELLS,
    ROWS_EACH,
    annotator_errors,
    coverage,
    evidence_rejections,
    rate_coverage,
    rejection_share,
)
from tests.calibration.grouped_audit_cells import GROUP_LEVEL_CELLS, GROUP_POWER_CELLS, judge
from tests.calibration.parts import run_parts

PLANS = (
    ("random", 0.5, 0.2, 0.1),
    ("random", 0.1, 0.2, 0.1),
    ("random", 0.1, 0.05, 0.01),
    ("true", None, 0.05, 0.15),
    ("given", 0.3, 0.2, 0.1),
    ("given", 0.1, 0.05, 0.02),
    ("given", 0.02, 0.3, 0.01),
    ("given", 0.5, 0.9, 0.05),
)


def show_audits(runs: int) -> int:
    """Print level, power and coverage of audits; return how many are out of bounds."""
    upper, failures = _upper(runs, len(LEVEL_CELLS)), 0
    lowest = stats.binom.ppf(1e-3 / 18, runs // 2, 0.95) / (runs // 2)
    print(f"Level, {runs} audits a cell: at most {upper:.3f}; coverage: at least {lowest:.3f}\n")
    print("| drawn | audited | prior | alpha / beta | rejected | coverage of 95% |")
    print("|---|---|---|---|---|---|")
    for cell in (*LEVEL_CELLS, *POWER_CELLS):
        rejected, held = rejection_share(cell, runs), coverage(cell, runs // 2)
        failures += (cell.alpha == cell.beta and rejected > upper) or held < lowest
        print(f"{cell.name} {rejected:.3f} | {held:.3f} |", flush=True)
    return failures


def show_rates(runs: int) -> int:
    """Print the coverage of flip rates by given label; return how many are out of bounds."""
    cells = [cell for cell in (*LEVEL_CELLS, *POWER_CELLS) if cell.sampled_by == "given"]
    lowest = stats.binom.ppf(1e-3 / (2 * len(cells)), runs, 0.95) / runs
    failures = 0
    print(
        f"\nIntervals of flip rates by given label, {runs} audits a cell: at least {lowest:.3f}\n"
    )
    print("| drawn | audited | prior | alpha / beta | alpha held | beta held |")
    print("|---|---|---|---|---|---|")
    for cell in cells:
        alpha, beta = rate_coverage(cell, runs)
        failures += min(alpha, beta) < lowest
        print(f"{cell.name} {alpha:.3f} | {beta:.3f} |", flush=True)
    return failures


def show_groups(runs: int) -> int:
    """Print level, power and coverage of audits by groups; return how many are out of bounds."""
    cells = (*GROUP_LEVEL_CELLS, *GROUP_POWER_CELLS)
    upper = stats.binom.ppf(1 - 1e-3 / len(GROUP_LEVEL_CELLS), runs, 0.05) / runs
    lowest, failures = stats.binom.ppf(1e-3 / (3 * len(cells)), runs, 0.95) / runs, 0
    print(
        f"\nRows that share items or annotators, {runs} audits a cell: level at most {upper:.3f}, "
        f"coverage at least {lowest:.3f}\n"
    )
    print(
        "| drawn | groups x rows | balance | alpha / beta | correlations | without groups ", end=""
    )
    print("| with groups | asymmetry held | alpha held | beta held |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for cell in cells:
        plain, rejected, *held = judge(cell, runs)
        failures += (cell.alpha == cell.beta and rejected > upper) or min(held) < lowest
        shares = " | ".join(f"{share:.3f}" for share in (plain, rejected, *held))
        print(f"{cell.name} {shares} |", flush=True)
    for cell in GROUP_LEVEL_CELLS:
        if cell.shared == "both":
            alone = judge(cell, runs, declared=1)[1]
            print(f"\n{cell.name} items alone declared: {alone:.3f}", flush=True)
    return failures


def show_annotators(runs: int) -> int:
    """Print the errors of naming annotators; return how many are out of bounds."""
    failures = 0
    for biased in (0, BIASED):
        family, share, named = annotator_errors(runs, biased)
        failures += max(family, share) > _upper(runs, 4)
        print(
            f"\n{ANNOTATORS} annotators of {ROWS_EACH} rows, {biased} biased (.35 / .10, others "
            f".10 / .10), {runs} runs: any false name (Holm) {family:.3f}, share of false names "
            f"(BH) {share:.3f}, biased named {named:.3f}",
            flush=True,
        )
    return failures


def show_plans(runs: int) -> int:
    """Print simulated power of audits of the size planned; return how many are far off."""
    failures = 0
    low = stats.binom.ppf(1e-3 / len(PLANS), runs, 0.8) / runs
    print(f"\nAudits planned for a power of .80, {runs} simulated each: at least {low:.3f}\n")
    print("| drawn | prior | alpha / beta | rows | power found |\n|---|---|---|---|---|")
    for sampled_by, prior, alpha, beta in PLANS:
        noise = eo.ClassConditionalNoise(alpha, beta)
        size = eo.audit_size(noise, prior=prior, sampled_by=sampled_by, runs=runs, seed=5)
        failures += not low <= size.simulated_power <= 0.9
        print(
            f"| {sampled_by} | {'any' if prior is None else prior} | {alpha:g} / {beta:g} "
            f"| {size.n_rows:,} | {size.simulated_power:.3f} |",
            flush=True,
        )
    return failures


def show_evidence(runs: int) -> int:
    """Print level and power with an audit as evidence; return how many are out of bounds."""
    upper, failures = _upper(runs, 2 * len(EVIDENCE_LEVEL_CELLS)), 0
    print(f"\nAudit beside anchors, {runs} runs a cell, level at most {upper:.3f}\n")
    print("| world | rows | anchors | audited | alpha / beta | boundary | joint ", end="")
    print("| audit alone | anchors alone |\n|---|---|---|---|---|---|---|---|---|")
    for cell in (*EVIDENCE_LEVEL_CELLS, *EVIDENCE_POWER_CELLS):
        boundary, joint, alone, without = evidence_rejections(cell, runs)
        failures += cell.alpha == cell.beta and max(boundary, joint) > upper
        anchors = f"{without:.3f}" if cell.k else "none"
        print(f"{cell.name} {boundary:.3f} | {joint:.3f} | {alone:.3f} | {anchors} |", flush=True)
    return failures


PARTS = {
    "audits": (show_audits, 1),
    "rates": (show_rates, 1),
    "groups": (show_groups, 2),
    "annotators": (show_annotators, 2),
    "plans": (show_plans, 4),
    "evidence": (show_evidence, 5),
}


def _upper(runs: int, cells: int) -> float:
    """Return the largest share that a level of 5% leaves likely in any of the cells."""
    return float(stats.binom.ppf(1 - 1e-3 / (2 * cells), runs, 0.05) / runs)


if __name__ == "__main__":
    sys.exit(run_parts(__doc__, PARTS))
