"""What the tests of a confusion matrix return."""

from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np

from evenodds.inference.presented import Presented
from evenodds.inference.provenance import versions_in_use
from evenodds.inference.results import Diagnostic, check_schema
from evenodds.validation import FloatArray

CONFUSION_SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixTest:
    """One hypothesis about a confusion matrix.

    Attributes
    ----------
    name : {"uniform", "symmetry", "homogeneity"}
    statistic, pvalue : float
    degrees_of_freedom : int
    reference : {"chi2", "Monte Carlo"}
        What the statistic is compared with; drawn where a cell has few rows.
    """

    name: str
    statistic: float
    pvalue: float
    degrees_of_freedom: int
    reference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfusionTestResult(Presented):
    """Outcome of the tests of a confusion matrix.

    Attributes
    ----------
    classes : tuple
        Names, in the order of rows and columns.
    counts : tuple of tuple of int
        Rows by true class (down) and given label (across).
    uniform, symmetry, homogeneity : MatrixTest
        Flips go to every other class alike; as many go from i to j as from j to i; given labels
        are as frequent as true classes.
    noise_rate : float
        Share of rows whose label is wrong.
    settings : dict
        Tables drawn for p-values of small samples, and the seed they were drawn with.
    diagnostics : tuple of Diagnostic
        What was noted of the rows.
    versions : dict
        Of the libraries that the numbers depend on.
    """

    classes: tuple[Any, ...]
    counts: tuple[tuple[int, ...], ...]
    uniform: MatrixTest
    symmetry: MatrixTest
    homogeneity: MatrixTest
    noise_rate: float
    settings: dict[str, int]
    diagnostics: tuple[Diagnostic, ...] = ()
    versions: dict[str, str] = field(default_factory=versions_in_use)

    @property
    def pvalue(self) -> float:
        """Of the uniform-noise hypothesis, the question of this house."""
        return self.uniform.pvalue

    @property
    def n_rows(self) -> int:
        """Rows with both labels."""
        return sum(map(sum, self.counts))

    def flip_rates(self) -> FloatArray:
        """Return the share of each true class given each label."""
        table = np.array(self.counts, dtype=np.float64)
        return np.asarray(table / table.sum(axis=1, keepdims=True))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python values, ready for JSON."""
        return {
            "schema_version": CONFUSION_SCHEMA,
            "pvalue": self.pvalue,
            "statistic": self.uniform.statistic,
            "n_rows": self.n_rows,
            **asdict(self),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Rebuild a result from `to_dict`, also after a trip through JSON."""
        known = check_schema(cls, values, CONFUSION_SCHEMA)
        known["classes"] = tuple(known["classes"])
        known["counts"] = tuple(tuple(row) for row in known["counts"])
        known["diagnostics"] = tuple(Diagnostic(**note) for note in known["diagnostics"])
        for name in ("uniform", "symmetry", "homogeneity"):
            known[name] = MatrixTest(**known[name])
        return cls(**known)
