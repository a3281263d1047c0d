"""What every test of an asymmetry can tell, whatever it was made from."""

from typing import Any, Protocol

from evenodds.inference.profile import (
    Alternative,
    ConfidenceInterval,
    Equivalence,
    Profile,
    Reference,
)
from evenodds.inference.results import Diagnostic


class Profiled(Protocol):
    """A result that rests on one function z(Delta_0)."""

    @property
    def statistic(self) -> float: ...

    @property
    def pvalue(self) -> float: ...

    @property
    def asymmetry(self) -> float | None: ...

    @property
    def alpha(self) -> float | None: ...

    @property
    def beta(self) -> float | None: ...

    @property
    def method(self) -> str: ...

    @property
    def alternative(self) -> Alternative: ...

    @property
    def positive(self) -> Any: ...

    @property
    def negative(self) -> Any: ...

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]: ...

    @property
    def profile(self) -> Profile: ...

    @property
    def reference(self) -> Reference: ...

    def confidence_interval(self, level: float = 0.95) -> ConfidenceInterval: ...

    def equivalence(self, margin: float = 0.05) -> Equivalence: ...
