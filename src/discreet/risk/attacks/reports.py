"""Attacks on obfuscated events: whose report is it?

Each user sends one event, or some, through a mechanism, and the attacker compares every report with what it knows of
every user. A block A is 1 + c pi_i(A) times as likely to come from user i as to be noise, with c = e^eps - 1 and pi_i
the shares of the user's visits in training; a value x in clear comes from them with probability pi_i(x). Both are known
up to a factor that is the same for all users.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, IntArray
from discreet.core.checks import checked_between, checked_share
from discreet.core.random import RandomSource
from discreet.core.reports import Reports, check_same_plan
from discreet.core.traces import Split, Traces
from discreet.errors import DataError
from discreet.mechanisms.channel import Channel
from discreet.mechanisms.law import BlockMechanism
from discreet.risk.attacks.features import KeyCounts
from discreet.risk.attacks.traces import SMALLEST, Matcher, counted_visits, match, match_rows, visits
from discreet.risk.scores import Scores

UNIT = 2.0**-40
"""Of the scores of reports, in nats: a small epsilon makes likelihoods that differ by little."""

_MOST_MEMBERS = 500_000_000
_PER_VISIT = 1 << 30


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OneReport:
    """One event per user, told truly with probability theta, otherwise replaced by noise that depends on nothing.

    Everything is linear in theta, so one pass over the truth serves every epsilon [spec of exact risk, section 4].

    Attributes:
        truth: the scores of true events; every user has a probe.

    Example:
        >>> from discreet.core.traces import Traces, by_half
        >>> split = by_half(Traces.of(np.repeat(range(50), 2), np.repeat(range(50), 2)))
        >>> report = one_report(split)
        >>> report.success(theta=1.0), round(report.success(theta=0.1), 3)
        (1.0, 0.118)
    """

    truth: Scores

    def __post_init__(self) -> None:
        """Refuse what is not linear.

        Raises:
            DataError: if some candidate has no probe: noise would find that one more or less often than anybody else.
        """
        if self.truth.n != self.truth.ranks.candidates:
            raise DataError(
                f"every candidate must send a report, got {self.truth.n} probes for {self.truth.ranks.candidates}; "
                "select the users that have an event in the target."
            )

    def __repr__(self) -> str:
        return f"OneReport({self.truth!r})"

    def success(self, theta: float, k: int = 1) -> float:
        """Return the rate at which the right user is among the k best: theta s_k + (1 - theta) k/n."""
        theta = checked_share("theta", theta)
        return theta * self.truth.success(k) + (1 - theta) * min(k / self.truth.n, 1.0)


def one_report(split: Split, *, zero: float = SMALLEST, threads: int | None = None) -> OneReport:
    """Attack the first event of each target, told or replaced by noise, by the visits of each user.

    Args:
        split: training and target; every user needs an event in the target.
        zero: what probabilities of 0 become.
        threads: as for `match`.

    Raises:
        DataError: if a user has no event in the target.

    Example:
        >>> from discreet.core.traces import Traces, by_half
        >>> split = by_half(Traces.of(np.repeat(range(50), 2), np.repeat(range(50), 2)))
        >>> round(one_report(split).success(theta=0.1, k=5), 3)
        0.19
    """
    first = Split(split.training, split.target.first(1))
    return OneReport(match(visits(first, zero=zero), threads=threads))


def match_reports(
    split: Split,
    mechanism: BlockMechanism | Channel,
    *,
    events: int = 1,
    zero: float = SMALLEST,
    random: RandomSource | None = None,
    threads: int | None = None,
) -> Scores:
    """Let each user send their first events in the target through a mechanism, and attack the reports.

    Args:
        split: training and target, in the codes of the mechanism's domain.
        mechanism: any, or a channel.
        events: how many each user sends (all of them, if fewer), with fresh noise.
        zero: what the probability of a value in clear becomes where it is 0.
        random: the words for the reports; None for fresh ones.
        threads: as for `match`.

    Example:
        >>> import discreet as dc
        >>> from discreet.core.traces import Traces, by_half
        >>> split = by_half(Traces.of(np.repeat(range(50), 2), np.repeat(range(50), 2)))
        >>> mechanism = dc.RandomizedResponse(dc.Domain(range(50)), epsilon=5.0)
        >>> match_reports(split, mechanism, random=dc.SeededRandom(1)).success()
        0.78
    """
    reports, owners = _sent(split.target, mechanism, events, random)
    if mechanism.is_explicit:
        rows, users = _channel_rows(split.training, mechanism.channel(), reports, owners, checked_between("zero", zero))
        return replace(match_rows(rows, users, split.training.users), unit=UNIT)
    matcher = report_matcher(split.training, BlockMechanism.checked(mechanism), reports, owners, zero=zero)
    return match(matcher, threads=threads)


def reports_matcher(
    split: Split, mechanism: BlockMechanism | Channel, *, events: int = 1, random: RandomSource | None = None
) -> Matcher:
    """Let each user send their first events in the target through a mechanism; return the matcher of the reports.

    Raises:
        DataError: if the traces are not in the mechanism's codes.
        ParameterError: if it is a matrix, whose reports are compared by `match_reports` alone.
    """
    reports, owners = _sent(split.target, mechanism, events, random)
    return report_matcher(split.training, BlockMechanism.checked(mechanism), reports, owners)


def _sent(
    target: Traces, mechanism: BlockMechanism | Channel, events: int, random: RandomSource | None
) -> tuple[Reports, IntArray]:
    """Return reports of the first events of each user, and whose they are."""
    sent = target.first(events)
    reports = mechanism.obfuscate_codes(_fitting(sent, mechanism).events, random=random)
    return reports, np.repeat(np.arange(sent.users), sent.lengths)


def report_matcher(
    training: Traces, mechanism: BlockMechanism, reports: Reports, owners: Any, *, zero: float = SMALLEST
) -> Matcher:
    """Score reports by their likelihood given each user's visits, in nats.

    Args:
        training: what is known of the users, in the codes of the mechanism's domain.
        mechanism: any; values with promises of their own weigh as much less as their contrasts are smaller.
        reports: of which those of one user are a probe.
        owners: ``(r,)`` whose each report is, ascending.
        zero: what the probability of a value in clear becomes where it is 0.

    Raises:
        DataError: if the reports' blocks are too large to be listed, or owners do not fit.
        MismatchError: if the reports belong to another plan.
    """
    from discreet.kernels.events import invert
    from discreet.kernels.matching import Problem

    check_same_plan({mechanism.fingerprint, reports.fingerprint})
    known = counted_visits(_fitting(training, mechanism))
    weights, whole = _contrasting(known, mechanism)
    users, rows = _grouped(owners, reports.n, training.users)
    floor = np.int64(np.rint(np.log(checked_between("zero", zero)) / UNIT))
    in_clear = np.zeros(reports.n, dtype=np.int64) if reports.in_clear is None else reports.in_clear.astype(np.int64)
    offsets, features = _listed(mechanism, reports)
    return Matcher(
        Problem(
            users=users,
            candidates=training.users,
            constants=np.add.reduceat(in_clear, rows[:-1]) * floor,
            index=invert(
                training.event_count, [(known.offsets, known.keys.astype(np.int32), weights)], weights.dtype.type
            ),
            queries=(offsets, features, np.ones(len(features), dtype=np.int32)),
            reports=rows,
            contrasts=np.where(in_clear > 0, 0.0, mechanism.contrast),
            totals=training.lengths * whole,
            floor=zero,
            scale=1 / UNIT,
        ),
        UNIT,
    )


def _contrasting(known: KeyCounts, mechanism: BlockMechanism) -> tuple[AnyArray, int]:
    """Return the counts of visits as a block counts them, and what one visit counts where that is most.

    A block A is 1 + sum of c_x pi_i(x) over its values x times as likely to come from user i as to be noise; c_x is the
    contrast of x. With c the largest of them that is 1 + c times a sum of visits, each of which counts c_x / c. Values
    in clear count wholly.
    """
    if mechanism.law.groups is None:
        return known.counts, 1
    each = np.full(mechanism.domain.size, _PER_VISIT, dtype=np.int64)
    shares = np.asarray(mechanism.contrasts, dtype=np.float64) / mechanism.contrast
    # One visit is rounded, not their sum: users of whom the same shares are known must tie.
    each[mechanism.domain.sensitive_codes] = np.rint(shares * _PER_VISIT).astype(np.int64)
    return known.counts * each[known.keys], _PER_VISIT


def _fitting(traces: Traces, mechanism: BlockMechanism | Channel) -> Traces:
    if traces.event_count != mechanism.domain.size:
        raise DataError(
            f"the traces have {traces.event_count} different events, the mechanism's domain {mechanism.domain.size}; "
            "give the domain to Traces.of."
        )
    return traces


def _grouped(owners: Any, reports: int, candidates: int) -> tuple[IntArray, IntArray]:
    """Return the users with reports, and the ``(users + 1,)`` rows where those of each begin."""
    whose = np.asarray(owners, dtype=np.int64)
    if whose.shape != (reports,) or not reports:
        raise DataError(f"owners must be one per report, at least one, got {whose.size} for {reports}.")
    if whose[0] < 0 or whose[-1] >= candidates or (np.diff(whose) < 0).any():
        raise DataError(f"owners must ascend in 0..{candidates - 1}.")
    users, rows = np.unique(whose, return_index=True)
    return users, np.append(rows, reports).astype(np.int64)


def _listed(mechanism: BlockMechanism, reports: Reports) -> tuple[IntArray, AnyArray]:
    """Return, for every report, the values that it may stand for: ``(r + 1,)`` offsets and int32 codes."""
    codes, n = mechanism.domain.sensitive_codes, reports.n
    clear = np.zeros(n, dtype=np.bool_) if reports.in_clear is None else reports.in_clear
    lengths, parts, total = np.ones(n, dtype=np.int64), [np.empty(0, dtype=np.int32)], len(reports.clear)
    places, done = np.flatnonzero(~clear), 0
    for sizes, ranks in mechanism.law.members(mechanism.blocks_of_unknown(reports)):
        lengths[places[done : done + len(sizes)]] = sizes
        parts.append(codes[ranks].astype(np.int32))
        done, total = done + len(sizes), total + len(ranks)
        if total > _MOST_MEMBERS:
            raise DataError(f"the reports list more than {_MOST_MEMBERS} values; attack fewer of them at a time.")
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    features = np.empty(total, dtype=np.int32)
    in_clear = np.repeat(clear, lengths)
    features[in_clear], features[~in_clear] = reports.clear.astype(np.int32), np.concatenate(parts)
    return offsets, features


def _channel_rows(
    training: Traces, channel: Channel, reports: Reports, owners: IntArray, zero: float
) -> tuple[Callable[[int, int], IntArray], IntArray]:
    """Return a function that scores probes by ln sum_x pi_i(x) Q(y | x), and whose they are."""
    known = counted_visits(_fitting(training, channel))
    users, rows = _grouped(owners, reports.n, training.users)
    outputs, totals = reports.blocks["output"].astype(np.int64), np.maximum(training.lengths, 1)

    def logs(output: int) -> IntArray:
        seen = np.append(known.counts * channel.matrix[known.keys, output], 0.0)
        sums = np.where(np.diff(known.offsets) > 0, np.add.reduceat(seen, known.offsets[:-1]), 0.0)
        return np.rint(np.log(np.maximum(sums / totals, zero)) / UNIT).astype(np.int64)

    def scores(start: int, stop: int) -> IntArray:
        here = outputs[rows[start] : rows[stop]]
        different, which = np.unique(here, return_inverse=True)
        table = np.stack([logs(int(output)) for output in different])
        summed: IntArray = np.add.reduceat(table[which], rows[start:stop] - rows[start], axis=0)
        return summed

    return scores, users
