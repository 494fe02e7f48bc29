"""Trends: changes of the same people's frequencies from round to round, by the memos that people keep."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.domain import Domain
from discreet.core.random import WORD_RANGE
from discreet.core.result_table import ResultColumn, ResultTable, TabularResult, text_column
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.mechanisms.memo import Memo

_LEAST_ROUNDS = 2
# Rows that are printed, all of a round or none.
_SHOWN = 12


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Trend(TabularResult):
    """The changes of the same people's frequencies from round to round, where each keeps a report for each answer.

    Attributes:
        domain: the values.
        rounds: T labels, in order.
        frequencies: ``(T, |X|)`` linear estimates.
        least_errors: ``(T - 1, |X|)`` standard errors of the changes, if nobody changed.
        largest_errors: ``(T - 1, |X|)`` standard errors of the changes, if everybody did.
        simulated: whether any report was simulated.
    """

    domain: Domain
    rounds: tuple[Any, ...]
    frequencies: FloatArray
    least_errors: FloatArray
    largest_errors: FloatArray
    simulated: bool = False

    @property
    def changes(self) -> FloatArray:
        """``(T - 1, |X|)`` frequencies of a round less those of the one before."""
        return np.diff(self.frequencies, axis=0)

    @property
    def heading(self) -> str:
        """Rounds and values, in a line."""
        return f"Trend({len(self.rounds)} rounds, {self.domain.size} values{', simulated' * self.simulated})"

    def view(self) -> ResultTable:
        """Return the first rows, whole rounds of them, with a note on the others."""
        size, most = self.changes.size, max(_SHOWN // self.domain.size, 1) * self.domain.size
        notes = [f"and {size - most:,} rows more; to_pandas, to_polars and to_arrow return all"] * (size > most)
        return ResultTable(self.heading, [column.at(slice(0, most)) for column in self.table().contents], notes)

    def table(self) -> ResultTable:
        """Return a row for each round but the first and each value."""
        names = np.array(self.domain.names(np.arange(self.domain.size)))
        steps = len(self.rounds) - 1
        numbers = {
            "change": self.changes,
            "error_if_nobody_changed": self.least_errors,
            "error_if_everybody_changed": self.largest_errors,
        }
        columns = [
            text_column("round", np.repeat([str(label) for label in self.rounds[1:]], len(names))),
            text_column("value", np.tile(names, steps)),
            *(ResultColumn(name, each.reshape(-1), "share") for name, each in numbers.items()),
        ]
        return ResultTable(self.heading, columns)


def trend(memo: Memo, rounds: Mapping[Any, Tally]) -> Trend:
    """Return the changes from round to round of the same people, who keep a report for each answer.

    Two errors are stated for each change, as nobody knows how many people changed: that if nobody did, whose reports of
    both rounds have one memo, and that if everybody did, whose memos are independent. With a share c of changed people
    the variance lies at c between the two. The errors are of the linear estimates, and the smaller round's people are
    taken to be in the larger one. (The mean over rounds is never more exact than one memo: more rounds do not help.)

    Args:
        memo: by which all reports were made.
        rounds: the tally of each round, in order; two or more.

    Raises:
        ParameterError: if there are fewer.
        MismatchError: if a tally belongs to another plan.

    Example:
        >>> import discreet as dc
        >>> memo = dc.Memo(dc.RandomizedResponse(dc.Domain(["bus", "car", "walk"]), 1.0), infinity=2.0)
        >>> people = [*range(1000)] * 2
        >>> reports = memo.obfuscate_rounds([0] * 2000, people, [1] * 1000 + [2] * 1000, random=dc.SeededRandom(1))
        >>> found = trend(memo, {month: memo.mechanism.tally(each) for month, each in reports.items()})
        >>> bool(abs(found.changes[0, 0]) < 3 * found.least_errors[0, 0] < 3 * found.largest_errors[0, 0])
        True
    """
    decoder, again = memo.mechanism.decoder, memo.again / WORD_RANGE
    if len(rounds) < _LEAST_ROUNDS:
        raise ParameterError(f"a trend needs the tallies of two rounds or more, got {len(rounds)}.")
    tallies = [memo.mechanism.checked_tally(tally) for tally in rounds.values()]
    means = np.array([decoder.decode(tally) for tally in tallies])
    squares = np.array([decoder.mean_squares(tally, mean) for tally, mean in zip(tallies, means, strict=True)])
    sizes = np.array([[float(tally.n)] for tally in tallies])
    variances = np.maximum(squares - means**2, 0) / sizes
    independent = variances[1:] + variances[:-1]
    # Of nobody that changed both rounds have the same moments.
    square, mean = (
        (sizes[1:] * each[1:] + sizes[:-1] * each[:-1]) / (sizes[1:] + sizes[:-1]) for each in (squares, means)
    )
    # A report of a round is the memo with probability s_2, and else noise; so their moments are a mixture, and the
    # covariance of two rounds of one memo is s_2^2 times the variance of what the memo is worth.
    noise, noise_squared = ((1 - again) * decoder.noise_moment(power) for power in (1, 2))
    shared = np.maximum(again * (square - noise_squared) - (mean - noise) ** 2, 0)
    least = independent - 2 * shared / np.maximum(sizes[1:], sizes[:-1])
    labels = tuple(rounds)
    errors = np.sqrt(np.maximum(least, 0)), np.sqrt(independent)
    return Trend(memo.mechanism.domain, labels, means, *errors, any(tally.simulated for tally in tallies))
