"""One likelihood for the reports of several questions, over the table of all attributes in these questions.

A report about some attributes does not distinguish cells of the table with equal values of these attributes: its block
is the *cylinder* A of all such cells. The likelihood of a block is 1 + c p(A), c the contrast of its question. The
likelihood of a value in clear is the sum over its cylinder. The probabilities of all cells sum to 1, so the constant is
added to the coefficient of every cell, and rows are divided by c. So each likelihood is a linear function without a
constant, like a row of an explicit channel. `discreet.estimators.maximum` maximises and certifies the sum of their
logarithms. All marginals of its table agree.

The errors are computed by one step from the estimate (`discreet.results.one_step`), in the space of the effects that
the questions determine (`marginals.py`). This space has some hundred dimensions where the table has thousands of cells.
With d = u - 1 the likelihood ratios of a report of question J, less one, and A_J the tables of the effects of J, their
information per report is

    I = sum(q_J A_J' E[d d'] A_J),  and n Cov = I^-1,

q_J the share of J among the reports. Limits come from the mean contributions of reports to this step. The estimate
cannot leave the simplex, so its standard errors are computed within the cells that it uses. Where a marginal is 0, they
are the errors of the positive part of the unbiased estimate.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, prod

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.errors import ParameterError
from discreet.estimators.likelihood import RowLikelihood
from discreet.estimators.linear import LinearStart
from discreet.estimators.maximum import Solution, maximize
from discreet.estimators.mle import MOST_VALUES
from discreet.mechanisms.evidence import Evidence, Membership, needs_reports
from discreet.surveys.joint_tables.marginals import Axes, EffectSpace
from discreet.theory.binomial import ContributionMeans, ContributionMoment

# Inverting a larger matrix of effects or used cells would take too long: the time grows with the cube.
_MOST_EFFECTS = 4000
_MOST_USED = 2000
# A cell is used if its expected number of reports is larger.
_USED = 1e-3
# A frequency this close to 0 or 1 counts as 0 or 1, up to rounding.
_NOTHING = 1e-6
# Share of the largest eigenvalue of the information of the used cells, below which an eigenvalue counts as 0.
_SINGULAR = 1e-9


@dataclass(frozen=True, eq=False)
class AnswerRows(Membership):
    """The rows of one question in the matrix of the likelihood: a row for each block and each value in clear.

    Attributes:
        evidence: the evidence of the reports, with the blocks in memory.
    """

    evidence: Evidence

    @property
    def size(self) -> int:
        """The number of values of the question."""
        return len(self.evidence.covered)

    @property
    def rows(self) -> int:
        """The number of different blocks and of values in clear."""
        return self.blocks + self.size - int(np.count_nonzero(self.evidence.covered))

    @cached_property
    def blocks(self) -> int:
        """The number of different blocks."""
        return 0 if self.evidence.membership is None else self.evidence.membership.rows

    @cached_property
    def multiplicity(self) -> FloatArray:
        """The ``(rows,)`` number of reports with each row's block or value in clear."""
        membership, clear = self.evidence.membership, self.evidence.tally.clear.astype(np.float64)
        counts = None if membership is None else membership.multiplicity
        return np.concatenate([np.ones(self.blocks) if counts is None else counts, clear])

    def dot(self, values: FloatArray) -> FloatArray:
        """Return the ``(rows,)`` likelihoods of the rows, up to a factor.

        They are linear in the frequencies `values`.
        """
        evidence, covered = self.evidence, self.evidence.covered
        products = np.empty(self.rows)
        products[self.blocks :] = values[~covered]
        if evidence.membership is not None:
            products[: self.blocks] = evidence.membership.dot(np.ascontiguousarray(values[covered]))
            products[: self.blocks] += float(values.sum()) / evidence.contrast
        return products

    def transpose_dot(self, weights: FloatArray) -> FloatArray:
        """Return the ``(cells,)`` product of the weights and the matrix that `dot` uses."""
        evidence, covered = self.evidence, self.evidence.covered
        sums = np.zeros(self.size)
        sums[~covered] = weights[self.blocks :]
        if evidence.membership is not None:
            of_blocks = np.ascontiguousarray(weights[: self.blocks])
            sums[covered] = evidence.membership.transpose_dot(of_blocks)
            sums += float(of_blocks.sum()) / evidence.contrast
        return sums


@dataclass(frozen=True, eq=False)
class Cylinders(Membership):
    """The rows of several questions in the matrix of the likelihood, over the cells of the table of all of them.

    Attributes:
        sizes: number of labels of each attribute.
        questions: for each question the ascending indices of its attributes, and its rows; each row has a report.
    """

    sizes: tuple[int, ...]
    questions: tuple[tuple[Axes, AnswerRows], ...]

    @property
    def size(self) -> int:
        """The number of cells."""
        return prod(self.sizes)

    @cached_property
    def rows(self) -> int:
        """The number of rows."""
        return sum(rows.rows for _, rows in self.questions)

    @cached_property
    def multiplicity(self) -> FloatArray:
        """The ``(rows,)`` number of reports with each row's block or value in clear."""
        return np.concatenate([rows.multiplicity for _, rows in self.questions])

    def dot(self, values: FloatArray) -> FloatArray:
        """Return ``(rows,)`` likelihoods up to a factor: each question's rows times its marginal of ``values``."""
        whole = np.asarray(values, np.float64).reshape(self.sizes)
        return np.concatenate([rows.dot(marginal_of(whole, axes)) for axes, rows in self.questions])

    def transpose_dot(self, weights: FloatArray) -> FloatArray:
        """Return the ``(cells,)`` sums of the rows of the matrix of `dot`, each row multiplied by its weight."""
        sums, start = np.zeros(self.sizes), 0
        for axes, rows in self.questions:
            each = rows.transpose_dot(weights[start : start + rows.rows])
            start += rows.rows
            sums += each.reshape([size if axis in axes else 1 for axis, size in enumerate(self.sizes)])
        return sums.reshape(-1)


def marginal_of(whole: FloatArray, axes: Axes) -> FloatArray:
    """Return the marginal of a table over some axes in ascending order, as a vector."""
    others = tuple(axis for axis in range(whole.ndim) if axis not in axes)
    return np.asarray(whole.sum(axis=others), np.float64).reshape(-1)


@dataclass(frozen=True, eq=False)
class QuestionReports:
    """A question with its reports and their linear estimate.

    Attributes:
        axes: the ascending indices of the question's attributes in the survey.
        start: the reports and their linear estimate.
    """

    axes: Axes
    start: LinearStart

    @cached_property
    def rows(self) -> AnswerRows:
        """The likelihood's rows for the question.

        Raises:
            ParameterError: if the likelihood needs reports that are not in memory.
        """
        evidence = self.start.evidence
        membership = evidence.membership
        if evidence.covered.any() and membership is None:
            raise needs_reports("joint")
        if membership is not None and not membership.is_here:
            raise ParameterError("blocks.not-here")
        return AnswerRows(evidence)

    def deviations(self, frequencies: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the ``(cells,)`` mean of d over the reports, and the ``(cells, cells)`` expectation of d d'."""
        f, rows = self._likely(frequencies), self.rows
        mean = rows.transpose_dot(rows.multiplicity / rows.dot(f)) / self.start.n - 1
        moments = np.zeros((len(f), len(f)))
        for weights, d in self.ratios(frequencies):
            root = d * np.sqrt(weights)[:, None]
            moments += root.T @ root
        return mean, moments

    def ratios(self, frequencies: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield chunks of possible reports: ``(m,)`` probabilities; ``(m, cells)`` d, likelihood ratios minus 1."""
        return self.start.decoder.value_ratios(self.start.evidence, self._likely(frequencies))

    def _likely(self, frequencies: FloatArray) -> FloatArray:
        """Return the frequencies, with each value in clear raised to at least 1/n."""
        f = np.where(self.start.evidence.covered, frequencies, np.maximum(frequencies, 1 / self.start.n))
        return np.asarray(f / f.sum(), np.float64)


@dataclass(frozen=True, eq=False)
class JointTable:
    """The maximum likelihood estimate of the table of all attributes. The reports may not determine its cells.

    Attributes:
        answered: the questions with their reports.
        whole: the frequencies, with one axis for each attribute.
        solution: the solution of the maximisation.
    """

    answered: tuple[QuestionReports, ...]
    whole: FloatArray
    solution: Solution

    @property
    def n(self) -> int:
        """The number of reports."""
        return sum(question.start.n for question in self.answered)

    @cached_property
    def space(self) -> EffectSpace:
        """The effects that the questions determine."""
        return EffectSpace(self.whole.shape, tuple(question.axes for question in self.answered))

    @property
    def is_small(self) -> bool:
        """True if the tables have few enough values and effects for the matrices of the one-step estimate."""
        sizes = [len(question.start.evidence.covered) for question in self.answered]
        return max(sizes) <= MOST_VALUES and len(self.space.effects) <= _MOST_EFFECTS

    @cached_property
    def deviations(self) -> list[tuple[FloatArray, FloatArray]]:
        """For each question, the mean and the second moments of d at the estimate; see `QuestionReports.ratios`."""
        return [question.deviations(marginal_of(self.whole, question.axes)) for question in self.answered]

    @cached_property
    def step(self) -> tuple[FloatArray, FloatArray]:
        """The one-step correction of the effects, and the ``(r, r)`` covariance of the corrected effects."""
        size = len(self.space.effects)
        slope, information = np.zeros(size), np.zeros((size, size))
        for question, (mean, moments) in zip(self.answered, self.deviations, strict=True):
            design, places = self.space.design(question.axes), self.space.places(question.axes)
            slope[places] += question.start.n * (design.T @ mean)
            information[np.ix_(places, places)] += question.start.n * (design.T @ moments @ design)
        # Every question has a linear decoder, so its reports determine its effects and the matrix is invertible.
        inverse = np.asarray(np.linalg.inv(information), np.float64)
        return inverse @ slope, inverse

    def stepped(self, axes: Axes) -> tuple[FloatArray, FloatArray]:
        """Return the one-step unbiased estimate of a question's table or of a marginal of it, and its covariance."""
        (step, covariance), places, design = self.step, self.space.places(axes), self.space.design(axes)
        moved = marginal_of(self.whole, axes) + design @ step[places]
        return moved, design @ covariance[np.ix_(places, places)] @ design.T

    def contribution_means(self, axes: Axes, lasting: float) -> ContributionMeans:
        """Return the moments of one report's contribution to the one-step estimate of a table, for confidence limits.

        Args:
            axes: the indices of the attributes of the table.
            lasting: the ratio of the covariance of one person's answers to the covariance of the values.
        """
        (_, inverse), f = self.step, np.minimum(marginal_of(self.whole, axes), 1 - _NOTHING)
        here, design, moments = self.space.places(axes), self.space.design(axes), np.zeros((2, 2, len(f)))
        for question in self.answered:
            there = inverse[np.ix_(self.space.places(question.axes), here)]
            gain = self.n * (self.space.design(question.axes) @ there @ design.T)
            conditional, share = self._conditional(question.axes, axes), question.start.n / self.n
            for weights, d in question.ratios(marginal_of(self.whole, question.axes)):
                w, among = f + d @ gain, 1 + d @ conditional
                power = w * (share * weights)[:, None]
                for moment in moments:
                    power *= w
                    moment += [power.sum(axis=0), (power * among).sum(axis=0)]
        others = [(whole - f * same) / (1 - f) for whole, same in moments]
        second, third = (ContributionMoment(rest, same - rest) for rest, (_, same) in zip(others, moments, strict=True))
        left = max(self.n - len(self.space.effects), self.n // 2, 1)
        return ContributionMeans(self.stepped(axes)[0], left, second, third, lasting=lasting * f * (1 - f))

    def _conditional(self, axes: Axes, others: Axes) -> FloatArray:
        """Return the ``(cells, others)`` conditional distributions of one table, given each cell of another table."""
        places, sizes = np.indices(self.whole.shape).reshape(self.whole.ndim, -1), self.whole.shape
        rows, columns = (
            np.ravel_multi_index([places[axis] for axis in each], [sizes[axis] for axis in each])
            for each in (axes, others)
        )
        shape = int(rows.max()) + 1, int(columns.max()) + 1
        # A small number is added to each cell, so that empty cells have a conditional distribution too.
        chances = self.whole.reshape(-1) + _NOTHING / self.whole.size
        both = np.bincount(rows * shape[1] + columns, chances, shape[0] * shape[1]).reshape(shape)
        return np.asarray(both / both.sum(axis=0), np.float64)

    @cached_property
    def used(self) -> IntArray:
        """The ``(u,)`` cells of the table of all attributes that have a positive frequency (the used cells)."""
        return np.flatnonzero(self.whole.reshape(-1) * self.n > _USED)

    def _in(self, axes: Axes) -> IntArray:
        """Return the ``(u,)`` cells of a marginal table that contain the used cells."""
        places = np.unravel_index(self.used, self.whole.shape)
        return np.ravel_multi_index([places[axis] for axis in axes], [self.whole.shape[axis] for axis in axes])

    @cached_property
    def _spread(self) -> FloatArray | None:
        """A ``(u, k)`` matrix S with S S' the covariance of the used cells; None if there are too many."""
        if len(self.used) > _MOST_USED:
            return None
        information = np.ones((len(self.used),) * 2)
        for question, (_, moments) in zip(self.answered, self.deviations, strict=True):
            cells = self._in(question.axes)
            information += question.start.n / self.n * moments[np.ix_(cells, cells)]
        values, vectors = np.linalg.eigh(information)
        determined = values > _SINGULAR * values[-1]
        return np.asarray(vectors[:, determined] / np.sqrt(values[determined] * self.n), np.float64)

    def errors_within(self, axes: Axes) -> FloatArray | None:
        """Return the ``(cells,)`` errors of a table if only used cells can be positive; None without `_spread`."""
        if self._spread is None:
            return None
        cells, size = self._in(axes), prod(self.whole.shape[axis] for axis in axes)
        rows = np.zeros((size, self._spread.shape[1]))
        np.add.at(rows, cells, self._spread)
        variances = (rows**2).sum(axis=1) - marginal_of(self.whole, axes) ** 2 / self.n
        errors: FloatArray = np.sqrt(np.maximum(variances, 0))
        return errors


def joint_maximum(
    answered: Sequence[QuestionReports],
    sizes: tuple[int, ...],
    *,
    tolerance: float,
    progress: Callable[[float, float], None] | None = None,
) -> JointTable:
    """Maximise the likelihood of all reports over the table of all attributes, and certify the maximum.

    Args:
        answered: the questions with their reports, at least one.
        sizes: the number of labels of each attribute; each attribute is in a question.
        tolerance: the largest gap to accept, in nats per report.
        progress: called with the passes done and the present gap.

    Raises:
        ParameterError: if the likelihood needs reports that are not in memory.
    """
    cylinders = Cylinders(sizes, tuple((question.axes, question.rows) for question in answered))
    even = np.full(cylinders.size, 1 / cylinders.size)
    solution = maximize(RowLikelihood(cylinders, inf), even, tolerance=tolerance, progress=progress)
    return JointTable(tuple(answered), solution.frequencies.reshape(sizes), solution)
