"""Measures what the intervals of sums, conditions, differences, ratios and shown rows promise, by simulation.

*Functionals*: a survey of 6 ages by 4 answers, of which one answer is sensitive (ULDP) or all are (LDP), at epsilon
0.3, 1 and 3 and n = 300, 1,000 and 10,000: totals, differences, conditions and ratios of sets in clear, of sensitive
ones, and of both; all of them, and those of which every set has 0.3 to 30 expected counts, n s p. *Shown rows*: the 15
largest of 100, 1,000 and 10,000 values, uniform and skewed. Coverage is of 95% intervals. A quantity misses the least
that is asked where an exact binomial test rejects it at 5%, divided by the number of quantities looked at. Writes that
part of docs/evidence/coverage.md, and exits with 1 if a goal is missed.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from evidence_page import replace_section, table
from rich.progress import track
from scipy.stats import binom

import discreet as dc
from discreet.mechanisms import BLOCK_MECHANISMS
from papers.data.drawn_tallies import can_draw, draw_tally

HEADING = "## Sums, conditions, differences and ratios"
AGES, ANSWERS = [f"{10 * age}s" for age in range(2, 8)], ["ill", "well", "unsure", "other"]
P = np.array([0.05, 0.6, 0.05, 0.01])[None] * np.array([0.3, 0.25, 0.2, 0.15, 0.07, 0.03])[:, None]
P[:, 0] = [0.02, 0.03, 0.04, 0.06, 0.08, 0.06]
P = (P / P.sum()).reshape(-1)
LAWS, EPSILONS, SIZES = ("rr", "unary", "subset", "hadamard", "hashing"), (0.3, 1.0, 3.0), (300, 1000, 10_000)
KINDS = ("total", "difference", "condition", "ratio")
FEW, MEAN, WORST = (0.3, 30.0), 0.93, 0.88
SHOWN = 15


def _domain(notion: str) -> dc.Domain:
    sensitive = [{"answer": "ill"}] if notion == "ULDP" else None
    return dc.Domain.product({"age": AGES, "answer": ANSWERS}, sensitive=sensitive)


def asked(domain: dc.Domain) -> Iterator[tuple[str, str, Any, Any, Any]]:
    """Yield kind, sets, a function that asks an estimate, the truths, and the share of the smallest set behind each."""
    table = domain.table()

    def share(**labels: list[str]) -> np.ndarray:
        mask = np.ones(len(P), dtype=bool)
        for name, chosen in labels.items():
            mask &= np.isin(np.array(table[name].tolist()), chosen)
        return mask

    sets = {
        "in clear": (share(answer=["other"], age=AGES[:3]), share(answer=["unsure"], age=AGES[3:])),
        "few in clear": (share(answer=["other"], age=AGES[3:]), share(answer=["other"], age=AGES[:2])),
        "mixed": (share(age=AGES[:1]), share(age=AGES[4:])),
        "mixed, few": (share(age=AGES[5:], answer=ANSWERS[:3]), share(answer=["unsure"])),
        "sensitive": (share(answer=["ill"], age=AGES[:3]), share(answer=["ill"], age=AGES[4:])),
    }
    for name, (one, other) in sets.items():
        a, b = P[one].sum(), P[other].sum()
        least = [min(a, b)]
        yield "total", name, lambda e, m=one: [e.total(m).interval()], [a], [a]
        yield "total", name, lambda e, m=other: [e.total(m).interval()], [b], [b]
        yield "difference", name, lambda e, m=one, o=other: [e.difference(m, o).interval()], [a - b], least
        yield "ratio", name, lambda e, m=one, o=other: [e.ratio(m, o).interval()], [a / b], least
        yield "ratio", name, lambda e, m=one, o=other: [e.ratio(m, m | o).interval()], [a / (a + b)], least
    grid = P.reshape(len(AGES), len(ANSWERS))
    for at, answer in enumerate(ANSWERS):
        name, row = "sensitive" if at == 0 else "in clear" if at < 3 else "few in clear", grid[:, at]
        yield "condition", name, lambda e, a=answer: _ends(e.where(answer=a)), row / row.sum(), row
    for at, age in enumerate(AGES):
        name, row = "mixed" if at < 4 else "mixed, few", grid[at]
        yield "condition", name, lambda e, a=age: _ends(e.where(age=a)), row / row.sum(), row


def _ends(estimate: dc.Estimate) -> list[tuple[float, float]]:
    return list(zip(*estimate.interval(), strict=True))


class HeldTimes(NamedTuple):
    """The number of intervals of one quantity that held, the expected counts of its smallest set, and its place."""

    kind: str
    times: int
    counts: float
    where: str


def functionals(law: str, notion: str, epsilon: float, n: int, runs: int) -> list[HeldTimes]:
    """Return the number of intervals that held, of every quantity."""
    domain = _domain(notion)
    mechanism = BLOCK_MECHANISMS[law](domain, epsilon)
    questions, rng = list(asked(domain)), np.random.default_rng([n, int(10 * epsilon), LAWS.index(law)])
    held = [np.zeros(len(truths), np.int64) for *_, truths, _ in questions]
    for run in range(runs):
        people = rng.multinomial(n, P)
        if can_draw(mechanism):
            estimate = dc.estimate(mechanism, draw_tally(mechanism, people, rng))
        else:
            codes = np.repeat(np.arange(len(P)), people)
            estimate = dc.estimate(mechanism, mechanism.obfuscate_codes(codes, random=dc.SeededRandom(run)))
        for at, (_, _, ask, truths, _) in enumerate(questions):
            held[at] += [low - 1e-12 <= p <= high + 1e-12 for (low, high), p in zip(ask(estimate), truths, strict=True)]
    told, where = n * float(mechanism.coefficients.truth), f"epsilon = {epsilon:g}, n = {n:,}"
    return [
        HeldTimes(kind, int(times), told * share, f"{sets}, {where}")
        for (kind, sets, _, _, shares), each in zip(questions, held, strict=True)
        for times, share in zip(each, shares, strict=True)
    ]


def summary(found: Sequence[HeldTimes], runs: int) -> str:
    """Return the mean coverage and the worst one."""
    held = [each.times / runs for each in found]
    return f"{np.mean(held):.1%}, {min(held):.0%}" if held else "-"


def shown_rows(law: str, size: int, truth: str, runs: int) -> tuple[float, float]:
    """Return the mean coverage of the intervals of the largest values, as shown and pointwise."""
    domain = dc.Domain(range(size))
    p = np.full(size, 1 / size) if truth == "uniform" else 1 / np.arange(1.0, size + 1)
    p /= p.sum()
    mechanism, rng = BLOCK_MECHANISMS[law](domain, 1.0), np.random.default_rng(size)
    held = np.zeros(2)
    for run in range(runs):
        people = rng.multinomial(20_000, p)
        if law == "unary":
            tally = draw_tally(mechanism, people, rng)
        else:
            codes = np.repeat(np.arange(size), people)
            tally = mechanism.tally(mechanism.obfuscate_codes(codes, random=dc.SeededRandom(run)))
        estimate = dc.estimate(mechanism, tally)
        codes = estimate.largest(SHOWN)
        for at, shown in enumerate((SHOWN, None)):
            low, high = (end[codes] for end in estimate.interval(shown=shown))
            held[at] += ((low <= p[codes]) & (p[codes] <= high)).mean()
    return float(held[0] / runs), float(held[1] / runs)


def main() -> int:
    """Measure, write the last part of the page, and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="of laws whose tallies can be drawn")
    parser.add_argument("--report-runs", type=int, default=20, help="of the others, which make every report")
    parser.add_argument("--shown-runs", type=int, default=40)
    parser.add_argument("--laws", nargs="*", default=list(LAWS))
    parser.add_argument("--dry", action="store_true", help="write no page")
    options = parser.parse_args()
    missed, by_law = [], {}
    cells = list(product(options.laws, ("LDP", "ULDP")))
    for law, notion in track(cells, description="functionals"):
        runs = options.runs if law in {"rr", "unary"} else options.report_runs
        each = [functionals(law, notion, epsilon, n, runs) for epsilon, n in product(EPSILONS, SIZES)]
        by_law[f"{law} {notion}"] = runs, [held for some in each for held in some]
    asked_of = sum(FEW[0] <= held.counts <= FEW[1] for _, found in by_law.values() for held in found)
    rows = []
    for name, (runs, found) in by_law.items():
        # The least number of runs that the test does not reject, of all that are looked at.
        chance = int(binom.ppf(0.05 / max(asked_of, 1), runs, WORST))
        few = [held for held in found if FEW[0] <= held.counts <= FEW[1]]
        for counted, some in (("all", found), ("0.3 to 30", few)):
            kinds = [[held for held in some if held.kind == kind] for kind in KINDS]
            least = f"{chance / runs:.0%}" if some is few else ""
            rows.append([name, counted, f"{runs:,}", *(summary(kind, runs) for kind in kinds), least])
            print(rows[-1])
            for kind, ours in zip(KINDS, kinds, strict=True):
                if ours and sum(held.times for held in ours) / (len(ours) * runs) < MEAN:
                    missed.append(f"{name}, {kind}, counts {counted}: {summary(ours, runs)}")
        missed += [
            f"{name}, {held.kind} ({held.where}): {held.times / runs:.1%}" for held in few if held.times < chance
        ]
    shown = []
    asked_rows = list(product(("unary", "hashing"), (100, 1000, 10_000), ("uniform", "Zipf")))
    for law, size, truth in track(asked_rows if options.shown_runs else []):
        if law == "hashing" and size > 1000:
            continue
        held, pointwise = shown_rows(law, size, truth, options.shown_runs)
        shown.append([f"{law}, {truth}", f"{size:,}", f"{held:.1%}", f"{pointwise:.1%}"])
        if held < 0.95 - 3 * (0.05 * 0.95 / (SHOWN * options.shown_runs)) ** 0.5:
            missed.append(f"shown rows of {law}, {size:,} values, {truth}: {held:.1%}")
        print(shown[-1])
    if not options.dry:
        write(rows, shown, options.shown_runs, missed)
    print("\n".join(missed) or "all goals met")
    return 1 if missed else 0


def write(rows: list[list[str]], shown: list[list[str]], shown_runs: int, missed: list[str]) -> None:
    """Write that part of the page."""
    lines = [
        "A survey of 6 ages by 4 answers; under ULDP one answer is sensitive. Epsilon 0.3, 1 and 3, n = 300, 1,000 and",
        "10,000: mean over all quantities, and the worst one; then of those whose smallest set has 0.3 to 30 expected",
        f"counts, n s p. Goals: mean {MEAN:.0%}; at these counts no quantity below {WORST:.0%}. One is missed where an",
        "exact binomial test rejects this at 5%, divided by the number of quantities looked at: below the last column.",
        "Made by `tools/measure_sums.py`, seeded.",
        "",
        *table(["mechanism", "counts", "runs", *KINDS, "missed below"], rows, 2),
        "",
        f"Rows that are shown because they are the {SHOWN} largest, epsilon = 1, n = 20,000, {shown_runs} runs: the",
        "share of shown intervals that hold, and of pointwise ones in their place. Goal: 95%.",
        "",
        *table(["mechanism, truth", "values", "shown", "pointwise"], shown),
        "",
        f"**{'All met.' if not missed else f'{len(missed)} missed: ' + '; '.join(missed) + '.'}**",
    ]
    replace_section(HEADING, lines)


if __name__ == "__main__":
    sys.exit(main())
