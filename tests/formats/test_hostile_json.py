"""One report as JSON, edited by hand."""

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import Channel, Domain, HadamardResponse, LocalHashing, RandomizedResponse, SubsetSelection, UnaryEncoding
from discreet.errors import DataError, MismatchError
from discreet.formats import json_reports
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.row_checks import UNREADABLE, FlawedRowsError
from refusals import refused

DOMAIN = Domain(range(100_000), sensitive=list(range(86_000, 86_012)))
SECRET = 47_119
RR, UNARY = RandomizedResponse(DOMAIN, 1.0), UnaryEncoding(DOMAIN, 1.0)
SUBSET, HASHING, HADAMARD = SubsetSelection(DOMAIN, 1.0, k=3), LocalHashing(DOMAIN, 1.0), HadamardResponse(DOMAIN, 1.0)
CHANNEL = Channel([[0.5, 0.5], [0.25, 0.75]])


def line(mechanism: BlockMechanism | Channel, **parts: Any) -> str:
    return json.dumps({"plan": mechanism.fingerprint, **parts})


NUMBERS = [True, False, 1.0, 1e300, -1, 1 << 63, 10**400, "1", None, [1], {"a": 1}, [], float("nan"), float("inf")]


@pytest.mark.parametrize("entry", NUMBERS, ids=lambda entry: str(entry)[:20])
def test_numbers_that_are_none(entry: Any) -> None:
    kinds: list[tuple[BlockMechanism | Channel, str, dict[str, Any]]] = [
        (RR, "symbol", {}),
        (RR, "clear", {}),
        (HADAMARD, "column", {}),
        (HASHING, "alpha", {"beta": 1, "bucket": 0}),
        (HASHING, "bucket", {"alpha": 1, "beta": 1}),
        (CHANNEL, "output", {}),
    ]
    for mechanism, name, others in kinds:
        bad = line(mechanism, **{name: entry}, **others)
        message = refused(DataError, lambda m=mechanism, bad=bad: json_reports.from_json(m, [bad]), "1e300", "e+300")
        assert "report.wrong-type" in message


@pytest.mark.parametrize(
    "bits", ["AQg", "AQ==", "AQgA", "", "AQg=\n", " AQg=", "A-g=", "é", "AQ*=", 7, None, [1, 8], True, "=" * 8]
)
def test_bits_that_are_none(bits: Any) -> None:
    """Twelve bits are two bytes: four characters of base64, no more and no less."""
    message = refused(DataError, lambda: json_reports.from_json(UNARY, [line(UNARY, bits=bits)]))
    assert message == "Report 0 has a bits of the wrong type. [report.wrong-type]"


@pytest.mark.parametrize(
    "members",
    [
        [0, 4],
        [0, 4, 9, 10],
        [0, 4, 9.0],
        [0, 4, True],
        [0, 4, None],
        [0, 4, -1],
        [0, 4, 1 << 63],
        [[0], [4], [9]],
        [],
        "049",
        3,
        None,
        {"0": 4},
    ],
    ids=str,
)
def test_members_that_are_none(members: Any) -> None:
    message = refused(DataError, lambda: json_reports.from_json(SUBSET, [line(SUBSET, members=members)]))
    assert message == "Report 0 has a members of the wrong type. [report.wrong-type]"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "3",
        '"text"',
        "{}",
        '{"symbol": 3}',
        '{"plan": 7, "symbol": 3}',
        "[" * 100000,
        '{"a":' * 100000,
        '{"plan": null}',
        "\ufeff{}",
        "\x00",
        "nonsense",
        '{"plan": "x"} {}',
        '{"a": %s}' % ("9" * 5000),
    ],
    ids=lambda text: text[:20],
)
def test_lines_that_are_no_reports(text: str) -> None:
    lines = [line(RR, clear=SECRET), text]
    message = refused(DataError, lambda: json_reports.from_json(RR, lines), SECRET)
    assert "Report 1" in message


@pytest.mark.parametrize("plan", ["", "x", RR.fingerprint.upper(), RR.fingerprint[:-1], RR.fingerprint + " "])
def test_other_plans(plan: str) -> None:
    lines = [line(RR, clear=SECRET), json.dumps({"plan": plan, "clear": SECRET})]
    assert "Report 1" in refused(MismatchError, lambda: json_reports.from_json(RR, lines), SECRET)


def test_a_value_in_the_place_of_the_plan_is_not_quoted() -> None:
    for sent in (str(SECRET), f"\n{SECRET}", "\ud800"):
        text = json.dumps({"plan": sent, "clear": 1})
        refused(MismatchError, lambda text=text: json_reports.from_json(RR, [text]), sent)


@pytest.mark.parametrize(
    "extra",
    [
        {"note": SECRET},
        {"Symbol": 3},
        {"bits": "AQg="},
        {"n": 1},
        {str(SECRET): 1},
        {"simulated": 1},
        {"simulated": "yes"},
        {"simulated": None},
        {"": 0},
    ],
    ids=str,
)
def test_fields_that_are_not_of_the_plan(extra: dict[str, Any]) -> None:
    message = refused(DataError, lambda: json_reports.from_json(RR, [line(RR, symbol=3, **extra)]), SECRET, "yes")
    assert message.startswith("Report 0 ")
    assert message.endswith(" [report.unknown-fields]")


def test_any_simulated_report_marks_the_batch() -> None:
    lines = [line(RR, symbol=3, simulated=False), line(RR, clear=SECRET, simulated=True), line(RR, symbol=1)]
    assert json_reports.from_json(RR, lines).simulated
    assert not json_reports.from_json(RR, [lines[0], lines[2]]).simulated


def test_an_entry_said_twice() -> None:
    text = line(RR, clear=SECRET).replace('"clear"', '"clear": 1, "clear"')
    refused(DataError, lambda: json_reports.from_json(RR, [text]), SECRET)


# Some bad lines among good ones


def as_a_loop_would(lines: list[str]) -> tuple[list[tuple[bool, int]], bool, Counter[str]]:
    """The specification: every line by itself; reports in order, whether one is simulated, and what is left out."""
    found, simulated, left_out = [], False, Counter[str]()
    for text in lines:
        try:
            one = json_reports.from_json(RR, [text])
        except FlawedRowsError as error:
            left_out[error.what] += 1
        except DataError:
            left_out[UNREADABLE] += 1
        else:
            told = bool(one.in_clear[0])
            found.append((told, int(one.clear[0] if told else one.blocks["symbol"][0])))
            simulated |= one.simulated
    return found, simulated, left_out


LINES = [
    line(RR, symbol=3),
    line(RR, clear=SECRET),
    line(RR, clear=5, simulated=True),
    line(RR, clear=86_001),
    line(RR, clear=86_001, simulated=True),
    line(RR, symbol=12),
    line(RR),
    line(RR, symbol=3, clear=4),
    line(RR, symbol=True),
    line(RR, clear=7, symbol="x"),
    "{",
    "",
    "[]",
]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(LINES), max_size=12))
def test_lines_are_sifted_as_a_loop_would(lines: list[str]) -> None:
    reports, left_out = json_reports.sift_json(RR, lines)
    told, clear = reports.in_clear.tolist(), iter(reports.clear.tolist())
    blocks = iter(reports.blocks["symbol"].tolist())
    found = [(in_clear, next(clear) if in_clear else next(blocks)) for in_clear in told]
    assert (found, reports.simulated, left_out) == as_a_loop_would(lines)


def test_a_line_of_another_plan_is_no_bad_row() -> None:
    stranger = json.dumps({"plan": "0" * 32, "clear": 1})
    refused(MismatchError, lambda: json_reports.sift_json(RR, ["{", LINES[0], stranger]))
