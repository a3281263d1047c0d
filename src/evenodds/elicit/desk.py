"""Everything a running sitting needs at hand, and the few things it does."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evenodds.elicit.answers import Answer, Verdict, toss_ups
from evenodds.elicit.export import (
    Findings,
    Outputs,
    anchor_table,
    findings,
    write_anchors,
    write_answers,
)
from evenodds.elicit.outlook import Outlook, Prospect, View
from evenodds.elicit.queue import Question
from evenodds.elicit.show import Showing
from evenodds.elicit.sitting import Sitting
from evenodds.elicit.store import Store
from evenodds.elicit.words import running_line
from evenodds.errors import InputError
from evenodds.files import FORMULA_STARTS

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_NAME = 60


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
        if tidy[0] in FORMULA_STARTS or not tidy.isprintable() or set(tidy) & set("/\\?#"):
            raise InputError("Please write your name without special signs.")
        known = {other.casefold(): other for other in self.store.experts()}
        return known.get(tidy.casefold(), tidy)

    def question(self, expert: str, answered: list[Answer]) -> Question | None:
        """Return what to ask an expert now."""
        return self.sitting.queue().next_question(expert, answered)

    def answer(
        self, expert: str, *, number: int, case: int, verdict: Verdict, chance: float | None
    ) -> bool:
        """Keep an answer about the case that question `number` showed; False if it cannot be kept.

        An answer that comes twice (a double click, a page sent again) is kept once. One to
        another case, or another one to the same case (a second window, the back button), is not.
        """
        given = self.store.answers(expert)
        if number < len(given):
            kept = given[number]
            return (kept.case, kept.verdict, kept.chance) == (case, verdict, chance)
        question = self.question(expert, given)
        if question is None or (question.number, question.case) != (number, case):
            return False
        return self.store.add(
            expert,
            number,
            case=case,
            occasion=question.occasion,
            verdict=verdict,
            chance=chance,
        )

    def findings(self) -> Findings:
        """Return what all answers so far amount to."""
        return findings(self.store.answers(), self.sitting, self.unseen_lean)

    def running_line(self, expert: str) -> tuple[str, bool]:
        """Return the line under an expert's question, and whether more is being worked out."""
        found = self.findings()
        prospect = Prospect.of(len(found.toss_ups), found.judgement)
        view = View("unknown") if prospect is None else self.outlook.ask(prospect)
        own = len(toss_ups(self.store.answers(expert)))
        alone = len(self.store.experts()) < 2
        return running_line(own, self.table.num_rows, view, alone=alone), view.working

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
