"""Faults of cli."""

from faults.fault import Fault

FAULTS = [
    Fault(
        "files in a folder of results are replaced unasked",
        "cli/output.py",
        "            check_free(path / name, force=force)\n",
        "            check_free(path / name, force=True)\n",
        ("tests/cli/test_risk_options.py", "tests/cli/test_options.py"),
    ),
]
