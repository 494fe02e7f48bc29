"""Tables whose values are written differently than the labels: refused with a count, or taken as they read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from running import done, refusal, told

COMPOSED, APART = "Gr\u00f6\u00dfe", "Gro\u0308\u00dfe"
DOMAIN = f'labels = ["gesund", "krank", "{COMPOSED}"]'
VALUES = ["krank", "Krank ", "\u00a0KRANK", "gesund", "GRO\u0308SSE", APART]
CODES = [1, 1, 1, 0, 2, 2]
READ = [{"attribute": "", "label": COMPOSED, "values": 1}, {"attribute": "", "label": "krank", "values": 2}]
WRITERS: dict[str, Callable[[Any, Path], object]] = {
    "a.csv": lambda t, path: path.write_text("\n".join([t.column_names[0], *t[0].to_pylist()]), encoding="utf-8"),
    "a.tsv.csv": lambda t, path: path.write_text(
        "\n".join(["n\t" + t.column_names[0], *(f"1\t{v}" for v in t[0].to_pylist())]), encoding="utf-16"
    ),
    "a.parquet": pq.write_table,
    "dictionary.parquet": lambda t, path: pq.write_table(
        pa.table({t.column_names[0]: t[0].combine_chunks().dictionary_encode()}), path
    ),
    "pandas.parquet": lambda t, path: (
        pd.DataFrame({t.column_names[0]: t[0].to_pylist()}).astype("category").to_parquet(path)
    ),
    "polars.parquet": lambda t, path: pl.DataFrame({t.column_names[0]: t[0].to_pylist()}).write_parquet(path),
    "a.arrow": feather.write_feather,
    "views.arrow": lambda t, path: feather.write_feather(
        t.cast(pa.schema([(t.column_names[0], pa.string_view())])), path
    ),
    "a.jsonl": lambda t, path: path.write_text("\n".join(map(json.dumps, t.to_pylist())), encoding="utf-8"),
}


def plan(
    folder: Path, domain: str, protection: str = "sensitive = []\nallow_unprotected = true", head: str = ""
) -> Path:
    path = folder / "plan.toml"
    text = f'epsilon = 1.0\n{head}[domain]\n{domain}\n{protection}\n[mechanism]\nname = "rr"\n'
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", WRITERS)
def test_values_are_taken_as_they_read_and_counted(tmp_path: Path, name: str) -> None:
    table, reports = tmp_path / name, tmp_path / "r.parquet"
    WRITERS[name](pa.table({APART: VALUES}), table)
    path = plan(tmp_path, DOMAIN)
    message = refusal("obfuscate", path, table, "--column", COMPOSED, "-o", reports)
    assert "3 of 6 values are not in the domain (first in row 1" in message
    assert "With --as-read, 3 of them count" in message
    assert "krank" not in message.lower()
    for column in (COMPOSED, APART):
        facts = told("obfuscate", path, table, "--column", column, "-o", reports, "--as-read", "--force")
        assert (facts["read_as"], facts["reports"]) == (READ, 6)
        assert facts["left_out"] == {"are taken for the label that they read like": 3}
        assert pq.read_table(reports)["clear"].to_pylist() == CODES


def survey(folder: Path) -> Path:
    text = (
        'version = 2\nepsilon = 4.0\npromise = "record"\n'
        f'[attributes."{COMPOSED}"]\nlabels = ["klein", "gro\u00df"]\n'
        '[attributes.state]\nlabels = ["gesund", "krank"]\n'
    )
    (folder / "s.toml").write_text(text, encoding="utf-8")
    done("survey", "plan", folder / "s.toml", "--users", 1000, "-o", folder / "survey.toml")
    return folder / "survey.toml"


def test_surveys_take_values_as_they_read(tmp_path: Path) -> None:
    path, table = survey(tmp_path), tmp_path / "v.csv"
    table.write_text(f"{APART},state\n" + "GROSS,krank\nklein,Krank \n" * 100, encoding="utf-8")
    message = refusal("survey", "obfuscate", path, table, "-o", tmp_path / "r")
    assert "200 of 200" in message
    assert "With --as-read, 200 of them count" in message
    assert not [*(tmp_path / "r").iterdir()]
    read = [
        {"attribute": COMPOSED, "label": "gro\u00df", "values": 100},
        {"attribute": "state", "label": "krank", "values": 100},
    ]
    facts = told("survey", "obfuscate", path, table, "-o", tmp_path / "r", "--as-read")
    assert (facts["people"], facts["read_as"]) == (200, read)
    studied = ["survey", "simulate", path, table, "-o", tmp_path / "s", "--seed", 1]
    assert "200 of 200" in refusal(*studied)
    assert told(*studied, "--as-read")["read_as"] == read


def test_secret_values_are_taken_as_they_read(tmp_path: Path) -> None:
    table, tags = tmp_path / "v.csv", tmp_path / "t.csv"
    table.write_text("who,place\nZo\u00eb,park\nBob,Park\n", encoding="utf-8")
    tags.write_text("who,place,tag\nZoe\u0308 ,PARK,home\n", encoding="utf-8")
    path = plan(tmp_path, 'labels = ["clinic", "park"]', 'sensitive = ["clinic"]', 'tags = ["home"]\nothers = false\n')
    asked = ["obfuscate", path, table, "--user", "who", "--tags", tags, "-o", tmp_path / "r.parquet"]
    message = refusal(*asked)
    assert str(tags) in message
    assert "With --as-read, 1 of them count" in message
    facts = told(*asked, "--as-read")
    assert facts["read_as"] == [{"attribute": "", "label": "park", "values": 1}]
