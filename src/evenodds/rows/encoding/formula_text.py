"""What a formula says before any data is seen: its label, its columns, its terms."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from evenodds.errors import InputError
from evenodds.rows.encoding.allowed_terms import Code, check_formula, shown
from evenodds.validation import near_misses


@dataclass(frozen=True, slots=True)
class FormulaText:
    """A formula as written; it is parsed whenever it is needed, which takes milliseconds."""

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not self.text.strip():
            raise InputError(f"formula is {self.text!r} but must be text such as 'age + C(site)'.")
        check_formula(self.text)
        self.parsed()

    def parsed(self) -> Any:
        """Return formulaic's right-hand side."""
        return self._sides()[1]

    @property
    def label(self) -> str | None:
        """The label on the left-hand side, or None."""
        left = self._sides()[0]
        if left is None:
            return None
        terms = [str(term).strip("`") for term in left]
        factors = [factor for term in left for factor in term.factors]
        if len(factors) != 1 or factors[0].eval_method.name != "LOOKUP":
            raise InputError(
                f"formula {self.text!r} has {' + '.join(terms)!r} on its left: put the name of the "
                "label column there, or nothing."
            )
        return str(factors[0].expr).strip("`")

    def without_label(self) -> "FormulaText":
        """Return the right-hand side alone, for labels that are given apart."""
        return FormulaText(self.text.partition("~")[2] if self.label is not None else self.text)

    def columns(self, names: Sequence[str], source: str) -> tuple[str, ...]:
        """Return the columns of a table that the right-hand side reads, in the table's order."""
        used = {name for factor in self._factors() for name in _columns_of(factor)}
        for name in sorted(used):
            if name not in names:
                raise InputError(f"{source} has no column {name!r}; {near_misses(name, names)}")
        found = tuple(name for name in names if name in used)
        if self.label in found:
            raise InputError(f"formula {self.text!r} has the label on both sides.")
        if not found:
            raise InputError(f"formula {self.text!r} uses no column of {source}.")
        return found

    def categories(self, names: Sequence[str]) -> frozenset[str]:
        """Return the columns whose values are levels, by C()."""
        return frozenset(name for code in self._codes() for name in code.categories & {*names})

    @property
    def learns(self) -> bool:
        """Whether any term learns from the data."""
        return any(code.learns for code in self._codes())

    def width(self, levels: Mapping[str, int]) -> int:
        """Return the most features the terms make, given how many levels columns have."""
        return sum(
            math.prod(_width(factor, levels) for factor in term.factors) for term in self.parsed()
        )

    def refuse_term(self, error: Exception, source: str) -> NoReturn:
        """Say which term cannot be evaluated, and why."""
        reason = " ".join(str(error).split())
        found = re.match(r"Unable to evaluate factor `(.*)`\. \[\w+: (.*)\]$", reason)
        if found is None:
            raise InputError(f"formula {self.text!r} cannot be used: {reason}") from None
        term, why = found.groups()
        if "extend beyond upper and/or lower bounds" in why:
            raise InputError(
                f"{source} has values outside the range that {term} has learnt from the data: "
                "leave them out, or give lower_bound and upper_bound."
            ) from None
        raise InputError(f"term {term} of the formula cannot be evaluated: {why}") from None

    def _sides(self) -> tuple[Any, Any]:
        """Return the left- and the right-hand side; either may hold several terms."""
        from formulaic import Formula
        from formulaic.errors import FormulaicError

        try:
            formula = Formula(self.text)
        except FormulaicError as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise InputError(f"formula {shown(self.text)!r} cannot be used: {reason}.") from None
        if hasattr(formula, "rhs"):
            return getattr(formula, "lhs", None), formula.rhs
        return None, formula

    def _factors(self) -> Iterator[Any]:
        for term in self.parsed():
            yield from term.factors

    def _codes(self) -> Iterator[Code]:
        for factor in self._factors():
            if factor.eval_method.name == "PYTHON":
                yield Code(str(factor.expr))


def _columns_of(factor: Any) -> set[str]:
    """Return the columns that a factor reads."""
    expression, kind = str(factor.expr), factor.eval_method.name
    if kind == "LITERAL":
        return set()
    return Code(expression).columns if kind == "PYTHON" else {expression.strip("`")}


def _width(factor: Any, levels: Mapping[str, int]) -> int:
    """Return the most columns that a factor makes."""
    if factor.eval_method.name == "PYTHON":
        return Code(str(factor.expr)).width(levels)
    return levels.get(str(factor.expr).strip("`"), 1)
