"""Titles, orders, legends, numbers and axes of charts."""

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.planning.compare import compare_mechanisms
from discreet.planning.curves import LOWER_BOUND, joined

LABELS = ["never", "weekly", "daily"]


def estimate(labels: list[Any] = LABELS, sensitive: Any = ("daily",)) -> dc.Estimate:
    mechanism = dc.RandomizedResponse(dc.Domain(labels, sensitive=sensitive), 2.0)
    codes = np.minimum(np.random.default_rng(1).geometric(0.6, 3000), len(labels)) - 1
    return dc.estimate(mechanism, mechanism.obfuscate_codes(len(labels) - 1 - codes, random=dc.SeededRandom(1)))


def layers(chart: Any) -> list[dict[str, Any]]:
    return list(chart.to_dict()["layer"])


def test_the_variable_stands_in_the_title() -> None:
    facts = "Estimated shares: 3,000 reports, method linear"
    assert estimate().plot().to_dict()["title"]["text"] == facts
    assert estimate().plot(title="Drinking", width=300).to_dict()["title"]["text"] == ["Drinking", facts]
    assert estimate().plot(width=300).to_dict()["width"] == 300
    numbers = dc.RandomizedResponse(dc.Domain.number(0, 80, bins=8), 2.0)
    drawn = dc.estimate(numbers, numbers.obfuscate(np.arange(80))).plot(title="Age in years", width=400).to_dict()
    assert drawn["layer"][0]["encoding"]["x"]["title"] == "Age in years"
    assert "method='smooth'" in drawn["title"]["subtitle"]
    with pytest.raises(dc.errors.ParameterError, match="order"):
        estimate().plot(order="size")


def test_values_have_the_order_that_is_asked() -> None:
    found = estimate()
    assert found.frequencies.argsort()[::-1].tolist() == [2, 1, 0]
    for order, expected in {None: LABELS, "domain": LABELS, "share": LABELS[::-1]}.items():
        assert layers(found.plot(order=order))[0]["encoding"]["y"]["sort"] == expected
    truth = np.array([0.5, 0.3, 0.2])
    assert layers(found.plot(order="share", largest=2, truth=truth))[0]["encoding"]["y"]["sort"] == ["weekly", "never"]


def test_legends_and_numbers_are_for_what_is_there() -> None:
    mixed, protected = layers(estimate().plot()), layers(estimate(sensitive=None).plot())
    assert mixed[0]["encoding"]["color"]["scale"]["domain"] == ["sensitive", "not sensitive"]
    assert protected[0]["encoding"]["color"]["scale"]["domain"] == ["sensitive"]
    assert "text" in [layer["mark"]["type"] for layer in mixed]
    many = layers(estimate([f"v{code}" for code in range(30)], None).plot())
    assert "text" not in [layer["mark"]["type"] for layer in many]


def test_a_value_without_an_estimate_has_no_number() -> None:
    number = next(layer for layer in layers(estimate().plot()) if layer["mark"]["type"] == "text")
    assert number["transform"] == [{"filter": "isValid(datum.frequency)"}]


def test_charts_of_shares_side_by_side_have_one_axis() -> None:
    chart = estimate().plot()
    assert (chart | chart).to_dict()["resolve"] == {"scale": {"x": "shared"}}
    numbers = dc.RandomizedResponse(dc.Domain.number(0, 80, bins=8), 2.0)
    assert "resolve" not in (chart | dc.estimate(numbers, numbers.obfuscate(np.arange(80))).plot()).to_dict()


def test_the_chart_of_a_plan_has_few_lines_with_their_names() -> None:
    comparison = compare_mechanisms(dc.Domain(range(40), sensitive=range(12)), 1.0, 5000)
    panel = comparison.plot().to_dict()["vconcat"][0]["hconcat"][0]
    names = panel["layer"][1]["encoding"]["color"]["scale"]["domain"]
    assert len(names) <= 5
    assert [name.split(" / ")[0] for name in names if "recommended" in name] == [
        f"{comparison.best.name} (recommended)"
    ]
    assert '"legend": null' in comparison.plot().to_json()


def test_lines_that_coincide_are_one_line() -> None:
    curves = {name: [(1.0, error), (2.0, error)] for name, error in zip("abcdef", [1, 2, 2.01, 3, 4, 5], strict=True)}
    names = [*joined({**curves, LOWER_BOUND: [(1.0, 1.0)]}, "c")]
    assert names == ["c (recommended) / b", "a", "d", "e", LOWER_BOUND]
    equal = {name: [(1.0, 1.0)] for name in "dacb"}
    assert [*joined(equal, "b")] == ["b (recommended) / d / a"]
