"""Columns of an audit that look like ids of items or annotators, and were not declared as groups.

A column is doubted where its values repeat and

- its name ends in a word for who gave labels (worker, annotator_id), or
- its name ends in a word for what was labelled (item, pair_id), and a value has at most 20 rows
  on average, or
- whatever its name, it holds text or whole numbers, most rows share a value with another, at
  most 20 on average, and rows that share a value always have the same true label, which would
  hardly happen by chance. Measurements such as an age do not pass that.
"""

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenodds.inference.results import Diagnostic
from evenodds.rows.values import is_missing_in, kind_of, plain_array

if TYPE_CHECKING:
    import pyarrow as pa

PEOPLE = re.compile(
    "annotator|coder|expert|grader|judge|labell?er|rater|reviewer|tagger|user|who|worker"
)
THINGS = re.compile(
    "case|doc|document|example|group|id|image|instance|item|key|pair|patient|question|record|"
    "sample|sentence|subject|task|text|tweet|uid|unit|uuid"
)
# Words at the end of a name that say how a thing is written, not what it is.
ENDINGS = re.compile("code|hash|id|key|name|no|nr|num|number")
MOST_NAMED = 2
MOST_ROWS_EACH = 20
FEWEST_VALUES = 10
# Of the rows, so many must share a value: by a name that says so, and without.
REPEATED_IF_NAMED, REPEATED_IF_NOT = 0.05, 0.5
# By chance all rows that share a value have one true label less often than this.
BY_CHANCE = 1e-4


def doubt_undeclared(
    columns: "dict[str, pa.Array]", true: NDArray[Any], declared: list[NDArray[Any]]
) -> tuple[Diagnostic, ...]:
    """Say which columns of the audited rows look like groups that were not declared."""
    known, found = list(declared), []
    for name, column in columns.items():
        numbers = _numbered(column)
        if numbers is None or _is_known(numbers, known):
            continue
        if _looks_like_groups(name, numbers, true):
            known.append(numbers)
            found.append((name, len(np.unique(numbers))))
    if not found:
        return ()
    named = " and ".join(f"{name!r} ({count:,} values)" for name, count in found[:MOST_NAMED])
    look, them = f"Column {named} looks like an id that repeats", "it"
    if len(found) > 1:
        look, them = f"Columns {named} look like ids that repeat", "them"
    options = " ".join(f"--group {name}" for name, _ in found[:MOST_NAMED])
    message = (
        f"{look} among the {len(true):,} audited rows. Rows that share an item or an annotator are "
        "not independent, and taken as such they make p-values too small: declare "
        f"{them} with {options}."
    )
    return (Diagnostic(name="undeclared groups", message=message, concern=True),)


def _numbered(column: "pa.Array") -> NDArray[np.int64] | None:
    """Return a column of text or whole numbers with its values numbered; None for any other."""
    from pyarrow import types

    values = plain_array(column)
    if kind_of(values.type) != "text" and not types.is_integer(values.type):
        return None
    if len(values) == 0 or is_missing_in(values).any():
        return None
    return np.asarray(values.dictionary_encode().indices.to_numpy(), dtype=np.int64)


def _is_known(numbers: NDArray[np.int64], declared: list[NDArray[Any]]) -> bool:
    """Tell whether rows that share a value share a declared group anyway."""
    for groups in declared:
        codes = np.unique(groups, return_inverse=True)[1]
        if len(np.unique(np.column_stack([numbers, codes]), axis=0)) == len(np.unique(numbers)):
            return True
    return False


def _looks_like_groups(name: str, numbers: NDArray[np.int64], true: NDArray[Any]) -> bool:
    """Tell whether a column is doubted; see the head of this file."""
    sizes = np.bincount(numbers)
    repeated = float(sizes[sizes > 1].sum()) / len(numbers)
    word = _last_word(name)
    if PEOPLE.fullmatch(word):
        return len(sizes) > 1 and repeated >= REPEATED_IF_NAMED
    if len(sizes) < FEWEST_VALUES or len(numbers) > MOST_ROWS_EACH * len(sizes):
        return False
    if THINGS.fullmatch(word):
        return repeated >= REPEATED_IF_NAMED
    return repeated >= REPEATED_IF_NOT and _has_one_truth_each(numbers, true)


def _last_word(name: str) -> str:
    """Return the word that a name ends in, singular; the one before "id" and the like."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    words = [word for word in re.split(r"[^a-z]+", spaced.lower()) if word]
    while len(words) > 1 and ENDINGS.fullmatch(words[-1]):
        words.pop()
    return words[-1].removesuffix("s") if words else ""


def _has_one_truth_each(numbers: NDArray[np.int64], true: NDArray[Any]) -> bool:
    """Tell whether rows that share a value always share the true label, and not by chance."""
    truth = np.unique(true.astype(str), return_inverse=True)[1]
    sizes, positive = np.bincount(numbers), np.bincount(numbers, truth)
    if (truth > 1).any() or ((positive > 0) & (positive < sizes)).any():
        return False
    share = truth.mean()
    by_chance = np.log(share**sizes + (1 - share) ** sizes).sum()
    return bool(by_chance < np.log(BY_CHANCE))
