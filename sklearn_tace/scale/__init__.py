"""Rows from arrays in memory, batches or dask, as one set of rows that grows.

May import ``core`` and ``inputs``.
"""
