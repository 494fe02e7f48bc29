"""Numbers: windows and the smooth estimate beside Square Wave with EMS and the Piecewise Mechanism, from the papers."""

import os
import warnings
from math import exp
from pathlib import Path
from time import process_time

import numpy as np

import discreet as dc
from bench.measure import Group, Row, judged, progress

FOLDER, CENSUS, BINS = "DISCREET_DATA", "census_income_kdd.parquet", 256
PEOPLE, RUNS, SPIKES = {"ages": 50_000, "beta(5, 2)": 100_000, "heaped": 100_000}, 6, (0.2, 0.5, 0.52, 0.9)
COLUMNS = ("W1", "W1 of EMS", "ratio", "ratio, smoothing 1/256", "mean / Piecewise", "CPU seconds")
# By data and epsilon: the largest W1 in units of that of Square Wave with EMS; of heaped values with little smoothing.
GOALS = {"ages": {1.0: 1.1, 3.0: 1.1}, "beta(5, 2)": {1.0: 1.1, 3.0: 1.1}, "heaped": {1.0: 0.7, 3.0: 0.7}}


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
    task, which = f"{name}, epsilon = {epsilon:g}", "ratio, smoothing 1/256" if name == "heaped" else "ratio"
    wanted = f"{which} <= {most:g}", "mean <= Piecewise"
    if values is None:
        return Row(task, {}, ", ".join(wanted))
    progress(task)
    domain = dc.Domain.number(0, 1, bins=BINS)
    p = np.bincount(domain.encode(values), minlength=BINS) / len(values)
    mechanism, wave = dc.Windows(domain, epsilon), dc.Windows(domain, epsilon, width=square_wave(BINS, epsilon))
    n, random, away, spent = PEOPLE[name], np.random.default_rng(1), np.zeros(3), []
    for _ in range(runs):
        tally = dc.Tally(
            mechanism.fingerprint, n, random.multinomial(n, p @ mechanism.decoder.matrix), np.zeros(0, int)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            start = process_time()
            ours = dc.estimate(mechanism, tally, method="smooth").frequencies
            spent.append(process_time() - start)
            sharp = dc.estimate(mechanism, tally, method="smooth", smoothing=1 / 256).frequencies
        other = ems(wave.decoder.matrix, random.multinomial(n, p @ wave.decoder.matrix), epsilon)
        away += [abs(np.cumsum(each - p)).mean() * 1e3 / runs for each in (ours, sharp, other)]
    mean = _mean_ratio(mechanism, p)
    ratios = away[:2] / away[2]
    cells = dict(zip(COLUMNS, map(float, [away[0], away[2], *ratios, mean, np.median(spent)]), strict=True))
    judgement = judged((wanted[0], cells[which] <= most), (wanted[1], mean <= 1 + 1e-9))
    return Row(task, cells, *judgement)


def _mean_ratio(mechanism: dc.Windows, p: np.ndarray) -> float:
    """Return our standard error of the mean over that of the middles of windows, for a true p."""
    matrix, law = mechanism.decoder.matrix, mechanism.law
    centres, truth = (np.arange(law.size) + 0.5) / law.size, mechanism.decoder.truth or float(mechanism.numbers.truth)
    ours = mechanism.decoder.inverse @ centres
    # A place t begins t values above the first; those that wrap round begin below it.
    starts = np.arange(law.alphabet_size)
    starts = np.where(starts < law.size, starts, starts - law.alphabet_size)
    middles = ((starts + law.width / 2) / law.size - (1 - truth) / 2) / truth
    variances = [p @ matrix @ worths**2 - (p @ matrix @ worths) ** 2 for worths in (ours, middles)]
    return float(np.sqrt(variances[0] / variances[1]))
