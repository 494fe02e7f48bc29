"""Beyond [ULDP]: where EM starts, where it stops, and where it ends."""

from dataclasses import replace

from papers.cells import STOPPING
from papers.figure import Figure, Finding
from papers.results import Results
from papers.uldp.comparisons import NEAR, Losses
from papers.uldp.fig5 import charts_of_epsilons, findings_on_epsilons, plan_epsilons
from papers.uldp.losses import ENDS, STOPPED, TV
from papers.uldp.mechanisms import PAPER
from papers.uldp.sweep import DATA_HERE, LOG_SIZE, LOW, ON_MECHANISMS, PAPER_DATA, Comparison, log_size

STOPPED_EARLY = Comparison(PAPER, (5, 1), STOPPING, tuple(ENDS))


def findings_on_stopping(results: Results) -> list[Finding]:
    """Compare EM stopped early with the maximum, and check [ULDP, Fig. 5] with EM stopped early."""
    findings = []
    for name in results.populations:
        losses = Losses(results, name, TV)
        for epsilon, at in ((LOW, "0.1"), (log_size(losses.values), LOG_SIZE)):
            ratios = {m: losses.at(m, STOPPED, epsilon) / losses.at(m, "EM", epsilon) for m in PAPER}
            findings.append(
                Finding(
                    f"where EM stops is about as good as where it ends, at epsilon = {at}",
                    name,
                    "largest ratio of the losses, either way, over mechanisms",
                    max(max(ratio, 1 / ratio) for ratio in ratios.values()),
                    "<=",
                    NEAR,
                    "stopped over ended: " + "; ".join(f"{m}: {ratio:.3g}" for m, ratio in ratios.items()),
                )
            )
        early = Losses(results, name, TV, ("emp+thr", STOPPED))
        findings += [
            replace(finding, claim=f"{finding.claim} (EM stopped early)") for finding in findings_on_epsilons(early)
        ]
    return findings


FIGURE = Figure(
    "beyond/stopping",
    "Beyond the paper: where EM stops",
    "EM starts from emp+thr and climbs to the maximum of the likelihood, slowly; stopped early, it is another "
    "estimator. The figure shows where it starts, where it is when an iteration changes frequencies by no more "
    "than 3e-4 in all, and where it ends.",
    PAPER_DATA,
    DATA_HERE,
    plan_epsilons(STOPPED_EARLY),
    charts_of_epsilons(TV, STOPPED_EARLY),
    findings_on_stopping,
    runs=STOPPED_EARLY.runs,
    settings=ON_MECHANISMS[::2],
)
