"""Known faults, a file per room: ``tools/faults/core.py`` holds those of ``src/discreet/core``.

A room of many faults has several files, named ``room_part.py``; files are found by themselves.
"""

from importlib import import_module
from pkgutil import iter_modules

from faults.fault import ROOT, Fault

__all__ = ["FAULTS", "ROOMS", "ROOT", "Fault"]

ROOMS: dict[str, list[Fault]] = {
    module.name: import_module(f"faults.{module.name}").FAULTS
    for module in iter_modules(__path__)
    if module.name != "fault"
}
"""Faults by the name of the file that holds them."""

FAULTS = [fault for faults in ROOMS.values() for fault in faults]
