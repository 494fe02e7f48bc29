"""[PIE, Fig. 7]: DET curves of traces and of biometric matchers."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.pictures.det import DetLine, det_chart
from papers.cells import ATTACKED, Cell
from papers.cells import MATCHERS as MATCHED
from papers.figure import Figure, Finding, Settings
from papers.pie.attacks import HALF, MAXIMUM, PARTIAL, Attack, DetPoint, tables_of_attacks
from papers.pie.settings import MATCHERS, MOVIES, MOVIES_HERE, ON_ATTACK, PLACES, cells_of, those_of
from papers.results import Results

_FACE = "face, matcher G"


def plan_curves(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan DET curves of traces, by half and with maximum knowledge, and of the matchers."""
    found = cells_of(those_of("matchers", datasets), settings, MATCHED, [("all", None, None)])
    known = [(knowledge, None, None) for knowledge in (MAXIMUM, PARTIAL, HALF)]
    found += cells_of(those_of("places", datasets), settings, ATTACKED, known)
    return found + cells_of(those_of("movies", datasets), settings, ATTACKED, [(MAXIMUM, None, None)])


def charts_of_det(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Draw DET curves on normal-deviate axes."""
    lines: dict[str, list[tuple[float, float, float]]] = {}
    for p in results.of(DetPoint):
        name = p.mean.mechanism if p.population == MATCHERS else f"{p.population}, {p.mean.mechanism}"
        lines.setdefault(name, []).append((p.mean.far, p.mean.frr, p.mean.equal))
    drawn = [
        DetLine(name, np.array([one[0] for one in points]), np.array([one[1] for one in points]), points[0][2])
        for name, points in lines.items()
    ]
    return {"det": det_chart(drawn)}


def findings_on_det(results: Results) -> list[Finding]:
    """Check that long traces are more identifiable than the face matcher, even with separate training data."""
    face = next((p.mean for p in results.of(Attack, mechanism=_FACE)), None)
    if face is None:
        return []
    return [
        Finding(
            f"traces are more identifiable than the {_FACE} (attacker: {p.mean.mechanism})",
            p.population,
            "D(f_G || f_I) over the matcher's",
            p.mean.paper_bits / face.paper_bits,
            ">=",
            1.0,
            f"{p.mean.paper_bits:.3g} bits against {face.paper_bits:.3g}; named {p.mean.success:.1%}",
        )
        for p in results.of(Attack)
        if p.population != MATCHERS and p.mean.mechanism != HALF
    ]


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
