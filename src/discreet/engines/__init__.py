"""Engines: obfuscation, tallies, evidence and traces from files, by one `Fold` on one machine or on a cluster.

Files of values, of reports and of events are streamed, never held in memory whole. What is here is imported when it is
used: a device's gateway that only obfuscates loads no estimators.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.engines.engine import Engine, LocalEngine
    from discreet.engines.evidence import gather, observe
    from discreet.engines.local import Counted, Fold, TallyFold, tally
    from discreet.engines.obfuscation import Obfuscated, obfuscate
    from discreet.engines.sealing import Sealed, Stamped, seal, stamp
    from discreet.files.reading import Progress
    from discreet.tables.events import read_traces

_HOMES = {
    "Counted": "engines.local",
    "Engine": "engines.engine",
    "Fold": "engines.local",
    "LocalEngine": "engines.engine",
    "Obfuscated": "engines.obfuscation",
    "Progress": "files.reading",
    "Sealed": "engines.sealing",
    "Stamped": "engines.sealing",
    "TallyFold": "engines.local",
    "gather": "engines.evidence",
    "obfuscate": "engines.obfuscation",
    "observe": "engines.evidence",
    "read_traces": "tables.events",
    "seal": "engines.sealing",
    "stamp": "engines.sealing",
    "tally": "engines.local",
}

__all__ = [
    "Counted",
    "Engine",
    "Fold",
    "LocalEngine",
    "Obfuscated",
    "Progress",
    "Sealed",
    "Stamped",
    "TallyFold",
    "gather",
    "obfuscate",
    "observe",
    "read_traces",
    "seal",
    "stamp",
    "tally",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.engines' has no attribute {name!r}")
    value = getattr(import_module(f"discreet.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
