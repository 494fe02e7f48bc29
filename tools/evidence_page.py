"""The page docs/evidence/coverage.md: each tool replaces its own section and leaves all others as they are."""

from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "evidence" / "coverage.md"


def replace_section(heading: str, lines: Sequence[str], page: Path = PAGE) -> None:
    """Write the lines of one section, in the section's place; a new section becomes the last one.

    Args:
        heading: the heading of the section, with "## " before it.
        lines: the lines below the heading.
        page: the Markdown file.
    """
    text = page.read_text(encoding="utf-8")
    before, found, part = text.partition(f"\n{heading}\n")
    after = part.partition("\n## ") if found else ("", "", "")
    section = "\n".join([heading, "", *lines]).rstrip("\n") + "\n"
    page.write_text(before.rstrip("\n") + "\n\n" + section + "".join(after[1:]), encoding="utf-8")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Return the lines of a table; all columns but the first ``left`` ones are numbers."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * left + " ---: |" * (len(head) - left)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]
