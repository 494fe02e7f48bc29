"""A mechanism of a given block law, in the place of options from which the law follows."""

from dataclasses import dataclass, field

from discreet.core.checks import shown
from discreet.errors import ParameterError
from discreet.mechanisms.block_law import BlockLaw, CommonLaw
from discreet.mechanisms.law import BlockMechanism


@dataclass(frozen=True, eq=False, repr=False)
class LawMechanism(BlockMechanism):
    """A mechanism of a given block law.

    Attributes:
        law: the block law, over the sensitive values.
        clear_blocks: whether reports in clear carry a block of noise too.
        epsilons: the promise to the values of each group of the law; empty if there is one promise to all.
    """

    law: BlockLaw = field()
    clear_blocks: bool = False
    epsilons: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Refuse an object that is no block law, and promises that do not fit its groups.

        Raises:
            ParameterError: if the law or the promises are such.
        """
        if not all(hasattr(self.law, name) for name in ("inclusions", "draw", "columns")) or isinstance(self.law, type):
            raise ParameterError(f"law must be a block law, got {type(self.law).__name__}.")
        if not isinstance(self.clear_blocks, bool):
            raise ParameterError(f"clear_blocks must be True or False, got {shown(self.clear_blocks)}.")
        if not isinstance(self.epsilons, tuple):
            raise ParameterError(f"epsilons must be a tuple, one for each group, got {type(self.epsilons).__name__}.")
        super().__post_init__()

    @property
    def laws(self) -> tuple[type[CommonLaw], ...]:  # type: ignore[override]
        """The class of its law."""
        return (type(self.law),)  # type: ignore[return-value]
