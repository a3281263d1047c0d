"""The door: small checks that name the argument and the numbers.

Each ``check_*`` returns the value in the form the formulas use, or raises
`InputError` with one sentence: what came, what is needed, what to do.
"""

import difflib
import math
import numbers
import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenodds.errors import LONGEST_QUOTED, InputError

FloatArray = NDArray[np.float64]
# Values longer than this are named by their type in messages.
LONGEST_SHOWN = 80
# Beyond this, floating-point numbers skip whole ones.
LARGEST_WHOLE = 2**53
# The largest whole number where nothing less is said, and the most work that can be asked for.
MOST_WHOLE, MOST_RUNS = 10**18, 1_000_000
# Processes for each core of this machine, and how many any machine may start.
PROCESSES_A_CORE, FEW_PROCESSES = 4, 16
# Python may refuse to write out larger numbers.
ENDLESS = 10**30
# A shared tolerance by default takes no more of the room that tolerances leave than this share.
MOST_OF_THE_ROOM = 0.99


def check_number(value: Any, name: str) -> float:
    """Return `value` as a finite float."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise InputError(f"{name} is {value!r} but must be a number.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{name} is {number} but must be finite.")
    return number


def check_between(
    value: Any, name: str, low: float, high: float, *, closed: str = "both", why: str = ""
) -> float:
    """Return `value` as a float inside the interval; `closed` is both, left or neither."""
    number = check_number(value, name)
    above = number >= low if closed in {"both", "left"} else number > low
    below = number <= high if closed == "both" else number < high
    if not (above and below):
        lower = "at least" if closed in {"both", "left"} else "above"
        upper = "at most" if closed == "both" else "below"
        reason = f": {why}" if why else ""
        raise InputError(
            f"{name} is {number:g} but must be {lower} {low:g} and {upper} {high:g}{reason}."
        )
    return number


def check_whole(value: Any, name: str, *, at_least: int = 0, at_most: int = MOST_WHOLE) -> int:
    """Return `value` as an int no smaller than `at_least` and no larger than `at_most`."""
    number = value if isinstance(value, int) else check_number(value, name)
    shown = value if abs(number) < ENDLESS else "a number of more than 30 digits"
    if isinstance(value, bool) or number != int(number) or number < at_least:
        raise InputError(f"{name} is {shown} but must be a whole number of at least {at_least}.")
    if number > at_most:
        raise InputError(f"{name} is {shown} but must be at most {at_most:,}.")
    return int(number)


def check_workers(value: Any, name: str = "workers") -> int:
    """Return a number of processes that this machine can start."""
    workers, cores = check_whole(value, name, at_least=1), os.cpu_count() or 1
    most = max(FEW_PROCESSES, PROCESSES_A_CORE * cores)
    if workers > most:
        raise InputError(
            f"{name} is {workers:,} but this machine has {counted(cores, 'core')}: give at most "
            f"{most}, more would only fill its memory."
        )
    return workers


def default_shared_tolerance(stated: FloatArray, tolerance: FloatArray) -> float:
    """Return the shared tolerance where none is stated: the median tolerance.

    An expert may lean the same way every time, by as much as each anchor may be off. It is less
    where an anchor would leave (0, 1), and 0 for strict anchors. Posteriors stated at 0 and 1
    are read as exact and have no say.
    """
    uncertain = (stated > 0) & (stated < 1)
    if not uncertain.any():
        return 0.0
    room = (np.minimum(stated, 1 - stated) - tolerance)[uncertain].min()
    usual = np.median(np.minimum(tolerance[uncertain], 1.0))  # a sum of wider ones may overflow
    return float(max(min(usual, MOST_OF_THE_ROOM * room), 0.0))


def check_tolerances(tolerance: Any, shared_tolerance: Any) -> tuple[float, float]:
    """Return the two tolerances of anchors at 1/2 as floats; None is the default."""
    own = check_between(tolerance, "tolerance", 0, 0.5, closed="left")
    if shared_tolerance is None:
        return own, default_shared_tolerance(np.array([0.5]), np.array([own]))
    shared = check_between(shared_tolerance, "shared_tolerance", 0, 0.5, closed="left")
    if own + shared >= 0.5:
        raise InputError(
            f"tolerance + shared_tolerance is {own + shared:g} but must be below 0.5: it is a "
            "distance from 1/2."
        )
    return own, shared


def check_choice(value: Any, name: str, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`, else name them all."""
    options = tuple(choices)
    if not isinstance(value, str) or value not in options:
        shown = repr(value)
        if len(shown) > LONGEST_SHOWN and isinstance(value, str):
            shown = f"{shown[:LONGEST_SHOWN]}..."
        elif "\n" in shown or len(shown) > LONGEST_SHOWN:
            shown = kind_of_value(value)
        raise InputError(f"{name} is {shown} but must be one of {join_quoted(options, 'or')}.")
    return str(value)


def kind_of_value(value: Any) -> str:
    """Return what a value is, as ``an int``, ``a dict`` or ``None``."""
    name = type(value).__name__
    if value is None:
        return "None"
    return f"{'an' if name[0] in 'aeiouAEIOU' or name == 'ndarray' else 'a'} {name}"


def counted(number: int, noun: str) -> str:
    """Return how many there are of a thing, as ``1 feature`` or ``2 features``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def with_minus(number: str) -> str:
    """Write a negative number with a minus sign, not a hyphen."""
    return number.replace("-", "−")


def signed(value: float | None, digits: int = 3) -> str:
    """Return a number with its sign, as ``+0.21`` or ``−0.21``; what is not known says so."""
    return "unknown" if value is None else with_minus(f"{value:+z.{digits}f}")


def unsigned(value: float | None, digits: int = 3) -> str:
    """Return a number that needs no plus, such as a rate, as ``0.21`` or ``−0.01``."""
    return signed(value, digits).removeprefix("+")


def check_vector(
    values: ArrayLike,
    name: str,
    length: int,
    of_what: str,
    *,
    one_for_all: bool = True,
    lent: bool = False,
) -> FloatArray:
    """Return `length` values, or one for all of them, as a finite float vector.

    It is one of its own, unless it is only `lent`: to be read and not kept.
    """
    each = f"one value for each {of_what}"
    needed = f"give one value, or {each}" if one_for_all else f"give {each}"
    try:
        given = as_array(values)
        made = np.asarray if lent else np.array
        vector = None if given.dtype.kind == "c" else made(given, dtype=np.float64)
    except (TypeError, ValueError):
        vector = None
    if vector is None:
        raise InputError(f"{name} must hold numbers: {needed}.")
    if vector.ndim == 0 and one_for_all:
        vector = np.full(length, float(vector))
    if vector.shape != (length,):
        raise InputError(
            f"{name} has shape {vector.shape} but there are {length} {of_what}s: {needed}."
        )
    if not np.isfinite(vector).all():
        place = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise InputError(
            f"{name} is {vector[place]} at {of_what} {place + 1:,} of {length:,}: give finite "
            "numbers."
        )
    return vector


def as_array(values: Any) -> NDArray[Any]:
    """Return values as an array: masked ones as nan, and no whole number rounded."""
    if np.ma.isMaskedArray(values):
        if not np.ma.is_masked(values):
            return np.asarray(values.data)
        kept = values if values.dtype.kind == "f" else values.astype(object)
        return np.ma.filled(kept, np.nan)
    if hasattr(values, "detach"):  # a tensor of torch
        values = values.detach().cpu()
        # NumPy has no numbers of that kind.
        values = (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()
    elif type(values).__module__.startswith("cupy"):
        values = values.get()
    array = np.asarray(values)
    if isinstance(values, np.ndarray) or array.dtype.kind != "f":
        return array
    if (np.abs(array) >= LARGEST_WHOLE).any():  # of a list of whole numbers and others, perhaps
        as_given = np.asarray(values, dtype=object)
        if any(isinstance(value, numbers.Integral) for value in as_given.flat):
            return as_given
    return array


def check_same_order(**columns: Any) -> None:
    """Refuse pandas columns whose indexes have the same labels in another order.

    Rows are taken as they stand, so one that was sorted would be paired with the wrong rows.
    """
    first: tuple[str, Any] | None = None
    for name, values in columns.items():
        index = index_of(values)
        if index is None:
            continue
        first = first or (name, index)
        if _same_in_another_order(first[1], index):
            raise InputError(
                f"{first[0]} and {name} have the same index in another order, and rows are taken "
                f"as they stand: give {name}.loc[{first[0]}.index], or {name}.to_numpy() where "
                "its order is right."
            )


def index_of(values: Any) -> Any:
    """Return the index of pandas rows, and None of all others."""
    index = getattr(values, "index", None)
    return index if type(index).__module__.partition(".")[0] == "pandas" else None


def _same_in_another_order(first: Any, second: Any) -> bool:
    """Tell indexes of pandas that differ in nothing but their order."""
    if len(first) != len(second) or first.equals(second):
        return False
    return bool(second.isin(first).all() and first.isin(second).all())


def refuse_inexact(low: Any, high: Any, name: str) -> None:
    """Refuse a range of whole numbers that would be rounded as floating-point ones."""
    for value in (low, high):
        if not -LARGEST_WHOLE <= value <= LARGEST_WHOLE:
            raise InputError(
                f"{name} holds the whole number {value}, which would be rounded: beyond 2^53 "
                "(9007199254740992) whole numbers are no measurements. Leave an id out, or rescale."
            )


def check_zero_one(labels: ArrayLike, name: str = "labels") -> NDArray[np.bool_]:
    """Return which of 0/1 labels are 1."""
    given = np.asarray(labels)
    positive: NDArray[np.bool_] = given == 1
    if not (positive | (given == 0)).all():
        raise InputError(f"{name} must be 0 or 1 here: encode your two classes first.")
    return positive


def join_quoted(names: Iterable[Any], conjunction: str = "and", limit: int = 6) -> str:
    """Write names as ``'a', 'b' and 'c'``, cut after `limit`."""
    quoted = [repr(name) for name in names]
    shown = quoted[:limit]
    if sum(map(len, shown)) > LONGEST_QUOTED:
        most = LONGEST_QUOTED // len(shown)
        quoted = [name if len(name) <= most else f"{name[:most]}...{name[0]}" for name in quoted]
    if len(quoted) > limit:
        return ", ".join(quoted[:limit]) + f" {conjunction} {len(quoted) - limit} more"
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} {conjunction} {quoted[-1]}"


def check_column(
    name: str,
    names: Iterable[str],
    source: object,
    *,
    why: str = "",
    advice: str = "",
    error: type[InputError] = InputError,
) -> None:
    """Refuse a column that is not among those of a table, and name the near misses."""
    held = list(names)
    if name not in held:
        raise error(f"{source} has no column {name!r}{why}; {near_misses(name, held)}{advice}")


def near_misses(wanted: str, available: Iterable[str]) -> str:
    """Name what the user may have meant, or what there is."""
    names = [str(name) for name in available]
    folded = {name.strip().casefold(): name for name in names}
    close = difflib.get_close_matches(wanted.strip().casefold(), folded, n=3, cutoff=0.6)
    if close:
        meant = [folded[name] for name in close]
        blanks = " (note the blank)" if meant[0] != meant[0].strip() else ""
        return f"did you mean {join_quoted(meant, 'or')}{blanks}?"
    return f"the columns are {join_quoted(names)}." if names else "there are no columns."
