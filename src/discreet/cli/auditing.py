"""The verb ``audit``."""

from pathlib import Path
from typing import Any

import click
import numpy as np

from discreet.cli.plans import load_plan
from discreet.cli.terminal import console, show_json
from discreet.core.domain import Domain
from discreet.core.random import SeededRandom
from discreet.privacy.audit import Audit, audit


def audit_plan(path: Path, draws: int, confidence: float, seed: int | None, *, as_json: bool) -> None:
    """Audit a plan's mechanism, show the lower bound on epsilon, and exit with 1 if the promise is broken."""
    mechanism = load_plan(path).mechanism()
    random = None if seed is None else SeededRandom(seed)
    found = audit(mechanism, draws=draws, confidence=confidence, random=random)
    if as_json:
        show_json({"plan": mechanism.fingerprint, **_facts(found, mechanism.domain)})
    else:
        _show(str(mechanism), found, mechanism.domain)
    if not found.holds:
        raise click.exceptions.Exit(1)


def _facts(found: Audit, domain: Domain) -> dict[str, Any]:
    first, second = _names(found, domain)
    return {
        "promised": found.promised,
        "lower_bound": found.lower_bound,
        "confidence": found.confidence,
        "draws": found.draws,
        "holds": found.holds,
        "simulated": found.simulated,
        "tested": {
            "event": found.event.describe(first, second),
            "values": [first, second],
            "counts": list(found.counts),
            "trials": list(found.trials),
        },
    }


def _show(name: str, found: Audit, domain: Domain) -> None:
    out, names = console(), _names(found, domain)
    out.print(name)
    out.print(f"Tested: {found.event.describe(*names)}.")
    for value, count, trials in zip(names, found.counts, found.trials, strict=True):
        out.print(f"  from {value}: {count:,} of {trials:,} reports")
    out.print(str(found))


def _names(found: Audit, domain: Domain) -> tuple[str, str]:
    first, second = domain.names(np.array([found.event.first, found.event.second]))
    return first, second
