"""Mutants of the files of the promise: how many of them the tests find, by file.

    python tools/mutants.py [--sample N] [words that the path of a file contains ...]

`tools/mutants.toml` lists the files and their tests; mutmut makes the mutants and runs the tests. Without ``--sample``
all mutants are tried; with it N of each file, always the same ones. Each file has a folder in `out/mutants`: there
`mutmut show NAME` prints a mutant, and `mutmut browse` lists them.

mutmut changes no property, no other decorated function and no constant: `make faults` has some of these.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any

from mutmut.configuration import reset_config
from mutmut.mutation.file_mutation import mutate_file_contents
from mutmut.stats import status_by_exit_code
from mutmut.utils.format_utils import get_mutant_name

ROOT = Path(__file__).resolve().parent.parent
SEED = 28
COLUMNS = ("mutants", "tried", "killed", "survived", "no tests", "timeout")


def prepared(file: str, options: Mapping[str, list[str]]) -> Path:
    """Return a folder for one file, with links to the sources and with the settings of mutmut."""
    folder = ROOT / "out" / "mutants" / Path(file).stem
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("src", "tests", "pyproject.toml", *options["also_copy"]):
        (folder / name).symlink_to(ROOT / name)
    lines = [f"{name}=" + "".join(f"\n    {word}" for word in words) for name, words in options.items()]
    (folder / "setup.cfg").write_text("\n".join(["[mutmut]", *lines]) + "\n", encoding="utf-8")
    return folder


def tried(file: str, options: Mapping[str, list[str]], sample: int | None) -> dict[str, str]:
    """Run mutmut on one file; return the outcome of each mutant, "not tried" of those outside the sample."""
    folder = prepared(file, options)
    with chdir(folder):
        reset_config()
        mutated = mutate_file_contents(file, Path(file).read_text(encoding="utf-8"))
    names = [get_mutant_name(Path(file), name) for name in mutated.mutant_names]
    chosen = random.Random(SEED).sample(names, min(sample or len(names), len(names)))
    with (folder / "log").open("w") as log:
        done = subprocess.run(
            [Path(sys.executable).with_name("mutmut"), "run", *chosen], cwd=folder, stdout=log, stderr=log, check=False
        )
    if done.returncode:
        raise SystemExit(f"mutmut failed; {folder / 'log'} says why.")
    codes = json.loads((folder / "mutants" / f"{file}.meta").read_text())["exit_code_by_key"]
    return {name: status_by_exit_code[codes[name]] if name in chosen else "not tried" for name in names}


def main(arguments: list[str]) -> None:
    """Print the table, and the mutants that no test found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int)
    parser.add_argument("words", nargs="*")
    given = parser.parse_args(arguments)
    settings: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    missed = []
    print(f"{'file':36}" + "".join(f"{column:>10}" for column in COLUMNS))
    for file, tests in settings["files"].items():
        if all(word in file for word in given.words):
            own = {"source_paths": ["src"], "only_mutate": [file], "pytest_add_cli_args_test_selection": tests}
            outcomes = tried(file, settings["mutmut"] | own, given.sample)
            counts = Counter(outcomes.values())
            counts |= {"mutants": len(outcomes), "tried": len(outcomes) - counts["not tried"]}
            print(
                f"{file.removeprefix('src/discreet/'):36}" + "".join(f"{counts[name]:10}" for name in COLUMNS),
                flush=True,
            )
            missed += [name for name, outcome in outcomes.items() if outcome in {"survived", "no tests"}]
    print("\n".join(["Not found:", *missed]))


if __name__ == "__main__":
    main(sys.argv[1:])
