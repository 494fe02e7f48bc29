"""Outputs are looked at before any work: all of them are written, or none, and nothing is in the next run's way."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from discreet import Estimate
from discreet.cli import main
from discreet.cli.output import OutputFile, OutputFolder
from discreet.files import writing
from packing import each
from running import Files, done, refusal, run

# Each writes to what comes last, a folder where no name of a file follows. What they read is not there, or says
# nothing: work would be refused otherwise.
VERBS: dict[str, tuple[str, str]] = {
    "obfuscate -o": ("obfuscate PLAN none.csv -o", "r.jsonl"),
    "estimate -o": ("estimate PLAN none.parquet -o", "e.csv"),
    "estimate --page": ("estimate PLAN none.parquet --page", "e.html"),
    "estimate --plot": ("estimate PLAN none.parquet --plot", "p.svg"),
    "estimate --tally": ("estimate PLAN none.parquet --tally", "t.tally.arrow"),
    "plan --plot": ("plan none.toml --epsilon 1 --users 10 --plot", "p.png"),
    "plan -o": ("plan none.toml --epsilon 1 --users 10 -o", "p.toml"),
    "risk plan -o": ("risk plan none.toml --identification-error 0.9 --users 10 --epsilon 1 -o", "p.toml"),
    "init -o": ("init none.csv --column x --all-sensitive --epsilon 1 -o", "p.json"),
    "compare -o": ("compare PLAN none.parquet --by x -o", "e.csv"),
    "compare --plot": ("compare PLAN none.parquet --by x --plot", "p.svg"),
    "regress -o": ("regress PLAN none.parquet --on x -o", "e.csv"),
    "verify --plot": ("verify PLAN --statement 100 --plot", "p.svg"),
    "seal -o": ("seal PLAN none.parquet -o", "s.parquet"),
    "attest -o": ("attest none.toml -o", "a.html"),
    "simulate -o": ("simulate none.toml -o", ""),
    "risk traces -o": ("risk none.csv -o", ""),
    "risk traces --per-user": ("risk none.csv --per-user", "who.csv"),
}
FILES = {attempt: name for attempt, (_, name) in VERBS.items() if name}
DRAWING = [attempt for attempt in VERBS if "--plot" in attempt]
DRAWING += ["attest -o", "simulate -o", "risk traces -o"]
RISKS = {f"risk {name}": verb for name, verb in main.commands["risk"].commands.items()}


def words(files: Files, attempt: str) -> list[str]:
    return VERBS[attempt][0].replace("PLAN", str(files.plan)).split()


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


@each("attempt", VERBS)
def test_outputs_that_cannot_be_written_are_refused_before_any_work(attempt: str, tmp_path: Path) -> None:
    files, name = Files(tmp_path), FILES.get(attempt, "out")
    places = {files.folder / ("x" * 300 + name): "at most 255 bytes", files.folder / "values.csv" / name: "values.csv"}
    if attempt in FILES:
        places |= {files.folder / "none" / name: "output.no-folder", files.folder / "way" / name: "directory"}
        (files.folder / "way" / name).mkdir(parents=True)
    before = everything(files.folder)
    for place, said in places.items():
        result = run(*words(files, attempt), place)
        assert (result.exit_code, said in result.stderr) == (2, True), result.stderr
    with pytest.MonkeyPatch.context() as patched:
        real = os.access
        patched.setattr(writing.os, "access", lambda path, *how: Path(path) != files.folder and real(path, *how))
        assert "output-folder.not-writable" in refusal(*words(files, attempt), files.folder / name)
    assert everything(files.folder) == before


@pytest.mark.parametrize("attempt", ["obfuscate -o", "estimate -o", "seal -o"])
def test_only_tallies_are_named_as_tallies(files: Files, attempt: str) -> None:
    assert "output.named-as-tally" in refusal(*words(files, attempt), files.folder / "some.tally.parquet")


@each("attempt, package", [(attempt, package) for attempt in DRAWING for package in ("altair", "vl_convert")])
def test_pictures_without_what_draws_them(attempt: str, package: str, tmp_path: Path) -> None:
    files = Files(tmp_path)
    before = everything(files.folder)
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, package, None)
        text = refusal(*words(files, attempt), files.folder / FILES.get(attempt, "out"))
    assert f"This needs {package}" in text
    assert "pip install 'discreet[plot]'" in text
    assert everything(files.folder) == before


# Twice the same


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_one_name_for_two_outputs(files: Files, link: Any) -> None:
    files.obfuscated()
    first, second = files.folder / "a.parquet", files.folder / "a.tally.parquet"
    second.write_text("old")
    link(second, first)
    text = refusal("estimate", files.plan, files.reports, "-o", first, "--tally", second, "--force")
    assert "output.twice" in text
    assert second.read_text() == "old"
    again = files.folder / ".." / files.folder.name / "a.png"
    refusal("estimate", files.plan, files.reports, "--plot", files.folder / "a.png", "-o", again)


def test_an_output_that_is_read(files: Files) -> None:
    files.obfuscated()
    before = everything(files.folder)
    for attempt in (
        ("obfuscate", files.plan, files.reports, "-o", files.reports, "--force"),
        ("estimate", files.plan, files.reports, "-o", files.reports, "--force"),
        ("estimate", files.plan, "none.parquet", files.reports, "-o", files.reports, "--force"),
        ("seal", files.plan, files.reports, "-o", files.reports, "--force"),
    ):
        assert "output.is-input" in refusal(*attempt)
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
