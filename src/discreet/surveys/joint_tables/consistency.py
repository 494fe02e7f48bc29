"""Consistent tables of a survey: questions with common attributes are combined, so that their marginals agree.

Every question J that includes the attributes of a table L has an estimate of L: a marginal of the question's table. A
cell of this marginal is a sum of m_J estimates. The marginal has the weight

    w_J = n_J / (V_J m_J),

where n_J is the number of reports, and V_J the variance of one value's estimate from one report at the uniform
distribution. Weights depend on no answer, so linear estimates stay unbiased and have exact errors. If the effects
(`marginals.py`) are combined instead of the marginals, the tables of all questions agree. This is the weighted least
squares solution, in closed form, for any number of attributes [CALM's consistency].

A person may answer several questions. Then the errors of these questions are correlated: their covariance is the
covariance of the values, times the share of people who answer both questions. It is computed at the estimate, for the
two questions with the most people in common.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.random import WORD_RANGE
from discreet.errors import ParameterError
from discreet.results.estimate import Estimate
from discreet.results.functionals import marginal
from discreet.results.uncertainty import SumUncertainty, Uncertainty
from discreet.surveys.joint_tables.marginals import Axes, mixed
from discreet.surveys.questions import question_domain, question_name
from discreet.surveys.survey import Survey

Names = tuple[str, ...]
# Memory grows with the square of the number of cells, and some steps with the cube.
MOST_CELLS = 2000
LEAST_FOR_NORMAL = 40
"""Least number of reports of all questions together for limits that assume nearly normal estimates."""


@dataclass(frozen=True, eq=False)
class Combination:
    """The linear estimates of a survey's questions, combined with weights that do not depend on the answers.

    Attributes:
        survey: the survey.
        estimates: the estimates, by the question's name.
        people: the number of people who were asked; None if it is not known.
    """

    survey: Survey
    estimates: Mapping[str, Estimate]
    people: int | None

    @property
    def overlap(self) -> float:
        """The largest covariance of the answers to two questions, divided by the covariance of the values.

        It is 0 if each person answers one question.
        """
        survey = self.survey
        if survey.answers == 1:
            return 0.0
        shares, both = [question.share for question in survey.questions], dict[tuple[int, ...], int]()
        for places, chance in survey.draws:
            for pair in combinations(sorted(places), 2):
                both[pair] = both.get(pair, 0) + chance
        largest: float = max(chance * WORD_RANGE / (shares[a] * shares[b]) for (a, b), chance in both.items())
        people = self.people or sum(part.n for part in self.estimates.values()) / survey.answers
        return largest / people

    def holders(self, names: Names) -> list[str]:
        """Return the names of the questions that include all these attributes, those with the fewest values first."""
        every = [name for name in self.estimates if {*names} <= {*self.survey.question(name).attributes}]
        return sorted(every, key=lambda name: self.estimates[name].domain.size)

    @cached_property
    def _precisions(self) -> dict[str, float]:
        """For each question, the reciprocal of one value's variance at the uniform distribution."""
        precisions = {}
        for name, part in self.estimates.items():
            decoder, size = self.survey.question(name).mechanism.decoder, part.domain.size
            precisions[name] = part.n / float(decoder.variances(1, np.full(size, 1 / size)).mean())
        return precisions

    def weight(self, name: str, names: Names) -> float:
        """Return the weight of a question among all questions that include these attributes. Their weights sum to 1."""
        parts = {other: self._precisions[other] * self._cells(other, names) for other in self.holders(names)}
        return parts[name] / sum(parts.values())

    def _cells(self, name: str, names: Names) -> float:
        """Return the number of cells of these attributes, divided by the number of values of the question."""
        others = {*self.survey.question(name).attributes} - {*names}
        return 1 / prod(self.survey.attributes[other].size for other in others)

    def marginal(self, names: Names) -> Estimate:
        """Return the table of these attributes, combined from all questions that include them.

        Raises:
            ParameterError: if several questions include the attributes and the table has too many cells, or if
                covariances need more reports.
        """
        holders = self.holders(names)
        if len(holders) == 1:
            return self.part(holders[0], names)
        tables = {name: self.part(name, names).controlled() for name in holders}
        lifts = {name: self.weight(name, names) for name in tables}
        size = self._checked_size(names)
        frequencies = sum((lifts[name] * part.frequencies for name, part in tables.items()), np.zeros(size))
        maps = {name: weight * np.eye(size) for name, weight in lifts.items()}
        method = next(iter(tables.values())).method
        return self._combined(names, tables, maps, frequencies, np.zeros(size), method)

    def consistent(self, names: Names) -> Estimate:
        """Return the table of these attributes from linear estimates, so that all tables agree on common marginals.

        Raises:
            ParameterError: as for `marginal`.
        """
        size, tables, shares = self._size(names), dict[str, Estimate](), dict[str, Names]()
        for name in self.estimates:
            shared = tuple(each for each in names if each in self.survey.question(name).attributes)
            if shared:
                shares[name], tables[name] = shared, self.part(name, shared).controlled()
        if size > MOST_CELLS or sum(part.n for part in tables.values()) < LEAST_FOR_NORMAL:
            # The limits and errors of one question are used, which are wider.
            columns = (self._lift(name, shares[name], names, part.frequencies) for name, part in tables.items())
            known = self.part(self.holders(names)[0], names)
            facts = self._facts(tables.values(), "consistent")
            frequencies = sum(columns, np.full(size, 1 / size))
            return facts.estimate(names, frequencies, known.intervals, known.errors)
        maps = {name: self._lift(name, shares[name], names, np.eye(part.domain.size)) for name, part in tables.items()}
        return self._combined(names, tables, maps, None, np.full(size, 1 / size), "consistent")

    def _lift(self, name: str, shared: Names, names: Names, marginals: FloatArray) -> FloatArray:
        """Return a question's contribution to the table of `names`, from the question's marginals over `shared`."""
        sizes = [self.survey.attributes[each].size for each in shared]

        def weight(axes: Axes) -> float:
            return self.weight(name, tuple(shared[axis] for axis in axes)) if axes else 0.0

        parts = mixed(sizes, weight, marginals)
        if shared == names:
            return parts
        _, cells = marginal(question_domain(self.survey.attributes, names, self.survey.combinations), shared)
        places = cells.lifted(np.arange(len(parts), dtype=np.float64)).astype(np.int64)
        return np.asarray(parts[places] * (len(parts) / len(places)), np.float64)

    def part(self, name: str, names: Names) -> Estimate:
        """Return the table of these attributes, estimated from one question that includes them."""
        part = self.estimates[name]
        return part if self.survey.question(name).attributes == names else part.marginal(*names)

    def _size(self, names: Names) -> int:
        return prod(self.survey.attributes[name].size for name in names)

    def _facts(self, tables: Collection[Estimate], method: str) -> "SurveyFacts":
        simulated = any(part.simulated for part in tables)
        return SurveyFacts(self.survey, sum(part.n for part in tables), method, simulated)

    def _checked_size(self, names: Names) -> int:
        size = self._size(names)
        if size > MOST_CELLS:
            raise ParameterError("table.too-large", name=question_name(names), size=size, most=MOST_CELLS)
        return size

    def _combined(
        self,
        names: Names,
        tables: Mapping[str, Estimate],
        maps: Mapping[str, FloatArray],
        frequencies: FloatArray | None,
        constant: FloatArray,
        method: str,
    ) -> Estimate:
        """Return the estimate `constant` plus the sum of each map times its table's estimate; errors are exact."""
        unbiased, apart = constant, np.zeros((len(constant),) * 2)
        repeated = np.zeros_like(apart)
        for name, part in tables.items():
            lift, matrix = maps[name], part.covariance()
            centre = part.centre
            unbiased = unbiased + lift @ centre
            apart += lift @ matrix @ lift.T
            repeated += lift @ spread_of(centre) @ lift.T
        apart += self.overlap * (spread_of(unbiased) - repeated)
        facts = self._facts(tables.values(), method)
        limits = SumUncertainty.known(unbiased, apart)
        return facts.estimate(names, unbiased if frequencies is None else frequencies, limits, limits.errors)


def spread_of(p: FloatArray) -> FloatArray:
    """Return the ``(m, m)`` covariance matrix of the indicator vector of one person's value, for distribution `p`."""
    return np.diag(p) - np.outer(p, p)


@dataclass(frozen=True, eq=False)
class SurveyFacts:
    """The fields that all estimates from the reports of several questions have in common.

    Attributes:
        survey: the survey.
        n: the number of reports.
        method: the name of the method.
        simulated: whether a report was simulated.
        gap: as for `Estimate`.
        passes: as for `Estimate`.
    """

    survey: Survey
    n: int
    method: str
    simulated: bool
    gap: float | None = None
    passes: float | None = None

    def estimate(
        self,
        names: Names,
        frequencies: FloatArray,
        limits: Uncertainty | Callable[[], Uncertainty] | None,
        errors: FloatArray | Callable[[], FloatArray],
    ) -> Estimate:
        """Return the estimate of the table of these attributes."""
        domain = question_domain(self.survey.attributes, names, self.survey.combinations)
        facts = self.n, self.method, self.survey.fingerprint, self.gap, self.passes, self.simulated
        return Estimate(domain, frequencies, errors, *facts, limits)
