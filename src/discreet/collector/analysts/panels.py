"""Panels of a collection's page: estimates, their precision, the protection of people, and the reports received.

Each has a finding in a sentence, numbers in a table, the same numbers in full for a file, and a picture of them, which
is drawn elsewhere. What is said of people is what `discreet.collector.releases.facts_of` says, in its words.
"""

import hashlib
import pickle
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from operator import itemgetter
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.arrays import FloatArray
from discreet.collector.analysts.bars import Bars, TimeBands, bar_chart, time_chart
from discreet.collector.keeper import Entry, epochs_of
from discreet.collector.releases import Counts, EstimateQuery, Release, spelled_epochs
from discreet.collector.storage.store import AuditRow, SealRow
from discreet.core.guarantee import posterior_percent, posterior_share, rounded_up
from discreet.core.result_table import ResultColumn, ResultTable, label_columns, text_column
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.estimators.linear import LinearStart
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.block_law import joint_inclusion
from discreet.pictures.charts import frequency_chart, region_chart
from discreet.pictures.curves import Curves, curve_chart
from discreet.planning.losses import reports_for_standard_error
from discreet.results.estimate import Estimate

MOST_BATCHES = 60
"""Batches that are shown over time, the last ones."""

_MOST_VALUES, _MOST_OVER_TIME, _MOST_LINES = 40, 4, 25
_FAKES = (0.001, 0.01, 0.1)
# Chance that honest devices fail a check of plausibility.
_FALSE_ALARM = 1e-4
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Drawing:
    """A picture that is yet to be drawn.

    Attributes:
        chart: a function that returns a chart.
        content: its argument.
        text: the picture in words, for who does not see it.
    """

    chart: Callable[[Any], Any]
    content: Any
    text: str

    @property
    def is_large(self) -> bool:
        """True if the picture is too wide to be read at the width of a phone; curves are as wide as one."""
        return self.chart is not curve_chart

    @cached_property
    def mark(self) -> str:
        """Hash of the picture's data: equal pictures are drawn once. Computed once, before objects cache results."""
        return hashlib.sha256(pickle.dumps((self.chart, self.content))).hexdigest()


@dataclass(frozen=True, eq=False)
class CollectionPanel:
    """A panel.

    Attributes:
        name: in addresses.
        title: above it.
        finding: in a sentence or two.
        whole: numbers in full, for files.
        table: numbers for people, with sentences below; None where another panel has them.
        drawing: its picture; None where there is nothing to be drawn.
    """

    name: str
    title: str
    finding: str
    whole: ResultTable
    table: ResultTable | None
    drawing: Drawing | None = None


@dataclass(frozen=True, eq=False)
class Look:
    """A collection at a moment, as it is looked at.

    Attributes:
        entry: the collection.
        query: the query.
        release: the estimate.
        batches: the sealed batches it is of, the last ones, each with its own.
        counts: of reports.
        waiting: epochs with reports that are not sealed.
        facts: of the collection, as programs get them.
        wanted: standard error that is wanted of shares; None for half of what there is.
    """

    entry: Entry
    query: EstimateQuery
    release: Release
    batches: Sequence[tuple[SealRow, Release]]
    counts: Counts
    waiting: Sequence[int]
    facts: Mapping[str, Any]
    wanted: float | None = None

    @property
    def found(self) -> Estimate:
        """The estimate."""
        return self.release.found

    @property
    def level(self) -> float:
        """Confidence of the intervals."""
        return self.query.level

    @cached_property
    def linear(self) -> FloatArray:
        """``(|X|,)`` unbiased estimates, whatever the method is."""
        return self.entry.mechanism.decoder.estimate(self.release.tally)

    @property
    def shares(self) -> FloatArray:
        """``(|X|,)`` unbiased estimates, made shares, as a guess of the truth."""
        whole = np.maximum(self.linear, 0)
        return np.asarray(whole / whole.sum() if whole.sum() > 0 else np.full(len(whole), 1 / len(whole)))


def panels_of(look: Look) -> list[CollectionPanel]:
    """Return the panels of an estimate: they are the same as long as no other batch is sealed."""
    mapped = [_map(look)] if look.found.domain.grid_cells is not None else []
    return [_shares(look), *mapped, _over_time(look), _precision(look), protection(look.facts), _fakes(look)]


def percent(share: float) -> str:
    """Return a share in percent, for a sentence."""
    return f"{100 * share:.3g}%"


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds))


def _shares(look: Look) -> CollectionPanel:
    estimate, level = look.found, look.query.level
    codes = estimate.chosen(_MOST_VALUES)
    floor = ResultColumn("noise_floor", np.array(look.release.noise_floor), "share", "noise up to")
    first, which = estimate.top(1)[0], "epoch" if len(look.release.epochs) == 1 else "epochs"
    finding = (
        f"Most frequent is {first.value}: {percent(first.frequency)} of people, {percent(first.lower)} to "
        f"{percent(first.upper)} with 95% confidence for the largest of {estimate.domain.size:,}, from {estimate.n:,} "
        f"reports of {which} {spelled_epochs(look.release.epochs)}."
    )
    title = f"Estimated shares: {estimate.n:,} reports, method {estimate.method}"
    return CollectionPanel(
        "shares",
        "What: shares of people",
        finding,
        estimate.table(level),
        estimate.values_table(title, codes, level, beside=[floor]),
        Drawing(frequency_chart, estimate.panel(title, codes, level=level), "Limits of each share as bars, by value."),
    )


def _map(look: Look) -> CollectionPanel:
    estimate = look.found
    first = estimate.domain.names(estimate.largest(1))[0]
    finding = f"The region with the largest share is {first}; its numbers stand in the table of shares."
    drawing = Drawing(region_chart, estimate.regions(), "A map of the shares of regions.")
    regions = ResultTable(
        "Where", label_columns(estimate.domain.table(), [ResultColumn("share", estimate.frequencies)])
    )
    return CollectionPanel("map", "Where", finding, regions, None, drawing)


def _over_time(look: Look) -> CollectionPanel:
    collection, title = look.entry.collection, "Over epochs"
    codes = look.found.largest(_MOST_OVER_TIME)
    names = look.found.domain.names(codes)
    lines, records = [], list[dict[str, Any]]()
    for seal, release in look.batches:
        ends = release.found.interval(look.level)
        numbers = np.stack([release.found.frequencies, *ends])[:, codes].T.tolist()
        start, stop = collection.window(seal.epoch)[0], collection.window(seal.last)[1]
        cells = [f"{percent(share)} ({percent(low)} to {percent(high)})" for share, low, high in numbers]
        epochs = spelled_epochs(epochs_of(seal))
        lines.append((seal.epoch, [epochs, _moment(start), f"{seal.n:,}", *cells]))
        for name, (share, low, high) in zip(names, numbers, strict=True):
            part = {"name": name, "start": 1000 * start, "stop": 1000 * stop}
            records.append({**part, "share": share, "lower": low, "upper": high, "epochs": epochs, "n": seal.n})
    # Gaps, and not zeros: of too few reports nothing is published.
    gap = ["not sealed"] * (1 + len(names))
    lines += [(epoch, [str(epoch), _moment(collection.window(epoch)[0]), *gap]) for epoch in look.waiting]
    headings = ["epochs", "from (UTC)", "reports", *names]
    table = ResultTable.of(
        f"{title}: the largest shares, linear, each alone and at one look",
        headings,
        [row for _, row in sorted(lines)],
        left=2,
    )
    finding = _change(records, names[0])
    whole = ResultTable(title, [ResultColumn.of(records, key, itemgetter(key)) for key in (records or [{}])[0]])
    bands = TimeBands("Shares by epoch; bands: limits at one look, gaps: nothing is published", names, records)
    drawing = Drawing(time_chart, bands, "Limits of each share as bands, over time.") if records else None
    return CollectionPanel("epochs", title, finding, whole, table, drawing)


def _change(records: Sequence[Mapping[str, Any]], name: str) -> str:
    """Return the finding over time: of the most frequent value, from the first batch to the last."""
    ours = [record for record in records if record["name"] == name]
    if len(ours) < 2:
        return f"{len(ours)} batch is published; from the second on it is seen what changes."
    first, last = ours[0], ours[-1]
    apart = first["lower"] > last["upper"] or last["lower"] > first["upper"]
    doubt = "do not overlap" if apart else "overlap, so that this may be noise"
    return (
        f"From epochs {first['epochs']} to {last['epochs']} the share of {name} went from {percent(first['share'])} to "
        f"{percent(last['share'])}; their limits {doubt}."
    )


def _precision(look: Look) -> CollectionPanel:
    mechanism, n, p = look.entry.mechanism, look.found.n, look.shares
    now = float(look.found.standard_errors.max())
    wanted = now / 2 if look.wanted is None else look.wanted
    finding = f"How sure: no share has a standard error above {percent(now)} now, from {n:,} reports; "
    try:
        needed = reports_for_standard_error(mechanism, wanted, p=p)
        finding += f"an error of {percent(wanted)} takes {needed:,} reports, {max(needed - n, 0):,} more."
    except ParameterError:
        finding += f"an error of {percent(wanted)} cannot be had with this plan, however many report."
    reports = np.unique(np.maximum(n * 10 ** np.linspace(-1, 2, 7), 1).astype(np.int64))
    errors = np.array([mechanism.decoder.standard_errors(int(n), p).max() for n in reports])
    columns = [
        ResultColumn("reports", reports, "count"),
        ResultColumn("standard_error", errors, "share", "largest standard error of a share"),
    ]
    lines = {"expected, if shares stay": zip(reports, errors, strict=True)}
    asked: dict[str, Any] = {"baselines": {"": wanted}, "baseline": "wanted", "marks": {"": n}, "mark": "now"}
    curve = Curves.of("reports", "largest standard error", lines, **asked)
    drawing = Drawing(curve_chart, curve, "A curve of the expected error, which falls with reports.")
    table = ResultTable("How sure: precision", columns)
    return CollectionPanel("precision", table.title, finding, table, table, drawing)


def protection(facts: Mapping[str, Any]) -> CollectionPanel:
    """Return the panel on the protection of people; if nothing is sealed yet, for the planned batches."""
    publication, budgets = facts["publication"], facts["budgets"]
    words, local = publication["sentences"], facts["guarantee"]["realised"]
    # Epsilon of what somebody learns, by who it is.
    learned = {"before anything is published": 0.0}
    for key, name in (("among", "between protected values"), ("versus_clear", "compared with a value in clear")):
        if publication.get(key) is not None:
            learned[f"who sees the publication, {name}"] = publication[key]["epsilon"]
    several = f", {publication['rounds']:,} of one person" if publication["rounds"] > 1 else ""
    learned[f"who sees reports arrive{several}"] = publication["rounds"] * local
    percents = [f"{posterior_percent(epsilon)}%" for epsilon in learned.values()]
    columns = [text_column("who", learned), ResultColumn("sure, at most", percents, "figure")]
    sentences = [
        *words["person"][1:],
        *words["conditions"],
        words["local"],
        facts["guarantee"]["sentence"],
        f"Answers of a person: at most {budgets['answers_in_lifetime']:,} ({budgets['answers']}), each of epsilon "
        f"{rounded_up(budgets['per_answer'])}, within a lifetime's budget of {rounded_up(budgets['lifetime'])}.",
        *(bound["sentence"] for bound in facts["identification"]),
    ]
    shares = [(who, posterior_share(epsilon)) for who, epsilon in learned.items()]
    bars = Bars("How sure somebody gets of a person's value, from 50%", "sure", shares, 1.0, "~%")
    drawing = Drawing(bar_chart, bars, "Bars of how sure somebody gets, by who it is.")
    table = ResultTable("How protected: people", columns, [sentence for sentence in sentences if sentence])
    return CollectionPanel("protection", table.title, words["person"][0], table, table, drawing)


def _fakes(look: Look) -> CollectionPanel:
    mechanism, p = look.entry.mechanism, look.linear
    least, most = mechanism.decoder.contribution_range
    shares = np.array(_FAKES)
    # If a share f of the reports is fake, each with contribution w, an estimate p would be (p - f w) / (1 - f) without.
    odds = shares / (1 - shares)
    raised, lowered = odds * float((most - p).max()), odds * float((p - least).max())
    checks = list(plausibility(mechanism, look.release.tally))
    failed = [
        f"Implausible: {counted}, where honest devices leave {expected}."
        for counted, expected, good in checks
        if not good
    ]
    passed = [f"Plausible: {counted}; honest devices leave {expected}." for counted, expected, good in checks if good]
    kind = "large; choose another mechanism if fakes are feared" if look.facts["influence"]["large"] else "bounded"
    finding = (
        f"Were {percent(shares[1])} of these reports fakes, a share would be too high by at most {percent(raised[1])} "
        f"of people ({kind}). "
    )
    finding += "What came in is plausible." if not failed else "What came in is not plausible: see below."
    columns = [
        ResultColumn("fakes", shares, "share", "share of fakes", ".1%"),
        ResultColumn("raised", raised, "share", "a share is too high by at most", ".3%"),
        ResultColumn("lowered", lowered, "share", "or too low by at most", ".3%"),
    ]
    errors = {"too high": zip(shares, raised, strict=True), "too low": zip(shares, lowered, strict=True)}
    curve = Curves.of("share of fakes", "error of a share", errors)
    drawing = Drawing(curve_chart, curve, "Curves of the error of a share, which grows with fakes.")
    table = ResultTable("What fake devices can do", columns, [*failed, *passed])
    return CollectionPanel("fakes", table.title, finding, table, table, drawing)


def plausibility(mechanism: BlockMechanism, tally: Tally) -> Iterator[tuple[str, str, bool]]:
    """Yield checks of counts against the law of honest devices: the count, the possible counts, and whether it fits.

    Each fails about one of ten thousand batches of honest devices. Fakes that draw as devices do pass all of them,
    whatever value they claim: only their number would betray them.

    Args:
        mechanism: that devices follow.
        tally: of their reports.
    """
    start, n, truth = LinearStart.of(mechanism, tally), tally.n, mechanism.decoder.truth
    sigmas = NormalDist().inv_cdf(1 - _FALSE_ALARM / 2)
    domain = mechanism.domain
    if domain.clear_count and domain.sensitive_count:
        most = min(n, int(n * truth + sigmas * sqrt(n * truth * (1 - truth)) + 1))
        yield (
            f"{tally.clear_total:,} of {n:,} reports state a value in clear",
            f"at most {most:,}",
            bool(tally.clear_total <= most),
        )
    # Where blocks have one size, estimates add up to 1 whatever is sent; bits that are set too often add to the sum.
    # Where inclusions of three values depend on each other, or functions come from a pool, no law of the sum is known.
    spread = float(start.intervals.known_law.with_all.sum())
    is_known = joint_inclusion(mechanism.law, 3) is not None and not mechanism.coefficients.pool_bias
    if spread > _ROUNDING / n and is_known:
        total, room = float(start.linear.sum()), sigmas * sqrt(spread)
        expected = f"{percent(1 - room)} to {percent(1 + room)}"
        yield f"the shares add up to {percent(total)}", expected, bool(abs(total - 1) <= room)
    each = NormalDist().inv_cdf(1 - _FALSE_ALARM / domain.size)
    variance = start.variance(np.zeros(domain.size)) + mechanism.decoder.pool_bias_variance(tally, start.linear)
    below = start.linear < -each * np.sqrt(variance) - 1 / n
    yield (
        f"{np.count_nonzero(below):,} values are counted less often than noise alone counts them",
        "none",
        not below.any(),
    )


def intake(counts: Counts, waiting: Mapping[int, int], disk: tuple[float, float]) -> CollectionPanel:
    """Return the panel on what came in of a collection.

    Args:
        counts: of its reports.
        waiting: reports by epoch that is not sealed.
        disk: bytes that are free, and seconds that the oldest epoch which is over waits to be sealed.
    """
    sealed = [(spelled_epochs(range(batch["epoch"], batch["last"] + 1)), batch["n"]) for batch in counts.epochs]
    rows = [("sealed", f"epochs {epochs}", n) for epochs, n in sealed[-MOST_BATCHES:]]
    rows += [("waits", f"epoch {epoch}", n) for epoch, n in list(waiting.items())[-MOST_BATCHES:]]
    rows += [("came again", "", counts.duplicates), ("in conflict", "", counts.conflicts)]
    rows += [("refused", reason, n) for reason, n in sorted(counts.refusals.items())]
    late = (
        f"the oldest epoch that is over waits {disk[1] / 60:,.0f} minutes" if disk[1] else "no epoch that is over waits"
    )
    finding = (
        f"{counts.sealed:,} reports are sealed in {len(sealed):,} batches, {counts.waiting:,} wait, "
        f"{sum(counts.refusals.values()):,} were refused; {late} to be sealed, of all collections; "
        f"{disk[0] / 1e9:,.1f} GB of the disk are free."
    )
    kinds, details, numbers = zip(*rows, strict=True)
    columns = [
        text_column("state", kinds),
        text_column("of", details),
        ResultColumn("reports", numbers, "count"),
    ]
    shown = [(epochs, float(n)) for epochs, n in sealed[-MOST_BATCHES:]]
    drawing = Drawing(bar_chart, Bars("Reports by sealed epochs", "reports", shown), "Bars of reports by epochs.")
    table = ResultTable("What came in", columns)
    return CollectionPanel("intake", table.title, finding, table, table, drawing if shown else None)


def audit(rows: Sequence[AuditRow], name: str) -> CollectionPanel:
    """Return the panel on who did and saw what of a collection.

    Args:
        rows: of the audit, in order.
        name: of the collection.
    """
    ours = [row for row in rows if row.detail.split(" ")[0].split("/")[0].rstrip(":") == name][::-1]
    looks = [row for row in ours if row.action.startswith("saw ")]
    finding = (
        f"Looks that are written down: {len(looks):,}; people and programs: {len({row.actor for row in looks}):,}."
    )
    columns = [
        text_column("at", (_moment(row.at) for row in ours)),
        text_column("who", (row.actor for row in ours)),
        text_column("did", (row.action for row in ours)),
        text_column("of", (row.detail for row in ours)),
    ]
    below = [f"The last {_MOST_LINES} lines; the file has more."] if len(ours) > _MOST_LINES else []
    whole = ResultTable("Who saw what", columns)
    table = ResultTable(whole.title, [column.at(slice(_MOST_LINES)) for column in columns], below)
    return CollectionPanel("audit", whole.title, finding, whole, table)
