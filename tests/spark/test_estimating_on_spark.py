"""``estimate --engine spark``: the answers of one machine, in a process of its own, and what Spark has to be told."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from json_rows import columns
from programs import program
from running import Files, told

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_the_same_answer_from_a_cluster(files: Files) -> None:
    program("java")
    files.obfuscated()
    # Another process: Spark lives in the whole of one.
    command = [
        sys.executable,
        "-c",
        "from discreet.cli import main; main()",
        "estimate",
        str(files.plan),
        str(files.reports),
        "--json",
    ]
    command += ["--engine", "spark", "--master", "local[2]"]
    # Wherever this runs, its name need not be known to anybody; and no machine code pays for much thought.
    light = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    (files.folder / "spark-defaults.conf").write_text(
        "spark.sql.codegen.wholeStage false\nspark.sql.codegen.factoryMode NO_CODEGEN\n"
    )
    known = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_CONF_DIR": str(files.folder),
        "JAVA_TOOL_OPTIONS": light,
    }
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300, env=known)
    assert done.returncode == 0, done.stderr
    found, expected = json.loads(done.stdout), told("estimate", files.plan, files.reports)
    assert columns(found)["frequency"] == pytest.approx(columns(expected)["frequency"], abs=1e-12)
    assert {name: found[name] for name in ("n", "plan", "simulated")} == {
        name: expected[name] for name in ("n", "plan", "simulated")
    }
    assert "Traceback" not in done.stderr
    assert "FutureWarning" not in done.stderr
