"""Faults of planning."""

from faults.fault import Fault

FAULTS = [
    Fault(
        "nothing is said of a collector who counts for minutes",
        "planning/compare.py",
        "if seconds <= LONG:",
        "if seconds > 0:",
        ("tests/planning/test_compare.py",),
    ),
    Fault(
        "a promise about no pair of values decides what shuffling gains",
        "planning/central.py",
        "among = [self.epsilon] if domain.sensitive_count > 1 else []",
        "among = [self.epsilon]",
        ("tests/planning/test_central_plans.py",),
    ),
    Fault(
        "what a report weighs is ignored",
        "planning/compare.py",
        "limit = least(candidates, worst=worst).error(worst=worst) * (1 + within) * SAME",
        "limit = least(candidates, worst=worst).error(worst=worst) * SAME",
        ("tests/planning/test_compare.py",),
    ),
    Fault(
        "a central promise towards values in clear is not kept",
        "planning/central.py",
        "if domain.clear_count and found.curve_towards",
        "if not domain.clear_count and found.curve_towards",
        ("tests/planning/test_central_plans.py",),
    ),
]
