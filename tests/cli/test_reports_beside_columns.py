"""The verb ``risk reports``, as an officer tries it."""

from importlib.resources import files
from math import exp
from pathlib import Path

import pytest

from planted import VALUE, clean
from running import run, told

EXAMPLE = Path(str(files("discreet") / "examples" / "people.csv"))
PLAN = 'epsilon = 1.0\n[domain]\nlabels = ["yes", "no"]\n[mechanism]\nname = "rr"\n'
TRUTH = exp(1) / (exp(1) + 1)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


def test_the_gate(plan: Path) -> None:
    asked = ["risk", "reports", plan, EXAMPLE, "--by", "sex"]
    smallest = told(*asked)["smallest"]
    worst = 2 * TRUTH / smallest
    assert told(*asked)["worst"] == pytest.approx(worst)
    assert run(*asked, "--fail-above", worst * 1.001).exit_code == 0
    above = run(*asked, "--fail-above", worst * 0.999)
    assert above.exit_code == 1
    assert above.stderr.startswith(f"The identification risk in the smallest class is at most {worst:.4g}, above ")


def test_no_cell_is_quoted(plan: Path, tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text(f"age,word\n1,{VALUE}\n2,{VALUE}\nx,{VALUE}\n")
    for names in ("age,word", VALUE[:4], "word,word"):
        for more in ([], ["--json"], ["--fail-above", 0.1]):
            result = run("risk", "reports", plan, table, "--by", names, *more)
            clean(result.output)
            assert result.exit_code in {0, 1, 2}
