"""Regressions: coefficients of covariates for each value, with errors and tests; a table."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from discreet.arrays import AnyArray, FloatArray
from discreet.core.checks import checked_level
from discreet.core.confidence_intervals import DEFAULT_LEVEL
from discreet.core.estimate_table import Cells, spelled_p_value
from discreet.core.result_table import ResultTable

_SHOWN = 24
# As many degrees of freedom as make Student's distribution the normal one.
_NORMAL = 1e12
# Degrees of freedom below which the result says so, and values that it names then.
_FEW, _NAMED = 10, 5


class Coefficient(NamedTuple):
    """One coefficient.

    Attributes:
        value: of the domain.
        covariate: its name; ``"intercept"`` for the constant.
        coefficient: the estimate.
        standard_error: of it.
        lower: end of the interval.
        upper: the other end.
        p_value: of the test that it is 0.
    """

    value: str
    covariate: str
    coefficient: float
    standard_error: float
    lower: float
    upper: float
    p_value: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Regression(ResultTable):
    """The coefficients of public covariates in the shares of values.

    Attributes:
        method: ``"linear"``: a coefficient is the change of a share per unit; ``"logistic"``: of its log odds against
            the value `baseline`.
        values: names of the values.
        covariates: names, the intercept first.
        coefficients: ``(m, k)``, a row per value.
        standard_errors: ``(m, k)``.
        n: number of reports.
        baseline: of log odds; None for shares.
        degrees: ``(m, k)`` degrees of freedom of the errors, by which intervals and tests are Student's; None for
            normal ones. About twice the number of reports that an error rests on, where these are few.
        starts: log-likelihoods that the starts of the search ended at, the best first; empty for shares.
        simulated: whether any report was simulated.
    """

    method: Literal["linear", "logistic"]
    values: tuple[str, ...]
    covariates: tuple[str, ...]
    coefficients: FloatArray
    standard_errors: FloatArray
    n: int
    baseline: str | None = None
    degrees: FloatArray | None = None
    starts: tuple[float, ...] = ()
    simulated: bool = False

    @property
    def disagreement(self) -> str | None:
        """The sentence on starts that ended elsewhere, if some did."""
        apart = sum(self.starts[0] - one > 0.01 for one in self.starts) if self.starts else 0
        if not apart:
            return None
        return (
            f"{apart} of {len(self.starts)} starts of the search ended at a lower likelihood than the best, which is "
            "shown; others may be better still."
        )

    @property
    def scarcity(self) -> str | None:
        """The sentence on values whose errors rest on few reports, if there are some."""
        if self.degrees is None:
            return None
        few = [name for name, own in zip(self.values, self.degrees, strict=True) if not own.min() >= _FEW]
        if not few:
            return None
        shown = ", ".join(few[:_NAMED]) + (f" and {len(few) - _NAMED} more" if len(few) > _NAMED else "")
        return (
            f"The errors of {shown} rest on fewer than {_FEW // 2} reports, so that their intervals may hold less "
            "often than they say."
        )

    @property
    def remark(self) -> str | None:
        """The sentences on the search and on scarce values; None if there are none."""
        return " ".join(filter(None, [self.disagreement, self.scarcity])) or None

    @property
    def heading(self) -> str:
        """Method and sizes, in a line."""
        base = "" if self.baseline is None else f", against {self.baseline}"
        marks = ", simulated" if self.simulated else ""
        return f"Regression({self.method}{base}, n={self.n}, {len(self.values)} values{marks})"

    def _shown(self) -> tuple[Cells, str]:
        rows = self.rows()
        heading = [name.replace("_", " ") for name in Coefficient._fields]
        cells = [
            [one.value, one.covariate, *(f"{number:.4f}" for number in one[2:-1]), spelled_p_value(one.p_value)]
            for one in rows
        ]
        left = len(rows) - _SHOWN
        below = [f"and {left} coefficients more; to_pandas, to_polars and to_arrow return all."] if left > 0 else []
        return [heading, *cells[:_SHOWN]], " ".join([*below, *filter(None, [self.remark])])

    def rows(self, level: float = DEFAULT_LEVEL) -> list[Coefficient]:
        """Return the coefficients, by value and covariate, with intervals at a level."""
        columns = self.columns(level)
        return [Coefficient(*row) for row in zip(*(column.tolist() for column in columns.values()), strict=True)]

    def columns(self, level: float = DEFAULT_LEVEL) -> dict[str, AnyArray]:
        """Return named columns: those of `Coefficient`.

        Raises:
            ParameterError: if the level is not in (0, 1).
        """
        from scipy.special import stdtr, stdtrit

        degrees = np.full(self.coefficients.shape, _NORMAL) if self.degrees is None else self.degrees
        away = stdtrit(degrees, (1 + checked_level(level)) / 2) * self.standard_errors
        texts = np.dtypes.StringDType()
        scores = np.abs(self.coefficients) / self.standard_errors
        return {
            "value": np.repeat(np.array(self.values, dtype=texts), len(self.covariates)),
            "covariate": np.tile(np.array(self.covariates, dtype=texts), len(self.values)),
            "coefficient": self.coefficients.ravel(),
            "standard_error": self.standard_errors.ravel(),
            "lower": (self.coefficients - away).ravel(),
            "upper": (self.coefficients + away).ravel(),
            "p_value": (2 * stdtr(degrees, -scores)).ravel(),
        }
