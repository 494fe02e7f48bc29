"""The likelihood of single reports: the probability of each given each value, up to a factor of the report."""

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.reports import Reports
from discreet.mechanisms import given
from discreet.mechanisms.channel import Channel
from discreet.mechanisms.consistency import refuse_unfit_reports
from discreet.mechanisms.law import BlockMechanism


def report_likelihoods(mechanism: BlockMechanism | Channel, reports: Reports) -> FloatArray:
    """Return ``(n, |X|)`` probabilities of reports given values, each row up to a factor.

    A block is 1 + c times likelier from a value that it contains than from any other; a value in clear comes from that
    value alone.

    Raises:
        DataError, MismatchError: as for `BlockMechanism.tally`.
    """
    channel = given.as_channel(mechanism)
    if channel is not None:
        rows: FloatArray = channel.matrix[:, reports.blocks["output"].astype(np.int64)].T
        return np.ascontiguousarray(rows)
    blocks = given.block_mechanism(mechanism)
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
