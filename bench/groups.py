"""What can be measured: a name for the command line and the module that measures it, in the order of the page.

A module has ``run(*, quick) -> Group`` (one that takes no ``quick`` is passed over where a quick look is asked for).
"""

from importlib import import_module
from inspect import signature

from bench.measure import Group

GROUPS = {
    "imports": "bench.imports",
    "speed": "bench.speed",
    "growth": "bench.growth",
    "estimators": "bench.estimators",
    "likelihood": "bench.likelihood",
    "surveys": "bench.surveys",
    "shuffling": "bench.shuffling",
    "risk": "bench.risk",
    "divergence": "bench.divergence",
    "scale": "bench.scale",
    "spark": "bench.spark",
    "traces": "bench.traces",
    "endtoend": "bench.endtoend",
}


def measured(name: str, *, quick: bool) -> Group | None:
    """Measure a group; None if it has nothing quick and that is asked for."""
    run = import_module(GROUPS[name]).run
    if "quick" in signature(run).parameters:
        group: Group | None = run(quick=quick)
        return group
    return None if quick else run()
