"""Populations of censuses and surveys: the attributes of [ULDP, section 5], and the closest ones in other data."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from pyarrow import csv

from discreet.arrays import AnyArray, IntArray
from discreet.core.domain import Domain
from discreet.errors import ParameterError
from discreet.files.reading import readable
from discreet.tables.columns import read_labels, read_table
from papers.data.population import Population, count_product, recoded, whole_numbers

AGES = ["under 1", "1-12", "13-19", "20-29", "30-39", "40-49", "50-64", "65+"]
INCOMES = ["none", "below 15,000", "15,000-29,999", "30,000-59,999", "60,000+"]
MARITAL = ["married", "widowed", "divorced", "separated", "never married"]
SEXES = ["male", "female"]

_AGE_STARTS = [1, 13, 20, 30, 40, 50, 65]
_RULE = (
    "sensitive: divorced and older than twelve, or {income} and in one's thirties or forties; "
    "60 + 20 - 4 = 76 of 400 values, whatever the added attributes are."
)
_MOST_ADDED = 5


def sensitive_patterns(no_income: str) -> list[dict[str, Any]]:
    """Return the patterns of sensitive values, of which there are 76 [ULDP, section 5]."""
    return [{"marital": "divorced", "age": AGES[2:]}, {"income": no_income, "age": ["30-39", "40-49"]}]


def check_added(added: int) -> int:
    """Return the number of added attributes; refuse one that is out of range."""
    if not 0 <= added <= _MOST_ADDED:
        raise ParameterError(f"between 0 and {_MOST_ADDED} attributes can be added, got {added}.")
    return added


# American Community Survey 2023

ACS_FILE = "acs2023.csv"


def load_acs(which: str, source: Path) -> Population:
    """Read the 277 categories that come with the repository.

    Args:
        which: the sensitive set, ``"and"`` (35 values) or ``"or"`` (253).
        source: the table.
    """
    labels, marks = read_labels(source, "category", f"sensitive_{which}")
    counts = whole_numbers(read_table(source), "people", source, below=1 << 40)
    described = {
        "and": "sensitive: poor and not employed and (little schooling at 19-64, or widowed or divorced, or disabled).",
        "or": "sensitive: poor, or not employed, or little schooling at 19-64, or widowed or divorced, or disabled.",
    }
    return Population(
        f"acs-{which}",
        f"American Community Survey 2023, sensitive set {which.upper()}",
        Domain(labels, sensitive=marks),
        counts,
        "US Census Bureau, American Community Survey 2023 PUMS; categories and sensitive sets as prepared by "
        "github.com/phy811/uBD for Park, Nam and Lee",
        ("277 combinations of age, schooling, marital status, disability, employment and poverty.", described[which]),
        (
            "another survey, 33 years later, and other attributes: 277 values instead of 400",
            f"|X_S| = {int(np.sum(marks))} instead of 76",
        ),
    )


# US Census 1990, as UCI publishes it


@dataclass(frozen=True, slots=True)
class _Coded:
    column: str
    labels: Sequence[str]


_CODED = {
    "age": _Coded("dAge", AGES),
    "income": _Coded("dIncome1", INCOMES),
    "marital": _Coded("iMarital", MARITAL),
    "sex": _Coded("iSex", SEXES),
}
_SERVICE = ["iSept80", "iMay75880", "iVietnam", "iFeb55", "iKorean"]
CENSUS_FILE = "USCensus1990.data.txt"


def load_us_census(path: Path, added: int = 0) -> Population:
    """Read ``USCensus1990.data.txt``: comma-separated, with a header (caseid, dAge, ..., one row per person).

    Args:
        path: the file.
        added: how many of the five service attributes to add [ULDP, Fig. 7].

    Raises:
        DataError: if it cannot be read, or an attribute has a code that it should not have.
    """
    chosen = {**_CODED, **{name: _Coded(name, ["0", "1"]) for name in _SERVICE[: check_added(added)]}}
    table = _read_columns(path, [attribute.column for attribute in chosen.values()])
    attributes = {name: attribute.labels for name, attribute in chosen.items()}
    codes = {
        name: whole_numbers(table, attribute.column, path, below=len(attribute.labels))
        for name, attribute in chosen.items()
    }
    return Population(
        _named("us-census-1990", added),
        f"US Census 1990 (UCI), {4 + added} attributes",
        Domain.product(attributes, sensitive=sensitive_patterns("none")),
        count_product(attributes, codes),
        "US Census Bureau; Meek, Thiesson and Heckerman, US Census Data (1990), UCI Machine Learning Repository",
        (
            "attributes as coded in the file: " + ", ".join(attribute.column for attribute in chosen.values()) + ".",
            _RULE.format(income="without income"),
        ),
    )


def _named(name: str, added: int) -> str:
    return f"{name}+{added}" if added else name


def _read_columns(path: Path, columns: list[str]) -> Any:
    with readable(path):
        with csv.open_csv(path) as reader:
            names = reader.schema.names
        # What is not there is left for the one who asks for it to say so.
        wanted = [name for name in columns if name in names] or names
        return csv.read_csv(path, convert_options=csv.ConvertOptions(include_columns=wanted))


# Census-income (KDD)

KDD_FILE = "census_income_kdd.parquet"
_WORK = ["no week worked", "1-26 weeks", "27-51 weeks", "52 weeks", "over 50,000"]
_MARRIED = ["Married-civilian spouse present", "Married-A F spouse present", "Married-spouse absent"]
_MARITAL_GROUPS = [_MARRIED, ["Widowed"], ["Divorced"], ["Separated"], ["Never married"]]
_YES_NO = ["no", "yes"]
_ADDED_CUTS = (
    "veterans' benefits (veterans_benefits): yes (1); no (0 or 2)",
    "veterans' questionnaire (veterans_admin_questionnaire): filled in (Yes); not (No, Not in universe)",
    "own business (own_business): yes (1); no (0 or 2)",
    "labour union (labor_union): member (Yes); not (No, Not in universe)",
    "full time (full_part_time): Full-time schedules; everything else",
)
_SCHEDULES = [
    "Children or Armed Forces", "Not in labor force", "PT for non-econ reasons usually FT", "Unemployed full-time",
    "PT for econ reasons usually PT", "Unemployed part- time", "PT for econ reasons usually FT",
]  # fmt: skip


def load_census_income(path: Path, added: int = 0) -> Population:
    """Read the census-income (KDD) table, cut like the paper's attributes.

    Args:
        path: a Parquet file with UCI's columns by name.
        added: how many of the five veteran and work attributes to add.

    Raises:
        DataError: if it cannot be read, or an attribute has a value that is not known.
    """
    with readable(path):
        table = pq.read_table(path)
    extra = _added_codes(table, path, check_added(added))
    attributes = {"age": AGES, "income": _WORK, "marital": MARITAL, "sex": SEXES, **dict.fromkeys(extra, _YES_NO)}
    codes = {
        "age": np.digitize(whole_numbers(table, "age", path, below=200), _AGE_STARTS),
        "income": _work(table, path),
        "marital": recoded(table, "marital_status", path, groups=_MARITAL_GROUPS),
        "sex": recoded(table, "sex", path, groups=[["Male"], ["Female"]]),
        **extra,
    }
    return Population(
        _named("census-income", added),
        f"Census-income (KDD), {4 + added} attributes",
        Domain.product(attributes, sensitive=sensitive_patterns(_WORK[0])),
        count_product(attributes, codes),
        "US Census Bureau, Current Population Surveys 1994 and 1995; Census-Income (KDD), UCI repository",
        _cuts(added),
        (
            "299,285 people of surveys in 1994 and 1995 instead of 2,458,285 of the census of 1990",
            "the second attribute tells weeks worked and whether the income exceeds 50,000, because no income in "
            "dollars is given; 'no income' is 'no week worked'",
            "added attributes are of veterans and of work instead of the five periods of military service",
        ),
    )


def _cuts(added: int) -> tuple[str, ...]:
    return (
        "age: under 1, 1-12, 13-19, 20-29, 30-39, 40-49, 50-64, 65 and older (as dAge of the census of 1990).",
        "income: over 50,000 (income = 50000+.); for all others weeks_worked: 0, 1-26, 27-51, 52.",
        "marital status: married (civilian spouse, armed-forces spouse, spouse absent), widowed, divorced, separated, "
        "never married. Sex: male, female.",
        *(f"{cut}." for cut in _ADDED_CUTS[:added]),
        _RULE.format(income="no week worked (and not over 50,000)"),
    )


def _work(table: Any, path: Path) -> IntArray:
    weeks = np.digitize(whole_numbers(table, "weeks_worked", path, below=53), [1, 27, 52])
    rich = recoded(table, "income", path, groups=[["- 50000."], ["50000+."]])
    return np.where(rich == 1, 4, weeks)


def _added_codes(table: Any, path: Path, added: int) -> Mapping[str, IntArray]:
    no = ["No", "Not in universe"]
    makers: dict[str, Callable[[str], AnyArray]] = {
        "veterans_benefits": lambda name: whole_numbers(table, name, path, below=3) == 1,
        "veterans_admin_questionnaire": lambda name: recoded(table, name, path, groups=[no, ["Yes"]]),
        "own_business": lambda name: whole_numbers(table, name, path, below=3) == 1,
        "labor_union": lambda name: recoded(table, name, path, groups=[no, ["Yes"]]),
        "full_part_time": lambda name: recoded(table, name, path, groups=[_SCHEDULES, ["Full-time schedules"]]),
    }
    return {name: np.asarray(makers[name](name), dtype=np.int64) for name in list(makers)[:added]}
