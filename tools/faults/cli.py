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
    Fault(
        "each question of a survey is audited with the confidence that all of them shall have",
        "cli/surveys.py",
        "1 - (1 - values[self.level]) / len(names)",
        "values[self.level]",
        ("tests/cli/test_whole_surveys.py",),
    ),
]
