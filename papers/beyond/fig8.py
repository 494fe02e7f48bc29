"""Beyond [ULDP, Fig. 8]: the personalized mechanism with more mechanisms, and with cells instead of tags."""

from papers.cells import CELLS, TAGS
from papers.figure import Figure, Finding
from papers.results import Results
from papers.uldp.fig8 import MAP_HERE, PAPER_MAP, charts_of_cases, plan_cases
from papers.uldp.losses import TV, Loss
from papers.uldp.mechanisms import DESIGN, DROP_BITS, OPTIMIZED
from papers.uldp.personalized import celled, line_of
from papers.uldp.sweep import ON_ESTIMATORS, SOME_RUNS, Comparison, log_size

WITH_TAGS = Comparison((*OPTIMIZED, DROP_BITS, DESIGN), SOME_RUNS, TAGS)
WITH_CELLS = Comparison(("uRR", DROP_BITS, DESIGN), SOME_RUNS, CELLS)
LINES = [*(f"{m} (I)" for m in WITH_TAGS.names), *(celled(m) for m in WITH_CELLS.names)]
TITLE = "Beyond the paper: Fig. {} with more mechanisms, and with cells instead of tags"
SHOWS = (
    "As [ULDP, Fig. {}], {}, where nothing is known of the places behind tags: with the optimal mechanism and the "
    "decoder without noise bits, and with one placeholder per coarse cell of the map instead of one per tag."
)


def findings_on_cells(results: Results) -> list[Finding]:
    """Compare placeholders of coarse cells, which need no background knowledge, with those of tags."""
    findings = []
    for name in results.populations:
        line = log_size(results.of(Loss, population=name)[0].mean.values)
        for mechanism in WITH_CELLS.names:
            lines = {
                line_of(p.mean): p.mean.tv for p in results.of(Loss, population=name, estimator="EM", epsilon=line)
            }
            at = {who: lines[who] for who in (f"{mechanism} (I)", f"{mechanism} (II)", celled(mechanism))}
            nothing_known, _, cells = at.values()
            findings.append(
                Finding(
                    f"without knowledge from elsewhere, cells are better than tags for {mechanism} at epsilon = ln|X|",
                    name,
                    "ratio of total variation distances with EM, tags (I) over cells",
                    nothing_known / cells,
                    ">=",
                    1.0,
                    "; ".join(f"{who}: {value:.4g}" for who, value in at.items()),
                )
            )
    return findings


FIGURE = Figure(
    "beyond/fig8",
    TITLE.format(8),
    SHOWS.format(8, TV.name),
    PAPER_MAP,
    MAP_HERE,
    plan_cases([WITH_TAGS, WITH_CELLS]),
    charts_of_cases(TV, LINES),
    findings_on_cells,
    runs=WITH_TAGS.runs,
    settings=(
        "a secret place becomes the placeholder of its tag, or of its cell of 5 x 5; a cell's mass is shared inside it "
        "in proportion to the values reported in clear",
        *ON_ESTIMATORS,
    ),
)
