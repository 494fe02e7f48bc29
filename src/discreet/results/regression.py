"""Regressions: coefficients of covariates for each value, with standard errors and tests, as a table."""

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.checks import checked_level
from discreet.core.result_table import ResultColumn, ResultTable, TabularResult, text_column
from discreet.results.coefficients import CoefficientLaw
from discreet.theory.binomial import DEFAULT_LEVEL

_SHOWN = 24
# Most coefficients listed in a sentence on undetermined coefficients.
_NAMED = 5
# Columns of odds ratios and of their limits.
_RATIOS = ("odds_ratio", "odds_lower", "odds_upper")


class Coefficient(NamedTuple):
    """One coefficient of a regression, with its standard error, limits and p-value.

    Attributes:
        value: name of the value.
        covariate: name of the covariate; ``"intercept"`` for the constant.
        coefficient: the estimate.
        standard_error: standard error of the estimate.
        lower: lower limit.
        upper: upper limit.
        p_value: p-value of the test that the coefficient is 0.
    """

    value: str
    covariate: str
    coefficient: float
    standard_error: float
    lower: float
    upper: float
    p_value: float


class PredictedShare(NamedTuple):
    """The predicted share of a value among people with given covariates.

    Attributes:
        row: index of the row of covariates.
        value: name of the value.
        share: the estimate; in a linear regression it may lie outside of 0 to 1.
        lower: lower limit.
        upper: upper limit.
    """

    row: int
    value: str
    share: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Regression(TabularResult):
    """The coefficients that relate public covariates to the shares of values.

    Attributes:
        method: ``"linear"``: a coefficient is the change of a share per unit; ``"logistic"``: of its log odds against
            the value `baseline`.
        values: names of the values.
        covariates: names, the intercept first.
        n: number of reports.
        baseline: the value that log odds are against; None for shares.
        starts: log-likelihoods that the starts of the search ended at, the best first; empty for shares.
        simulated: whether any report was simulated.
        hidden: whether some share is fitted best by 0, so that the estimate has a weak prior.
        law: the sampling distribution of the coefficients, which follows from the mechanism.
        design: how covariates are read, a `discreet.estimators.regression.covariates.CovariateDesign`.
    """

    method: Literal["linear", "logistic"]
    values: tuple[str, ...]
    covariates: tuple[str, ...]
    law: CoefficientLaw
    n: int
    baseline: str | None = None
    starts: tuple[float, ...] = ()
    simulated: bool = False
    hidden: bool = False
    design: Any = None

    @property
    def coefficients(self) -> FloatArray:
        """``(m, k)`` coefficients of a regression: a row per value, and a column per covariate."""
        return self.law.coefficients

    @property
    def standard_errors(self) -> FloatArray:
        """``(m, k)`` standard errors of a regression's coefficients."""
        return self.law.errors

    @property
    def penalty(self) -> str | None:
        """A sentence on coefficients that the reports do not determine; None if there are none."""
        if not self.hidden:
            return None
        where = np.argwhere(np.isinf(self.law.limits(1 - DEFAULT_LEVEL)).any(axis=0)).tolist()
        named = [f"{self.values[row]} on {self.covariates[column]}" for row, column in where] or ["all coefficients"]
        shown = ", ".join(named[:_NAMED]) + (f" and {len(named) - _NAMED} more" if len(named) > _NAMED else "")
        return (
            f"The reports alone do not determine {shown}, because the best fit has a share of 0. Therefore the "
            "estimate has a weak prior. Merge labels or values to get shorter intervals."
        )

    @property
    def disagreement(self) -> str | None:
        """A sentence on starts of the search that ended at a lower likelihood; None if all starts ended at the best."""
        apart = sum(self.starts[0] - start > 0.01 for start in self.starts) if self.starts else 0
        if not apart:
            return None
        return (
            f"{apart} of {len(self.starts)} searches ended at a lower likelihood than the best search, whose result is "
            "shown. Another search could find a better result."
        )

    @property
    def remark(self) -> str | None:
        """The sentences of `penalty` and `disagreement`; None if there are none."""
        return " ".join(filter(None, [self.penalty, self.disagreement])) or None

    @property
    def heading(self) -> str:
        """One line with the method, the number of reports and the number of values."""
        base = "" if self.baseline is None else f", against {self.baseline}"
        marks = ", simulated" if self.simulated else ""
        return f"Regression({self.method}{base}, n={self.n}, {len(self.values)} values{marks})"

    def view(self) -> ResultTable:
        """Return a table of the first coefficients, with notes on the others and on the search."""
        left, table = self.coefficients.size - _SHOWN, self.table()
        below = [f"and {left} coefficients more; to_pandas, to_polars and to_arrow return all."] if left > 0 else []
        notes = " ".join([*below, *table.notes])
        return replace(table, contents=[column.at(slice(_SHOWN)) for column in table.contents], notes=[notes])

    def rows(self, level: float = DEFAULT_LEVEL) -> list[Coefficient]:
        """Return the coefficients, by value and covariate, with intervals at a level."""
        columns = self.columns(level)
        fields = (columns[name].tolist() for name in Coefficient._fields)
        return [Coefficient(*row) for row in zip(*fields, strict=True)]

    def predict(self, covariates: Any, level: float = DEFAULT_LEVEL) -> list[PredictedShare]:
        """Return the predicted shares of the values among people with given covariates, with intervals.

        Args:
            covariates: a table or a mapping with the columns of the regression, a row for each kind of people.
            level: confidence of the intervals, each by itself.

        Raises:
            DataError: if a column is not there, or has labels that the regression has not seen.
            ParameterError: if the level is not in (0, 1).

        Example:
            >>> import discreet as dc
            >>> mechanism = dc.RandomizedResponse(dc.Domain(["poor", "other"]), epsilon=2.0)
            >>> reports = mechanism.obfuscate(["poor", "poor", "other", "other"] * 500, random=dc.SeededRandom(1))
            >>> fit = dc.regress(mechanism, reports, {"age": [20, 60, 20, 80] * 500}, method="logistic")
            >>> [(one.value, one.row, round(one.share, 2)) for one in fit.predict({"age": [20, 80]})]
            [('other', 0, 0.41), ('other', 1, 0.61), ('poor', 0, 0.59), ('poor', 1, 0.39)]
        """
        shares, (lower, upper) = self.law.predicted(self.design.matrix(covariates), 1 - checked_level(level))
        names = self.values if self.baseline is None else (*self.values, self.baseline)
        columns = (array.T.tolist() for array in (shares, lower, upper))
        by_value = zip(names, *columns, strict=True)
        return [
            PredictedShare(row, name, *numbers)
            for name, *each in by_value
            for row, numbers in enumerate(zip(*each, strict=True))
        ]

    def table(self, level: float = DEFAULT_LEVEL) -> ResultTable:
        """Return a table with the attributes of `Coefficient`; for log odds also odds_ratio, odds_lower, odds_upper.

        Raises:
            ParameterError: if the level is not in (0, 1).
        """
        (low, high), p_values = self.law.limits(1 - checked_level(level)), self.law.p_values
        odds, texts = self.baseline is not None, (self.values, self.covariates)
        ends = f"{level * 100:g}% from", "to"

        errors = self.standard_errors

        def column(name: str, numbers: FloatArray, heading: str, by: FloatArray, *, shown: bool = True) -> ResultColumn:
            return ResultColumn(name, numbers.ravel(), "number", heading, "", shown, by.ravel())

        columns = [
            text_column("value", np.repeat(texts[0], len(texts[1]))),
            text_column("covariate", np.tile(texts[1], len(texts[0]))),
            column("coefficient", self.coefficients, "log odds" if odds else "", errors),
            # For log odds, people see the odds ratios with their limits.
            column("standard_error", errors, "std. error", errors, shown=not odds),
            column("lower", low, ends[0], errors, shown=not odds),
            column("upper", high, ends[1], errors, shown=not odds),
            ResultColumn("p_value", p_values.ravel(), "p-value", "p"),
        ]
        if odds:
            # A limit that is too large for a float is infinite.
            with np.errstate(over="ignore"):
                ratios = [np.exp(logs) for logs in (self.coefficients, low, high)]
                columns += [
                    column(name, ratio, heading, ratio * errors)
                    for name, ratio, heading in zip(_RATIOS, ratios, ("", *ends), strict=True)
                ]
        return ResultTable(self.heading, columns, [*filter(None, [self.remark])])
