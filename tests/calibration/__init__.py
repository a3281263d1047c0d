"""Level, power and coverage by simulation; each suite is a command of its own."""

import os

# Suites run a process a core: more threads in each would only wait for one another.
for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
