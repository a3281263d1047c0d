"""An audit's size in words."""

from evenodds.planning.audit_size import AuditSize
from evenodds.report.text import listed, wrapped

CLOSE = 0.05
CLASSES = {"random": "expected to be truly", "true": "truly", "given": "labelled"}


def audit_size_verdict(plan: AuditSize) -> str:
    """Return the answer in two sentences."""
    drawn = CLASSES[plan.sampled_by]
    return (
        f"Audit {plan.n_rows:,} rows: {plan.n_positive:,} {drawn} positive and "
        f"{plan.n_negative:,} {drawn} negative. Flips of {plan.alpha:.1%} of positives and "
        f"{plan.beta:.1%} of negatives (beta - alpha {plan.beta - plan.alpha:+.3f}) are then found "
        f"with probability {plan.power:.2f} at level {plan.significance:g}."
    )


def describe_audit_size(plan: AuditSize) -> str:
    """Return a plan as plain text."""
    return "\n".join(
        [wrapped(audit_size_verdict(plan)), *listed("How far to trust it", audit_size_checks(plan))]
    )


def audit_size_checks(plan: AuditSize) -> list[str]:
    """Return what speaks to the plan."""
    sentences = []
    if plan.simulated_power is not None and plan.simulated_interval is not None:
        low, high = plan.simulated_interval
        far = max(low - plan.power, plan.power - high, 0.0)
        agreement = (
            "as the formula says"
            if far == 0
            else "close to the formula"
            if far <= CLOSE
            else "unlike the formula: go by this"
        )
        sentences.append(
            f"Simulated power: {plan.simulated_power:.2f} (95 % interval {low:.2f} to {high:.2f}), "
            f"{agreement}."
        )
    sentences.append(
        "It holds for rows drawn as said; suspicious rows first would tell nothing of the rest."
    )
    return sentences
