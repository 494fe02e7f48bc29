"""An assessment of identification risk: its record, its table and its sentences."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from discreet.cli.output import Table
from discreet.core.traces import Split, Traces
from discreet.risk.assessment import Assessment
from discreet.simulation.risk_page import measured, tried_in_words


class AssessedTraces(Struct, frozen=True):
    """Record of an assessment."""

    users: int
    events: int
    different_events: int
    attack: str
    attacks_tried: Sequence[Any]
    level: float
    attacker_knows: str
    reports: int | None
    success: Any
    risk: float
    list: int
    success_of_list: Any
    singled_out: int
    pie_at_least_bits: float
    pie_at_most_bits: float | None
    lower_bounds: Sequence[Any]
    divergence_of_the_paper: Any
    equal_error_rate: float
    list_at_most: Any
    identification_at_most: Any
    all_bounds: Sequence[Any]
    epsilon_together: float | None
    attribution_in_a_sealed_batch: Any
    consistent: bool
    in_words: Sequence[str]
    traces_of_which_nothing_was_learned: float
    rows_left_out: int
    users_left_out: int

    @classmethod
    def of(cls, found: Assessment, split: Split, knowledge: str, read: Traces) -> "AssessedTraces":
        """Return the record of an assessment."""
        bounds = found.bounds
        return cls(
            users=found.users,
            events=split.target.events.size,
            different_events=split.target.event_count,
            attack=found.attack,
            attacks_tried=found.tried,
            level=found.level,
            attacker_knows=knowledge,
            reports=found.reports,
            success=found.success,
            risk=found.risk,
            list=found.largest_list,
            success_of_list=found.listed,
            singled_out=found.singled_out,
            pie_at_least_bits=found.certified,
            pie_at_most_bits=None if bounds is None else found.alpha,
            lower_bounds=(found.pse.certified, found.rank_pse),
            divergence_of_the_paper=found.pse.paper,
            equal_error_rate=found.det.equal_error_rate,
            list_at_most=found.list_bound,
            identification_at_most=None if bounds is None else bounds.identification,
            all_bounds=() if bounds is None else (*bounds.pies, *bounds.identifications),
            epsilon_together=None if bounds is None else bounds.total_epsilon,
            attribution_in_a_sealed_batch=None if bounds is None else bounds.attribution,
            consistent=found.consistent,
            in_words=found.sentences,
            traces_of_which_nothing_was_learned=found.unlearned,
            rows_left_out=read.left_out,
            users_left_out=read.users - split.target.users,
        )


def assessment_parts(
    found: Assessment, split: Split, knowledge: str, read: Traces, files: Sequence[Path]
) -> Iterator[str | Table]:
    """Yield the attack, the table of measured and bounding numbers, the sentences and the files."""
    bounds = found.bounds
    if read.left_out:
        yield f"{read.left_out:,} rows are left out, since a user, an event or a time is missing in them."
    if users := read.users - split.target.users:
        yield f"{users:,} of {read.users:,} users are left out, who have too few events; nothing is said of them."
    yield f"{split.target!r}; attack: {found.attack}; the attacker knows {knowledge}"
    yield Table("Identification risk", *measured(found))
    if len(found.tried) > 1:
        yield "Right user named, by each attack: " + "; ".join(tried_in_words(found)) + "."
    if found.pse.paper is not None:
        yield str(found.pse.paper)
    yield from found.sentences
    if bounds is not None:
        yield from filter(None, (bounds.attribution_sentence, bounds.condition_sentence))
    if not found.consistent:
        yield "What was measured is above what bounds it: do not trust these numbers, and please report this."
    if files:
        yield "Written: " + ", ".join(str(file) for file in files)
