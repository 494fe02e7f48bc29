"""Tables on the screen, and how numbers are spelled there and on the page."""

from rich.console import Console
from rich.table import Table

from bench.measure import Cell, Group, Row

_WIDEST = 200


def show(group: Group) -> None:
    """Print one group as tables."""
    console = Console()
    # Into a file or a pipe, where nobody said how wide it is, nothing is cut.
    console = console if console.is_terminal else Console(width=_WIDEST)
    table = Table(title=group.title, title_justify="left")
    table.add_column("task")
    for column in group.columns:
        table.add_column(column, justify="right")
    judged = has_goals(group)
    for heading in ("goal", "met") if judged else ():
        table.add_column(heading)
    for row in group.rows:
        verdict = (row.goal, _verdict(row)) if judged else ()
        table.add_row(row.task, *(spelled(row.cells.get(column)) for column in group.columns), *verdict)
    console.print(table)
    for note in group.notes:
        console.print(note, style="dim", highlight=False)
    for further in group.also:
        show(further)


def has_goals(group: Group) -> bool:
    """Return whether any line was aimed at something."""
    return any(row.goal for row in group.rows)


def spelled(cell: Cell) -> str:
    """Return a cell as text, numbers with three digits."""
    if cell is None:
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if not isinstance(cell, float):
        return f"{cell:,}" if isinstance(cell, int) else cell
    if cell and abs(cell) < 1e-3:
        return f"{cell:.1e}"
    return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.3g}"


def _verdict(row: Row) -> str:
    return {True: "yes", False: "[bold red]NO[/]", None: "-" if not row.goal else "not measured"}[row.met]
