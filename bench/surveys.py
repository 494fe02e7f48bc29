"""Surveys: tables of pairs of one likelihood beside those of each question by itself."""

import os
from itertools import combinations
from pathlib import Path
from time import process_time

import numpy as np

import discreet as dc
from bench.measure import Group, Row, judged, progress

FOLDER, CENSUS = "DISCREET_DATA", "census_income_kdd.parquet"
ATTRIBUTES = ("marital_status", "household_summary", "sex", "race", "income")
PEOPLE, RUNS, QUICK_PEOPLE = 50_000, 4, 2_000
METHODS = ("linear", "projected", "consistent", "joint")
COLUMNS = (*METHODS, "joint / projected", "CPU seconds")
# By epsilon: the largest error of `joint` in units of that of `projected`.
GOALS = {1.0: 0.6, 3.0: 0.55, 5.0: 0.5}
_MOST_SECONDS = 1.0


def run(*, quick: bool = False) -> Group:
    """Measure every table."""
    return pairs(quick=quick)


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


def census(people: int) -> dict[str, np.ndarray] | None:
    """Return the codes of each attribute; None if the file is not at hand."""
    path = Path(os.environ.get(FOLDER, "")) / CENSUS
    if not path.is_file():
        return None
    from pyarrow.parquet import read_table

    table = read_table(path, columns=list(ATTRIBUTES)).slice(0, people)
    return {name: np.unique(table[name].to_numpy(), return_inverse=True)[1] for name in ATTRIBUTES}


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
            answers = dc.estimate(survey, reports, method=method)
            if method == "joint":
                spent.append(process_time() - start)
            squares = [float(((answers[name].frequencies - truth) ** 2).sum()) for name, truth in truths.items()]
            errors[method] += float(np.mean(squares)) / runs
    ratio, seconds = errors["joint"] / errors["projected"], float(np.median(spent))
    cells = {**errors, "joint / projected": ratio, "CPU seconds": seconds}
    return Row(task, cells, *judged((wanted[0], ratio <= most), (wanted[1], seconds <= _MOST_SECONDS)))
