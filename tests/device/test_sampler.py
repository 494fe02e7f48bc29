"""Samplers: built again from their integers, for every block law, and refused where they protect nobody."""

import json
from typing import Any

import pytest

from discreet import Domain, Personalized, RandomizedResponse, SecureRandom, SeededRandom, UnaryEncoding
from discreet.device.protocol.sampler import Sampler, SamplerError
from discreet.formats.records import RecordCodec
from laws import Case, every, one_epsilon
from refusals import refused


def again(document: Any) -> Any:
    """Return what another program reads."""
    return json.loads(json.dumps(document))


@one_epsilon
def test_integers_that_may_pass_2_53_are_texts(case: Case) -> None:
    def numbers(part: Any) -> list[int]:
        parts = part.values() if isinstance(part, dict) else part if isinstance(part, list) else None
        if parts is None:
            return [part] if isinstance(part, int) else []
        return [one for inner in parts for one in numbers(inner)]

    assert all(number < 1 << 31 for number in numbers(again(Sampler.of(case.mechanism).document())))


@every
def test_a_sampler_is_read_back_and_has_the_epsilon_of_the_guarantee(case: Case) -> None:
    sampler = Sampler.of(case.mechanism)
    read = Sampler.parse(again(sampler.document()))
    assert read == sampler
    assert read.document() == sampler.document()
    assert read.realised == case.mechanism.guarantee.realised
    assert read.codec == RecordCodec.of(case.mechanism)


@one_epsilon
def test_one_report_takes_the_words_that_a_batch_of_one_takes(case: Case) -> None:
    mechanism = case.mechanism
    sampler, codec = Sampler.of(mechanism), RecordCodec.of(mechanism)
    for seed in range(20):
        for code in {0, mechanism.domain.size // 2, mechanism.domain.size - 1, *mechanism.domain.sensitive_codes[:2]}:
            reports = mechanism.obfuscate_codes([code], random=SeededRandom(seed))
            assert sampler.record(int(code), SeededRandom(seed)) == codec.encode(reports).tobytes()


def test_a_personalized_mechanism_has_the_sampler_of_its_common_one() -> None:
    mechanism = Personalized(Domain(range(7), sensitive=[3]), 1.0, tags=["home"])
    sampler = Sampler.of(mechanism)
    assert sampler == Sampler.of(mechanism.common)
    assert sampler.sensitive == ((3, 4), (7, 9))


@pytest.mark.parametrize("code", [-1, 7, 1.0, True, "3", None, 10**30])
def test_codes_that_are_none(code: Any) -> None:
    sampler = Sampler.of(RandomizedResponse(Domain(range(7)), 1.0))
    assert "0..6. [code.out-of-range]" in refused(SamplerError, lambda: sampler.record(code, SecureRandom()))


GOOD = Sampler.of(UnaryEncoding(Domain(range(20), sensitive=[2, 3, 4, 9]), 1.0)).document()


def test_clear_blocks_need_independent_values() -> None:
    law = {"law": "subsets", "size": 4, "count": 2}
    message = refused(SamplerError, lambda: Sampler.parse({**GOOD, "law": law, "clear_blocks": True}))
    assert "sampler.dependent-clear-blocks" in message
    assert Sampler.parse({**GOOD, "clear_blocks": True}).clear_blocks
