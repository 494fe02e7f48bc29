"""Both guarantees wherever a collector speaks: the local one, and the central one of what it seals and publishes."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collectors import added, frame, ids, records, serving
from hypothesis import given
from hypothesis import strategies as st
from test_sealing import put, seal

import discreet as dc
from discreet.collector.catalogue import Entry
from discreet.collector.central import delta_of, reader_sentence, rounded_up, sentences_on_published, why_none
from discreet.collector.pages import survey

FACTS, ESTIMATES = "/v1/collections/habits/facts", "/v1/collections/habits/estimates"


def sealed(folder: Path, n: int, epoch: int = 1, *, entry: Entry | None = None, **terms: Any) -> Entry:
    entry = added(folder, **terms) if entry is None else entry
    put(folder, entry, [(ids(n), records(entry, n))], epoch)
    seal(folder, entry, epoch)
    return entry


def of_batch(mechanism: Any, n: int, delta: float = 1e-6) -> dict[str, Any]:
    found = dc.shuffled(mechanism, n, delta)
    ends = [None if one is None else vars_of(one) for one in (found.among, found.towards)]
    facts = {"among": ends[0], "towards": ends[1], "floor": found.floor, "local": found.local}
    return {"n": n, "delta": delta, **facts}


def vars_of(epsilon: Any) -> dict[str, Any]:
    return {name: getattr(epsilon, name) for name in ("upper", "lower", "status")}


def test_facts_state_both_guarantees_of_the_smallest_epoch(tmp_path: Path) -> None:
    entry = sealed(tmp_path, 60, 0, least=20)
    sealed(tmp_path, 45, 1, entry=entry)
    with serving(tmp_path, demo=True) as served:
        said = served.client.get(FACTS).json
    central = said["central"]
    assert central["smallest_sealed_epoch"] == of_batch(entry.mechanism, 45)
    assert central["least_estimate"] == of_batch(entry.mechanism, 20)
    assert central["smallest_sealed_epoch"]["local"] == said["guarantee"]["realised"]
    assert central["smallest_sealed_epoch"]["among"]["upper"] < said["guarantee"]["realised"]
    assert any("has the local guarantee" in one for one in central["conditions"])
    assert any("can be subtracted" in one for one in central["conditions"])


def test_estimates_state_both_guarantees_of_their_reports(tmp_path: Path) -> None:
    entry = sealed(tmp_path, 60)
    with serving(tmp_path, demo=True) as served:
        said = served.client.get(f"{ESTIMATES}?epochs=1").json["guarantee"]
        assert said["local"] == entry.mechanism.guarantee.realised
        assert said["central"]["batch"] == of_batch(entry.mechanism, 60)


def test_fresh_answers_add_up_wherever_a_guarantee_is_stated(tmp_path: Path) -> None:
    """An estimate of several epochs has several reports of those who answered again."""
    entry = sealed(tmp_path, 60, 0, answers="fresh", lifetime=4.0)
    sealed(tmp_path, 60, 1, entry=entry)
    with serving(tmp_path, demo=True) as served:
        release = served.client.get(f"{ESTIMATES}?epochs=0-1").json["guarantee"]["central"]
        facts = served.client.get(FACTS).json["central"]
    assert release["batch"]["n"] == 120
    assert any("adds them up" in one for one in release["conditions"])
    assert release["conditions"] == facts["conditions"]
    assert "adds up, at most" in " ".join(survey.page(entry.collection, entry.row.trust).split())


def test_a_report_alone_is_said_to_have_nobody_that_hides_it(tmp_path: Path) -> None:
    sealed(tmp_path, 60, 0, entry=(entry := sealed(tmp_path, 1, 1)))
    with serving(tmp_path, demo=True) as served:
        said = served.client.get(FACTS).json["central"]["smallest_sealed_epoch"]
    assert said == {
        "n": 1,
        "none": "A single report has no other that hides it: it tells what its local epsilon allows.",
    }
    assert entry.collection.least > 1


def test_open_epochs_have_none_yet(tmp_path: Path) -> None:
    entry = added(tmp_path)
    with serving(tmp_path, demo=True) as served:
        assert served.client.post(frame(entry, 60)).status == 202
        said = served.client.get(f"{ESTIMATES}?epochs=1").json
        assert said["provisional"]
        assert "count a person twice" in said["guarantee"]["central"]["none"]
        none = served.client.get(FACTS).json["central"]
    assert none["smallest_sealed_epoch"] is None


@pytest.mark.parametrize(("terms", "said"), [({"answers": "permanent"}, "links"), ({"simulated": True}, "simulated")])
def test_what_has_none(tmp_path: Path, terms: dict[str, Any], said: str) -> None:
    entry = added(tmp_path, **terms)
    assert said in why_none(entry.collection)
    assert sentences_on_published(entry.collection) == ()
    assert "What is published" not in survey.page(entry.collection, entry.row.trust)
    with serving(tmp_path, demo=True) as served:
        assert said in served.client.get(FACTS).json["central"]["none"]


def test_people_read_both_on_the_page(tmp_path: Path) -> None:
    entry = added(tmp_path, least=1000)
    central = dc.shuffled(entry.mechanism, 1000)
    assert central.towards is not None
    text = " ".join(survey.page(entry.collection, entry.row.trust).split())
    assert "from at least 1,000 answers together" in text
    for epsilon, what in ((central.among, "which of two"), (central.towards, "that yours is a certain protected")):
        share = next(share for share in range(50, 101) if share >= 100 / (1 + np.exp(-epsilon.upper)))
        assert f"{share}% (central epsilon = {rounded_up(epsilon.upper)}) sure {what}" in text
    assert "chance of 1 in 1,000,000" in text
    assert "has the promise above (epsilon = 1)" in text
    assert "its own word" in text
    once = dc.shuffled(dc.RandomizedResponse(dc.Domain(range(9), sensitive=[0]), 1.0), 1000)
    assert "which of two" not in reader_sentence(once)


@given(st.floats(1e-12, 20))
def test_promises_are_rounded_up(number: float) -> None:
    shown = Decimal(rounded_up(number))
    assert Decimal(number) <= shown <= Decimal(number) * Decimal("1.0101")


@given(st.integers(2, 10**12))
def test_delta_is_well_below_one_person_in_all(n: int) -> None:
    assert 0 < delta_of(n) <= min(1e-6, 0.1001 / n)
