"""Engines: obfuscation, tallies, evidence and sealed files from sources, on one machine or on a cluster.

Sources of values and reports are read in batches, never as a whole. Modules are imported when they are first used, so
that a program that only obfuscates loads no estimators.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.engines.engine import Engine, LocalEngine, SealResult, gather, seal, tally
    from discreet.engines.folds import Fold, TallyFold, TallyResult
    from discreet.engines.obfuscation import ObfuscationResult, obfuscate
    from discreet.files.reading import Progress
    from discreet.formats.sources import Sources

_HOMES = {
    "TallyResult": "engines.folds",
    "Engine": "engines.engine",
    "Fold": "engines.folds",
    "LocalEngine": "engines.engine",
    "ObfuscationResult": "engines.obfuscation",
    "Progress": "files.reading",
    "SealResult": "engines.engine",
    "Sources": "formats.sources",
    "TallyFold": "engines.folds",
    "gather": "engines.engine",
    "obfuscate": "engines.obfuscation",
    "seal": "engines.engine",
    "tally": "engines.engine",
}

__all__ = [
    "Engine",
    "Fold",
    "LocalEngine",
    "ObfuscationResult",
    "Progress",
    "SealResult",
    "Sources",
    "TallyFold",
    "TallyResult",
    "gather",
    "obfuscate",
    "seal",
    "tally",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.engines' has no attribute {name!r}")
    value = getattr(import_module(f"discreet.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
