"""The figures as text, at most 100 columns wide."""

from benchmarks.libraries import LIBRARIES, OURS
from benchmarks.targets import (
    COEFFICIENT_GAP_AT_MOST,
    COVARIANCE_GAP_AT_MOST,
    MEBIBYTES_AT_MOST,
    MEMORY_RATIO_AT_LEAST,
    RATIO_AT_LEAST,
    Size,
    verdict,
)
from benchmarks.timing import Comparison

Memory = dict[Size, dict[str, float]]

OTHERS = [name for name in LIBRARIES if name != OURS]


def speed_table(comparisons: list[Comparison]) -> str:
    """Return CPU time of the best round and the ratio to evenodds, with targets where set."""
    lines = [_head("rows x columns", [OURS, *OTHERS], [11, 27, 27, 16])]
    for one in comparisons:
        size = (one.n_rows, one.n_columns)
        targets = RATIO_AT_LEAST.get(size, {}) if one.kind == "normal" else {}
        cells = [f"{_seconds(one.best(OURS)):>11}"]
        for name, width in zip(OTHERS, [27, 27, 16], strict=True):
            cell = f"{_seconds(one.best(name))} {one.ratio(name):5.1f}x"
            if name in targets:
                reached = verdict(one.ratio(name) >= targets[name])
                cell += f" ({targets[name]:g}x {reached})"
            cells.append(f"{cell:>{width}}")
        lines.append(f"{_size(size):<16}" + "".join(cells))
    return "\n".join(lines)


def memory_table(memory: Memory) -> str:
    """Return the extra peak memory of each library in MiB, with targets where set."""
    lines = [_head("rows x columns", [OURS, *OTHERS], [11, 14, 14, 14])]
    for size, extra in memory.items():
        cells = "".join(
            f"{extra[name]:{width}.1f}"
            for name, width in zip([OURS, *OTHERS], [11, 14, 14, 14], strict=True)
        )
        lines.append(f"{_size(size):<16}{cells}{_memory_remark(size, extra)}")
    return "\n".join(lines)


def parity_table(comparisons: list[Comparison]) -> str:
    """Return how far each library is from Newton run to the rounding floor."""
    lines = [_head("largest gap of the", [OURS, *OTHERS], [11, 14, 14, 14], first=34)]
    for one in comparisons:
        size = _size((one.n_rows, one.n_columns))
        for what, gaps, limit in (
            ("coefficients", one.coefficient_gap, COEFFICIENT_GAP_AT_MOST),
            ("covariance", one.covariance_gap, COVARIANCE_GAP_AT_MOST),
        ):
            label = f"{size:<16}{one.kind:<7}{what}"
            cells = "".join(
                f"{gaps[name]:{width}.1e}"
                for name, width in zip([OURS, *OTHERS], [12, 14, 14, 14], strict=True)
            )
            lines.append(f"{label:<35}{cells[:]} {limit:.0e} {verdict(gaps[OURS] <= limit)}")
    return "\n".join(lines)


def _head(first: str, names: list[str], widths: list[int]) -> str:
    """Return the line above a table."""
    return f"{first:<16}" + "".join(f"{n:>{w}}" for n, w in zip(names, widths, strict=True))
