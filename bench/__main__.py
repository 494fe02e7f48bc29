"""``python -m bench [group ...]``: measure, print the tables, write bench/out/results.json and docs/benchmarks.md."""

import argparse
from importlib import import_module
from pathlib import Path

from bench.tables import page, show, write

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
GROUPS = ("imports", "speed", "memory", "likelihood", "risk", "divergence", "scale")


def main() -> None:
    """Run the groups that are asked for; all by default."""
    parser = argparse.ArgumentParser(prog="bench", description="Measures what the documentation promises.")
    parser.add_argument("groups", nargs="*", metavar="group", help=f"any of {', '.join(GROUPS)}; all by default")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out" / "results.json")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.groups) - set(GROUPS))
    if unknown:
        parser.error(f"groups must be among {', '.join(GROUPS)}, got {', '.join(unknown)}")
    measured = []
    for name in arguments.groups or GROUPS:
        group = import_module(f"bench.{name}").run()
        show(group)
        measured.append(group)
    write(measured, arguments.out)
    if not arguments.groups:
        PAGE.write_text(page(measured), encoding="utf-8")
    missed = [row.task for group in measured for row in group.rows if row.met is False]
    print(f"Missed: {', '.join(missed)}." if missed else "Every goal that was measured is met.")


if __name__ == "__main__":
    main()
