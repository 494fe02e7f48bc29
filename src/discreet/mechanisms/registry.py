"""Block mechanisms by their names in plans: those of this package, and those of other packages that join them.

Another package joins by an entry point of the group `GROUP`, whose name is that of the mechanism in plans:

    [project.entry-points."discreet.block_laws"]
    exclusion = "own_law:Exclusion"

Entry points are looked up when a name is not of this package, or when all names are wanted: a device that knows its
plan loads nothing else.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from discreet.errors import ParameterError
from discreet.mechanisms.law import BlockMechanism

GROUP = "discreet.block_laws"
"""The group of entry points."""


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
            found[point.name] = made
        return found

    def __getitem__(self, name: str) -> type[BlockMechanism]:
        return self.built_in[name] if name in self.built_in else self.joined[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.built_in
        yield from self.joined

    def __len__(self) -> int:
        return len(self.built_in) + len(self.joined)
