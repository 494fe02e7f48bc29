"""Coverage of intervals by group, with weights, and of regressions, on census data: ``python tools/measure_groups.py``.

People are drawn anew from those of a census file, with replacement, so that the file is the population and its shares
are the truth. Prints rows of the table in docs/howto/groups.md; ``--runs`` says how many samples.
"""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import discreet as dc
from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.estimators.regression.logistic import logistic_fit

DATA = Path(os.environ.get("DISCREET_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
LARGE = 5_000
REGRESSED = (2_000, 20_000)


class Census:
    """The people of the census file: marital status, education, class of worker and age."""

    def __init__(self, path: Path) -> None:
        table = pq.read_table(path, columns=["marital_status", "education", "class_of_worker", "age", "sex"])
        self.values, self.codes = _codes(table["marital_status"])
        self.education, self.schools = _codes(table["education"])
        _, self.work = _codes(table["class_of_worker"])
        self.sex = _codes(table["sex"])[1]
        self.age = np.asarray(table["age"]).astype(np.float64)
        self.truth = np.bincount(self.codes, minlength=len(self.values)) / len(self.codes)
        self.of_work = self.shares(self.work)
        z = np.stack([np.ones(len(self.codes)), self.age, self.sex], axis=1)
        marks = np.eye(len(self.values))[self.codes]
        self.slopes: FloatArray = np.linalg.solve(z.T @ z, z.T @ marks).T
        self.odds = np.cumsum(1 + self.schools % 4)

    def shares(self, groups: IntArray) -> FloatArray:
        """Return the ``(groups, values)`` true shares."""
        size = len(self.values)
        counts = np.bincount(groups * size + self.codes, minlength=(groups.max() + 1) * size).reshape(-1, size)
        return counts / counts.sum(axis=1, keepdims=True)


def _codes(column: Any) -> tuple[list[str], IntArray]:
    labels, codes = np.unique(np.asarray(column).astype(str), return_inverse=True)
    return labels.tolist(), codes


def held(estimate: dc.Estimate, truth: FloatArray) -> BoolArray:
    """Return ``(|X|,)`` booleans: intervals that hold the truth."""
    low, high = estimate.interval()
    return (low <= truth) & (truth <= high)


def told_by(expected: FloatArray, sensitive: BoolArray) -> Iterator[tuple[str, BoolArray]]:
    """Yield kinds of values, by the number of reports expected to tell them in clear, and which these are."""
    clear = ~sensitive & np.ones_like(expected, dtype=np.bool_)
    yield "told by 10 reports and more", clear & (expected >= 10)
    yield "told by 3 to 10", clear & (expected >= 3) & (expected < 10)
    yield "told by fewer than 3", clear & (expected < 3)
    yield "sensitive values", ~clear


def regressed(census: Census, mechanism: dc.UnaryEncoding, people: IntArray, seed: int) -> BoolArray:
    """Return ``(values, 3)`` booleans: the intervals of coefficients that hold the truth."""
    reports = mechanism.obfuscate_codes(census.codes[people], random=dc.SeededRandom(seed))
    fit = dc.regress(mechanism, reports, {"age": census.age[people], "sex": census.sex[people]})
    columns = fit.columns()
    low, high = (columns[name].reshape(fit.coefficients.shape) for name in ("lower", "upper"))
    return (low <= census.slopes) & (census.slopes <= high)


def run(
    census: Census, mechanism: dc.UnaryEncoding, random: np.random.Generator, seed: int
) -> Iterator[tuple[str, Any]]:
    """Yield the intervals that held, in one sample of each kind."""
    n = len(census.codes)
    people = random.integers(0, n, LARGE)
    reports = mechanism.obfuscate_codes(census.codes[people], random=dc.SeededRandom(seed))
    groups = census.work[people]
    found = dc.estimate_groups(mechanism, reports, groups=groups, small="leave-out")
    truth = census.of_work
    inside = np.stack([held(one, truth[label]) for label, one in found.items()])
    yield "direct, 9 classes of worker", inside.ravel()
    expected = np.stack([one.n * float(mechanism.coefficients.truth) * truth[label] for label, one in found.items()])
    for name, chosen in told_by(expected, mechanism.domain.sensitive):
        yield f"direct, {name}", inside[chosen]
    # People of some groups answer more often than others: known shares, or weights, put that right.
    biased = np.searchsorted(census.odds, random.integers(0, census.odds[-1], LARGE), side="right")
    reports = mechanism.obfuscate_codes(census.codes[biased], random=dc.SeededRandom(seed + 1))
    strata = census.schools % 4
    known = dict(enumerate((np.bincount(strata) / n).tolist()))
    after = dc.estimate_groups(mechanism, reports, groups=strata[biased], shares=known)
    yield "post-stratified", held(after.overall, census.truth)
    yield "weighted", held(dc.estimate(mechanism, reports, weights=1 / (1 + strata[biased])), census.truth)
    for size in REGRESSED:
        inside = regressed(census, mechanism, random.integers(0, n, size), seed + 2)
        yield f"regression, samples of {size:,}", inside.ravel()
        common = census.truth >= 0.01
        yield f"regression, samples of {size:,}, values of at least 1%", inside[common].ravel()
        yield f"regression, samples of {size:,}, rarer values", inside[~common].ravel()
    first, second = (found[label] for label in list(found)[:2])
    labels = list(found)[:2]
    compared = dc.compare(first, second)
    true = census.of_work[labels[0]] - census.of_work[labels[1]]
    yield "difference of two groups", (compared.lower <= true) & (true <= compared.upper)


def logistic(census: Census, random: np.random.Generator, runs: int, n: int = 2_000) -> Iterator[BoolArray]:
    """Yield the intervals of log odds that held, in samples of three values drawn from a model fitted to the census."""
    kinds = ["Never married", "Married", "No longer"]
    kind = np.array([0 if "Never" in one else 1 if one.startswith("Married") else 2 for one in census.values])
    z = np.stack([np.ones(len(census.codes)), census.age, census.sex], axis=1)
    some = random.integers(0, len(z), 20_000)
    model = logistic_fit(np.eye(3)[kind[census.codes[some]]], z[some])
    odds = np.insert(model.coefficients, model.baseline, 0.0, axis=0)
    mechanism = dc.UnaryEncoding(dc.Domain(kinds, sensitive=["No longer"]), 1.0)
    for run in range(runs):
        people = random.integers(0, len(z), n)
        shares = np.exp(z[people] @ odds.T)
        codes = (random.random(n)[:, None] * shares.sum(axis=1, keepdims=True) > shares.cumsum(axis=1)).sum(axis=1)
        reports = mechanism.obfuscate_codes(np.minimum(codes, 2), random=dc.SeededRandom(run))
        fit = dc.regress(mechanism, reports, {"age": z[people, 1], "sex": z[people, 2]}, method="logistic")
        true = (odds - odds[kinds.index(str(fit.baseline))])[[kinds.index(one) for one in fit.values]]
        columns = fit.columns()
        low, high = (columns[name].reshape(true.shape) for name in ("lower", "upper"))
        yield ((low <= true) & (true <= high)).ravel()


def age_groups(random: np.random.Generator, runs: int, n: int = 20_000) -> Iterator[BoolArray]:
    """Yield the ``(3, 13)`` intervals of log odds that held: thirteen age groups, four values of 2 to 80% each."""
    mechanism = dc.UnaryEncoding(dc.Domain(["never", "married", "divorced", "widowed"]), 1.0)
    turn = np.arange(13) / 12
    odds = np.column_stack([1.5 - 3.5 * turn, 0 * turn, -2 + 0.7 * turn, -4 + 4 * turn])
    shares = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    true = odds[:, [0, 2, 3]].T
    true[:, 1:] -= true[:, :1]
    for run in range(runs):
        age = random.integers(0, 13, n)
        codes = (random.random(n)[:, None] > shares[age].cumsum(axis=1)).sum(axis=1)
        reports = mechanism.obfuscate_codes(np.minimum(codes, 3), random=dc.SeededRandom(run))
        covariates = {"age": np.array([f"{one:02d}" for one in range(13)])[age]}
        columns = dc.regress(mechanism, reports, covariates, method="logistic", baseline="married").columns()
        low, high = (columns[name].reshape(true.shape) for name in ("lower", "upper"))
        yield (low <= true) & (true <= high)


def main() -> None:
    """Print coverage, with the standard error of the simulation."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--runs", type=int, default=1000)
    asked.add_argument("--epsilon", type=float, default=1.0)
    asked.add_argument("--logistic", type=int, default=0, help="samples of logistic regressions, which take seconds")
    asked.add_argument("--ages", type=int, default=0, help="samples of logistic regressions on thirteen age groups")
    given = asked.parse_args()
    census = Census(DATA / "census_income_kdd.parquet")
    domain = dc.Domain(
        census.values, sensitive=[value for value in census.values if "Divorced" in value or "Separ" in value]
    )
    mechanism, random = dc.UnaryEncoding(domain, given.epsilon), np.random.default_rng(20261122)
    outcomes: dict[str, list[BoolArray]] = {}
    for number in range(given.runs):
        for name, ones in run(census, mechanism, random, 10 * number):
            outcomes.setdefault(name, []).append(ones)
    if given.logistic:
        outcomes["logistic regression, three values"] = list(logistic(census, random, given.logistic))
    if given.ages:
        outcomes["logistic regression, thirteen age groups"] = found = list(age_groups(random, given.ages))
        print(f"of the worst of {found[0].size} coefficients {np.mean(found, axis=0).min():.1%}")
    for name, runs in outcomes.items():
        means = np.array([ones.mean() for ones in runs])
        print(
            f"| {name} | {given.epsilon:g} | {len(runs)} | {means.mean():.1%} | {means.std() / len(means) ** 0.5:.1%} |"
        )


if __name__ == "__main__":
    main()
