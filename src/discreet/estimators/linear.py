"""Methods of estimation: the class `Method`, and the linear estimate from which every method starts.

Python, the command line, the collector and surveys read the options of a method from the same object. Standard errors
are computed on first use, because often only frequencies or intervals are needed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Generic, TypeVar

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.core.checks import checked_between, checked_choice, quoted, real_number, suggestion
from discreet.core.domain import Domain
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.estimators.strata import Strata
from discreet.mechanisms.evidence import Data, Evidence
from discreet.mechanisms.mechanism import Decoder, Mechanism
from discreet.results.estimate import Estimate
from discreet.results.uncertainty import AlwaysUncertainty, ValueUncertainty
from discreet.theory.limits import all_agree, larger_of_few, plausible_variances

Result = TypeVar("Result")
Progress = Callable[[float, float], None]
"""A function of the number of passes and the present gap."""

# Default largest distances of the log-likelihood from its maximum: per report, and over all reports. A tenth of a nat
# is little compared with the half nat per value that noise costs.
_OTHER_FUNCTIONS = dict.fromkeys(["by", "groups"], "; for groups, use discreet.estimate_groups")
_MISSING_PER_REPORT = 1e-4
_MISSING = 0.1


@dataclass(frozen=True, slots=True)
class MethodOption:
    """An option of a method of estimation, with the check of its argument.

    Attributes:
        name: name of the argument.
        help: description for the command line; empty for an option of Python only.
        check: a function of the name and the argument that returns the checked argument, or raises an error.
        choices: the possible texts; empty for a number.
    """

    name: str
    help: str
    check: Callable[[str, Any], Any]
    choices: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, choices: tuple[str, ...], about: str) -> "MethodOption":
        """Return an option of a method whose argument is one of a few texts."""
        return cls(name, about, lambda name, argument: checked_choice(name, argument, choices), choices)


@dataclass(frozen=True, slots=True)
class Method(Generic[Result]):
    """A method of estimation, with its options.

    Attributes:
        name: name for users.
        run: a function of the data and the options that returns the estimate.
        options: options of the method.
        needs_reports: whether the method needs the reports, and not only their tally, if blocks have several values.
        weighs: whether the method takes weights of people and shares of groups.
    """

    name: str
    run: Callable[..., Result]
    options: tuple[MethodOption, ...] = ()
    needs_reports: bool = False
    weighs: bool = False

    def checked(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options with which a method of estimation runs, after checks.

        Raises:
            ParameterError: if the method does not take an option, or the option is invalid.
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
                meant=_OTHER_FUNCTIONS.get(idle[0]) or suggestion(idle[0], known),
            )
        return {name: known[name].check(name, option) for name, option in options.items()}

    def check_weighs(self) -> None:
        """Raise an error if a method of estimation does not take weights and shares.

        Raises:
            ParameterError: if the method does not take them.
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
        raise ParameterError("tolerance.too-small", argument="tolerance", tolerance=quoted(tolerance))
    return None if tolerance is None else number


PROGRESS = MethodOption("progress", "", _progress)
TOLERANCE = MethodOption("tolerance", "accepted gap to the maximum likelihood, in nats per report.", _tolerance)
SIGNIFICANCE = MethodOption("significance", "significance level of all tests together. [0.05]", checked_between)


def missing_of(n: int, tolerance: float | None) -> float:
    """Return the largest accepted gap for n reports, in nats per report: the tolerance, or a default."""
    return max(min(_MISSING_PER_REPORT, _MISSING / n), 1e-12) if tolerance is None else tolerance


@dataclass(frozen=True, eq=False)
class LinearStart:
    """The start of every method: the evidence in a batch of reports, and the linear estimate.

    Attributes:
        domain: the values.
        fingerprint: fingerprint of the plan.
        decoder: the linear decoder of the mechanism.
        evidence: the tally, and the terms of the likelihood of its reports.
    """

    domain: Domain
    fingerprint: str
    decoder: Decoder
    evidence: Evidence

    @classmethod
    def of(cls, mechanism: Mechanism, data: Data) -> "LinearStart":
        """Return the evidence and the linear estimate of reports, or of a tally, after checks.

        Raises:
            ParameterError: if ``mechanism`` is no mechanism.
            DataError: if there is no report, or the mechanism cannot have made one of them.
            MismatchError: if they belong to another plan.
        """
        if not callable(getattr(type(mechanism), "evidence", None)):
            raise ParameterError("mechanism.wrong-type", argument="mechanism", kind=type(mechanism).__name__)
        evidence = mechanism.evidence(data)
        return cls(mechanism.domain, mechanism.fingerprint, mechanism.decoder, evidence)

    @property
    def tally(self) -> Tally:
        """The tally of the reports from which a method starts."""
        return self.evidence.tally

    @property
    def n(self) -> int:
        """The number of reports from which a method starts."""
        return self.tally.n

    @cached_property
    def linear(self) -> FloatArray:
        """``(|X|,)`` unbiased linear estimates of the frequencies."""
        return self.decoder.decode(self.tally)

    @cached_property
    def second_moments(self) -> tuple[FloatArray, FloatArray]:
        """``(|X|,)`` A and B such that n Var(p_hat_x) = A_x + B_x p_x - p_x^2."""
        return self.decoder.second_moments(self.tally, self.linear)

    @property
    def intervals(self) -> ValueUncertainty:
        """The confidence limits that follow from the tally, for estimates of every method."""
        law = partial(self.decoder.report_law, self.tally, self.linear)
        return ValueUncertainty(self.linear, decoder=self.decoder, tally=self.tally, make_law=law)

    def at_all_looks(self, estimate: Estimate) -> Estimate:
        """Return an estimate of any method with limits that hold at all looks at once."""
        law = partial(self.decoder.report_law, self.tally, self.linear)
        return replace(estimate, intervals=AlwaysUncertainty(self.linear, make_law=law).checked())

    def variance(self, at: FloatArray) -> FloatArray:
        """Return the ``(|X|,)`` variances of the linear estimates if the true frequencies are ``at``."""
        constant, slope = self.second_moments
        # Rounding may take it below 0.
        return np.asarray(np.maximum((slope - at) * at + constant, 0) / self.n)

    @property
    def linear_errors(self) -> FloatArray:
        """``(|X|,)`` standard errors of the linear estimates; 0 only for a domain of one value, whose share is known.

        If no report or every report has a value, the error follows from `plausible_variances`.
        """
        return self._own_errors[0]

    @property
    def unseen(self) -> BoolArray:
        """``(|X|,)`` booleans: true for a value with a standard error below 0.5/n, as if all reports agreed."""
        return self._own_errors[1]

    @cached_property
    def _own_errors(self) -> tuple[FloatArray, BoolArray]:
        # Computed as if the linear estimate were the truth.
        moments = (*self.second_moments, self.n)
        constant, slope, n = (np.broadcast_to(number, self.linear.shape) for number in moments)
        variances = (slope - self.linear) * self.linear + constant
        # Among these few are all variances that rounding makes negative.
        unseen = (variances < 0.25 / n) & (self.domain.size > 1)
        # Divided by n - 1, because the mean is estimated from the same data.
        errors = np.sqrt(np.maximum(variances, 0) / np.maximum(n - 1, 1))
        if unseen.any():
            plausible = plausible_variances(self.linear[unseen], (constant[unseen], slope[unseen]), n[unseen])
            errors[unseen] = np.maximum(np.sqrt(plausible), errors[unseen])
        return errors, unseen

    @cached_property
    def safe_variance(self) -> FloatArray:
        """``(|X|,)`` variances above 0, computed as if each value had been reported at least once."""
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
        """Return an estimate with these frequencies, and with the limits of the tally.

        If `unseen` is true, or an error is below half a report, the error is at least the linear estimate's.

        Args:
            frequencies: ``(|X|,)`` frequencies by the method.
            errors: a function that returns the ``(|X|,)`` standard errors; it is called on first use.
            method: name of the method.
            gap: upper bound on the distance of the log-likelihood from its maximum, in nats per report.
            passes: number of passes over the reports.
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
    """Return the linear estimate: unbiased; it may be negative, and need not sum to one [ULDP, (3)].

    It is the best method if estimates are averaged or compared later, and if intervals matter.
    """
    return start.estimate(start.linear, lambda: start.linear_errors, "linear")


LINEAR = Method("linear", linear, weighs=True)
