"""Mechanisms whose block law follows from a few options: the ones that have names."""

from dataclasses import dataclass, field, fields

from discreet.core.checks import checked_epsilon
from discreet.mechanisms.block_law import BlockLaw
from discreet.mechanisms.law import BlockMechanism


@dataclass(frozen=True, eq=False, repr=False)
class ChosenMechanism(BlockMechanism):
    """A block mechanism made of a domain, an epsilon and options, which are its other fields.

    So `dataclasses.replace` makes another one with some of them changed: the law, which is no option, is chosen anew.
    """

    law: BlockLaw = field(init=False)
    clear_blocks: bool = field(init=False, default=False)
    epsilons: tuple[float, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        """Choose the law.

        Raises:
            ParameterError: if an option is none.
        """
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        object.__setattr__(self, "law", self._chosen_law())
        super().__post_init__()

    def _chosen_law(self) -> BlockLaw:
        """Return the law of these options, or refuse them."""
        raise NotImplementedError

    def __repr__(self) -> str:
        told = [f"{name}={_short(value)}" for name, value in self._given()]
        shown = ", ".join([repr(self.domain), f"epsilon={self.epsilon!r}", *told, f"plan={self.fingerprint[:12]}"])
        return f"{type(self).__name__}({shown})"

    def _given(self) -> list[tuple[str, object]]:
        """Return the options that are not what they are by default, by name."""
        options = [one for one in fields(self) if one.init and one.name not in ("domain", "epsilon")]
        return [(one.name, getattr(self, one.name)) for one in options if getattr(self, one.name) != one.default]


def _short(option: object) -> str:
    """Return an option as it is, or how many values it has where that is long."""
    return f"<{len(option)} groups>" if isinstance(option, tuple) else repr(option)
