"""Planted leaks: devices whose blocks contain what they should, and whose reports tell the value all the same."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from discreet import Domain, LocalHashing, RandomizedResponse, Reports, SeededRandom, SubsetSelection, UnaryEncoding
from discreet.privacy.audit import Audit, audit

DRAWS = 40_000


def of(mechanism: Any, device: Callable[[Any, Any, Any], Reports], draws: int = DRAWS) -> Audit:
    """Audit a mechanism whose reports are made by another device, which may ask the sound one."""
    sound = replace(mechanism)

    def obfuscate(codes: Any, *, random: Any = None) -> Reports:
        return device(sound, np.asarray(codes), random)

    mechanism.__dict__["obfuscate_codes"] = obfuscate
    return audit(mechanism, draws=draws, random=SeededRandom(28))


def selected(sound: Any, codes: Any, random: Any, wanted: Callable[[Any], Any]) -> Reports:
    """Return sound reports of which each is the first of eight that tells something; their blocks stay as they are."""
    drawn = [sound.obfuscate_codes(codes, random=random) for _ in range(8)]
    pick = np.argmax([wanted(one) for one in drawn], axis=0)
    rows = Reports.concatenate(drawn).take(np.arange(len(codes)) + pick * len(codes))
    assert isinstance(rows, Reports)
    return rows


def with_block(reports: Reports, **columns: Any) -> Reports:
    blocks = {
        name: columns[name].astype(column.dtype) if name in columns else column
        for name, column in reports.blocks.items()
    }
    return replace(reports, blocks=blocks)


def hashing(size: int = 6) -> LocalHashing:
    return LocalHashing(Domain(range(size)), 1.0, g=4)


def odd(numbers: Any) -> Any:
    """Return the parity of the bits of each number."""
    return np.unpackbits(numbers.view(np.uint8).reshape(len(numbers), -1), axis=1).sum(axis=1) % 2


def test_the_parity_of_a_hash_parameter() -> None:
    """The one that passed: whether alpha is even tells whether the value is."""
    found = of(hashing(), lambda sound, x, random: selected(sound, x, random, lambda r: r.blocks["alpha"] % 2 == x % 2))
    assert not found.holds
    assert found.event.partition in {"parity", "score"}
    assert "alpha" in found.event.describe("x", "y") or found.event.partition == "score"


def test_the_parity_of_bits_in_two_columns() -> None:
    def device(sound: Any, x: Any, random: Any) -> Reports:
        return selected(sound, x, random, lambda r: (r.blocks["alpha"] ^ r.blocks["beta"]) % 2 == x % 2)

    found = of(hashing(97), device)
    assert not found.holds
    assert " xor " in found.event.words


def test_the_parity_of_all_bits_of_a_column() -> None:
    assert not of(
        hashing(97), lambda sound, x, random: selected(sound, x, random, lambda r: odd(r.blocks["beta"]) == x % 2)
    ).holds


def test_the_order_of_the_members_of_a_subset() -> None:
    def device(sound: Any, x: Any, random: Any) -> Reports:
        reports = sound.obfuscate_codes(x, random=random)
        members = reports.blocks["members"]
        return with_block(reports, members=np.where(x[:, None] % 2 == 0, members, members[:, ::-1]))

    assert not of(SubsetSelection(Domain(range(12)), 1.0, k=3), device).holds


def test_bits_beyond_the_last_value() -> None:
    def device(sound: Any, x: Any, random: Any) -> Reports:
        reports = sound.obfuscate_codes(x, random=random)
        bits = reports.blocks["bits"].copy()
        bits[:, -1] |= ((x % 2) << 7).astype(np.uint8)
        return with_block(reports, bits=bits)

    assert not of(UnaryEncoding(Domain(range(13)), 1.0), device).holds


def test_a_little_in_each_of_many_bits() -> None:
    """No bit tells much, a sum of twelve does."""

    def device(sound: Any, x: Any, random: Any) -> Reports:
        reports = sound.obfuscate_codes(x, random=random)
        share = random.words(12 * len(x)).reshape(len(x), 12) / 2.0**64
        bits = share < np.where(x % 2 == 0, 0.35, 0.65)[:, None]
        return with_block(reports, alpha=bits @ (1 << np.arange(12)))

    found = of(hashing(5003), device, 100_000)
    assert not found.holds
    assert found.event.partition == "score"


def test_one_value_of_many_is_always_told() -> None:
    def device(sound: Any, x: Any, random: Any) -> Reports:
        return selected(sound, x, random, lambda r: (r.blocks["symbol"] == x) | (x != 177))

    found = of(RandomizedResponse(Domain(range(300)), 3.0), device, 100_000)
    assert not found.holds
    assert found.event.first.code == 177


def test_one_sensitive_value_of_many_is_now_and_then_in_clear() -> None:
    mechanism = UnaryEncoding(Domain(range(300), sensitive=range(200)), 1.0)

    def device(sound: Any, x: Any, random: Any) -> Reports:
        told = (x == 133) & (random.words(len(x)) < np.uint64(1 << 62))
        reports = sound.obfuscate_codes(np.where(told, 299, x), random=random)
        codes = np.full(len(x), -1)
        codes[reports.in_clear] = reports.clear
        codes[reports.in_clear & told] = 133
        return replace(reports, clear=codes[codes >= 0].astype(reports.clear.dtype))

    assert not of(mechanism, device, 40_000).holds


def test_a_report_tells_the_value_before_it() -> None:
    def device(sound: Any, x: Any, random: Any) -> Reports:
        before = np.concatenate([x[:1], x[:-1]])
        return selected(sound, x, random, lambda r: r.blocks["alpha"] % 2 == before % 2)

    found = of(hashing(), device)
    assert not found.holds


def test_two_neighbours_share_their_noise() -> None:
    """The words of every second report are those of the one before it."""

    def device(sound: Any, x: Any, random: Any) -> Reports:
        seed = int(random.words(1)[0])
        even = np.resize(x[::2], (len(x) + 1) // 2)
        parts = [
            sound.obfuscate_codes(np.append(part, even[len(part) :]), random=SeededRandom(seed))
            for part in (even, x[1::2])
        ]
        rows = np.arange(len(x)) // 2 + np.arange(len(x)) % 2 * len(even)
        return Reports.concatenate(parts).take(rows)

    found = of(RandomizedResponse(Domain(range(4)), 1.0), device)
    assert not found.holds
    assert found.event.first.beside is not None


def test_equal_neighbours_share_their_hash_function() -> None:
    """Whether two reports have one alpha tells whether their values are the same."""

    def device(sound: Any, x: Any, random: Any) -> Reports:
        reports = sound.obfuscate_codes(x, random=random)
        alpha = reports.blocks["alpha"].copy()
        same = np.flatnonzero(x[1:] == x[:-1])[::2] + 1
        alpha[same] = alpha[same - 1]
        return with_block(reports, alpha=alpha)

    found = of(hashing(97), device)
    assert not found.holds
    assert found.event.first.beside is not None
