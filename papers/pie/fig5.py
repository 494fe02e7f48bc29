"""[PIE, Fig. 5]: the information in traces that the attacker knows."""

from collections.abc import Iterator, Mapping
from typing import Any

from papers.cells import ATTACKED, Cell
from papers.cells import MATCHERS as MATCHED
from papers.figure import Figure, Finding, Settings
from papers.pie.attacks import MAXIMUM, Attack, charts_of_attacks, tables_of_attacks
from papers.pie.settings import (
    EVENTS,
    MATCHERS,
    MOVIES,
    MOVIES_HERE,
    ON_ATTACK,
    PLACES,
    PLACES_HERE,
    cells_of,
    those_of,
)
from papers.results import Results

ENOUGH, NEAR = 3, 1.5
_FINGERS = ("left index finger", "right index finger")


def plan_maximum(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan attacks with maximum knowledge, whole traces and first events, and the matchers beside them."""
    traces = those_of("places", datasets) | those_of("movies", datasets)
    asked = [(MAXIMUM, None, events) for events in (None, *EVENTS)]
    return cells_of(those_of("matchers", datasets), settings, MATCHED, [("all", None, None)]) + cells_of(
        traces, settings, ATTACKED, asked
    )


def findings_on_maximum(results: Results) -> list[Finding]:
    """Check how many events identify as well as a fingerprint when the attacker knows them, and whole traces."""
    fingers = [p.mean.paper_bits for p in results.of(Attack) if p.mean.mechanism in _FINGERS]
    if not fingers:
        return []
    names = dict.fromkeys(p.population for p in results.of(Attack, mechanism=MAXIMUM))
    return [finding for name in names for finding in _on_data(results, name, min(fingers))]


def _on_data(results: Results, name: str, finger: float) -> Iterator[Finding]:
    at = {p.drawn: p.mean.paper_bits for p in results.of(Attack, population=name, mechanism=MAXIMUM)}
    detail = "; ".join(f"{events}: {at[events]:.3g} bits" for events in EVENTS if events in at) + f"; {finger:.3g}"
    yield Finding(
        "a handful of events (at most 5) identifies as well as a fingerprint, if the attacker knows them",
        name,
        "D(f_G || f_I) of the most telling number of events over that of the less telling finger",
        max(at[events] for events in EVENTS if events in at) / finger,
        ">=",
        1.0,
        detail,
    )
    rated = name in (*MOVIES, *MOVIES_HERE)
    yield Finding(
        f"{ENOUGH} ratings are not enough for that" if rated else f"{ENOUGH} locations are enough for that",
        name,
        f"D(f_G || f_I) of the first {ENOUGH} over that of the less telling finger",
        at[ENOUGH] / finger,
        "<=" if rated else ">=",
        1.0,
        detail,
    )
    ratio = at[None] / finger
    yield Finding(
        "whole traces are about as identifiable as a fingerprint",
        name,
        "the larger one of both D(f_G || f_I) over the smaller one",
        max(ratio, 1 / ratio),
        "<=",
        NEAR,
        f"{at[None]:.3g} bits against {finger:.3g}",
    )


FIGURE = Figure(
    "pie/fig5",
    "[PIE, Fig. 5] PSE with maximum knowledge",
    "How much traces tell about their users if the attacker knows the traces: whole, and their first events.",
    (*PLACES, *MOVIES),
    (MATCHERS, *PLACES_HERE, *MOVIES_HERE),
    plan_maximum,
    charts_of_attacks,
    findings_on_maximum,
    tables_of_attacks,
    runs=(1, 1),
    settings=ON_ATTACK,
)
