"""One report as JSON, edited by hand."""

import json
from typing import Any

from discreet import Channel, Domain, HadamardResponse, LocalHashing, RandomizedResponse, SubsetSelection, UnaryEncoding
from discreet.errors import DataError, MismatchError
from discreet.formats import json_reports
from discreet.mechanisms import BlockMechanism
from packing import each
from refusals import refused

DOMAIN = Domain(range(100_000), sensitive=list(range(86_000, 86_012)))
SECRET = 47_119
RR, UNARY = RandomizedResponse(DOMAIN, 1.0), UnaryEncoding(DOMAIN, 1.0)
SUBSET, HASHING, HADAMARD = SubsetSelection(DOMAIN, 1.0, k=3), LocalHashing(DOMAIN, 1.0), HadamardResponse(DOMAIN, 1.0)
FOUR_BYTES = UnaryEncoding(Domain(range(40), sensitive=list(range(32))), 1.0)
CHANNEL = Channel([[0.5, 0.5], [0.25, 0.75]])


def line(mechanism: BlockMechanism | Channel, **parts: Any) -> str:
    return json.dumps({"plan": mechanism.fingerprint, **parts})


NUMBERS = [True, False, 1.0, 1e300, -1, 1 << 63, 10**400, "1", None, [1], {"a": 1}, [], float("nan"), float("inf")]
# Twelve bits are two bytes: four characters of base64, no more and no less.
BITS = ["AQg", "AQ==", "AQgA", "", "AQg=\n", " AQg=", "A-g=", "é", "AQ*=", 7, None, [1, 8], True, "=" * 8]
LISTS = [[0, 4], [0, 4, 9, 10], [0, 4, 9.0], [0, 4, True], [0, 4, None], [0, 4, -1], [0, 4, 1 << 63], [[0], [4], [9]]]
MEMBERS = [*LISTS, [], "049", 3, None, {"0": 4}]
ENTRIES: list[tuple[BlockMechanism | Channel, str, dict[str, Any], list[Any]]] = [
    (RR, "symbol", {}, NUMBERS),
    (RR, "clear", {}, NUMBERS),
    (HADAMARD, "column", {}, NUMBERS),
    (HASHING, "alpha", {"beta": 1, "bucket": 0}, NUMBERS),
    (HASHING, "bucket", {"alpha": 1, "beta": 1}, NUMBERS),
    (CHANNEL, "output", {}, NUMBERS),
    (UNARY, "bits", {}, BITS),
    (FOUR_BYTES, "bits", {}, ["", "AQ*=", "é"]),
    (SUBSET, "members", {}, MEMBERS),
]


@each("mechanism, name, others, entry", [(*one, entry) for *one, entries in ENTRIES for entry in entries])
def test_entries_of_another_type(mechanism: Any, name: str, others: dict[str, Any], entry: Any) -> None:
    bad = line(mechanism, **{name: entry}, **others)
    message = refused(DataError, lambda: json_reports.from_json(mechanism, [bad]), "1e300", "e+300")
    assert "[report.wrong-type]" in message


NO_REPORTS = ["", "{", "null", "[]", "3", '"text"', "{}", '{"symbol": 3}', '{"plan": 7, "symbol": 3}', "[" * 100_000]
NO_REPORTS += ['{"a":' * 100_000, '{"plan": null}', "\ufeff{}", "\x00", "nonsense", '{"plan": "x"} {}']


@each("text", [*NO_REPORTS, '{"a": %s}' % ("9" * 5000)])
def test_lines_that_are_no_reports(text: str) -> None:
    lines = [line(RR, clear=SECRET), text]
    assert "Report 1" in refused(DataError, lambda: json_reports.from_json(RR, lines), SECRET)


WHOLE = RR.fingerprint


@each("plan", ["", "x", WHOLE.upper(), WHOLE[:-1], WHOLE + " ", str(SECRET), f"\n{SECRET}", "\ud800"])
def test_other_plans(plan: str) -> None:
    lines = [line(RR, clear=SECRET), json.dumps({"plan": plan, "clear": SECRET})]
    assert "Report 1" in refused(MismatchError, lambda: json_reports.from_json(RR, lines), SECRET)


EXTRA = [{"note": SECRET}, {"Symbol": 3}, {"bits": "AQg="}, {"n": 1}, {str(SECRET): 1}, {"": 0}]


@each("extra", [*EXTRA, {"simulated": 1}, {"simulated": "yes"}, {"simulated": None}])
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


def test_a_line_of_another_plan_is_no_bad_row() -> None:
    stranger = json.dumps({"plan": "0" * 32, "clear": 1})
    refused(MismatchError, lambda: json_reports.valid_json(RR, ["{", line(RR, symbol=3), stranger]))
