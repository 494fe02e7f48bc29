"""Every public name has an example in its docstring; pytest runs the examples of all modules."""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import discreet
from packing import each

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

# Modules that users call: each class and function that they define, unless its name begins with an underscore.
MODULES = {
    "privacy": ["audit", "notions", "verify"],
    "risk": ["assessment", "planning"],
    "risk.bounds": ["calibration"],
}
# Names that users call in modules of which the rest is for other modules.
NAMES = {
    "risk.events": "read_linked read_traces",
    "risk.traces": "Split Traces by_count by_half by_time leave_out maximum_knowledge",
    "engines": "Counted Fold Sealed TallyFold gather seal tally",
    "formats.reports": "iterate_reports read_reports write_reports",
    "formats.sealed_files": "check_sealed write_sealed",
    "formats.sources": "Sources",
    "formats.tallies": "read_tally write_tally",
    "planning.compare": "MechanismComparison compare_mechanisms",
    "planning.curves": "against_epsilon against_users",
    "planning.losses": "reports_for_change reports_for_standard_error worst_variance",
    "planning.numbers": "NumberPlan mean_error mean_moment",
    "planning.requirements": "Requirements",
    "privacy.composition": (
        "DataTypes Decomposition LowerBoundRate decompose integrated l1_rate post_process "
        "preserves_data_types repeated_epsilon sequential split_epsilon squared_l2_rate"
    ),
    "risk.attacks.reports": "match_reports",
    "risk.attacks.traces": ("Attack Attempt Matcher level_of_each markov match strongest"),
    "risk.bounds.identification": "Bound Bounds at_most conditions identification_bounds least limit",
    "risk.classes": "ClassRisk class_risk written_cells",
    "risk.generalisation": "Step",
    "risk.scores": "Scores",
    "risk.scores.biometric": "Biometric biometric",
    "risk.scores.pse": "PSE checked_matrix divergence pse_of_folds pse_of_matrix pse_of_scores",
    "risk.scores.rates": "DET RankCurve Rate det pse_of_ranks rank_curve rate",
    "tables.columns": "read_distribution read_table",
    "tables.values": "read_values",
    "testing": "Outputs check_mechanism outputs_of",
    "theory.optimum": "lower_bound optimal_design optimal_theta",
}


def imported() -> Iterator[tuple[str, str]]:
    """Names that examples in the documents import from discreet, and names that documents spell out in full.

    Not those of modules: `discreet.spark` for one needs a cluster, so tests of its own run what it does.
    """
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("discreet"):
                    yield from ((node.module, alias.name) for alias in node.names)
        yield from re.findall(r"`(discreet(?:\.[a-z_]+)*)\.([A-Za-z_]+)`", text)


def is_module(module: str, name: str) -> bool:
    parent = importlib.import_module(module)
    return hasattr(parent, "__path__") and find_spec(f"{module}.{name}") is not None


def defined(module: ModuleType) -> Iterator[str]:
    for name, value in vars(module).items():
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__ and described(value):
            yield name


def described(value: object) -> bool:
    """Whether this is a class or a function; types by another name, numbers and texts have no docstring."""
    return inspect.isclass(value) or inspect.isroutine(value)


def public() -> dict[str, object]:
    listed = [("discreet", name) for name in discreet.__all__]
    listed += [(f"discreet.{module}", name) for module, names in NAMES.items() for name in names.split()]
    for room, short in ((room, short) for room, names in MODULES.items() for short in names):
        module = importlib.import_module(f"discreet.{room}.{short}")
        listed += [(module.__name__, name) for name in defined(module)]
    listed += [(module, name) for module, name in imported() if not is_module(module, name)]
    values = {(module, name): getattr(importlib.import_module(module), name) for module, name in listed}
    return {f"{one.__module__}.{one.__qualname__}": one for one in values.values() if described(one)}


PUBLIC = public()


def test_public_names_are_many() -> None:
    """So that a change of the definition is noticed."""
    assert len(PUBLIC) >= 145
    assert {
        "discreet.core.domain.Domain",
        "discreet.planning.compare.compare_mechanisms",
        "discreet.privacy.verify.verify",
    } <= set(PUBLIC)


@each("name", PUBLIC)
def test_every_public_name_has_an_example(name: str) -> None:
    shown = inspect.getdoc(PUBLIC[name]) or ""
    assert "Example:\n    >>> " in shown, f"{name} needs an example in its docstring, under 'Example:'."
