"""Earlier pages, of other states of the sources and of other machines, beside what is measured now.

They lie in bench/earlier as they were rendered, named by their commit, and by the machine where one commit was measured
on several. Every table of times that has tasks in common
with theirs is followed by a table of both: the time, and in brackets what it is compared with.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.measure import Group, Row
from bench.tables import spelled

EARLIER = Path(__file__).parent / "earlier"
MARK = "<!-- group: {} -->"
_SECTION = re.compile(r"^<!-- group: (\w+) -->\n", flags=re.MULTILINE)
_TABLE = re.compile(r"^\| task .*\n(?:^\|.*\n?)+", flags=re.MULTILINE)
_TIME = re.compile(r"seconds|ns per report|ms")
_RATIO = re.compile(r"ratio\b.*|times\b.*")


@dataclass(frozen=True, slots=True)
class EarlierTable:
    """The tables of a section of an earlier page.

    Attributes:
        label: the commit, the machine and the day.
        cells: by task and column.
    """

    label: str
    cells: Mapping[str, Mapping[str, str]]


def sections(page: str) -> dict[str, str]:
    """Return the text of each group's section of a page, by the group's name."""
    parts = _SECTION.split(page)
    return {name: f"{MARK.format(name)}\n{text}" for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def earlier_pages(folder: Path = EARLIER) -> dict[str, str]:
    """Return the earlier pages by their commits, the oldest first."""
    found = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    return dict(sorted(found.items(), key=lambda one: _measured_on(one[1])))


def beside(name: str, part: Group, now: str, pages: Mapping[str, str]) -> list[list[str]]:
    """Return the cells of a table of times now and on earlier pages, headings first; nothing if they share no task.

    Args:
        name: of the group whose section is meant.
        part: the group, or one of its further tables.
        now: the label of what is measured now.
        pages: earlier pages by commit.
    """
    time, ratio = (next(filter(pattern.fullmatch, part.columns), "") for pattern in (_TIME, _RATIO))
    tables = [table for commit, page in pages.items() for table in _tables(commit, sections(page).get(name, ""))]
    tables = [table for table in tables if any(time in table.cells.get(row.task, {}) for row in part.rows)]
    if not tables:
        return []
    heading = ["task", *(table.label for table in tables), now]
    columns = [*tables, EarlierTable(now, {row.task: _spelled(row) for row in part.rows})]
    rows = [[row.task, *(_cell(table.cells.get(row.task, {}), time, ratio) for table in columns)] for row in part.rows]
    return [[f"{time} ({ratio})" if ratio else time, *heading[1:]], *rows]


def _spelled(row: Row) -> dict[str, str]:
    return {column: spelled(cell) for column, cell in row.cells.items()}


def _cell(cells: Mapping[str, str], time: str, ratio: str) -> str:
    compared = cells.get(ratio, "-")
    return cells.get(time, "-") + (f" ({compared})" if compared != "-" else "")


def _tables(commit: str, section: str) -> Iterator[EarlierTable]:
    told = re.search(r"^\*([^;]+); ([^;]+);", section, flags=re.MULTILINE)
    for table in _TABLE.findall(section) if told else ():
        heading, _, *lines = map(_cells, table.splitlines())
        rows = {task: dict(zip(heading[1:], cells, strict=True)) for task, *cells in lines}
        yield EarlierTable(label(told[1], told[2], commit), rows)


def label(machine: str, date: str, commit: str = "now") -> str:
    """Return the heading of what was measured on a machine on some day."""
    return f"{commit.partition('.')[0]}: {machine.partition(',')[0].replace('(R)', '')}, {date}"


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def _measured_on(page: str) -> str:
    return min(re.findall(r"^\*[^;]+; (\d{4}-\d\d-\d\d);", page, flags=re.MULTILINE), default="")
