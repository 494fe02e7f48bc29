"""What people type first: labels of a domain, names of the package, files that are not there, plans and frames."""

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import discreet as dc
from discreet.errors import DataError, ParameterError
from packing import each
from refusals import refused

GRID = dc.Domain.grid(lat=(40.0, 41.0), lon=(-74.0, -73.0), rows=2, cols=2)
PRODUCT = dc.Domain.product({"sex": ["f", "m"], "age": [20, 30]})


@each(
    "domain, labels, stranger",
    [
        (dc.Domain(["a", "b"]), ["a", "b"], "c"),
        (dc.Domain(range(3)), [0, 1, 2], 3),
        (dc.Domain([False, True]), ["false", "true"], "maybe"),
        (PRODUCT, [("f", 20), ("f", 30), ("m", 20), ("m", 30)], ("m", 40)),
        (GRID, [(40.25, -73.75), (40.25, -73.25), (40.75, -73.75), (40.75, -73.25)], (42.0, -73.5)),
    ],
)
def test_a_domain_lists_its_labels_and_knows_them(domain: dc.Domain, labels: list[Any], stranger: Any) -> None:
    assert domain.labels == list(domain) == labels
    assert all(label in domain for label in labels)
    assert domain.encode(labels).tolist() == list(range(domain.size))
    for wrong in (stranger, None, object()):
        assert wrong not in domain


def test_numbers_in_bins_have_bounds_for_labels() -> None:
    assert dc.Domain.number(0, 2, bins=2).labels == [(0.0, 1.0), (1.0, 2.0)]


def test_an_estimate_knows_its_values() -> None:
    mechanism = dc.RandomizedResponse(dc.Domain(["a", "b"]), 1.0)
    estimate = dc.estimate(mechanism, mechanism.obfuscate(["a", "b"] * 50, random=dc.SeededRandom(1)))
    assert ["a" in estimate, "b" in estimate, "c" in estimate, 5 in estimate] == [True, True, False, False]


def test_modules_and_the_base_class_are_names_of_the_package() -> None:
    assert dc.errors.DataError is DataError
    assert dc.risk.__name__ == "discreet.risk"
    assert isinstance(dc.RandomizedResponse(dc.Domain(["a", "b"]), 1.0), dc.Mechanism)


def test_a_plan_of_a_mechanism_is_refused_at_once() -> None:
    mechanism: Any = dc.RandomizedResponse(dc.Domain(["a", "b"]), 1.0)
    assert "Plan.of makes a plan" in refused(ParameterError, lambda: dc.Plan(mechanism))


def test_a_file_that_is_not_there_is_missing_for_python_too(tmp_path: Path) -> None:
    mechanism = dc.RandomizedResponse(dc.Domain(["a", "b"]), 1.0)
    for kind, attempt in (
        (DataError, lambda: dc.read_reports(tmp_path / "no.parquet", mechanism)),
        (ParameterError, lambda: dc.Plan.load(tmp_path / "no.toml")),
    ):
        assert "does not exist" in refused(kind, attempt)
        with pytest.raises(FileNotFoundError):
            attempt()


def test_a_number_is_no_source_of_randomness() -> None:
    mechanism: Any = dc.RandomizedResponse(dc.Domain(["a", "b"]), 1.0)
    assert "SeededRandom" in refused(ParameterError, lambda: mechanism.obfuscate(["a"], random=7))


def test_reports_become_frames_or_name_the_way() -> None:
    mechanism = dc.RandomizedResponse(dc.Domain(["a", "b"]), 1.0)
    reports: Any = mechanism.obfuscate(["a", "b"], random=dc.SeededRandom(1))
    assert "to_arrow().to_pandas()" in refused(DataError, lambda: pd.DataFrame(reports))
    assert pl.DataFrame(reports).height == len(reports.to_arrow().to_pandas()) == 2


def test_names_of_other_libraries_lead_to_the_names_here() -> None:
    mechanism: Any = dc.RandomizedResponse(dc.Domain(["a", "b"]), 1.0)
    reports: Any = mechanism.obfuscate(["a", "b"], random=dc.SeededRandom(1))
    estimate: Any = dc.estimate(mechanism, reports)
    for attempt, use in (
        (lambda: mechanism.fit_transform, "obfuscate"),
        (lambda: reports.to_parquet, "write_reports"),
        (lambda: estimate.to_dict, "to_pandas"),
        (lambda: mechanism.guarantee.epsilon, "promised"),
    ):
        with pytest.raises(AttributeError, match=rf"has no attribute .*\. Use .*{use}"):
            attempt()
    with pytest.raises(AttributeError, match=r"^'Estimate' has no attribute 'frequencie'$") as caught:
        _ = estimate.frequencie
    assert (caught.value.name, caught.value.obj) == ("frequencie", estimate)
    assert "estimate_groups" in refused(ParameterError, lambda: dc.estimate(mechanism, reports, by=["x", "y"]))


def test_a_property_that_fails_says_why() -> None:
    class Broken(dc.RandomizedResponse):
        @property
        def largest(self) -> int:
            return self.domain.nothing  # type: ignore[attr-defined]

    with pytest.raises(AttributeError, match="'nothing'"):
        _ = Broken(dc.Domain(["a", "b"]), 1.0).largest


@each(
    "column, labels",
    [
        (["no", "yes", "no", None], ["no", "yes"]),
        (pd.Series([True, False, True]), ["false", "true"]),
        (pd.Series([3, 1, 3]), [1, 3]),
        (pl.DataFrame({"x": ["b", "a"]}), ["a", "b"]),
        (pd.Series(["b", "a", "b"], dtype="category"), ["a", "b"]),
    ],
)
def test_a_domain_of_the_values_of_a_column(column: Any, labels: list[Any]) -> None:
    assert dc.Domain.from_column(column).labels == labels
    assert dc.Domain.from_column(column, sensitive=[labels[0]]).sensitive_count == 1
    refused(DataError, lambda: dc.Domain.from_column([0.5, 1.5]))
    assert "Domain.from_column" in refused(ParameterError, lambda: dc.Domain(["a", "a"]))


def test_texts_that_read_alike_are_obfuscated_as_the_refusal_says() -> None:
    mechanism = dc.RandomizedResponse(dc.Domain(["ill", "well"], sensitive=["ill"]), 1.0)
    assert "`as_read=True`" in refused(DataError, lambda: mechanism.obfuscate(["ill", "Ill "]))
    assert mechanism.obfuscate(["ill", "Ill "], as_read=True).n == 2
    assert str(mechanism.guarantee.not_protected).startswith("The other value is not protected")
