"""The verb ``collection simulate``: frames of many simulated devices, sent or written to a folder."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import click

from discreet.cli.commands import Subcommand
from discreet.cli.options import Count, OptionGroup, PeopleColumns, option
from discreet.cli.output import InputFile, OutputFolder, notes_on_errors, read_as_record, read_as_table, show
from discreet.collector.verbs.parameters import opened_file
from discreet.device.protocol.collection import Collection
from discreet.errors import DataError, ParameterError
from discreet.files.writing import replacing


@dataclass(frozen=True, slots=True)
class _Crowd(OptionGroup):
    """The simulated devices and their epoch."""

    devices: int | None = option(
        "--devices", type=Count(1), help="Number of devices, each with a random row. [one for each row]"
    )
    epoch: int | None = option("--epoch", type=Count(0), help="Epoch of the reports. [the current one]")
    seed: int = option("--seed", type=int, default=1, help="Seed. The same seed gives the same frames.")


@click.command(cls=Subcommand, epilog="Example: discreet collection simulate habits.json people.csv -o frames")
@click.argument("file", type=InputFile())
@click.argument("values", type=InputFile())
@_Crowd.options
@PeopleColumns.options
@click.option(
    "-o", "--output", type=OutputFolder(), help="Write the frames into this new folder instead of sending them."
)
def simulate(file: Path, values: Path, crowd: _Crowd, people: PeopleColumns, *, output: Path | None) -> None:
    """Draw and send reports of many simulated devices.

    FILE is a simulated collection. VALUES is a table with a row per person.

    The reports come from a seed and are marked as simulated. They protect nobody.
    """
    # The other verbs of collections need none of this.
    from discreet.cli.verbs.obfuscate import secrets, value_columns, value_source
    from discreet.collector.documents.signing import plan_of
    from discreet.collector.simulated_devices import chosen, frames
    from discreet.core.random import SeededRandom, fresh_words
    from discreet.engines.obfuscation import codes_of
    from discreet.tables.values import ReadAs

    collection, random, epoch = opened_file(file, ()), SeededRandom(crowd.seed), crowd.epoch
    if epoch is None and (epoch := collection.epoch_at(time.time())) is None:
        raise ParameterError("epoch.none-now", argument="epoch")
    plan = plan_of(collection)
    columns, read_as = value_columns(plan, people), ReadAs()
    with notes_on_errors():
        codes = codes_of(
            value_source(values), replace(columns, placeholders=secrets(plan, people.tags, columns)), read_as
        )
    drawn = codes if crowd.devices is None else chosen(codes, crowd.devices, random)
    if collection.survey is not None:
        # With the same seed, each person answers their own questions of all its collections.
        drawn = drawn[collection.survey.asked(collection.name, fresh_words(random, len(drawn)))]
    packed = frames(collection, drawn, epoch, random)
    count = _post_frames(collection, packed) if output is None else _write_frames(output, packed)
    where = ", ".join(collection.collectors) if output is None else str(output)
    facts = {"devices": len(drawn), "epoch": epoch, "frames": count, "to": where, "simulated": True}
    lines = [f"{len(drawn)} simulated reports of epoch {epoch} in {count} frames to {where}."]
    show(facts | read_as_record(read_as), [*read_as_table(read_as), *lines], whole=True)


def _post_frames(collection: Collection, packed: Iterable[bytes]) -> int:
    from discreet.device.sending import post

    count = 0
    for frame in packed:
        for _ in range(10):
            reply = post(collection.collectors[0], frame)
            if reply.is_taken or reply.is_final:
                break
            time.sleep(max(reply.retry_after, 0.5))
        if not reply.is_taken:
            raise DataError("frame.not-taken", n=count, reply=reply.status or "nothing")
        count += 1
    return count


def _write_frames(folder: Path, packed: Iterable[bytes]) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for frame in packed:
        with replacing(folder / f"frame-{count:06}.bin") as target:
            target.write_bytes(frame)
        count += 1
    return count
