"""Real processes: what is imported, and what is exited with; and a study from end to end."""

import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from scipy.stats import chi2

from discreet.cli import VERBS, main
from json_rows import columns
from running import done

HEAVY = {"numpy", "numba", "pyarrow", "pandas", "polars", "altair", "vl_convert", "rich", "msgspec", "cryptography"}
RUN = "import sys; from discreet.cli import main; main(sys.argv[1:], prog_name='discreet')"


def python(code: str, *arguments: object, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", code, *map(str, arguments)]
    quiet = {**os.environ, "COLUMNS": "200", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=quiet, timeout=120, check=False)


def imported(code: str) -> set[str]:
    """The top-level packages that a fresh interpreter has imported after this code."""
    after = "import sys, atexit\natexit.register(lambda: print('\\n' + ' '.join(sys.modules), file=sys.stderr))\n"
    result = python(after + code)
    assert result.returncode == 0, result.stderr
    return {name.split(".")[0] for name in result.stderr.splitlines()[-1].split()}


@pytest.mark.parametrize(
    ("verb", "needed"),
    [
        ("", set()),
        ("estimate", {"numpy", "pyarrow", "msgspec", "cryptography"}),
        ("collection sign", {"numpy", "msgspec", "cryptography"}),
        ("device join", {"numpy", "cryptography"}),
        ("collector list", {"numpy", "pyarrow", "msgspec", "cryptography"}),
    ],
)
def test_help_imports_little(verb: str, needed: set[str]) -> None:
    """The list of verbs nothing heavy, and the help of a verb no more than the verb itself always needs."""
    arguments = [*verb.split(), "--help"]
    found = imported(f"from discreet.cli import main\nmain({arguments!r})")
    assert "click" in found
    assert not found & (HEAVY | {"scipy", "starlette", "uvicorn"}) - needed


def _verbs(path: list[str], command: click.Command) -> Iterator[tuple[list[str], click.Command]]:
    """Yield all verbs and groups."""
    yield path, command
    if isinstance(command, click.Group):
        for name in command.commands:
            yield from _verbs([*path, name], command.commands[name])


def test_the_help_of_each_verb_fits_a_screen() -> None:
    """Forty lines of a hundred columns; what is longer belongs into the documentation."""
    for path, _ in _verbs([], main):
        lines = CliRunner().invoke(main, [*path, "--help"], terminal_width=100).output.rstrip().splitlines()
        assert len(lines) <= 40, path
        assert max(map(len, lines)) <= 100, path


def test_no_verb_takes_more_than_eight_parameters() -> None:
    for path, command in _verbs([], main):
        assert command.callback is not None
        assert len(inspect.signature(inspect.unwrap(command.callback)).parameters) <= 8, path


def test_the_list_of_verbs_imports_no_verb() -> None:
    """Whose help says the same first sentence as the list, so that nothing is lost by that."""
    code = (
        "import sys, click, discreet; before = set(sys.modules)\n"
        "from discreet.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print('new:', *sorted(name for name in set(sys.modules) - before if 'discreet' in name))"
    )
    result = python(code)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == (
        "new: discreet.cli discreet.cli.commands discreet.cli.removed discreet.errors discreet.kernels "
        "discreet.kernels.startup"
    )
    for name, sentence in VERBS.items():
        assert main.commands[name].help.replace("\n", " ").startswith(sentence), name


def test_importing_discreet_imports_nothing_heavy() -> None:
    assert not imported("import discreet; discreet.__version__; dir(discreet)") & HEAVY


def test_a_device_needs_no_estimators() -> None:
    """Obfuscating numbers takes NumPy and cryptography; counting, files and pictures stay away."""
    code = "import discreet as dc; dc.UnaryEncoding(dc.Domain(range(9), sensitive=[1]), 1.0).obfuscate([1, 2, 8])"
    found = imported(code)
    assert "numpy" in found
    assert not found & (HEAVY - {"numpy", "cryptography"})


def test_obfuscating_and_estimating_files_wakes_no_compiler_and_no_pandas(tmp_path: Path) -> None:
    """Each would take longer to start than a million reports do; limits of small counts need SciPy."""
    (tmp_path / "plan.toml").write_text('epsilon = 1.0\n[domain]\nrange = [0, 9]\n[mechanism]\nname = "unary"\n')
    pq.write_table(pa.table({"x": list(range(9)) * 9999}), tmp_path / "v.parquet")
    for arguments in (
        ["obfuscate", "plan.toml", "v.parquet", "-o", "r.parquet"],
        ["estimate", "plan.toml", "r.parquet"],
    ):
        code = f"import os; os.chdir({str(tmp_path)!r}); from discreet.cli import main; main({arguments!r})"
        found = imported(code)
        assert {"pyarrow", "numpy"} <= found
        assert not found & {"pandas", "polars", "numba", "scipy", "altair"}


def test_from_values_to_estimates(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(
        'epsilon = 1.0\n[domain]\nrange = [0, 6]\nsensitive = [0, 5]\n[mechanism]\nname = "subset"\n'
    )
    (tmp_path / "values.csv").write_text("x\n" + "0\n1\n1\n2\n5\n" * 100)
    result = python(RUN, "obfuscate", "plan.toml", "values.csv", "-o", "r.parquet", "--json", folder=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert json.loads(result.stdout)["reports"] == 500
    result = python(RUN, "estimate", "plan.toml", "r.parquet", "--method", "mle", "--json", folder=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert found["n"] == 500
    assert sum(columns(found)["frequency"]) == pytest.approx(1)
    assert not found["simulated"]
    result = python(RUN, "obfuscate", "plan.toml", "values.csv", "-o", "r.parquet", folder=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "Error: r.parquet exists already; choose another name or pass --force (force=True).\n"


STUDY = """
epsilon = 2.0
methods = ["linear", "projected", "mle"]
title = "A small study"
[data]
path = "people.csv"
label = "what"
count = "people"
[[run]]
protect = "all"
mechanism = { name = "rr" }
[[run]]
protect = "sensitive"
mechanism = { name = "hadamard" }
[[run]]
protect = "sensitive"
mechanism = { name = "unary" }
"""


def test_a_study_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty values: squared errors are near what they are expected to be.

    Their ratio is a mean of 38 or more squares of normal numbers of nearly equal weight, so nearly a chi-square over
    its degrees of freedom; 30 of them are granted, and one in a million at either end for each of the three runs.
    """
    rows = "".join(f"v{code},{500 + 10 * code},{str(code > 1).lower()}\n" for code in range(40))
    (tmp_path / "people.csv").write_text("what,people,sensitive\n" + rows)
    (tmp_path / "study.toml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    shown = done("simulate", "study.toml", "--seed", 5)
    folder = tmp_path / "out" / "study"
    assert sorted(path.name for path in folder.iterdir()) == ["chart.png", "page.html", "results.json"]
    assert (folder / "chart.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert "A small study" in shown
    assert "27,800 people" in shown
    text = (folder / "page.html").read_text(encoding="utf-8")
    assert not re.findall(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", text)
    records = json.loads((folder / "results.json").read_text())
    assert [(row["notion"], row["mechanism"]) for row in records] == [
        ("LDP", "rr"),
        ("ULDP", "hadamard"),
        ("ULDP", "unary"),
    ]
    for row in records:
        assert row["simulated"]
        assert row["users"] == 27_800
        low, high = chi2.ppf([1e-6, 1 - 1e-6], 30) / 30
        assert low < row["mse"] / row["expected_mse"] < high
