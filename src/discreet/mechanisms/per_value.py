"""Mechanisms with an epsilon for each sensitive value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from discreet.core.epsilons import EpsilonGroups
from discreet.mechanisms.block_law import BlockLaw
from discreet.mechanisms.law import BlockMechanism
from discreet.mechanisms.weighted_bits import WeightedBits
from discreet.mechanisms.weighted_singletons import WeightedSingletons


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PerValueMechanism(BlockMechanism):
    """A mechanism with an epsilon for each sensitive value.

    The promise is one-sided: a report makes x at most e^epsilon_x times likelier than any other value. The two-sided
    reading, min(epsilon_x, epsilon_x') for every pair, is stricter and does not hold [spec of the optimum, section 5].

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the largest promise, in nats; of two that differ by a rounding the smaller one is kept.
        epsilons: epsilon_x for every sensitive value: a mapping from label to epsilon, or a list of groups with
            ``values`` (written like the ``sensitive`` values of a domain) and ``epsilon``.

    Raises:
        ParameterError: if an epsilon is no promise, or values are not named once each; see `EpsilonGroups`.
    """

    # Given as labels or groups, and kept as groups of values, which may be given again.
    epsilons: Mapping[Any, float] | Sequence[Mapping[str, Any]] = field()  # type: ignore[assignment]

    def __post_init__(self) -> None:
        """Replace ``epsilons`` by groups of values.

        Raises:
            ParameterError: if an epsilon is no promise, or values are not named once each.
        """
        groups = EpsilonGroups.of(self.domain, self.epsilon, self.epsilons)
        object.__setattr__(self, "epsilons", groups.said)
        object.__setattr__(self, "epsilon", groups.largest(self.epsilon))
        super().__post_init__()

    @cached_property
    def law(self) -> BlockLaw:
        """The block law that keeps the promises."""
        return self._law_keeping(EpsilonGroups.of(self.domain, self.epsilon, self.epsilons))

    @staticmethod
    def _law_keeping(promises: EpsilonGroups) -> BlockLaw:
        """Return the law that keeps the promises."""
        raise NotImplementedError


class PerValueResponse(PerValueMechanism):
    """Randomized response with an epsilon for each sensitive value; see `PerValueMechanism`.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(["clinic", "bar", "park"], sensitive=["clinic", "bar"])
        >>> mechanism = dc.PerValueResponse(domain, epsilon=2.0, epsilons={"clinic": 0.5, "bar": 2.0})
        >>> [(group.promised, round(group.realised, 6)) for group in mechanism.guarantee.groups]
        [(0.5, 0.5), (2.0, 2.0)]
    """

    name = "rr-per-value"
    laws = (WeightedSingletons,)

    @staticmethod
    def _law_keeping(promises: EpsilonGroups) -> BlockLaw:
        return WeightedSingletons.keeping(promises)


class PerValueEncoding(PerValueMechanism):
    """Unary encoding with an epsilon for each sensitive value; see `PerValueMechanism`.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(["clinic", "bar", "park"], sensitive=["clinic", "bar"])
        >>> mechanism = dc.PerValueEncoding(domain, epsilon=2.0, epsilons={"clinic": 0.5, "bar": 2.0})
        >>> [group.realised <= group.promised for group in mechanism.guarantee.groups]
        [True, True]
    """

    name = "unary-per-value"
    laws = (WeightedBits,)

    @staticmethod
    def _law_keeping(promises: EpsilonGroups) -> BlockLaw:
        return WeightedBits.keeping(promises)
