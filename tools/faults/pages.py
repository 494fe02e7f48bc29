"""Faults of pages."""

from faults.fault import Fault

FAULTS = [
    Fault(
        "texts of pages are markup",
        "pages/rendering.py",
        "autoescape=True",
        "autoescape=False",
        ("tests/pages/test_rendering.py",),
    ),
]
