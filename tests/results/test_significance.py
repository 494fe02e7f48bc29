"""Many tests at once: against the definitions, and over collections in which some values are nobody's."""

import numpy as np
import pytest

from discreet import Domain, RandomizedResponse, SeededRandom, UnaryEncoding, estimate
from discreet.errors import ParameterError
from discreet.theory.binomial import rejected
from packing import each
from papers.data.drawn_tallies import draw_tally


@each("seed", range(40))
@each("rate", [0.01, 0.05, 0.3])
def test_rejections_are_those_of_the_definitions(seed: int, rate: float) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 30))
    p = np.where(rng.random(size) < 0.5, rng.random(size) ** 6, rng.random(size))
    ordered = np.sort(p)
    fits = [k for k in range(1, size + 1) if ordered[k - 1] <= k * rate / size]
    assert rejected(p, rate).sum() == max(fits, default=0)
    holm = 0
    while holm < size and ordered[holm] <= rate / (size - holm):
        holm += 1
    assert rejected(p, rate, control="fwer").sum() == holm
    assert (p[rejected(p, rate)] <= np.append(p[~rejected(p, rate)], 1).min()).all()


def test_false_discoveries_keep_their_rate() -> None:
    """40 collections of 3,000 over 40 values, 28 of them nobody's: both bounds hold, within 4 standard errors."""
    domain, runs, rate = Domain(range(40), sensitive=range(36)), 40, 0.1
    mechanism, rng = UnaryEncoding(domain, 2.0), np.random.default_rng(5)
    p = np.r_[np.linspace(1, 4, 12) / 30, np.zeros(28)]
    shares, found = np.zeros((2, runs)), np.zeros(2)
    for run in range(runs):
        made = estimate(mechanism, draw_tally(mechanism, rng.multinomial(3000, p), rng))
        for at, control in enumerate(("fdr", "fwer")):
            values = [int(one.value) for one in made.significant(rate, control=control)]  # type: ignore[arg-type]
            false = sum(value >= 12 for value in values)
            shares[at, run] = false / max(len(values), 1) if control == "fdr" else false > 0
            found[at] += len(values) - false
    assert shares[0].mean() <= rate + 4 * shares[0].std() / np.sqrt(runs)
    assert shares[1].mean() <= rate + 4 * np.sqrt(rate * (1 - rate) / runs)
    assert found[0] > found[1] > 0.3 * 12 * runs


def test_what_was_told_in_clear_is_there() -> None:
    domain = Domain(range(10), sensitive=[0, 1])
    mechanism = RandomizedResponse(domain, 1.0)
    found = estimate(mechanism, mechanism.obfuscate([0] * 300 + [5] * 3, random=SeededRandom(2)))
    assert [one.value for one in found.significant(1e-6, control="fwer")] == ["0", "5"]


def test_maps_of_grids() -> None:
    domain = Domain.grid(lat=(40, 41), lon=(-74, -73), rows=3, cols=7, sensitive=[(40.1, -73.9)])
    mechanism = RandomizedResponse(domain, 3.0)
    found = estimate(mechanism, mechanism.obfuscate_codes(np.arange(21).repeat(40), random=SeededRandom(1)))
    drawn = found.map().to_dict()
    one = drawn["vconcat"][0]["hconcat"][0]
    assert one["encoding"]["x"]["scale"]["domain"] == list(range(7))
    assert one["encoding"]["y"]["scale"]["domain"] == [2, 1, 0]
    regions = drawn["data"]["values"]
    assert [region["row"] * 7 + region["col"] for region in regions if region.get("sensitive")] == [0]
    assert sum(region["share"] for region in regions) == pytest.approx(found.frequencies[found.frequencies > 0].sum())
    assert drawn["title"]["text"] == ["840 reports, method linear", "Estimated shares of people; framed: sensitive"]
    assert one["encoding"]["x"]["axis"]["title"] == "longitude"
    assert one["encoding"]["y"]["axis"]["labelExpr"].startswith("format(40.0 + (datum.value + .5) * 0.333")
    with pytest.raises(ParameterError, match=r"map.no-grid"):
        estimate(
            plain := RandomizedResponse(Domain(range(3)), 1.0), plain.obfuscate([0] * 10, random=SeededRandom(2))
        ).map()
