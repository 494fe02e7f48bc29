"""Faults of the papers, beside the package."""

from faults.fault import Fault

FAULTS = [
    Fault(
        "a standard error is a standard deviation",
        "../../papers/results.py",
        "    return stdev(numbers) / sqrt(len(numbers)) if",
        "    return stdev(numbers) if",
        ("tests/papers/test_findings_of_uldp.py",),
    ),
    Fault(
        "a number that is none confirms a finding",
        "../../papers/figure.py",
        "self.number >= self.threshold if self.relation",
        "not self.number < self.threshold if self.relation",
        ("tests/papers/test_findings_of_uldp.py",),
    ),
    Fault(
        "every mechanism has users of its own",
        "../../papers/cells.py",
        "_generator([_FORMAT, self.data, self.seed, run])",
        "_generator([_FORMAT, self.data, self.mechanism, self.seed, run])",
        ("tests/papers/test_cells.py",),
    ),
]
