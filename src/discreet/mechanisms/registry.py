"""The registry of block mechanisms by their names in plans, from this package and from other packages.

Another package registers a mechanism with an entry point of the group `GROUP`, under the mechanism's name in plans:

    [project.entry-points."discreet.block_laws"]
    exclusion = "own_law:Exclusion"

Entry points are loaded only for a name that this package does not have, or for a list of all names. A device loads only
the mechanism of its plan. The author of a law may state a wrong pi, rho or probability. So the registry computes these
numbers from the blocks (`Enumeration`) before it accepts a mechanism: from all blocks if there are few, and otherwise
from the same law over few values.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import lcm, prod
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, BoolArray, IntArray
from discreet.core.checks import quoted
from discreet.core.domain import Domain
from discreet.core.random import SeededRandom
from discreet.core.reports import Blocks, Column
from discreet.errors import ParameterError
from discreet.mechanisms.block_law import BlockLaw, parts_of
from discreet.mechanisms.law import MOST_ENTRIES, BlockMechanism

_SMALL_SIZES = (5, 2)
_DRAWS = 1 << 12
# Sums of these weights over all members of all blocks, at most 2^25, fit into 63 bits.
_FACTORS = 1 << 36
_FEW_WEIGHTS = 64
_SEED = 28


class Enumeration:
    """All blocks of a law with their probabilities, for checks of pi, rho, the sampler and the flaws.

    Args:
        law: a law whose blocks can be listed; see `is_countable`.
    """

    def __init__(self, law: BlockLaw) -> None:
        self.law = law
        self.blocks, self.weights = law.alphabet()

    @cached_property
    def contained(self) -> BoolArray:
        """``(m, v)`` booleans, for each listed block and each value: true if the block contains the value."""
        held = np.asarray(self.law.contains(self.blocks))
        if held.shape != (len(self.weights), self.law.size) or held.dtype != np.bool_:
            raise TypeError(f"contains must be {(len(self.weights), self.law.size)} booleans, got {held.shape}")
        return held

    @cached_property
    def inclusions(self) -> tuple[Fraction, ...]:
        """The probability pi of each value: the sum of the probabilities of the blocks that contain the value."""
        return tuple(self._sums(np.ones(len(self.weights), dtype=np.int64)))

    def form_faults(self) -> Iterator[str]:
        """Yield the faults in a law's list of blocks: wrong probabilities, wrong columns or repeated blocks."""
        law, blocks = self.law, self.blocks
        if not all(isinstance(weight, int | Fraction) for weight in self.weights.tolist()):
            yield "the probabilities of the alphabet must be fractions."
            return
        distinct, places = self._classes
        of_each = zip(distinct, np.bincount(places, minlength=len(distinct)).tolist(), strict=True)
        if min(distinct) < 0 or sum((weight * count for weight, count in of_each), Fraction(0)) != 1:
            yield "the probabilities of the alphabet must be fractions of at least 0 that add up to 1."
        names = [column.name for column in law.columns]
        if sorted(blocks) != sorted(names):
            yield f"the alphabet must have the columns {names}, got {sorted(blocks)}."
            return
        for column in law.columns:
            entries = blocks[column.name]
            shape = column.shape(law.alphabet_size)
            if entries.dtype != column.dtype or entries.shape != shape:
                yield (
                    f"column {column.name!r} must be {np.dtype(column.dtype)} of shape {shape}, got {entries.dtype} of "
                    f"shape {entries.shape}."
                )
            elif column.bound is not None and int(entries.max()) >= column.bound:
                yield f"column {column.name!r} must keep its bound."
        if (different := len(np.unique(keys(blocks)))) != law.alphabet_size:
            yield f"the {law.alphabet_size} blocks must differ, only {different} do."

    def number_faults(self) -> Iterator[str]:
        """Yield the faults of pi and of rho, which is checked only if it is a number."""
        law, pi, rho = self.law, self.law.inclusion, self.law.conditional_inclusion
        for x, number in enumerate(self.inclusions):
            if number != pi:
                yield f"pi of value {x} must be {_short(number)}, as counted, the law states {_short(pi)}."
                return
        if law.size == 1 or rho is None:
            return
        # A product with random factors shows whether any pair is wrong; only then the pair is searched.
        factors = np.random.default_rng().integers(1, _FACTORS, law.size)
        total = int(factors.sum())
        for x, number in enumerate(self._sums(self.contained @ factors)):
            factor = int(factors[x])
            if number != pi * (factor + rho * (total - factor)):
                yield from self._wrong_pair(x, rho)
                return

    def _wrong_pair(self, x: int, rho: Fraction) -> Iterator[str]:
        pairs = self._sums(self.contained[:, x].astype(np.int64))
        for other, pair in enumerate(pairs):
            share = pair / self.inclusions[x] if self.inclusions[x] else Fraction(0)
            if other != x and share != rho:
                yield (
                    f"rho of value {other}, given {x}, must be {_short(share)}, as counted, the law states "
                    f"{_short(rho)}."
                )
                return

    def drawing_faults(self) -> Iterator[str]:
        """Yield the faults of drawn blocks: not in the list, without their required member, or rejected by `flaws`."""
        law = self.law
        members = np.arange(_DRAWS) % (law.size + 1) - 1
        drawn: dict[str, AnyArray] = {
            column.name: np.zeros(column.shape(_DRAWS), column.dtype) for column in law.columns
        }
        law.draw(members, SeededRandom(_SEED), drawn)
        if (strange := np.count_nonzero(positions_in(keys(drawn), keys(self.blocks)) < 0)) > 0:
            yield f"blocks that are drawn must be in the alphabet, {strange} of {_DRAWS} are not."
        rows = np.flatnonzero(members >= 0)
        without = np.count_nonzero(~law.contains(drawn)[rows, members[rows]])
        if without:
            yield f"a block must contain its member, {without} of {len(rows)} do not."
        if flawed := np.count_nonzero(law.flaws(drawn)):
            yield f"blocks that are drawn must not be flawed, {flawed} of {_DRAWS} are."

    def flaw_faults(self, most: int) -> Iterator[str]:
        """Yield the faults of `flaws`, which must reject blocks that are not in the alphabet.

        At most ``most`` blocks are tried.
        """
        blocks = _writable(self.law.columns, most)
        possible, flawed = positions_in(keys(blocks), keys(self.blocks)) >= 0, self.law.flaws(blocks)
        if flawed.shape != possible.shape:
            yield f"flaws must be one per block, {possible.shape}, got {flawed.shape}."
            return
        for wrong, rule in ((flawed & possible, "sent must not be flawed"), (~flawed & ~possible, "not sent must be")):
            if count := np.count_nonzero(wrong):
                yield f"blocks that can be {rule} (flaws), {count} of {len(wrong)} are otherwise."

    @cached_property
    def _classes(self) -> tuple[list[Fraction], IntArray]:
        """The different probabilities, and the ``(m,)`` index of each block's probability among them."""
        # Pairs of integers are faster to hash and compare than fractions.
        listed = [(weight.numerator, weight.denominator) for weight in self.weights.tolist()]
        known = {pair: place for place, pair in enumerate(dict.fromkeys(listed))}
        places = np.fromiter(map(known.__getitem__, listed), np.int64, len(listed))
        return [Fraction(*pair) for pair in known], places

    def _sums(self, values: IntArray) -> list[Fraction]:
        """Return for each value the sum of probability times integer over the blocks that contain the value."""
        distinct, places = self._classes
        if len(distinct) <= _FEW_WEIGHTS:
            rows = [np.flatnonzero(places == at) for at in range(len(distinct))]
            parts = [(key, values[at] @ self.contained[at]) for key, at in zip(distinct, rows, strict=True)]
            return [sum((weight * int(part[x]) for weight, part in parts), Fraction(0)) for x in range(self.law.size)]
        noise, denominator = common_denominator(self.weights)
        weighted = noise * values
        return [Fraction(int(weighted[column].sum()), denominator) for column in self.contained.T]


def is_countable(law: BlockLaw) -> bool:
    """Return true if all possible blocks of a law can be listed, because there are few."""
    return law.alphabet_size * law.size <= MOST_ENTRIES


def examined(law: BlockLaw) -> tuple[tuple[Fraction, ...] | None, list[str]]:
    """Return pi of each value, counted from the blocks, and a sentence for each fault of the law.

    Args:
        law: a law with blocks that can be listed, from any package; its members may return or raise anything.

    Returns:
        pi, or None with a fault if pi cannot be counted; and the faults, an empty list for a correct law.
    """
    faults: list[str] = []
    inclusions = None
    try:
        counted = Enumeration(law)
        faults += counted.form_faults()
        inclusions = counted.inclusions
        faults += counted.number_faults()
        if not faults:
            faults += [*counted.drawing_faults(), *counted.flaw_faults(_DRAWS)]
    except Exception as failure:  # another package's code, which may raise anything
        faults.append(f"the blocks must be listed, drawn and read, but {type(failure).__name__} was raised: {failure}")
    return inclusions, faults


def at_small_sizes(*makers: Callable[[int], BlockLaw]) -> Iterator[BlockLaw]:
    """Yield laws over few values: for each of several sizes, the laws that the makers can build."""
    for size, make in product(_SMALL_SIZES, makers):
        try:
            law = make(size)
            countable = law.size == size and is_countable(law)
        except Exception:  # too few values, or a fault of another package
            continue
        if countable:
            yield law


def _short(share: Fraction) -> str:
    """Return a short fraction as text, and a long fraction as a decimal number."""
    written = str(share)
    return written if len(written) <= 20 else f"{float(share):.12g}"


def _writable(columns: tuple[Column, ...], most: int) -> Blocks:
    """Return all possible rows of entries within the columns' bounds, or random rows if there are too many."""
    entries = [column for column in columns for _ in range(column.width or 1)]
    bounds = [column.bound or 1 << 8 * np.dtype(column.dtype).itemsize for column in entries]
    total, rest = prod(bounds), np.arange(min(prod(bounds), most))
    digits: list[AnyArray] = []
    random = np.random.default_rng(1)
    for bound in bounds:
        if total > most:
            digits.append(random.integers(0, bound, len(rest), dtype=np.uint64))
            continue
        rest, digit = np.divmod(rest, bound)
        digits.append(digit)
    blocks, at = {}, iter(digits)
    for column in columns:
        stacked = np.stack([next(at) for _ in range(column.width or 1)], axis=1).astype(column.dtype)
        blocks[column.name] = stacked[:, 0] if column.width is None else stacked
    return blocks


def common_denominator(weights: Any) -> tuple[AnyArray, int]:
    """Return fractions as integer numerators and their common denominator."""
    denominator = lcm(*{weight.denominator for weight in set(weights.tolist())})
    return np.array([int(weight * denominator) for weight in weights], dtype=object), denominator


def keys(blocks: Blocks) -> AnyArray:
    """Return ``(m,)`` byte strings, which are equal if and only if the blocks are equal."""
    rows = [np.ascontiguousarray(column).reshape(len(column), -1) for _, column in sorted(blocks.items())]
    return as_keys(np.hstack([row.view(np.uint8).reshape(len(row), -1) for row in rows]))


def as_keys(rows: AnyArray) -> AnyArray:
    """Return rows of bytes as ``(m,)`` opaque values, which can be compared and sorted."""
    # NumPy removes zeros at the end of bytes as padding, but all rows have one width.
    return np.ascontiguousarray(rows).view(f"S{rows.shape[1]}").reshape(len(rows))


def positions_in(wanted: AnyArray, all_keys: AnyArray) -> IntArray:
    """Return the ``(n,)`` position of each key among distinct keys; -1 for a key that is not among them."""
    order = np.argsort(all_keys)
    places = order[np.minimum(np.searchsorted(all_keys, wanted, sorter=order), len(order) - 1)]
    return np.where(all_keys[places] == wanted, places, -1)


GROUP = "discreet.block_laws"
"""The group of entry points in which other packages register mechanisms."""

REMOVED = frozenset({"hash pool", "hashing-pool", "paley"})
"""The names of mechanisms and block laws of earlier versions that were removed."""

# Digits of the largest integer below 2^64.
_DIGITS = 20


class UnknownLawError(ParameterError):
    """Raised if no block law of the given kind is in this package or in an installed package."""


def description_of(law: BlockLaw) -> dict[str, Any]:
    """Return a description of a law as JSON values; `Registry.law_of` rebuilds the law from it.

    Integers that may exceed 2^53, where other languages lose digits, are decimal texts.

    Raises:
        ParameterError: if the law's class does not define how to rebuild it from a description.
    """
    if not isinstance(law, BlockLaw) or not law.kind:
        raise ParameterError("block-law.undescribed", kind=type(law).__name__)
    return {name: str(part) if name in law.wide else part for name, part in law.describe().items()}


def law_from_description(law: type[BlockLaw], description: dict[str, Any]) -> BlockLaw:
    """Return the block law of the given class that a description describes.

    Raises:
        ParameterError: if the description defines no law, or differs from the law's own description.
    """
    parts = {name: part for name, part in description.items() if name != "law"}
    parts |= {name: int(parts[name]) for name in law.wide if _is_decimal(parts.get(name))}
    try:
        rebuilt: Any = law_from_parts(law, parts)
        # Compared as text, because True must not equal 1, nor 007 equal 7.
        is_own = _canonical(description_of(rebuilt)) == _canonical(description)
    except ParameterError:
        raise
    except Exception:  # parts of any kind from outside, and another package's code
        raise ParameterError("block-law.wrong-parts", kind=law.kind) from None
    if not is_own:
        raise ParameterError("block-law.other-description", kind=law.kind)
    return rebuilt  # type: ignore[no-any-return]


def law_from_parts(law: type[BlockLaw], parts: dict[str, Any]) -> BlockLaw:
    """Return the law of a class from the parts of a description without the kind.

    Parts that follow from others are ignored here; `law_from_description` compares the law's own description.

    Raises:
        ParameterError: if the parts define no law; unexpected parts may raise other errors.
    """
    if hasattr(law, "of_parts"):
        rebuilt: BlockLaw = law.of_parts(parts)
        return rebuilt
    follow = {part.name for part in parts_of(law) if not part.init}
    plain = {name: tuple(part) if isinstance(part, list) else part for name, part in parts.items()}
    return law(**{name: part for name, part in plain.items() if name not in follow})


def _canonical(description: dict[str, Any]) -> str:
    return json.dumps(description, sort_keys=True)


def _is_decimal(part: object) -> bool:
    """Return true for an integer below 2^64 written as decimal text; the law itself checks other parts."""
    return isinstance(part, str) and part.isdecimal() and len(part) <= _DIGITS


def _fault_of(candidate: Any, name: str) -> str | None:
    """Return the fault of another package's mechanism, as the end of a sentence; None if none was found."""
    if not (isinstance(candidate, type) and issubclass(candidate, BlockMechanism)) or candidate.name != name:
        return "must be a block mechanism of this name"
    known = {option.name for option in fields(candidate)}
    written = {name for name, kind in vars(candidate).get("__annotations__", {}).items() if "ClassVar" not in str(kind)}
    if lost := sorted(written - known - {"name", "laws", "proposed", "law"}):
        return (
            f"must have {', '.join(lost)} as an option, but {candidate.__name__} is no dataclass; decorate it with "
            "@dataclass(frozen=True, eq=False, repr=False, kw_only=True)"
        )
    laws = at_small_sizes(lambda size: candidate(Domain(range(size)), 1.0).law)
    fault = next((fault for law in laws for fault in examined(law)[1]), None)
    return None if fault is None else f"must be a mechanism that is what it states: {fault}"


class Registry(Mapping[str, type[BlockMechanism]]):
    """A mapping from names to block mechanisms, with the mechanisms of this package first.

    Args:
        built_in: the mechanisms of this package.
    """

    def __init__(self, built_in: Sequence[type[BlockMechanism]]) -> None:
        self.built_in: dict[str, type[BlockMechanism]] = {mechanism.name: mechanism for mechanism in built_in}

    @cached_property
    def joined(self) -> dict[str, type[BlockMechanism]]:
        """The mechanisms that other installed packages register, by name.

        Raises:
            ParameterError: if an entry point cannot be loaded, does not name a block mechanism of its name, or uses a
                name that is taken.
        """
        # Imported here, because a device that knows its plan does not need it.
        from importlib.metadata import entry_points

        mechanisms: dict[str, type[BlockMechanism]] = {}
        for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
            fault: str | None = None
            kind: Any = None
            try:
                kind = point.load()
            except Exception as failure:  # another package's code, which may raise anything
                fault = f"cannot be loaded ({type(failure).__name__}: {failure})"
            if fault is None and point.name in {*self.built_in, *mechanisms}:
                fault = "has the name of another mechanism"
            fault = fault or _fault_of(kind, point.name)
            if fault is not None:
                raise ParameterError(
                    "entry-point.faulty", name=point.name, group=GROUP, value=point.value, rstrip=fault.rstrip(".")
                )
            mechanisms[point.name] = kind
        return mechanisms

    def law_of(self, description: Any) -> BlockLaw:
        """Return the block law that a description of any law describes; see `description_of`.

        Raises:
            ParameterError: if the description defines no law, or differs from the law's own description.

        Example:
            >>> from discreet.mechanisms import BLOCK_MECHANISMS
            >>> BLOCK_MECHANISMS.law_of({"law": "bits", "size": 9, "threshold": "5", "depth": 3})
            IndependentBits(size=9, threshold=5, depth=3)
        """
        kind = description.get("law") if isinstance(description, dict) else None
        return law_from_description(self._law_named(kind), description)

    def _law_named(self, kind: object) -> type[BlockLaw]:
        """Return the class of the block laws of a kind, from this package first."""
        # Other packages are searched only if this package has no such law.
        for mechanism in self.values():
            for law in mechanism.laws:
                if kind == law.kind:
                    return law
        if not isinstance(kind, str):
            raise ParameterError("block-law.unnamed", kind=quoted(kind))
        raise UnknownLawError("block-law.removed" if kind in REMOVED else "block-law.unknown", kind=quoted(kind))

    def __getitem__(self, name: str) -> type[BlockMechanism]:
        return self.built_in[name] if name in self.built_in else self.joined[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.built_in
        yield from self.joined

    def __len__(self) -> int:
        return len(self.built_in) + len(self.joined)
