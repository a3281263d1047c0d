"""Everything a running sitting needs at hand, and the few things it does."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evenodds.elicit.answers import Answer, Verdict
from evenodds.elicit.export import (
    Findings,
    Outputs,
    anchor_table,
    findings,
    write_anchors,
    write_answers,
)
from evenodds.elicit.outlook import Outlook, Prospect
from evenodds.elicit.queue import Question
from evenodds.elicit.show import Showing
from evenodds.elicit.sitting import Sitting
from evenodds.elicit.store import Store
from evenodds.elicit.words import running_line
from evenodds.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_NAME = 60
# Spreadsheets take a cell that begins like this for a formula.
NOT_FIRST = "=+-@"


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A sitting in progress.

    Attributes
    ----------
    table : pyarrow.Table
        The data.
    showing : Showing
        What experts see of it.
    store : Store
        The answers.
    outputs : Outputs
        Where anchors and answers are written to.
    outlook : Outlook
        What could be found with the toss-ups so far.
    unseen_lean : float
        How far one expert may lean unseen.
    test_command : str
        What to run on the result.
    """

    table: "pa.Table"
    showing: Showing
    store: Store
    outputs: Outputs
    outlook: Outlook
    unseen_lean: float
    test_command: str

    @property
    def sitting(self) -> Sitting:
        """What the sitting is about."""
        return self.store.sitting

    def expert(self, name: str) -> str:
        """Return a name as its owner first wrote it; refuse what is none."""
        tidy = " ".join(name.split())
        if not tidy or not any(letter.isalnum() for letter in tidy):
            raise InputError("Please write your name: a letter or a number at least.")
        if len(tidy) > LONGEST_NAME:
            raise InputError(f"Please write a name of at most {LONGEST_NAME} letters.")
        if tidy[0] in NOT_FIRST or not tidy.isprintable() or set(tidy) & set("/\\?#"):
            raise InputError("Please write your name without special signs.")
        known = {other.casefold(): other for other in self.store.experts()}
        return known.get(tidy.casefold(), tidy)

    def question(self, expert: str, answered: list[Answer]) -> Question | None:
        """Return what to ask an expert now."""
        return self.sitting.queue().next_question(expert, answered)

    def answer(self, expert: str, number: int, verdict: Verdict, chance: float | None) -> bool:
        """Keep an answer to the question of this number; False if it is not the one open."""
        question = self.question(expert, self.store.answers(expert))
        if question is None or question.number != number:
            return False
        return self.store.add(
            expert,
            number,
            case=question.case,
            occasion=question.occasion,
            verdict=verdict,
            chance=chance,
        )

    def findings(self) -> Findings:
        """Return what all answers so far amount to."""
        return findings(self.store.answers(), self.sitting, self.unseen_lean)

    def running_line(self) -> tuple[str, bool]:
        """Return the line under the question, and whether more is being worked out."""
        found = self.findings()
        n_toss_ups = len(found.toss_ups)
        prospect = Prospect.of(n_toss_ups, found.judgement)
        known, asymmetry = (False, None) if prospect is None else self.outlook.ask(prospect)
        line = running_line(n_toss_ups, self.table.num_rows, known, asymmetry)
        return line, prospect is not None and not known

    def export(self) -> list[Path]:
        """Write the raw answers, and anchors where there are toss-ups; return what was written."""
        answers = self.store.answers()
        write_answers(self.outputs.answers, answers, self.sitting)
        found = self.findings()
        if not found.toss_ups:
            return [self.outputs.answers]
        anchors = anchor_table(self.table, self.sitting.features, found)
        write_anchors(self.outputs.anchors, anchors)
        return [self.outputs.anchors, self.outputs.answers]
