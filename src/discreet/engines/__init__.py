"""Engines: they obfuscate tables of values, count reports and seal files, on one machine or on a cluster.

Sources of values and reports are read in batches, never as a whole. Modules are imported when they are first used, so
that a program that only obfuscates loads no estimators.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.engines.engine import Engine, LocalEngine, tally
    from discreet.engines.folds import TallyFold, TallyResult
    from discreet.engines.obfuscation import obfuscate

_HOMES = {
    "TallyResult": "engines.folds",
    "Engine": "engines.engine",
    "LocalEngine": "engines.engine",
    "TallyFold": "engines.folds",
    "obfuscate": "engines.obfuscation",
    "tally": "engines.engine",
}

__all__ = [
    "Engine",
    "LocalEngine",
    "TallyFold",
    "TallyResult",
    "obfuscate",
    "tally",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.engines' has no attribute {name!r}")
    value = getattr(import_module(f"discreet.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
