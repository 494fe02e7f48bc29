"""Writes js/vectors: what a device in any language must reproduce, byte for byte.

python tools/make_vectors.py            writes the files
python tools/make_vectors.py --check    compares them, and exits with 1 if one would change
python tools/make_vectors.py --fresh 100000 --seed 1 -o FOLDER
                                        writes others of samplers, for `node js/tests/check.js FOLDER/*.jsonl`
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# Their collections are those of the tests.
sys.path.insert(0, str(ROOT / "tests"))

from vectors import devices, documents, frames, readings, refused, samplers  # noqa: E402

FOLDER = ROOT / "js" / "vectors"

PARTS: list[Callable[[], dict[str, list[dict[str, Any]]]]] = [
    samplers.files,
    refused.files,
    frames.files,
    documents.files,
    readings.files,
    devices.files,
]
"""Functions that return the lines of files, by the names of the files."""


def made() -> dict[str, str]:
    """Return the text of every file, by its name."""
    found: dict[str, str] = {}
    for part in PARTS:
        for name, lines in part().items():
            found[name] = "".join(map(_line, lines))
    return found


def main() -> int:
    """Write or compare the files."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--fresh", type=int, metavar="N", help="write N other vectors of each block law")
    parser.add_argument("--seed", type=int, default=1, help="of these")
    parser.add_argument("-o", "--output", type=Path, help="the folder of these")
    chosen = parser.parse_args()
    if (chosen.fresh is None) != (chosen.output is None):
        parser.error("--fresh and -o belong together.")
    if chosen.fresh is not None:
        return _write_fresh(chosen.fresh, chosen.seed, chosen.output)
    return _write_or_check(chosen.check)


def _write_fresh(count: int, seed: int, folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for kind in samplers.LAWS:
        with (folder / f"{kind.replace(' ', '-')}.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(map(_line, samplers.fresh(kind, count, seed)))
    return 0


def _line(facts: dict[str, Any]) -> str:
    return json.dumps(facts, separators=(",", ":"), sort_keys=True) + "\n"


def _write_or_check(check: bool) -> int:
    texts = made()
    there = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.jsonl")}
    changed = sorted(name for name in {*texts, *there} if texts.get(name) != there.get(name))
    if not check:
        FOLDER.mkdir(exist_ok=True)
        for name in changed:
            if name in texts:
                (FOLDER / name).write_text(texts[name], encoding="utf-8", newline="\n")
            else:
                (FOLDER / name).unlink()
    total = sum(len(text.encode()) for text in texts.values())
    print(f"{len(texts)} files, {total:,} bytes; {', '.join(changed) or 'none'} {'differ' if check else 'written'}.")
    return 1 if check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
