"""Methods of estimation: the noun `Method`, and the linear estimate that every method starts from.

Python, the command line, the collector and the surveys read the same objects: a method says there once what it takes.
Errors are worked out when they are first asked for: many want the frequencies only, or intervals, which need none.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Generic, TypeVar

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.core.checks import checked_between, checked_choice, real_number, shown, suggestion
from discreet.core.domain import Domain
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.estimators.strata import Strata
from discreet.mechanisms.evidence import Data, Evidence
from discreet.mechanisms.mechanism import Decoder, Mechanism
from discreet.results.estimate import Estimate
from discreet.results.uncertainty import ValueUncertainty
from discreet.theory.limits import all_agree, larger_of_few, plausible_variances

Result = TypeVar("Result")
Progress = Callable[[float, float], None]
"""A function that takes the passes done and the present gap."""

# By default at most this much log-likelihood is missing: per report, and over all reports together, where a tenth of a
# nat is little beside the half nat per value that the noise costs.
_MISSING_PER_REPORT = 1e-4
_MISSING = 0.1


@dataclass(frozen=True, slots=True)
class MethodOption:
    """An option of a method.

    Attributes:
        name: of the argument.
        help: what it does, for the command line; empty for an option of Python alone.
        check: a function of the name and the argument that returns what the method runs with, or refuses it.
        choices: the texts that it may be; none for a number.
    """

    name: str
    help: str
    check: Callable[[str, Any], Any]
    choices: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, choices: tuple[str, ...], about: str) -> "MethodOption":
        """Return an option that is one of a few texts."""
        return cls(name, about, lambda name, argument: checked_choice(name, argument, choices), choices)


@dataclass(frozen=True, slots=True)
class Method(Generic[Result]):
    """A method of estimation.

    Attributes:
        name: by which users choose it.
        run: the function of the data and of the options that returns the estimate.
        options: that it takes.
        needs_reports: whether it needs the reports, and not only their tally, where blocks hold several values.
        weighs: whether it takes weights of people and shares of groups.
    """

    name: str
    run: Callable[..., Result]
    options: tuple[MethodOption, ...] = ()
    needs_reports: bool = False
    weighs: bool = False

    def checked(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options that the method runs with.

        Raises:
            ParameterError: if the method does not take one, or not as it is.
        """
        known = {option.name: option for option in self.options}
        if idle := [name for name in options if name not in known]:
            takes = ", ".join(known) if known else "no options"
            raise ParameterError(
                "method.unused-options",
                argument=idle[0],
                names=", ".join(idle),
                name=self.name,
                takes=takes,
                meant=suggestion(idle[0], known),
            )
        return {name: known[name].check(name, option) for name, option in options.items()}

    def check_weighs(self) -> None:
        """Refuse weights and shares for a method that does not take them.

        Raises:
            ParameterError: if the method does not.
        """
        if not self.weighs:
            raise ParameterError("method.no-weights", argument="method", name=self.name)


def _progress(_: str, progress: Any) -> Progress | None:
    if progress is not None and not callable(progress):
        raise ParameterError("progress.not-callable", argument="progress", kind=type(progress).__name__)
    return progress  # type: ignore[no-any-return]


def _tolerance(_: str, tolerance: object) -> float | None:
    number = real_number(tolerance)
    if tolerance is not None and not 1e-12 <= number < float("inf"):
        raise ParameterError("tolerance.too-small", argument="tolerance", tolerance=shown(tolerance))
    return None if tolerance is None else number


PROGRESS = MethodOption("progress", "", _progress)
TOLERANCE = MethodOption("tolerance", "certified gap, in nats per report.", _tolerance)
SIGNIFICANCE = MethodOption("significance", "level of all tests together. [0.05]", checked_between)


def missing_of(n: int, tolerance: float | None) -> float:
    """Return the largest gap to accept of n reports, in nats per report: the tolerance, or its default."""
    return max(min(_MISSING_PER_REPORT, _MISSING / n), 1e-12) if tolerance is None else tolerance


# Values at a time: intermediate results stay in the cache.
_CHUNK = 1 << 16


@dataclass(frozen=True, eq=False)
class LinearStart:
    """The evidence of a batch, and its linear estimate.

    Attributes:
        domain: the values.
        fingerprint: of the plan.
        decoder: the linear decoder of the mechanism.
        evidence: the tally, and the terms of the likelihood of its reports.
    """

    domain: Domain
    fingerprint: str
    decoder: Decoder
    evidence: Evidence

    @classmethod
    def of(cls, mechanism: Mechanism, data: Data) -> "LinearStart":
        """Return the start of reports, or of a tally of them, after checks.

        Raises:
            ParameterError: if ``mechanism`` is no mechanism.
            DataError: if there is no report, or none that this mechanism makes.
            MismatchError: if they belong to another plan.
        """
        if not callable(getattr(type(mechanism), "evidence", None)):
            raise ParameterError("mechanism.wrong-type", argument="mechanism", kind=type(mechanism).__name__)
        evidence = mechanism.evidence(data)
        return cls(mechanism.domain, mechanism.fingerprint, mechanism.decoder, evidence)

    @property
    def tally(self) -> Tally:
        """The counts."""
        return self.evidence.tally

    @property
    def n(self) -> int:
        """The number of reports."""
        return self.tally.n

    @cached_property
    def linear(self) -> FloatArray:
        """``(|X|,)`` unbiased estimates."""
        return self.decoder.decode(self.tally)

    @cached_property
    def second_moments(self) -> tuple[FloatArray, FloatArray]:
        """``(A, B)`` such that n Var(p_hat_x) = A + B p - p^2."""
        return self.decoder.second_moments(self.tally, self.linear)

    @property
    def intervals(self) -> ValueUncertainty:
        """The limits that the tally gives, whatever the point estimate is."""
        law = partial(self.decoder.report_law, self.tally, self.linear)
        return ValueUncertainty(self.linear, decoder=self.decoder, tally=self.tally, behind=law)

    def variance(self, at: FloatArray) -> FloatArray:
        """Return the ``(|X|,)`` variances of the linear estimates where the true frequencies are ``at``."""
        constant, slope = self.second_moments
        variances, square = np.empty(len(at)), np.empty(min(_CHUNK, len(at)))
        for start in range(0, len(at), _CHUNK):
            part = slice(start, start + _CHUNK)
            p, each = at[part], variances[part]
            np.multiply(slope[part], p, out=each)
            each += constant[part]
            each -= np.multiply(p, p, out=square[: len(p)])
            # Rounding may take it below 0.
            np.maximum(each, 0, out=each)
            each /= self.n
        return variances

    @property
    def linear_errors(self) -> FloatArray:
        """``(|X|,)`` standard errors of the linear estimates; 0 only where there is one value, so that it is known.

        If no report or every report has a value, the error follows from `plausible_variances`.
        """
        return self._own_errors[0]

    @property
    def unseen(self) -> BoolArray:
        """``(|X|,)`` booleans: true for an estimate with a standard error below half a report, by its own variance."""
        return self._own_errors[1]

    @cached_property
    def _own_errors(self) -> tuple[FloatArray, BoolArray]:
        # Where the truth is the linear estimate itself.
        size, shape = self.domain.size, self.linear.shape
        constant, slope, n = (np.broadcast_to(number, shape) for number in (*self.second_moments, self.n))
        errors, unseen = np.empty(shape), np.zeros(shape, dtype=np.bool_)
        for start in range(0, size, _CHUNK):
            part = ..., slice(start, start + _CHUNK)
            each, p = errors[part], self.linear[part]
            np.subtract(slope[part], p, out=each)
            each *= p
            each += constant[part]
            # What rounding leaves below 0 is among these few.
            few = each < 0.25 / self.n
            each[few] = np.maximum(each[few], 0)
            unseen[part] = few & (size > 1)
            # n - 1: with the data's own mean in it, this is unbiased.
            each *= 1 / np.maximum(self.n - 1, 1)
            np.sqrt(each, out=each)
        if unseen.any():
            plausible = plausible_variances(self.linear[unseen], (constant[unseen], slope[unseen]), n[unseen])
            errors[unseen] = np.maximum(np.sqrt(plausible), errors[unseen])
        return errors, unseen

    @cached_property
    def safe_variance(self) -> FloatArray:
        """``(|X|,)`` variances, above 0: as if each value had been seen once at least."""
        return np.maximum(self.variance(np.clip(self.linear, 1 / self.n, 1)), 1 / float(self.n) ** 2)

    def estimate(
        self,
        frequencies: FloatArray,
        errors: Callable[[], FloatArray],
        method: str,
        *,
        gap: float | None = None,
        passes: float | None = None,
    ) -> Estimate:
        """Return the estimate of these frequencies, with the limits of the tally.

        Where `unseen` holds, or an error is below half a report, the error is at least the linear estimate's.

        Args:
            frequencies: ``(|X|,)`` by the method.
            errors: a function of the ``(|X|,)`` standard errors, for when they are first asked for.
            method: its name.
            gap: distance to the maximum of the log-likelihood, in nats per report.
            passes: how many times the reports were gone through.
        """

        def floored() -> FloatArray:
            direct = errors()
            if direct is self.linear_errors:
                return direct
            return larger_of_few(direct, self.linear_errors, self.unseen | all_agree(direct, self.n))

        return Estimate(
            self.domain,
            frequencies,
            floored,
            self.n,
            method,
            self.fingerprint,
            gap,
            passes,
            self.tally.simulated,
            self.intervals,
            people=Strata(self.decoder, (self.tally,)),
        )


def linear(start: LinearStart) -> Estimate:
    """Solve for the frequencies: unbiased, may be negative, need not sum to one [ULDP, (3)].

    Wins where estimates are averaged or compared later, and where honest intervals are wanted.
    """
    return start.estimate(start.linear, lambda: start.linear_errors, "linear")


LINEAR = Method("linear", linear, weighs=True)
