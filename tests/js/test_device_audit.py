"""Reports that sampler.js draws in Node: no audit refutes the promise of any law, and a device that lies is seen."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from discreet.device.protocol.sampler import Sampler
from discreet.mechanisms.law import truth_threshold
from discreet.privacy.audit import audit
from programs import program

TOOL = Path(__file__).resolve().parents[2] / "tools" / "audit_device.py"
DRAWS = 12_000


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit_device", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its dataclass looks its module up by name.
    sys.modules["audit_device"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_no_law_of_the_device_breaks_its_promise(tool: ModuleType) -> None:
    found = dict(tool.audited(DRAWS, program("node"), seed=1))
    assert len(found) >= 9
    broken = {name: one for name, one in found.items() if not one.holds}
    assert broken == {}
    # Bounds that are far below would not see a fault either.
    assert {name: one.lower_bound for name, one in found.items() if one.lower_bound < one.promised - 0.4} == {}


@pytest.mark.slow
@pytest.mark.parametrize("law", ["singletons", "hadamard"])
def test_a_device_that_tells_the_truth_too_often_is_seen(
    tool: ModuleType, law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: S of epsilon 1.5 in the place of that of 1."""
    mechanism = tool.mechanisms()[law]

    def sampler_of(one: Any) -> Sampler:
        return replace(Sampler.of(one), truth=truth_threshold(1.5, one.law.inclusion))

    monkeypatch.setattr(tool, "Sampler", type("Lying", (), {"of": staticmethod(sampler_of)}))
    with tool.drawn_by_node(mechanism, program("node"), 1) as device:
        assert not audit(device, draws=DRAWS).holds
