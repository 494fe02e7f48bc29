"""CI installs what the tests ask for, and a program that is missing there is a failure, never a skip."""

import re
from pathlib import Path

from programs import PACKAGES

ROOT = Path(__file__).parents[2]
RUN = ROOT / ".ci" / "run"


def test_ci_installs_every_program_that_a_test_asks_for() -> None:
    asked = {
        name
        for file in (ROOT / "tests").rglob("*.py")
        for name in re.findall(r"\bprogram\(\"(\w+)\"\)", file.read_text(encoding="utf-8"))
    }
    assert asked >= {"java", "chromium"}
    installed = dict(re.findall(r"needs (\S+) (\S+)$", RUN.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert {name: installed.get(name) for name in asked} == {name: PACKAGES[name] for name in asked}
    skipped = [
        file.name
        for file in (ROOT / "tests").rglob("*.py")
        if re.search(r"skip[^\n]*which\(|which\([^\n]*skip", file.read_text(encoding="utf-8"))
    ]
    assert skipped == []
