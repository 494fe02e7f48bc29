"""Estimators of distributions from reports or tallies; methods are found by name."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, TypedDict, Unpack

from discreet.core.checks import checked_choice
from discreet.core.reports import Reports
from discreet.errors import ParameterError
from discreet.estimators.em import EM
from discreet.estimators.linear import LINEAR, LinearStart, Method
from discreet.estimators.mle import MLE
from discreet.estimators.simplex import NORM_SUB, PROJECTED
from discreet.estimators.smooth import SMOOTH
from discreet.estimators.threshold import THRESHOLD
from discreet.estimators.weights import weighted_estimate
from discreet.mechanisms import Mechanism
from discreet.mechanisms.evidence import Data
from discreet.mechanisms.report_tables import reports_from_table
from discreet.mechanisms.row_checks import ArrowTable
from discreet.results.estimate import Estimate

MethodName: TypeAlias = Literal["linear", "threshold", "norm-sub", "projected", "mle", "em", "smooth"]
"""The names of methods, for type checkers."""


class Options(TypedDict, total=False):
    """The options of all methods, for type checkers; `METHODS` has the options of each method."""

    significance: float
    remainder: Literal["uniform", "zero"]
    tolerance: float
    smoothing: float
    limits: Literal["always", "linear", "likelihood"]
    progress: Callable[[int, float], Any]


METHODS: dict[str, Method[Estimate]] = {
    method.name: method for method in (LINEAR, THRESHOLD, NORM_SUB, PROJECTED, MLE, EM, SMOOTH)
}
"""Every method by name: Python, the command line, the collector and surveys find methods here."""

_OF_GROUPS = ("groups", "shares", "minimum", "small")


def method_of(name: object) -> Method[Estimate]:
    """Return the estimation method that has a given name.

    Raises:
        ParameterError: if no method has this name.
    """
    return METHODS[checked_choice("method", name, METHODS)]


def estimator(method: Method[Estimate], options: Mapping[str, Any]) -> Callable[[LinearStart], Estimate]:
    """Return a function that estimates by a method with these options, and computes the limits that the options name.

    Raises:
        ParameterError: if the method does not take one, or not as it is.
    """
    always = options.get("limits") == "always"
    asked = method.checked({name: option for name, option in options.items() if not (always and name == "limits")})

    def run(start: LinearStart) -> Estimate:
        estimated = method.run(start, **asked)
        return start.at_all_looks(estimated) if always else estimated

    return run


def estimate(
    mechanism: Mechanism,
    data: Data | ArrowTable,
    *,
    method: MethodName = "linear",
    weights: Any = None,
    **options: Unpack[Options],
) -> Estimate:
    """Estimate the distribution of the true values.

    Args:
        mechanism: the mechanism of the reports; of a survey see `discreet.estimate_survey`, of groups of
            people `discreet.estimate_groups`.
        data: one of: reports; a table of reports (pandas, polars, DuckDB or Arrow) that identifies its plan, otherwise
            see `discreet.read_reports`; a tally, which suffices for every method but ``mle`` and ``em``, and for these
            two if blocks are single values; or the result of `LocalEngine.evidence` for reports larger than memory.
        method: one of `METHODS`:

            - ``linear``: unbiased, with exact standard errors; for averages, comparisons and intervals.
            - ``threshold``: only the significant frequencies; for few frequent values among many. Options
              ``significance`` (0.05) and ``remainder`` (``"uniform"`` or ``"zero"``).
            - ``norm-sub``: the nearest distribution; for plain LDP.
            - ``projected``: the nearest distribution, with the largest changes of noisy values; fast and versatile.
            - ``mle``: maximum likelihood, certified; the best method if noise is small. Option ``tolerance``, in nats
              per report (by default a tenth of a nat in total, and at most 1e-4 per report).
            - ``em``: the paper's procedure, which stops early; often the best method if noise is large.
            - ``smooth``: likelihood minus roughness, certified; for the distribution of numbers and other values in
              order. Options ``smoothing`` (1, or less for heaped values), ``limits`` and ``tolerance``.
        weights: ``(n,)`` a public column of numbers above 0, for method ``linear``.
        options: options of the method, by name; likelihood methods also take ``progress``, a function that is called
            with the number of passes and the gap. With ``limits="always"``, which every method takes, limits hold at
            all looks at growing reports at once, whatever the rule for stopping is. They are about twice as long.

    Returns:
        Frequencies in the domain's order, with standard errors and intervals.

    Raises:
        ParameterError: if the method or an option is unknown, or the method needs more than a tally.
        DataError: if there is no report.
        MismatchError: if reports and mechanism belong to different plans.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car", "walk"]), epsilon=1.0)
        >>> reports = mechanism.obfuscate(["bus"] * 600 + ["car"] * 400, random=dc.SeededRandom(1))
        >>> estimate(mechanism, reports).frequencies.round(2).tolist()
        [0.6, 0.38, 0.02]
        >>> estimate(mechanism, mechanism.tally(reports), method="projected").frequencies.round(2).tolist()
        [0.6, 0.38, 0.02]
    """
    chosen = method_of(method)
    if of_groups := [name for name in _OF_GROUPS if name in options]:
        raise ParameterError("estimate.takes-no-groups", argument=of_groups[0])
    run = estimator(chosen, options)
    reports: Any = data if isinstance(data, Reports) else reports_from_table(mechanism, data)
    if weights is None:
        return run(LinearStart.of(mechanism, reports))
    if options.get("limits") == "always":
        raise ParameterError("limits.weighted", argument="limits")
    chosen.check_weighs()
    return weighted_estimate(mechanism, reports, weights)
