"""Every command of every page runs, in the order of the page, in a folder with the shipped examples."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from contextlib import chdir
from importlib import resources
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from packing import each
from running import done, run

ROOT = Path(__file__).parent.parent
EXAMPLES = Path(str(resources.files("discreet") / "examples"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
ELSEWHERE = {
    "docs/evidence/reproduction.md": "minutes of CPU time; tests of papers run their quick forms",
    "docs/howto/operations.md": "a collector that runs; tests of the collector",
    "docs/howto/proxy.md": "a proxy and a collector; tests of the collector",
    "docs/howto/s3.md": "a cloud; tests of formats have a server of objects",
    "docs/howto/seal_your_own.md": "a warehouse; tests of the collector",
    "docs/howto/spark.md": "a cluster; tests of Spark",
    "docs/howto/warehouse.md": "a database; tests of the folder sql run them there",
    "docs/reference/collector.md": "a collector that runs; tests of the collector",
}
"""Pages whose commands need what a test on one machine lacks, and where they are tested instead."""


def lines(page: Path) -> list[str]:
    """The command lines of a page's blocks, without comments and with continued lines joined."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:sh)?\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    whole = re.sub(r"\\\n *", "", "".join(blocks))
    found = [re.sub(r"\s#.*", "", line).strip() for line in whole.splitlines()]
    return [line for line in found if re.match(r"(discreet|printf|mkdir) ", line)]


def written(page: Path) -> list[str]:
    return [line for line in lines(page) if line.startswith("discreet ")]


def risk_files() -> None:
    """Tables that stand for what readers have: a release with names that an attacker knows, scores, and two plans."""
    events = pa.csv.read_csv("examples/checkins.csv")
    pq.write_table(events.rename_columns(["user", "event", "time"]), "events.parquet")
    half = np.arange(events.num_rows) % 2 == 0
    pa.csv.write_csv(events.filter(half), "release.csv")
    pa.csv.write_csv(events.append_column("name", events["user"]).filter(~half), "leak.csv")
    pairs = [(probe, user) for probe in range(40) for user in range(40)]
    scores = [50.0 * (probe == user) + (7 * probe + 3 * user) % 40 for probe, user in pairs]
    columns = {"row": [pair[0] for pair in pairs], "col": [pair[1] for pair in pairs], "finger_right": scores}
    pq.write_table(pa.table(columns), "scores.parquet")
    labels = sorted(set(events["place"].to_pylist()))
    domain = f"[domain]\nlabels = {labels}\n"
    Path("domain.toml").write_text(domain, encoding="utf-8")
    for name, epsilon in (("plan", 2.0), ("a", 1.0), ("b", 4.0)):
        text = f'epsilon = {epsilon}\n{domain}[mechanism]\nname = "rr"\n'
        Path(f"{name}.toml").write_text(text, encoding="utf-8")
    done("survey", "obfuscate", "examples/health_survey.toml", "examples/people.csv", "--seed", 1, "-o", "reports")


def months() -> None:
    """A table with a row for each person and month, from the shipped table of people."""
    people = pa.csv.read_csv("examples/people.csv")
    rounds = [
        people.append_column("who", pa.array(range(300))).append_column("month", pa.array([month] * 300))
        for month in (1, 2, 3)
    ]
    pa.csv.write_csv(pa.concat_tables(rounds), "months.csv")


def plan() -> None:
    done("plan", "examples/survey.toml", "--epsilon", 1, "--users", 100_000, "-o", "plan.toml")


def plan_and_reports() -> None:
    plan()
    Path("reports").mkdir()
    done("obfuscate", "plan.toml", "examples/answers.csv", "--seed", 1, "-o", "reports.parquet")
    shutil.copy("reports.parquet", "reports/2026-11.parquet")


def collection() -> None:
    """A plan, and a collection that is signed with a new key."""
    plan()
    run("collection", "key", "new", "key.pem")
    words = "--name habits --purpose clinic --contact me@example.org --answers once --collector https://example.org"
    done("collection", "sign", "plan.toml", *words.split(), "--key", "key.pem", "-o", "habits.json")


GIVEN: dict[str, Callable[[], None]] = {
    "docs/explanation/guarantees.md": collection,
    "docs/explanation/risk.md": risk_files,
    "docs/explanation/surveys.md": months,
    "docs/howto/scale.md": plan_and_reports,
    "docs/reference/properties.md": plan,
}
"""Pages that work on a reader's files, and functions that write such files into the folder."""


@each("page", [page for page in PAGES if written(page) and str(page.relative_to(ROOT)) not in ELSEWHERE])
def test_the_commands_of_a_page_run_in_their_order(page: Path, tmp_path: Path) -> None:
    name = str(page.relative_to(ROOT))
    with chdir(tmp_path):
        if "discreet examples examples" not in lines(page):
            shutil.copytree(EXAMPLES, "examples")
        GIVEN.get(name, lambda: None)()
        for line in lines(page):
            if line.startswith("discreet "):
                result = run(*shlex.split(line)[1:])
                assert result.exit_code == 0, f"{line}\n{result.output}"
            else:
                subprocess.run(["/bin/sh", "-c", line], check=True, env={"PATH": os.environ["PATH"]})


def test_pages_that_run_elsewhere_exist() -> None:
    assert [name for name in [*ELSEWHERE, *GIVEN] if not written(ROOT / name)] == []
