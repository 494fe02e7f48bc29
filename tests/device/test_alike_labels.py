"""Labels that read alike: no device takes a collection that protects one of them alone, unless its plan is exact."""

from pathlib import Path
from typing import Any

import pytest

from discreet.collector.documents.signing import renew, withdraw
from discreet.device import Device, Limits
from discreet.device.protocol.collection import open_envelope, rebuild
from discreet.device.protocol.envelope import PlanError
from refusals import refused
from signed import PLAIN, TRUST, altered, document, envelope, key, plan_of

LABELS = {"labels": ["never", "krank", "Krank\u00a0", "daily"], "sensitive": ["Krank\u00a0", "daily"]}


def with_domain(**domain: Any) -> bytes:
    """Return an envelope whose sampler protects the last two values, with another domain in its plan."""
    return altered(envelope(), plan={**document(envelope())["plan"], "domain": domain})


@pytest.fixture
def device(tmp_path: Path) -> Any:
    with Device(tmp_path / "device", TRUST, Limits(report=2.0, epoch=4.0, lifetime=20.0)) as made:
        yield made


def test_a_refusal_names_both_labels_and_both_ways_and_keeps_nothing(device: Device) -> None:
    message = refused(PlanError, lambda: device.accept(with_domain(**LABELS)))
    assert "'krank'" in message
    assert "'Krank<U+00A0>'" in message
    assert "labels.alike" in message
    assert device.export()["collections"] == []


def test_a_notice_of_withdrawal_reaches_whoever_was_asked_before(device: Device) -> None:
    old = with_domain(**LABELS)
    assert open_envelope(old, TRUST, is_known=True).domain.size == 4
    assert device.accept(altered(old, state="withdrawn", version=2)).state == "withdrawn"


def test_a_collection_of_before_is_still_estimated_and_can_be_withdrawn() -> None:
    """It was signed before labels were read: the same document without the word that is needed today."""
    plan = {**PLAIN, "domain": {**LABELS, "exact": True}}
    signed_today = envelope(plan)
    said = document(signed_today)["plan"]
    old = altered(signed_today, plan={**said, "domain": {name: said["domain"][name] for name in LABELS}})
    with pytest.raises(PlanError, match=r"labels.alike"):
        open_envelope(old, TRUST)
    before = open_envelope(old, TRUST, is_known=True)
    assert rebuild(before).fingerprint == document(signed_today)["fingerprint"]
    notice = withdraw(old, [key()])
    assert open_envelope(notice, TRUST).state == "withdrawn"
    assert open_envelope(renew(old, [key()], plan=plan_of(plan)), TRUST).version == 2
