"""Checks of what becomes of reports: what no device can send, tallies, and files."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from discreet.core.random import SeededRandom
from discreet.core.reports import Reports
from discreet.errors import DataError, DiscreetError, MismatchError
from discreet.estimators import estimate
from discreet.mechanisms import BlockMechanism, spelled_out
from discreet.mechanisms.enumeration import Enumeration
from discreet.mechanisms.grouped_counts import tallies_by_group
from discreet.mechanisms.registry import made_again
from discreet.testing.broken import hold, no_fault
from discreet.testing.outputs import spell_out

_MOST_WRITTEN = 1 << 18
_CUTS = (0, 1, 2, 700, 700, 2999, 3001)


def flaws_are_what_the_alphabet_lacks(mechanism: BlockMechanism) -> None:
    """Of all blocks that fit into the columns, those are flawed that the alphabet does not list."""
    no_fault(Enumeration(mechanism.law).flaw_faults(_MOST_WRITTEN))


def tallies_agree_and_merge(mechanism: BlockMechanism) -> None:
    """A tally decodes to the mean of what its reports are worth; parts add up to the whole; strangers are refused."""
    outputs, reports = spell_out(mechanism), _reports(mechanism)
    whole = mechanism.tally(reports)
    worths = outputs.worths[outputs.places(reports)]
    off = abs(estimate(mechanism, whole, method="linear").frequencies - worths.mean(axis=0))
    room = 1e-11 * (1 + abs(worths).mean(axis=0))
    hold(bool((off <= room).all()), f"a tally must decode to the mean of its reports, it is {off.max():.2g} off.")
    off = abs(mechanism.decoder.worth(reports) - worths)
    hold(bool((off <= room).all()), f"decoder.worth must be the estimate from one report, it is {off.max():.2g} off.")
    parts = [mechanism.tally(reports.part(start, stop)) for start, stop in pairwise(_CUTS)]
    zero = mechanism.empty_tally()
    hold(sum(parts) == whole, "tallies of parts must add up to the tally of the whole.")
    hold(sum(reversed(parts), zero) == whole, "tallies must add up in any order, from the empty one.")
    added = zero.support.copy(), zero.clear.copy()
    mechanism.add_tally(reports, *added)
    same = all(np.array_equal(one, other) for one, other in zip(added, (whole.support, whole.clear), strict=True))
    hold(same, "add_tally must add what tally counts.")
    groups = np.arange(reports.n) % 3
    found = tallies_by_group(mechanism, reports, groups, 3)
    same = all(one == mechanism.tally(reports.take(np.flatnonzero(groups == at))) for at, one in enumerate(found))
    hold(same, "add_by_group must add to the row of each group what add counts of its reports.")
    try:
        mechanism.tally(replace(reports, fingerprint="another plan"))
    except MismatchError:
        return
    hold(False, "reports of another plan must be refused with a MismatchError, they were counted.")


def membership_is_what_blocks_contain(mechanism: BlockMechanism) -> None:
    """The operator of blocks, which the likelihood reads, is the matrix of what they contain, as often as they came."""
    law, random = mechanism.law, np.random.default_rng(3)
    blocks = _reports(mechanism).blocks
    contained, operator = law.contains(blocks).astype(np.float64), law.membership(blocks)
    times = np.ones(operator.rows) if operator.multiplicity is None else operator.multiplicity
    values = random.dirichlet(np.ones(law.size))
    pairs = {
        "a sum over blocks": (times @ np.log1p(3 * operator.dot(values)), np.log1p(3 * (contained @ values)).sum()),
        "transpose_dot of how often they came": (operator.transpose_dot(times), contained.sum(axis=0)),
    }
    if operator.multiplicity is None:
        weights = random.normal(size=operator.rows)
        pairs |= {
            "dot": (operator.dot(values), contained @ values),
            "transpose_dot": (operator.transpose_dot(weights), weights @ contained),
        }
    for name, (found, wanted) in pairs.items():
        same = np.allclose(found, wanted, rtol=1e-9, atol=1e-9)
        hold(
            same,
            f"{name} of membership must be that of what blocks contain, it is {abs(found - wanted).max():.2g} off.",
        )


def reports_survive_the_wire(mechanism: BlockMechanism) -> None:
    """Every report that can be made is the same after it was written and read, in every format."""
    from discreet.io.reports import read_reports, write_reports

    one_of_each = replace(spell_out(mechanism).reports, simulated=True)
    with TemporaryDirectory() as folder:
        for suffix in ("parquet", "arrow", "jsonl"):
            path = Path(folder) / f"reports.{suffix}"
            try:
                write_reports(path, mechanism, one_of_each)
                found = read_reports(path, mechanism)
            except DataError as error:
                raise AssertionError(
                    f"every report must be written and read as {suffix}, some are not: {error}"
                ) from None
            hold(_same(found, one_of_each), f"reports must be the same after {suffix}, they are others.")


def devices_know_the_law(mechanism: BlockMechanism) -> None:
    """The law is made again from its description, in JSON, and its mechanism says the classes of its laws."""
    law: Any = mechanism.law
    try:
        made = made_again(type(law), json.loads(json.dumps(spelled_out(law))))
    except (DiscreetError, TypeError, ValueError) as error:
        raise AssertionError(f"a law's description must make it again, this one does not: {error}") from None
    same = made.describe() == law.describe() and made.inclusions == law.inclusions
    hold(same, "a law's description must make it again, this one makes another.")
    known = type(law) in mechanism.laws
    hold(known, f"laws of a mechanism must list the classes of its block laws, {type(law).__name__} is not there.")


def _same(one: Reports, other: Reports) -> bool:
    pairs = [(one.clear, other.clear), *((one.blocks[name], column) for name, column in other.blocks.items())]
    if one.in_clear is not None or other.in_clear is not None:
        pairs += [(np.asarray(one.in_clear), np.asarray(other.in_clear))]
    return one.n == other.n and all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


def _reports(mechanism: BlockMechanism) -> Reports:
    codes = np.random.default_rng(11).integers(0, mechanism.domain.size, _CUTS[-1])
    return mechanism.obfuscate_codes(codes, random=SeededRandom(11))
