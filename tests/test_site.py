"""What of the site of the documents can be checked without building it: `make docs` builds it."""

import json
import re
from pathlib import Path

import discreet
from test_examples import PUBLIC

DOCS = Path(__file__).parent.parent / "docs"
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if "generated" not in page.parts]


def prose(page: Path) -> str:
    """The text of a page without blocks of code."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells)
    text = re.sub(r"\A---\n.*?^---\n", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"^(`{3,}|:{3,}).*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)


def headlines(page: Path) -> list[str]:
    return re.findall(r"^#+ (.*?)(?: <!--.*-->)?$", prose(page), flags=re.MULTILINE)


def anchor(headline: str) -> str:
    """The end of an address that leads to a headline, as GitHub and Sphinx make it."""
    return re.sub(r"[^\w\- ]", "", headline.lower()).replace(" ", "-")


def shown() -> list[Path]:
    return [*PAGES, *sorted(DOCS.glob("tutorials/*.ipynb"))]


def test_links_lead_to_headlines_that_are_there() -> None:
    for page in PAGES:
        for target, end in re.findall(r"\]\(([^)#:\s]*)#([^)\s]+)\)", prose(page)):
            there = (page.parent / target).resolve() if target else page
            assert end in map(anchor, headlines(there)), f"{page.name}: {target}#{end}"


def test_every_page_has_a_place_in_the_tree() -> None:
    trees = {page.parent: page.read_text(encoding="utf-8") for page in PAGES if page.name == "index.md"}
    for page in shown():
        folder = page.parent if page.name != "index.md" else page.parent.parent
        if page == DOCS / "index.md":
            continue
        name = page.relative_to(folder).with_suffix("").as_posix()
        assert re.search(rf"^{re.escape(name)}$", trees[folder], flags=re.MULTILINE), page


def test_every_public_name_stands_in_the_reference() -> None:
    listed = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    lines = {line.strip() for line in listed.splitlines()}
    assert [name for name in discreet.__all__ if name not in lines and f"``{name}``" not in listed] == []
    text = (DOCS / "reference" / "modules.md").read_text(encoding="utf-8")
    modules = text.split()
    others = (name for name in PUBLIC if name.rpartition(".")[2] not in discreet.__all__)
    assert [name for name in others if name not in modules] == []
