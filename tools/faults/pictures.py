"""Faults of pictures."""

from faults.fault import Fault

FAULTS = [
    Fault(
        "texts of pages are markup",
        "pictures/pages.py",
        "autoescape=True",
        "autoescape=False",
        ("tests/pages/test_rendering.py",),
    ),
]
