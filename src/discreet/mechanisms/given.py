"""Which kind of mechanism is given, and the likelihood of each report.

Mechanisms that a caller hands over: the only place that asks for their kind.

The likelihood of single reports: the probability of each given each value, up to a factor of the report.
"""

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.reports import Reports
from discreet.errors import ParameterError
from discreet.mechanisms.channel import Channel
from discreet.mechanisms.evidence import refuse_unfit_reports
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


def report_likelihoods(mechanism: BlockMechanism | Channel, reports: Reports) -> FloatArray:
    """Return ``(n, |X|)`` probabilities of reports given values, each row up to a factor.

    A block is 1 + c times likelier from a value that it contains than from any other; a value in clear comes from that
    value alone.

    Raises:
        DataError, MismatchError: as for `BlockMechanism.tally`.
    """
    channel = as_channel(mechanism)
    if channel is not None:
        rows: FloatArray = channel.matrix[:, reports.blocks["output"].astype(np.int64)].T
        return np.ascontiguousarray(rows)
    blocks = block_mechanism(mechanism)
    refuse_unfit_reports(blocks, reports)
    found = np.zeros((reports.n, blocks.domain.size))
    in_clear = np.zeros(reports.n, dtype=np.bool_) if reports.in_clear is None else reports.in_clear
    found[np.flatnonzero(in_clear), reports.clear.astype(np.int64)] = 1
    noisy = np.flatnonzero(~in_clear)
    if len(noisy):
        found[noisy] = 1
        contained = blocks.law.contains(blocks.blocks_of_unknown(reports))
        found[np.ix_(noisy, blocks.domain.sensitive_codes)] += blocks.contrasts * contained
    return found
