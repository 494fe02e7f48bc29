"""The rules of words: catalogues of messages agree with the code, and sentences of code and documents are plain.

A room's ``messages.toml`` holds the sentence of each error. Each is raised somewhere in its room, with a value for each
of its places; ``argument`` is a place too. `tools/house.py` prints what is wrong.
"""

import ast
import io
import re
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from wings import PACKAGE, ROOT

MOST_WORDS = 25
"""Words of a sentence of a message or of a docstring's first line."""

RIDDLES = re.compile(
    r"\b(that of|those of|of which|what is|what was|so many|so few|is none|is such|told apart|in place of the)\b"
    r"|\b(spelled|judged|given away|stretch|held back|towards)\b"
)
"""Words that make a reader go back: a pronoun in place of its noun, or a verb that is no term of the field."""

RIDDLES_LEFT: dict[str, int] = {"tables": 1}
"""The most riddles in docstrings and comments of a room, where it is not 0; a number may only become smaller."""

MOST_WORDS_OF_DOCUMENTS = 30
"""Words of a sentence of a document."""

DOCUMENTS_LEFT: dict[str, int] = {}
"""The most sentences of a document that are long or riddles, where it is not 0; a number may only become smaller.

Pages in docs/evidence are written by programs that measure, and are not read here.
"""

_CODE = re.compile(r"[a-z0-9-]+\.[a-z0-9-]+")
_PLACE = re.compile(r"(?<!\{)\{(\w+)(?:![rsa])?(?::[^{}]*)?\}(?!\})")
_OF_PLACES_ALONE = {"ParameterError", "DataError", "MismatchError", "EngineError", "SecretError"}
_RAISED = re.compile(r"(Error|Refused|error)$")


def catalogue_of(room: Path) -> dict[str, str]:
    """Return the sentences of a room by code; none if it has no catalogue."""
    file = room / "messages.toml"
    tables = tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return {f"{subject}.{reason}": text for subject in tables for reason, text in tables[subject].items()}


def room_of(path: Path) -> Path:
    """Return the folder whose catalogue a file of the package uses: its room, and the core for files of the face."""
    parts = path.relative_to(PACKAGE).parts
    return PACKAGE / (parts[0] if len(parts) > 1 else "core")


def long_or_riddling(sentence: str, most: int = MOST_WORDS) -> str:
    """Return the fault of a sentence in a few words; empty if it is plain."""
    if (riddle := RIDDLES.search(sentence)) is not None:
        return f"{riddle[0]!r} makes readers go back"
    longest = max(len(part.split()) for part in re.split(r"(?<=[.?!:;])\s", sentence))
    return f"a sentence of {longest} words, and it may have {most}" if longest > most else ""


def of_messages(trees: Mapping[Path, ast.Module]) -> Iterator[str]:
    """Yield the places where code and catalogues disagree, and the sentences that are not plain.

    Args:
        trees: the files of the package, by their path below the project.
    """
    rooms = {room: catalogue_of(room) for room in sorted({room_of(ROOT / path) for path in trees})}
    written: dict[Path, set[str]] = {room: set() for room in rooms}
    for path, tree in trees.items():
        room = room_of(ROOT / path)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _CODE.fullmatch(node.value):
                written[room].add(node.value)
            if isinstance(node, ast.Call) and _RAISED.search(ast.unparse(node.func)):
                yield from _of_call(path, node, rooms[room])
    homes = Counter(code for sentences in rooms.values() for code in sentences)
    for room, sentences in rooms.items():
        for code, sentence in sentences.items():
            wrong = long_or_riddling(sentence) or ("another room has this code too" if homes[code] > 1 else "")
            wrong = wrong or ("nothing in its room raises it" if code not in written[room] else "")
            if wrong:
                yield f"{(room / 'messages.toml').relative_to(ROOT)}: {code}: {wrong}"


def _of_call(path: Path, call: ast.Call, sentences: Mapping[str, str]) -> Iterator[str]:
    """Yield the faults of a call that makes an error, if it is given a code."""
    first = call.args[0] if call.args else None
    code = first.value if isinstance(first, ast.Constant) else None
    if not isinstance(code, str) or not _CODE.fullmatch(code):
        if isinstance(first, ast.JoinedStr | ast.Constant) and ast.unparse(call.func) in _OF_PLACES_ALONE:
            yield f"{path}:{call.lineno}: an error is given a code, and its sentence stands in the room's catalogue"
        return
    if code not in sentences:
        yield f"{path}:{call.lineno}: the catalogue of this room has no {code}"
        return
    names, places = (
        {word.arg for word in call.keywords} - {"argument"},
        set(_PLACE.findall(sentences[code])) - {"argument"},
    )
    if None not in names and (places - names or (names - places and ast.unparse(call.func) in _OF_PLACES_ALONE)):
        yield f"{path}:{call.lineno}: {code} has the places {sorted(places)}, got {sorted(map(str, names))}"
    if "{argument}" in sentences[code] and all(word.arg != "argument" for word in call.keywords):
        yield f"{path}:{call.lineno}: {code} names an argument, and the call does not"


def riddles(text: str, tree: ast.Module) -> int:
    """Return the number of riddles, and of long first sentences, in docstrings and comments of a file."""
    texts = [
        node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ]
    lines = [words.splitlines() for words in texts if isinstance(words, str)]
    docstrings = [" ".join(line.strip() for line in part if not line.lstrip().startswith(">>>")) for part in lines]
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    long = sum(
        bool(long_or_riddling(words.split(". ")[0])) and not RIDDLES.search(words.split(". ")[0])
        for words in docstrings
    )
    return long + sum(len(RIDDLES.findall(words)) for words in [*docstrings, *comments])


def of_riddles(files: Mapping[Path, ast.Module]) -> Iterator[str]:
    """Yield the rooms with more riddles than are listed, and those with fewer.

    Args:
        files: the files of the package, by their path below the project.
    """
    counts: Counter[str] = Counter()
    for path, tree in files.items():
        counts[room_of(ROOT / path).name] += riddles((ROOT / path).read_text(encoding="utf-8"), tree)
    for room in sorted({*counts, *RIDDLES_LEFT}):
        most = RIDDLES_LEFT.get(room, 0)
        if counts[room] != most:
            more = "may have" if counts[room] > most else "is listed with"
            yield f"tools/messages.py:1: {room} has {counts[room]} riddles in docstrings and comments; it {more} {most}"


def sentences_of(document: str) -> Iterator[str]:
    """Yield the sentences of a Markdown text: of paragraphs, points of lists and cells of tables, without code."""
    prose = re.sub(r"```.*?```|<[a-z/!][^>\n]*>", "\n\n", document, flags=re.DOTALL)
    # Each point, heading and cell is a paragraph of its own.
    prose = re.sub(r"^\s*(?:[-*>]|\d+\.|#+)\s", "\n\n", prose, flags=re.MULTILINE)
    prose = re.sub(r"^\|.*$", lambda row: f"\n\n{row[0]}\n\n".replace("|", "\n\n"), prose, flags=re.MULTILINE)
    prose = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "X", prose))
    for paragraph in re.split(r"\n\s*\n", prose):
        yield from re.split(r"(?<=[.?!:;])[\"')*]*\s+", " ".join(paragraph.split()))


def of_documents() -> Iterator[str]:
    """Yield the sentences of documents that are long or riddles, where there are more than are listed."""
    pages = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]
    for page in pages:
        name = page.relative_to(ROOT).as_posix()
        if name.startswith("docs/evidence/"):
            continue
        sentences = [*sentences_of(page.read_text(encoding="utf-8"))]
        found = [
            f"{fault}: {sentence[:60]}..."
            for sentence in sentences
            if (fault := long_or_riddling(sentence, MOST_WORDS_OF_DOCUMENTS))
        ]
        most = DOCUMENTS_LEFT.get(name, 0)
        if len(found) > most:
            yield from (f"{name}: {fault}" for fault in found)
        elif len(found) < most:
            yield f"tools/messages.py:1: {name} is listed with {most} sentences, and has {len(found)}"
