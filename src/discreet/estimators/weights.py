"""Weights of people: weighted tallies, and the estimate of a weighted sample.

Weights are multiples of 2^-20 of the largest, so that weighted tallies are integers that add up exactly.
"""

from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from discreet.arrays import IntArray
from discreet.core.columns import absent, numbers, refuse_missing
from discreet.core.reports import Reports
from discreet.core.tally import DIGIT, Tally, WeightedTally, scaled
from discreet.errors import DataError, ParameterError
from discreet.estimators.linear import LinearStart, linear
from discreet.estimators.strata import Strata, combine
from discreet.mechanisms import Mechanism
from discreet.mechanisms.report_tables import multiplied_tally
from discreet.results.estimate import Estimate

# Up to 64 different weights: one tally per weight. More: one tally per binary digit, 61 tallies of half of the reports.
FEW = 64
_LOW = (1 << DIGIT) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """The weights of people, as integer multiples of a unit, for a batch of reports.

    Attributes:
        units: ``(n,)`` weights as multiples of the unit, 1..2^20.
        unit: the largest weight times 2^-20.

    Example:
        >>> from discreet.estimators.weights import Weights
        >>> Weights.of([1.0, 2.0, 4.0], rows=3).units.tolist()
        [262144, 524288, 1048576]
    """

    units: IntArray
    unit: float

    @classmethod
    def of(cls, weights: Any, rows: int) -> "Weights":
        """Return the weights in a column of numbers above 0, one for each report.

        Args:
            weights: ``(n,)`` numbers; a smaller weight than 2^-20 of the largest counts as 2^-20 of the largest.
            rows: n, the number of reports.

        Raises:
            DataError: if weights are missing, infinite or not above 0, or there is not one weight per report.
        """
        if isinstance(weights, Weights):
            return weights
        gone = absent(weights, "weights") if hasattr(weights, "__len__") else np.zeros(0, np.bool_)
        refuse_missing(gone, "weights")
        column = numbers(weights, "weights")
        if len(column) != rows:
            raise DataError("weights.wrong-length", argument="weights", rows=rows, n=len(column))
        wrong = np.flatnonzero(~((column > 0) & (column < np.inf)))
        if len(wrong):
            raise DataError("weights.not-positive", argument="weights", rows=rows, n=len(wrong), first=wrong[0])
        unit = float(column.max(initial=1e-300)) * 2.0**-DIGIT
        return cls(np.maximum(np.rint(column / unit), 1).astype(np.int64), unit)

    def take(self, rows: IntArray) -> "Weights":
        """Return the weights of the people in some rows, in the same unit."""
        return Weights(self.units[rows], self.unit)


def weighted_tally(mechanism: Mechanism, reports: Reports, weights: Weights) -> WeightedTally:
    """Return the tally of reports in which each report counts with a weight.

    Raises:
        DataError, MismatchError: as for `Mechanism.tally`.
    """
    empty = replace(mechanism.empty_tally(), simulated=reports.simulated)
    whole = WeightedTally(0, weights.unit, empty, (empty, empty))
    if len(np.unique(weights.units[: 1 << 16])) <= FEW and len(values := np.unique(weights.units)) <= FEW:
        rows = {int(value): np.flatnonzero(weights.units == value) for value in values}
        parts = (weighed(mechanism.tally(reports.take(each)), value, weights) for value, each in rows.items())
        return reduce(add, parts, whole)
    squares = weights.units**2
    once = multiplied_tally(mechanism, reports, weights.units)
    low, high = (multiplied_tally(mechanism, reports, digits) for digits in (squares & _LOW, squares >> DIGIT))
    return WeightedTally(reports.n, weights.unit, once, (low, high))


def weighed(tally: Tally, units: int, weights: Weights) -> WeightedTally:
    """Return the weighted tally of reports that all have one weight, from their plain tally."""
    low, high = (scaled(tally, times) for times in (units**2 & _LOW, units**2 >> DIGIT))
    return WeightedTally(tally.n, weights.unit, scaled(tally, units), (low, high))


def weighted_estimate(mechanism: Mechanism, reports: Any, weights: Any) -> Estimate:
    """Return the linear estimate from reports with weights of people.

    Raises:
        DataError, MismatchError: as for `weighted_tally`.
        ParameterError: if the data are not reports.
    """
    if not isinstance(reports, Reports):
        raise ParameterError("weights.without-reports", argument="weights", kind=type(reports).__name__)
    return of_sample(mechanism, weighted_tally(mechanism, reports, Weights.of(weights, reports.n)))


def of_sample(mechanism: Mechanism, counts: Tally | WeightedTally) -> Estimate:
    """Return the linear estimate of one sample of people, from its tally."""
    if isinstance(counts, Tally):
        return linear(LinearStart.of(mechanism, counts))
    return combine(mechanism, Strata(mechanism.decoder, (counts,)), np.ones(1), "linear, weighted")
