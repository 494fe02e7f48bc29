"""``python -m bench [group ...]``: measure, print the tables, keep the numbers, write docs/evidence/performance.md.

``--quick`` goes through everything with small sizes in less than a minute, to see that it works: its numbers mean
nothing, and go to bench/out/quick.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from bench import companions, machine, results
from bench.groups import GROUPS, measured
from bench.measure import Row, progress, without_goals
from bench.pages import rendered, write_pictures
from bench.results import Measured, Results
from bench.tables import show

_OUT = Path(__file__).parent / "out"
_DOCS = Path(__file__).parent.parent / "docs" / "evidence"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the groups that are asked for; all by default."""
    parser = argparse.ArgumentParser(prog="bench", description="Measures what the documentation promises.")
    parser.add_argument("groups", nargs="*", metavar="group", help=f"any of {', '.join(GROUPS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works; docs stay as they are")
    parser.add_argument("--out", type=Path, default=_OUT, help="folder of the numbers")
    given = parser.parse_args(arguments)
    unknown = sorted(set(given.groups) - set(GROUPS))
    if unknown:
        parser.error(f"groups must be among {', '.join(GROUPS)}, got {', '.join(unknown)}")
    folder = given.out / "quick" if given.quick else given.out
    kept = folder / "results.json"
    found = Results() if given.quick else results.read(kept)
    found = Results(found.groups, companions.survey())
    for name in given.groups or GROUPS:
        group = _measured(name, quick=given.quick)
        if group is not None:
            found = found.with_group(name, group)
            # At once, so that an interrupted run keeps what it has.
            found.write(kept)
            _write_page(found, folder if given.quick else _DOCS, fresh=given.quick)
    missed = [row.task for name in given.groups or GROUPS for row in _rows(found, name) if row.met is False]
    print(f"Missed: {', '.join(missed)}." if missed else "Every goal that was measured is met.")


def _measured(name: str, *, quick: bool) -> Measured | None:
    progress(f"[{name}]")
    before, start, ticks = machine.load(), time.perf_counter(), machine.taken()
    group = measured(name, quick=quick)
    if group is None:
        progress(f"[{name}] has nothing quick; passed over")
        return None
    group = without_goals(group) if quick else group
    show(group)
    loads = [load for load in (before, machine.load()) if load is not None]
    spent, taken = time.perf_counter() - start, machine.share_taken(ticks, machine.taken())
    return Measured(group, machine.described(), machine.today(), tuple(loads), spent, machine.versions(), taken)


def _rows(found: Results, name: str) -> list[Row]:
    group = found.groups[name].group if name in found.groups else None
    return [] if group is None else [row for one in (group, *group.also) for row in one.rows]


def _write_page(found: Results, folder: Path, *, fresh: bool) -> None:
    page = folder / "performance.md"
    before = "" if fresh or not page.exists() else page.read_text(encoding="utf-8")
    page.write_text(rendered(found, tuple(GROUPS), before), encoding="utf-8")
    write_pictures(found, folder / "performance")


if __name__ == "__main__":
    main()
