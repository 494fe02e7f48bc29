"""The table of run-time faults: of the sampler, the promise, the budgets of a device, and the loss of reports.

Each entry says what goes wrong, replaces one public function, method, property or constant, and lists the tests that
must fail (see `tools/plant_faults.py`). At most 60: a new one takes the place of another.
"""

import os
from dataclasses import replace
from math import inf, nextafter
from typing import Any

import numpy as np
from plant_faults import Fault

RANGE = 1 << 64
"""The number of words: probabilities are integers over it."""


def always(value: Any) -> Any:
    """Return a replacement that ignores its arguments and returns a constant."""
    return lambda right, *arguments, **options: value


def raised(threshold: int) -> int:
    """Return a threshold that is a tenth too large."""
    return min(threshold + threshold // 10, RANGE - 1)


def mended(**changes: Any) -> Any:
    """Return a replacement whose result has other values in some fields, computed from the right result."""

    def wrong(right: Any, *arguments: Any, **options: Any) -> Any:
        result = right(*arguments, **options)
        return replace(result, **{name: change(result) for name, change in changes.items()})

    return wrong


def without_last_bit(right: Any, law: Any, members: Any, random: Any, out: Any) -> None:
    """Draw bits such that noise never sets the bit of the last value."""
    right(law, members, random, out)
    last = law.size - 1
    out["bits"][members != last, last // 8] &= np.uint8(255 ^ (1 << last % 8))


def with_the_ledger(right: Any, database: Any, name: str) -> None:
    """Erase a name, and what was spent on it too."""
    right(database, name)
    database.execute("DELETE FROM ledger WHERE version IN (SELECT key FROM versions WHERE name = ?)", (name,))


def biased(right: Any, bound: int, n: int, random: Any, *, lane: Any = np.uint64) -> Any:
    """Return numbers below a bound that are remainders of words: small ones come too often."""
    return (random.words(n) % np.uint64(bound)).astype(lane)


_COINS = ("tests/property/test_coins.py", "tests/property/test_batch_coins.py")
_DRAWS = ("tests/statistical/test_draws_follow_the_paper.py",)
_SOURCES = ("tests/property/test_foreign_sources.py", "tests/statistical/test_sources.py")
_PROMISE = ("tests/property/test_coins.py", "tests/privacy/test_verify.py")
_MEMOS = ("tests/mechanisms/test_memos.py",)
_VERIFY = ("tests/privacy/test_lies.py", "tests/privacy/test_verify.py")
_DEVICE = ("tests/device/test_events.py", "tests/device/test_device.py")
_FRAMES = ("tests/device/test_frames.py", "tests/device/test_hostile_frames.py")
_RANDOM = "discreet.core.random"
_MEMORY = "discreet.device.memory"

SAMPLER = [
    Fault(
        "a coin is true for one word too many",
        f"{_RANDOM}:bernoulli",
        lambda right, n, threshold, random: right(n, min(threshold + 1, RANGE), random),
        _COINS,
    ),
    Fault(
        "half a word that does not decide tells the truth",
        f"{_RANDOM}:decided",
        lambda right, halves, threshold, random: halves <= np.uint32(threshold >> 32),
        _COINS,
    ),
    Fault("numbers below a bound are biased", f"{_RANDOM}:uniform_below", biased, _COINS),
    Fault(
        "the last symbol is never noise",
        f"{_RANDOM}:joint",
        lambda right, n, threshold, symbols, random: right(n, threshold, max(symbols - 1, 1), random),
        _DRAWS,
    ),
    Fault(
        "some reports take the noise of others",
        f"{_RANDOM}:Coins.take",
        lambda right, coins, rows: right(coins, rows)._replace(
            noise=None if coins.noise is None else coins.noise[: len(rows)]
        ),
        _DRAWS,
    ),
    Fault(
        "a wanted member is wanted always",
        f"{_RANDOM}:or_noise",
        lambda right, ranks, truth: right(ranks, np.ones_like(truth)),
        _DRAWS,
    ),
    Fault(
        "a value is written where noise was drawn",
        f"{_RANDOM}:chosen",
        lambda right, truthful, values, noise, out: right(np.ones_like(truthful), values, noise, out),
        _DRAWS,
    ),
    Fault(
        "the threshold of a batch is a tenth too large",
        "discreet.mechanisms.obfuscation:obfuscated",
        lambda right, sampling, codes, random: right(
            replace(sampling, threshold=raised(sampling.threshold)), codes, random
        ),
        _DRAWS,
    ),
    Fault(
        "a memo is sent in every round",
        "discreet.mechanisms.obfuscation:resent_reports",
        lambda right, sampling, memos, threshold, random: memos,
        _MEMOS,
    ),
    Fault(
        "noise never sets the last bit", "discreet.mechanisms.laws.bits:IndependentBits.draw", without_last_bit, _DRAWS
    ),
    Fault(
        "a subset need not contain its member",
        "discreet.mechanisms.laws.subsets:draw_subsets",
        lambda right, size, members, random, out: right(size, np.full_like(members, -1), random, out),
        _DRAWS,
    ),
    Fault(
        "every key gives the same stream",
        f"{_RANDOM}:counter_stream",
        lambda right, key: right(bytes(len(key))),
        ("tests/property/test_keystream.py",),
    ),
    Fault("a secure key is never replaced", f"{_RANDOM}:KEY_CALLS", lambda right: 1 << 60, _SOURCES),
    Fault(
        "words of any type pass",
        f"{_RANDOM}:fresh_words",
        lambda right, random, n: random.words(n),
        _SOURCES,
    ),
    Fault(
        "a source of another author is not guarded",
        f"{_RANDOM}:checked_source",
        lambda right, random: right(None) if random is None else random,
        _SOURCES,
    ),
    Fault(
        "a device tells the truth nearly always",
        "discreet.device.protocol.sampler:Sampler.record",
        lambda right, sampler, code, random, truth=None: right(sampler, code, random, RANGE - 1),
        ("tests/device/test_sampler.py", "tests/device/test_device_vectors.py"),
    ),
    Fault(
        "a device sends its memo in every round",
        "discreet.device.protocol.sampler:Sampler.round_record",
        lambda right, sampler, memo, threshold, random: memo,
        _DEVICE,
    ),
    Fault(
        "a sampler may have any numbers",
        "discreet.device.protocol.sampler:Sampler.__post_init__",
        always(None),
        ("tests/device/test_sampler.py",),
    ),
    Fault(
        "zeros pass as randomness of a device",
        "discreet.device.outbox:Keys.key",
        lambda right, keys: os.urandom(32),
        _DEVICE,
    ),
    Fault(
        "a secret place is answered as itself",
        "discreet.device.answers:reported_code",
        lambda right, database, collection, code, tagged: code,
        _DEVICE,
    ),
]

PROMISE = [
    Fault(
        "epsilon is a tenth larger than promised",
        "discreet.mechanisms.law:exponential_below",
        lambda right, epsilon: right(1.1 * epsilon),
        _PROMISE,
    ),
    Fault(
        "the truth threshold is rounded up",
        "discreet.mechanisms.law:truth_threshold",
        lambda right, epsilon, inclusion: right(epsilon, inclusion) + 1,
        _PROMISE,
    ),
    Fault(
        "the realised ratio is understated",
        "discreet.core.guarantee:likelihood_ratio",
        lambda right, threshold, inclusion: right(threshold - threshold // 1000, inclusion),
        _PROMISE,
    ),
    Fault(
        "a logarithm is rounded down",
        "discreet.core.guarantee:logarithm",
        lambda right, ratio: nextafter(right(ratio), -inf),
        _PROMISE,
    ),
    Fault(
        "mechanisms of different epsilon have one fingerprint",
        "discreet.mechanisms.law:BlockMechanism.fingerprint",
        lambda right, mechanism: mechanism.domain.fingerprint,
        ("tests/property/test_equal_mechanisms.py", "tests/contract/test_golden.py"),
    ),
    Fault(
        "the guarantee understates the realised epsilon",
        "discreet.mechanisms.law:BlockMechanism.guarantee",
        mended(realised=lambda guarantee: 0.99 * guarantee.realised),
        _PROMISE,
    ),
    Fault(
        "a memo tells the truth too often",
        "discreet.mechanisms.memo:Memo.truth",
        lambda right, memo: raised(right(memo)),
        _MEMOS,
    ),
    Fault(
        "many rounds reveal as little as one",
        "discreet.mechanisms.memo:Memo.ratio",
        lambda right, memo, rounds=None: right(memo, 1),
        _MEMOS,
    ),
    Fault(
        "the second coin is rounded up",
        "discreet.theory.memo:second_threshold",
        lambda right, truth, memo: right(truth, memo) + 1,
        _MEMOS,
    ),
    Fault(
        "every promise is verified", "discreet.privacy.verify:verify", mended(holds=lambda verification: True), _VERIFY
    ),
    Fault(
        "the statements of a law are believed",
        "discreet.mechanisms.registry:examined",
        lambda right, law: (None, []),
        _VERIFY,
    ),
    Fault(
        "a promise may be exceeded by a millionth",
        "discreet.privacy.notions:at_most",
        lambda right, ratio, epsilon: right(ratio, epsilon * (1 + 1e-6)),
        _VERIFY,
    ),
    Fault(
        "the epsilon of a matrix is understated",
        "discreet.privacy.notions:smallest_epsilon",
        mended(epsilon=lambda protection: 0.9 * protection.epsilon),
        ("tests/privacy/test_notions.py",),
    ),
    Fault(
        "any number is an epsilon",
        "discreet.core.checks:checked_epsilon",
        lambda right, epsilon: float(epsilon),
        ("tests/core/test_checks.py", "tests/property/test_hostile.py"),
    ),
    Fault(
        "a stated epsilon is rounded down",
        "discreet.core.guarantee:rounded_up",
        lambda right, number, digits=4: f"{float(number) * (1 - 0.5 * 10**-digits):.{digits}g}",
        ("tests/privacy/test_rounding.py",),
    ),
    Fault(
        "a plan that breaks its promise is signed",
        "discreet.collector.documents.signing:verify",
        mended(holds=lambda verification: True),
        ("tests/collector/test_signing.py",),
    ),
]

BUDGETS = [
    Fault("every report is affordable", f"{_MEMORY}:affordable", always(True), _DEVICE),
    Fault(
        "a report is charged nothing",
        f"{_MEMORY}:charge",
        lambda right, database, version, collection, epoch, epsilon: right(database, version, collection, epoch, 0.0),
        _DEVICE,
    ),
    Fault("an epoch may be answered twice", f"{_MEMORY}:is_answered", always(False), _DEVICE),
    Fault("the sum over all collections is forgotten", f"{_MEMORY}:spent_in_all", always(0.0), _DEVICE),
    Fault(
        "the sum of a name is forgotten",
        f"{_MEMORY}:spent_by_name",
        always({}),
        _DEVICE,
    ),
    Fault("a damaged memory is used", f"{_MEMORY}:is_sound", always(True), ("tests/device/test_damaged_memory.py",)),
    Fault("a clock that went back is believed", f"{_MEMORY}:note_time", always(0), _DEVICE),
    Fault("erasing a name returns its budget", f"{_MEMORY}:erase_name", with_the_ledger, _DEVICE),
    Fault("keys outlive the last epoch", f"{_MEMORY}:erase_ended", always(None), _DEVICE),
    Fault(
        "a second coin costs one report",
        "discreet.device.protocol.collection:Collection.cost",
        lambda right, collection: collection.epsilon,
        _DEVICE,
    ),
    Fault(
        "two values share one print",
        "discreet.device.answers:print_of",
        lambda right, key, collection, code: right(key, collection, code // 2),
        _DEVICE,
    ),
    Fault(
        "a permanent answer is drawn again",
        "discreet.device.answers:words_of",
        lambda right, key, collection, code: right(os.urandom(32), collection, code),
        _DEVICE,
    ),
    Fault(
        "every question of a survey is answered",
        "discreet.device.answers:is_question_drawn",
        always(True),
        ("tests/device/test_survey_devices.py",),
    ),
]

LOSS = [
    Fault(
        "any answer of a collector means that a report is safe",
        "discreet.device.outbox:Answer.is_taken",
        lambda right, answer: 0 < answer.status < 500,
        ("tests/device/test_sending.py", "tests/device/test_device.py"),
    ),
    Fault(
        "a redirect drops a report",
        "discreet.device.outbox:Answer.is_final",
        lambda right, answer: 300 <= answer.status < 500,
        ("tests/device/test_sending.py", "tests/device/test_device.py"),
    ),
    Fault(
        "a sum of tallies has the first one only",
        "discreet.core.tally:Tally.merged",
        lambda right, cls, tallies: next(iter(tallies)),
        ("tests/core/test_reports_and_tallies.py", "tests/contract/test_tallies.py"),
    ),
    Fault(
        "the last batch is left out",
        "discreet.core.reports:Reports.concatenate",
        lambda right, cls, parts: right(cls, list(parts)[:-1]),
        ("tests/core/test_reports_as_tables.py", "tests/core/test_reports_and_tallies.py"),
    ),
    Fault(
        "reports of other plans are counted",
        "discreet.core.reports:check_same_plan",
        always(None),
        ("tests/core/test_reports_and_tallies.py", "tests/contract"),
    ),
    Fault(
        "rows that no device sends are counted",
        "discreet.mechanisms.row_checks:refuse_rows",
        always(None),
        ("tests/formats/test_records.py", "tests/device/test_hostile_frames.py"),
    ),
    Fault("an id may stand in a frame twice", "discreet.device.protocol.frames:refuse_repeated", always(None), _FRAMES),
    Fault(
        "reports in the order of arrival pass as sealed",
        "discreet.formats.sealing:OrderCheck.add",
        always(True),
        ("tests/formats/test_canonical.py", "tests/formats/test_sealed_checks.py"),
    ),
    Fault(
        "reports that could not be written are acknowledged",
        "discreet.collector.storage.inboxes:Inboxes.append",
        lambda right, inboxes, groups: right(inboxes, groups) and set(),
        ("tests/collector/test_inboxes.py",),
    ),
    Fault(
        "reports that a device cannot send are acknowledged",
        "discreet.collector.writer:check_frames",
        lambda right, entry, frames: [None] * len(frames),
        ("tests/collector/test_intake.py", "tests/collector/test_endpoints.py"),
    ),
]

FAULTS = [*SAMPLER, *PROMISE, *BUDGETS, *LOSS]
