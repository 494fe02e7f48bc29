"""Count the moves between rooms that a reader makes who follows a traces file to its figures.

    python tools/walk.py [ARGUMENT ...]

Runs ``discreet risk`` on a small traces file (``examples/checkins.csv``, or the arguments given) and notes every
function of the package in the order of its first call: the order in which somebody reads who follows the data. Rooms
are the folders under ``discreet``, in the order of pyproject.toml.

The walk ends where the figures become text (``files/writing.py``).

A *move* is a step from one function of that list to the next in another room. A *climb* is a move to a room above: data
that go back, or a room that is left before its work is done. Not counted are

- comprehensions, generator expressions and lambdas, which are no stops for a reader (and no calls in newer Pythons);
- checks of arguments (``core/checks.py``) and sources of words (``core/random.py``), which
  everything calls;
- the machinery that compiles and keeps kernels, which comes or not with the state of the machine;
- other threads, and modules outside the rooms.

Before risk stood in rooms, and traces were read in the room of files, this counted 57 moves and 28 climbs. It fails
above 57 and 27: files and tables are rooms of their own now, the strongest of three attacks is looked for, and what
equal traces allow is counted beside it, matching all at once has a kernel, and how it was made is said.
``--list`` prints the walk.
"""

import faulthandler
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise
from pathlib import Path
from threading import current_thread, main_thread
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "discreet"
FILE = ROOT / "src" / "discreet" / "examples" / "checkins.csv"
ARGUMENTS = ("risk", str(FILE), "--event", "place", "--time", "day", "--json")
MOST_MOVES, MOST_CLIMBS = 57, 27
# Kernels that are compiled anew take a minute on a busy machine; who waits longer waits for a lock.
LONGEST = 300

_PREFIX = f"{PACKAGE}/"
_NO_STOPS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>")
_EVERYWHERE = {
    *("core/checks.py", "core/random.py", "core/random.py"),
    *(f"kernels/{name}.py" for name in ("caching", "compiling", "startup")),
}
_END = "files/writing.py"
_NOTICE = "_Compiling.__call__"


@dataclass(frozen=True, slots=True)
class Stop:
    """A function where the walk stops.

    Attributes:
        room: the folder under ``discreet``.
        file: its path under ``discreet``.
        name: its qualified name.
    """

    room: str
    file: str
    name: str

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"


def levels() -> dict[str, int]:
    """Return the level of each room, 0 for the lowest."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    rooms = next(one["layers"] for one in contracts if one["name"].startswith("Wings"))
    return {room.strip(): level for level, layer in enumerate(reversed(rooms)) for room in layer.split("|")}


def stop_of(code: CodeType) -> Stop | None:
    """Return the stop of a function's code; None where the walk does not stop."""
    path = Path(code.co_filename)
    if not path.is_relative_to(PACKAGE) or code.co_name == "<module>" or code.co_name in _NO_STOPS:
        return None
    file = path.relative_to(PACKAGE)
    inside = len(file.parts) > 1 and file.as_posix() not in _EVERYWHERE and code.co_qualname != _NOTICE
    return Stop(file.parts[0], file.as_posix(), code.co_qualname) if inside else None


def walk(arguments: Sequence[str] = ARGUMENTS) -> list[Stop]:
    """Run the command, and return its stops in the order of their first calls."""
    from discreet.cli import main

    stops: dict[Stop, None] = {}
    passed: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        # Compilers of kernels call millions of functions of their own.
        if event != "call" or code in passed or not code.co_filename.startswith(_PREFIX):
            return
        if current_thread() is main_thread() and not _importing(frame):
            passed.add(code)
            stop = stop_of(code)
            if stop is not None and not any(known.file == _END for known in stops):
                stops.setdefault(stop)

    before, sys.argv = sys.argv, ["discreet", *arguments]
    faulthandler.dump_traceback_later(LONGEST, exit=True)
    sys.setprofile(note)
    try:
        with redirect_stdout(StringIO()):
            main()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.setprofile(None)
        faulthandler.cancel_dump_traceback_later()
        sys.argv = before
    return list(stops)


def moves(stops: Sequence[Stop]) -> Iterator[tuple[Stop, Stop]]:
    """Yield neighbours of the walk that are in different rooms."""
    return ((one, other) for one, other in pairwise(stops) if one.room != other.room)


def counts(stops: Sequence[Stop]) -> tuple[int, int]:
    """Return the numbers of moves and of climbs."""
    level, made = levels(), list(moves(stops))
    return len(made), sum(level[other.room] > level[one.room] for one, other in made)


def _importing(frame: FrameType | None) -> bool:
    """Return true if a module of the package is just being imported, which calls what its definitions need."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(_PREFIX):
            return True
        frame = frame.f_back
    return False


def main() -> None:
    """Print the counts, and with ``--list`` the walk."""
    given = [one for one in sys.argv[1:] if one != "--list"]
    stops = walk(given or ARGUMENTS)
    if "--list" in sys.argv:
        for one, other in moves(stops):
            print(f"{one}  ->  {other}")
    made, climbed = counts(stops)
    print(f"{made} moves between rooms, {climbed} climbs (at most {MOST_MOVES} and {MOST_CLIMBS})")
    if made > MOST_MOVES or climbed > MOST_CLIMBS:
        raise SystemExit(1)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))
    main()
