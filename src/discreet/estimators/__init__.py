"""Estimators: distributions estimated from reports or tallies."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from inspect import signature
from typing import Any, Literal, TypeAlias, TypedDict, Unpack, overload

from discreet.core.checks import checked_choice, meant
from discreet.core.reports import Reports
from discreet.core.tally import GroupedTally
from discreet.errors import ParameterError
from discreet.estimators import groups as by_group
from discreet.estimators import likelihood_methods, linear
from discreet.estimators.linear import LinearStart
from discreet.estimators.smooth import smooth
from discreet.mechanisms import Mechanism
from discreet.mechanisms.evidence import Data
from discreet.mechanisms.report_tables import taken_reports
from discreet.mechanisms.row_checks import ArrowTable
from discreet.results.estimate import Estimate
from discreet.results.groups import GroupedEstimate

Method: TypeAlias = Literal["linear", "threshold", "norm-sub", "projected", "mle", "em", "smooth"]
"""The names of estimators."""


class Options(TypedDict, total=False):
    """Options of `estimate`, of some methods or with groups; which, it says."""

    significance: float
    remainder: Literal["uniform", "zero"]
    tolerance: float
    smoothing: float
    progress: Callable[[int, float], Any]
    shares: Any
    minimum: int
    small: Literal["refuse", "leave-out"]


METHODS: dict[str, Callable[..., Estimate]] = {
    "linear": linear.linear,
    "threshold": linear.threshold,
    "norm-sub": linear.norm_subtracted,
    "projected": linear.projected,
    "mle": likelihood_methods.maximum_likelihood,
    "em": likelihood_methods.expectation_maximization,
    "smooth": smooth,
}
"""Every estimator by name."""


@cache
def options_of(method: Callable[..., Any]) -> list[str]:
    """Return the names of a method's options, beside its data."""
    return [name for name in signature(method).parameters if name not in ("start", "survey", "data")]


@overload
def estimate(
    mechanism: Mechanism,
    data: Data | ArrowTable,
    *,
    method: Method = "linear",
    groups: None = None,
    weights: Any = None,
    **options: Unpack[Options],
) -> Estimate: ...


@overload
def estimate(
    mechanism: Mechanism,
    data: GroupedTally,
    *,
    method: Method = "linear",
    groups: None = None,
    weights: None = None,
    **options: Unpack[Options],
) -> GroupedEstimate: ...


@overload
def estimate(
    mechanism: Mechanism,
    data: Data | ArrowTable,
    *,
    method: Method = "linear",
    groups: Any,
    weights: Any = None,
    **options: Unpack[Options],
) -> GroupedEstimate: ...


def estimate(
    mechanism: Mechanism,
    data: Data | GroupedTally | ArrowTable,
    *,
    method: Method = "linear",
    groups: Any = None,
    weights: Any = None,
    **options: Unpack[Options],
) -> Estimate | GroupedEstimate:
    """Estimate the distribution of the true values.

    Args:
        mechanism: the mechanism of the reports; of a survey see `discreet.estimate_survey`.
        data: reports, a table of them that says its plan (of pandas, polars, DuckDB or Arrow; of one that does not, see
            `discreet.read_reports`), or a tally of them (enough for every method but ``mle`` and ``em``, and for those
            too where blocks are single values), or the result of `discreet.engines.observe` for reports larger than
            memory.
        method: one of `METHODS`:

            - ``linear``: unbiased, with exact errors; for averaging, comparing and honest intervals.
            - ``threshold``: keeps the significant frequencies; for few frequent values among many. Options
              ``significance`` (0.05) and ``remainder`` (``"uniform"`` or ``"zero"``).
            - ``norm-sub``: the nearest distribution; for plain LDP.
            - ``projected``: the nearest distribution, noisy values moved most; the fast all-rounder.
            - ``mle``: maximum likelihood, certified; the best where noise is small. Option ``tolerance``, in nats
              per report (a tenth of a nat in all, and at most 1e-4 per report).
            - ``em``: the paper's procedure, which stops early; often the best where noise is large.
            - ``smooth``: likelihood less roughness, certified; for the distribution of numbers and other values in
              order. Options ``smoothing`` (1, or less for heaped values) and ``tolerance``.
        groups: ``(n,)`` a public column, the group of each report, or a table of several such columns; the result is
            then a `GroupedEstimate`. So it is if the data is a `GroupedTally`.
        weights: ``(n,)`` a public column of numbers above 0, for method ``linear``.
        options: of the method, by name; the likelihood methods also take ``progress``, called with passes and gap. With
            groups there are ``shares``, of each group in the population, which make ``overall`` post-stratified;
            ``minimum``, people in the smallest group that is estimated (20), and ``small``, whether smaller ones are
            refused (``"refuse"``) or left out (``"leave-out"``); they are never named.

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
    reports: Any = data if isinstance(data, Reports) else taken_reports(mechanism, data)
    grouped = groups is not None or isinstance(reports, GroupedTally)
    method_options: dict[str, Any] = {**options}
    about_groups = {name: method_options.pop(name) for name in by_group.OPTIONS if name in method_options}
    if about_groups and not grouped:
        raise ParameterError(
            f"{next(iter(about_groups))} needs groups; pass the column of each report's group as groups (--by on the "
            "command line)."
        )
    check_options(method, METHODS[checked_choice("method", method, METHODS)], method_options)
    if grouped:
        batch = by_group.batch_of(mechanism, reports, groups, weights)
        direct = partial(_estimated, mechanism, method=method, options=method_options)
        return by_group.grouped_estimate(mechanism, batch, method, direct, about_groups)
    if weights is not None:
        return by_group.weighted_estimate(mechanism, reports, weights, method)
    return _estimated(mechanism, reports, method=method, options=method_options)


def check_options(method: str, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse options that a method does not have.

    Raises:
        ParameterError: if there is one.
    """
    known = options_of(function)
    idle = [name for name in options if name not in known]
    if idle:
        takes = ", ".join(known) if known else "no options"
        raise ParameterError(
            f"{', '.join(idle)} does nothing for method {method!r}, which takes {takes}{meant(idle[0], known)}."
        )


def _estimated(mechanism: Mechanism, data: Data, *, method: str, options: Mapping[str, Any]) -> Estimate:
    return METHODS[method](LinearStart.of(mechanism, data), **options)
