"""The verb ``verify``."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from discreet.arrays import IntArray
from discreet.cli.plans import load_plan
from discreet.cli.terminal import console, show_json, show_table
from discreet.core.domain import Domain
from discreet.core.guarantee import NOT_TWO_SIDED, ONE_SIDED
from discreet.mechanisms import BlockMechanism
from discreet.privacy.verify import GroupVerification, Verification, verify

_MOST_NAMES = 3
_MOST_LEVELS = 8


def verify_plan(path: Path, *, as_json: bool) -> None:
    """Recompute a plan's epsilon, show it, and exit with 1 if the promise is broken."""
    mechanism = load_plan(path).mechanism()
    found = verify(mechanism)
    if as_json:
        show_json(_verification_facts(mechanism, found))
    else:
        _show_verification(f"{mechanism}\n{mechanism.guarantee}", mechanism.domain, found)
    if not found.holds:
        raise click.exceptions.Exit(1)


def _verification_facts(mechanism: BlockMechanism, found: Verification) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "plan": mechanism.fingerprint,
        "notion": found.notion,
        "promised": found.promised,
        "realised": found.realised,
        "e_to_epsilon": None if found.ratio is None else _exact(found.ratio),
        "integers": found.integers,
        "from_matrix": found.from_matrix,
        "holds": found.holds,
    }
    if found.groups:
        facts["reading"] = _reading(found)
        facts["per_value"] = [_group_facts(mechanism.domain, group) for group in found.groups]
    return facts


def _group_facts(domain: Domain, group: GroupVerification) -> dict[str, Any]:
    return {
        "count": len(group.codes),
        "first_values": domain.names(group.codes[:_MOST_NAMES]),
        "promised": group.promised,
        "realised": group.realised,
        "e_to_epsilon": _exact(group.ratio),
        "block_contains_a_given_one": _exact(group.inclusion),
        "from_matrix": group.from_matrix,
        "holds": group.holds,
    }


def _exact(ratio: Fraction) -> str:
    return f"{ratio.numerator}/{ratio.denominator}"


def _reading(found: Verification) -> str:
    return ONE_SIDED + (f"; {NOT_TWO_SIDED}" if len(found.groups) > 1 else "")


def _show_verification(name: str, domain: Domain, found: Verification) -> None:
    out = console()
    out.print(name)
    if found.notion == "none" or found.ratio is None:
        out.print("Nothing is protected: every value is reported in clear.")
        return
    cells = [[what, how] for what, how in found.integers.items()]
    largest = "the largest " if found.groups else ""
    cells.append([f"{largest}e^epsilon, exactly", f"{found.ratio.numerator} / {found.ratio.denominator}"])
    cells.append([f"{largest}epsilon realised, its logarithm", f"{found.realised:.17g}"])
    cells.append([f"{largest}epsilon from the spelled-out matrix", _spelled(found.from_matrix)])
    cells.append([f"{largest}epsilon promised", f"{found.promised:.17g}"])
    show_table(f"{found.notion}: the sampler's own integers", ["what", "value"], cells)
    if found.groups:
        _show_levels(domain, found)
    out.print("The promise holds." if found.holds else "THE PROMISE IS BROKEN: do not use this mechanism.")


def _spelled(epsilon: float | None) -> str:
    return "too large to be spelled out" if epsilon is None else f"{epsilon:.15g}"


def _show_levels(domain: Domain, found: Verification) -> None:
    out = console()
    out.print(f"Per value, {_reading(found)}.")
    # What is broken is always among those shown.
    listed = sorted(found.groups, key=lambda group: (group.holds, group.promised))
    shown, rest = listed[:_MOST_LEVELS], listed[_MOST_LEVELS:]
    cells = [
        [_values(domain, group.codes), f"{group.promised:.17g}", f"{group.realised:.17g}", _spelled(group.from_matrix)]
        for group in shown
    ]
    if rest:
        kept = [_span([getattr(group, which) for group in rest]) for which in ("promised", "realised", "from_matrix")]
        cells.append([f"{sum(len(group.codes) for group in rest)} other values", *kept])
    show_table("epsilon_x", ["values", "promised", "realised", "from the matrix"], cells, left=1)
    for group in shown:
        out.print(
            f"{_values(domain, group.codes)}: a noise block contains {'a given one' if len(group.codes) > 1 else 'it'} "
            f"with probability {_exact(group.inclusion)}; e^epsilon_x, exactly: {_exact(group.ratio)}"
        )


def _span(numbers: list[float | None]) -> str:
    known = [number for number in numbers if number is not None]
    return f"{min(known):.12g} to {max(known):.12g}" if known else _spelled(None)


def _values(domain: Domain, codes: IntArray) -> str:
    named = "; ".join(domain.names(codes[:_MOST_NAMES]))
    more = len(codes) - _MOST_NAMES
    return f"{named}; and {more} more" if more > 0 else named
