"""Sensitive ranges in signed documents: the plan says what the sampler protects, in documents of every version."""

import json
from pathlib import Path
from typing import Any

from discreet.collector.documents.signing import plan_fields, plan_of, renew, sign
from discreet.device.protocol.collection import open_envelope, rebuild
from discreet.device.protocol.envelope import RebuiltError
from discreet.formats.plan import Plan
from refusals import refused
from signed import TRUST, altered, document, key, terms
from signed import plan_of as plan_from

TENTHS = {"low": 0, "high": 1, "bins": 10}


def numbers_plan(sensitive: Any) -> Plan:
    """Return a plan of tenths."""
    fields = {"epsilon": 1.0, "domain": {"number": TENTHS, "sensitive": sensitive}, "mechanism": {"name": "windows"}}
    return plan_from(fields)


def test_documents_signed_by_versions_before_protect_what_they_did(tmp_path: Path) -> None:
    """The sampler of such a document, which is what devices believe, does not protect the bin above the end."""
    inside, ending = sign(numbers_plan([[0, 0.25]]), terms(), [key()]), [[0, 0.3]]
    fields = document(inside)["plan"]
    written = altered(inside, plan={**fields, "domain": {**fields["domain"], "sensitive": ending}})
    found = open_envelope(written, TRUST)
    assert found.sensitive.tolist() == [True] * 3 + [False] * 7
    assert rebuild(found).fingerprint == plan_of(found).fingerprint == found.fingerprint
    # As a file, and in the next version of the document, the range ends within its last bin.
    (tmp_path / "plan.json").write_text(json.dumps(plan_fields(found)))
    assert Plan.load(tmp_path / "plan.json").fingerprint == found.fingerprint
    again = open_envelope(renew(written, [key()]), TRUST)
    assert (again.fingerprint, again.plan["domain"]["sensitive"]) == (found.fingerprint, [[0.0, 0.25]])
    more = {**fields["domain"], "sensitive": [[0, 0.35]]}
    refused(RebuiltError, lambda: rebuild(open_envelope(altered(inside, plan={**fields, "domain": more}), TRUST)))
