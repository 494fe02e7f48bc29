"""Measures limits and standard errors where few reports tell the truth, at repeated looks, and of other estimators.

**Sums, means, deciles and the like**: every law, under LDP and ULDP, at epsilon 0.3, 1 and 3, for several true
distributions, where 0.3 to 1,000 reports are expected to tell the truth. *Held* is the share of the 95% intervals that
contain the truth. *Error* is the median standard error over the standard deviation of the estimates. Regressions
(`limit_regressions.py`), `smooth` (`limit_shapes.py`) and limits for repeated looks (`limit_looks.py`) follow.

Runs are kept in out/limits.jsonl, a line for each setting. The tool goes on where it stopped, and with a larger number
of runs it adds those that are missing. Sections of docs/evidence/coverage.md are written from the lines; the exit code
is 1 if a goal is missed.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

import limit_looks
import limit_regressions
import limit_shapes
import numpy as np
from evidence_page import PAGE, replace_section, table
from kept_runs import Cells, Found, Part, Setting, carry_on, generator, read_runs, runs_of
from scipy.stats import binom

import discreet as dc
from discreet.mechanisms import BLOCK_MECHANISMS
from papers.data.drawn_tallies import draw_tally

KEPT = Path(__file__).resolve().parent.parent / "out" / "limits.jsonl"
HEADING, SUMS = "## Few informative reports", "sums"
LAWS = {
    "rr": (16, (8, 8)),
    "subset": (8, (6, 6)),
    "unary": (8, (6, 6)),
    "hashing": (8, (6, 6)),
    "hadamard": (31, (15, 9)),
    "design": (8, (6, 6)),
    "projective": (32, (15, 9)),
    "windows": (32, (8, 24)),
}
EPSILONS, TOLD = (0.3, 1.0, 3.0), (0.3, 1.0, 3.0, 10.0, 30.0, 1000.0)
ENOUGH = 10
LEAST_MEAN, LEAST, ABSURD, RARE = 0.95, 0.88, 0.80, 300
COLUMNS = ["cells", "held", "worst", "below 88%", "errors, 5% to 95%", "errors right", "few reports", "worst of these"]
ERRORS, ERRORS_HELD = (0.8, 1.3), 0.98


class GridSetting(NamedTuple):
    """One setting of the grid.

    Attributes:
        group: the group of settings, "sums".
        law: name of the mechanism.
        notion: LDP, ULDP, or two ranges of windows.
        epsilon: of the mechanism.
        truth: name of the true distribution.
        told: how many reports are expected to tell the truth.
    """

    group: str
    law: str
    notion: str
    epsilon: float
    truth: str
    told: float


def settings() -> Iterator[GridSetting]:
    """Yield all settings, those with few reports first."""
    for told, epsilon, law in product(TOLD, EPSILONS, LAWS):
        for notion in ("LDP", "ULDP", *(["two ranges"] if law == "windows" else [])):
            truths = ["uniform", "Zipf", "one value"]
            for truth in truths + ([] if notion == "LDP" else ["one protected value", "none protected"]):
                yield GridSetting(SUMS, law, notion, epsilon, truth, told)


def mechanism_of(setting: GridSetting) -> Any:
    """Return the mechanism of a setting."""
    every, (protected, clear) = LAWS[setting.law]
    size = every if setting.notion == "LDP" else protected + clear
    sensitive: Any = None if setting.notion == "LDP" else range(protected)
    if setting.notion == "two ranges":
        sensitive = [*range(6), *range(12, 18)]
    return BLOCK_MECHANISMS[setting.law](dc.Domain(range(size), sensitive=sensitive), setting.epsilon)


def truth_of(name: str, domain: dc.Domain) -> np.ndarray:
    """Return the true shares."""
    size, protected = domain.size, domain.sensitive
    if name == "Zipf":
        p = 1 / np.arange(1.0, size + 1)
    elif name in {"one value", "one protected value"}:
        p = np.zeros(size)
        p[int(np.flatnonzero(protected)[0]) if "protected" in name else size - 1] = 1
    else:
        p = (~protected if name == "none protected" else np.ones(size)).astype(float)
    return np.asarray(p / p.sum())


class Question(NamedTuple):
    """A number that an estimate is asked for: its kind, the function that asks, and the truth."""

    kind: str
    ask: Callable[[Any], Any]
    truth: float


def questions(domain: dc.Domain, p: np.ndarray) -> list[Question]:
    """Return the questions to every estimate."""
    covered, clear = np.flatnonzero(domain.sensitive), np.flatnonzero(~domain.sensitive)
    half, mixed = covered[: len(covered) // 2], np.concatenate([covered[:2], clear[:2]])
    sets = {"1 value": covered[:1], "3 values": covered[:3], "quarter": covered[: max(len(covered) // 4, 2)]}
    sets["half"] = np.concatenate([half, clear[len(clear) // 2 :]])
    if len(clear):
        sets |= {"mixed": mixed, "clear": clear[:1]}
    first, second = (np.isin(np.arange(domain.size), codes) for codes in (covered[:2], [*covered[2:4], *clear[:1]]))
    asked = []
    for kind, codes in sets.items():
        mask = np.isin(np.arange(domain.size), codes)
        asked.append(Question(kind, lambda found, mask=mask: found.total(mask), float(p[mask].sum())))
    asked.append(Question("mean", lambda found: found.mean(), float(p @ np.arange(domain.size))))
    decile = int(np.argmax(np.cumsum(p) >= 0.1 - 1e-12))
    asked.append(Question("decile", lambda found: found.quantile(0.1), decile))
    asked.append(
        Question("difference", lambda found: found.difference(first, second), p[first].sum() - p[second].sum())
    )
    if (whole := p[first | second].sum()) > 0:
        asked.append(Question("condition", lambda found: found.ratio(first, first | second), p[first].sum() / whole))
    return asked


def measured(asked_setting: Setting, runs: int, first: int) -> Cells:
    """Return the share of intervals that held, their lengths, and errors over deviations, by question."""
    setting = GridSetting(*asked_setting)
    mechanism = mechanism_of(setting)
    domain, truth = mechanism.domain, float(mechanism.coefficients.truth)
    n, p = max(round(setting.told / truth), 1), truth_of(setting.truth, domain)
    asked, rng = questions(domain, p), generator(setting, first)
    facts = np.full((len(asked), 4, runs), np.nan)
    for run in range(runs):
        found = dc.estimate(mechanism, draw_tally(mechanism, rng.multinomial(n, p), rng))
        for at, (_, ask, _) in enumerate(asked):
            number = ask(found)
            error = getattr(number, "standard_error", np.nan)
            facts[at, :, run] = (*number.interval(), error, float(getattr(number, "estimate", np.nan)))
    cells: Cells = {}
    for (kind, _, true), (low, high, errors, estimates) in zip(asked, facts, strict=True):
        spread = float(np.std(estimates)) if kind not in {"decile", "condition"} else 0.0
        honest = float(np.median(errors) / spread) if spread > 1e-9 else None
        held = np.mean((low <= true + 1e-9) & (high >= true - 1e-9))
        broken = float(np.isnan([low, high]).any() or (high < low).any())
        length = float(np.mean(high - low))
        cells[kind] = {"held": float(held), "length": length, "error": honest, "broken": broken, "n": n}
    return cells


class GridCell(NamedTuple):
    """One question in one setting: the setting, the question, the numbers that were found, and the runs."""

    setting: GridSetting
    kind: str
    found: dict[str, Any]
    runs: int

    @property
    def is_large(self) -> bool:
        """True if there are enough reports for the goals."""
        return bool(self.found["n"] >= ENOUGH)

    @property
    def place(self) -> str:
        """The mechanism, and the notion of privacy."""
        return f"{self.setting.law} {self.setting.notion}"


def cells_of(known: Mapping[Setting, Found]) -> list[GridCell]:
    """Return the cells of settings."""
    return [
        GridCell(GridSetting(*setting), kind, numbers, found.runs)
        for setting, found in known.items()
        for kind, numbers in found.cells.items()
    ]


def is_doubtful(setting: Setting, found: Found) -> bool:
    """Return true if a cell is below the goal, perhaps by chance."""
    return any(cell["held"] < LEAST for cell in found.cells.values())


def missed_by(cells: Sequence[GridCell]) -> list[str]:
    """Return the goals that were missed; of a cell only where chance does not explain it, among all cells."""
    missed = [f"{cell.setting}, {cell.kind}: not numbers in order" for cell in cells if cell.found["broken"]]
    large = [cell for cell in cells if cell.is_large]
    missed += [
        f"{', '.join(map(str, cell.setting[1:]))}, {cell.kind}: {cell.found['held']:.0%}"
        for cell in large
        if cell.found["held"] < binom.ppf(0.05 / len(large), cell.runs, LEAST) / cell.runs
    ]
    below, mean = (sum(cell.found["held"] < LEAST for cell in large), np.mean([cell.found["held"] for cell in large]))
    if below > sum(1 / RARE + below_by_chance(cell.runs) for cell in large):
        missed.append(f"{below} of {len(large)} cells below {LEAST:.0%}")
    errors = [cell.found["error"] for cell in large if cell.found["error"] is not None]
    honest = float(np.mean([ERRORS[0] <= error <= ERRORS[1] for error in errors])) if errors else 1.0
    if honest < ERRORS_HELD:
        missed.append(f"standard errors, right in {honest:.1%} of the cells")
    short = sum(cell.found["held"] < LEAST for cell in cells if not cell.is_large)
    if short:
        missed.append(f"cells of fewer than {ENOUGH} reports below {LEAST:.0%}: {short}")
    return missed if mean >= LEAST_MEAN else [*missed, f"the mean, {mean:.1%}"]


def below_by_chance(runs: int) -> float:
    """Return the probability that fewer intervals than the goal hold, if each holds with 95%."""
    return float(binom.cdf(np.ceil(LEAST * runs) - 1, runs, 0.95))


def row(name: str, cells: Sequence[GridCell]) -> list[str]:
    """Return the summary of some cells."""
    large, few = ([cell.found for cell in cells if cell.is_large == many] for many in (True, False))
    held = [cell["held"] for cell in large]
    errors = [cell["error"] for cell in large if cell["error"] is not None]
    honest = [ERRORS[0] <= error <= ERRORS[1] for error in errors]
    low, high = np.quantile(errors, [0.05, 0.95]) if errors else (np.nan, np.nan)
    spread = [f"{low:.2f} to {high:.2f}", f"{np.mean(honest):.0%}"] if errors else ["", ""]
    below, worst = f"{sum(one < LEAST for one in held)}", f"{min(cell['held'] for cell in few):.0%}" if few else ""
    mean, least = (f"{np.mean(held):.1%}", f"{min(held):.0%}") if held else ("", "")
    return [name, f"{len(large):,}", mean, least, below, *spread, f"{len(few):,}", worst]


def section(known: Mapping[Setting, Found]) -> tuple[list[str], list[str]]:
    """Return the lines of the section, and the goals that were missed."""
    cells, every = cells_of(known), len([*settings()])
    places, kinds = sorted({cell.place for cell in cells}), sorted({cell.kind for cell in cells})
    runs, missed = min(cell.runs for cell in cells), missed_by(cells)
    below = [
        f"{', '.join(map(str, cell.setting[1:]))}, {cell.kind} ({cell.found['held']:.1%} of {cell.runs:,} runs)"
        for cell in cells
        if cell.is_large and cell.found["held"] < LEAST
    ]
    lines = [
        "Limits and standard errors where 0.3, 1, 3, 10, 30 and 1,000 reports are expected to tell the truth.",
        "Epsilon is 0.3, 1 and 3. Values are uniform, Zipf, or one for all people; all are protected, or none.",
        f"A cell is one question in one of {len(known):,} settings, of {every:,} in all. {runs_of(known)}",
        f"Goals from {ENOUGH} reports on: {LEAST_MEAN:.0%} on average, and at most 1 cell in {RARE} below {LEAST:.0%}.",
        f"Of {runs} runs at 95%, fewer than {LEAST:.0%} hold by chance in {below_by_chance(runs):.1%} of the cells.",
        f"Median errors shall be {ERRORS[0]:g} to {ERRORS[1]:g} standard deviations in {ERRORS_HELD:.0%} of the cells.",
        "Of fewer reports limits are everything that is possible, unless a count is binomial.",
        "Errors of values in clear exceed the deviations where few reports are expected, so that no error is 0.",
        f"Cells below {LEAST:.0%}: {'; '.join(below) or 'no cell'}.",
        "Made by `tools/measure_limits.py`, seeded.",
        "",
        *table(["mechanism", *COLUMNS], [row(name, [cell for cell in cells if cell.place == name]) for name in places]),
        "",
        *table(["question", *COLUMNS], [row(kind, [cell for cell in cells if cell.kind == kind]) for kind in kinds]),
        *table(["", *COLUMNS], [row("all", cells)])[2:],
    ]
    return lines, missed


PARTS = (
    Part(HEADING, (SUMS,), settings, measured, is_doubtful, section),
    limit_regressions.PART,
    limit_shapes.PART,
    limit_looks.PART,
)


def measured_setting(setting: Setting, runs: int, first: int) -> Cells:
    """Return the results of a setting of any part."""
    (part,) = [part for part in PARTS if setting[0] in part.groups]
    return part.measured(setting, runs, first)


def write(known: Mapping[Setting, Found], page: Path) -> list[str]:
    """Write the sections of the page; return the goals that were missed."""
    every = []
    for part in PARTS:
        found = {setting: each for setting, each in known.items() if setting[0] in part.groups}
        if found:
            lines, missed = part.section(found)
            verdict = "All met." if not missed else f"{len(missed)} missed: {'; '.join(missed[:20])}."
            replace_section(part.heading, [*lines, "", f"**{verdict}**"], page)
            every += missed
    return every


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is missing, write the sections of the page, and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--again", type=int, default=600, help="runs of settings with a cell below its goal")
    parser.add_argument("--groups", nargs="*", help="only these groups of settings, such as sums and smooth")
    parser.add_argument("--most", type=int, default=None, help="only so many settings of each part")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--kept", type=Path, default=KEPT)
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--write", action="store_true", help="write the page from the kept runs, and measure nothing")
    options = parser.parse_args(arguments)
    for part in PARTS if not options.write else ():
        if options.groups is None or set(options.groups) & set(part.groups):
            asked = [*islice(part.settings(), options.most)]
            carry_on(asked, measured_setting, options.runs, options.kept, options.jobs)
            known = read_runs(options.kept)
            doubtful = [setting for setting in asked if part.is_doubtful(setting, known[setting])]
            carry_on(doubtful, measured_setting, options.again, options.kept, options.jobs)
    missed = write(read_runs(options.kept), options.page)
    print("\n".join(missed) or "all goals met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
