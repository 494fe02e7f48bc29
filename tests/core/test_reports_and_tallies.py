"""Reports and tallies are valid by existing, and their mechanism's own before anything is estimated from them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet import (
    METHODS,
    BlockDesign,
    Channel,
    Domain,
    RandomizedResponse,
    Reports,
    SeededRandom,
    Tally,
    UnaryEncoding,
    estimate,
)
from discreet.errors import DataError, MismatchError, ParameterError
from discreet.mechanisms import BlockMechanism, LawMechanism
from discreet.mechanisms.laws.hadamard import HadamardColumns
from laws import BUILDERS
from packing import each
from refusals import refused

DOMAIN = Domain(range(9), sensitive=range(5))
CODES = np.arange(400) % 9
RR = RandomizedResponse(DOMAIN, 1.0)
MARK = RR.fingerprint
NOTHING = np.zeros(0, dtype=np.int64)


def masked(array: Any) -> Any:
    return np.ma.array(array, mask=np.arange(np.size(array)) == 0)


# A tally


@pytest.mark.parametrize(
    "counts",
    [
        [1, 2],
        (1, 2),
        np.array([1.0, 2.0]),
        np.array([0.5]),
        np.array([-1, 2]),
        np.array([6]),
        np.array([2**63 + 1], dtype=np.uint64),
        np.array([[1, 2]]),
        np.array(3),
        np.array([True]),
        np.array(["1"]),
        np.array([1, 2], dtype=object),
        masked(np.array([1, 2])),
        {1, 2},
        None,
        5,
        "12",
    ],
    ids=repr,
)
def test_counts_that_are_none(counts: Any) -> None:
    refused(DataError, lambda: Tally(MARK, 5, counts, NOTHING))
    refused(DataError, lambda: Tally(MARK, 5, NOTHING, counts))


def test_tallies_of_other_lengths_neither_add_up_nor_are_equal() -> None:
    short, long = (Tally(MARK, 5, np.ones(size, dtype=int), NOTHING) for size in (1, 4))
    assert short != long
    assert "tally.different-sizes" in refused(MismatchError, lambda: short + long)


# Of its mechanism


def forgeries(name: str, tally: Tally) -> list[Tally]:
    """Counts of other numbers of values and, of laws that show it, counts that no reports could have left."""
    support, clear = tally.support, tally.clear
    lengths = [(support[:1], clear), (support, clear[:1]), (support, clear[:0]), (np.append(support, 0), clear)]
    found = [replace(tally, support=s, clear=c) for s, c in lengths if (len(s), len(c)) != (len(support), len(clear))]
    if name in {"rr", "subset", "hadamard", "translates", "design"}:
        found += [replace(tally, n=10**9), replace(tally, n=tally.n + 1)]
        found += [replace(tally, support=support * 0), replace(tally, clear=clear + 1)]
    return found


@each("name", BUILDERS)
def test_counts_that_no_reports_leave_are_not_estimated_from(name: str) -> None:
    mechanism = BUILDERS[name](DOMAIN, 1.0)
    tally = mechanism.tally(mechanism.obfuscate_codes(CODES, random=SeededRandom(1)))
    for forged in forgeries(name, replace(tally, batches=())):
        for method in METHODS:
            said = refused(DataError, lambda one=forged, how=method: estimate(mechanism, one, method=how))
            assert "tally." in said
        refused(DataError, lambda one=forged: mechanism.decoder.estimate(one))


def test_bits_are_in_no_more_blocks_than_there_are() -> None:
    mechanism = UnaryEncoding(DOMAIN, 1.0)
    support, clear = np.full(5, 8), np.array([1, 1, 1, 0])
    assert "tally.impossible-counts" in refused(
        DataError, lambda: estimate(mechanism, Tally(mechanism.fingerprint, 10, support, clear))
    )
    assert estimate(mechanism, Tally(mechanism.fingerprint, 11, support, clear)).n == 11


def test_where_nothing_is_sensitive_every_report_is_in_clear() -> None:
    mechanism = RandomizedResponse(Domain(range(3), sensitive=[], allow_unprotected=True), 1.0)
    tally = Tally(mechanism.fingerprint, 5, NOTHING, np.array([1, 1, 1]))
    assert "tally.impossible-counts" in refused(DataError, lambda: estimate(mechanism, tally))
    assert estimate(mechanism, replace(tally, n=3)).frequencies.tolist() == pytest.approx([1 / 3] * 3)


def test_outputs_of_a_channel_that_never_come() -> None:
    channel = Channel([[0.5, 0.5, 0], [0.25, 0.75, 0]])
    good = Tally(channel.fingerprint, 4, np.array([2, 2, 0]), NOTHING)
    assert estimate(channel, good).n == 4
    for support in ([2, 1, 1], [2, 1, 0], [2, 3, 0]):
        forged = replace(good, support=np.array(support))
        for method in METHODS:
            refused(DataError, lambda one=forged, how=method: estimate(channel, one, method=how))


# Reports


def made() -> Reports:
    return RR.obfuscate_codes(CODES, random=SeededRandom(1))


@pytest.mark.parametrize(
    "make",
    [
        lambda _: None,
        lambda _: {},
        lambda _: [1],
        lambda b: {"symbol": b.tolist()},
        lambda b: {"symbol": b * 1.0},
        lambda b: {"symbol": b[:-1]},
        lambda b: {"symbol": masked(b)},
        lambda b: {"symbol": b.reshape(-1, 1, 1)},
        lambda b: {"symbol": b, "other": b[1:]},
        lambda b: {"symbol": set(b.tolist())},
    ],
)
def test_blocks_that_are_none(make: Any) -> None:
    reports = made()
    refused(DataError, lambda: replace(reports, blocks=make(reports.blocks["symbol"])))


def others(mechanism: BlockMechanism, reports: Reports) -> list[Reports]:
    """Reports of one plan's mark that its mechanism did not make."""
    name, column = next(iter(reports.blocks.items()))
    rest = {key: one for key, one in reports.blocks.items() if key != name}
    found = [
        replace(reports, blocks={"other": column}),
        replace(reports, blocks={**reports.blocks, "other": column}),
        replace(reports, blocks={**rest, name: column.astype(np.int64)}),
        replace(reports, blocks={**rest, name: np.column_stack([column, column])}),
        replace(reports, clear=reports.clear * 0),
        replace(reports, clear=reports.clear + 9),
        replace(reports, clear=reports.clear.astype(np.int64) - 100),
    ]
    if mechanism.block_columns[0].bound is not None:
        found.append(replace(reports, blocks={**rest, name: np.full_like(column, np.iinfo(column.dtype).max)}))
    return found


@each("name", BUILDERS)
def test_reports_that_their_mechanism_did_not_make(name: str) -> None:
    mechanism = BUILDERS[name](DOMAIN, 1.0)
    reports = mechanism.obfuscate_codes(CODES, random=SeededRandom(1))
    assert len(reports.clear)
    for forged in others(mechanism, reports):
        for method in METHODS:
            refused(DataError, lambda one=forged, how=method: estimate(mechanism, one, method=how))
        refused(DataError, lambda one=forged: mechanism.decoder.contributions(one))
    refused(DataError, lambda: mechanism.tally(None))  # type: ignore[arg-type]


def test_a_tally_suffices_only_where_no_value_in_clear_brings_a_block() -> None:
    """Hadamard columns are counted one by one; beside values in clear they are counted with the others."""
    both = LawMechanism(DOMAIN, 1.0, HadamardColumns(5), clear_blocks=True)
    reports = both.obfuscate_codes(CODES, random=SeededRandom(1))
    assert both.counts.suffices
    assert not both.tally_suffices
    assert "method.needs-reports" in refused(ParameterError, lambda: estimate(both, both.tally(reports), method="mle"))


def test_blocks_that_no_device_sends() -> None:
    for mechanism, column in (
        (BUILDERS["subset"](DOMAIN, 0.5), "members"),
        (BUILDERS["hashing"](DOMAIN, 1.0), "alpha"),
    ):
        reports = mechanism.obfuscate_codes(CODES, random=SeededRandom(1))
        zeros = np.zeros_like(reports.blocks[column])
        forged = replace(reports, blocks={**reports.blocks, column: zeros})
        assert "reports.impossible-blocks" in refused(
            DataError, lambda one=forged, m=mechanism: estimate(m, one, method="mle")
        )


def test_a_block_for_everybody_or_for_those_who_are_not_in_clear() -> None:
    mechanism = UnaryEncoding(DOMAIN, 1.0)
    reports = mechanism.obfuscate_codes(CODES, random=SeededRandom(1))
    everybody = replace(reports, blocks={"bits": np.zeros((reports.n, 1), dtype=np.uint8)})
    assert "reports.neither-block-nor-clear" in refused(DataError, lambda: estimate(mechanism, everybody))
    both = UnaryEncoding(DOMAIN, 1.0, clear_bits=True)
    made_by_both = both.obfuscate_codes(CODES, random=SeededRandom(1))
    fewer = replace(made_by_both, blocks={"bits": made_by_both.blocks["bits"][: reports.block_count]})
    if fewer.block_count != made_by_both.n:
        assert "reports.neither-block-nor-clear" in refused(DataError, lambda: estimate(both, fewer))


def test_a_design_of_two_sizes_refuses_counts_of_neither() -> None:
    mechanism = BlockDesign(Domain(range(12), sensitive=range(8)), 1.0, sensitive_mass=0.4)
    tally = mechanism.tally(mechanism.obfuscate_codes(np.arange(400) % 12, random=SeededRandom(2)))
    moved = tally.support.copy()
    moved[0] += 1
    assert "tally.impossible-counts" in refused(DataError, lambda: estimate(mechanism, replace(tally, support=moved)))
