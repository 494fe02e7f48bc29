"""A fault of a tired programmer: a text of one file, and the wrong one in its place."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Fault:
    """A text in one file, which must be there exactly once, and what a tired programmer would have written.

    Files are named from src/discreet; the papers lie beside that.
    """

    name: str
    file: str
    right: str
    wrong: str
    suites: tuple[str, ...]

    @property
    def room(self) -> str:
        """Return the room of the file: the first folder of its name."""
        return self.file.removeprefix("../../").split("/")[0]
