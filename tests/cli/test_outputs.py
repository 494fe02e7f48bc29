"""Outputs are looked at before any work: all of them are written, or none, and nothing is in the next run's way."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet import Estimate
from discreet.cli import main
from discreet.cli.output import OutputFile, OutputFolder
from discreet.files import writing as io_replacing
from running import Files, done, refusal, run

# Each writes to what comes last. What they read is not there, or says nothing: work would be refused otherwise.
VERBS: dict[str, Callable[[Files], list[object]]] = {
    "obfuscate -o": lambda files: ["obfuscate", files.plan, "none.csv", "-o"],
    "estimate -o": lambda files: ["estimate", files.plan, "none.parquet", "-o"],
    "estimate --plot": lambda files: ["estimate", files.plan, "none.parquet", "--plot"],
    "estimate --tally": lambda files: ["estimate", files.plan, "none.parquet", "--tally"],
    "plan --plot": lambda files: ["plan", "none.toml", "--epsilon", 1, "--users", 10, "--plot"],
    "plan -o": lambda files: ["plan", "none.toml", "--epsilon", 1, "--users", 10, "-o"],
    "risk plan -o": lambda files: [
        *("risk", "plan", "none.toml", "--identification-error", 0.9, "--users", 10, "--epsilon", 1, "-o")
    ],
    "init -o": lambda files: ["init", "none.csv", "--column", "x", "--all-sensitive", "--epsilon", 1, "-o"],
    "compare -o": lambda files: ["compare", files.plan, "none.parquet", "--by", "x", "-o"],
    "compare --plot": lambda files: ["compare", files.plan, "none.parquet", "--by", "x", "--plot"],
    "regress -o": lambda files: ["regress", files.plan, "none.parquet", "--on", "x", "-o"],
    "verify --plot": lambda files: ["verify", files.plan, "--statement", "100", "--plot"],
    "seal -o": lambda files: ["seal", files.plan, "none.parquet", "-o"],
    "attest -o": lambda files: ["attest", "none.toml", "-o"],
    "simulate -o": lambda files: ["simulate", "none.toml", "-o"],
    "risk traces -o": lambda files: ["risk", "none.csv", "-o"],
    "risk traces --per-user": lambda files: ["risk", "none.csv", "--per-user"],
}
FILES = {
    "obfuscate -o": "r.jsonl",
    "estimate -o": "e.csv",
    "estimate --plot": "p.svg",
    "estimate --tally": "t.tally.arrow",
    "plan -o": "p.toml",
    "risk plan -o": "p.toml",
    "init -o": "p.json",
    "plan --plot": "p.png",
    "compare -o": "e.csv",
    "compare --plot": "p.svg",
    "regress -o": "e.csv",
    "seal -o": "s.parquet",
    "attest -o": "a.html",
    "verify --plot": "p.svg",
    "risk traces --per-user": "who.csv",
}
DRAWING = [
    "attest -o",
    "verify --plot",
    "estimate --plot",
    "compare --plot",
    "plan --plot",
    "simulate -o",
    "risk traces -o",
]

RISKS = {f"risk {name}": verb for name, verb in main.commands["risk"].commands.items()}


def everything(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def test_every_output_is_here() -> None:
    """A new output has to be named above, and is then tried below."""
    written = {
        f"{verb} {min(one.opts, key=len)}"
        for verb, command in {**main.commands, **RISKS}.items()
        for one in command.params
        if isinstance(one.type, OutputFile | OutputFolder)
    }
    assert written == set(VERBS)
    for verb, command in {**main.commands, **RISKS}.items():
        for one in command.params:
            own = one.opts[0] in {"--debug", "--data"} or verb in {"tally", "examples"}
            assert own or type(one.type).__name__ != "Path", (verb, one.opts)


@pytest.mark.parametrize("attempt", VERBS)
def test_a_folder_that_cannot_be_written_to(files: Files, attempt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.access
    monkeypatch.setattr(io_replacing.os, "access", lambda path, *how: Path(path) != files.folder and real(path, *how))
    before = everything(files.folder)
    text = refusal(*VERBS[attempt](files), files.folder / FILES.get(attempt, "out"))
    assert f"{files.folder} cannot be written to" in text
    assert everything(files.folder) == before


@pytest.mark.parametrize("attempt", VERBS)
def test_names_that_cannot_be(files: Files, attempt: str) -> None:
    before, name = everything(files.folder), FILES.get(attempt, "out")
    assert "at most 255 bytes" in refusal(*VERBS[attempt](files), files.folder / ("x" * 300 + name))
    assert everything(files.folder) == before
    inside = files.folder / "values.csv" / name
    text = refusal(*VERBS[attempt](files), inside)
    assert "is not a folder" in text or "does not exist" in text
    assert everything(files.folder) == before


@pytest.mark.parametrize("attempt", FILES)
def test_a_folder_that_is_not_there_or_in_the_way(files: Files, attempt: str) -> None:
    before = everything(files.folder)
    assert "output.no-folder" in refusal(*VERBS[attempt](files), files.folder / "none" / FILES[attempt])
    (files.folder / FILES[attempt]).mkdir()
    result = run(*VERBS[attempt](files), files.folder / FILES[attempt])
    assert result.exit_code == 2
    assert "is a directory" in result.stderr or "output.is-directory" in result.stderr
    assert everything(files.folder) == before | {FILES[attempt]: None}


@pytest.mark.parametrize("attempt", ["obfuscate -o", "estimate -o", "seal -o"])
def test_only_tallies_are_named_as_tallies(files: Files, attempt: str) -> None:
    assert "output.named-as-tally" in refusal(*VERBS[attempt](files), files.folder / "some.tally.parquet")


@pytest.mark.parametrize("attempt", DRAWING)
@pytest.mark.parametrize("package", ["altair", "vl_convert"])
def test_pictures_without_what_draws_them(
    files: Files, attempt: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    before = everything(files.folder)
    text = refusal(*VERBS[attempt](files), files.folder / FILES.get(attempt, "out"))
    assert f"This needs {package}" in text
    assert "pip install 'discreet[plot]'" in text
    assert everything(files.folder) == before


# Twice the same


@pytest.mark.parametrize("link", [None, os.symlink, os.link])
def test_one_name_for_two_outputs(files: Files, link: Any) -> None:
    files.obfuscated()
    first, second = files.folder / "a.parquet", files.folder / "a.tally.parquet"
    if link is not None:
        second.write_text("old")
        link(second, first)
    else:
        first = files.folder / "." / "a.tally.parquet"
        assert "output.named-as-tally" in refusal("estimate", files.plan, files.reports, "-o", first, "--tally", second)
        first, second = files.folder / "a.png", files.folder / ".." / files.folder.name / "a.png"
        refusal("estimate", files.plan, files.reports, "--plot", first, "-o", second)
        return
    text = refusal("estimate", files.plan, files.reports, "-o", first, "--tally", second, "--force")
    assert "is named for two outputs" in text
    assert second.read_text() == "old"


def test_an_output_that_is_read(files: Files) -> None:
    files.obfuscated()
    before = everything(files.folder)
    for attempt in (
        ("obfuscate", files.plan, files.reports, "-o", files.reports, "--force"),
        ("estimate", files.plan, files.reports, "-o", files.reports, "--force"),
        ("estimate", files.plan, "none.parquet", files.reports, "-o", files.reports, "--force"),
        ("seal", files.plan, files.reports, "-o", files.reports, "--force"),
    ):
        assert "is read and would be replaced" in refusal(*attempt)
    assert everything(files.folder) == before


def test_an_output_among_what_is_read(files: Files) -> None:
    """The next run would read it too; a kept tally would count everybody twice."""
    files.obfuscated()
    folder = files.folder / "reports"
    folder.mkdir()
    files.reports.rename(folder / "a.parquet")
    for name in ("-o", "--tally"):
        output = folder / {"-o": "e.csv", "--tally": "t.tally.parquet"}[name]
        assert "output.in-input" in refusal("estimate", files.plan, folder, name, output)
    assert "output.in-input" in refusal("seal", files.plan, folder, "-o", folder / "sealed.parquet")
    hidden = folder / "_kept.tally.parquet"
    done("estimate", files.plan, folder, "--tally", hidden)
    assert hidden.exists()
    done("estimate", files.plan, folder)


# All or none


@pytest.mark.parametrize("existing", [False, True])
def test_if_one_output_fails_none_is_there(files: Files, monkeypatch: pytest.MonkeyPatch, existing: bool) -> None:
    files.obfuscated()
    outputs = [files.folder / name for name in ("e.csv", "p.svg", "t.tally.parquet")]
    arguments = ["estimate", files.plan, files.reports]
    for name, output in zip(("-o", "--plot", "--tally"), outputs, strict=True):
        arguments += [name, output]
        if existing:
            output.write_bytes(b"old")
    before = everything(files.folder)
    real = Estimate.plot

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Estimate, "plot", full)
    assert "No space left on device" in refusal(*arguments, *(["--force"] if existing else []))
    assert everything(files.folder) == before
    monkeypatch.setattr(Estimate, "plot", real)
    done(*arguments, *(["--force"] if existing else []))
    assert all(output.stat().st_size > 3 for output in outputs)
