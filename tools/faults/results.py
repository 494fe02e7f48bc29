"""Faults of results."""

from faults.fault import Fault

FAULTS = [
    Fault(
        "no method contradicts the reports",
        "results/estimate.py",
        "        if not len(where):\n",
        "        if len(where):\n",
        ("tests/core/test_estimate.py",),
    ),
]
