"""[ULDP, section 5]: the seconds that each estimator takes."""

from collections.abc import Iterator, Mapping

from discreet.core.result_table import ResultTable
from papers.cells import TIMED, Cell
from papers.data.population import Population
from papers.figure import Figure, Finding, Settings
from papers.results import Results
from papers.uldp.comparisons import NEAR, Losses, on_largest
from papers.uldp.fig7 import CENSUSES, QUICK_SIZE, SURVEYS, USERS, charts_of_growth
from papers.uldp.losses import ESTIMATORS, SECONDS, STOPPED, Loss
from papers.uldp.mechanisms import OPTIMIZED, PAPER, PLAIN
from papers.uldp.sweep import CellMaker, Comparison

PAPER_SIZE = 12_800
_FEWEST = 4
PAPER_SECONDS = {"RR": 3121, "uRR": 1258, "RAPPOR": 5225, "uRAP": 1073}
TIMES = Comparison(PAPER, (1, 1), TIMED, (*ESTIMATORS, STOPPED))


def plan_times(populations: Mapping[str, Population], settings: Settings) -> list[Cell]:
    """Return the cells of the running time at epsilon = 6, with the paper's 240,000 users if there are so many.

    What is timed needs no truth, so that more than half of the people may report.
    """
    listed = list(populations.items())
    if settings.quick:
        # Plain EM takes its time where there are many values.
        listed = [(name, data) for name, data in listed if data.domain.size <= QUICK_SIZE] or listed[:1]
    return [
        cell
        for name, data in listed
        for mechanism in PAPER
        for cell in CellMaker(name, data, settings, TIMES, users=min(USERS, data.people)).cells(mechanism, 6.0)
    ]


def findings_on_times(losses: Losses) -> Iterator[Finding]:
    """Yield comparisons of our seconds with the paper's and with those of plain EM, on one data set."""
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
        yield _sooner(losses.name, mechanism, plain[mechanism], ends[mechanism])
    for less, more in zip(OPTIMIZED, PLAIN, strict=True):
        yield Finding(
            f"plain EM takes longer for {more} than for {less}",
            losses.name,
            "ratio of seconds",
            plain[more] / max(plain[less], 1e-9),
            ">=",
            1.0,
        )


def findings_on_more(results: Results) -> list[Finding]:
    """Return the growth of seconds as attributes are added, over that of the number of attributes."""
    findings = []
    for family in dict.fromkeys(name.split("+")[0] for name in results.populations):
        first, *_, last = sorted(name for name in results.populations if name.split("+")[0] == family) * 2
        if first == last:
            continue
        most = _FEWEST + int(last.split("+")[1])
        seconds = {name: _seconds(results, name) for name in (first, last)}
        less, more = (sum(seconds[name].values()) for name in (first, last))
        findings.append(
            Finding(
                "running time grows roughly linearly with the number of attributes",
                family,
                f"growth of the seconds of plain EM, all mechanisms, from {_FEWEST} to {most} attributes, over theirs",
                more / less / (most / _FEWEST),
                "<=",
                NEAR,
                "; ".join(f"{m}: {seconds[first][m]:.3g} to {seconds[last][m]:.3g}" for m in PAPER),
            )
        )
    return findings


def _seconds(results: Results, name: str) -> dict[str, float]:
    points = results.of(Loss, population=name, estimator=STOPPED)
    return {p.mean.mechanism: p.mean.seconds for p in points}


def _sooner(name: str, mechanism: str, plain: float, maximum: float) -> Finding:
    return Finding(
        f"maximum likelihood is found sooner than plain EM stops, for {mechanism}",
        name,
        "seconds of plain EM over seconds to the certified maximum",
        plain / max(maximum, 1e-9),
        ">=",
        1.0,
        f"plain EM {plain:.3g} s, maximum {maximum:.3g} s; "
        f"EM in the paper, 9 attributes: {PAPER_SECONDS[mechanism]:,} s",
    )


def tables_of_times(results: Results) -> list[ResultTable]:
    """Return the seconds of every mechanism and estimator, beside the paper's for nine attributes."""
    points, columns = results.of(Loss), (*ESTIMATORS, STOPPED)
    rows = []
    for name, mechanism in dict.fromkeys((point.population, point.mean.mechanism) for point in points):
        here = {p.mean.estimator: p.mean for p in results.of(Loss, population=name, mechanism=mechanism)}
        run = here[STOPPED]
        facts = (name, mechanism, f"{run.n:,}", f"{run.values:,}", f"{run.sensitive:,}")
        printed = f"{PAPER_SECONDS[mechanism]:,}" if run.values == PAPER_SIZE else ""
        rows.append((*facts, *(f"{here[column].seconds:.3g}" for column in columns), printed))
    heads = ("data", "mechanism", "users", "|X|", "protected", *columns, "EM in the paper")
    title = "Seconds at epsilon = 6; EM is the certified maximum, the last but one is plain EM"
    return [ResultTable.of(title, heads, rows, left=2)]


FIGURE = Figure(
    "uldp/time",
    "[ULDP, section 5] running time",
    "Seconds that each estimator takes at epsilon = 6, as attributes are added: emp, emp+thr, EM to its end by our "
    "algorithm, and plain EM, which stops when an iteration changes frequencies by no more than 3e-4 in all.",
    CENSUSES,
    SURVEYS,
    plan_times,
    charts_of_growth(SECONDS, TIMES),
    lambda results: [*on_largest(findings_on_times, SECONDS)(results), *findings_on_more(results)],
    tables_of_times,
    runs=TIMES.runs,
    settings=(
        "240,000 users as in the paper; one after the other, on all processors; compiling the kernels is not "
        "counted; counting reports is, for EM",
        "with --quick no more than 1,600 values",
        "the paper used a Xeon E5-2620 v3 with 6 cores",
    ),
)
