"""The pictures, drawn with matplotlib.

May import what ``views`` may.
"""
