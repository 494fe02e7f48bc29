"""What a fresh process imports: no more than its verb needs."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

HEAVY = {"numpy", "numba", "pyarrow", "pandas", "polars", "altair", "vl_convert", "rich", "msgspec", "cryptography"}


def imported(code: str) -> set[str]:
    """The top-level packages that a fresh interpreter has imported after this code."""
    after = "import sys, atexit\natexit.register(lambda: print('\\n' + ' '.join(sys.modules), file=sys.stderr))\n"
    command, environment = [sys.executable, "-W", "error", "-c", after + code], {**os.environ, "COLUMNS": "200"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    return {name.split(".")[0] for name in result.stderr.splitlines()[-1].split()}


@pytest.mark.parametrize(
    ("verb", "needed"),
    [
        ("", set()),
        ("estimate", {"numpy", "pyarrow", "msgspec", "cryptography"}),
        ("collection sign", {"numpy", "msgspec", "cryptography"}),
        ("collector status", {"numpy", "pyarrow", "msgspec", "cryptography"}),
    ],
)
def test_help_imports_little(verb: str, needed: set[str]) -> None:
    """The list of verbs nothing heavy, and the help of a verb no more than the verb itself always needs."""
    arguments = [*verb.split(), "--help"]
    found = imported(f"from discreet.cli import main\nmain({arguments!r})")
    assert "click" in found
    assert not found & (HEAVY | {"scipy", "starlette", "uvicorn"}) - needed


def test_importing_discreet_imports_nothing_heavy() -> None:
    assert not imported("import discreet; discreet.__version__; dir(discreet)") & HEAVY


def test_obfuscating_and_estimating_files_wakes_no_compiler_and_no_pandas(tmp_path: Path) -> None:
    """Each would take longer to start than a million reports do; limits of small counts need SciPy."""
    (tmp_path / "plan.toml").write_text('epsilon = 1.0\n[domain]\nrange = [0, 9]\n[mechanism]\nname = "unary"\n')
    pq.write_table(pa.table({"x": list(range(9)) * 9999}), tmp_path / "v.parquet")
    (tmp_path / "quoted.csv").write_text('"x"\n"1"\n"2"\n')
    for arguments in (
        ["obfuscate", "plan.toml", "v.parquet", "-o", "r.parquet"],
        ["obfuscate", "plan.toml", "quoted.csv", "-o", "quoted.parquet"],
        ["estimate", "plan.toml", "r.parquet"],
    ):
        code = f"import os; os.chdir({str(tmp_path)!r}); from discreet.cli import main; main({arguments!r})"
        found = imported(code)
        assert {"pyarrow", "numpy"} <= found
        assert not found & {"pandas", "polars", "numba", "scipy", "altair"}
