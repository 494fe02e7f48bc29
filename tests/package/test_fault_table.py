"""The table of run-time faults: each names an attribute and tests that exist, and replaces the attribute."""

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return list(importlib.import_module("fault_table").FAULTS)


def test_faults_name_attributes_and_tests_that_exist(faults: list[Any]) -> None:
    assert 40 <= len(faults) == len({fault.name for fault in faults}) <= 60
    for fault in faults:
        owner, name, right = fault.target()
        assert vars(owner)[name] is right
        assert fault.replacement(right) is not right, fault.name
        assert all((ROOT / tests).exists() for tests in fault.tests), fault.name
    missing = replace(faults[0], place="discreet.core.random:absent")
    with pytest.raises(LookupError, match=r"core.random:absent does not exist; mend the fault or delete it"):
        missing.target()
