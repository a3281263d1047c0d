"""What a formula says before any data is seen: its label, its columns, its terms."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from evenodds.errors import InputError
from evenodds.validation import near_misses

QUOTED = re.compile(r"`([^`]+)`|\bQ\(\s*['\"]([^'\"]+)['\"]\s*\)")
# Terms that learn from the data.
LEARNING = {"bs", "cr", "cs", "cc", "poly", "center", "scale", "standardize"}


@dataclass(frozen=True, slots=True)
class FormulaText:
    """A formula as written; it is parsed whenever it is needed, which takes milliseconds."""

    text: str

    def __post_init__(self) -> None:
        self.parsed()
        for call in self._calls():
            if call == "lag":
                raise InputError(
                    "lag() in a formula needs the row before, and rows are read in blocks: make "
                    "that column beforehand."
                )

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
        used = {name for factor in self._factors() for name in _names_in(factor)}
        for factor in self._factors():
            if factor.eval_method.name == "LOOKUP" and str(factor.expr).strip("`") not in names:
                name = str(factor.expr).strip("`")
                raise InputError(f"{source} has no column {name!r}; {near_misses(name, names)}")
        found = tuple(name for name in names if name in used)
        if self.label in found:
            raise InputError(f"formula {self.text!r} has the label on both sides.")
        if not found:
            raise InputError(f"formula {self.text!r} uses no column of {source}.")
        return found

    def categories(self, names: Sequence[str]) -> frozenset[str]:
        """Return the columns whose values are levels, by C()."""
        found: set[str] = set()
        for tree in self._trees():
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and _name_of(node) == "C" and node.args:
                    inner = node.args[0]
                    found.update(n.id for n in ast.walk(inner) if isinstance(n, ast.Name))
        return frozenset(found & set(names))

    @property
    def learns(self) -> bool:
        """Whether any term learns from the data."""
        return any(call in LEARNING for call in self._calls())

    def refuse_term(self, error: Exception, source: str) -> NoReturn:
        """Say which term cannot be evaluated, and why."""
        reason = " ".join(str(error).split())
        found = re.match(r"Unable to evaluate factor `(.*)`\. \[(\w+): (.*)\]$", reason)
        if found is None:
            raise InputError(f"formula {self.text!r} cannot be used: {reason}") from None
        term, kind, why = found.groups()
        if "extend beyond upper and/or lower bounds" in why:
            raise InputError(
                f"{source} has values outside the range that {term} has learnt from the data: "
                "leave them out, or give lower_bound and upper_bound."
            ) from None
        if kind == "NameError":
            unknown = re.search(r"name '(\w+)' is not defined|`(.+?)` is not present", why)
            name = next(filter(None, unknown.groups()), why) if unknown else why
            raise InputError(
                f"term {term} of the formula uses {name!r}, which is neither a column of {source} "
                "nor a known function."
            ) from None
        raise InputError(f"term {term} of the formula cannot be evaluated: {why}") from None

    def _sides(self) -> tuple[Any, Any]:
        """Return the left- and the right-hand side; either may hold several terms."""
        from formulaic import Formula  # noqa: PLC0415 - slow to load
        from formulaic.errors import FormulaicError  # noqa: PLC0415

        if not isinstance(self.text, str) or not self.text.strip():
            raise InputError(f"formula is {self.text!r} but must be text such as 'age + C(site)'.")
        try:
            formula = Formula(self.text)
        except (FormulaicError, SyntaxError) as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise InputError(f"formula {self.text!r} cannot be parsed: {reason}.") from None
        if hasattr(formula, "rhs"):
            return getattr(formula, "lhs", None), formula.rhs
        return None, formula

    def _factors(self) -> Iterator[Any]:
        for term in self.parsed():
            yield from term.factors

    def _trees(self) -> Iterator[ast.AST]:
        for factor in self._factors():
            if factor.eval_method.name == "PYTHON":
                yield ast.parse(QUOTED.sub("_", str(factor.expr)), mode="eval")

    def _calls(self) -> Iterator[str]:
        for tree in self._trees():
            for node in ast.walk(tree):
                if isinstance(node, ast.Call):
                    yield _name_of(node)


def _name_of(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _names_in(factor: Any) -> set[str]:
    """Return every name a factor mentions: columns and functions alike."""
    expression = str(factor.expr)
    if factor.eval_method.name == "LOOKUP":
        return {expression.strip("`")}
    quoted = {one or two for one, two in QUOTED.findall(expression)}
    try:
        tree = ast.parse(QUOTED.sub("_", expression), mode="eval")
    except SyntaxError:
        return quoted
    return quoted | {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
