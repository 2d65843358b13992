"""What chance does to TACE: reference distribution, debiased value, interval.

May import ``core``, ``inputs`` and ``scale``.
"""
