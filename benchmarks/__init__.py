"""Benchmarks: fits against other libraries, large files against raw scans, Dask workers."""
