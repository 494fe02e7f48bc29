"""Regressions on rare categories, with and without an effect, on 13 groups, on slopes, and with full separation.

*Held* is the share of the 95% intervals of one coefficient that contain the truth. *False* is the share of regressions
without an effect whose p-value is below 5%.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from evidence_page import table
from kept_runs import Cells, Found, Part, Setting, generator, runs_of
from scipy.special import expit, logit
from scipy.stats import binom

import discreet as dc
from discreet.mechanisms import BLOCK_MECHANISMS

LINEAR, LOGISTIC = "regression", "logistic"
LEAST_MEAN, LEAST, MOST_FALSE = 0.95, 0.9, 0.09
"""Goals: the mean coverage, and of each regression the least coverage and the most false positives."""
PEOPLE = 600


class RegressionSetting(NamedTuple):
    """One setting: linear or logistic, the mechanism, epsilon, the covariates, and the number of people."""

    group: str
    law: str
    epsilon: float
    design: str
    n: int


def settings() -> Iterator[RegressionSetting]:
    """Yield all settings."""
    few = [f"{count} of {PEOPLE}, {effect}" for count in (2, 3, 5, 20) for effect in ("no effect", "rare", "effect")]
    others = [(design, n) for design in ("separation", "13 groups", "slope") for n in (30, PEOPLE)]
    laws = product(("rr", "rr ULDP", "unary"), (1.0, 4.0))
    for (law, epsilon), (design, n) in product(laws, [*((design, PEOPLE) for design in few), *others]):
        yield RegressionSetting(LINEAR, law, epsilon, design, n)
    some = [f"{count} of {PEOPLE}, effect" for count in (3, 20)]
    for law, epsilon, design in product(("rr", "rr ULDP"), (1.0, 4.0), [*some, "slope"]):
        yield RegressionSetting(LOGISTIC, law, epsilon, design, PEOPLE)


class Group(NamedTuple):
    """People with covariates.

    Attributes:
        columns: the covariates.
        shares: ``(n,)`` the probability of the first value for each person.
        name: the covariate in question.
        effect: the coefficient of a linear regression.
        log_odds: the coefficient of a logistic regression.
    """

    columns: dict[str, Any]
    shares: np.ndarray
    name: str
    effect: float
    log_odds: float


def people_of(setting: RegressionSetting, rng: np.random.Generator) -> Group:
    """Return the people of a setting; covariates of a slope are random."""
    place = np.arange(setting.n)
    if setting.design == "separation":
        return Group({"x": place % 2}, np.where(place % 2, 0.0, 1.0), "x", -1.0, -np.inf)
    if setting.design == "13 groups":
        columns = {f"g{group}": (place % 13 == group).astype(float) for group in range(1, 13)}
        return Group(columns, np.full(setting.n, 0.3), "g5", 0.0, 0.0)
    if setting.design == "slope":
        x = rng.uniform(-1, 1, setting.n)
        shares = 0.1 + 0.1 * x if setting.group == LINEAR else expit(x - 1.5)
        return Group({"x": x}, shares, "x", 0.1, 1.0)
    few, kind = int(setting.design.split(maxsplit=1)[0]), setting.design.split(", ")[1]
    inside, outside = {"no effect": (0.5, 0.5), "rare": (0.02, 0.02), "effect": (0.5, 0.02)}[kind]
    shares = np.where(place < few, inside, outside)
    return Group({"x": (place < few) * 1.0}, shares, "x", inside - outside, float(logit(inside) - logit(outside)))


def measured(setting: Setting, runs: int, first: int) -> Cells:
    """Return the shares of intervals that held and of false positives, and the error over the deviation."""
    asked, rng = RegressionSetting(*setting), generator(setting, first)
    size, sensitive = {"rr": (2, None), "rr ULDP": (2, [0]), "unary": (7, range(4))}[asked.law]
    domain: Any = dc.Domain(range(size), sensitive=sensitive)
    mechanism = BLOCK_MECHANISMS[asked.law.split(maxsplit=1)[0]](domain, asked.epsilon)
    options: Any = {"method": "logistic", "baseline": size - 1} if asked.group == LOGISTIC else {"values": [0]}
    held, false, unbounded, errors, found, truth = 0, 0, 0, [], [], 0.0
    for run in range(first, first + runs):
        people = people_of(asked, rng)
        truth = people.log_odds if asked.group == LOGISTIC else people.effect
        codes = np.where(rng.random(asked.n) < people.shares, 0, rng.integers(1, size, asked.n))
        reports = mechanism.obfuscate_codes(codes, random=dc.SeededRandom(run))
        result = dc.regress(mechanism, reports, people.columns, **options)
        (row,) = [one for one in result.rows() if (one.covariate, str(one.value)) == (people.name, "0")]
        held += row.lower - 1e-9 <= truth <= row.upper + 1e-9
        unbounded += not np.isfinite(row.upper - row.lower)
        false += row.p_value < 0.05
        errors.append(row.standard_error)
        found.append(row.coefficient)
    cell = {"held": held / runs, "false": false / runs if truth == 0 else None, "unbounded": unbounded / runs}
    return {"coefficient": cell | {"error": float(np.median(errors)) / max(float(np.std(found)), 1e-9)}}


def is_doubtful(setting: Setting, found: Found) -> bool:
    """Return true if a regression misses a goal, perhaps by chance."""
    cell = found.cells["coefficient"]
    return bool(cell["held"] < LEAST or (cell["false"] or 0) > MOST_FALSE)


def missed_by(known: Mapping[Setting, Found]) -> list[str]:
    """Return the goals that were missed; of a regression only where chance does not explain it, among all."""
    missed, tail = [], 0.05 / len(known)
    for setting, found in known.items():
        cell, name = found.cells["coefficient"], ", ".join(map(str, setting))
        if cell["held"] < binom.ppf(tail, found.runs, LEAST) / found.runs:
            missed.append(f"{name}: {cell['held']:.1%} held")
        if (cell["false"] or 0) > binom.ppf(1 - tail, found.runs, MOST_FALSE) / found.runs:
            missed.append(f"{name}: {cell['false']:.1%} false positives")
    mean = np.mean([found.cells["coefficient"]["held"] for found in known.values()])
    return missed if mean >= LEAST_MEAN else [*missed, f"the mean, {mean:.1%}"]


def section(known: Mapping[Setting, Found]) -> tuple[list[str], list[str]]:
    """Return the lines of the section, and the goals that were missed."""
    rows = []
    kinds = ["no effect", "rare", "effect", "13 groups", "slope", "separation"]
    for group, kind in product((LINEAR, LOGISTIC), kinds):
        some = {setting: found for setting, found in known.items() if setting[0] == group and kind == _kind(setting)}
        if some:
            rows.append([f"{'linear' if group == LINEAR else group}, {kind}", *_row(some)])
    head = ["regression", "settings", "held", "worst", "where", "false positives", "worst", "without a limit"]
    return [
        f"Coefficients of categories of 2 to 20 of {PEOPLE} people: without an effect (a share of 50%), of a rare",
        "value (2%), and with an effect (50% instead of 2%). Of 13 groups, of slopes, and of groups that differ fully,",
        f"with 30 and {PEOPLE} people. Epsilon is 1 and 4. {runs_of(known)}",
        f"Goals: {LEAST:.0%} in each setting and {LEAST_MEAN:.0%} on average, and at most {MOST_FALSE:.0%} false",
        "positives at 5%. A setting misses if an exact test at 5%, divided by the number of settings, rejects a goal.",
        "The last column has the share of intervals without a lower or an upper limit.",
        "",
        *table(head, rows),
    ], missed_by(known)


def _kind(setting: Setting) -> str:
    return str(setting[3]).split(", ")[-1]


def _row(some: Mapping[Setting, Found]) -> list[str]:
    cells = {setting: found.cells["coefficient"] for setting, found in some.items()}
    worst = min(cells, key=lambda setting: float(cells[setting]["held"]))
    held, unbounded = ([cell[name] for cell in cells.values()] for name in ("held", "unbounded"))
    false = [cell["false"] for cell in cells.values() if cell["false"] is not None]
    where = f"{worst[1]}, {worst[2]:g}, {str(worst[3]).split(',')[0]}, n = {worst[4]}"
    shares = [f"{np.mean(false):.1%}", f"{max(false):.1%}"] if false else ["", ""]
    known = [each for each in unbounded if each is not None]
    return [
        f"{len(cells)}",
        f"{np.mean(held):.1%}",
        f"{min(held):.1%}",
        where,
        *shares,
        f"{np.mean(known):.0%}" if known else "",
    ]


PART = Part("## Regressions on rare categories", (LINEAR, LOGISTIC), settings, measured, is_doubtful, section)
