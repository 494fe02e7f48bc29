"""Draws docs/demo.svg, the picture of the README: the people of `make demo` by plain and by utility-optimized LDP."""

from pathlib import Path

import numpy as np

from discreet import Domain, Estimate, SeededRandom, SubsetSelection, UnaryEncoding, estimate
from discreet.mechanisms import BlockMechanism
from discreet.pictures.charts import Panel
from discreet.pictures.curves import comparison_chart
from discreet.simulation.study import Study

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "demo.svg"
_SHOWN = 6


def estimated(mechanism: BlockMechanism, counts: np.ndarray) -> Estimate:
    """Return the estimate from one report of everybody, drawn from a fixed seed."""
    people = np.repeat(np.arange(len(counts)), counts)
    return estimate(mechanism, mechanism.obfuscate_codes(people, random=SeededRandom(1)), method="mle")


def main() -> None:
    """Write the picture."""
    study = Study.load(ROOT / "examples" / "census.toml")
    some, epsilon = study.domain, study.document.epsilon
    every = Domain(some.table()["value"].tolist())
    estimates = {
        "All 277 answers protected": estimated(SubsetSelection(every, epsilon), study.counts),
        "35 sensitive answers protected": estimated(UnaryEncoding(some, epsilon), study.counts),
    }
    order = np.argsort(-study.truth)
    rows = []
    for codes in (order[~some.sensitive[order]][:_SHOWN], order[some.sensitive[order]][:_SHOWN]):
        row = []
        for title, result in estimates.items():
            panel = result.panel(title, codes, truth=study.truth)
            marked = {**panel.columns, "sensitive": some.sensitive[codes]}
            row.append(Panel(title, panel.names, marked, panel.truth))
        rows.append(row)
    head = f"{study.counts.sum():,} people, one report each, epsilon = {epsilon:g}"
    comparison_chart(rows, title=head).save(PICTURE)
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
