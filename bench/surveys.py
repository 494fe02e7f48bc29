"""Surveys: single attributes beside another package, pairs of one likelihood beside each by itself; asking again."""

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import exp, expm1
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np

import discreet as dc
from bench.companions import Peers, peers
from bench.measure import Cell, Group, Row, judged, progress
from bench.windows import deciles, numbers

FOLDER, CENSUS = "DISCREET_DATA", "census_income_kdd.parquet"
ATTRIBUTES = ("marital_status", "household_summary", "sex", "race", "income")
PEOPLE, RUNS, QUICK_PEOPLE = 50_000, 4, 2_000
METHODS = ("linear", "projected", "consistent", "joint")
COLUMNS = (*METHODS, "joint / projected", "CPU seconds")
# By epsilon: the largest error of `joint` in units of that of `projected`.
GOALS = {1.0: 0.6, 3.0: 0.55, 5.0: 0.5}
_MOST_SECONDS = 1.0
CHAINS, CHAIN_VALUES = ((2.0, 1.0), (4.0, 2.0)), (2, 10, 100)
CHAIN_COLUMNS = ("ours", "L-OSUE", "RAPPOR", "L-OSUE / ours", "CPU seconds")
ROUNDS_PEOPLE, ROUNDS, MOST_ROUNDS_SECONDS = 1_000_000, 12, 5.0


NINE = (
    "class_of_worker", "education", "marital_status", "major_occupation", "household_summary", "race", "sex",
    "self_country", "income",
)  # fmt: skip
# By epsilon: the largest error in units of that of the best of the other package's ways.
SINGLES = {1.0: 1 / 3, 3.0: 0.6}
# SPL and RS+FD take a minute of CPU in these, and are four times and more behind the best.
PEER, SOLUTIONS, FASTER = "multi-freq-ldpy", {"SPL": 2, "SMP": 10, "RS+FD": 2}, 50
SINGLE_RUNS, OUR_RUNS = 10, 40


def run(*, quick: bool = False) -> Group:
    """Measure every table."""
    further = pairs, rounds, numbers, deciles
    return replace(singles(quick=quick), also=tuple(group(quick=quick) for group in further), spread=True)


def rounds(*, quick: bool) -> Group:
    """Work out variances of a round beside those of bitwise chains, and measure the simulation of people in rounds."""
    rows = [_chain_row(size, *epsilons) for epsilons in CHAINS for size in CHAIN_VALUES]
    people = QUICK_PEOPLE if quick else ROUNDS_PEOPLE
    rows += [_rounds_row(law, people) for law in ("rr", "hadamard")]
    notes = [
        "n Var of a value that nobody has, exactly. L-OSUE (multi-freq-ldpy): by its formula, which is that of OUE "
        "with the epsilon of one round; RAPPOR: permanent and instantaneous bits of basic RAPPOR, by their coins.",
        f"People in rounds: {ROUNDS_PEOPLE:,} people answer {ROUNDS} times about ten values, one in ten changes at "
        "random in each round; a memo for each person and value, and a second coin for every report.",
    ]
    return Group("Surveys: again and again", CHAIN_COLUMNS, rows, notes)


def _chain_row(size: int, whole: float, first: float) -> Row:
    domain = dc.Domain(range(size))
    nobody = np.eye(size)[0]
    laws = [dc.SubsetSelection(domain, first, k=k) for k in {*range(1, min(size, 12)), max(size // 4, 1)}]
    memo = dc.Memo(min(laws, key=lambda law: law.decoder.variances(1, nobody)[1]), infinity=whole)
    ours = float(memo.mechanism.decoder.variances(1, nobody)[1])
    chain = 4 * exp(first) / expm1(first) ** 2
    cells = {"ours": ours, "L-OSUE": chain, "RAPPOR": _rappor(whole, first), "L-OSUE / ours": chain / ours}
    task = f"{size} values, epsilon = {whole:g} in all, {first:g} of one round"
    return Row(task, cells, *judged(("no more than L-OSUE", ours <= chain * (1 + 1e-12))))


def _rappor(whole: float, first: float) -> float:
    """Return n Var of a value that nobody has, where both coins of a bit are symmetric."""
    told, once = (exp(epsilon / 2) / (exp(epsilon / 2) + 1) for epsilon in (whole, first))
    again = (once - 1 + told) / (2 * told - 1)
    return once * (1 - once) / ((2 * told - 1) * (2 * again - 1)) ** 2


def _rounds_row(law: str, people: int) -> Row:
    builder = {"rr": dc.RandomizedResponse, "hadamard": dc.HadamardResponse}[law]
    draws = np.random.default_rng(1)
    first = draws.integers(0, 10, people)
    codes = np.where(draws.random((ROUNDS, people)) < 0.9, first, draws.integers(0, 10, (ROUNDS, people))).reshape(-1)
    who, when = np.tile(np.arange(people), ROUNDS), np.repeat(np.arange(ROUNDS), people)
    memo = dc.Memo(builder(dc.Domain(range(10)), 1.0), infinity=2.0)
    progress(f"{law} in rounds")
    start = process_time()
    memo.obfuscate_rounds(codes, who, when, random=dc.SeededRandom(1))
    spent = process_time() - start
    goal = f"<= {MOST_ROUNDS_SECONDS:g} CPU s"
    return Row(
        f"{people:,} people in {ROUNDS} rounds, {law}", {"CPU seconds": spent}, goal, spent <= MOST_ROUNDS_SECONDS
    )


def singles(*, quick: bool) -> Group:
    """Measure the tables of nine attributes of the census, one of each person, beside another package's."""
    table = census(QUICK_PEOPLE if quick else PEOPLE, NINE)
    with peers(PEER) as beside:
        rows = [
            _singles_row(epsilon, most, table, 1 if quick else SINGLE_RUNS, beside) for epsilon, most in SINGLES.items()
        ]
    notes = [
        f"The first {PEOPLE:,} people of {CENSUS}, where {FOLDER} names a folder with it: {', '.join(NINE)}. Mean over "
        "the nine tables of the summed squared error, against those of these people, at the same epsilon of whole "
        f"records; {OUR_RUNS} runs, {SINGLE_RUNS} of SMP, 2 of SPL and RS+FD. Of {PEER} the better of randomized "
        "response and adaptive.",
        "CPU seconds, clients and server, of one run: the median. Kernels are loaded before.",
        *beside.notes,
    ]
    columns = (*SOLUTIONS, "linear", "projected", "projected / best", "CPU seconds", f"{PEER}, CPU seconds", "faster")
    return Group("Surveys: single attributes", columns, rows, notes)


def _singles_row(epsilon: float, share: float, table: Any, runs: int, beside: Peers) -> Row:
    wanted = f"projected / best <= {share:.2g}", f">= {FASTER} times faster"
    if table is None:
        return Row(f"epsilon = {epsilon:g}", {}, ", ".join(wanted))
    with TemporaryDirectory() as folder:
        path = f"{folder}/census.npz"
        np.savez(path, **table)
        others = {}
        for solution, most in SOLUTIONS.items():
            progress(f"epsilon = {epsilon:g}, {solution}")
            given = {"path": path, "epsilon": epsilon, "solution": solution, "runs": min(runs, most)}
            for measured in beside.ask("singles", **given).values():
                others[solution] = measured
    ours = _singles_of_ours(epsilon, table, OUR_RUNS if runs > 1 else 1)
    cells: dict[str, Cell] = {solution: measured[0] for solution, measured in others.items()} | ours
    if not others:
        return Row(f"epsilon = {epsilon:g}", cells, ", ".join(wanted))
    best = min(others.values())
    ratio, faster = float(ours["projected"]) / best[0], best[1] / float(ours["CPU seconds"])
    cells |= {"projected / best": ratio, f"{PEER}, CPU seconds": best[1], "faster": faster}
    return Row(f"epsilon = {epsilon:g}", cells, *judged((wanted[0], ratio <= share), (wanted[1], faster >= FASTER)))


def _singles_of_ours(epsilon: float, table: dict[str, np.ndarray], runs: int) -> dict[str, float]:
    from discreet.kernels import bits  # noqa: F401

    attributes = {name: dc.Domain(range(int(codes.max()) + 1)) for name, codes in table.items()}
    n = len(table["sex"])
    survey = dc.plan_survey(attributes, epsilon, users=n).survey
    truths = {name: np.bincount(codes) / n for name, codes in table.items()}
    errors, spent = dict.fromkeys(("linear", "projected"), 0.0), []
    for seed in range(runs + 1):
        start = process_time()
        tally = survey.tally(survey.obfuscate(table, random=dc.SeededRandom(seed)))
        answers = dc.estimate_survey(survey, tally, method="projected")
        spent.append(process_time() - start)
        for method, estimates in (
            {"projected": answers, "linear": dc.estimate_survey(survey, tally)}.items() if seed else ()
        ):
            squares = [float(((estimates[name].frequencies - truth) ** 2).sum()) for name, truth in truths.items()]
            errors[method] += float(np.mean(squares)) / runs
    return {**errors, "CPU seconds": float(np.median(spent[1:]))}


def pairs(*, quick: bool) -> Group:
    """Measure all pairs of five attributes of the census, one pair of each person."""
    table = census(QUICK_PEOPLE if quick else PEOPLE)
    rows = [_pairs_row(epsilon, most, table, 1 if quick else RUNS) for epsilon, most in GOALS.items()]
    notes = [
        f"The first {PEOPLE:,} people of {CENSUS}, where {FOLDER} names a folder with it: {', '.join(ATTRIBUTES)}; "
        "1,120 combinations. Mean over the ten tables of the summed squared error, against the tables of these people; "
        f"{RUNS} runs. Record epsilon, each person asked about one pair, shares and mechanisms by `plan_survey`.",
        "CPU seconds: of `joint`, certified to a tenth of a nat over all reports, the median.",
    ]
    return Group("Surveys: pairs of five attributes", COLUMNS, rows, notes)


def census(people: int, names: Sequence[str] = ATTRIBUTES) -> dict[str, np.ndarray] | None:
    """Return the codes of each attribute; None if the file is not at hand."""
    path = Path(os.environ.get(FOLDER, "")) / CENSUS
    if not path.is_file():
        return None
    from pyarrow.parquet import read_table

    table = read_table(path, columns=list(names)).slice(0, people)
    return {name: np.unique(table[name].to_numpy(), return_inverse=True)[1] for name in names}


def _pairs_row(epsilon: float, most: float, table: dict[str, np.ndarray] | None, runs: int) -> Row:
    task = f"epsilon = {epsilon:g}"
    wanted = f"joint / projected <= {most:g}", f"<= {_MOST_SECONDS:g} CPU s"
    if table is None:
        return Row(task, {}, ", ".join(wanted))
    progress(task)
    attributes = {name: dc.Domain(range(int(codes.max()) + 1)) for name, codes in table.items()}
    n = len(table["sex"])
    survey = dc.plan_survey(attributes, epsilon, "pairs", n, answers=1).survey
    truths = {
        f"{a},{b}": np.bincount(
            table[a] * attributes[b].size + table[b], minlength=attributes[a].size * attributes[b].size
        )
        / n
        for a, b in combinations(ATTRIBUTES, 2)
    }
    errors, spent = dict.fromkeys(METHODS, 0.0), []
    for seed in range(runs):
        reports = survey.obfuscate_codes(table, random=dc.SeededRandom(seed))
        for method in METHODS:
            start = process_time()
            answers = dc.estimate_survey(survey, reports, method=method)
            if method == "joint":
                spent.append(process_time() - start)
            squares = [float(((answers[name].frequencies - truth) ** 2).sum()) for name, truth in truths.items()]
            errors[method] += float(np.mean(squares)) / runs
    ratio, seconds = errors["joint"] / errors["projected"], float(np.median(spent))
    cells = {**errors, "joint / projected": ratio, "CPU seconds": seconds}
    return Row(task, cells, *judged((wanted[0], ratio <= most), (wanted[1], seconds <= _MOST_SECONDS)))
