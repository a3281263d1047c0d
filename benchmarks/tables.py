"""The figures as text, at most 100 columns wide."""

from benchmarks.libraries import LIBRARIES, OURS
from benchmarks.targets import (
    COEFFICIENT_GAP_AT_MOST,
    COVARIANCE_GAP_AT_MOST,
    MEBIBYTES_AT_MOST,
    MEMORY_RATIO_AT_LEAST,
    RATIO_AT_LEAST,
    Size,
)
from benchmarks.timing import Comparison

Memory = dict[Size, dict[str, float]]

OTHERS = [name for name in LIBRARIES if name != OURS]


def speed_table(comparisons: list[Comparison]) -> str:
    """Return CPU time of the best round and the ratio to evenodds, with targets where set."""
    lines = [["rows x columns", OURS, *OTHERS]]
    for one in comparisons:
        size = (one.n_rows, one.n_columns)
        targets = RATIO_AT_LEAST.get(size, {}) if one.kind == "normal" else {}
        cells = [_size(size), _seconds(one.best(OURS))]
        for name in OTHERS:
            cell = f"{_seconds(one.best(name))} {one.ratio(name):5.1f}x"
            if name in targets:
                cell += f" ({targets[name]:g}x {_verdict(one.ratio(name) >= targets[name])})"
            cells.append(cell)
        lines.append(cells)
    return _aligned(lines)


def memory_table(memory: Memory) -> str:
    """Return the extra peak memory of each library in MiB, with targets where set."""
    lines = [["rows x columns", OURS, *OTHERS, "target"]]
    for size, extra in memory.items():
        figures = [f"{extra[name]:.1f}" for name in LIBRARIES]
        lines.append([_size(size), *figures, _memory_target(size, extra)])
    return _aligned(lines)


def parity_table(comparisons: list[Comparison]) -> str:
    """Return how far each library is from Newton run to the rounding floor."""
    lines = [["rows x columns", "", "", OURS, *OTHERS, "target"]]
    for one in comparisons:
        for what, gaps, limit in (
            ("coefficients", one.coefficient_gap, COEFFICIENT_GAP_AT_MOST),
            ("covariance", one.covariance_gap, COVARIANCE_GAP_AT_MOST),
        ):
            figures = [f"{gaps[name]:.0e}" for name in LIBRARIES]
            target = f"{limit:.0e} {_verdict(gaps[OURS] <= limit)}"
            size = _size((one.n_rows, one.n_columns))
            lines.append([size, one.kind, what, *figures, target])
    return _aligned(lines)


def _memory_target(size: Size, extra: dict[str, float]) -> str:
    """Say what was to be reached at this size, and whether it was."""
    if size in MEMORY_RATIO_AT_LEAST:
        ratio, needed = extra["scikit-learn"] / extra[OURS], MEMORY_RATIO_AT_LEAST[size]
        return f"1/{ratio:.0f} of scikit-learn (1/{needed:g} {_verdict(ratio >= needed)})"
    if size in MEBIBYTES_AT_MOST:
        limit = MEBIBYTES_AT_MOST[size]
        return f"{limit:g} MiB {_verdict(extra[OURS] <= limit)}"
    return ""


def _aligned(lines: list[list[str]]) -> str:
    """Return a table with its columns flush right, the first one flush left."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if number == 0 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()
        for cells in lines
    )


def _size(size: Size) -> str:
    return f"{size[0]:,} x {size[1]}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{1000 * seconds:.2f} ms"


def _verdict(met: bool) -> str:
    return "met" if met else "MISSED"
