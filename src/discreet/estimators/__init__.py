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
from discreet.mechanisms.block_law import Data
from discreet.mechanisms.report_tables import taken_reports
from discreet.mechanisms.row_checks import ArrowTable
from discreet.results.estimate import Estimate
from discreet.results.groups import GroupedEstimate
from discreet.surveys import estimating as surveys
from discreet.surveys.answers import Answers
from discreet.surveys.survey import Survey, SurveyReports, SurveyTally

Method: TypeAlias = Literal[
    "linear", "threshold", "norm-sub", "projected", "mle", "em", "smooth", "joint", "consistent"
]
"""The names of estimators; ``joint`` and ``consistent`` are for surveys."""


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
    least_committal: bool


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

TOGETHER: dict[str, Callable[..., Answers]] = {
    "joint": surveys.joint_answers,
    "consistent": surveys.consistent_answers,
}
"""Estimators of all questions of a survey together, by name."""


@cache
def _options(method: Callable[..., Estimate | Answers]) -> list[str]:
    """Return the names of a method's options."""
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
    mechanism: Survey,
    data: SurveyReports | SurveyTally | Mapping[str, Data],
    *,
    method: Method = "linear",
    groups: Any = None,
    weights: Any = None,
    **options: Unpack[Options],
) -> Answers: ...


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
    mechanism: Mechanism | Survey,
    data: Data | GroupedTally | ArrowTable | SurveyReports | SurveyTally | Mapping[str, Data],
    *,
    method: Method = "linear",
    groups: Any = None,
    weights: Any = None,
    **options: Unpack[Options],
) -> Estimate | GroupedEstimate | Answers:
    """Estimate the distribution of the true values.

    Args:
        mechanism: the mechanism of the reports, or a survey: then the result is an estimate for each question.
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
            - ``joint``, of a survey: maximum likelihood from the reports of all questions together, certified; all
              tables agree, and each is better than from its own question. Options as for ``mle``, and
              ``least_committal``: tables that no question determines are answered too, without errors.
            - ``consistent``, of a survey: linear estimates of which all tables agree, with exact errors.
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
    if isinstance(mechanism, Survey):
        if isinstance(method, str) and method in TOGETHER:
            if groups is not None or weights is not None:
                raise ParameterError(f"method {method!r} takes neither groups nor weights; estimate without them.")
            _check_options(method, options)
            return TOGETHER[method](mechanism, data, **options)
        direct = partial(estimate, method=method, **options)
        return surveys.survey_answers(mechanism, data, direct, groups=groups, weights=weights)
    if isinstance(method, str) and method in TOGETHER:
        raise ParameterError(f"method {method!r} is for a survey, whose questions it estimates together; got a plan.")
    reports: Any = data if isinstance(data, Reports) else taken_reports(mechanism, data)
    grouped = groups is not None or isinstance(reports, GroupedTally)
    method_options: dict[str, Any] = {**options}
    about_groups = {name: method_options.pop(name) for name in by_group.OPTIONS if name in method_options}
    if about_groups and not grouped:
        raise ParameterError(
            f"{next(iter(about_groups))} needs groups; pass the column of each report's group as groups (--by on the "
            "command line)."
        )
    _check_options(checked_choice("method", method, METHODS), method_options)
    if grouped:
        batch = by_group.batch_of(mechanism, reports, groups, weights)
        direct = partial(_estimated, mechanism, method=method, options=method_options)
        return by_group.grouped_estimate(mechanism, batch, method, direct, about_groups)
    if weights is not None:
        return by_group.weighted_estimate(mechanism, reports, weights, method)
    return _estimated(mechanism, reports, method=method, options=method_options)


def _check_options(method: str, options: Mapping[str, Any]) -> None:
    """Refuse options that the method does not have."""
    every = {**METHODS, **TOGETHER}
    known = _options(every[method]) if method in every else []
    idle = [name for name in options if name not in known]
    if idle:
        takes = ", ".join(known) if known else "no options"
        raise ParameterError(
            f"{', '.join(idle)} does nothing for method {method!r}, which takes {takes}{meant(idle[0], known)}."
        )


def _estimated(mechanism: Mechanism, data: Data, *, method: str, options: Mapping[str, Any]) -> Estimate:
    return METHODS[method](LinearStart.of(mechanism, data), **options)
