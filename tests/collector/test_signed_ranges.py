"""Sensitive ranges in signed documents: the plan says what the sampler protects, in documents of every version."""

import json
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from discreet.collector.documents.attestation import spelled_values
from discreet.collector.documents.signing import plan_fields, plan_of, renew, sign
from discreet.device.protocol.collection import open_envelope, rebuild
from discreet.device.protocol.envelope import RebuiltError
from discreet.formats.plan import Plan
from packing import each
from refusals import refused
from signed import TRUST, altered, document, key, terms
from signed import plan_of as plan_from

TENTHS = {"low": 0, "high": 1, "bins": 10}


def protected_before(space: Any, ranges: Any) -> list[bool]:
    """Return the bins of ranges as versions before did: an upper end that is a border was not protected."""
    mask = np.zeros(space.bins, dtype=bool)
    for low, high in ranges:
        first = np.searchsorted(space.borders, low, side="right") - 1
        mask[first : np.searchsorted(space.borders, high)] = True
    return mask.tolist()


def numbers_plan(sensitive: Any) -> Plan:
    """Return a plan of tenths."""
    fields = {"epsilon": 1.0, "domain": {"number": TENTHS, "sensitive": sensitive}, "mechanism": {"name": "windows"}}
    return plan_from(fields)


@each("sensitive", [[[0, 0.3]], [[0.05, 0.1], [0.5, 0.52]], [[0.7, 1]], [1, 0], [[0, 0.9]], [[0.1, 0.3], [0.4, 0.6]]])
def test_signed_documents_have_no_range_that_ends_at_a_border(sensitive: Any) -> None:
    plan = numbers_plan(sensitive)
    written = sign(plan, terms(), [key()])
    found, space = open_envelope(written, TRUST), plan.domain.space
    ranges = document(written)["plan"]["domain"]["sensitive"]
    assert not {high for _, high in ranges} & {*space.borders[:-1].tolist()}
    assert found.sensitive.tolist() == plan.domain.sensitive.tolist() == protected_before(space, ranges)
    assert rebuild(found).fingerprint == plan_of(found).fingerprint == plan.fingerprint
    again = open_envelope(renew(written, [key()]), TRUST)
    assert (again.fingerprint, again.plan) == (found.fingerprint, found.plan)


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


def test_an_attestation_says_ranges_of_combinations_in_words() -> None:
    tenths = dc.Domain.number(**TENTHS).space
    domain = dc.Domain.product({"sex": ["f", "m"], "x": tenths}, sensitive={"sex": "f", "x": [[0.1, 0.35]]})
    assert spelled_values(domain, domain.sensitive_codes) == ["sex: f; x: from 0.1 up to below 0.4"]


def test_a_product_of_a_signed_document_is_a_plan_in_a_file(tmp_path: Path) -> None:
    domain = {"product": {"sex": ["f", "m"], "age": ["<40", "40+"]}, "sensitive": [{"age": "<40"}]}
    plan = plan_from({"epsilon": 1.0, "domain": domain, "mechanism": {"name": "rr"}})
    found = open_envelope(sign(plan, terms(), [key()]), TRUST)
    (tmp_path / "plan.json").write_text(json.dumps(plan_fields(found)))
    assert Plan.load(tmp_path / "plan.json").fingerprint == found.fingerprint
