"""What experts see beside what the test goes by: a toss-up of the one need not be of the other.

The test takes an anchor's posterior as that given the features. An expert judges by what is
shown. Where the two differ, toss-ups lie off the test's 1/2 by more than their tolerance says
(docs/elicit.md, "What experts see and what the test goes by").
"""

from evenodds.elicit.sitting import Sitting
from evenodds.validation import join_quoted

# Levels at nominal 5 % where one side alone sees a column that tells as much as a feature does,
# as `python -m tests.calibration.elicited --only columns` measures them.
LEVEL_SEEING_MORE, LEVEL_SEEING_LESS = 0.23, 0.14


def information_lines(sitting: Sitting) -> list[str]:
    """Return warnings where experts see other columns than the test goes by."""
    shown, used = set(sitting.shown), set(sitting.features)
    lines = []
    more = [name for name in sitting.shown if name not in used]
    if more:
        lines.append(
            f"Warning: experts are shown {join_quoted(more)}, which the test does not go by. A "
            f"toss-up to them need not be one given {join_quoted(sitting.features)}, and the test "
            f"then rejects too often: in {LEVEL_SEEING_MORE:.0%} of simulated sittings instead of "
            "5% where one such column told as much as a feature. Show the features only, or make "
            "what else is shown a feature; else doubt any rejection, and more so where the check "
            '"anchors and curve" of the test raises a concern.'
        )
    less = [name for name in sitting.features if name not in shown]
    if less:
        lines.append(
            f"Warning: experts are not shown {join_quoted(less)}, which the test goes by. Their "
            "toss-ups are off by what it would have told them, and the test rejects too often: in "
            f"{LEVEL_SEEING_LESS:.0%} of simulated sittings instead of 5% where one such column "
            "told as much as another feature. Show every feature, or leave it out of --features."
        )
    return lines


def hidden_line(sitting: Sitting, columns: list[str]) -> str | None:
    """Return which columns of the data nobody sees, where some are left out."""
    known = {*sitting.shown, *sitting.features, sitting.label}
    hidden = [name for name in columns if name not in known]
    if not hidden:
        return None
    return (
        f"Experts are shown {join_quoted(sitting.shown)}, and not {join_quoted(hidden)}; "
        "--show names what to show."
    )
