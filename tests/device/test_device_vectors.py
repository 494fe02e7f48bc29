"""Envelopes, and codes of values, as js/vectors has them for devices in any language."""

import base64
import hashlib
import json
from typing import Any

import numpy as np
import pytest
from scripted import ROOT

from discreet.device.protocol.collection import code_of, domain_of, open_envelope, placeholders_of
from discreet.device.protocol.envelope import CollectionError, opened
from discreet.errors import DataError
from packing import each

VECTORS = ROOT / "js" / "vectors"
ENVELOPES = [json.loads(line) for line in (VECTORS / "envelopes.jsonl").read_text().splitlines()]
ENCODERS = [json.loads(line) for line in (VECTORS / "encoders.jsonl").read_text().splitlines()]
TRUST = [bytes.fromhex(key) for key in ENVELOPES[0]["trusted"]]
BASE = opened(ENVELOPES[0]["envelope"].encode(), TRUST)


def envelope_of(line: dict[str, Any]) -> bytes:
    if "envelope" in line:
        return str(line["envelope"]).encode()
    if "base64" in line:
        return base64.b64decode(line["base64"])
    start, stop, text = line["edit"]
    document = base64.b64encode(BASE[:start] + text.encode() + BASE[stop:]).decode()
    key = json.loads(ENVELOPES[0]["envelope"])["signatures"][0]["key"]
    signatures = [{"key": key, "signature": line["signature"]}]
    return json.dumps({"document": document, "signatures": signatures}).encode()


@each("line", ENVELOPES)
def test_envelopes(line: dict[str, Any]) -> None:
    trust = [bytes.fromhex(key) for key in line["trusted"]] if "trusted" in line else TRUST
    if "error" in line:
        with pytest.raises(CollectionError) as caught:
            open_envelope(envelope_of(line), trust)
        assert caught.value.reason == line["error"]
        return
    document = opened(envelope_of(line), trust)
    assert open_envelope(envelope_of(line), trust).id.hex() == line["id"] == hashlib.sha256(document).hexdigest()


@pytest.mark.parametrize("line", ENCODERS, ids=range(len(ENCODERS)))
def test_encoders(line: dict[str, Any]) -> None:
    domain = domain_of(line["plan"])
    for value, code in line["values"]:
        if code is None:
            with pytest.raises(DataError):
                code_of(domain, value)
        else:
            assert code_of(domain, value) == code
    if "bots" not in line:
        return
    mask = np.zeros(domain.size, dtype=np.bool_)
    for start, stop in line["sensitive"]:
        mask[start:stop] = True
    found = placeholders_of(line["plan"], mask)
    assert len(found.tags) == line["bots"]
    assert (found.cell_of is None) == (line["cells"] is None)
    if found.cell_of is not None:
        assert found.cell_of.tolist() == line["cells"]
