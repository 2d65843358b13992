"""The report as an HTML page, rendered from templates with jinja2.

May import what ``views`` may.
"""
