"""Marks of people that tests of the system plant: a value, a secret place, an address, the id of a report.

Nothing that a test prints or logs may hold one of them, whatever it tests: conftest.py looks through all that is
captured and fails the test. What a test gets otherwise (output of a process, a log file) it gives to `clean`.
"""

import base64
from pathlib import Path

VALUE = "quaggasteppe-4711"
"""A label that somebody answers with; it stands in the plan of tests that show no plan."""
TAGGED = "zobelmoor-0815"
"""A label that somebody holds secret."""
ADDRESS = "127.83.11.7"
"""An address that reports come from; all of 127/8 is this machine."""
ID = bytes.fromhex("5eedfacade15c0de5eedfacade15c0de")
"""The id of a report."""

_SPELLINGS = {
    "a value": (VALUE,),
    "a secret place": (TAGGED,),
    "an address": (ADDRESS,),
    "an id": (ID.hex(), base64.urlsafe_b64encode(ID).decode().rstrip("="), repr(ID)[2:-1], str(list(ID))[1:-1]),
}


def leaks(text: str | bytes) -> list[str]:
    """Return what was planted and is there, in any spelling."""
    if isinstance(text, bytes):
        return [
            what
            for what, spelled in _SPELLINGS.items()
            if any(one.encode() in text for one in spelled) or (what == "an id" and ID in text)
        ]
    return [what for what, spelled in _SPELLINGS.items() if any(one in text for one in spelled)]


def clean(text: str | bytes) -> None:
    """Refuse a text, or the bytes of a file, that holds a mark."""
    found = leaks(text)
    assert not found, f"{', '.join(found)} of a person was told"


def clean_files(folder: Path) -> int:
    """Refuse files with a mark, hidden ones too; return how many were looked at."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    for path in files:
        found = leaks(path.read_bytes())
        assert not found, f"{path.name} holds {', '.join(found)} of a person"
    return len(files)
