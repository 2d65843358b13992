"""The definition of TACE: from scores to survivors, bins and errors.

Imports numpy and scipy, and no other folder of the package.
"""
