"""[PIE, Fig. 6]: the information in traces if the attacker learned from other events of the same users."""

from collections.abc import Iterator, Mapping
from typing import Any

from papers.cells import ATTACKED, Cell
from papers.cells import MATCHERS as MATCHED
from papers.figure import Figure, Finding, Settings
from papers.pie.attacks import (
    BITS,
    FACE,
    LONG_HISTORY,
    LONG_TRACE,
    PARTIAL,
    RATED,
    Attack,
    charts_of_attacks,
    tables_of_attacks,
)
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

LEARNED = (20, 40, 60, 80, 100)
ENOUGH_RATINGS = 3
"""From this number on ratings are above the face matcher in the paper; check-ins from 200 on."""


def plan_partial(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan attacks that learn from other events of the same users, and the matchers beside them."""
    matchers = cells_of(those_of("matchers", datasets), settings, MATCHED, [("all", None, None)])
    places = cells_of(those_of("places", datasets), settings, ATTACKED, [(PARTIAL, None, events) for events in LEARNED])
    movies = cells_of(those_of("movies", datasets), settings, ATTACKED, [(RATED, None, events) for events in EVENTS])
    return matchers + places + movies


def findings_on_partial(results: Results) -> list[Finding]:
    """Check that more training makes traces more identifiable, and more so than faces."""
    face = next((p.mean for p in results.of(Attack, mechanism=FACE)), None)
    return [finding for name in results.populations if name != MATCHERS for finding in _on_data(results, name, face)]


def _on_data(results: Results, name: str, face: Attack | None) -> Iterator[Finding]:
    points = sorted(results.of(Attack, population=name), key=lambda p: p.drawn or 0)
    course = {p.drawn or 0: p.mean for p in points}
    first, *_, last = course.values()
    yield Finding(
        "the more events the attacker learned from, the more identifiable are the others",
        name,
        "certified bits with the most events over those with the fewest",
        last.certified_bits / max(first.certified_bits, 1e-9),
        ">=",
        1.0,
        "; ".join(f"{events}: {row.certified_bits:.3g}" for events, row in course.items()),
    )
    if face is None:
        return
    rated = points[0].mean.mechanism == RATED
    what, enough = ("ratings", ENOUGH_RATINGS) if rated else ("check-ins", max(course))
    for measure, bits in BITS.items():
        yield Finding(
            f"from {enough} {what} on that were learned from, traces are above the {FACE} (by {measure})",
            name,
            "least ratio of bits to the matcher's",
            min(bits(row) for events, row in course.items() if events >= enough) / bits(face),
            ">=",
            1.0,
            "; ".join(f"{events}: {bits(row):.3g}" for events, row in course.items()) + f"; {bits(face):.3g}",
        )


FIGURE = Figure(
    "pie/fig6",
    "[PIE, Fig. 6] PSE with partial knowledge",
    "How much traces tell if the attacker learned from other events of the same users.",
    (*PLACES, *MOVIES),
    (MATCHERS, *PLACES_HERE, *MOVIES_HERE),
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
        "who rates once is hard to identify by these scores; other attacks name many (docs/explanation/risk.md)",
        "check-ins: the most that are learned from are compared with the matcher (in the paper it is from 200 on)",
    ),
)
