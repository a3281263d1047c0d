"""The sentences of a sitting: what is found so far, and what it will be worth."""

from typing import TYPE_CHECKING

from evenodds.elicit.export import Findings
from evenodds.elicit.images import LARGEST
from evenodds.elicit.information import hidden_line, information_lines
from evenodds.elicit.outlook import View
from evenodds.elicit.sitting import Sitting

if TYPE_CHECKING:
    from evenodds.elicit.desk import Desk

# Fewer repeats than this say nothing about consistency.
FEW = 4


def count(number: int, thing: str) -> str:
    """Return ``1 toss-up`` or ``3 toss-ups``."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def running_line(n_own: int, n_rows: int, outlook: View, *, alone: bool = True) -> str:
    """Return how many toss-ups an expert found, and what could be detected with all of them.

    How many others found stays untold: an expert who knows may follow.
    """
    if n_own == 0:
        return "No toss-up found yet; they will come."
    found = f"{count(n_own, 'toss-up')} found so far."
    if outlook.state == "unavailable":
        return found
    if outlook.state == "unknown":
        return f"{found} What they can show is worked out as more come in."
    if outlook.asymmetry is None:
        return f"{found} That is not enough yet to find a difference of any size."
    return (
        f"{found} With {'them' if alone else 'those of all experts'}, a test of these {n_rows:,} "
        "rows would probably notice if the shares of wrong labels in the two classes differed by "
        f"{100 * outlook.asymmetry:.0f} in 100."
    )


def opening_lines(desk: "Desk") -> list[str]:
    """Return what to know before anyone is asked: what experts see, and what they cannot."""
    lines = information_lines(desk.sitting)
    hidden = hidden_line(desk.sitting, desk.table.column_names)
    if hidden is not None:
        lines.append(hidden)
    cases = desk.sitting.cases
    without = desk.showing.n_without_picture(desk.table, cases)
    if without:
        lines.append(
            f"Warning: {without} of {len(cases)} cases name a picture that cannot be shown: it is "
            f"not in {desk.showing.folders[0]}, larger than {LARGEST / 1e6:g} MB, or no picture."
        )
    return lines


def closing_lines(sitting: Sitting, found: Findings) -> list[str]:
    """Return what to know of the files that a sitting ends in."""
    return [*judgement_lines(found), *information_lines(sitting)]


def judgement_lines(found: Findings) -> list[str]:
    """Return what the answers say about the experts' judgement."""
    known = found.judgement
    lines = []
    if known.consistency is None:
        lines.append("No toss-up has come back yet, so little is known of how surely it is one.")
    else:
        again = round(known.consistency * known.n_repeats)
        lines.append(
            f"{count(known.n_repeats, 'toss-up')} came back later; {again} "
            f"{'was' if again == 1 else 'were'} called a toss-up again."
        )
        if known.n_repeats >= FEW and known.consistency < 0.5:
            lines.append(
                "Answers changed so often that they tell little: talk about what makes a case a "
                "toss-up, and sit again."
            )
    if known.agreement is not None:
        lines.append(
            f"Of one expert's toss-ups, another expert saw {known.agreement:.0%} as one too."
        )
    if found.toss_ups:
        widest = max(known.tolerance(toss_up) for toss_up in found.toss_ups)
        lines.append(
            f"A toss-up is taken as known to ±{widest:.2f}, and all of them together to "
            f"±{known.shared_tolerance:.2f}."
        )
    return lines
