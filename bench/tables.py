"""Prints groups of measurements and writes them down."""

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.measure import Cell, Group, Row

_WIDEST = 170


def show(group: Group) -> None:
    """Print one group as a table."""
    console = Console()
    # Into a file or a pipe, where nobody said how wide it is, nothing is cut.
    console = console if console.is_terminal else Console(width=_WIDEST)
    table = Table(title=group.title, title_justify="left")
    table.add_column("task")
    for column in group.columns:
        table.add_column(column, justify="right")
    table.add_column("goal")
    table.add_column("met")
    for row in group.rows:
        table.add_row(row.task, *(_spelled(row.cells.get(column)) for column in group.columns), row.goal, _verdict(row))
    console.print(table)
    for note in group.notes:
        console.print(note, style="dim", highlight=False)


def _spelled(cell: Cell) -> str:
    if cell is None:
        return "-"
    if not isinstance(cell, float):
        return f"{cell:,}" if isinstance(cell, int) else cell
    if cell and abs(cell) < 1e-3:
        return f"{cell:.1e}"
    return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.3g}"


def _verdict(row: Row) -> str:
    return {True: "yes", False: "[bold red]NO[/]", None: "-" if not row.goal else "not measured"}[row.met]


def page(groups: Sequence[Group]) -> str:
    """Return all tables as one Markdown page."""
    lines = [
        "# Benchmarks",
        "",
        f"Written by `make bench` on {_processor()}, Python {platform.python_version()}, NumPy {np.__version__}.",
        "Ratios are from one run; a shared machine makes single times noisy. Peers are pure-ldp and multi-freq-ldpy.",
    ]
    for group in groups:
        headings = ["task", *group.columns, "goal", "met"]
        lines += [
            "",
            f"## {group.title}",
            "",
            _line(headings),
            _line(["---", *["---:"] * len(group.columns), "---", "---"]),
        ]
        for row in group.rows:
            met = {True: "yes", False: "**no**", None: ""}[row.met]
            lines.append(
                _line([row.task, *(_spelled(row.cells.get(column)) for column in group.columns), row.goal, met])
            )
        lines += ["", *(f"- {note}" for note in group.notes)]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def write(groups: Sequence[Group], path: Path) -> None:
    """Write all numbers as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    machine = {"processor": _processor(), "python": platform.python_version(), "numpy": np.__version__}
    facts = {"machine": machine, "groups": [asdict(group) for group in groups]}
    path.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.exists() else []
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()
