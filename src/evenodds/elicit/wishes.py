"""What whoever prepares a sitting asks for."""

from dataclasses import dataclass
from pathlib import Path

from evenodds.elicit.export import Outputs
from evenodds.elicit.tolerance import UNSEEN_LEAN
from evenodds.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """The options of `evenodds elicit`; None where one was left out.

    A sitting that has begun goes on as it was started: an option left out takes its value from
    there, and one that says otherwise is refused.
    """

    data: Path
    label: str
    out: Path
    raw: Path | None = None
    show: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    positive: str | None = None
    n_cases: int | None = None
    n_repeats: int | None = None
    seed: int | None = None
    unseen_lean: float = UNSEEN_LEAN
    images: Path | None = None

    def outputs(self) -> Outputs:
        """Return where results are written to, refusing the data itself."""
        if not self.out.name:
            raise InputError(f"--out {self.out} is no file: name one, as anchors.csv.")
        outputs = Outputs(self.out, self.raw or self.out.with_name(f"{self.out.stem}_answers.csv"))
        if self.data.resolve() in {outputs.anchors.resolve(), outputs.answers.resolve()}:
            raise InputError(f"--out or --raw would overwrite {self.data}: name another file.")
        return outputs

    @property
    def database(self) -> Path:
        """Where answers are kept as they come."""
        return self.out.with_name(f"{self.out.stem}_answers.db")
