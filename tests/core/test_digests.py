"""Digests of reports: the same in any order, cutting and way of counting; another for any other reports."""

import hashlib
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.core import tally as rules
from discreet.core.reports import RecordForm, SealedBatch, batch_name, in_both, read_digest, spelled
from discreet.core.tally import MODULUS, Digesting, digest_of_limbs, digesting, limbs_of
from discreet.errors import DataError, MismatchError
from discreet.formats.records import RecordCodec
from laws import MEDIUM, Case, cases, over, sampled
from refusals import refused

EVERY = cases(MEDIUM, (1.0,))
COLLECTION = "8f" * 32


def by_hand(mechanism: Any, reports: dc.Reports) -> int:
    """Return the digest as docs/reference/formats.md describes it, in whole numbers of Python."""
    form = RecordForm(mechanism.columns, mechanism.clear_blocks)
    words = -(-form.width // 8)
    said = b"discreet digest 1\n" + mechanism.fingerprint.encode()
    drawn = hashlib.shake_256(said).digest(8 * (words + 3))
    keys = [int.from_bytes(drawn[at : at + 8], "little") | 1 for at in range(0, len(drawn), 8)]
    total, word = 0, 1 << 64
    for record in RecordCodec.of(mechanism).encode(reports).tolist():
        padded = bytes(record).ljust(8 * words, b"\0")
        parts = [int.from_bytes(padded[at : at + 8], "little") for at in range(0, len(padded), 8)]
        found = (keys[-3] + sum((part ^ part >> 32) * key for part, key in zip(parts, keys, strict=False))) % word
        found ^= found >> 32
        low, high = found * keys[-2] % word, found * keys[-1] % word
        total += (low ^ low >> 32) + ((high ^ high >> 32) << 64)
    return total % MODULUS


@over(EVERY)
def test_every_way_gives_the_digest_that_is_described(case: Case) -> None:
    mechanism, reports = case.mechanism, sampled(case, 300)
    digests, order = digesting(mechanism), np.random.default_rng(1).permutation(300)
    found = digests.of(reports)
    assert found == by_hand(mechanism, reports)
    # By counts where there are few contents, and one by one where there are few reports.
    assert found == sum(digests.of(reports[row : row + 1]) for row in range(300)) % MODULUS
    assert found == digests.of(reports.take(order))
    tally = mechanism.tally(reports)
    assert (tally.rest, tally.batches, tally.rest_n) == (found, (), 300)
    assert sum(mechanism.tally(reports[at : at + 70]) for at in range(0, 300, 70)).rest == found
    assert pickle.loads(pickle.dumps(tally)).rest == found


@over(EVERY)
def test_compiled_and_plain_sums_are_the_same(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism, reports = case.mechanism, sampled(case, 900)
    found = set()
    for pays in (True, False):
        for few in (0, 1 << 16):
            monkeypatch.setattr("discreet.kernels.startup.pays", lambda _, pays=pays: pays)
            monkeypatch.setattr(rules, "_FEW", few)
            fresh = Digesting(mechanism.columns, mechanism.clear_blocks, mechanism.fingerprint)
            found.add(fresh.of(reports))
            if mechanism.counts.numbered and not mechanism.clear_blocks:
                found.add(fresh.of_counts(mechanism.tally(reports).support, reports.clear))
    assert len(found) == 1


def test_every_bit_of_a_report_counts() -> None:
    mechanism = dc.UnaryEncoding(dc.Domain(range(200)), 1.0)
    reports = mechanism.obfuscate_codes(np.arange(40), random=dc.SeededRandom(1))
    found = {digesting(mechanism).of(reports)}
    for row in (0, 39):
        for bit in range(200):
            bits = reports.blocks["bits"].copy()
            bits[row, bit // 8] ^= 1 << bit % 8
            found.add(digesting(mechanism).of(dc.Reports(reports.fingerprint, 40, None, reports.clear, {"bits": bits})))
    assert len(found) == 401
    # Also where two of the highest bits of words change, which products alone would cancel.
    bits = reports.blocks["bits"].copy()
    bits[0, [6, 14]] ^= 128
    assert (
        digesting(mechanism).of(dc.Reports(reports.fingerprint, 40, None, reports.clear, {"bits": bits})) not in found
    )
    other = dc.UnaryEncoding(dc.Domain(range(200)), 2.0)
    again = dc.Reports(other.fingerprint, 40, None, reports.clear, dict(reports.blocks))
    assert digesting(other).of(again) not in found


def test_different_batches_of_few_contents_are_different() -> None:
    mechanism = dc.RandomizedResponse(dc.Domain(range(20), sensitive=range(12)), 1.0)
    whole = mechanism.obfuscate_codes(np.arange(4000) % 20, random=dc.SeededRandom(1))
    counts = [tuple(mechanism.tally(whole[at : at + 4]).support) for at in range(0, 4000, 4)]
    clear = [tuple(mechanism.tally(whole[at : at + 4]).clear) for at in range(0, 4000, 4)]
    found = [digesting(mechanism).of(whole[at : at + 4]) for at in range(0, 4000, 4)]
    assert len(set(found)) == len(set(zip(counts, clear, strict=True))) > 700


def test_limbs_add_up_without_overflow() -> None:
    random = np.random.default_rng(1)
    digests = [int.from_bytes(random.bytes(16), "little") for _ in range(1000)] + [MODULUS - 1] * 1000
    limbs = sum(map(limbs_of, digests))
    assert (limbs >= 0).all()
    assert digest_of_limbs(limbs) == sum(digests) % MODULUS
    assert read_digest(spelled(7)) == 7
    for wrong in ("7", "0" * 31 + "G", "0" * 33, None, 7, "0" * 31 + "A"):
        with pytest.raises(ValueError, match="no digest"):
            read_digest(wrong)


def test_names_of_batches_have_one_form() -> None:
    assert batch_name({"collection": COLLECTION, "epoch": 0, "n": 3}) == f"{COLLECTION}/0"
    assert batch_name({"collection": COLLECTION, "epochs": [3, 5]}) == f"{COLLECTION}/3-5"
    for facts in (
        {},
        {"collection": COLLECTION},
        {"epoch": 3},
        {"collection": "alice 10:31", "epoch": 3},
        {"collection": COLLECTION.upper(), "epoch": 3},
        {"collection": COLLECTION + "\n", "epoch": 3},
        *({"collection": COLLECTION, "epoch": epoch} for epoch in (-1, 1 << 32, True, "3", 3.0, None, [3])),
        *({"collection": COLLECTION, "epochs": epochs} for epochs in ([3], [5, 3], [3, 3], [3, 4, 5], 3, ["3", "5"])),
        {"collection": COLLECTION, "epoch": 3, "epochs": [3, 5]},
    ):
        assert batch_name(facts) == ""


def test_small_epochs_are_alike_by_chance_and_different_by_name() -> None:
    """30 epochs of 1,000 binary reports nearly always have two that are alike."""
    mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), 1.0)
    reports = mechanism.obfuscate_codes(np.zeros(30_000, np.int64), random=dc.SeededRandom(1))
    found = [digesting(mechanism).of(reports[at : at + 1000]) for at in range(0, 30_000, 1000)]
    assert len(set(found)) < 30
    named = [SealedBatch(f"{COLLECTION}/{epoch}", digest, 1000) for epoch, digest in enumerate(found)]
    assert not any(in_both([batch], named[place + 1 :]) for place, batch in enumerate(named))
    assert in_both(named, [SealedBatch("", found[3], 1000)])


def test_tallies_know_their_batches_and_merge_each_once() -> None:
    mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no", "none"]), 1.0)
    reports = mechanism.obfuscate_codes(np.arange(900) % 3, random=dc.SeededRandom(1))
    batches = [
        SealedBatch(f"{COLLECTION}/{epoch}", digesting(mechanism).of(reports[300 * epoch :][:300]), 300)
        for epoch in (0, 1)
    ]
    parts = [replace(reports[300 * epoch :][:300], batches=(batch,)) for epoch, batch in enumerate(batches)]
    sealed = dc.Reports.concatenate(parts)
    tally = mechanism.tally(sealed)
    assert (tally.batches, tally.rest, tally.rest_n) == (tuple(batches), 0, 0)
    rest = mechanism.tally(reports[600:])
    whole = tally + rest
    assert (whole.batches, whole.rest, whole.rest_n) == (tuple(batches), rest.rest, 300)
    # Equal to the last digit, whatever was sealed of it.
    assert whole == mechanism.tally(reports) == rest + tally
    assert sealed[:300].batches == sealed.sealed().batches == ()
    said = refused(MismatchError, lambda: whole + tally)
    assert (
        said
        == "tallies must count different reports, and 2 sealed batches of 600 reports are in both; count them once."
    )
    unknown = dc.Tally(rest.fingerprint, rest.n, rest.support, rest.clear)
    assert unknown.rest is None
    assert (unknown + tally).rest is None
    assert (unknown + tally).batches == tuple(batches)
    assert mechanism.empty_tally().rest == 0
    too_many = "no more than that in its sealed batches"
    assert too_many in refused(
        DataError, lambda: dc.Tally(rest.fingerprint, 300, rest.support, rest.clear, batches=tuple(batches))
    )
