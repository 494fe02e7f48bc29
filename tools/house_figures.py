"""Figures of the house: how much there is to read, and how many doors a reader opens.

Run from anywhere, ``python tools/house_figures.py`` prints a table of the package (without examples and JavaScript)
and of its tests. A code line holds a token that is neither comment nor docstring. *Opened* are files of which a
function runs, imports left out, for five labels and 2,000 rows. *CPU* is the least of five runs of `discreet estimate`
on these rows, in ms: as a process, and of the verb alone where it has read other reports before. ``--fast`` leaves
out files and CPU time.
"""

import ast
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grimp
from house import circles, code_lines, lines_of_code
from wings import PACKAGE, ROOT, against_the_order, lines_by_wing

_VERBS = {
    "reports to linear": "estimate plan.toml rr.parquet --json",
    "unary to mle": "estimate unary.toml unary.parquet --method mle --json",
    "traces to risk": "risk traces.csv --user user --event event --time time --time-unit s --json",
    "values to reports": "obfuscate plan.toml values.csv --column value -o out.parquet --force",
}
_FOUR_LINES = """
import discreet as dc
mechanism = dc.RandomizedResponse(dc.Domain(["a", "b", "c", "d", "e"]), 1.0)
reports = mechanism.obfuscate(["a", "b", "c", "d", "e"] * 400)
print(dc.estimate(mechanism, reports))
"""
_PROFILED = """
import sys, threading
opened = set()
def note(frame, event, _):
    name, above = frame.f_code.co_filename, frame
    if event == "call" and "/src/discreet/" in name and name not in opened:
        while above is not None and (above.f_code.co_name != "<module>" or above.f_code.co_filename == "<string>"):
            above = above.f_back
        if above is None:
            opened.add(name)
sys.setprofile(note); threading.setprofile(note)
try:
    {body}
except SystemExit as end:
    if end.code: raise
finally:
    sys.setprofile(None)
    print(len(opened), file=sys.stderr)
"""


_ALONE = """
import sys, time
from discreet.cli import main
def seconds(words):
    start = time.process_time()
    try:
        main(words)
    except SystemExit as end:
        if end.code: raise
    return time.process_time() - start
seconds(["estimate", "other.toml", "other.parquet"])
print(seconds({words!r}), file=sys.stderr)
"""
_RUNS = 5


def python_files(folder: Path) -> Iterator[Path]:
    """Yield the files of Python below a folder, without examples and scripts of browsers."""
    for path in sorted(folder.rglob("*.py")):
        if not {"__pycache__", "js", "examples"} & set(path.relative_to(folder).parts[:-1]):
            yield path


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the number of a function's parameters, without itself."""
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    return len([name for name in names if name not in {"self", "cls"}])


def called_once(tree: ast.Module) -> int:
    """Return the number of private functions whose name stands twice in their file."""
    words = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    words.update(node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    private = [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("_") and not node.name.startswith("__")
    ]
    return sum(words[name] == 1 for name in private)


def figures_of(folder: Path) -> dict[str, Any]:
    """Return the figures of a folder's files."""
    files = list(python_files(folder))
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    sizes = {path: lines_of_code(texts[path], trees[path]) for path in files}
    functions = [
        (node, texts[path].splitlines())
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    lengths = sorted(code_lines(node, lines) for node, lines in functions)
    once = [called_once(trees[path]) for path in files]
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    inside = {
        id(node): node
        for function, _ in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    asked = [node for node in nodes if isinstance(node, ast.Name) and node.id == "isinstance"]
    wings = lines_by_wing(sizes) if folder == PACKAGE else {}
    return {
        "code lines": sum(sizes.values()),
        **{f"code lines: {wing}": lines for wing, lines in wings.items()},
        "files": len(files),
        "median code lines of a file": statistics.median(sizes.values()),
        "longest file": max(sizes.values()),
        "files in the fullest folder": max(Counter(path.parent for path in files).values()),
        "protocols": sum(any("Protocol" in ast.dump(base) for base in node.bases) for node in classes),
        "imports inside functions": len(inside),
        "isinstance": len(asked),
        "private functions called once": f"{sum(once) / len(functions):.0%}",
        "parameters of one function": max(parameters(node) for node, _ in functions),
        "p90 and longest function": f"{lengths[int(0.9 * len(lengths))]} / {lengths[-1]}",
    }


def opened(body: str, folder: Path) -> int:
    """Return the number of files of which a function runs."""
    lines = body.strip().replace("\n", "\n    ")
    command = [sys.executable, "-c", _PROFILED.format(body=lines)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return int(done.stderr.split()[-1])


def estimate_times(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the CPU time of `discreet estimate`, as a process and of the verb alone, in milliseconds."""
    words = ["estimate", "plan.toml", "rr.parquet"]
    process = f"from discreet.cli import main\nmain({words!r})"
    whole, alone = [], []
    for _ in range(_RUNS):
        before = sum(os.times()[2:4])
        subprocess.run([sys.executable, "-c", process], cwd=folder, capture_output=True, check=True)
        whole.append(sum(os.times()[2:4]) - before)
        command = [sys.executable, "-c", _ALONE.format(words=words)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        alone.append(float(done.stderr.split()[-1]))
    yield "CPU of estimate, process", f"{1000 * min(whole):.0f} ms"
    yield "CPU of estimate, modules loaded", f"{1000 * min(alone):.1f} ms"


def write_inputs(folder: Path) -> None:
    """Write plans, reports, values and traces for the tasks."""
    import discreet as dc

    for name, mechanism in (
        ("rr", dc.RandomizedResponse(dc.Domain(list("abcde")), 1.0)),
        ("other", dc.RandomizedResponse(dc.Domain(list("abcde")), 2.0)),
        ("unary", dc.UnaryEncoding(dc.Domain(list("abcde")), 1.0)),
    ):
        dc.write_reports(folder / f"{name}.parquet", mechanism, mechanism.obfuscate(list("abcde") * 400))
        options = f'[mechanism]\nname = "{"unary" if name == "unary" else "rr"}"\n'
        text = f'epsilon = {mechanism.epsilon}\n[domain]\nlabels = ["a", "b", "c", "d", "e"]\n{options}'
        (folder / f"{'plan' if name == 'rr' else name}.toml").write_text(text)
    (folder / "values.csv").write_text("value\n" + "\n".join("abcde" * 400) + "\n")
    rows = [f"u{row % 50},{'abcde'[(row * row + row // 50) % 5]},{row}" for row in range(2000)]
    (folder / "traces.csv").write_text("\n".join(["user,event,time", *rows]) + "\n")


def doors(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield the number of files that are opened, by task."""
    for task, words in _VERBS.items():
        yield task, opened(f"from discreet.cli import main\nmain({words.split()!r})", folder)
    yield "four lines of Python", opened(_FOUR_LINES, folder)


def main() -> None:
    """Print the table."""
    found = figures_of(PACKAGE)
    tests = figures_of(ROOT / "tests")
    graph = grimp.build_graph("discreet", cache_dir=None)
    found["circles"] = len(list(circles(graph)))
    found["imports against the order"] = len(list(against_the_order(graph)))
    if "--fast" not in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            write_inputs(Path(folder))
            found |= {f"opened: {task}": number for task, number in doors(Path(folder))}
            found |= estimate_times(Path(folder))
    found["code lines of tests"], found["files of tests"] = tests["code lines"], tests["files"]
    width = max(map(len, found))
    for name, figure in found.items():
        print(f"{name:{width}}  {figure}")


if __name__ == "__main__":
    main()
