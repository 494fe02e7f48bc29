"""[PIE, Fig. 6]: the information in traces if the attacker learned from other events of the same users."""

from collections.abc import Mapping
from typing import Any

from papers.cells import ATTACKED, Cell
from papers.figure import Figure, Finding, Settings
from papers.pie.attacks import (
    LONG_HISTORY,
    LONG_TRACE,
    PARTIAL,
    RATED,
    Attack,
    charts_of_attacks,
    tables_of_attacks,
)
from papers.pie.settings import EVENTS, MOVIES, MOVIES_HERE, ON_ATTACK, PLACES, PLACES_HERE, cells_of, those_of
from papers.results import Results

LEARNED = (20, 40, 60, 80, 100)


def plan_partial(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan attacks that learn from other events of the same users."""
    places = cells_of(those_of("places", datasets), settings, ATTACKED, [(PARTIAL, None, events) for events in LEARNED])
    movies = cells_of(those_of("movies", datasets), settings, ATTACKED, [(RATED, None, events) for events in EVENTS])
    return places + movies


def findings_on_partial(results: Results) -> list[Finding]:
    """Check that more training makes traces more identifiable."""
    found = []
    for name in results.populations:
        points = sorted(results.of(Attack, population=name), key=lambda p: p.drawn or 0)
        course = [p.mean.certified_bits for p in points]
        finding = Finding(
            "the more events the attacker learned from, the more identifiable are the others",
            name,
            "certified bits with the most events over those with the fewest",
            course[-1] / max(course[0], 1e-9),
            ">=",
            1.0,
            "; ".join(f"{p.drawn}: {bits:.3g}" for p, bits in zip(points, course, strict=True)),
        )
        found.append(finding)
    return found


FIGURE = Figure(
    "pie/fig6",
    "[PIE, Fig. 6] PSE with partial knowledge",
    "How much traces tell if the attacker learned from other events of the same users.",
    (*PLACES, *MOVIES),
    (*PLACES_HERE, *MOVIES_HERE),
    plan_partial,
    charts_of_attacks,
    findings_on_partial,
    tables_of_attacks,
    runs=(1, 1),
    settings=(
        *ON_ATTACK,
        f"places: users with at least {LONG_TRACE} check-ins (1,000 in the paper), learned from the first 20 to "
        "100 of the first half (100 to 500); the first 100 of the second half are attributed",
        f"movies: users with at least {LONG_HISTORY} ratings (500 in the paper), learned from the first 1 to 5; "
        "the whole history is attributed",
    ),
)
