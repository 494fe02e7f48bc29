"""The verbs ``verify`` and ``plan``."""

from pathlib import Path
from typing import Any

import click

from discreet.cli.terminal import console, show_json, show_table
from discreet.core.domain import Domain
from discreet.io.plan import DomainDocument, Plan, read_document
from discreet.planning.compare import Comparison, Prospect, compare
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


def compare_on(path: Path, epsilon: float, users: int, sensitive_mass: float | None, *, as_json: bool) -> None:
    """Compare all mechanisms on a domain and say which is best."""
    domain, stated = _domain_of(path)
    found = compare(domain, epsilon, users, sensitive_mass=stated if sensitive_mass is None else sensitive_mass)
    if as_json:
        show_json(_comparison_facts(found))
    else:
        _show_comparison(domain, found, epsilon, users)


def _domain_of(path: Path) -> tuple[Domain, float | None]:
    # What names a mechanism is a plan, and its mistakes are told as a plan's.
    is_plan = "mechanism" in read_document(path, dict)
    if is_plan:
        plan = Plan.load(path)
        return plan.mechanism().domain if plan.is_personalized else plan.domain, None
    document = read_document(path, DomainDocument)
    return document.domain.domain(path.parent), document.sensitive_mass


def _comparison_facts(found: Comparison) -> dict[str, Any]:
    return {
        "sensitive_mass": found.sensitive_mass,
        "sensitive_mass_assumed": found.assumed,
        "mechanisms": [
            {
                "name": one.name,
                "law": one.mechanism.law.describe(),
                "epsilon_realised": one.mechanism.guarantee.realised,
                "worst_case_mse": one.worst_mse,
                "mse_at_sensitive_mass": one.assumed_mse,
                "standard_error_rare_sensitive": one.sensitive_error,
                "standard_error_clear": one.clear_error,
                "bytes_per_report": one.bytes,
            }
            for one in found.prospects
        ],
        "best_worst_case": found.best_worst.name,
        "best_at_sensitive_mass": found.best_assumed.name,
    }


def _show_comparison(domain: Domain, found: Comparison, epsilon: float, users: int) -> None:
    best = {found.best_worst.name: " (best worst case)", found.best_assumed.name: " (best at this mass)"}
    if found.best_worst is found.best_assumed:
        best = {found.best_worst.name: " (best)"}
    cells = [_cells(one, best.get(one.name, "")) for one in found.prospects]
    mass = f"{found.sensitive_mass:.1%} sensitive"
    headings = [
        "mechanism",
        "options",
        "worst-case MSE",
        f"MSE, {mass}",
        "s.e. sensitive",
        "s.e. clear",
        "bytes/report",
    ]
    show_table(f"{domain!r}, epsilon = {epsilon:g}, {users:,} reports", headings, cells, left=2)
    out = console()
    out.print(f"Worst case over all distributions: {found.best_worst.name}.")
    assumed = "assumed; say --sensitive-mass if you know it" if found.assumed and domain.clear_count else "given"
    out.print(
        f"If {found.sensitive_mass:.1%} of the people have a sensitive value ({assumed}): {found.best_assumed.name}."
    )
    out.print(
        "Exact errors of the linear estimate; s.e.: standard error of a rare sensitive value, and of a value in clear."
    )


def _cells(one: Prospect, mark: str) -> list[str]:
    chosen = {key: value for key, value in one.mechanism.law.describe().items() if key in ("count", "buckets")}
    names = {"count": "k", "buckets": "g"}
    options = ", ".join(f"{names[key]}={value}" for key, value in chosen.items())
    if not options and one.mechanism.name == "unary":
        moments = one.mechanism.moments
        options = f"theta={moments.truth + (1 - moments.truth) * moments.inclusion:.4f}"
    clear = "-" if one.clear_error is None else f"{one.clear_error:.3e}"
    numbers = [
        f"{one.worst_mse:.3e}",
        f"{one.assumed_mse:.3e}",
        f"{one.sensitive_error:.3e}",
        clear,
        f"{one.bytes:.2f}",
    ]
    return [one.name + mark, options, *numbers]
