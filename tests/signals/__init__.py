"""Processes that are interrupted, ended and killed for real: `make signals` for all of it."""
