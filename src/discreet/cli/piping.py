"""``-`` as a file: standard input and standard output are temporary files while a verb runs.

So a verb reads and writes as it always does: damage and change are noticed, and either all of the output is sent on its
way, or nothing.
"""

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from discreet.errors import DiscreetError, ParameterError

STANDARD = Path("-")
_NOT_LINES = (b"PAR1", b"ARROW1", b"\x1f\x8b")
_LONGEST = max(map(len, _NOT_LINES))


@contextmanager
def reports_here(sources: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield the sources, with a file of JSON lines in the place of ``-``; errors about it name the standard input.

    Raises:
        ParameterError: if ``-`` is named twice, or something else than JSON lines comes.
    """
    if sources.count(STANDARD) > 1:
        raise ParameterError("- is named twice; standard input can be read once.")
    if STANDARD not in sources:
        yield list(sources)
        return
    with TemporaryDirectory(prefix="discreet-") as folder:
        kept = Path(folder) / "standard-input.jsonl"
        _keep(kept)
        try:
            yield [kept if source == STANDARD else source for source in sources]
        except DiscreetError as error:
            raise type(error)(str(error).replace(str(kept), "standard input")) from None


def _keep(target: Path) -> None:
    click.echo("Reading JSON lines from standard input.", err=True)
    source = sys.stdin.buffer
    first = source.read(_LONGEST)
    if first.startswith(_NOT_LINES):
        raise ParameterError("reports on standard input must be JSON lines, not compressed; name the file instead.")
    with target.open("wb") as file:
        file.write(first)
        shutil.copyfileobj(source, file)


@contextmanager
def sent(target: Path, ending: str) -> Iterator[Path]:
    """Yield the file to write: the target, or for ``-`` a file that is sent to standard output if all went well.

    Args:
        target: the file.
        ending: how a file of what standard output takes is named.
    """
    if target != STANDARD:
        yield target
        return
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="discreet-"))
        kept = Path(folder) / f"standard-output{ending}"
        yield kept
        with kept.open("rb") as file:
            sys.stdout.flush()
            shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
