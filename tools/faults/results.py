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
    Fault(
        "one-step moments take the estimate's reports for those of the value",
        "results/one_step.py",
        "others = (whole - f * own) / (1 - f)",
        "others = whole",
        ("tests/estimators/test_one_step.py",),
    ),
    Fault(
        "one report more or less hides who has another value than nearly everybody",
        "results/one_step.py",
        "others = (whole - f * own) / (1 - f)",
        "others = (whole - f * own) / np.maximum(1 - f, 1 / self.n)",
        ("tests/estimators/test_one_step.py",),
    ),
]
