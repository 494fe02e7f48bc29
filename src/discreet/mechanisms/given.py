"""Mechanisms that somebody hands over: checked where they come in."""

from discreet.errors import ParameterError
from discreet.mechanisms.channel import Channel
from discreet.mechanisms.law import BlockMechanism


def block_mechanism(given: object) -> BlockMechanism:
    """Return a block mechanism, or refuse what is none.

    Raises:
        ParameterError: if so.
    """
    if not isinstance(given, BlockMechanism):
        raise ParameterError(f"mechanism must be a block mechanism, got {type(given).__name__}.")
    return given


def mechanism(given: object) -> BlockMechanism | Channel:
    """Return a block mechanism or a channel, or refuse what is neither.

    Raises:
        ParameterError: if so.
    """
    return given if isinstance(given, Channel) else block_mechanism(given)
