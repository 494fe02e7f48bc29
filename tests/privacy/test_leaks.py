"""Planted leaks: devices whose blocks contain what they should, and whose reports tell the value all the same."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from discreet import (
    Domain,
    HadamardResponse,
    LocalHashing,
    RandomizedResponse,
    Reports,
    SeededRandom,
    SubsetSelection,
    UnaryEncoding,
)
from discreet.privacy.audit import Audit, audit
from packing import each

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


def at_random(sound: Any, x: Any, random: Any) -> Reports:
    """The device that keeps the promise."""
    reports: Reports = sound.obfuscate_codes(x, random=random)
    return reports


def parity_of_two_columns(sound: Any, x: Any, random: Any) -> Reports:
    return selected(sound, x, random, lambda r: (r.blocks["alpha"] ^ r.blocks["beta"]) % 2 == x % 2)


def order_of_members(sound: Any, x: Any, random: Any) -> Reports:
    reports = at_random(sound, x, random)
    members = reports.blocks["members"]
    return with_block(reports, members=np.where(x[:, None] % 2 == 0, members, members[:, ::-1]))


def bits_beyond_the_last_value(sound: Any, x: Any, random: Any) -> Reports:
    reports = at_random(sound, x, random)
    bits = reports.blocks["bits"].copy()
    bits[:, -1] |= ((x % 2) << 7).astype(np.uint8)
    return with_block(reports, bits=bits)


def a_little_in_each_of_many_bits(sound: Any, x: Any, random: Any) -> Reports:
    """No bit tells much, a sum of twelve does."""
    share = random.words(12 * len(x)).reshape(len(x), 12) / 2.0**64
    bits = share < np.where(x % 2 == 0, 0.35, 0.65)[:, None]
    return with_block(at_random(sound, x, random), alpha=bits @ (1 << np.arange(12)))


def column_of_one_value(sound: Any, x: Any, random: Any) -> Reports:
    """A column with the same members of two values that only one of them sends."""
    reports = at_random(sound, x, random)
    column = reports.blocks["column"].copy()
    column[(column == 3) & (x != 2)] = 4
    return with_block(reports, column=column)


def now_and_then_in_clear(sound: Any, x: Any, random: Any) -> Reports:
    """One sensitive value of many."""
    told = (x == 133) & (random.words(len(x)) < np.uint64(1 << 62))
    reports = at_random(sound, np.where(told, 299, x), random)
    codes = np.full(len(x), -1)
    codes[reports.in_clear] = reports.clear
    codes[reports.in_clear & told] = 133
    return replace(reports, clear=codes[codes >= 0].astype(reports.clear.dtype))


def the_value_before_it(sound: Any, x: Any, random: Any) -> Reports:
    before = np.concatenate([x[:1], x[:-1]])
    return selected(sound, x, random, lambda r: r.blocks["alpha"] % 2 == before % 2)


def noise_of_the_neighbour(sound: Any, x: Any, random: Any) -> Reports:
    """The words of every second report are those of the one before it."""
    seed = int(random.words(1)[0])
    even = np.resize(x[::2], (len(x) + 1) // 2)
    parts = [at_random(sound, np.append(part, even[len(part) :]), SeededRandom(seed)) for part in (even, x[1::2])]
    rows = np.arange(len(x)) // 2 + np.arange(len(x)) % 2 * len(even)
    return Reports.concatenate(parts).take(rows)


def hash_function_of_an_equal_neighbour(sound: Any, x: Any, random: Any) -> Reports:
    """Whether two reports have one alpha tells whether their values are the same."""
    reports = at_random(sound, x, random)
    alpha = reports.blocks["alpha"].copy()
    same = np.flatnonzero(x[1:] == x[:-1])[::2] + 1
    alpha[same] = alpha[same - 1]
    return with_block(reports, alpha=alpha)


SECRETIVE = UnaryEncoding(Domain(range(300), sensitive=range(200)), 1.0)


@each(
    "mechanism, device, draws, seen",
    [
        # The one that passed: whether alpha is even tells whether the value is.
        (hashing(), lambda *args: selected(*args, lambda r: r.blocks["alpha"] % 2 == args[1] % 2), DRAWS, "alpha"),
        (hashing(97), parity_of_two_columns, DRAWS, " xor "),
        (hashing(97), lambda *args: selected(*args, lambda r: odd(r.blocks["beta"]) == args[1] % 2), DRAWS, ""),
        (SubsetSelection(Domain(range(12)), 1.0, k=3), order_of_members, DRAWS, ""),
        (UnaryEncoding(Domain(range(13)), 1.0), bits_beyond_the_last_value, DRAWS, ""),
        (hashing(5003), a_little_in_each_of_many_bits, 100_000, "score"),
        (SECRETIVE, now_and_then_in_clear, DRAWS, ""),
        (HadamardResponse(Domain(range(7)), 0.5), column_of_one_value, 100_000, ""),
        (hashing(), the_value_before_it, DRAWS, ""),
    ],
)
def test_leaks_are_seen(mechanism: Any, device: Any, draws: int, seen: str) -> None:
    found = of(mechanism, device, draws)
    assert not found.holds
    assert seen in f"{found.event.partition} {found.event.words}"


def test_one_value_of_many_is_always_told() -> None:
    def device(sound: Any, x: Any, random: Any) -> Reports:
        return selected(sound, x, random, lambda r: (r.blocks["symbol"] == x) | (x != 177))

    found = of(RandomizedResponse(Domain(range(300)), 3.0), device, 100_000)
    assert not found.holds
    assert found.event.first.code == 177


@each(
    "mechanism, device",
    [
        (RandomizedResponse(Domain(range(4)), 1.0), noise_of_the_neighbour),
        (hashing(97), hash_function_of_an_equal_neighbour),
    ],
)
def test_reports_that_tell_of_each_other_are_seen(mechanism: Any, device: Any) -> None:
    found = of(mechanism, device)
    assert not found.holds
    assert found.event.first.beside is not None
