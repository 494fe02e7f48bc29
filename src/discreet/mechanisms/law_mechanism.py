"""A mechanism of a block law that somebody hands over, instead of options that it follows from."""

from dataclasses import dataclass, field

from discreet.core.checks import shown
from discreet.errors import ParameterError
from discreet.mechanisms.block_law import BlockLaw
from discreet.mechanisms.law import BlockMechanism


@dataclass(frozen=True, eq=False, repr=False)
class LawMechanism(BlockMechanism):
    """A mechanism whose block law is handed over as it is.

    Attributes:
        law: the block law, over the sensitive values.
        clear_blocks: whether reports in clear carry a block of noise too.
        epsilons: the promise to the values of each group of the law; empty if there is one promise to all.
    """

    law: BlockLaw = field()
    clear_blocks: bool = False
    epsilons: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what is no law, and promises that are not those of its groups.

        Raises:
            ParameterError: if it is so.
        """
        if not all(hasattr(self.law, name) for name in ("inclusions", "draw", "columns")) or isinstance(self.law, type):
            raise ParameterError(f"law must be a block law, got {type(self.law).__name__}.")
        if not isinstance(self.clear_blocks, bool):
            raise ParameterError(f"clear_blocks must be True or False, got {shown(self.clear_blocks)}.")
        if not isinstance(self.epsilons, tuple):
            raise ParameterError(f"epsilons must be a tuple, one for each group, got {type(self.epsilons).__name__}.")
        super().__post_init__()
