"""[PIE, section 5.1]: the divergence of genuine from impostor scores as users increase."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from papers.cells import ATTACKED, Cell
from papers.drawing import curves, interval, record
from papers.figure import Figure, Finding, Settings
from papers.pie.attacks import BITS, MAXIMUM, Attack
from papers.pie.settings import MOVIES, MOVIES_HERE, ON_ATTACK, PLACES, PLACES_HERE, cells_of
from papers.results import Results

PARTS = (8, 4, 2, 1)
EVENTS = 2
SETTLED = 0.1


def plan_users(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan attacks on the first events of ever more users, drawn at random."""
    return [
        replace(cell, users=datasets[cell.population].traces.users // part)
        for cell in cells_of(datasets, settings, ATTACKED, [(MAXIMUM, None, EVENTS)])
        for part in PARTS
    ]


def charts_of_users(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the information against the number of users."""
    records = [
        record(interval(p.mean.n, bits(p.mean), 0.0), line=p.population, column=column)
        for p in results.of(Attack)
        for column, bits in BITS.items()
    ]
    subtitle = f"the first {EVENTS} events of users drawn at random, maximum knowledge"
    return {"users": curves("What events tell about the user", subtitle, ("users", "bits"), records)}


def findings_on_users(results: Results) -> list[Finding]:
    """Check that the paper's PSE hardly changes any more."""
    findings = []
    for name in results.populations:
        course = {p.mean.n: p.mean.paper_bits for p in results.of(Attack, population=name)}
        *_, half, whole = sorted(course)
        findings.append(
            Finding(
                "D(f_G || f_I) converges as users increase",
                name,
                "its change from half of the users to all, over what it is for all",
                abs(course[whole] - course[half]) / course[whole],
                "<=",
                SETTLED,
                "; ".join(f"{users:,}: {bits:.3g}" for users, bits in sorted(course.items())),
            )
        )
    return findings


FIGURE = Figure(
    "pie/users",
    "[PIE, section 5.1] PSE against the number of users",
    "D(f_G || f_I) is the limit of the PSE for many users; how it, and what is certified, change with their number.",
    (*PLACES, *MOVIES),
    (*PLACES_HERE, *MOVIES_HERE),
    plan_users,
    charts_of_users,
    findings_on_users,
    runs=(1, 1),
    settings=ON_ATTACK,
)
