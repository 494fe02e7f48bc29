"""The command ``verify``: check the epsilon of a plan, drawn reports, permanent reports or sealed files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
import numpy as np

from discreet.cli import options
from discreet.cli.commands import ConditionalOption, Subcommand
from discreet.cli.options import Count, OptionGroup, allow_outside, load_plan, option
from discreet.cli.output import SIMULATED_REPORTS, InputFile, alike_in, in_words
from discreet.cli.results import CommandResult
from discreet.core.random import SeededRandom
from discreet.core.result_table import ResultTable
from discreet.errors import ParameterError
from discreet.files.paths import PICTURES, any_of
from discreet.formats.plan import Plan
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.memo import Memo
from discreet.privacy.notions import logarithm
from discreet.privacy.verify import MemoVerification, Verification, verify_memo
from discreet.privacy.verify import verify as verified
from discreet.theory.memo import CHANGES_ARE_VISIBLE

if TYPE_CHECKING:
    from discreet.formats.sealed_files import SealedFile
    from discreet.privacy.publication import Publication

_ROUNDS = (1, 2, 3, 12)
"""The numbers of rounds for which permanent reports are verified."""
_NOT_SEALED = {"sealed": "{} cannot be used with --sealed."}
_OF_BATCHES: dict[str, Any] = {
    "needs": {"statement": "{} needs --statement with a number of reports."},
    "bars": _NOT_SEALED,
}


@dataclass(frozen=True, slots=True)
class Batches(OptionGroup):
    """Options for batches of shuffled reports, and for the picture."""

    statement: int | None = option(
        "--statement",
        type=Count(1),
        metavar="N",
        bars=_NOT_SEALED,
        help="Also print what publishing N reports, without names and order, reveals about a person.",
    )
    delta: float | None = option(
        "--delta",
        type=float,
        **_OF_BATCHES,
        help="With --statement: delta of (epsilon, delta), below 1/N. [1e-6, but at most 0.1/N]",
    )
    rounds: int = option(
        "--rounds",
        type=Count(1),
        default=1,
        **_OF_BATCHES,
        help="With --statement: number of batches in which the same person has a report with fresh noise.",
    )
    not_trusted: int = option(
        "--not-trusted",
        type=Count(0),
        default=0,
        **_OF_BATCHES,
        help="With --statement: number of the N reports that are fake or known to the reader.",
    )
    plot: Path | None = option(
        "--plot",
        type=options.PICTURE,
        **_OF_BATCHES,
        help=f"With --statement: file for a picture of delta by epsilon: {any_of(PICTURES)}.",
    )
    force: bool = option("--force", is_flag=True, **_OF_BATCHES, help="Replace output files that exist.")

    def publication(self, plan: Plan) -> "Publication | None":
        """Return the publication of the batches; None if ``--statement`` was not given.

        Raises:
            ParameterError: if there is no statement for these batches.
        """
        if self.statement is None:
            return None
        from discreet.privacy.publication import published

        shown = "the reports without names and order or anything computed from them"
        about: dict[str, Any] = {"not_trusted": self.not_trusted, "delta": self.delta, "shown": shown}
        answers: Literal["unknown", "fresh"] = "unknown" if self.rounds == 1 else "fresh"
        publication = published(plan.maker, [self.statement] * self.rounds, answers=answers, **about)
        if publication.central is None:
            raise ParameterError("statement.empty", reason=publication.local_only_reason)
        return publication


MEMO = click.option(
    "--memo",
    type=float,
    cls=ConditionalOption,
    bars=_NOT_SEALED,
    metavar="EPSILON",
    help="Also verify permanent reports with this epsilon over all rounds, in nats.",
)
SEALED = click.option(
    "--sealed", type=InputFile(urls=True), help="Instead of the plan, check this sealed file, or folder of them."
)


@dataclass(frozen=True, slots=True)
class Draws(OptionGroup):
    """Options for reports that are drawn to test the promise."""

    draws: int | None = option(
        "--draws",
        type=Count(),
        metavar="N",
        bars=_NOT_SEALED,
        help="Also draw N reports, for example a million, and print a lower bound on epsilon from them.",
    )
    confidence: float = option(
        "--confidence",
        type=float,
        default=0.999,
        needs={"draws": "{} needs --draws with a number of reports."},
        help="With --draws: confidence of the lower bound on epsilon.",
    )
    seed: int | None = option(
        "--seed",
        type=int,
        needs={"draws": "{} needs --draws with a number of reports."},
        help="With --draws: seed for a simulation. [secure randomness, as on devices]",
    )

    def audit(self, document: Plan) -> CommandResult | None:
        """Return the audit of a plan by reports drawn under it; None if ``--draws`` was not given."""
        if self.draws is None:
            return None
        # It imports code that draws and counts reports.
        from discreet.privacy.audit import audit

        random = None if self.seed is None else SeededRandom(self.seed)
        mechanism = document.mechanism()
        result = audit(mechanism, draws=self.draws, confidence=self.confidence, random=random)
        values = mechanism.domain.names(np.array([result.event.first.code, result.event.second.code]))
        event, of = result.event.describe(*values), "" if result.event.first.beside is None else "pairs of "
        tested = {"event": event, "values": values, "counts": result.counts, "trials": result.trials}
        numbers = ("promised", "lower_bound", "confidence", "draws", "holds", "simulated")
        record = {name: getattr(result, name) for name in numbers} | {"tested": tested}
        rows = zip(values, result.counts, result.trials, strict=True)
        lines = [f"  from {value}: {count:,} of {trials:,} {of}reports" for value, count, trials in rows]
        return CommandResult(lambda: record, [f"Tested: {event}.", *lines, str(result)], code=0 if result.holds else 1)


@click.command(cls=Subcommand, epilog="Example: discreet verify plan.toml --draws 1000000")
@click.argument("plan", type=InputFile())
@Batches.options
@Draws.options
@MEMO
@SEALED
@allow_outside
def verify(plan: Path, batches: Batches, drawn: Draws, *, memo: float | None, sealed: str | Path | None) -> None:
    """Recompute the epsilon of PLAN, and check its promise.

    Epsilon is recomputed from the integers of the sampler. The exit code is 1 if the promise is broken.

    --draws tests the promise with reports drawn under the plan. --statement prints what publishing N reports reveals
    about a person. --memo verifies several rounds of permanent reports.
    """
    document = load_plan(plan)
    if sealed is not None:
        check_sealed_files(document, [sealed]).show()
        return
    result, audited = verification(document, batches, memo), drawn.audit(document)
    if audited is not None:
        record = result.record() | {"audit": audited.record()}
        parts, code = chain(result.parts, audited.parts), max(result.code, audited.code)
        result = replace(result, record=lambda: record, parts=parts, code=code)
    result.finish(None, batches.plot, force=batches.force)


def verification(document: Plan, batches: Batches, memo: float | None) -> CommandResult:
    """Return the verification of a plan, with a picture if the publication has one."""
    mechanism = document.mechanism()
    outcome = verified(mechanism)
    again = None if memo is None else verify_memo(Memo(mechanism, memo), _ROUNDS)
    # Under a broken plan, batches have no guarantee either.
    publication = batches.publication(document) if outcome.holds else None
    central = None if publication is None else publication.central
    rounds = () if again is None else _memo_parts(again)
    alike, named = alike_in({"": document.domain})
    record = _verification_record(outcome, mechanism, publication) | named
    record |= {} if again is None else {"memo": _memo_record(again)}
    holds = outcome.holds and (again is None or again.holds)
    return CommandResult(
        lambda: record,
        chain(_verification_parts(outcome, mechanism, publication), rounds, alike),
        picture=None if central is None else central.plot,
        code=0 if holds else 1,
    )


def _memo_record(memo: MemoVerification) -> dict[str, Any]:
    """Return the verification of permanent reports as a dictionary for JSON."""
    ratios = [{"rounds": t, "e_to_epsilon": ratio, "epsilon": logarithm(ratio)} for t, ratio in memo.ratios.items()]
    every = {"e_to_epsilon": memo.ratio, "epsilon": logarithm(memo.ratio), "promised": memo.promised}
    return {"integers": memo.integers, "rounds": ratios, "any_number": every, "holds": memo.holds}


def _memo_parts(memo: MemoVerification) -> Iterator[str | ResultTable]:
    """Yield the table of epsilon by the number of rounds, the verdict, and the sentence on changed answers."""
    rows = [[f"epsilon of {t} round{'s' if t > 1 else ''}", f"{logarithm(r):.17g}"] for t, r in memo.ratios.items()]
    rows += [["epsilon of any number", f"{logarithm(memo.ratio):.17g}"], ["promised", f"{memo.promised:.17g}"]]
    coins = [[name, number] for name, number in memo.integers.items()]
    exact = ["e^epsilon of one round, exactly", f"{memo.ratios[1].numerator} / {memo.ratios[1].denominator}"]
    cells = [*coins, exact, *rows]
    yield ResultTable.of("Permanent reports with a second coin", ["what", "value"], cells)
    yield memo.one.verdict if memo.holds else "THE PROMISE OF THE MEMO IS BROKEN: do not use it."
    yield CHANGES_ARE_VISIBLE


def _verification_record(
    verification: Verification, mechanism: BlockMechanism, publication: "Publication | None"
) -> dict[str, Any]:
    """Return the verification as a dictionary for JSON, without entries that have their usual value."""
    renamed = {"e_to_epsilon": "ratio"}
    names = ("notion", "promised", "realised", "e_to_epsilon", "integers", "from_matrix", "holds")
    record = {"plan": mechanism.fingerprint, **{name: getattr(verification, renamed.get(name, name)) for name in names}}
    more: dict[str, Any] = {
        "publication": None if publication is None else publication.to_dict(),
        "counted": "" if verification.counted == "all" else verification.counted,
        "faults": verification.faults,
        "verdict": "" if verification.notion == "none" else verification.verdict,
    }
    return record | {name: value for name, value in more.items() if value}


def _verification_parts(
    verification: Verification, mechanism: BlockMechanism, publication: "Publication | None"
) -> Iterator[str | ResultTable]:
    """Yield the mechanism, the table of its integers, the verdict, and the statement on shuffled reports."""
    yield f"Plan {mechanism.fingerprint[:12]}: {in_words(mechanism)}.\n{mechanism.guarantee}"
    if verification.notion == "none" or verification.ratio is None:
        yield "Nothing is protected: every value is reported in clear."
        return
    title = f"{verification.notion}: the sampler's own integers"
    yield ResultTable.of(title, ["what", "value"], verification.figures)
    yield from (f"Broken: {fault}" for fault in verification.faults)
    yield verification.verdict
    if publication is not None:
        yield from publication.lines(status=True)


def check_sealed_files(document: Plan, sources: Sequence[Any]) -> CommandResult:
    """Check sealed files, and return the findings. The exit code is 1 if a file is not sealed.

    Args:
        document: the plan of the reports.
        sources: sealed files, and folders with sealed files only.

    Raises:
        DataError: if a file cannot be read.
        MismatchError: if a file belongs to another plan.
    """
    # It imports Arrow, which commands on plans do not need.
    from discreet.formats.sealed_files import UnsealedError, check_sealed
    from discreet.formats.sources import report_files

    mechanism = document.mechanism()
    files: list[SealedFile] = []
    flaw = ""
    try:
        files += [check_sealed(path, mechanism) for path in report_files(sources)]
    except UnsealedError as error:
        flaw = error.sentence()
    result = {"plan": mechanism.fingerprint, "sealed": not flaw, "flaw": flaw or None, "files": files}
    parts = [flaw] if flaw else _sealed_parts(files, mechanism.fingerprint)
    return CommandResult(lambda: result, parts, code=1 if flaw else 0)


def _sealed_parts(files: Sequence["SealedFile"], plan: str) -> Iterator[str]:
    for file in files:
        yield (
            f"{file.path}: {file.n:,} reports of plan {plan[:12]}, sealed: sorted by content, with nothing beside them."
        )
        if not file.compared:
            yield (
                f"Note: its bytes were not compared with the bytes that its reports give, because {file.writer} wrote "
                "it and another version is installed here. Seal the file again to compare them."
            )
        if file.simulated:
            yield SIMULATED_REPORTS
    yield "A sealed file cannot show that each person has one report in it."
