"""The contract that others test their mechanisms by: ours keep it, and each check finds its faults."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from discreet import Channel, Domain, RandomizedResponse, SeededRandom, SubsetSelection, Tally
from discreet.core.random import uniform_below
from discreet.errors import ParameterError
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.decoders import BlockDecoder
from discreet.mechanisms.evidence import MemberLists
from discreet.mechanisms.laws.singletons import Singletons
from discreet.mechanisms.laws.subsets import Subsets
from discreet.testing import CHECKS, check_mechanism, contract, outputs_of
from laws import MEDIUM, SMALL, Case, cases, over
from packing import each
from refusals import refused

DOMAIN = Domain(range(6), sensitive=[0, 2, 3, 5])
HALF = contract.DRAWS // 2
several_checks = each("check", [check for check in CHECKS if check not in contract.DRAWN])


@over(cases(SMALL, (1.0, 8.0)))
@several_checks
def test_our_mechanisms_keep_it(check: Callable[[BlockMechanism], None], case: Case) -> None:
    check(case.mechanism)


@over(cases(MEDIUM, (1.0,)))
def test_our_members_of_larger_blocks_are_those_of_the_likelihood(case: Case) -> None:
    contract.membership_is_what_blocks_contain(case.mechanism)


@over(cases({name: SMALL[name] for name in ("1of7", "3of7", "5of5")}, (1.0,)))
@each("check", contract.DRAWN)
def test_our_mechanisms_draw_by_it(
    check: Callable[[BlockMechanism], None], case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Half as many draws as elsewhere: a check that would then miss its rival refuses to judge.
    monkeypatch.setattr(contract, "DRAWS", HALF)
    check(case.mechanism)


# Faults


class UniformFromTheFirst(Singletons):
    """Noise is never the last value."""

    def _noise(self, n: int, random: Any) -> Any:
        return uniform_below(self.size - 1, n, random)


class OneRowDown(Singletons):
    """Rows of a batch are mixed up."""

    def draw(self, members: Any, random: Any, out: Any) -> None:
        super().draw(np.roll(members, 1), random, out)


class NoWordsForMembers(Singletons):
    """Words are drawn for noise only: how many says how many told the truth."""

    def draw(self, members: Any, random: Any, out: Any) -> None:
        noise = np.flatnonzero(members < 0)
        out["symbol"][:] = members.astype(out["symbol"].dtype)
        out["symbol"][noise] = uniform_below(self.size, len(noise), random).astype(out["symbol"].dtype)


class WrongPairs(Singletons):
    """States a rho that is not the sampler's."""

    @property
    def conditional_inclusion(self) -> Fraction:
        return Fraction(1, 1000)


class TwiceTheFirst(Singletons):
    """Lists a block twice and another one not at all."""

    def alphabet(self) -> Any:
        blocks, weights = super().alphabet()
        return {"symbol": np.maximum(blocks["symbol"], 1)}, weights


class BoundTooSmall(Singletons):
    """Says of a column that it holds less than it does."""

    @property
    def columns(self) -> Any:
        return tuple(replace(column, bound=self.size - 1) for column in super().columns)


class FirstRefused(Singletons):
    """Takes a block that devices send for a flaw."""

    def flaws(self, blocks: Any) -> Any:
        return blocks["symbol"] == 0


class AnyOrder(Subsets):
    """Takes members in any order, and twice."""

    def flaws(self, blocks: Any) -> Any:
        return np.zeros(len(blocks["members"]), dtype=np.bool_)


class Unread(Singletons):
    """The likelihood would read that every block contains every value."""

    def membership(self, blocks: Any) -> Any:
        return MemberLists(np.tile(np.arange(self.size, dtype=np.uint8), (len(blocks["symbol"]), 1)), self.size)


class Hasty(RandomizedResponse):
    """Every fifth report is of another value."""

    def obfuscate_codes(self, codes: Any, *, random: Any = None) -> Any:
        codes = np.where(np.arange(len(codes)) % 5 == 0, 0, codes)
        return super().obfuscate_codes(codes, random=random)


class Forgetful(RandomizedResponse):
    """Counts the first half of a batch twice."""

    def tally(self, reports: Any) -> Tally:
        half = reports.n // 2
        return super().tally(reports.part(0, half)) + super().tally(reports.part(0, reports.n - half))


class Blind(RandomizedResponse):
    """Counts reports of any plan."""

    def tally(self, reports: Any) -> Tally:
        return super().tally(replace(reports, fingerprint=self.fingerprint))


class TwiceAdded(RandomizedResponse):
    """Streams count what comes in clear twice."""

    def add_tally(self, reports: Any, support: Any, clear: Any) -> None:
        super().add_tally(reports, support, clear)
        clear += clear.copy()

    def tally(self, reports: Any) -> Tally:
        return RandomizedResponse(self.domain, self.epsilon).tally(reports)


class AnotherChannel(RandomizedResponse):
    """Spells out that the truth is told a little more often."""

    def channel(self) -> Channel:
        return RandomizedResponse(self.domain, self.epsilon * 1.000001).channel()


class Optimist(BlockDecoder):
    """States a hundredth less than its errors are."""

    def variances(self, n: int, p: Any) -> Any:
        return super().variances(n, p) * 0.99


class Modest(BlockDecoder):
    """Its worst case is not the worst."""

    def worst_case_mse(self, n: int) -> float:
        return super().worst_case_mse(n) * 0.9


class DoubledContributions(BlockDecoder):
    """Doubles the contributions of single reports."""

    def contributions(self, reports: Any) -> Any:
        return super().contributions(reports) * 2


class MostSeen(BlockDecoder):
    """States the largest contribution of the reports that it saw."""

    @cached_property
    def contribution_range(self) -> Any:
        seen = self.contributions(self.maker.obfuscate_codes([0, 1], random=SeededRandom(1)))
        return seen.min(axis=0), seen.max(axis=0)


class Understated(RandomizedResponse):
    """States a smaller epsilon than it realises."""

    @property
    def guarantee(self) -> Any:
        return replace(super().guarantee, realised=np.nextafter(super().guarantee.realised, 0))


def with_law(law: Any, mechanism: BlockMechanism | None = None) -> BlockMechanism:
    """Return a mechanism whose law was replaced by one that says the same of itself."""
    found = RandomizedResponse(DOMAIN, 1.0) if mechanism is None else mechanism
    vars(found)["law"] = law
    vars(found).pop("threshold")
    return found


def with_decoder(kind: type[BlockDecoder]) -> BlockMechanism:
    """Return a mechanism with another decoder."""
    found = RandomizedResponse(DOMAIN, 1.0)
    given = (getattr(found.decoder, field.name) for field in fields(BlockDecoder))
    vars(found)["decoder"] = kind(*given)
    return found


def one_step_more() -> BlockMechanism:
    """Return one that tells the truth once more in 2^64 times than it may."""
    found = RandomizedResponse(DOMAIN, 1.0)
    vars(found)["threshold"] += 1
    return found


class HalfDescribed(Singletons):
    """Its description lacks a part."""

    def __init__(self, size: int, more: int = 0) -> None:
        super().__init__(size)
        object.__setattr__(self, "more", more)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "half": self.size // 2}


class Unlisted(RandomizedResponse):
    """Its laws are not listed."""

    laws = ()


@dataclass(frozen=True)
class Fault:
    """What is wrong with a mechanism, which check finds it, and in which words."""

    make: Callable[[], BlockMechanism]
    check: Callable[[BlockMechanism], None]
    words: str


def of_law(law: type[Singletons], check: Callable[[BlockMechanism], None], words: str) -> Fault:
    return Fault(lambda: with_law(law(4)), check, words)


def of_kind(kind: type[BlockMechanism], check: Callable[[BlockMechanism], None], words: str) -> Fault:
    return Fault(lambda: kind(DOMAIN, 1.0), check, words)


FAULTS = {
    "noise": of_law(UniformFromTheFirst, contract.blocks_follow_the_law, "blocks of noise must follow the law"),
    "rows": of_law(OneRowDown, contract.members_and_noise_keep_their_rows, "a block must contain its member"),
    "words": of_law(NoWordsForMembers, contract.words_tell_nothing, "5 of 5 take others"),
    "rho": of_law(WrongPairs, contract.inclusions_equal_enumeration, "rho of value 1, given 0, must be 0"),
    "rho, and so the estimate": of_law(WrongPairs, contract.estimate_is_unbiased, "must be unbiased"),
    "blocks": of_law(TwiceTheFirst, contract.blocks_are_written_as_the_columns_say, "must differ, only 3 do"),
    "bound": of_law(BoundTooSmall, contract.blocks_are_written_as_the_columns_say, "must keep its bound"),
    "sent, but refused": of_law(FirstRefused, contract.flaws_are_what_the_alphabet_lacks, "must not be flawed"),
    "refused by files": of_law(
        FirstRefused, contract.reports_survive_the_wire, "every report must be written and read"
    ),
    "never sent, but taken": Fault(
        lambda: with_law(AnyOrder(4, 2), SubsetSelection(DOMAIN, 1.0, k=2)),
        contract.flaws_are_what_the_alphabet_lacks,
        "10 of 16 are otherwise",
    ),
    "others' values": of_kind(Hasty, contract.reports_follow_the_channel, "reports of value 1 must follow the law"),
    "second half": of_kind(Forgetful, contract.tallies_agree_and_merge, "must decode to the mean"),
    "strangers": of_kind(Blind, contract.tallies_agree_and_merge, "reports of another plan must be refused"),
    "streams": of_kind(TwiceAdded, contract.tallies_agree_and_merge, "add_tally must add what tally counts"),
    "errors": Fault(lambda: with_decoder(Optimist), contract.errors_equal_enumeration, "standard errors must be those"),
    "worst case": Fault(lambda: with_decoder(Modest), contract.errors_equal_enumeration, "must exceed the worst case"),
    "contributions": Fault(
        lambda: with_decoder(DoubledContributions), contract.tallies_agree_and_merge, "contributions must be"
    ),
    "contribution_range": Fault(
        lambda: with_decoder(MostSeen),
        contract.contributions_keep_their_range,
        "must state the largest contribution of any report",
    ),
    "membership": of_law(Unread, contract.membership_is_what_blocks_contain, "a sum over blocks of membership must be"),
    "channel": of_kind(AnotherChannel, contract.channel_equals_enumeration, "channel\\(\\) must be"),
    "guarantee": of_kind(Understated, contract.epsilon_is_kept, "the guarantee must not state less"),
    "description": of_law(HalfDescribed, contract.devices_know_the_law, "must make it again"),
    "laws": of_kind(Unlisted, contract.devices_know_the_law, "Singletons is not there"),
    "threshold": Fault(one_step_more, contract.epsilon_is_kept, "value 0 at most e\\^1.0 times"),
}


@each("fault", FAULTS.values())
def test_faults_are_found(fault: Fault) -> None:
    with pytest.raises(AssertionError, match=fault.words):
        fault.check(fault.make())
    with pytest.raises(AssertionError):
        check_mechanism(fault.make())


def test_every_check_finds_a_fault() -> None:
    assert {fault.check for fault in FAULTS.values()} == set(CHECKS)


def test_what_cannot_be_checked_is_refused() -> None:
    assert "mechanism.not-block-mechanism" in refused(
        ParameterError, lambda: check_mechanism(Channel([[0.5, 0.5], [0.4, 0.6]]))
    )
    large = RandomizedResponse(Domain(range(2000), sensitive=range(1500)), 1.0)
    assert "contract.too-large" in refused(ParameterError, lambda: outputs_of(large))
    alike = RandomizedResponse(DOMAIN, 12.0)
    assert "contract.draws-alike" in refused(ParameterError, lambda: contract.reports_follow_the_channel(alike))
