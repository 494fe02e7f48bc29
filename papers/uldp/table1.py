"""[ULDP, Table 1]: Theorem 1, the loss of the personalized mechanism and the two terms that bound it."""

from collections.abc import Mapping

from discreet.core.result_table import ResultTable
from papers.cells import Cell
from papers.data.population import Population
from papers.figure import Figure, Finding, Settings, no_charts
from papers.results import Results
from papers.uldp.fig8 import MAP_HERE, ON_CASES, PAPER_MAP, WITH_TAGS
from papers.uldp.personalized import TaggedLoss, line_of
from papers.uldp.sweep import CellMaker, log_size

_SUM = 1e-9

# As printed: uRR and uRAP in cases I, II and III; l1(p_hat, p), first term, second term.
PRINTED = {
    "uRR (I)": (6.73e-2, 2.70e-2, 7.34e-2), "uRR (II)": (4.24e-2, 2.70e-2, 2.96e-2), "uRR (III)": (2.62e-2, 2.70e-2, 0),
    "uRAP (I)": (6.77e-2, 2.76e-2, 7.35e-2), "uRAP (II)": (4.28e-2, 2.76e-2, 2.96e-2),
    "uRAP (III)": (2.67e-2, 2.76e-2, 0),
}  # fmt: skip


def plan_table(populations: Mapping[str, Population], settings: Settings) -> list[Cell]:
    """Return the cells of [ULDP, Table 1]: epsilon = ln|X|."""
    return [
        cell
        for name, population in populations.items()
        for cell in CellMaker(name, population, settings, WITH_TAGS).all_cells(log_size(population.domain.size))
    ]


def tables_of_theorem(results: Results) -> list[ResultTable]:
    """Return [ULDP, Table 1], here and as printed."""
    rows = []
    for point in results.of(TaggedLoss, estimator="EM"):
        here = zip(_terms(point.mean), _terms(point.error), PRINTED[line_of(point.mean)], strict=True)
        numbers = [text for mean, error, paper in here for text in (f"{mean:.4f} ± {error:.4f}", f"{paper:.4f}")]
        rows.append((point.population, line_of(point.mean), *numbers))
    heads = ("data", "mechanism (case)", "l1(p_hat, p)", "printed", "first term", "printed", "second term", "printed")
    return [ResultTable.of("Theorem 1 with EM at epsilon = ln|X|", heads, rows, left=2)]


def _terms(row: TaggedLoss) -> tuple[float, float, float]:
    return row.l1, row.first_term, row.second_term


def findings_on_table(results: Results) -> list[Finding]:
    """Check Theorem 1 against the numbers of [ULDP, Table 1]."""
    findings = []
    for point in results.of(TaggedLoss, estimator="EM"):
        l1, first, second = _terms(point.mean)
        printed = PRINTED[line_of(point.mean)]
        findings.append(
            Finding(
                f"Theorem 1 holds for {line_of(point.mean)}",
                point.population,
                "l1(p_hat, p) less both terms",
                l1 - first - second,
                "<=",
                _SUM,
                f"here {l1:.3g}, {first:.3g}, {second:.3g}; the paper {printed[0]:.3g}, {printed[1]:.3g}, "
                f"{printed[2]:.3g}",
            )
        )
    return findings


FIGURE = Figure(
    "uldp/table1",
    "[ULDP, Table 1] Theorem 1",
    "The l1 loss of the personalized mechanism with EM at epsilon = ln|X|, and the two terms that bound it: what "
    "the noise costs, and what not knowing the secrets costs.",
    PAPER_MAP,
    MAP_HERE,
    plan_table,
    no_charts,
    findings_on_table,
    tables_of_theorem,
    settings=ON_CASES,
)
