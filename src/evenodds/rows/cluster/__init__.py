"""Rows that Dask reads: collections of its own, and files that every worker can read."""
