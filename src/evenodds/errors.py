"""Every exception and warning of the package.

EvenoddsError
├── InputError (also ValueError)     what was given cannot be used; the message says what to do
│   ├── AnchorError                  the anchor points are at fault
│   ├── RankError                    columns repeat each other
│   └── SeparationError              the labels are separated, so no maximum-likelihood fit exists
├── ClusterError                     the workers of a cluster cannot be reached, or cannot go on
├── ConvergenceError                 the solver stopped short of the optimum
├── StorageError                     answers of experts cannot be read or kept
└── MissingExtraError (also ImportError)   an optional dependency is not installed

EvenoddsWarning (UserWarning)
└── ImprecisionWarning               the answer may be imprecise; the message says how to find out
"""

import re

# The most that a message quotes of a value, and what it quotes: a word, or a text in quotes.
LONGEST_QUOTED = 200
_QUOTED = re.compile(r"""(?<!\w)(['"])((?:\\.|(?!\1)[^\\])*)\1|[^\s'"]+""", re.DOTALL)


def shortened(message: str) -> str:
    """Return a message that quotes no more of a file, or of a user's value, than can be read."""
    return _QUOTED.sub(_cut, message) if len(message) > LONGEST_QUOTED else message


def _cut(found: re.Match[str]) -> str:
    quote, text = found.group(1) or "", found.group(2) if found.group(1) else found.group()
    if len(text) <= LONGEST_QUOTED:
        return found.group()
    return f"{quote}{text[:LONGEST_QUOTED]}{quote}... ({len(text):,} characters)"


class EvenoddsError(Exception):
    """Base class of everything this package raises on purpose."""

    def __init__(self, message: str = "") -> None:
        super().__init__(shortened(message))


class InputError(EvenoddsError, ValueError):
    """What was given cannot be used; the message says what is needed."""


class AnchorError(InputError):
    """The anchor points do not fit the data or the test."""


class RankError(InputError):
    """Some columns are constant or a linear combination of others."""


class SeparationError(InputError):
    """Some combination of columns separates the labels, so no finite fit exists."""


class ClusterError(EvenoddsError):
    """The workers of a cluster cannot be reached, or cannot go on."""


class ConvergenceError(EvenoddsError):
    """The solver could not reach the optimum."""


class StorageError(EvenoddsError):
    """Answers of experts cannot be read or kept: a full disk, a lock, a damaged file."""


class MissingExtraError(EvenoddsError, ImportError):
    """An optional dependency is needed for this call."""


class EvenoddsWarning(UserWarning):
    """Base class of the package's warnings."""


class ImprecisionWarning(EvenoddsWarning):
    """The answer may be less precise than it looks."""
