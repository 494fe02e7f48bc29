"""The influence of one report, by enumeration of all, and what a share of fakes does to estimates."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet import (
    BlockDesign,
    Channel,
    Domain,
    HadamardResponse,
    Reports,
    SeededRandom,
    Tally,
    UnaryEncoding,
    estimate,
)
from discreet.mechanisms import BLOCK_MECHANISMS
from discreet.mechanisms.laws.subsets import MixedSubsets
from discreet.testing import outputs_of
from laws import SMALL, Case, cases, sampled, sizes_told_apart, spelled
from packing import each

SHARES = (0.001, 0.1)
N = 3000


def test_designs_of_two_sizes_are_among_them() -> None:
    assert any(sizes_told_apart(case.mechanism) for case in cases(SMALL))


def rare_design() -> BlockDesign:
    """Return a design whose larger size is so rare that nobody sees it drawn: just before it is never drawn."""
    domain, low, high = Domain(range(12), sensitive=range(8)), 0.62, 0.7
    while True:
        mechanism = BlockDesign(domain, 1.0, sensitive_mass=(low + high) / 2)
        if not isinstance(mechanism.law, MixedSubsets):
            high = (low + high) / 2
        elif mechanism.law.shares[1] > 1e-7:
            low = (low + high) / 2
        else:
            return mechanism


def test_a_rare_size_counts() -> None:
    """What is drawn says nothing of what a fake can send."""
    mechanism = rare_design()
    drawn = mechanism.decoder.contributions(
        mechanism.obfuscate_codes(np.arange(10_000) % mechanism.domain.size, random=SeededRandom(1))
    )
    worths = mechanism.decoder.contributions(outputs_of(mechanism).reports)
    least, most = mechanism.decoder.contribution_range
    assert (least, most) == (pytest.approx(worths.min(axis=0)), pytest.approx(worths.max(axis=0)))
    assert max((drawn.min(axis=0) - least).max(), (most - drawn.max(axis=0)).max()) > 0.01


def test_outputs_of_a_channel_that_nobody_can_send_do_not_count() -> None:
    channel = Channel([[0.7, 0.0, 0.2, 0.1], [0.2, 0.0, 0.5, 0.3]])
    outputs = np.array([0, 2, 3], dtype=np.uint8)
    reports = Reports(channel.fingerprint, 3, None, np.empty(0, dtype=np.uint8), {"output": outputs})
    worths, (least, most) = channel.decoder.contributions(reports), channel.decoder.contribution_range
    assert np.array_equal(least, worths.min(axis=0))
    assert np.array_equal(most, worths.max(axis=0))
    assert (abs(channel.decoder.inverse[1]) == 0).all()


@pytest.mark.parametrize(
    ("name", "values", "largest"),
    [
        ("rr", 16, 9.7),
        ("rr", 1000, 582),
        *(
            (name, values, largest)
            for name, largest in (("hadamard", 2.2), ("unary", 2.5), ("subset", 3.2))
            for values in (64, 1000)
        ),
    ],
)
def test_the_published_figures(name: str, values: int, largest: float) -> None:
    """Of docs/explanation/threat-model.md."""
    mechanism = BLOCK_MECHANISMS[name](Domain(range(values)), 1.0)  # type: ignore[call-arg]
    found = float(mechanism.decoder.contribution_range[1].max())
    assert round(found, 0 if largest > 100 else 1) == largest


def test_one_report_can_hold_every_value() -> None:
    """All bits, or column 0."""
    domain = Domain(range(5))
    hadamard, unary = HadamardResponse(domain, 1.0), UnaryEncoding(domain, 1.0)
    for mechanism, blocks in (
        (hadamard, {"column": np.zeros(1, np.uint8)}),
        (unary, {"bits": np.array([[31]], np.uint8)}),
    ):
        report = Reports(mechanism.fingerprint, 1, None, np.empty(0, np.uint8), blocks)
        mechanism.tally(report)
        assert np.array_equal(mechanism.decoder.contributions(report)[0], mechanism.decoder.contribution_range[1])


# Poisoning


def poisoned(honest: Tally, fakes: Tally, m: int) -> Tally:
    """Return a tally with m times what one fake report counts."""
    return replace(
        honest, n=honest.n + m, support=honest.support + m * fakes.support, clear=honest.clear + m * fakes.clear
    )


def linear(mechanism: Any, tally: Tally) -> Any:
    return estimate(mechanism, tally, method="linear").frequencies


@each("share", SHARES)
@each("case", cases(SMALL, (1.0,)))
def test_fakes_move_estimates_as_far_as_stated_and_no_further(case: Case, share: float) -> None:
    """The worst reports of all, in the place of a share of honest ones, against each value in turn."""
    mechanism, every, m = case.mechanism, spelled(case).reports, round(share * N)
    honest = mechanism.tally(sampled(case, N - m))
    before, worths = linear(mechanism, honest), mechanism.decoder.contributions(every)
    least, most = mechanism.decoder.contribution_range
    for code in range(mechanism.domain.size):
        for row, end in ((worths[:, code].argmax(), most), (worths[:, code].argmin(), least)):
            fake = mechanism.tally(every.part(int(row), int(row) + 1))
            after = linear(mechanism, poisoned(honest, fake, m))
            assert after[code] - before[code] == pytest.approx(m / N * (end - before)[code], rel=1e-9, abs=1e-12)
            inside(before, after, m / N, (least, most))


def inside(before: Any, after: Any, share: float, limits: Any) -> None:
    room = 1e-9
    assert (after - before <= share * (limits[1] - before) + room).all()
    assert (before - after <= share * (before - limits[0]) + room).all()
