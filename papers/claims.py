"""Findings of [ULDP, section 5] as statements with thresholds, which were chosen before any data were seen.

"Best" of a mechanism is the lower loss of emp+thr and EM, the two that the paper would have one use.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from papers.artefact import Table, nothing
from papers.entrants import (
    BEYOND,
    BOUND,
    DESIGN_AT,
    DROP_BITS,
    EMPIRICAL,
    NO_PRIVACY,
    OPTIMIZED,
    PAPER,
    PLAIN,
    UNBIASED,
)
from papers.finding import Finding
from papers.results import Results
from papers.sweeps import GROWTH_EPSILONS, SIZE_EPSILON, log_size
from papers.trials import ESTIMATORS, LINEAR, STOPPED

ONE_ORDER = 10.0
NEAR = 1.5
FAR = 2.0
USELESS = 0.9
USABLE = 0.5
BESIDE = 1.1
PAPER_SIZE = 12_800
PAPER_SECONDS = {"RR": 3121, "uRR": 1258, "RAPPOR": 5225, "uRAP": 1073}

_LOW = 0.1
_ROUNDING = 1e-9
# What a sampler's integers cost, which round the truth down.
_INTEGERS = 1e-3
_SMART = ("emp+thr", "EM")

Claims = Callable[[Results], Sequence[Finding]]


class _Losses:
    """The mean losses of one data set; `smart` are the two estimators of which a mechanism is given the better one."""

    def __init__(self, results: Results, name: str, measure: str, smart: Sequence[str] = _SMART) -> None:
        self.results, self.name, self.measure, self.smart = results, name, measure, smart
        self.estimators = (LINEAR, *smart)

    def at(self, mechanism: str, estimator: str, epsilon: float | None, drawn: int | None = None) -> float:
        where = {"population": self.name, "mechanism": mechanism, "estimator": estimator}
        return self.results.mean(self.measure, **where, epsilon=epsilon, drawn=drawn)

    def best(self, mechanism: str, epsilon: float, drawn: int | None = None) -> float:
        return min(self.at(mechanism, estimator, epsilon, drawn) for estimator in self.smart)

    @property
    def base(self) -> float:
        return self.at(NO_PRIVACY, EMPIRICAL, None)

    @property
    def epsilons(self) -> list[float]:
        points = self.results.where(population=self.name)
        return sorted({p["epsilon"] for p in points if p["epsilon"] is not None})

    @property
    def values(self) -> int:
        return int(self.results.where(population=self.name)[0]["values"])


def claims_on_epsilons(measure: str) -> Claims:
    """Return the check of [ULDP, Figs. 5 and 10]."""

    def check(results: Results) -> list[Finding]:
        names = dict.fromkeys(point["population"] for point in results.points)
        return [finding for name in names for finding in _on_epsilons(_Losses(results, name, measure))]

    return check


def _gains(losses: _Losses) -> list[tuple[float, str, float]]:
    """Return ratios of losses, the better plain mechanism over the better optimized one, by estimator and epsilon."""
    found = []
    for epsilon in losses.epsilons:
        for estimator in losses.estimators:
            plain = min(losses.at(mechanism, estimator, epsilon) for mechanism in PLAIN)
            optimized = min(losses.at(mechanism, estimator, epsilon) for mechanism in OPTIMIZED)
            found.append((plain / optimized, estimator, epsilon))
    return found


def _on_epsilons(losses: _Losses) -> Iterator[Finding]:
    line = log_size(losses.values)
    yield from _on_gains(losses)
    yield _near_no_privacy(losses, line)
    smart = {m: losses.at(m, "emp", _LOW) / max(losses.at(m, e, _LOW) for e in losses.smart) for m in PAPER}
    yield Finding(
        "emp+thr and EM are far better than emp where epsilon is small",
        losses.name,
        "smallest ratio over mechanisms of the loss of emp to that of the worse of emp+thr and EM, at epsilon = 0.1",
        min(smart.values()),
        ">=",
        FAR,
        "; ".join(f"{mechanism}: {ratio:.3g}" for mechanism, ratio in smart.items()),
    )
    yield _is_best(losses, "uRAP", _LOW, "0.1")
    yield _is_best(losses, "uRR", line, "ln|X|")


def _on_gains(losses: _Losses) -> Iterator[Finding]:
    gains = _gains(losses)
    largest = {name: max((gain, epsilon) for gain, e, epsilon in gains if e == name) for name in losses.estimators}
    yield Finding(
        "uRR and uRAP beat RR and RAPPOR by one to two orders of magnitude",
        losses.name,
        "largest ratio of losses, better of RR and RAPPOR over better of uRR and uRAP, over all epsilon and estimators",
        max(gains)[0],
        ">=",
        ONE_ORDER,
        "; ".join(f"{name}: {gain:.3g} at epsilon = {epsilon:.3g}" for name, (gain, epsilon) in largest.items()),
    )
    worst = min(gains)
    yield Finding(
        "uRR and uRAP are never worse than RR and RAPPOR",
        losses.name,
        "smallest such ratio",
        worst[0],
        ">=",
        1 / BESIDE,
        f"at epsilon = {worst[2]:.3g} with {worst[1]}",
    )


def _is_best(losses: _Losses, first: str, epsilon: float, told: str) -> Finding:
    least = {mechanism: losses.best(mechanism, epsilon) for mechanism in PAPER}
    linear = {mechanism: losses.at(mechanism, "emp", epsilon) for mechanism in PAPER}
    return Finding(
        f"{first} is the best of all at epsilon = {told}",
        losses.name,
        f"ratio of the least loss of any other mechanism to that of {first}, best estimators",
        min(loss for mechanism, loss in least.items() if mechanism != first) / least[first],
        ">=",
        1.0,
        "; ".join(f"{mechanism}: {loss:.4g} (emp {linear[mechanism]:.4g})" for mechanism, loss in least.items()),
    )


def _near_no_privacy(losses: _Losses, line: float) -> Finding:
    by = {estimator: losses.at("uRR", estimator, line) for estimator in losses.estimators}
    return Finding(
        "uRR at epsilon = ln|X| is about as good as no privacy",
        losses.name,
        "loss of uRR, best estimator, over that of no privacy",
        losses.best("uRR", line) / losses.base,
        "<=",
        NEAR if losses.measure == "tv" else NEAR**2,
        "; ".join(f"{estimator}: {loss:.4g}" for estimator, loss in by.items()) + f"; no privacy: {losses.base:.4g}",
    )


def claims_on_sizes(measure: str) -> Claims:
    """Return the check of [ULDP, Figs. 6 and 11]."""

    def check(results: Results) -> list[Finding]:
        names = dict.fromkeys(point["population"] for point in results.points)
        return [finding for name in names for finding in _on_sizes(_Losses(results, name, measure))]

    return check


def _on_sizes(losses: _Losses) -> Iterator[Finding]:
    points = losses.results.where(population=losses.name)
    sizes = sorted({p["drawn"] for p in points if p["drawn"] is not None})
    line, power = log_size(losses.values), 1.0 if losses.measure == "tv" else 2.0
    for mechanism in OPTIMIZED:
        for epsilon, told in ((SIZE_EPSILON, f"{SIZE_EPSILON:g}"), (line, "ln|X|")):
            course = [losses.at(mechanism, "emp", epsilon, size) for size in sizes]
            yield Finding(
                f"the smaller the share of sensitive values, the better {mechanism} at epsilon = {told}",
                losses.name,
                "loss with emp at |X_S| = |X| over that at |X_S| = 1",
                course[-1] / course[0],
                ">=",
                FAR**power,
                " ".join(f"{size}: {loss:.3g}" for size, loss in zip(sizes, course, strict=True)),
            )
    few = max(size for size in sizes if size <= losses.values**0.75 / 4)
    for mechanism in OPTIMIZED:
        yield Finding(
            f"{mechanism} at epsilon = ln|X| is about as good as no privacy where few values are sensitive",
            losses.name,
            f"loss, best estimator, over that of no privacy at |X_S| = {few} (at most |X|^(3/4) / 4)",
            losses.best(mechanism, line, few) / losses.base,
            "<=",
            NEAR**power,
        )


def claims_on_growth(measure: str) -> Claims:
    """Return the check of [ULDP, Fig. 7], on the largest of each family of data sets; Fig. 12 has no findings."""
    return _on_largest if measure == "tv" else nothing


def _on_largest(results: Results) -> list[Finding]:
    found: list[Finding] = []
    names = list(dict.fromkeys(point["population"] for point in results.points))
    for family in dict.fromkeys(name.split("+")[0] for name in names):
        largest = sorted(name for name in names if name.split("+")[0] == family)[-1]
        found += _on_growth(_Losses(results, largest, "tv"))
    return found


def _on_growth(losses: _Losses) -> Iterator[Finding]:
    low = GROWTH_EPSILONS[0]
    for mechanism in ("RR", "RAPPOR", "uRR"):
        yield Finding(
            f"{mechanism} with EM is useless at epsilon = {low:g} and |X| = {losses.values:,}",
            losses.name,
            "total variation distance",
            losses.at(mechanism, "EM", low),
            ">=",
            USELESS,
        )
    by = {estimator: losses.at("uRAP", estimator, low) for estimator in losses.smart}
    yield Finding(
        f"uRAP holds up at epsilon = {low:g} and |X| = {losses.values:,}",
        losses.name,
        "total variation distance with EM",
        by["EM"],
        "<=",
        USABLE,
        "; ".join(f"{estimator}: {loss:.3g}" for estimator, loss in by.items()),
    )
    gains = [gain for gain, _, _ in _gains(losses)]
    yield Finding(
        "uRR and uRAP beat RR and RAPPOR by one to two orders of magnitude",
        losses.name,
        "largest ratio of losses over all epsilon and estimators",
        max(gains),
        ">=",
        ONE_ORDER,
    )


def claims_on_times(results: Results) -> list[Finding]:
    """Check the running times that the paper gives, at the largest |X| of each family."""
    found: list[Finding] = []
    names = list(dict.fromkeys(point["population"] for point in results.points))
    for family in dict.fromkeys(name.split("+")[0] for name in names):
        largest = sorted(name for name in names if name.split("+")[0] == family)[-1]
        found += _on_times(_Losses(results, largest, "seconds"))
    return found


def _on_times(losses: _Losses) -> Iterator[Finding]:
    fast = {(m, e): losses.at(m, e, 6.0) for m in PAPER for e in ("emp", "emp+thr")}
    yield Finding(
        "emp and emp+thr take less than a second",
        losses.name,
        f"longest of them at |X| = {losses.values:,}, in seconds",
        max(fast.values()),
        "<=",
        1.0,
    )
    plain = {mechanism: losses.at(mechanism, STOPPED, 6.0) for mechanism in PAPER}
    ends = {mechanism: losses.at(mechanism, "EM", 6.0) for mechanism in PAPER}
    for mechanism in PAPER:
        yield Finding(
            f"maximum likelihood is found sooner than plain EM stops, for {mechanism}",
            losses.name,
            "seconds of plain EM over seconds to the certified maximum",
            plain[mechanism] / max(ends[mechanism], 1e-9),
            ">=",
            1.0,
            f"plain EM {plain[mechanism]:.3g} s, maximum {ends[mechanism]:.3g} s; "
            f"EM in the paper, 9 attributes: {PAPER_SECONDS[mechanism]:,} s",
        )
    for less, more in zip(OPTIMIZED, PLAIN, strict=True):
        yield Finding(
            f"plain EM takes longer for {more} than for {less}",
            losses.name,
            "ratio of seconds",
            plain[more] / max(plain[less], 1e-9),
            ">=",
            1.0,
        )


def tables_of_times(results: Results) -> list[Table]:
    """Return the seconds of every mechanism and estimator, beside the paper's for nine attributes."""
    points, columns = results.points, (*ESTIMATORS, STOPPED)
    rows = []
    for name, mechanism in dict.fromkeys((point["population"], point["mechanism"]) for point in points):
        here = {point["estimator"]: point for point in results.where(population=name, mechanism=mechanism)}
        one = here[STOPPED]
        facts = (name, mechanism, f"{one['n']:,}", f"{one['values']:,}", f"{one['sensitive']:,}")
        printed = f"{PAPER_SECONDS[mechanism]:,}" if one["values"] == PAPER_SIZE else ""
        rows.append((*facts, *(f"{here[column]['seconds'].value:.3g}" for column in columns), printed))
    heads = ("data", "mechanism", "users", "|X|", "protected", *columns, "EM in the paper")
    return [Table("Seconds at epsilon = 6; EM is the certified maximum, the last but one is plain EM", heads, rows, 2)]


def claims_on_stopping(results: Results) -> list[Finding]:
    """Compare EM stopped early with the maximum, and check [ULDP, Fig. 5] with EM stopped early."""
    found = []
    for name in dict.fromkeys(point["population"] for point in results.points):
        losses = _Losses(results, name, "tv")
        for epsilon, told in ((_LOW, "0.1"), (log_size(losses.values), "ln|X|")):
            ratios = {m: losses.at(m, STOPPED, epsilon) / losses.at(m, "EM", epsilon) for m in PAPER}
            found.append(
                Finding(
                    f"where EM stops is about as good as where it ends, at epsilon = {told}",
                    name,
                    "largest ratio of the losses, either way, over mechanisms",
                    max(max(ratio, 1 / ratio) for ratio in ratios.values()),
                    "<=",
                    NEAR,
                    "stopped over ended: " + "; ".join(f"{m}: {ratio:.3g}" for m, ratio in ratios.items()),
                )
            )
        early = _Losses(results, name, "tv", ("emp+thr", STOPPED))
        found += [replace(one, claim=f"{one.claim} (EM stopped early)") for one in _on_epsilons(early)]
    return found


def claims_beyond(results: Results) -> list[Finding]:
    """Compare the mechanisms beyond the paper with the lower bound and with the paper's, by squared error."""
    found: list[Finding] = []
    for name in dict.fromkeys(point["population"] for point in results.points):
        found += _beyond(_Losses(results, name, "mse"))
    return found


def _beyond(losses: _Losses) -> Iterator[Finding]:
    places = [(p["epsilon"], p["drawn"]) for p in losses.results.where(population=losses.name, mechanism=BOUND)]
    exact = _Losses(losses.results, losses.name, "expected_mse")
    excess = {
        m: {place: exact.at(m, LINEAR, *place) / losses.at(BOUND, UNBIASED, *place) for place in places} for m in BEYOND
    }
    told = "; ".join(f"{m}: {min(ratios.values()):.3g} to {max(ratios.values()):.3g}" for m, ratios in excess.items())
    yield Finding(
        "no unbiased estimate is below the lower bound",
        losses.name,
        "least ratio of an expected squared error (emp, exactly) to the bound",
        min(min(ratios.values()) for ratios in excess.values()),
        ">=",
        1 - _ROUNDING,
        told,
    )
    yield Finding(
        "BlockDesign that knows p(X_S) attains the lower bound",
        losses.name,
        "largest such ratio",
        max(excess[DESIGN_AT].values()),
        "<=",
        1 + _INTEGERS,
    )
    gains = [excess["uRAP"][place] / excess[DROP_BITS][place] for place in places]
    yield Finding(
        "without the noise bits of reports in clear uRAP is never worse",
        losses.name,
        "least ratio of expected squared errors, with noise bits over without",
        min(gains),
        ">=",
        1 - _ROUNDING,
        f"largest: {max(gains):.3g}",
    )
