"""Block mechanisms by their names in plans: those of this package, and those of other packages that join them.

Another package joins by an entry point of the group `GROUP`, whose name is that of the mechanism in plans:

    [project.entry-points."discreet.block_laws"]
    exclusion = "own_law:Exclusion"

Entry points are looked up when a name is not of this package, or when all names are wanted: a device that knows its
plan loads nothing else. What joins is looked at first: its law must be what its blocks say, over a few values at least.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from itertools import chain
from typing import Any

from discreet.core.checks import shown
from discreet.core.domain import Domain
from discreet.errors import ParameterError
from discreet.mechanisms.block_law import BlockLaw, CommonLaw
from discreet.mechanisms.enumeration import at_small_sizes, examined
from discreet.mechanisms.law import BlockMechanism

GROUP = "discreet.block_laws"
"""The group of entry points."""

# Digits of the largest integer below 2^64.
_DIGITS = 20


class UnknownLawError(ParameterError):
    """A block law of a kind that neither this package nor an installed one knows."""


def spelled_out(law: BlockLaw) -> dict[str, Any]:
    """Return a description of a law, as values of JSON, from which `Registry.law_of` makes it again.

    Groups of values are spelled out; parts that may pass 2^53, where other languages lose digits, are decimal texts.

    Raises:
        ParameterError: if the law's class does not say how it is made from a description.
    """
    if not isinstance(law, CommonLaw) or not law.kind:
        raise ParameterError(f"the block law must have a kind and be described by it, got {type(law).__name__}.")
    return {name: _as_text(part) if name in law.wide else part for name, part in law.spelled().items()}


def made_again(law: type[CommonLaw], description: dict[str, Any]) -> BlockLaw:
    """Return the block law of a class with this spelled-out description.

    Raises:
        ParameterError: if there is none, or its description is another one.
    """
    parts = {name: _of_text(part) if name in law.wide else part for name, part in description.items() if name != "law"}
    try:
        made: Any = law.of_parts(parts)
        # As text: True is no 1 then, and 007 is no 7.
        is_own = _canonical(spelled_out(made)) == _canonical(description)
    except ParameterError:
        raise
    except Exception:  # parts of any kind from outside, and another package's code
        raise ParameterError(
            f"the description of a block law of the kind {law.kind!r} must have its parts and no others."
        ) from None
    if not is_own:
        raise ParameterError(
            f"the description of a block law of the kind {law.kind!r} must be the one that the law has itself, "
            "got another one."
        )
    return made  # type: ignore[no-any-return]


def _canonical(description: dict[str, Any]) -> str:
    return json.dumps(description, sort_keys=True)


def _as_text(part: Any) -> Any:
    return [str(one) for one in part] if isinstance(part, list | tuple) else str(part)


def _of_text(part: Any) -> Any:
    """Return the integers of decimal texts; anything else as it is, for the law to refuse."""
    if isinstance(part, list):
        return [_of_text(one) for one in part]
    return int(part) if isinstance(part, str) and part.isdecimal() and len(part) <= _DIGITS else part


def _fault_of(made: type[BlockMechanism]) -> str | None:
    """Return a sentence on what another package's mechanism does not keep; None if nothing is known against it."""
    known = {one.name for one in fields(made)}
    written = {name for name, kind in vars(made).get("__annotations__", {}).items() if "ClassVar" not in str(kind)}
    if lost := sorted(written - known - {"name", "laws", "proposed", "law"}):
        return (
            f"{', '.join(lost)} must be an option, but {made.__name__} is no dataclass; decorate it with "
            "@dataclass(frozen=True, eq=False, repr=False, kw_only=True)."
        )
    laws = at_small_sizes(lambda size: made(Domain(range(size)), 1.0).law)
    return next((fault for law in laws for fault in examined(law)[1]), None)


class Registry(Mapping[str, type[BlockMechanism]]):
    """Block mechanisms by name, those of this package first.

    Args:
        built_in: the mechanisms of this package.
    """

    def __init__(self, built_in: Sequence[type[BlockMechanism]]) -> None:
        self.built_in: dict[str, type[BlockMechanism]] = {mechanism.name: mechanism for mechanism in built_in}

    @cached_property
    def joined(self) -> dict[str, type[BlockMechanism]]:
        """The mechanisms of other packages, by name.

        Raises:
            ParameterError: if an entry point cannot be loaded, is none of a block mechanism of its name, or its name
                is taken.
        """
        # A device that knows its plan need not pay for this import.
        from importlib.metadata import entry_points

        found: dict[str, type[BlockMechanism]] = {}
        for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
            try:
                made = point.load()
            except Exception as failure:  # another package's code, which may raise anything
                raise ParameterError(
                    f"entry point {point.name!r} of {GROUP} cannot be loaded ({type(failure).__name__}: {failure}); "
                    "mend or remove the package that brings it."
                ) from None
            if not (isinstance(made, type) and issubclass(made, BlockMechanism)) or made.name != point.name:
                raise ParameterError(
                    f"entry point {point.name!r} of {GROUP} must be a block mechanism of this name, got "
                    f"{point.value!r}; mend or remove the package that brings it."
                )
            if point.name in self.built_in or point.name in found:
                raise ParameterError(
                    f"entry point {point.name!r} of {GROUP} has the name of another mechanism; remove the package that "
                    "brings it, or rename it there."
                )
            if (fault := _fault_of(made)) is not None:
                raise ParameterError(
                    f"entry point {point.name!r} of {GROUP} must be a mechanism that is what it states: "
                    f"{fault.rstrip('.')}; mend or remove the package that brings it."
                )
            found[point.name] = made
        return found

    def law_of(self, description: Any) -> BlockLaw:
        """Return the block law of a description that is spelled out; see `spelled_out`.

        Raises:
            ParameterError: if this is the description of no law, or not the very one that the law has itself.

        Example:
            >>> from discreet.mechanisms import BLOCK_MECHANISMS
            >>> BLOCK_MECHANISMS.law_of({"law": "bits", "size": 9, "threshold": "5", "depth": 3})
            IndependentBits(size=9, threshold=5, depth=3)
        """
        kind = description.get("law") if isinstance(description, dict) else None
        return made_again(self._law_named(kind), description)

    def _law_named(self, kind: object) -> type[CommonLaw]:
        """Return the class of the block laws of a kind; of this package first."""
        for mechanism in chain(self.built_in.values(), self._lazily_joined()):
            for law in mechanism.laws:
                if kind == law.kind:
                    return law
        if isinstance(kind, str):
            raise UnknownLawError(
                f"block law {shown(kind)} is unknown here; update discreet, or install the package that brings it."
            )
        raise ParameterError(f"the description of a block law must name a kind of law, got law={shown(kind)}.")

    def _lazily_joined(self) -> Iterator[type[BlockMechanism]]:
        yield from self.joined.values()

    def __getitem__(self, name: str) -> type[BlockMechanism]:
        return self.built_in[name] if name in self.built_in else self.joined[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.built_in
        yield from self.joined

    def __len__(self) -> int:
        return len(self.built_in) + len(self.joined)
