"""The verb ``verify``."""

from pathlib import Path
from typing import Any

import click

from discreet.cli.terminal import console, show_json, show_table
from discreet.io.plan import Plan
from discreet.privacy.verify import Verification, verify


def verify_plan(path: Path, *, as_json: bool) -> None:
    """Recompute a plan's epsilon, show it, and exit with 1 if the promise is broken."""
    mechanism = Plan.load(path).mechanism()
    found = verify(mechanism)
    if as_json:
        show_json(_verification_facts(mechanism.fingerprint, found))
    else:
        _show_verification(f"{mechanism}\n{mechanism.guarantee}", found)
    if not found.holds:
        raise click.exceptions.Exit(1)


def _verification_facts(fingerprint: str, found: Verification) -> dict[str, Any]:
    exact = None if found.ratio is None else f"{found.ratio.numerator}/{found.ratio.denominator}"
    return {
        "plan": fingerprint,
        "notion": found.notion,
        "promised": found.promised,
        "realised": None if found.notion == "none" else found.realised,
        "e_to_epsilon": exact,
        "integers": found.integers,
        "from_matrix": found.from_matrix,
        "holds": found.holds,
    }


def _show_verification(name: str, found: Verification) -> None:
    out = console()
    out.print(name)
    if found.notion == "none" or found.ratio is None:
        out.print("Nothing is protected: every value is reported in clear.")
        return
    cells = [[what, how] for what, how in found.integers.items()]
    cells.append(["e^epsilon, exactly", f"{found.ratio.numerator} / {found.ratio.denominator}"])
    cells.append(["epsilon realised, its logarithm", f"{found.realised:.17g}"])
    spelled = "too large to be spelled out" if found.from_matrix is None else f"{found.from_matrix:.15g}"
    cells.append(["epsilon from the spelled-out matrix", spelled])
    cells.append(["epsilon promised", f"{found.promised:.17g}"])
    show_table(f"{found.notion}: the sampler's own integers", ["what", "value"], cells, left=2)
    out.print("The promise holds." if found.holds else "THE PROMISE IS BROKEN: do not use this mechanism.")
