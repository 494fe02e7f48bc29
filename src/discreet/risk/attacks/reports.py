"""Attacks on obfuscated events: which user sent a report?

Each user sends one or several events through a mechanism. The attacker compares every report with the known events of
every user. A block A is 1 + c pi_i(A) times as likely from user i as noise, with c = e^eps - 1 and pi_i the shares of
the user's visits in training. A value x in clear comes from the user with probability pi_i(x).

People also do things without a precedent in their known events, and more so if few events are known. So a share w of
their visits follows the shares p of all visits, and m visits with shares p are added to the n_i visits of each user:

    pi_i(A) = (1 - w) n_i(A) / (n_i + m) + lambda p(A),

with lambda the mean of w + (1 - w) m / (n_i + m) over users, so that all users who share nothing with a report tie. w
and m are chosen from the known events only: they maximise the likelihood of each user's last known events, given the
earlier ones. A report's score is the log-likelihood ratio of a user to an average user, with shares p.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np

from discreet.arrays import AnyArray, FloatArray, IntArray
from discreet.core.random import RandomSource
from discreet.core.reports import Reports
from discreet.errors import DataError
from discreet.mechanisms.block_law import members_of
from discreet.mechanisms.channel import Channel
from discreet.mechanisms.law import BlockMechanism
from discreet.risk.attacks.traces import SMALLEST, Matcher, counted_visits, match
from discreet.risk.kernels.events import invert
from discreet.risk.kernels.matching import Problem
from discreet.risk.scores import Scores
from discreet.risk.traces import Split, Traces, by_lengths

UNIT = 2.0**-40
"""The unit of reports' scores, in nats: with a small epsilon likelihoods differ by little."""

SHARES, ADDED = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8), (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""The shares w and the numbers m of added visits that are tried."""

_MOST_MEMBERS = 500_000_000
_TINY = 1e-100


def match_reports(
    split: Split,
    mechanism: BlockMechanism | Channel,
    *,
    events: int = 1,
    random: RandomSource | None = None,
    threads: int | None = None,
) -> Scores:
    """Obfuscate each user's first events in the target with a mechanism, and attack the reports.

    Args:
        split: training and target, with the codes of the mechanism's domain.
        mechanism: a mechanism or a channel.
        events: the number of events that each user sends (or all, if fewer), with fresh noise.
        random: the random words for the reports; None for fresh words.
        threads: as for `match`.

    Example:
        >>> import discreet as dc
        >>> from discreet.risk.traces import Traces, by_half
        >>> split = by_half(Traces.of(np.repeat(range(50), 2), np.repeat(range(50), 2)))
        >>> mechanism = dc.RandomizedResponse(dc.Domain(range(50)), epsilon=5.0)
        >>> match_reports(split, mechanism, random=dc.SeededRandom(1)).success()
        0.78
    """
    if not mechanism.is_explicit:
        return match(reports_matcher(split, mechanism, events=events, random=random), threads=threads)
    rows, users = _channel_rows(split, mechanism.channel(), events, random)
    return replace(Scores.from_rows(rows, users, split.training.users), unit=UNIT)


def reports_matcher(
    split: Split, mechanism: BlockMechanism | Channel, *, events: int = 1, random: RandomSource | None = None
) -> Matcher:
    """Obfuscate each user's first events in the target with a mechanism; return the matcher of the reports.

    Args:
        split: training and target, with the codes of the mechanism's domain.
        mechanism: the mechanism.
        events: the number of events that each user sends (or all, if fewer), with fresh noise.
        random: the random words for the reports; None for fresh words.

    Raises:
        DataError: if the traces do not have the mechanism's codes, or the reports' blocks are too large to be listed.
        ParameterError: for a channel; its reports can only be compared with `match_reports`.
    """
    checked, training = BlockMechanism.checked(mechanism), split.training
    share, added, weight = smoothing(split, events)
    reports, users, rows = _sent(split.target, checked, events, random)
    known = counted_visits(training)
    offsets, features = _listed(checked, reports)
    visited = np.bincount(training.events, minlength=training.event_count)
    # A block may be empty.
    inside = np.where(np.diff(offsets), np.add.reduceat(np.append(visited[features], 0), offsets[:-1]), 0)
    inside = inside / max(len(training), 1)
    # Noise is never a value in clear.
    noise = np.ones(reports.n) if reports.in_clear is None else np.where(reports.in_clear, 0.0, 1.0)
    contrasts = np.where(noise > 0, checked.contrast, 1.0)
    # An event that no user has in training does not distinguish users.
    anybody = np.maximum(noise + contrasts * inside, _TINY)
    strangers = np.maximum(noise + weight * contrasts * inside, weight * _TINY)
    return Matcher(
        Problem(
            users=users,
            candidates=training.users,
            constants=np.add.reduceat(np.rint(np.log(strangers / anybody) / UNIT).astype(np.int64), rows[:-1]),
            index=invert(
                training.event_count,
                [(known.offsets, known.keys.astype(np.int32), known.counts)],
                known.counts.dtype.type,
            ),
            queries=(offsets, features, np.ones(len(features), dtype=np.int32)),
            reports=rows,
            contrasts=contrasts / strangers,
            totals=((training.lengths + added) / (1 - share)).astype(np.float64),
            scale=1 / UNIT,
        ),
        UNIT,
    )


def _sent(
    target: Traces, mechanism: BlockMechanism | Channel, events: int, random: RandomSource | None
) -> tuple[Reports, IntArray, IntArray]:
    """Return reports of each user's first events, the users with an event, and the first row of each."""
    if target.event_count != mechanism.domain.size:
        raise DataError("traces.other-domain", event_count=target.event_count, size=mechanism.domain.size)
    sent = target.first(events)
    if not len(sent):
        raise DataError("traces.empty-target")
    users = np.flatnonzero(sent.lengths)
    return mechanism.obfuscate_codes(sent.events, random=random), users, np.append(sent.offsets[users], len(sent))


def smoothing(split: Split, events: int) -> tuple[float, float, float]:
    """Return w, the share of average visits, m, the number of added average visits, and lambda, their mean share.

    Args:
        split: only its training is used. An attacker who has the target needs no smoothing.
        events: the number of last known events per user, at most half, that the earlier ones predict.
    """
    known = split.training
    if known is split.target:
        return 0.0, 0.0, SMALLEST
    cut = by_lengths(known, known.lengths - np.minimum(known.lengths // 2, events))
    earlier, users = counted_visits(cut.training), np.arange(known.users)
    pairs, asked = (
        np.repeat(users, np.diff(side.offsets)) * known.event_count + keys
        for side, keys in ((earlier, earlier.keys), (cut.target, cut.target.events))
    )
    share, added = 0.0, 1.0
    if len(asked):
        places = np.minimum(np.searchsorted(pairs, asked), len(pairs) - 1)
        visited = np.where(pairs[places] == asked, earlier.counts[places], 0)
        popular, lengths = _popular(known)[cut.target.events], np.repeat(cut.training.lengths, cut.target.lengths)

        def likelihood(tried: tuple[float, float]) -> float:
            w, m = tried
            return float(np.log(w * popular + (1 - w) * (visited + m * popular) / (lengths + m)).mean())

        share, added = max(product(SHARES, ADDED), key=likelihood)
    lengths = known.lengths[known.lengths > 0]
    return share, added, float(np.mean(share + (1 - share) * added / (lengths + added)))


def _popular(known: Traces) -> FloatArray:
    """Return the ``(d,)`` shares of the events in all traces."""
    popular: FloatArray = np.bincount(known.events, minlength=known.event_count) / max(len(known), 1)
    return popular


def _listed(mechanism: BlockMechanism, reports: Reports) -> tuple[IntArray, AnyArray]:
    """Return the values in every report's block or in clear: ``(r + 1,)`` offsets and int32 codes."""
    codes, n = mechanism.domain.sensitive_codes, reports.n
    clear = np.zeros(n, dtype=np.bool_) if reports.in_clear is None else reports.in_clear
    lengths, parts, total = np.ones(n, dtype=np.int64), [np.empty(0, dtype=np.int32)], len(reports.clear)
    places, done = np.flatnonzero(~clear), 0
    for sizes, ranks in members_of(mechanism.law, mechanism.blocks_of_unknown(reports)):
        lengths[places[done : done + len(sizes)]] = sizes
        parts.append(codes[ranks].astype(np.int32))
        done, total = done + len(sizes), total + len(ranks)
        if total > _MOST_MEMBERS:
            raise DataError("reports.too-many-members", most_members=_MOST_MEMBERS)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    features = np.empty(total, dtype=np.int32)
    in_clear = np.repeat(clear, lengths)
    features[in_clear], features[~in_clear] = reports.clear.astype(np.int32), np.concatenate(parts)
    return offsets, features


def _channel_rows(
    split: Split, channel: Channel, events: int, random: RandomSource | None
) -> tuple[Callable[[int, int], IntArray], IntArray]:
    """Return a function that scores probes by the likelihoods sum_x pi_i(x) Q(y | x), and the probes' users."""
    training, (share, added, weight) = split.training, smoothing(split, events)
    reports, users, rows = _sent(split.target, channel, events, random)
    known, outputs = counted_visits(training), reports.blocks["output"].astype(np.int64)
    totals = np.maximum(training.lengths + added, 1) / (1 - share)
    # The smallest probability of an output is noise, which does not distinguish users.
    noise = channel.matrix.min(axis=0)
    matrix = channel.matrix - noise
    popular = _popular(training) @ matrix

    def logs(output: int) -> IntArray:
        counts = np.append(known.counts * matrix[known.keys, output], 0.0)
        sums = np.where(np.diff(known.offsets) > 0, np.add.reduceat(counts, known.offsets[:-1]), 0.0)
        likely = noise[output] + sums / totals + weight * popular[output]
        ratios = np.maximum(likely, weight * _TINY) / max(noise[output] + popular[output], _TINY)
        units: IntArray = np.rint(np.log(ratios) / UNIT).astype(np.int64)
        return units

    def scores(start: int, stop: int) -> IntArray:
        here = outputs[rows[start] : rows[stop]]
        different, which = np.unique(here, return_inverse=True)
        table = np.stack([logs(int(output)) for output in different])
        summed: IntArray = np.add.reduceat(table[which], rows[start:stop] - rows[start], axis=0)
        return summed

    return scores, users
