"""What a collector says of what it publishes: one statement in its facts, its estimates and its pages."""

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from collectors import added, ids, put, records
from test_sealing import seal

from chances import beyond_among
from discreet.collector import served_pages
from discreet.collector.documents.publications import collection_publication as planned
from discreet.collector.documents.publications import most_answers, sentences_on_published
from discreet.collector.sealing import sealed_folder
from discreet.collector.storage.catalogue import Entry
from discreet.collector.storage.folder import DataFolder
from discreet.device.protocol.collection import Collection, Epochs, rebuild
from running import done, refusal, told
from signed import EPOCH, START, collection

TWO_OF_SIX = {"epsilon": 2.0, "domain": {"range": [0, 6], "sensitive": [0, 1]}, "mechanism": {"name": "rr"}}


def sealed(folder: Path, n: int, epoch: int = 1, *, entry: Entry | None = None, **terms: Any) -> Entry:
    entry = added(folder, **terms) if entry is None else entry
    put(folder, entry, [(ids(n), records(entry, n))], epoch)
    seal(folder, entry, epoch)
    return entry


def of_thirty(**terms: Any) -> Collection:
    return collection(TWO_OF_SIX, epochs=Epochs(START, EPOCH, 30), lifetime=60.0, least=1000, **terms)


def test_before_anything_is_sealed_the_terms_are_stated(tmp_path: Path) -> None:
    entry = added(tmp_path, least=1000)
    facts = planned(entry.collection, entry.mechanism).to_dict()
    assert (facts["planned"], facts["n"]) == (True, 1000)


def test_fresh_answers_of_a_thousand_people_in_thirty_epochs_are_thirty_rounds() -> None:
    one = of_thirty(answers="fresh")
    facts = planned(one, rebuild(one), [(1000, 1)] * 30).to_dict()
    assert facts["central"]["among"]["epsilon"] >= 2.456
    assert facts["among"]["epsilon"] > 2.456
    assert "30,000" not in str(facts["sentences"])


def test_fresh_answers_count_at_most_what_the_budget_allows() -> None:
    few = collection(TWO_OF_SIX, answers="fresh", epochs=Epochs(START, EPOCH, 30), lifetime=8.0, least=400)
    made = planned(few, rebuild(few), [(449, 1)] * 6)
    assert (made.rounds, made.n) == (4, 440)


@pytest.mark.parametrize(
    ("lifetime", "epsilon", "epochs", "most"), [(0.3, 0.1, 9, 3), (4.0, 1.0, 24, 4), (4.0, 1.0, 2, 2), (1.9, 1.0, 9, 1)]
)
def test_answers_are_counted_as_a_device_counts_its_budget(
    lifetime: float, epsilon: float, epochs: int, most: int
) -> None:
    plan = {**TWO_OF_SIX, "epsilon": epsilon}
    one = collection(plan, answers="fresh", epochs=Epochs(START, EPOCH, epochs), lifetime=lifetime)
    assert most_answers(one) == most
    assert most_answers(collection(plan, lifetime=lifetime)) == 1


def test_permanent_answers_have_the_local_guarantee_unless_all_is_one_batch() -> None:
    one = of_thirty(answers="permanent", linkable=True)
    mechanism = rebuild(one)
    facts = planned(one, mechanism, [(400, 1)] * 3).to_dict()
    assert facts["central"] is None
    assert "links the reports" in facts["local_only_reason"]
    assert planned(one, mechanism, [(400, 1)]).central is not None
    assert planned(one, mechanism).central is None
    assert "links the reports" in " ".join(sentences_on_published(one))


def test_fresh_answers_that_are_sealed_together_are_dealt_out() -> None:
    """What may come is not better than the worst: all answers of a person in one batch of the least size."""
    one = of_thirty(answers="fresh")
    made = planned(one, rebuild(one))
    assert (made.rounds, made.n, made.planned) == (30, 33, True)
    assert planned(replace(one, answers="once"), rebuild(one)).n == 1000
    made = planned(one, rebuild(one), [(1203, 4), (1000, 1)])
    assert (made.batches, made.rounds, made.n) == ((300, 300, 300, 300, 1000), 5, 300)


def test_simulated_collections_promise_nothing() -> None:
    one = collection(simulated=True)
    assert "simulated" in planned(one, rebuild(one)).local_only_reason
    assert not any("sure" in said or "promised" in said for said in sentences_on_published(one))


def test_later_versions_say_that_earlier_ones_add_to_it() -> None:
    later, first = collection(version=2), collection()
    assert "earlier versions" in str(planned(later, rebuild(later)))
    assert "earlier versions" not in str(planned(first, rebuild(first)))


def test_people_read_a_chance_before_they_answer(tmp_path: Path) -> None:
    entry = added(tmp_path, least=1000)
    text = " ".join(served_pages.survey_page(entry.collection, entry.row.trust).split())
    assert "use at least 1,000 answers" in text
    found = re.search(r"which of two protected answers is yours can be at most (\d+)% sure .* 1 in 1,000,000", text)
    assert found is not None
    made = planned(entry.collection, entry.mechanism)
    assert int(found[1]) / 100 == made.figures()["among"]["sure"] > 0.53
    assert beyond_among(int(found[1]) / 100, 1.0, 1000) <= 1e-6
    assert "but for a chance" not in text
    assert "(epsilon = 1)" in text
    assert "You must trust the collector" in text
    assert "all your answers" not in text
    again = added(tmp_path / "fresh", least=1000, answers="fresh", lifetime=2.0)
    assert "all your answers together, at most 2." in served_pages.survey_page(again.collection, again.row.trust)


def test_a_sealed_folder_says_itself_how_people_are_in_it(tmp_path: Path) -> None:
    """All that was sealed counts, whatever is estimated, and also where reports have been deleted since."""
    entry = sealed(tmp_path, 200, 0, answers="fresh", lifetime=2.0)
    for epoch in (1, 2):
        sealed(tmp_path, 150, epoch, entry=entry)
    place = sealed_folder(DataFolder(tmp_path), entry)
    estimate = ("estimate", place / "_plan.json", place)
    assert "publication" not in told(*estimate)
    refused = refusal(*estimate, "--statement")
    assert f"Use discreet collection statement {place} instead." in refused
    asked = ("collection", "statement", place)
    facts = told(*asked)["publication"]
    assert (facts["answers"], facts["batches"], facts["rounds"], facts["n"]) == ("fresh", 3, 2, 150)
    text = " ".join(done(*asked).split())
    assert "different people" not in text
    assert "is the word of the document _collection.json in the folder" in text
    next(place.glob("epoch-*.parquet")).unlink()
    assert told(*asked)["publication"]["batches"] == 3
    known = told(*asked, "--not-trusted", 50)["publication"]
    assert known["not_trusted"] == 50
    assert known["among"]["epsilon"] > facts["among"]["epsilon"]
    (place / "_collection.json").unlink()
    assert "_collection.json does not exist" in refusal(*asked)
    assert told(*estimate, "--statement")["publication"]["answers"] == "unknown"


def test_a_tally_of_another_collection_is_refused(tmp_path: Path) -> None:
    one = sealed(tmp_path / "one", 60)
    other = sealed(tmp_path / "other", 60, name="other")
    here, there = (
        sealed_folder(DataFolder(tmp_path / name), entry) for name, entry in (("one", one), ("other", other))
    )
    tally = next((there / "_tallies").iterdir())
    shutil.copy(tally, here / "_tallies" / f"again-{tally.name}")
    assert "tally.other-collection" in refusal("collection", "statement", here)
