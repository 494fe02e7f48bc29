"""What of the site of the documents can be checked without building it: `make docs` builds it."""

import inspect
import json
import pydoc
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import get_args, get_type_hints

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


def test_the_cells_of_the_gallery_run() -> None:
    cells = re.findall(
        r"^```\{code-cell\} python\n(.*?)^```$", (DOCS / "gallery.md").read_text(), re.DOTALL | re.MULTILINE
    )
    assert len(cells) > 8
    exec(compile("\n".join(cells), "gallery.md", "exec"), {})


def test_every_public_name_stands_in_the_reference() -> None:
    listed = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    lines = {line.strip() for line in listed.splitlines()}
    assert [name for name in discreet.__all__ if name not in lines and f"``{name}``" not in listed] == []
    text = (DOCS / "reference" / "modules.md").read_text(encoding="utf-8")
    modules = text.split()
    others = (name for name in PUBLIC if name.rpartition(".")[2] not in discreet.__all__)
    assert [name for name in others if name not in modules] == []


REFERENCE = "".join(page.read_text(encoding="utf-8") for page in sorted((DOCS / "reference").glob("*.md")))
RESULTS = re.findall(
    r"^   (discreet\.\S+)$", (DOCS / "reference" / "results.md").read_text(encoding="utf-8"), re.MULTILINE
)


def members(kind: type) -> dict[str, object]:
    """The public members of a class that this package defines, and its fields."""
    ours = [one for one in reversed(kind.__mro__) if one.__module__.startswith("discreet")]
    found: dict[str, object] = {}
    for one in ours:
        found |= dict.fromkeys(vars(one).get("__annotations__", ())) | vars(one)
    return {name: value for name, value in found.items() if not name.startswith("_")}


def returned() -> Iterator[type]:
    """The classes of this package that public functions and methods return."""
    for one in PUBLIC.values():
        for function in members(one).values() if inspect.isclass(one) else [one]:
            plain = getattr(function, "__func__", function)
            # Names that only type checkers import are no results.
            with suppress(NameError):
                kind = get_type_hints(plain).get("return") if inspect.isfunction(plain) else None
                yield from (each for each in (kind, *get_args(kind)) if inspect.isclass(each))


def test_every_class_that_a_public_function_returns_stands_in_the_reference() -> None:
    ours = {f"{kind.__module__}.{kind.__qualname__}" for kind in returned() if kind.__module__.startswith("discreet.")}
    assert len(ours) > 50
    assert [name for name in sorted(ours - PUBLIC.keys()) if f" {name}\n" not in REFERENCE] == []


def test_every_member_of_a_public_class_is_described() -> None:
    """Sphinx lists members that have docstrings, and attributes and fields that the docstring of a class describes."""
    described = [one for one in [*PUBLIC.values(), *map(pydoc.locate, RESULTS)] if inspect.isclass(one)]
    missing = []
    for kind in described:
        text = "\n".join(inspect.getdoc(one) or "" for one in kind.__mro__)
        listed = set(re.findall(r"^    (\w+): ", text, flags=re.MULTILINE))
        for name, value in members(kind).items():
            plain = getattr(value, "func", getattr(value, "__func__", value))
            own = getattr(plain, "__doc__", None) if callable(plain) or isinstance(value, property) else None
            inherited = any(getattr(vars(one).get(name), "__doc__", None) for one in kind.__mro__)
            if name not in listed and not own and not (callable(plain) and inherited):
                missing.append(f"{kind.__qualname__}.{name}")
    assert missing == []


def test_modules_and_files_that_pages_name_exist() -> None:
    source, root = DOCS.parent / "src" / "discreet", DOCS.parent
    rooms = "|".join(sorted(folder.name for folder in source.iterdir() if (folder / "__init__.py").exists()))
    for page in [*PAGES, root / "README.md", root / "CONTRIBUTING.md"]:
        text = page.read_text(encoding="utf-8")
        for name in re.findall(r"`([a-z0-9_/]+\.py)`", text):
            folders = [source, source.parent, root, *(root / folder for folder in ("tests", "tools", "bench", "docs"))]
            assert any((folder / name).exists() for folder in folders) or list(source.rglob(name)), f"{page}: {name}"
        for name in re.findall(rf"`(?:src/discreet/)?((?:{rooms})(?:/[a-z0-9_]+)+/?)`", text):
            assert (source / name).exists() or (source / f"{name}.py").exists(), f"{page}: {name}"
