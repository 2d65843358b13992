"""The commands ``sklearn-tace report`` and ``sklearn-tace compare``.

May import every folder and door; no module imports this folder.
"""
