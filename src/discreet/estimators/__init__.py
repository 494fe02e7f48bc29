"""Estimators: distributions estimated from reports or tallies."""

from collections.abc import Callable
from functools import cache
from inspect import signature
from typing import Any

from discreet.core.checks import checked_choice, meant
from discreet.core.estimate import Estimate
from discreet.errors import ParameterError
from discreet.estimators import likelihood_methods, methods
from discreet.estimators.linear_start import LinearStart
from discreet.mechanisms import Mechanism
from discreet.mechanisms.evidence import Data

METHODS: dict[str, Callable[..., Estimate]] = {
    "linear": methods.linear,
    "threshold": methods.threshold,
    "norm-sub": methods.norm_subtracted,
    "projected": methods.projected,
    "mle": likelihood_methods.maximum_likelihood,
    "em": likelihood_methods.expectation_maximization,
}
"""Every estimator by name."""


@cache
def _options(method: Callable[..., Estimate]) -> list[str]:
    """Return the names of a method's options."""
    return [name for name in signature(method).parameters if name != "start"]


def estimate(mechanism: Mechanism, data: Data, *, method: str = "linear", **options: Any) -> Estimate:
    """Estimate the distribution of the true values.

    Args:
        mechanism: the mechanism of the reports.
        data: reports, or a tally of them (enough for every method but ``mle`` and ``em``, and for those too where
            blocks are single values), or the result of `discreet.engines.observe` for reports larger than memory.
        method: one of `METHODS`:

            - ``linear``: unbiased, with exact errors; for averaging, comparing and honest intervals.
            - ``threshold``: keeps the significant frequencies; for few frequent values among many. Options
              ``significance`` (0.05) and ``remainder`` (``"uniform"`` or ``"zero"``).
            - ``norm-sub``: the nearest distribution; for plain LDP.
            - ``projected``: the nearest distribution, noisy values moved most; the fast all-rounder.
            - ``mle``: maximum likelihood, certified; the best where noise is small. Option ``tolerance``, in nats
              per report (a tenth of a nat in all, and at most 1e-4 per report).
            - ``em``: the paper's procedure, which stops early; often the best where noise is large.
        options: of the method, by name; ``mle`` and ``em`` also take ``progress``, called with passes and gap.

    Returns:
        Frequencies in the domain's order, with standard errors, and intervals where the method states any.

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
    chosen = METHODS[checked_choice("method", method, METHODS)]
    known = _options(chosen)
    idle = [name for name in options if name not in known]
    if idle:
        takes = ", ".join(known) if known else "no options"
        raise ParameterError(
            f"{', '.join(idle)} does nothing for method {method!r}, which takes {takes}{meant(idle[0], known)}."
        )
    return chosen(LinearStart.of(mechanism, data), **options)
