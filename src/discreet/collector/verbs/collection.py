"""The verbs ``collection``: keys, signed terms, and statements on sealed batches."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import click

from discreet.cli.commands import SubcommandGroup
from discreet.cli.options import (
    NOT_TRUSTED,
    Count,
    OptionGroup,
    WriteOptions,
    allow_outside,
    allows_outside,
    load_plan,
    option,
)
from discreet.cli.output import InputFile, OutputFile, alike_in, prints_json
from discreet.cli.output import show as print_result
from discreet.collector.documents import signing
from discreet.collector.documents.signing import Terms, new_key, read_key, read_survey_texts, read_texts
from discreet.collector.verbs.parameters import TRUST, length, opened_file, spelled_key, timestamp
from discreet.device.protocol.collection import ANSWERS, WITHDRAWN, Collection, Epochs, open_envelope
from discreet.device.protocol.envelope import public_key, signers
from discreet.device.protocol.languages import BASE
from discreet.device.protocol.notice import notice
from discreet.device.protocol.wording import LANGUAGES
from discreet.errors import ParameterError
from discreet.files.paths import COLLECTION, COLLECTIONS
from discreet.files.writing import check_free, replacing
from discreet.formats.plan import Plan
from discreet.surveys.documents import load as load_document

_DAY = 86400
_EPOCHS = 30

_LISTED = "Public: collectors list it for everybody."
_UNLISTED = "Not public: collectors do not list it, and people need its name to find it. --listed makes it public."


@dataclass(frozen=True, slots=True)
class _Terms(OptionGroup):
    """Terms as they are given on the command line; None, or nothing, for an option that is missing."""

    title: str | None = option("--title", help="Title that people read. [the plan's]")
    purpose: str | None = option("--purpose", help="Purpose that people read.")
    contact: str | None = option("--contact", help="Contact that people read.")
    answers: str | None = option(
        "--answers", type=click.Choice(ANSWERS), help="Answer once, in each epoch (fresh), or permanently."
    )
    start: int | None = option(
        "--start", type=timestamp, metavar="TIME", help="Start of the first epoch, such as 2027-01-31 (UTC). [now]"
    )
    epoch: int | None = option("--epoch", type=length, help="Length of an epoch, such as 12h or 1d. [1d]")
    epochs: int | None = option("--epochs", type=Count(1), help=f"Number of epochs. [{_EPOCHS}]")
    lifetime: float | None = option(
        "--lifetime", type=float, help="Largest epsilon of a person under this name. [sum of all epochs]"
    )
    late: int | None = option("--late", type=length, help="How long reports may come after their epoch. [one epoch]")
    spread: int | None = option("--spread", type=length, help="Largest random delay before a report is sent. [0]")
    least: int | None = option("--least", type=Count(1), help="Smallest number of reports for an estimate. [100]")
    retention: int | None = option("--retention", type=Count(1), help="Days until sealed reports are deleted. [30]")
    collectors: tuple[str, ...] = option(
        "--collector", multiple=True, help="Address that devices send to. May be repeated."
    )
    memo: float | None = option(
        "--memo",
        type=float,
        metavar="EPSILON",
        help="For permanent answers: epsilon of all reports on one answer, in nats. [none]",
    )
    people: int | None = option("--people", type=Count(1), help="For permanent answers: expected number of devices.")
    linkable: bool = option(
        "--linkable", is_flag=True, help="Allow permanent reports that can identify devices. People read this."
    )
    listed: bool | None = option(
        "--listed/--unlisted", default=None, help="List this collection publicly. [default: unlisted]"
    )
    texts: Path | None = option(
        "--texts", type=InputFile(), help="TOML file with a question, and tables such as [languages.de]. [none]"
    )

    @property
    def _terms(self) -> dict[str, Any]:
        """The terms by name; the terms of the file of texts replace the file's name."""
        terms = asdict(self)
        texts = terms.pop("texts")
        return terms if texts is None else {**terms, **read_texts(texts)}

    def first(self, title: str, name: str, *, simulated: bool) -> Terms:
        """Return the terms of a new collection.

        Raises:
            ParameterError: if people would not be told who asks what and how.
        """
        terms: dict[str, Any] = {**self._terms, "title": self.title or title}
        lacking = [term for term in ("title", "purpose", "contact", "answers", "collectors") if not terms[term]]
        if lacking:
            options = ", ".join(f"--{term.removesuffix('s') if term == 'collectors' else term}" for term in lacking)
            raise ParameterError("terms.missing", options=options)
        start = int(time.time()) if self.start is None else self.start
        epochs = Epochs(start, self.epoch or _DAY, self.epochs or _EPOCHS)
        plain = {
            term: part for term, part in terms.items() if term not in {"start", "epoch", "epochs"} and part is not None
        }
        return Terms(name=name, simulated=simulated, epochs=epochs, **plain)

    def changes(self, before: Collection) -> dict[str, Any]:
        """Return the terms that were given, by the names that they have in `Terms`."""
        # A flag that is not there changes nothing; --unlisted does. A delay of 0 is a delay.
        present = {term: part for term, part in self._terms.items() if part is not None and part != ()}
        terms = {term: part for term, part in present.items() if part is not False or term == "listed"}
        parts = {
            "start": terms.pop("start", None),
            "seconds": terms.pop("epoch", None),
            "count": terms.pop("epochs", None),
        }
        changed: dict[str, Any] = {term: part for term, part in parts.items() if part is not None}
        return {**terms, "epochs": replace(before.epochs, **changed)} if changed else terms


@dataclass(frozen=True, slots=True)
class _Signing(WriteOptions):
    """The keys that sign, and the file of the signed collection."""

    keys: tuple[Path, ...] = option(
        "--key", required=True, multiple=True, type=InputFile(), help="File of a private key. May be repeated."
    )
    output: Path = option(
        "-o",
        "--output",
        required=True,
        type=OutputFile("collections", COLLECTIONS),
        help="File for the signed collection: .json.",
    )

    @property
    def private(self) -> list[Any]:
        """The private keys."""
        return list(map(read_key, self.keys))

    @property
    def public(self) -> list[bytes]:
        """The public keys of them."""
        return list(map(public_key, self.private))

    def write(self, envelope: bytes) -> None:
        """Write the signed collection, and print it; it is refused if nobody could answer."""
        print_result(*self._written(envelope, self.output), whole=True)

    def write_survey(self, envelopes: Sequence[bytes]) -> None:
        """Write the collections of a survey, each to a file with its number in the name, and print them."""
        names = [f"{self.output.stem}-{number}{self.output.suffix}" for number, _ in enumerate(envelopes, 1)]
        places = [self.output.with_name(name) for name in names]
        for place in places:
            check_free(place, force=self.force)
        shown = [self._written(*pair) for pair in zip(envelopes, places, strict=True)]
        lines = [line for number, (_, lines) in enumerate(shown) for line in ([""] if number else []) + lines]
        print_result({"collections": [facts for facts, _ in shown]}, lines, whole=True)

    def _written(self, envelope: bytes, output: Path) -> tuple[dict[str, Any], list[str]]:
        collection = open_envelope(envelope, self.public)
        if collection.state == "open" and collection.epochs.end <= time.time():
            raise ParameterError("epochs.over", argument="epochs")
        with replacing(output, force=self.force) as target:
            target.write_bytes(envelope)
        facts, lines = _shown(collection, trusted=True, output=output)
        asked = {} if collection.state == WITHDRAWN else {"": signing.plan_of(collection).domain}
        alike, named = alike_in(asked)
        return facts | named, [*lines, *alike]


def _other_terms(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of terms to a verb; a term without an option stays as it was."""
    decorated: Any = _Terms.options(verb)
    for term in decorated.__click_params__[-len(fields(_Terms)) :]:
        term.help = f"{term.help.partition(' [')[0]} [the same]"
    return decorated  # type: ignore[no-any-return]


@click.group(cls=SubcommandGroup)
def collection() -> None:
    """Sign a plan with its terms; show, renew or withdraw it."""


@collection.command(epilog="Example: discreet collection key new key.pem")
@click.argument("action", type=click.Choice(["new", "show"]))
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def key(action: str, file: Path) -> None:
    """Make a private key in FILE, or show its public key.

    FILE is in the format PEM, and only its owner may read it.

    Applications trust the public key. The owner of the private key may ask their users.
    """
    public = spelled_key(new_key(file) if action == "new" else public_key(read_key(file)))
    facts = {"file": str(file), "public_key": public}
    if not prints_json():
        click.echo("Public key, for devices to trust:", err=True)
    print_result(facts, [public], whole=True)


@collection.command(epilog="Example: discreet collection sign plan.toml --name habits --key key.pem -o habits.json")
@click.argument("plan", type=InputFile())
@click.option("--name", required=True, help="Name of the collection: a-z, 0-9 and -.")
@_Terms.options
@click.option("--simulated", is_flag=True, help="For a simulation: only simulated devices can answer.")
@_Signing.options
@allow_outside
def sign(plan: Path, stated: _Terms, by: _Signing, *, name: str, simulated: bool) -> None:
    """Sign PLAN with its terms, and print what people will read.

    PLAN may be a survey. Each question gets a collection and a file, named NAME-1 and so on. --texts then has tables
    such as [questions.age].

    The command refuses a plan that protects nobody or breaks its promise, epochs of less than a minute, and more than
    8 nats in all without --lifetime. It refuses permanent answers that could identify a device, without --linkable.
    """
    document = load_document(plan, allow_outside=allows_outside())
    if isinstance(document, Plan):
        first = stated.first(document.document.title, name, simulated=simulated)
        by.write(signing.sign(document, first, by.private))
        return
    # Texts of a survey belong to its questions, and what language they are in to all of them.
    texts = {} if stated.texts is None else read_survey_texts(stated.texts)
    epochs = stated.epochs or (None if document.document.rounds is None else document.document.rounds.number)
    plain = replace(stated, texts=None, epochs=epochs).first(document.document.title, name, simulated=simulated)
    asked = {question: {part: text[part] for part in text if part != "language"} for question, text in texts.items()}
    language = next((text["language"] for text in texts.values()), BASE)
    by.write_survey(signing.sign_survey(document, replace(plain, language=language), by.private, asked))


@collection.command(epilog="Example: discreet collection show habits.json")
@click.argument("file", type=InputFile())
@TRUST
@click.option("--language", default=BASE, type=click.Choice(LANGUAGES), help="Language of the text. [en]")
def show(file: Path, *, trust: tuple[bytes, ...], language: str) -> None:
    """Check a collection, and print what people will read.

    FILE is a signed collection.

    Without --trust, the keys in the file are used. They do not prove who signed it.
    """
    collection = opened_file(file, trust)
    print_result(*_shown(collection, trusted=bool(trust), language=language), whole=True)


@collection.command(epilog="Example: discreet collection statement collector-data/sealed/habits/v1")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@TRUST
@click.option("--not-trusted", **NOT_TRUSTED)
def statement(folder: Path, *, trust: tuple[bytes, ...], not_trusted: int) -> None:
    """Print what publishing the reports in FOLDER reveals.

    FOLDER is a folder of sealed reports of a collector. The statement is about one person, and covers estimates too.

    All batches that were ever sealed are counted. The signed terms in FOLDER say how often a person answers.
    """
    # Which reads tallies; other verbs here do without.
    from discreet.collector.documents.publications import folder_publication

    collection = opened_file(folder / COLLECTION, trust)
    publication = replace(folder_publication(folder, collection), not_trusted=not_trusted)
    names = {"collection": collection.name, "version": collection.version, "id": collection.id.hex()}
    print_result({**names, "publication": publication.to_dict()}, filter(None, publication.lines()))


@collection.command(epilog="Example: discreet collection renew habits.json --epochs 60 --key key.pem -o habits-2.json")
@click.argument("file", type=InputFile())
@click.option("--plan", type=InputFile(), help="File of another plan. [the same plan]")
@_other_terms
@TRUST
@_Signing.options
@allow_outside
def renew(file: Path, stated: _Terms, by: _Signing, *, plan: Path | None, trust: tuple[bytes, ...]) -> None:
    """Sign the next version of the collection in FILE.

    The options that you give replace earlier terms.

    The privacy budget that people spent under this name stays spent.
    """
    before = opened_file(file, (*trust, *by.public), is_known=True)
    another = None if plan is None else load_plan(plan)
    renewed = signing.renew(before.envelope, by.private, trust=trust, plan=another, **stated.changes(before))
    by.write(renewed)


@collection.command(epilog="Example: discreet collection withdraw habits.json --key key.pem -o withdrawn.json")
@click.argument("file", type=InputFile())
@TRUST
@_Signing.options
def withdraw(file: Path, by: _Signing, *, trust: tuple[bytes, ...]) -> None:
    """Sign the notice that a collection is withdrawn.

    Devices then stop answering, and erase their data on the collection in FILE.
    """
    before = opened_file(file, (*trust, *by.public), is_known=True)
    by.write(signing.withdraw(before.envelope, by.private, trust=trust))


def _shown(
    collection: Collection, *, trusted: bool, output: Path | None = None, language: str = BASE
) -> tuple[dict[str, Any], list[str]]:
    """Return the facts of a collection, and the lines that people read."""
    read = notice(collection, language)
    keys = [spelled_key(key) for key in signers(collection.envelope)]
    names = ("name", "version", "state", "listed", "answers", "epsilon", "lifetime", "fingerprint")
    facts: dict[str, Any] = {name: getattr(collection, name) for name in names} | {
        "id": collection.id.hex(),
        "keys": keys,
        "trusted": trusted,
        "realised": collection.sampler.realised,
        "record_bytes": collection.sampler.codec.width,
        "notice": list(read),
    }
    lines = [
        *read,
        f"Version {collection.version} of {collection.name}, id {collection.id.hex()}; a report has "
        f"{facts['record_bytes']} bytes.",
        _LISTED if collection.listed else _UNLISTED,
        f"Signed with {', '.join(keys)}" + ("." if trusted else "; whose keys these are was not checked (--trust)."),
    ]
    if output is not None:
        facts["output"] = str(output)
        lines.append(f"Wrote {output}.")
    return facts, lines
