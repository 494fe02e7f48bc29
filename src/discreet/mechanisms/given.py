"""Mechanisms that a caller hands over: the only place that asks for their kind."""

from discreet.errors import ParameterError
from discreet.mechanisms.channel import Channel
from discreet.mechanisms.law import BlockMechanism
from discreet.mechanisms.personalized import Personalized


def block_mechanism(given: object) -> BlockMechanism:
    """Return a block mechanism, or refuse another object.

    Raises:
        ParameterError: if it is no block mechanism.
    """
    if not isinstance(given, BlockMechanism):
        raise ParameterError(f"mechanism must be a block mechanism, got {type(given).__name__}.")
    return given


def mechanism(given: object) -> BlockMechanism | Channel:
    """Return a block mechanism or a channel, or refuse another object.

    Raises:
        ParameterError: if it is neither.
    """
    return given if isinstance(given, Channel) else block_mechanism(given)


def as_blocks(given: object) -> BlockMechanism | None:
    """Return a block mechanism as it is, and None for anything else."""
    return given if isinstance(given, BlockMechanism) else None


def as_channel(given: object) -> Channel | None:
    """Return an explicit channel as it is, and None for anything else."""
    return given if isinstance(given, Channel) else None


def as_personalized(given: object) -> Personalized | None:
    """Return a personalized mechanism as it is, and None for anything else."""
    return given if isinstance(given, Personalized) else None
