"""Batches: names and numbers of reports, by which the same reports are recognised and others never are."""

import pickle
from dataclasses import replace

import numpy as np

import discreet as dc
from discreet.core.batches import NamedBatch, batch_name, checked_name, merged, new_name
from discreet.errors import DataError, MismatchError, ParameterError
from refusals import refused

COLLECTION = "8f" * 32
MECHANISM = dc.RandomizedResponse(dc.Domain(["yes", "no", "none"]), 1.0)


def reports_of(n: int = 600) -> dc.Reports:
    return MECHANISM.obfuscate_codes(np.arange(n) % 3, random=dc.SeededRandom(1))


def test_names_of_sealed_batches_have_one_form() -> None:
    assert batch_name({"collection": COLLECTION, "epoch": 0, "n": 3}) == f"{COLLECTION}/0"
    assert batch_name({"collection": COLLECTION, "epochs": [3, 5]}) == f"{COLLECTION}/3-5"
    for facts in (
        {},
        {"collection": COLLECTION},
        {"epoch": 3},
        {"collection": "alice 10:31", "epoch": 3},
        {"collection": COLLECTION.upper(), "epoch": 3},
        {"collection": COLLECTION + "\n", "epoch": 3},
        *({"collection": COLLECTION, "epoch": epoch} for epoch in (-1, 1 << 32, True, "3", 3.0, None, [3])),
        *({"collection": COLLECTION, "epochs": epochs} for epochs in ([3], [5, 3], [3, 3], [3, 4, 5], 3, ["3", "5"])),
        {"collection": COLLECTION, "epoch": 3, "epochs": [3, 5]},
        *({"name": name} for name in ("", " a", "a ", "a\n", "é", "a" * 101, 7, None)),
    ):
        assert batch_name(facts) == ""


def test_names_of_callers_are_checked_and_new_names_are_new() -> None:
    assert [checked_name(name) for name in ("a", "2026-11 week 3", "~" * 100)] == ["a", "2026-11 week 3", "~" * 100]
    for name in ("", " a", "a\n", "naïve", "a" * 101, 7, b"a"):
        assert "name.not-usable" in refused(ParameterError, lambda name=name: checked_name(name))
    assert len({new_name() for _ in range(1000)}) == 1000
    assert all(len(checked_name(None)) == 32 for _ in range(3))


def test_parts_of_a_batch_add_up_to_no_more_than_the_batch() -> None:
    whole, parts = NamedBatch("a", 9, 9), [NamedBatch("a", 4, 9), NamedBatch("b", 1, 1), NamedBatch("a", 5, 9)]
    assert merged(parts) == (whole, NamedBatch("b", 1, 1))
    for more in ([*parts, NamedBatch("a", 1, 9)], [whole, whole], [NamedBatch("a", 10, 9)]):
        said = refused(MismatchError, lambda more=more: merged(more))
        assert "batch.too-many-reports" in said


def test_entries_of_earlier_versions_have_a_digest() -> None:
    assert NamedBatch.of_entry([f"{COLLECTION}/3", "0" * 32, 5]) == NamedBatch(f"{COLLECTION}/3", 5, 5)
    for batch in (NamedBatch("a", 2, 5), NamedBatch("a", 5, 5)):
        assert NamedBatch.of_entry(batch.entry) == batch


def test_reports_are_a_new_batch_and_parts_of_it() -> None:
    first, second = reports_of(), reports_of()
    assert first.batch is not None
    assert second.batch is not None
    # The same seed, and not the same batch: equal reports of other people are never taken for a copy.
    assert first.batch.name != second.batch.name
    assert (first + second).n == 1200
    name = first.batch.name
    for part in (first[:200], first.part(0, 200), first.take(np.arange(200)), first[np.arange(600) < 200]):
        assert part.batches == (NamedBatch(name, 200, 600),)
    assert first[:0].batches == ()
    assert first[:200].batch == NamedBatch(name, 200, 600)
    assert (first[:200] + first[200:]).batches == first.sealed().batches == first[:].batches == first.batches
    assert pickle.loads(pickle.dumps(first)).batches == first.batches
    both = first + second
    assert both.batch is None
    assert both[:900].batches == ()
    assert MECHANISM.obfuscate(["yes"]).batches == ()


def test_reports_that_count_twice_are_refused_where_batches_show_it() -> None:
    reports = reports_of()
    tally, half = MECHANISM.tally(reports), reports[:400]
    for twice in (
        lambda: reports + reports,
        lambda: dc.Reports.concatenate([reports, half]),
        lambda: half + half,
        lambda: tally + tally,
        lambda: tally + MECHANISM.tally(half),
        lambda: dc.estimate(MECHANISM, tally + tally),
    ):
        assert "batch.too-many-reports" in refused(MismatchError, twice)
    assert (MECHANISM.tally(half) + MECHANISM.tally(reports[400:])).batches == tally.batches
    # Put together by hand they have no name, and are not recognised.
    bare = replace(reports, batches=())
    assert (bare + bare).n == (MECHANISM.tally(bare) + MECHANISM.tally(bare)).n == 1200


def test_tallies_know_their_batches() -> None:
    reports = [reports_of(300) for _ in range(2)]
    bare = replace(reports_of(300), batches=())
    tallies = [MECHANISM.tally(each) for each in (*reports, bare)]
    whole = sum(tallies, start=MECHANISM.empty_tally())
    assert [batch.n for batch in whole.batches] == [300, 300]
    assert whole.unnamed == 300
    assert whole == MECHANISM.tally(dc.Reports.concatenate([*reports, bare]))
    assert whole.without(tallies[0]) == tallies[1] + tallies[2]
    said = "tally.not-counted"
    for wrong in (tallies[2], MECHANISM.tally(reports_of(300)), MECHANISM.tally(reports[0][:100])):
        assert said in refused(MismatchError, lambda wrong=wrong: whole.without(wrong))
    counts = tallies[0].support, tallies[0].clear
    too_many = (NamedBatch("a", 200, 200), NamedBatch("b", 200, 200))
    for made in (
        lambda: dc.Tally(MECHANISM.fingerprint, 300, *counts, batches=too_many),
        lambda: replace(bare, batches=too_many),
    ):
        assert "batches.too-many-reports" in refused(DataError, made)
