"""Peak memory of a fit above that of its data, in a fresh process for each library.

``python -m benchmarks.memory LIBRARY ROWS COLUMNS`` prints the mebibytes. The mark read from the
system only ever rises, so the library is loaded and warmed up and the data is filled in before
the first reading, in blocks that do not raise the mark above the data. A process starts with its
parent's mark: `extra_mebibytes` must be called while the caller is small.
"""

from benchmarks import one_thread  # noqa: F401, I001 - before numpy

import resource
import subprocess
import sys

from benchmarks.data import make_data
from benchmarks.libraries import LIBRARIES, refuse_half_done

KIBIBYTES = 1024


def extra_mebibytes(library: str, n_rows: int, n_columns: int) -> float:
    """Measure one library in a process of its own."""
    command = [sys.executable, "-m", __name__, library, str(n_rows), str(n_columns)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure_here(library: str, n_rows: int, n_columns: int) -> float:
    """Return how far a fit raises the peak resident memory of this process, in MiB."""
    fit = LIBRARIES[library]
    fit(*make_data("normal", 500, 3))
    data = make_data("normal", n_rows, n_columns)
    before = _peak_kibibytes()
    fit(*data)
    return (_peak_kibibytes() - before) / KIBIBYTES


def _peak_kibibytes() -> float:
    """Return the peak resident memory so far; macOS counts it in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / KIBIBYTES if sys.platform == "darwin" else peak


if __name__ == "__main__":
    refuse_half_done()
    print(measure_here(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
