"""The rules of the house that no other tool holds: words of docstrings, names of modules and classes, sizes.

Run from anywhere, ``python tools/house.py`` prints a line for each place that breaks a rule, and exits with 1 if there
is one. The rules: the first line of a docstring names the thing, with a noun; no module is called by a participle or by
nothing in particular; a local is called what it holds; a public class has one name of its own; files and functions are
small; messages are plain and in their room's catalogue (`tools/messages.py`); the core and each wing stay below their
ceilings, and imports keep their order (`tools/wings.py`); no more modules import each other in circles than are listed
here, wherever in a file they do; files of tests in several folders have several names, and use
public names only.
"""

import ast
import io
import re
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import grimp
from messages import of_documents, of_messages, of_riddles
from wings import PACKAGE, ROOT, too_much

_NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip
FOLDERS = ("src/discreet", "papers", "tools")
SCRIPTS = ("js",)
"""Folders of JavaScript, whose leading comments are held to the same rule of words."""

MOST_LINES = 500
"""Code lines of a file: lines with a token that is neither comment nor docstring."""
MOST_CODE_LINES = 40

CLAUSE = re.compile(
    r"(what(ever)?|how|where|who|whose|whoever|whether|everything|says|makes|told|said)\b"
    r"|(return|returns|yield|yields|say|tell) (what(ever)?|how|where|who|whose|which|whether|everything)\b",
    flags=re.IGNORECASE,
)
"""Beginnings of first lines that are clauses: "how many rows there are", not "the number of rows"."""

_NAMES = (
    "advice ahead artefact assessing auditing collecting common deviation entrants figures gathering "
    "helpers identifying intervals inverse judging json_form lazily loose measured measuring misc moments "
    "names naming parts personalizing profile prospects question rows steps storage streams terminal "
    "trails users utils"
)
BANNED = frozenset(_NAMES.split())
"""Names of modules that say nothing, or say what is done instead of what is there."""


LOCALS = frozenset("found given got kept made one own said seen taken told".split())  # noqa: SIM905
"""Names of locals that say how something came about, and not what it is."""

PRIVATE = re.compile(r"_(?!_|repr_)[A-Za-z]")
"""Names that are private; those that notebooks call are not."""
FOREIGN = frozenset({"_exit", "_impl", "_repr_mimebundle_"})
"""Names of the standard library, numba and Altair that tests may use."""

CIRCLES: tuple[str, ...] = ()
"""Modules that import each other today, within functions and for types too; the list may only become shorter."""


def python_files() -> Iterator[Path]:
    """Yield the files of Python that the rules are about."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not {"__pycache__", "js", "own_law", "out"} & set(path.relative_to(ROOT / folder).parts):
                yield path


def first_lines(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line number and first docstring line of a module, and of each class and function in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            words = ast.get_docstring(node)
            if words:
                yield getattr(node, "lineno", 1), words.split("\n")[0]


def documented(tree: ast.Module) -> set[int]:
    """Return the numbers of the lines of docstrings."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                found.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return found


def lines_of_code(text: str, tree: ast.Module) -> int:
    """Return the number of a file's lines that hold a token which is neither comment nor docstring."""
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            held.update(range(token.start[0], token.end[0] + 1))
    return len(held - documented(tree))


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: Sequence[str]) -> int:
    """Return the number of lines of code in a function's body, without its docstring, comments and blank lines."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not body:
        return 0
    inside = lines[body[0].lineno - 1 : function.end_lineno]
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in inside)


def of_words(path: Path, tree: ast.Module) -> Iterator[str]:
    """Yield the first lines of a file that are clauses."""
    for line, words in first_lines(tree):
        if CLAUSE.match(words):
            yield f"{path}:{line}: a first line names the thing, with a noun: {words!r}"


def of_sizes(path: Path, tree: ast.Module, lines: Sequence[str], size: int) -> Iterator[str]:
    """Yield the sizes of a file and its functions that are too large."""
    if size > MOST_LINES:
        yield f"{path}:1: {size} lines of code, and a file may have {MOST_LINES}"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            size = code_lines(node, lines)
            if size > MOST_CODE_LINES:
                yield f"{path}:{node.lineno}: {node.name} has {size} lines of code, and may have {MOST_CODE_LINES}"


def of_locals(path: Path, tree: ast.Module) -> Iterator[str]:
    """Yield the locals, and the private functions and their arguments, whose names do not say what they hold."""
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    fields = {node.target for body in bodies for node in body if isinstance(node, ast.AnnAssign)}
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in fields:
            names = [node.id]
        elif isinstance(node, ast.Lambda) or (isinstance(node, ast.FunctionDef) and re.match("_(?!_)", node.name)):
            names = [
                getattr(node, "name", ""),
                *(part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)),
            ]
        for name in {name.lstrip("_") for name in names} & LOCALS:
            yield f"{path}:{node.lineno}: a local is called what it holds, not {name!r}"


def of_scripts(path: Path, text: str) -> Iterator[str]:
    """Yield the first lines of a script's comments on files, classes and functions that are clauses."""
    for found in re.finditer(r"^[ \t]*/\*\*\s*\n?[ \t]*\*?[ \t]*(.*)$", text, flags=re.MULTILINE):
        if CLAUSE.match(found[1]):
            line = text.count("\n", 0, found.start(1)) + 1
            yield f"{path}:{line}: a first line names the thing, with a noun: {found[1]!r}"


def public_classes(trees: dict[Path, ast.Module]) -> Iterator[str]:
    """Yield the public classes whose name another module has too."""
    homes: defaultdict[str, list[Path]] = defaultdict(list)
    for path, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[f"{path.parts[0]} {node.name}"].append(path)
    for home, paths in homes.items():
        if len(paths) > 1:
            name, places = home.split()[-1], ", ".join(map(str, paths))
            yield f"{paths[-1]}:1: the class {name} is in {places}; each has a name of its own"


def of_tests(folder: Path) -> Iterator[str]:
    """Yield files of tests whose name another folder has too (pytest imports by name alone), and private names."""
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(folder.rglob("*.py")):
        if path.name != "conftest.py":
            homes[path.name].append(str(path.relative_to(folder.parent)))
    for name, paths in homes.items():
        if len(paths) > 1:
            yield f"{paths[-1]}:1: {name} is in {len(paths)} folders of tests, and can be in one: {', '.join(paths)}"
    for path in sorted(folder.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for line, name in private_names(tree):
            yield f"{path.relative_to(folder.parent)}:{line}: tests use public names only, not {name!r}"


def private_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and name of each private name of somebody else that a file of tests imports, reads or replaces."""
    nodes = list(ast.walk(tree))
    # A private function, class or attribute that the file itself defines is its own.
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)}
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    own |= {node.attr for node in attributes if isinstance(node.ctx, ast.Store) and _is_self(node)}
    for node in nodes:
        names: list[str] = []
        if isinstance(node, ast.ImportFrom):
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [part for alias in node.names for part in alias.name.split(".")]
        elif isinstance(node, ast.Attribute) and not _is_self(node):
            names = [node.attr]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # A target of monkeypatch, or a script for another process.
            names = re.findall(r"(?:^|\bdiscreet[\w.]*)\.(_\w+)", node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setattr":
            names = [each.value for each in node.args[1:2] if isinstance(each, ast.Constant)]
        for name in names:
            if PRIVATE.match(str(name)) and name not in own | FOREIGN:
                yield node.lineno, str(name)


def _is_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}


def circles(graph: grimp.ImportGraph) -> Iterator[set[str]]:
    """Yield the sets of modules that import each other, directly or by way of others."""
    above = {module: graph.find_upstream_modules(module) for module in graph.modules}
    around = {module: {other for other in above[module] if module in above.get(other, ())} for module in sorted(above)}
    while around:
        module, others = around.popitem()
        if others:
            yield {module, *others}
        around = {other: beyond for other, beyond in around.items() if other not in others}


def of_circles(found: Sequence[set[str]], listed: Sequence[str]) -> Iterator[str]:
    """Yield the circles that are not listed, and those of the list that are not there, or smaller now."""
    allowed = [set(line.replace(" .", " discreet.").split()) for line in listed]
    for circle in found:
        if not any(circle <= one for one in allowed):
            yield f"tools/house.py:1: these modules import each other in a circle: {', '.join(sorted(circle))}"
    for line, one in zip(listed, allowed, strict=True):
        if one not in found:
            yield f"tools/house.py:1: this circle is broken, or smaller; the list of circles may say so: {line}"


def broken() -> list[str]:
    """Return a sentence for each place that breaks a rule."""
    sentences, trees, sizes = [], {}, {}
    for file in python_files():
        path, text = file.relative_to(ROOT), file.read_text(encoding="utf-8")
        tree = trees[path] = ast.parse(text)
        if path.stem in BANNED:
            sentences.append(f"{path}:1: a module is named by what is in it, not {path.stem!r}")
        sentences += of_words(path, tree)
        if path.parts[0] != "tools":
            size = lines_of_code(text, tree)
            sizes |= {file: size} if file.is_relative_to(PACKAGE) else {}
            sentences += [*of_sizes(path, tree, text.splitlines(), size), *of_locals(path, tree)]
    for folder in SCRIPTS:
        for file in sorted((ROOT / folder).rglob("*.js")):
            if not {"node_modules", "vectors"} & set(file.parts):
                sentences += of_scripts(file.relative_to(ROOT), file.read_text(encoding="utf-8"))
    graph = grimp.build_graph("discreet", "papers", cache_dir=None)
    sentences += [*of_circles(list(circles(graph)), CIRCLES), *too_much(sizes, graph)]
    of_package = {path: tree for path, tree in trees.items() if (ROOT / path).is_relative_to(PACKAGE)}
    sentences += [*of_messages(of_package), *of_riddles(of_package), *of_documents()]
    return [*sentences, *public_classes(trees), *of_tests(ROOT / "tests")]


if __name__ == "__main__":
    found = broken()
    for sentence in found:
        print(sentence)
    sys.exit(bool(found))
