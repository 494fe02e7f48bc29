"""The numbers of docs/explanation/threat-model.md: exact for the value with most reports, and bounds."""

import re
from math import comb, exp, lgamma
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet.errors import ParameterError
from discreet.risk.bounds import identification_bounds

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "threat-model.md"
VALUES = 16
DOMAIN = discreet.Domain(range(VALUES))


def named_by_most(n: int, truth: float) -> float:
    """Return how often the value with most of n reports is the right one, ties drawn.

    The counts are multinomial: independent Poisson numbers, given their sum.
    """
    logs, i = np.array([lgamma(count + 1) for count in range(n + 1)]), np.arange(n + 1)
    other = (1 - truth) / (VALUES - 1)
    own, others = (np.exp(i * np.log(n * share) - n * share - logs) for share in (truth, other))
    right = 0.0
    for count in range(n + 1):
        powers = [np.eye(1, n + 1)[0]]
        for _ in range(VALUES - 1):
            powers.append(np.convolve(powers[-1], np.where(i < count, others, 0.0))[: n + 1])
        for ties in range(min(VALUES - 1, (n - count) // max(count, 1)) + 1):
            rest = powers[VALUES - 1 - ties][n - count - ties * count]
            right += own[count] * comb(VALUES - 1, ties) * others[count] ** ties * rest / (ties + 1)
    return float(right / np.exp(n * np.log(n) - n - logs[n]))


def rows() -> dict[int, list[str]]:
    found = re.findall(r"^\| (\d+) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {int(n): [cell.strip() for cell in rest.split("|")] for n, rest in found}


@pytest.mark.parametrize("n", [1, 30, 90, 365])
def test_what_many_answers_tell(n: int) -> None:
    rr, subset = discreet.RandomizedResponse(DOMAIN, 1.0), discreet.SubsetSelection(DOMAIN, 1.0)
    truth = float(rr.channel().matrix[0, 0])
    bounds = [identification_bounds(one, VALUES, reports=n).identification.value for one in (rr, subset)]
    exact = named_by_most(n, truth)
    assert exact <= bounds[0] + 1e-12
    assert rows()[n] == ["6.2%", *(f"{share:.1%}" for share in (exact, *bounds))]


def test_most_reports_are_simulated_alike() -> None:
    rr = discreet.RandomizedResponse(DOMAIN, 1.0)
    codes = np.repeat(np.arange(2000) % VALUES, 30)
    told = rr.obfuscate_codes(codes, random=discreet.SeededRandom(5)).blocks["symbol"].reshape(2000, 30)
    counts = (told[:, :, None] == np.arange(VALUES)).sum(axis=1) + np.random.default_rng(5).random((2000, VALUES)) / 2
    right = float((counts.argmax(axis=1) == codes[::30]).mean())
    exact = named_by_most(30, float(rr.channel().matrix[0, 0]))
    # Six standard errors.
    assert abs(right - exact) < 6 * (exact * (1 - exact) / 2000) ** 0.5


def test_what_a_survey_for_one_person_tells() -> None:
    """By the odds, which a report multiplies by at most e^epsilon; one report has no central guarantee."""
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    pattern = r"can reach (\d+%) after a report at epsilon = 1, (\d+%) at epsilon = 2, and (\d+%) at epsilon = 4"
    assert re.findall(pattern, page) == [tuple(f"{1 / (1 + exp(-epsilon)):.0%}" for epsilon in (1, 2, 4))]
    with pytest.raises(ParameterError, match=r"n.too-few-hidden"):
        discreet.shuffled(discreet.RandomizedResponse(DOMAIN, 1.0), n=1)
