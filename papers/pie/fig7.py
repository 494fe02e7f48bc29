"""[PIE, Fig. 7]: DET curves of traces and of biometric matchers."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from papers.cells import ATTACKED, Cell
from papers.cells import MATCHERS as MATCHED
from papers.figure import Figure, Finding, Settings
from papers.pie.attacks import FACE, HALF, MAXIMUM, PARTIAL, Attack, DetPoint, tables_of_attacks
from papers.pie.det_chart import DetLine, det_chart
from papers.pie.settings import MATCHERS, MOVIES, MOVIES_HERE, ON_ATTACK, PLACES, cells_of, those_of
from papers.results import Results

FRPC, FRPC_RATES, FRPC_EQUAL = "FRPC 2017 (printed)", {0.01: 0.15, 0.1: 0.1}, 0.1
"""The Face Recognition Prize Challenge 2017, as the paper has it: false rejection by false acceptance."""


def plan_curves(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan DET curves of traces, by half and with maximum knowledge, and of the matchers."""
    cells = cells_of(those_of("matchers", datasets), settings, MATCHED, [("all", None, None)])
    known = [(knowledge, None, None) for knowledge in (MAXIMUM, PARTIAL, HALF)]
    cells += cells_of(those_of("places", datasets), settings, ATTACKED, known)
    return cells + cells_of(those_of("movies", datasets), settings, ATTACKED, [(MAXIMUM, None, None)])


def charts_of_det(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Draw DET curves on normal-deviate axes."""
    lines: dict[str, list[tuple[float, float, float]]] = {}
    for p in results.of(DetPoint):
        name = p.mean.mechanism if p.population == MATCHERS else f"{p.population}, {p.mean.mechanism}"
        lines.setdefault(name, []).append((p.mean.far, p.mean.frr, p.mean.equal))
    drawn = [
        DetLine(name, np.array([point[0] for point in points]), np.array([point[1] for point in points]), points[0][2])
        for name, points in lines.items()
    ]
    return {
        "det": det_chart([*drawn, DetLine(FRPC, np.array([*FRPC_RATES]), np.array([*FRPC_RATES.values()]), FRPC_EQUAL)])
    }


def findings_on_det(results: Results) -> list[Finding]:
    """Check that traces are more identifiable than faces, by the matcher at hand and by the printed rates."""
    face = next((p.mean for p in results.of(Attack, mechanism=FACE)), None)
    findings = []
    for p in results.of(Attack):
        if p.population == MATCHERS or p.mean.mechanism == HALF:
            continue
        if face is not None:
            findings.append(
                Finding(
                    f"traces are more identifiable than the {FACE} (attacker: {p.mean.mechanism})",
                    p.population,
                    "D(f_G || f_I) over the matcher's",
                    p.mean.paper_bits / face.paper_bits,
                    ">=",
                    1.0,
                    f"{p.mean.paper_bits:.3g} bits against {face.paper_bits:.3g}; named {p.mean.success:.1%}",
                )
            )
        curve = [q.mean for q in results.of(DetPoint, population=p.population, mechanism=p.mean.mechanism)]
        rates = sorted((q.far, q.frr) for q in curve) or [(0.0, 0.0)]  # no point where no two errors are possible
        rejected = np.interp([*FRPC_RATES], [far for far, _ in rates], [frr for _, frr in rates])
        findings.append(
            Finding(
                f"systems that collect traces are of high risk: errors below those of {FRPC} ({p.mean.mechanism})",
                p.population,
                "largest ratio of false rejection to the printed one, at false acceptance of .01 and .1",
                max(float(here) / printed for here, printed in zip(rejected, FRPC_RATES.values(), strict=True)),
                "<=",
                1.0,
                "; ".join(f"{far:g}: {here:.3g}" for far, here in zip(FRPC_RATES, rejected, strict=True)),
            )
        )
    return findings


FIGURE = Figure(
    "pie/fig7",
    "[PIE, Fig. 7] DET curves",
    "False rejection against false acceptance of traces and of biometric matchers, over all thresholds, exactly.",
    (*PLACES, *MOVIES),
    (MATCHERS, "lbsn-kl", *MOVIES_HERE),
    plan_curves,
    charts_of_det,
    findings_on_det,
    tables_of_attacks,
    runs=(1, 1),
    settings=ON_ATTACK,
)
