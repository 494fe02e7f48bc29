"""A fault of a tired programmer: an operation in one function, and the wrong one in its place."""

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from keyword import iskeyword, kwlist
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

Place = tuple[int, int, dict[str, str]]
"""The first character of a fragment, the one after its last, and what its locals are called there, if not the same."""


_GAP = r"(?:\s|#.*)*"
"""Space and comments between two tokens."""


@dataclass(frozen=True)
class Fault:
    """A fragment of one file, which must be at one place, and what a tired programmer would have written there.

    Files are named from src/discreet; the papers lie beside that. Of Python a fragment is an operation in a function,
    not a text: lines may be broken elsewhere, and locals may be renamed; then what is wrong is renamed with them.
    """

    name: str
    file: str
    right: str
    wrong: str
    suites: tuple[str, ...]

    @property
    def room(self) -> str:
        """Return the room of the file: the first folder of its name."""
        return self.file.removeprefix("../../").split("/")[0]

    def planted(self, source: str) -> str:
        """Return a source with the fault in it.

        Raises:
            LookupError: if its operation is at no place, or at several.
        """
        count = source.count(self.right)
        if count == 0 and self.file.endswith(".py"):
            places = {(start, end): renamed for start, end, renamed in _places(source, self.right, self.wrong)}
            if (count := len(places)) == 1:
                ((start, end), renamed), wrong = places.popitem(), self.wrong.strip()
                for name, new in renamed.items():
                    wrong = re.sub(rf"(?<![.\w]){name}(?!\w)", new, wrong)
                return source[:start] + wrong + source[end:]
        if count != 1:
            raise LookupError(f"{self.name}: its operation must be in {self.file} once, and is there {count} times")
        return source.replace(self.right, self.wrong)


def _places(source: str, right: str, wrong: str) -> Iterator[Place]:
    """Yield the places of a fragment, in each function and in the module; in functions within functions several times.

    It is nowhere where the wrong one has a name that the function has not: any test would see that.
    """
    begins = [0, *accumulate(len(line) for line in source.splitlines(keepends=True))]
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    imported = [name for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) for name in node.names]
    common = {*dir(builtins), *(name.asname or name.name for name in imported)}
    for node in tree.body:
        common |= {node.name} if isinstance(node, ast.ClassDef | ast.FunctionDef) else _bound(node)
    added = set(re.findall(r"(?<![.\w])[^\W\d]\w*", wrong)) - {*re.findall(r"\w+", right), *kwlist}
    for node in functions:
        begin, end, local = begins[node.lineno - 1], begins[node.end_lineno or -1], _bound(node)
        for match in _pattern(right, common | local).finditer(source, begin, end) if added <= common | local else ():
            renamed = {name: there for name, there in match.groupdict().items() if name != there}
            if local.issuperset(renamed.values()) and len(set(renamed.values())) == len(renamed):
                yield match.start(), match.end(1), renamed
    for match in _pattern(right, set(re.findall(r"\w+", right))).finditer(source):
        yield match.start(), match.end(1), {}


def _bound(statement: ast.AST) -> set[str]:
    """Return the names of a function's parameters, and of what a statement assigns."""
    nodes = list(ast.walk(statement))
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {node.arg for node in nodes if isinstance(node, ast.arg)}


def _pattern(fragment: str, known: set[str]) -> re.Pattern[str]:
    """Return a pattern of the tokens of a fragment, where every name that is not known may be another."""
    tokens, pattern, free = re.findall(r"\w+|[^\w\s]", fragment), [], set()
    for before, token, after in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
        if token in free and before != ".":
            pattern.append(rf"\b(?P={token})\b")
        elif token.isidentifier() and not iskeyword(token) and before != "." and token not in known:
            free.add(token)
            pattern.append(rf"\b(?P<{token}>\w+)\b")
        elif token[0].isalnum() or token[0] == "_":
            pattern.append(rf"\b{token}\b")
        elif not (token == "," and after and after in ")]}"):
            pattern.append((f"(?:,{_GAP})?" if token in ")]}" else "") + re.escape(token))
    return re.compile(f"(?=({_GAP.join(pattern)}))")
