"""The verb ``simulate``."""

from pathlib import Path

from discreet.cli.outputs import OutputFolder, check_output
from discreet.cli.terminal import console, progress_bar, show_json, show_table
from discreet.core.random import SeededRandom
from discreet.simulation.findings import Findings, table
from discreet.simulation.saving import save_findings
from discreet.simulation.study import Study, rows, run_study


def run(path: Path, folder: Path, seed: int | None, *, as_json: bool) -> None:
    """Run a study, write its findings into ``folder``, and show them."""
    check_output(OutputFolder(), folder, force=True)
    study = Study.load(path)
    random = None if seed is None else SeededRandom(seed)
    with progress_bar("starting") as progress:
        findings = Findings(study, run_study(study, random=random, progress=progress))
        progress("drawing", 1, 1)
        written = save_findings(findings, folder)
    if as_json:
        show_json(list(rows(study, findings.outcomes)))
        return
    _show(findings, written)


def _show(findings: Findings, written: list[Path]) -> None:
    out = console()
    if findings.study.document.about:
        out.print(findings.study.document.about + "\n")
    for sentence in findings.sentences():
        out.print(f"  - {sentence}")
    out.print()
    show_table(findings.study.document.title, *table(findings), left=2)
    out.print(
        "MSE / expected: squared error of the linear estimate over its exact expectation. Worst s.e.: its largest"
    )
    out.print("standard error. TV: share of the people that an estimate puts in the wrong place, by estimator.\n")
    for run_ in findings.compared:
        out.print(f"{run_.mechanism.name}: {run_.mechanism.guarantee}\n")
    out.print("Written: " + ", ".join(str(path) for path in written))
