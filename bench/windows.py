"""Numbers: windows and the smooth estimate beside Square Wave with EMS and the Piecewise Mechanism, from the papers.

Deciles stand beside those of another package's trees.
"""

import os
import warnings
from math import exp
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np

import discreet as dc
from bench.companions import Peers, peers
from bench.measure import Cell, Group, Row, judged, progress

FOLDER, CENSUS, BINS = "DISCREET_DATA", "census_income_kdd.parquet", 256
PEOPLE, RUNS, SPIKES = {"ages": 50_000, "beta(5, 2)": 100_000, "heaped": 100_000}, 6, (0.2, 0.5, 0.52, 0.9)
COLUMNS = ("W1", "W1 of EMS", "ratio", "mean / Piecewise", "CPU seconds")
# By data and epsilon: the largest W1 in units of that of Square Wave with EMS.
GOALS = {"ages": {1.0: 1.1, 3.0: 1.1}, "beta(5, 2)": {1.0: 1.1, 3.0: 1.1}, "heaped": {1.0: 0.7, 3.0: 0.7}}
TREES, SHARES, DECILE_RUNS, OUR_RUNS, MOST = "ldp-hierarchical-mechanism", np.arange(1, 10) / 10, 4, 20, 0.8
DECILE_COLUMNS = ("smooth", "tree", "its branches", "smooth / tree")


def square_wave(bins: int, epsilon: float) -> int:
    """Return k of Square Wave's width b, whose mutual information is largest [Li et al., SIGMOD 2020]."""
    odds = exp(epsilon)
    return max(round(bins * (epsilon * odds - odds + 1) / (odds * (odds - 1 - epsilon))), 1)


def ems(matrix: np.ndarray, counts: np.ndarray, epsilon: float) -> np.ndarray:
    """Return the frequencies that EM with the smoothing step (1, 2, 1)/4 reaches, by the rule of its paper."""
    p, before = np.full(len(matrix), 1 / len(matrix)), -np.inf
    for _ in range(10_000):
        p = p * (matrix @ (counts / (p @ matrix)))
        padded = np.pad(p, 1, mode="edge")
        p = (padded[:-2] + 2 * p + padded[2:]) / 4
        p /= p.sum()
        after = counts @ np.log(p @ matrix)
        if abs(after - before) < 1e-3 * exp(epsilon):
            break
        before = after
    return p


def numbers(*, quick: bool) -> Group:
    """Measure Wasserstein distances, and the exact error of the mean."""
    data = _data()
    rows = [
        _row(name, epsilon, most, data.get(name), 1 if quick else RUNS)
        for name, goals in GOALS.items()
        for epsilon, most in goals.items()
    ]
    notes = [
        "W1: Wasserstein distance from the distribution that tallies were drawn from, in thousandths of the range, "
        f"mean of {RUNS} runs over {BINS} bins; Square Wave with its own width, decoded by EMS. Ages: the first 50,000 "
        f"people of {CENSUS}, where {FOLDER} names a folder with it; heaped: half uniform, half at {SPIKES}.",
        "mean / Piecewise: the exact standard error of our mean over that of the middles of windows, which is the "
        "Piecewise Mechanism's, for the same distribution.",
    ]
    return Group("Surveys: numbers", COLUMNS, rows, notes)


def deciles(*, quick: bool) -> Group:
    """Measure the nine deciles of whole numbers beside those of another package's trees."""
    ages = _data().get("ages")
    with peers(TREES) as beside:
        rows = [_decile_row(epsilon, ages, 1 if quick else DECILE_RUNS, beside) for epsilon in (1.0, 3.0)]
    notes = [
        f"Mean absolute error, in years, of the nine deciles of the first {PEOPLE['ages']:,} people of {CENSUS}, at "
        f"the same epsilon of whole records; {OUR_RUNS} runs of windows over 91 ages by `smooth`, {DECILE_RUNS} of "
        f"{TREES}: trees that branch 2, 4, 5 or 10 times, the best of them, each person tells one level.",
        *beside.notes,
    ]
    return Group("Surveys: deciles", DECILE_COLUMNS, rows, notes)


def _decile_row(epsilon: float, ages: np.ndarray | None, runs: int, beside: Peers) -> Row:
    task, wanted = f"ages, epsilon = {epsilon:g}", f"smooth / tree <= {MOST:g}"
    if ages is None:
        return Row(task, {}, wanted)
    progress(f"deciles of {task}")
    years, size = np.rint(ages * 91).astype(np.int64), 91
    with TemporaryDirectory() as folder:
        np.save(f"{folder}/ages.npy", years)
        asked = {"path": f"{folder}/ages.npy", "size": size, "epsilon": epsilon, "shares": SHARES.tolist()}
        trees = beside.ask("quantiles", **asked, runs=runs)
    cells: dict[str, Cell] = {"smooth": _decile_error(epsilon, years, size, OUR_RUNS if runs > 1 else 1)}
    if not trees:
        return Row(task, cells, wanted)
    errors = {branches: error for each in trees.values() for branches, error in each.items()}
    branches = min(errors, key=errors.__getitem__)
    ratio = float(cells["smooth"] or 0) / errors[branches]
    cells |= {"tree": errors[branches], "its branches": branches, "smooth / tree": ratio}
    return Row(task, cells, *judged((wanted, ratio <= MOST)))


def _decile_error(epsilon: float, years: np.ndarray, size: int, runs: int) -> float:
    mechanism = dc.Windows(dc.Domain(range(size)), epsilon)
    truth, away = np.quantile(years, SHARES, method="inverted_cdf"), []
    for seed in range(runs):
        reports = mechanism.obfuscate(years, random=dc.SeededRandom(seed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            estimate = dc.estimate(mechanism, reports, method="smooth")
        away += [
            abs(float(estimate.quantile(share).estimate) - true) for share, true in zip(SHARES, truth, strict=True)
        ]
    return float(np.mean(away))


def _data() -> dict[str, np.ndarray]:
    random = np.random.default_rng(5)
    spiky = np.where(random.random(10**5) < 0.5, random.random(10**5), random.choice(SPIKES, 10**5))
    found = {"beta(5, 2)": random.beta(5, 2, 10**6), "heaped": spiky}
    path = Path(os.environ.get(FOLDER, "")) / CENSUS
    if path.is_file():
        from pyarrow.parquet import read_table

        found["ages"] = read_table(path, columns=["age"])["age"].to_numpy()[:50_000] / 91
    return found


def _row(name: str, epsilon: float, most: float, values: np.ndarray | None, runs: int) -> Row:
    task, wanted = f"{name}, epsilon = {epsilon:g}", (f"ratio <= {most:g}", "mean <= Piecewise")
    if values is None:
        return Row(task, {}, ", ".join(wanted))
    progress(task)
    domain = dc.Domain.number(0, 1, bins=BINS)
    p = np.bincount(domain.encode(values), minlength=BINS) / len(values)
    mechanism, wave = dc.Windows(domain, epsilon), dc.Windows(domain, epsilon, width=square_wave(BINS, epsilon))
    n, random, away, spent = PEOPLE[name], np.random.default_rng(1), np.zeros(2), []
    for _ in range(runs):
        tally = dc.Tally(
            mechanism.fingerprint, n, random.multinomial(n, p @ mechanism.decoder.matrix), np.zeros(0, int)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            start = process_time()
            ours = dc.estimate(mechanism, tally, method="smooth").frequencies
            spent.append(process_time() - start)
        other = ems(wave.decoder.matrix, random.multinomial(n, p @ wave.decoder.matrix), epsilon)
        away += [abs(np.cumsum(each - p)).mean() * 1e3 / runs for each in (ours, other)]
    mean = _mean_ratio(mechanism, p)
    cells = dict(zip(COLUMNS, map(float, [*away, away[0] / away[1], mean, np.median(spent)]), strict=True))
    judgement = judged((wanted[0], cells["ratio"] <= most), (wanted[1], mean <= 1 + 1e-9))
    return Row(task, cells, *judgement)


def _mean_ratio(mechanism: dc.Windows, p: np.ndarray) -> float:
    """Return our standard error of the mean over that of the middles of windows, for a true p."""
    matrix, law = mechanism.decoder.matrix, mechanism.law
    centres, truth = (
        (np.arange(law.size) + 0.5) / law.size,
        mechanism.decoder.truth or float(mechanism.coefficients.truth),
    )
    ours = mechanism.decoder.inverse @ centres
    # A place t begins t values above the first; those that wrap round begin below it.
    starts = np.arange(law.alphabet_size)
    starts = np.where(starts < law.size, starts, starts - law.alphabet_size)
    middles = ((starts + law.width / 2) / law.size - (1 - truth) / 2) / truth
    variances = [p @ matrix @ added**2 - (p @ matrix @ added) ** 2 for added in (ours, middles)]
    return float(np.sqrt(variances[0] / variances[1]))
