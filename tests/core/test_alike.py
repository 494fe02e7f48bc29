"""Labels that read alike: in normal form C, refused where they differ in sensitivity, and values taken as they read."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet import Domain, Personalized, SecretTags
from discreet.core.labels.text_forms import visible
from discreet.errors import DataError, ParameterError
from discreet.mechanisms.personalized import SimulatedTags
from packing import each
from refusals import refused

E, E_APART = "\u00e9", "e\u0301"
COLUMNS: dict[str, Callable[[list[str]], Any]] = {
    "list": list,
    "tuple": tuple,
    "numpy": np.array,
    "numpy objects": lambda v: np.array(v, dtype=object),
    "pandas": pd.Series,
    "pandas categories": lambda v: pd.Series(v).astype("category"),
    "polars": pl.Series,
    "polars categories": lambda v: pl.Series(v, dtype=pl.Categorical),
    "polars enum": lambda v: pl.Series(v, dtype=pl.Enum(list(dict.fromkeys(v)))),
    "arrow": pa.array,
    "arrow chunks": lambda v: pa.chunked_array([v[:1], v[1:]]),
    "arrow dictionary": lambda v: pa.array(v).dictionary_encode(),
    "arrow views": lambda v: pa.array(v, type=pa.string_view()),
}


@each("column", COLUMNS.values())
def test_values_are_labels_in_normal_form_c_and_as_they_read_on_request(column: Callable[[list[str]], Any]) -> None:
    domain = Domain(["gesund", "krank", E_APART], sensitive=["krank", E_APART])
    assert domain.names() == ["gesund", "krank", E]
    assert domain.encode(column([E, "krank", E_APART, E_APART])).tolist() == [2, 1, 2, 2]
    values = column(["krank", "Krank ", "GESUND", "\u00a0krank", "E\u0301"])
    assert domain.encode(values, as_read=True).tolist() == [1, 1, 0, 1, 2]
    message = refused(DataError, lambda: domain.encode(values), "Krank", "GESUND")
    assert "4 of 5 values" in message
    assert "With `as_read=True`, 4 of them count" in message
    message = refused(DataError, lambda: domain.encode(column(["krank", "kranc"]), as_read=True), "kranc")
    assert "as_read" not in message
    # The Kelvin sign is the letter K in that form; a small k is another label.
    assert Domain(["K", "C"]).encode(column(["\u212a", "C"])).tolist() == [0, 1]


def test_of_several_alike_labels_only_spaces_and_invisible_characters_decide() -> None:
    domain = Domain(["krank", "Krank", "x"], sensitive=["krank", "Krank"])
    assert domain.encode(["krank ", "\ufeffKrank"], as_read=True).tolist() == [0, 1]
    assert "1 of 2" in refused(DataError, lambda: domain.encode(["KRANK", "x"], as_read=True), "KRANK")
    blank = Domain(["", " x", "x "], sensitive=["", " x", "x "])
    assert blank.encode([" ", "\u200b"], as_read=True).tolist() == [0, 0]
    assert "1 of 1" in refused(DataError, lambda: blank.encode(["X"], as_read=True))


def test_a_product_takes_values_as_they_read_by_attribute() -> None:
    domain = Domain.product(
        {"Gr\u00f6\u00dfe": ["klein", "gro\u00df"], "n": [1, 2]}, sensitive={"Gr\u00f6\u00dfe": "klein"}
    )
    rows = [("Klein", 1), ("GROSS", 2), ("klein", 2)]
    assert domain.encode(rows, as_read=True).tolist() == [0, 3, 1]
    assert "With `as_read=True`, 2 of them count" in refused(DataError, lambda: domain.encode(rows))
    apart = {"Gro\u0308\u00dfe": ["klein"], "n": [2]}
    for table in (
        apart,
        pd.DataFrame(apart),
        pl.DataFrame(apart),
        pa.table(apart),
        [{"Gro\u0308\u00dfe": "klein", "n": 2}],
    ):
        assert domain.encode(table).tolist() == [1]
    assert Domain.product({"Gro\u0308\u00dfe": ["a"]}, sensitive={"Gro\u0308\u00dfe": "a"}).table().keys() == {
        "Gr\u00f6\u00dfe"
    }
    with pytest.raises(ParameterError, match=r"names\.same-normal-form"):
        Domain.product({"\u00e9": ["a"], "e\u0301": ["b"]})


def test_what_is_neither_text_nor_whole_text_stays_unknown() -> None:
    domain = Domain(["a", "b"])
    assert "1 of 1" in refused(DataError, lambda: domain.encode(["a\ud800"], as_read=True))
    assert "labels.half-character" in refused(ParameterError, lambda: Domain(["a\ud800"]))
    broken = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xffa")])
    assert "1 of 1" in refused(DataError, lambda: domain.encode(broken))


def test_alike_labels_of_which_one_is_sensitive_are_refused() -> None:
    """tests/property/test_alike_values.py holds the rule; here is what the refusal says, and what is exact."""
    one, other = "ja", "JA\u200b"
    for sensitive in ([one], [other], lambda label: label == one, [False, True, False]):
        message = refused(ParameterError, partial(Domain, [one, other, "+"], sensitive=sensitive))
        assert visible(one) in message
        assert visible(other) in message
        assert "labels.read-alike" in message
        assert Domain([one, other, "+"], sensitive=sensitive, exact=True).sensitive_count == 1
    assert "accents" in refused(ParameterError, lambda: Domain([E, E_APART]))
    assert not any(group.differ for group in Domain([one, other, "+"], sensitive=[one, other]).alike)
    assert len(Domain([one, other, "+"], sensitive=["+"]).alike) == 1


@pytest.mark.parametrize(
    ("domain", "fingerprint"),
    [
        (lambda: Domain(["clinic", "court", "park"], sensitive=["clinic"]), "6ed2a870fdf7c12d"),
        (lambda: Domain(["Größe", "Straße", "ὀδός"], sensitive=["Größe"]).for_attribute("a"), "511b3a117c1ae735"),
        (
            lambda: Domain.product({"Größe": ["klein", "groß"], "n": [1, 2]}, sensitive={"Größe": "groß"}),
            "ee2a85c2d5cd3517",
        ),
        (lambda: Domain(["clinic", "park"], sensitive=["clinic"]).with_placeholders(["home"]), "5258b1d029d1beb7"),
    ],
)
def test_fingerprints_are_as_they_were(domain: Callable[[], Domain], fingerprint: str) -> None:
    assert domain().fingerprint.startswith(fingerprint)


def test_users_own_secrets_need_labels_that_do_not_read_alike() -> None:
    places = ["clinic", "park", "Park"]
    domain = Domain(places, sensitive=["clinic"])
    message = refused(ParameterError, lambda: Personalized(domain, 1.0, ["home"]))
    assert message.startswith("'park' and 'Park' read alike")
    assert Personalized(Domain(places, sensitive=["clinic"], exact=True), 1.0, ["home"]).domain.exact
    assert Personalized(Domain(places, sensitive=["park", "Park"]), 1.0, ["home"]).tags == ("home", "others")


def test_tags_and_users_are_found_in_any_normal_form() -> None:
    mechanism = Personalized(Domain(["clinic", "park"], sensitive=["clinic"]), 1.0, [E_APART], others=False)
    assert mechanism.tags == (E,)
    for tag in (E, E_APART):
        assert repr(SecretTags(mechanism, {tag: ["park"]})) == "SecretTags(hidden)"
    secrets = SimulatedTags(mechanism, ["Zoe\u0308", "Anna"], [1, 1], [E_APART, E])
    users = ["Zo\u00eb", "anna ", "Anna", "Bob"]
    assert secrets.replaced(mechanism, [1, 1, 1, 1], users).tolist() == [2, 2, 2, 1]
    assert "missing" in refused(DataError, lambda: SimulatedTags(mechanism, ["Anna", None], [1, 1], [E, E]), "Anna")
