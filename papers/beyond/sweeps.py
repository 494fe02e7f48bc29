"""Beyond [ULDP]: a sweep of the paper with more mechanisms, and beside the lower bound where there is one."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from papers.figure import Charts, Figure, Finding, Plan, nothing
from papers.results import Results
from papers.uldp.losses import MSE, LinearLoss, LowerBound, Measure
from papers.uldp.mechanisms import BEYOND, DESIGN_AT, DROP_BITS
from papers.uldp.sweep import MORE, ON_BOUND, ON_MECHANISMS, ON_MORE, Comparison

_ROUNDING = 1e-9
# What a sampler's integers cost, which round the truth down.
_INTEGERS = 1e-3


def beyond(
    figure: Figure,
    title: str,
    measure: Measure,
    plan: Callable[[Comparison], Plan],
    charts: Callable[[Measure, Comparison], Charts],
) -> Figure:
    """Return a figure of the paper with more mechanisms, and with the lower bound for squared errors.

    Args:
        figure: the paper's.
        title: of its sweep, without the loss.
        measure: of the loss.
        plan: from mechanisms that are compared to the plan.
        charts: from a measure and these to the charts.
    """
    number, bounded = figure.name.removeprefix("uldp/fig"), measure is MSE
    return replace(
        figure,
        name=f"beyond/fig{number}",
        title=f"Beyond the paper: {title.format(measure.name)}, with more mechanisms",
        shows=f"As [ULDP, Fig. {number}], with the optimal mechanism, the decoder without noise bits, the best theta "
        f"and local hashing{', and the lower bound drawn in' if bounded else ''}.",
        plan=plan(MORE),
        charts=charts(measure, MORE),
        findings=findings_on_bound if bounded else nothing,
        runs=MORE.runs,
        settings=(*ON_MORE, *figure.settings[len(ON_MECHANISMS) :], *(ON_BOUND if bounded else ())),
    )


def findings_on_bound(results: Results) -> list[Finding]:
    """Compare the mechanisms beyond the paper with the lower bound and with the paper's, by squared error."""
    return [finding for name in results.populations for finding in _beside_bound(results, name)]


def _excess(results: Results, name: str) -> dict[str, dict[tuple[float | None, int | None], float]]:
    """Return the exact expected losses over the lower bound, by mechanism, and by epsilon and |X_S|."""
    least = {(p.epsilon, p.drawn): p.mean.mse for p in results.of(LowerBound, population=name)}
    return {
        m: {
            (p.epsilon, p.drawn): p.mean.expected_mse / least[p.epsilon, p.drawn]
            for p in results.of(LinearLoss, population=name, mechanism=m)
        }
        for m in BEYOND
    }


def _beside_bound(results: Results, name: str) -> Iterator[Finding]:
    excess = _excess(results, name)
    ranges = "; ".join(f"{m}: {min(ratios.values()):.3g} to {max(ratios.values()):.3g}" for m, ratios in excess.items())
    yield Finding(
        "no unbiased estimate is below the lower bound",
        name,
        "least ratio of an expected squared error (emp, exactly) to the bound",
        min(min(ratios.values()) for ratios in excess.values()),
        ">=",
        1 - _ROUNDING,
        ranges,
    )
    yield Finding(
        "BlockDesign that knows p(X_S) attains the lower bound",
        name,
        "largest such ratio",
        max(excess[DESIGN_AT].values()),
        "<=",
        1 + _INTEGERS,
    )
    gains = [ratio / excess[DROP_BITS][place] for place, ratio in excess["uRAP"].items()]
    yield Finding(
        "without the noise bits of reports in clear uRAP is never worse",
        name,
        "least ratio of expected squared errors, with noise bits over without",
        min(gains),
        ">=",
        1 - _ROUNDING,
        f"largest: {max(gains):.3g}",
    )
