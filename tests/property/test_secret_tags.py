"""A user's secret tags: nothing shows them, and nothing carries them off."""

import copy
import inspect
import json
import pickle
import pprint
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest

from discreet import Domain, Personalized, SecretTags
from discreet.errors import DataError, DiscreetError, ParameterError, SecretError
from discreet.mechanisms.personalized import SimulatedTags
from packing import each
from refusals import refused

PLACES = ["clinic", "park", "zanzibar", "xanadu", "harbour"]
DOMAIN = Domain(PLACES, sensitive=["clinic"])
PLAN = Personalized(DOMAIN, 1.0, ["home", "lover"])
TAGGED = {"home": ["zanzibar"], "lover": ["xanadu"]}


def secret() -> SecretTags:
    return SecretTags(PLAN, TAGGED)


SHOWN: dict[str, Callable[[SecretTags], Any]] = {
    "repr": repr,
    "str": str,
    "format": lambda it: f"{it} {it!r} {it!s} {it!a}",
    "dir": dir,
    "pprint": pprint.pformat,
    "inside others": lambda it: repr({"a": [it], "b": (it,)}),
    "public attributes": lambda it: [getattr(it, name) for name in dir(it) if not name.startswith("_")],
    "slots": lambda it: [
        repr(getattr(it, f"_SecretTags{name}")) for name in SecretTags.__slots__ if "plan" not in name
    ],
    "doc": inspect.getdoc,
}


@pytest.mark.parametrize("way", SHOWN)
def test_nothing_shows_it(way: str) -> None:
    shown = str(SHOWN[way](secret()))
    if way in ("repr", "str", "pprint"):
        assert shown == "SecretTags(hidden)"
    assert not [word for word in ("zanzibar", "xanadu", "lover", "array") if word in shown]


CARRIED: dict[str, Callable[[SecretTags], Any]] = {
    **{
        f"pickle {protocol}": lambda it, p=protocol: pickle.dumps(it, p)
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
    "pickle inside": lambda it: pickle.dumps([it]),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "reduce_ex": lambda it: it.__reduce_ex__(4),
    "getstate": lambda it: it.__getstate__(),
    "json": json.dumps,
    "msgspec": msgspec.json.encode,
    "vars": vars,
    "dict": lambda it: it.__dict__,
    "list": list,
    "len": len,
    "item": lambda it: it["home"],
    "in": lambda it: "home" in it,
}


@each("way", CARRIED)
def test_nothing_carries_it_off(way: str) -> None:
    it = secret()
    with pytest.raises((TypeError, AttributeError)) as caught:
        CARRIED[way](it)
    shown = str(caught.value)
    assert not [word for word in ("zanzibar", "xanadu", "lover") if word in shown]


def test_it_cannot_be_changed() -> None:
    it = secret()
    for name in ("_SecretTags__replace", "_SecretTags__plan", "tags", "__class__"):
        with pytest.raises(SecretError):
            setattr(it, name, None)
        with pytest.raises(SecretError):
            delattr(it, name)


def test_it_does_not_follow_what_it_was_made_of() -> None:
    places = ["zanzibar"]
    it = SecretTags(PLAN, {"home": places})
    places[0] = "park"
    assert set(PLAN.obfuscate(["zanzibar"] * 200, it).clear.tolist()) == set()
    assert set(PLAN.obfuscate(["park"] * 200, it).clear.tolist()) == {1}


@pytest.mark.parametrize(
    ("tagged", "kind", "said"),
    [
        (
            {"lover": ["park"], "mistress": ["zanzibar"]},
            ParameterError,
            "1 of 2 tags are not in the plan (first at place 1)",
        ),
        ({"home": ["zanzibar", "timbuktu"]}, DataError, "1 of 2 values are not in the domain"),
        ({"home": ["zanzibar"], "lover": ["zanzibar"]}, DataError, "secret-values.two-tags"),
        ({"home": "zanzibar"}, DataError, "single"),
        ({"home": [None, "zanzibar"]}, DataError, "missing"),
        ({"home": [1, "zanzibar"]}, DataError, "column.not-all-text"),
        ({"home": 7}, DataError, "sequence"),
        (["zanzibar"], ParameterError, "{tag: values}"),
        ("zanzibar", ParameterError, "{tag: values}"),
        (None, ParameterError, "{tag: values}"),
    ],
)
def test_refusals_quote_no_secret(tagged: Any, kind: type[DiscreetError], said: str) -> None:
    message = refused(kind, lambda: SecretTags(PLAN, tagged), "zanzibar", "timbuktu", "mistress")
    assert said in message


@pytest.mark.parametrize(
    "attempt",
    [
        partial(SecretTags, PLAN, {"mistress": ["zanzibar"]}),
        partial(SecretTags, PLAN, {"home": ["timbuktu"]}),
        partial(SecretTags, PLAN, {"home": ["park"], "lover": ["park"]}),
        partial(PLAN.obfuscate, ["elsewhere"], secret()),
    ],
)
def test_tracebacks_quote_no_secret(attempt: Callable[[], Any]) -> None:
    with pytest.raises(DiscreetError) as caught:
        attempt()
    shown = "".join(traceback.format_exception(caught.value))
    assert not [word for word in ("mistress", "zanzibar", "xanadu", "timbuktu", "elsewhere", "park") if word in shown]


def test_a_secret_that_is_sensitive_for_everybody_is_told_to_the_caller_only(capfd: pytest.CaptureFixture[str]) -> None:
    """Not in a warning, which goes to the error stream and into logs."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        refused(DataError, lambda: SecretTags(PLAN, {"home": ["clinic", "park"]}), "clinic", "park", "home")
        SecretTags(PLAN, {"home": ["clinic", "park"]}, keep_sensitive=True)
    assert capfd.readouterr() == ("", "")


def test_warnings_quote_no_secret() -> None:
    """Nor does the line of source that is shown with them."""
    with pytest.warns(UserWarning, match="sensitive for everybody") as caught:
        SimulatedTags(PLAN, ["zanzibar"], [0], ["home"])
    assert "zanzibar" not in str(caught[0].message)
    assert caught[0].filename.endswith("personalized.py")
