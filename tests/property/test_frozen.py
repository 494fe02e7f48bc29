"""Values are frozen, and shy: no field can be set, no array written, and no representation shows what people said."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from discreet import Channel, Domain, SeededRandom, UnaryEncoding
from discreet.mechanisms import BLOCK_MECHANISMS
from laws import BUILDERS

DOMAIN = Domain(range(5), sensitive=[1, 2, 4])
SECRET_TEXT = "zanzibar"


def test_fields_cannot_be_set() -> None:
    mechanism = UnaryEncoding(DOMAIN, 1.0)
    reports = mechanism.obfuscate_codes(np.full(20, 4), random=SeededRandom(1))
    for thing, name in (
        *((mechanism, name) for name in ("epsilon", "law", "clear_blocks")),
        *((mechanism.law, "threshold"), (mechanism.coefficients, "truth"), (mechanism.guarantee, "realised")),
        *((DOMAIN, "size"), (reports, "n"), (mechanism.tally(reports), "support"), (Channel(np.eye(5)), "matrix")),
    ):
        with pytest.raises((FrozenInstanceError, AttributeError)):
            setattr(thing, name, getattr(thing, name))


def test_arrays_cannot_be_written() -> None:
    mechanism = UnaryEncoding(DOMAIN, 1.0)
    reports = mechanism.obfuscate_codes(np.arange(50) % 5, random=SeededRandom(1))
    tally = mechanism.tally(reports)
    arrays = {
        "blocks": reports.blocks["bits"],
        "clear": reports.clear,
        "in_clear": reports.in_clear,
        "support": tally.support,
        "clear counts": tally.clear,
        "sensitive": DOMAIN.sensitive,
        "sensitive codes": DOMAIN.sensitive_codes,
        "clear codes": DOMAIN.clear_codes,
        "slots": DOMAIN.signed_ranks,
        "matrix": Channel(np.eye(5)).matrix,
    }
    assert [name for name, array in arrays.items() if array.flags.writeable] == []
    with pytest.raises(TypeError):
        reports.blocks["bits"] = reports.blocks["bits"]


def test_a_mask_is_copied() -> None:
    mask = np.array([True, False, False])
    domain = Domain(range(3), sensitive=mask)
    mask[:] = True
    assert domain.sensitive.tolist() == [True, False, False]
    matrix = np.eye(2)
    channel = Channel(matrix)
    matrix[:] = 0.5
    assert channel.matrix.tolist() == [[1, 0], [0, 1]]


def test_representations_hold_no_values() -> None:
    domain = Domain([SECRET_TEXT, "yes", "no"], sensitive=[SECRET_TEXT])
    for name in BLOCK_MECHANISMS:
        mechanism = BUILDERS[name](domain, 1.0)
        reports = mechanism.obfuscate([SECRET_TEXT, "yes"] * 50, random=SeededRandom(2))
        tally = mechanism.tally(reports)
        for shown in (repr(reports), repr(tally), repr(domain), repr(mechanism), str(reports)):
            assert SECRET_TEXT not in shown
            assert "array" not in shown
        assert repr(reports) == (
            f"Reports(n=100, in_clear={len(reports.clear)}, plan={mechanism.fingerprint[:12]}, simulated)"
        )
        assert repr(tally) == f"Tally(n=100, plan={mechanism.fingerprint[:12]}, simulated)"
