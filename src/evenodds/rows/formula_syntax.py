"""What a formula may say, and what it says, before any data is seen or any of it evaluated.

formulaic evaluates the terms of a formula as Python, and formulas may come from strangers. So
each term is read as a syntax tree first: columns, literals, arithmetic, comparison and the
functions below pass, nothing else. What the operators of the formula would expand to is counted
before they do.
"""

import ast
import builtins
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np

from evenodds.errors import InputError
from evenodds.validation import LONGEST_SHOWN, check_column

LONGEST_FORMULA = 10_000
DEEPEST = 20
MOST_TERMS = 1000
# An exponent; a literal beyond it would make numbers that no row can hold.
LARGEST_POWER = 10

# Functions of one value, by their own names and as np.…
ELEMENTWISE = ("log", "log2", "log10", "log1p", "exp", "expm1", "sqrt", "abs", "sin", "cos")
# Functions of formulaic, with the arguments that may follow the first, in their order.
_SPLINE = ("df", "knots", "lower_bound", "upper_bound", "constraints", "extrapolation")
SHAPING: dict[str, tuple[str, ...]] = {
    "poly": ("degree", "raw"),
    "bs": ("df", "knots", "degree", "include_intercept", *_SPLINE[2:4], "extrapolation"),
    "cr": _SPLINE,
    "cc": _SPLINE,
    "center": (),
    "scale": ("center", "scale", "ddof"),
    "C": (),
    "I": (),
}
# Terms that learn from the data.
LEARNING = {"bs", "cr", "cc", "poly", "center", "scale"}
# The largest of those arguments that make columns.
LARGEST = {"degree": 20, "df": 100}
ALLOWED = (
    "columns, numbers, arithmetic, comparison and the functions "
    f"{', '.join((*SHAPING, *ELEMENTWISE))} (the last {len(ELEMENTWISE)} also after np.)"
)
OPERATORS = "+ - : * / ** ^ %in% ~ and parentheses"
ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.BitAnd, ast.BitOr)
COMPARISON = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
NUMBER = re.compile(r"\d+(\.\d*)?|\.\d+")
LITERALS = (bool, int, float, type(None))
# Text that means the same wherever it is quoted again.
PLAIN_TEXT = re.compile(r"[\w .:/()-]*")


@cache
def environment() -> dict[str, Any]:
    """Return all that a term can reach beside columns; every other name is shut off."""
    from formulaic.transforms import TRANSFORMS

    elementwise = {name: getattr(np, name) for name in ELEMENTWISE}
    shut = {*dir(builtins), *TRANSFORMS} - {*SHAPING, "Q"}
    return {**dict.fromkeys(shut), **elementwise, "np": SimpleNamespace(**elementwise)}


def check_formula(text: str) -> None:
    """Refuse a formula that says more than it may, or expands to too many terms."""
    from formulaic.errors import FormulaicError
    from formulaic.parser import DefaultFormulaParser
    from formulaic.parser.algos.tokenize import tokenize

    _check_size(text)
    try:
        for token in tokenize(text):
            _check_token(token.kind.value, token.token)
        tree = DefaultFormulaParser().get_ast(text)
    except (FormulaicError, SyntaxError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"formula {shown(text)!r} cannot be parsed: {reason}.") from None
    _check_expansion(tree, text)


def shown(text: str) -> str:
    """Return text cut to what a message can hold."""
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def _check_size(text: str) -> None:
    """Refuse a formula that is too long or too deep to be parsed."""
    depth = deepest = 0
    for mark in text:
        depth += (mark in "([{") - (mark in ")]}")
        deepest = max(deepest, depth)
    if len(text) > LONGEST_FORMULA or deepest > DEEPEST:
        raise InputError(
            f"formula {shown(text)!r} has {len(text):,} characters and brackets {deepest} deep: it "
            f"may have at most {LONGEST_FORMULA:,}, and {DEEPEST} deep."
        )


def _check_token(kind: str, text: str) -> None:
    """Refuse a piece of a formula that is no column, number, operator or allowed code."""
    if kind == "python":
        Code(text).check()
    elif text in {".", "[", "]"} or (kind == "operator" and "|" in text):
        raise InputError(
            f"the formula has {shown(text)!r} between its terms, which nothing is made of here: "
            f"use {OPERATORS}."
        )
    elif kind == "value" and not NUMBER.fullmatch(text):
        raise InputError(
            f"the formula has the text {shown(text)} among its terms: put names of columns in "
            "backticks."
        )


def _check_expansion(tree: Any, text: str) -> None:
    """Refuse a formula whose operators make too many terms, before they make any."""
    nodes, todo = [], [tree]
    while todo:  # a sum of many terms is as deep as it is long
        nodes.append(todo.pop())
        todo += getattr(nodes[-1], "args", ())
    counts: dict[int, int] = {}
    for node in reversed(nodes):
        if not hasattr(node, "operator"):
            counts[id(node)] = 1
            continue
        counts[id(node)] = _expanded(node, [counts[id(each)] for each in node.args])
        if counts[id(node)] > MOST_TERMS:
            raise InputError(
                f"formula {shown(text)!r} makes more than {MOST_TERMS:,} terms: name those that "
                "matter."
            )


def _expanded(node: Any, counts: Sequence[int]) -> int:
    """Return how many terms an operator makes of those on its sides."""
    symbol = node.operator.symbol
    if symbol in {"**", "^"}:
        power = str(node.args[1])
        if not power.isdecimal() or not 1 <= int(power) <= LARGEST_POWER:
            raise InputError(
                f"the formula has {shown(power)!r} after {symbol}: between terms it must be a "
                f"whole number of at least 1 and at most {LARGEST_POWER}."
            )
        return int(counts[0] ** int(power))
    product = math.prod(counts)
    return {":": product, "*": sum(counts) + product}.get(symbol, sum(counts))


class Code:
    """A term of Python: its syntax tree, and the columns and functions it names."""

    def __init__(self, text: str) -> None:
        from formulaic.utils.code import sanitize_variable_names

        # Read as formulaic reads it, so that what is checked is what is evaluated.
        self.text, self._aliases = text, dict[str, str]()
        code = sanitize_variable_names(text, {}, self._aliases)
        try:
            self._tree = ast.parse(code, mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            self._refuse(code)

    def check(self) -> None:
        """Refuse whatever may not stand in a term."""
        try:
            self._check(self._tree)
        except RecursionError:
            self._refuse(self.text)

    @property
    def columns(self) -> set[str]:
        """Names that are not functions."""
        return self._named(self._tree)

    @property
    def categories(self) -> set[str]:
        """Columns whose values are levels, by C()."""
        marked = [call for call in self._calls() if _name_of(call) == "C"]
        return {name for call in marked for name in self._named(call.args[0])}

    @property
    def learns(self) -> bool:
        """Whether the term learns from the data."""
        return any(_name_of(call) in LEARNING for call in self._calls())

    def width(self, levels: Mapping[str, int]) -> int:
        """Return the most columns the term makes, given how many levels columns have."""
        found = [1, *(levels.get(name, 1) for name in self.columns)]
        for call in self._calls():
            for name, value in _arguments(call):
                if isinstance(value, ast.List):
                    found.append(len(value.elts) + LARGEST["degree"])
                elif name in LARGEST:
                    found.append(int(ast.literal_eval(value) or 1))
        return max(found)

    def _calls(self) -> Iterator[ast.Call]:
        return (node for node in ast.walk(self._tree) if isinstance(node, ast.Call))

    def _named(self, tree: ast.AST) -> set[str]:
        """Return the names in a tree that are not those of functions."""
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        functions = {id(node) for call in calls for node in ast.walk(call.func)}
        found = {
            self._aliases.get(node.id, node.id)
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and id(node) not in functions
        }
        return found | {ast.literal_eval(c.args[0]) for c in calls if _name_of(c) == "Q"}

    def _check(self, node: ast.AST) -> None:
        match node:
            case ast.Name(id=name) if not name.startswith("__"):
                pass
            case ast.Constant(value=bool() | int() | float()):
                pass
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                self._check(operand)
            case ast.BinOp(left=left, op=op, right=right):
                self._check(left)
                self._check(right)
                if isinstance(op, ast.Pow):
                    self._check_power(left, right)
                elif not isinstance(op, ARITHMETIC):
                    self._refuse(node)
            case ast.Compare(left=left, ops=ops, comparators=others):
                if not all(isinstance(op, COMPARISON) for op in ops):
                    self._refuse(node)
                for side in (left, *others):
                    if not _is_plain_text(side):
                        self._check(side)
            case ast.Call():
                self._check_call(node)
            case _:
                self._refuse(node)

    def _check_power(self, base: ast.expr, exponent: ast.expr) -> None:
        """Refuse powers of numbers alone, which could grow without end."""
        number = exponent.operand if isinstance(exponent, ast.UnaryOp) else exponent
        value = number.value if isinstance(number, ast.Constant) else None
        small = isinstance(value, (int, float)) and value <= LARGEST_POWER
        if not (small or self._named(exponent)):
            raise InputError(
                f"term {shown(self.text)} of the formula has the power "
                f"{shown(ast.unparse(exponent))!r}: it must be at most {LARGEST_POWER}."
            )
        if not (isinstance(base, ast.Constant) or self._named(base)):
            self._refuse(base)

    def _check_call(self, call: ast.Call) -> None:
        name = _name_of(call)
        if name == "Q":
            if len(call.args) != 1 or call.keywords or not _is_plain_text(call.args[0]):
                self._refuse(call)
            return
        if name not in SHAPING and name.removeprefix("np.") not in ELEMENTWISE:
            self._refuse(call.func)
        if not call.args:
            self._refuse(call)
        self._check(call.args[0])
        for argument, value in _arguments(call):
            if argument not in SHAPING.get(name, ()):
                self._refuse(call)
            self._check_argument(argument, value)

    def _check_argument(self, argument: str, value: ast.expr) -> None:
        """Refuse an argument that is no literal, or makes too many columns."""
        entries = value.elts if isinstance(value, ast.List) else [value]
        for entry in entries:
            inner = entry.operand if isinstance(entry, ast.UnaryOp) else entry
            literal = isinstance(inner, ast.Constant) and isinstance(inner.value, LITERALS)
            if not (literal or _is_plain_text(entry)) or len(entries) > LARGEST["df"]:
                self._refuse(value)
        number = ast.literal_eval(value)
        most = LARGEST.get(argument)
        if most is not None and number is not None and number not in range(1, most + 1):
            raise InputError(
                f"term {shown(self.text)} of the formula has {argument}={number!r}: it must be a "
                f"whole number of at least 1 and at most {most}."
            )

    def _refuse(self, node: ast.AST | str) -> NoReturn:
        used = node if isinstance(node, str) else ast.unparse(node)
        raise InputError(
            f"term {shown(self.text)} of the formula uses {shown(used)!r}, which is neither a "
            f"column nor allowed: a formula may use {ALLOWED}."
        )


def _name_of(call: ast.Call) -> str:
    """Return what a call calls: a name, or a name after np."""
    match call.func:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id="np"), attr=name) if name in ELEMENTWISE:
            return f"np.{name}"
    return ""


def _arguments(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Return the arguments after the first, by name; "" where a function takes no such one."""
    names = SHAPING.get(_name_of(call), ())
    for place, value in enumerate(call.args[1:]):
        yield (names[place] if place < len(names) else ""), value
    for keyword in call.keywords:
        yield keyword.arg or "", keyword.value


def _is_plain_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and PLAIN_TEXT.fullmatch(node.value) is not None
    )


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
        used = self._used()
        for name in sorted(used):
            check_column(name, names, source)
        found = tuple(name for name in names if name in used)
        if not found:
            raise InputError(f"formula {self.text!r} uses no column of {source}.")
        return found

    def refuse_label(self, *labels: Any) -> None:
        """Refuse a right-hand side that uses the label, which would explain itself."""
        for name in self._used().intersection(one for one in labels if isinstance(one, str)):
            raise InputError(
                f"formula {self.text!r} has the label {name!r} among its features: a label would "
                "explain itself, so take it out on the right."
            )

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
            math.prod(code.width(levels) for code in _codes_of(term)) for term in self.parsed()
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

    def _used(self) -> set[str]:
        """Return the names that the right-hand side uses."""
        return {name for code in self._codes() for name in code.columns}

    def _codes(self) -> Iterator[Code]:
        for term in self.parsed():
            yield from _codes_of(term)


def _codes_of(term: Any) -> Iterator[Code]:
    """Return the factors of a term as code: columns by their names, but no literals."""
    for factor in term.factors:
        expression, kind = str(factor.expr), factor.eval_method.name
        if kind != "LITERAL":
            yield Code(expression if kind == "PYTHON" else f"Q({expression.strip('`')!r})")
