"""Measures limits and standard errors of sums, means, deciles and the like, where few reports tell the truth.

Every law, under LDP and ULDP, at epsilon 0.3, 1 and 3, for several true distributions, where 0.3 to 1,000 reports are
expected to tell the truth. *Held* is the share of the 95% intervals that contain the truth. *Error* is the median
standard error over the standard deviation of the estimates. Linear regressions follow, with rare categories.

A run is kept in out/limits.jsonl, one line for each setting, and goes on where it stopped. The lines become a part of
docs/evidence/coverage.md; the exit code is 1 if a goal is missed.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.progress import track
from scipy.stats import binom

import discreet as dc
from discreet.mechanisms import BLOCK_MECHANISMS
from papers.data.drawn_tallies import draw_tally

ROOT = Path(__file__).resolve().parent.parent
KEPT, PAGE = ROOT / "out" / "limits.jsonl", ROOT / "docs" / "evidence" / "coverage.md"
HEADING = "## Few informative reports"
LAWS = {
    "rr": (16, (8, 8)),
    "subset": (8, (6, 6)),
    "unary": (8, (6, 6)),
    "hashing": (8, (6, 6)),
    "hadamard": (31, (15, 9)),
    "paley": (16, (7, 9)),
    "design": (8, (6, 6)),
    "windows": (32, (8, 24)),
}
EPSILONS, TOLD = (0.3, 1.0, 3.0), (0.3, 1.0, 3.0, 10.0, 30.0, 1000.0)
ENOUGH = 10
LEAST_MEAN, LEAST, ABSURD, RARE = 0.95, 0.88, 0.80, 300
REGRESSION_LEAST, MOST_FALSE = 0.9, 0.09
"""Goals of each regression: the least coverage, and the most false positives."""
COLUMNS = ["cells", "held", "worst", "below 88%", "errors, 5% to 95%", "errors right", "few reports", "worst of these"]
ERRORS, ERRORS_HELD = (0.8, 1.3), 0.98


class GridSetting(NamedTuple):
    """One setting of the grid.

    Attributes:
        law: name of the mechanism.
        notion: LDP, ULDP, or two ranges of windows.
        epsilon: of the mechanism.
        truth: name of the true distribution.
        told: how many reports are expected to tell the truth.
    """

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
                yield GridSetting(law, notion, epsilon, truth, told)


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


def measured(setting: GridSetting, runs: int) -> dict[str, Any]:
    """Return the share of intervals that held, their lengths, and errors over deviations, by question."""
    mechanism = mechanism_of(setting)
    domain, truth = mechanism.domain, float(mechanism.numbers.truth)
    n, p = max(round(setting.told / truth), 1), truth_of(setting.truth, domain)
    asked, rng = questions(domain, p), np.random.default_rng([*map(ord, "".join(map(str, setting)))])
    facts = np.full((len(asked), 4, runs), np.nan)
    for run in range(runs):
        found = dc.estimate(mechanism, draw_tally(mechanism, rng.multinomial(n, p), rng))
        for at, (_, ask, _) in enumerate(asked):
            number = ask(found)
            error = getattr(number, "standard_error", np.nan)
            facts[at, :, run] = (*number.interval(), error, float(getattr(number, "estimate", np.nan)))
    cells = {}
    for (kind, _, true), (low, high, errors, estimates) in zip(asked, facts, strict=True):
        spread = float(np.std(estimates)) if kind not in {"decile", "condition"} else 0.0
        honest = float(np.median(errors) / spread) if spread > 1e-9 else None
        held = np.mean((low <= true + 1e-9) & (high >= true - 1e-9))
        broken = bool(np.isnan([low, high]).any() or (high < low).any())
        cells[kind] = {"held": float(held), "length": float(np.mean(high - low)), "error": honest, "broken": broken}
    return {"setting": [*setting], "n": n, "runs": runs, "cells": cells}


# Regressions: rare categories, with and without an effect, 13 groups, and a slope.


def regressions() -> Iterator[tuple[str, float, str, int]]:
    """Yield law, epsilon, design and n."""
    designs = [f"{few} of 600, {effect}" for few, effect in product((2, 3, 5, 20), ("no effect", "rare", "effect"))]
    cells = [(design, 600) for design in designs] + [
        (d, n) for d in ("separation", "13 groups", "slope") for n in (30, 600)
    ]
    for law, epsilon, (design, n) in product(("rr", "rr ULDP", "unary"), (1.0, 4.0), cells):
        yield law, epsilon, design, n


def people_of(design: str, n: int, rng: Any) -> tuple[dict[str, Any], np.ndarray, str, float]:
    """Return covariates, the share of the first value for each person, the covariate in question, and its effect."""
    place = np.arange(n)
    if design == "separation":
        return {"x": place % 2}, np.where(place % 2, 0.0, 1.0), "x", -1.0
    if design == "13 groups":
        columns = {f"g{group}": (place % 13 == group).astype(float) for group in range(1, 13)}
        return columns, np.full(n, 0.3), "g5", 0.0
    if design == "slope":
        x = rng.uniform(-1, 1, n)
        return {"x": x}, 0.1 + 0.1 * x, "x", 0.1
    few, kind = int(design.split(maxsplit=1)[0]), design.split(", ")[1]
    inside, outside = {"no effect": (0.5, 0.5), "rare": (0.02, 0.02), "effect": (0.5, 0.02)}[kind]
    return {"x": (place < few).astype(float)}, np.where(place < few, inside, outside), "x", inside - outside


def regressed(law: str, epsilon: float, design: str, n: int, runs: int) -> dict[str, Any]:
    """Return the share of intervals of a coefficient that held, and of false positives."""
    size, sensitive = (2, None) if law == "rr" else (2, [0]) if law == "rr ULDP" else (7, range(4))
    mechanism = BLOCK_MECHANISMS[law.split(maxsplit=1)[0]](dc.Domain(range(size), sensitive=sensitive), epsilon)
    rng, held, false, errors, found = np.random.default_rng([n, *map(ord, law + design)]), 0, 0, [], []
    for run in range(runs):
        columns, share, name, truth = people_of(design, n, rng)
        codes = np.where(rng.random(n) < share, 0, rng.integers(1, size, n))
        reports = mechanism.obfuscate_codes(codes, random=dc.SeededRandom(run))
        result = dc.regress(mechanism, reports, columns, values=[0])
        row = next(one for one in result.rows() if one.covariate == name)
        held += row.lower - 1e-9 <= truth <= row.upper + 1e-9
        false += row.p_value < 0.05
        errors.append(row.standard_error)
        found.append(row.coefficient)
    spread = float(np.std(found))
    cell = {
        "held": held / runs,
        "false": false / runs if truth == 0 else None,
        "error": float(np.median(errors)) / spread,
    }
    return {"regression": [law, epsilon, design, n], "runs": runs, "cell": cell}


def carry_on(runs: int, kept: Path) -> None:
    """Measure what the kept lines lack, line by line."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    known = [json.loads(line) for line in lines]
    done = {tuple(each.get("setting") or each["regression"]) for each in known}
    with kept.open("a", encoding="utf-8") as file:
        left = [each for each in settings() if tuple(each) not in done]
        # Mixed, so that a run that is cut short is a fair part of the grid.
        order = np.random.default_rng(1).permutation(len(left))
        for setting in track([left[at] for at in order], description="sums"):
            file.write(json.dumps(measured(setting, runs)) + "\n")
            file.flush()
        for asked in track([each for each in regressions() if each not in done], description="regressions"):
            file.write(json.dumps(regressed(*asked, runs)) + "\n")
            file.flush()


class GridCell(NamedTuple):
    """One question in one setting: where, the number of reports, the question, what was found, and the runs."""

    setting: GridSetting
    n: int
    kind: str
    found: dict[str, Any]
    runs: int


def cells_of(known: Sequence[dict[str, Any]]) -> list[GridCell]:
    """Return the cells of kept lines."""
    grid = [each for each in known if "setting" in each]
    return [
        GridCell(GridSetting(*each["setting"]), each["n"], kind, found, each["runs"])
        for each in grid
        for kind, found in each["cells"].items()
    ]


def missed_by(cells: Sequence[GridCell]) -> list[str]:
    """Return the goals that were missed; of a cell only where chance does not explain it, among all cells."""
    missed = [f"{cell.setting}, {cell.kind}: not numbers in order" for cell in cells if cell.found["broken"]]
    enough = [cell for cell in cells if cell.n >= ENOUGH]
    for cell in enough:
        least = binom.ppf(0.05 / len(enough), cell.runs, LEAST) / cell.runs
        if cell.found["held"] < least:
            missed.append(f"{', '.join(map(str, cell.setting))}, n = {cell.n}, {cell.kind}: {cell.found['held']:.0%}")
    below, mean = (sum(cell.found["held"] < LEAST for cell in enough), np.mean([cell.found["held"] for cell in enough]))
    by_chance = binom.cdf(np.ceil(LEAST * cells[0].runs) - 1, cells[0].runs, 0.95)
    if below > len(enough) * (1 / RARE + by_chance):
        missed.append(f"{below} of {len(enough)} cells below {LEAST:.0%}")
    errors = [cell.found["error"] for cell in enough if cell.found["error"] is not None]
    honest = np.mean([ERRORS[0] <= error <= ERRORS[1] for error in errors])
    if honest < ERRORS_HELD:
        missed.append(f"standard errors, right in {honest:.1%} of the cells")
    short = sum(cell.found["held"] < LEAST for cell in cells if cell.n < ENOUGH)
    if short:
        missed.append(f"cells of fewer than {ENOUGH} reports below {LEAST:.0%}: {short}")
    return missed if mean >= LEAST_MEAN else [*missed, f"the mean, {mean:.1%}"]


def regressions_missed(known: Sequence[dict[str, Any]]) -> list[str]:
    """Return the goals of regressions that were missed, without an allowance for chance."""
    cells = [each["cell"] for each in known]
    short = sum(cell["held"] < REGRESSION_LEAST for cell in cells)
    false = sum(cell["false"] is not None and cell["false"] > MOST_FALSE for cell in cells)
    missed = [f"regressions with limits below {REGRESSION_LEAST:.0%}: {short}"] if short else []
    return [*missed, *([f"regressions with false positives above {MOST_FALSE:.0%}: {false}"] if false else [])]


def row(name: str, cells: Sequence[GridCell]) -> list[str]:
    """Return the summary of some cells."""
    enough, few = ([cell.found for cell in cells if (cell.n >= ENOUGH) == many] for many in (True, False))
    held = [cell["held"] for cell in enough]
    errors = [cell["error"] for cell in enough if cell["error"] is not None]
    honest = [ERRORS[0] <= error <= ERRORS[1] for error in errors]
    low, high = np.quantile(errors, [0.05, 0.95]) if errors else (np.nan, np.nan)
    spread = [f"{low:.2f} to {high:.2f}", f"{np.mean(honest):.0%}"] if errors else ["", ""]
    below, worst = f"{sum(one < LEAST for one in held)}", f"{min(cell['held'] for cell in few):.0%}" if few else ""
    return [
        name,
        f"{len(enough):,}",
        f"{np.mean(held):.1%}",
        f"{min(held):.0%}",
        below,
        *spread,
        f"{len(few):,}",
        worst,
    ]


def write(known: Sequence[dict[str, Any]], page: Path) -> list[str]:
    """Write that part of the page; return the goals that were missed."""
    cells, regressed_cells = cells_of(known), [each for each in known if "regression" in each]
    places, kinds = (sorted({key(cell) for cell in cells}) for key in (_place, lambda cell: cell.kind))
    measured_settings, every, runs = len({cell.setting for cell in cells}), len([*settings()]), cells[0].runs
    by_chance = binom.cdf(np.ceil(LEAST * runs) - 1, runs, 0.95)
    missed = [*missed_by(cells), *regressions_missed(regressed_cells)]
    lines = [
        HEADING,
        "",
        "Limits and standard errors where 0.3, 1, 3, 10, 30 and 1,000 reports are expected to tell the truth.",
        "Epsilon is 0.3, 1 and 3. Values are uniform, Zipf, or one for all people; all are protected, or none.",
        f"A cell is one question in one of {measured_settings:,} settings, of {every:,} in all. Each has {runs} runs.",
        f"Goals from {ENOUGH} reports on: {LEAST_MEAN:.0%} on average, and at most 1 cell in {RARE} below {LEAST:.0%}.",
        f"Of {runs} runs at 95%, fewer than {LEAST:.0%} hold by chance in {by_chance:.1%} of the cells.",
        f"Median errors shall be {ERRORS[0]:g} to {ERRORS[1]:g} standard deviations in {ERRORS_HELD:.0%} of the cells.",
        "Of fewer reports limits are everything that is possible, unless a count is binomial.",
        "Made by `tools/measure_limits.py`, seeded.",
        "",
        *table("mechanism", [row(place, [cell for cell in cells if _place(cell) == place]) for place in places]),
        "",
        *table("question", [row(kind, [cell for cell in cells if cell.kind == kind]) for kind in kinds]),
        *table("", [row("all", cells)])[2:],
        "",
        *(regression_lines(regressed_cells) if regressed_cells else []),
        f"**{'All met.' if not missed else f'{len(missed)} missed: ' + '; '.join(missed[:20]) + '.'}**",
        "",
    ]
    text = page.read_text(encoding="utf-8")
    before, found, part = text.partition(f"\n{HEADING}\n")
    after = part.partition("\n## ") if found else ("", "", "")
    page.write_text(before.rstrip("\n") + "\n\n" + "\n".join(lines) + "".join(after[1:]), encoding="utf-8")
    return missed


def _place(cell: GridCell) -> str:
    return f"{cell.setting.law} {cell.setting.notion}"


def regression_lines(known: Sequence[dict[str, Any]]) -> list[str]:
    """Return the sentences on linear regressions."""
    held = [each["cell"]["held"] for each in known]
    false = [each["cell"]["false"] for each in known if each["cell"]["false"] is not None]
    which = ", ".join(map(str, min(known, key=lambda each: each["cell"]["held"])["regression"]))
    return [
        f"Linear regressions, {len(known)} cells: categories of 2 to 20 of 600 people, 13 groups, slopes, separation.",
        f"Limits of a coefficient held {np.mean(held):.1%} on average, at worst {min(held):.0%} ({which}).",
        f"No effect was called significant at 5% in {np.mean(false):.1%}, at worst in {max(false):.0%}.",
        "",
    ]


def table(name: str, rows: list[list[str]]) -> list[str]:
    """Return the lines of a table of summaries."""
    head = [name, *COLUMNS]
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * len(COLUMNS)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def main() -> int:
    """Measure what is missing, write the part of the page, and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--kept", type=Path, default=KEPT)
    parser.add_argument("--write", action="store_true", help="write the page from what is kept, measuring nothing")
    options = parser.parse_args()
    if not options.write:
        carry_on(options.runs, options.kept)
    known = [json.loads(line) for line in options.kept.read_text(encoding="utf-8").splitlines()]
    missed = write(known, PAGE)
    print("\n".join(missed) or "all goals met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
