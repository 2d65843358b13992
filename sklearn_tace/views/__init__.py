"""A report as text, pictures, page and JSON.

May import ``core``, ``inputs``, ``scale`` and ``inference``, but no public door.
"""
