"""The owner of a collector's data: one process at a time, a server or a verb, reads and writes all of it.

It knows the collections, their mechanisms, epochs and closed epochs. It has the tokens, which are printed once and
stored as hashes. It counts the rates of requests, and stores no addresses.

An epoch ends by the system's clock. A clock that jumps ahead would close epochs for good. So a jump is doubted for ten
minutes. A jump is a difference to the time since the machine's start, a collector that comes back after more than an
hour, or a clock behind the last time in the database. While the clock is doubted, late devices are asked to send again,
and nothing is sealed automatically. Afterwards the clock is believed.
"""

import hashlib
import hmac
import ipaddress
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from threading import Lock, RLock
from types import TracebackType
from typing import Any, Self

from discreet.collector.intake import LATE, WITHDRAWN, OpenCollection
from discreet.collector.storage.folder import DataFolder, synchronize
from discreet.collector.storage.inboxes import At, Inboxes
from discreet.collector.storage.store import (
    CollectionRow,
    SealRow,
    Store,
    TokenRow,
)
from discreet.collector.working import Workers
from discreet.device.protocol.collection import OPEN
from discreet.errors import DiscreetError, ParameterError

_STEP_SECONDS = 60.0
_AWAY_SECONDS = 3600.0
DOUBT_SECONDS = 600.0
"""How long a clock that jumped ahead is doubted."""


def _passed() -> float:
    """Return seconds since the start of the machine, those in which it slept among them where it counts them."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class Clock:
    """The clock.

    Args:
        seen: the time at which a collector of these data was last there, in Unix seconds; None if there was none.
        clock: of Unix seconds.
        passed: seconds that pass evenly, from any beginning.
    """

    def __init__(
        self,
        seen: float | None = None,
        *,
        clock: Callable[[], float] = time.time,
        passed: Callable[[], float] = _passed,
    ) -> None:
        self.now, self._passed = clock, passed
        self._last = clock(), passed()
        away = 0.0 if seen is None else self._last[0] - seen
        # How far it jumped, and until when that is doubted. It is behind the time that was seen, or was away for long.
        is_doubted = away > _AWAY_SECONDS or away < -_STEP_SECONDS
        self._jumped, self._until = (away, self._last[1] + DOUBT_SECONDS) if is_doubted else (0.0, 0.0)

    @property
    def doubted(self) -> bool:
        """The doubt in a clock that jumped a short while ago."""
        return self._jumped != 0 and self._passed() < self._until

    def look(self) -> float:
        """Return the jump of the clock since the last look, in seconds; to be called every second or so."""
        (before, passed), self._last = self._last, (self.now(), self._passed())
        step = self._last[0] - before - (self._last[1] - passed)
        if abs(step) <= _STEP_SECONDS:
            return 0.0
        # Back again as far as it jumped: nothing is left to be doubted.
        self._jumped = self._jumped + step if self.doubted else max(step, 0.0)
        if abs(self._jumped) <= _STEP_SECONDS:
            self._jumped = 0.0
        elif step > 0:
            self._until = self._last[1] + DOUBT_SECONDS
        return step


REFUSED = "refused"
DOUBTED = "clock"
"""In place of ``late``, while the clock that says so is doubted."""


@dataclass(frozen=True, slots=True, eq=False)
class Entry(OpenCollection):
    """A collection of a collector.

    Attributes:
        row: as it is kept.
    """

    row: CollectionRow

    @classmethod
    def of_row(cls, row: CollectionRow) -> "Entry":
        """Open a collection and rebuild its mechanism; all checks of its signature and its numbers are made again."""
        opened = OpenCollection.of(row.envelope, row.trust)
        return cls(opened.collection, opened.mechanism, opened.codec, row)

    @property
    def key(self) -> int:
        """The number in the store."""
        return self.row.key


class Catalogue:
    """The collections of a store, by id and by name. Loaded by one thread at a time, read by all.

    Args:
        clock: by which epochs end.

    Attributes:
        by_id: all that pass every check of a device.
        newest: of each name the newest version, if it passes.
        refused: sentences on collections that fail the checks, as after an update; their reports are left alone.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.by_id: dict[bytes, Entry] = {}
        self.refused: dict[bytes, str] = {}
        self.newest: dict[str, Entry] = {}
        self._closed: set[tuple[int, int]] = set()

    def load(self, store: Store) -> None:
        """Take over what the store holds now; collections that were known are not opened again."""
        rows = store.collections()
        by_id: dict[bytes, Entry] = {}
        refused: dict[bytes, str] = {}
        for row in rows:
            try:
                known = self.by_id.get(row.id)
                by_id[row.id] = known if known is not None and known.row == row else Entry.of_row(row)
            except DiscreetError as error:
                refused[row.id] = f"{row.name} version {row.version}: {error.sentence()}"
        # By rows: where the newest version is refused, an older one does not come back to life.
        highest = {row.name: row.id for row in sorted(rows, key=lambda row: row.version)}
        # Each is replaced as a whole, so that no reader sees half of it.
        self._closed, self.refused = store.closed(), refused
        self.newest = {name: by_id[which] for name, which in highest.items() if which in by_id}
        self.by_id = by_id

    def is_closed(self, entry: Entry, epoch: int) -> bool:
        """Return true if an epoch was closed, before its time or after it."""
        return (entry.key, epoch) in self._closed

    def obstacle(self, entry: Entry, epoch: int, now: float) -> str | None:
        """Return why no reports of an epoch are taken now: early, late, withdrawn, clock, refused; None if they are."""
        newest = self.newest.get(entry.row.name)
        if newest is None:
            return REFUSED
        if newest.row.state != OPEN:
            return WITHDRAWN
        if self.is_closed(entry, epoch):
            return LATE
        why = entry.when(epoch, now)
        return DOUBTED if why == LATE and self.clock.doubted and epoch < entry.collection.epochs.count else why


_KEY_SECONDS = 3600
_MOST = 100_000


class Rates:
    """Buckets of tokens in memory, under a hash of the address whose key is made anew every hour and stored nowhere.

    Only the first 64 bits of an IPv6 address count, because one household has all addresses behind them.

    Args:
        rate: requests per second that one address may make in the long run; 0 for any number.
        burst: how many at once.
        clock: of seconds.
    """

    def __init__(self, rate: float, burst: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._key, self._made = secrets.token_bytes(16), clock()
        self._buckets: dict[bytes, tuple[float, float]] = {}

    def mark(self, address: str) -> bytes:
        """Return the stand-in of an address during this hour."""
        now = self._clock()
        if now - self._made >= _KEY_SECONDS or len(self._buckets) >= _MOST:
            self._key, self._made = secrets.token_bytes(16), now
            self._buckets.clear()
        return hashlib.blake2b(_place(address).encode(), key=self._key, digest_size=12).digest()

    def allows(self, address: str) -> bool:
        """Count a request of an address, and return true if it may be made."""
        if not self._rate:
            return True
        mark, now = self.mark(address), self._clock()
        left, last = self._buckets.get(mark, (self._burst, now))
        left = min(left + (now - last) * self._rate, self._burst)
        self._buckets[mark] = (left - 1 if left >= 1 else left), now
        return left >= 1


def _place(address: str) -> str:
    """Return the address of IPv4, also where it is written as one of IPv6, or the network of one of IPv6."""
    if ":" not in address:
        return address
    try:
        parsed = ipaddress.IPv6Address(address)
    except ValueError:
        return address
    return str(parsed.ipv4_mapped or f"{int(parsed) >> 64:x}::/64")


ANALYST, OPERATOR = "analyst", "operator"
_START = "dsc_"
_TRIES, _TRY_SECONDS = 5, 60


class TooManyTriesError(Exception):
    """An address has tried too many tokens that are none."""


def new_token(store: Store, name: str, role: str, *, days: int | None, actor: str) -> str:
    """Make a token, keep its hash, and return it: it is shown this once.

    Raises:
        ParameterError: if one of this name is in use.
    """
    if not name or len(name) > 64 or not name.isprintable():
        raise ParameterError("token.wrong-name", argument="name")
    token, now = _START + secrets.token_urlsafe(32), int(time.time())
    with store.transaction():
        if any(row.name == name and row.is_good(now) for row in store.tokens()):
            raise ParameterError("token.name-in-use", argument="name", name=name)
        ends = None if days is None else now + days * 86400
        store.add_token(TokenRow(name, role, _hash(token), now, ends))
        store.note(now, actor, "token added", f"{name} ({role})")
    return token


def end_token(store: Store, name: str, *, actor: str) -> None:
    """End a token.

    Raises:
        ParameterError: if none of this name is in use.
    """
    now = int(time.time())
    with store.transaction():
        if not store.end_token(name, now):
            raise ParameterError("token.unknown", argument="name", name=name)
        store.note(now, actor, "token ended", name)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


class Tokens:
    """The tokens in use, as requests are checked against them.

    Args:
        clock: of seconds, for tries.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rows: tuple[TokenRow, ...] = ()
        self._failures = Rates(_TRIES / _TRY_SECONDS, _TRIES, clock=clock)

    def load(self, rows: Iterable[TokenRow]) -> None:
        """Take over what the store holds now."""
        self._rows = tuple(rows)

    def holder(self, token: str, address: str) -> TokenRow | None:
        """Return the holder of a token; None if the token is not in use.

        Raises:
            TooManyTriesError: if the token is wrong, and five others from this address were wrong within a minute. A
                good token always works: behind a proxy all requests have one address, and nobody can lock out others.
        """
        digest, now = _hash(token), time.time()
        holder = None
        for row in self._rows:
            # All are compared, each in constant time.
            if hmac.compare_digest(row.digest, digest) and row.is_good(now):
                holder = row
        if holder is None and not self._failures.allows(address):
            raise TooManyTriesError
        return holder


_MOST_REASONS = 10_000


class Keeper:
    """A collector's data in the hands of this process, which holds their folder until they are closed.

    What an earlier owner left half done when it was killed is done first: see docs/reference/collector.md.

    Args:
        folder: of the data.
        workers: processes for long work; None to do it in this one.

    Attributes:
        folder: of the data.
        store: the database of everything except reports.
        inboxes: reports that are not sealed yet.
        catalogue: the collections.
        tokens: in use.
        clock: by which epochs end.
        upkeep: held by whoever seals, deletes or copies: one at a time.
        few: reports that wait in batches of fewer different ones than their collection wants, by collection and epochs.

    Raises:
        HeldError: if another process holds the folder.
        FailedStoreError: if the database cannot be opened.
        DataError: if it is damaged, or a collection in it does not pass the checks any more.
        ParameterError: if it is of a newer discreet.
    """

    def __init__(self, folder: DataFolder, *, workers: Workers | None = None) -> None:
        self.folder, self._workers = folder, workers
        self.few: dict[tuple[int, tuple[int, ...]], int] = {}
        self._refused: Counter[tuple[int | None, int, str]] = Counter()
        self._counting = Lock()
        self._widths: dict[int, int] = {}
        if folder.is_full:
            # The database needs room to be opened.
            folder.reserve.unlink(missing_ok=True)
        with ExitStack() as opened:
            self.store = opened.enter_context(closing(self._store(opened)))
            self.upkeep, self.clock = RLock(), Clock(self.store.clock_seen())
            self.catalogue, self.tokens = Catalogue(self.clock), Tokens()
            self._load()
            self.inboxes = Inboxes(folder.inbox, self._widths)
            opened.callback(self.inboxes.close)
            self._tell_cuts()
            for name in set(self.store.purges().values()):
                self.end_purge(name)
            self.tidy()
            folder.set_aside()
            self._opened = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _store(self, opened: ExitStack) -> Store:
        """Return the store; this process is the owner of the folder from now on."""
        opened.enter_context(self.folder.serving())
        with self.folder.sealing():
            # A worker may outlive the collector that it seals for.
            pass
        return Store(self.folder.database)

    def _tell_cuts(self) -> None:
        """Note in the audit how much was cut off torn files of reports; none of it was acknowledged."""
        if self.inboxes.cuts:
            with self.store.transaction():
                for name, size in self.inboxes.cuts.items():
                    self.store.note(int(time.time()), "collector", "cut", f"inbox/{name}: {size} torn bytes")

    def close(self) -> None:
        """Let go of the folder; nothing the second time."""
        self._opened.close()

    def load(self) -> None:
        """Read collections and tokens from the database; they hold from the next frame on."""
        with self.inboxes.turn:
            self._load()

    def _load(self) -> None:
        self.catalogue.load(self.store)
        self.tokens.load(self.store.tokens())
        self._widths.update((entry.key, entry.width) for entry in self.catalogue.by_id.values())

    def entry(self, name: str, version: int | None = None) -> Entry:
        """Return a collection.

        Raises:
            ParameterError: if no collection has this name or version.
        """
        entries = [entry for entry in self.catalogue.by_id.values() if entry.row.name == name]
        entries = [entry for entry in entries if version in {None, entry.row.version}]
        if not entries:
            which = f" in version {version}" if version else ""
            raise ParameterError("collection.unknown", argument="name", name=name, version=which)
        return max(entries, key=lambda entry: entry.row.version)

    def refuse(self, key: int | None, epoch: int, reason: str) -> None:
        """Count a refusal; it is written with the next look of the housekeeping."""
        with self._counting:
            if len(self._refused) < _MOST_REASONS:
                self._refused[key, epoch, reason] += 1

    def write_counts(self, now: float) -> None:
        """Write the counts of refusals, and that the collector was there at this time.

        Raises:
            FailedStoreError: if they cannot be; they are written the next time.
        """
        with self._counting:
            refused, self._refused = self._refused, Counter()
        try:
            with self.store.transaction():
                self.store.count_refusals(refused)
                self.store.see_clock(int(now))
        except BaseException:
            with self._counting:
                self._refused += refused
            raise

    @property
    def refusals_wait(self) -> bool:
        """The presence of refusals that are counted and not written yet."""
        return bool(self._refused)

    def refusals(self) -> Mapping[tuple[int | None, int, str], int]:
        """Return the counts of refusals by collection, epoch and reason, those that are not written yet among them."""
        with self._counting:
            return Counter(self.store.refusals()) + self._refused

    def pending(self) -> dict[At, int]:
        """Return the number of reports of each epoch that is not sealed, those that were sent again among them."""
        return {at: n for at, n in self.inboxes.waiting().items() if n}

    def waiting(self, entry: Entry) -> dict[int, int]:
        """Return the number of reports of each epoch of a collection that is not sealed, in order; see `pending`."""
        return {epoch: n for (key, epoch), n in sorted(self.pending().items()) if key == entry.key}

    def seals(self, entry: Entry) -> list[SealRow]:
        """Return the seals of a collection, by epoch."""
        return [seal for seal in self.store.seals() if seal.collection == entry.key]

    def reasons(self, entry: Entry | None = None) -> dict[str, int]:
        """Return the counts of refusals by reason, of a collection or of all."""
        counts = Counter[str]()
        for (key, _, reason), count in self.refusals().items():
            counts[reason] += count if entry is None or key == entry.key else 0
        return dict(+counts)

    def work(self, job: Callable[..., Any], *args: Any) -> Any:
        """Do long work, in a process of its own where there are any.

        Raises:
            DiscreetError: if it fails.
        """
        return job(*args) if self._workers is None else self._workers.run(job, *args)

    @contextmanager
    def room(self) -> Iterator[None]:
        """Release the reserve of a full disk within the body; no reports are taken meanwhile, which would fill it."""
        if not self.folder.is_full:
            yield
            return
        with self.inboxes.turn:
            self.inboxes.is_paused = True
            self.folder.reserve.unlink(missing_ok=True)
        try:
            yield
        finally:
            self.folder.set_aside()
            self.inboxes.is_paused = False

    def tidy(self) -> None:
        """Delete the reports of sealed batches: of those that were sealed just now, or before a crash."""
        seals = self.store.seals()
        for at in self.inboxes.waiting():
            if any(covers(seal, at) for seal in seals):
                self.inboxes.remove(at)

    def purge(self, name: str, actor: str) -> dict[str, int]:
        """Delete all versions of a collection, with their reports and files; return how many of what there were.

        Raises:
            ParameterError: if no collection has this name, or its files cannot be deleted.
        """
        with self.upkeep:
            keys = {row.key for row in self.store.collections() if row.name == name}
            if not keys and name not in self.store.purges().values():
                raise ParameterError("collection.unknown", argument="name", name=name, version="")
            waiting = sum(n for (key, _), n in self.pending().items() if key in keys)
            sealed = sum(seal.n for seal in self.store.seals() if seal.collection in keys)
            gone = {"versions": len(keys), "reports": waiting, "sealed": sealed}
            with self.inboxes.turn:
                if keys:
                    with self.store.transaction():
                        for key in keys:
                            self.store.remove_collection(key, name)
                        detail = ", ".join(f"{count} {what}" for what, count in gone.items())
                        self.store.note(int(time.time()), actor, "purged", f"{name}: {detail}")
                self._load()
                with self._counting:
                    left = {key: count for key, count in self._refused.items() if key[0] not in keys}
                    self._refused = Counter(left)
            self.end_purge(name)
        return gone

    def end_purge(self, name: str) -> None:
        """Unlink the reports and files of a deleted collection, when no process seals any more.

        Raises:
            ParameterError: if they cannot be; it is tried again with the next start, or `purge`.
        """
        keys = {key for key, of in self.store.purges().items() if of == name}
        files = self.folder.sealed / name
        try:
            with self.folder.sealing():
                for at in self.inboxes.waiting():
                    if at[0] in keys:
                        self.inboxes.remove(at)
                self.inboxes.forget_strangers(keys)
                if files.exists():
                    shutil.rmtree(files)
                    synchronize(files.parent)
        except OSError as error:
            raise ParameterError("files.not-deleted", name=name, path=self.folder.path, reason=error.strerror) from None
        with self.store.transaction():
            self.store.end_purge(name)


def covers(seal: SealRow, at: At) -> bool:
    """Return true if a sealed batch holds the reports of an epoch."""
    return seal.collection == at[0] and at[1] in epochs_of(seal)


def epochs_of(seal: SealRow) -> range:
    """Return the epochs whose reports were sealed as one batch."""
    return range(seal.epoch, seal.last + 1)
