"""Comparisons of losses that findings of several figures state, with thresholds that were chosen before the data.

"Best" of a mechanism is the lower loss of emp+thr and EM, the two that the paper would have one use.
"""

from collections.abc import Callable, Iterator, Sequence

from papers.figure import Finding, Findings
from papers.results import Results
from papers.uldp.losses import LINEAR, TV, Loss, Measure
from papers.uldp.mechanisms import EMPIRICAL, NO_PRIVACY, OPTIMIZED, PLAIN

ONE_ORDER = 10.0
NEAR = 1.5
FAR = 2.0
BESIDE = 1.1

_SMART = ("emp+thr", "EM")


class Losses:
    """The mean losses of one data set.

    Args:
        results: of the figure.
        name: of the data set.
        measure: of the loss.
        smart: the two estimators of which a mechanism is given the better one.
    """

    def __init__(self, results: Results, name: str, measure: Measure, smart: Sequence[str] = _SMART) -> None:
        self.results, self.name, self.measure, self.smart = results, name, measure, smart
        self.estimators = (LINEAR, *smart)

    def at(self, mechanism: str, estimator: str, epsilon: float | None, drawn: int | None = None) -> float:
        """Return the loss at a point."""
        where = {"population": self.name, "mechanism": mechanism, "estimator": estimator}
        return self.measure.of(self.results.one(Loss, **where, epsilon=epsilon, drawn=drawn).mean)

    def best(self, mechanism: str, epsilon: float, drawn: int | None = None) -> float:
        """Return the loss of the better one of both smart estimators."""
        return min(self.at(mechanism, estimator, epsilon, drawn) for estimator in self.smart)

    @property
    def base(self) -> float:
        """The loss without privacy."""
        return self.at(NO_PRIVACY, EMPIRICAL, None)

    @property
    def epsilons(self) -> list[float]:
        """The epsilons that were measured."""
        points = self.results.of(Loss, population=self.name)
        return sorted({p.epsilon for p in points if p.epsilon is not None})

    @property
    def values(self) -> int:
        """|X|."""
        return self.results.of(Loss, population=self.name)[0].mean.values

    def gains(self) -> list[tuple[float, str, float]]:
        """Return the ratios of the better plain mechanism to the better optimized one, by estimator and epsilon."""
        findings = []
        for epsilon in self.epsilons:
            for estimator in self.estimators:
                plain = min(self.at(mechanism, estimator, epsilon) for mechanism in PLAIN)
                optimized = min(self.at(mechanism, estimator, epsilon) for mechanism in OPTIMIZED)
                findings.append((plain / optimized, estimator, epsilon))
        return findings


def on_each(check: Callable[[Losses], Iterator[Finding]], measure: Measure) -> Findings:
    """Return the check of every data set."""

    def checked(results: Results) -> list[Finding]:
        return [finding for name in results.populations for finding in check(Losses(results, name, measure))]

    return checked


def on_largest(check: Callable[[Losses], Iterator[Finding]], measure: Measure = TV) -> Findings:
    """Return the check of the largest of each family of data sets to which attributes were added one by one."""

    def checked(results: Results) -> list[Finding]:
        largest = {name.split("+")[0]: name for name in sorted(results.populations)}
        names = dict.fromkeys(largest[name.split("+")[0]] for name in results.populations)
        return [finding for name in names for finding in check(Losses(results, name, measure))]

    return checked
