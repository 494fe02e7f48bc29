"""Simulated devices: frames of marked reports, for load and for the demonstration, drawn many at once."""

from collections.abc import Iterator

import numpy as np

from discreet.arrays import IntArray
from discreet.core.random import SeededRandom, fresh_words
from discreet.device.protocol.collection import Collection, rebuild
from discreet.device.protocol.frames import HEAD_BYTES, ID_BYTES, LARGEST_FRAME, MOST_REPORTS, Frame
from discreet.errors import ParameterError


def frames(
    collection: Collection, codes: IntArray, epoch: int, random: SeededRandom, *, most: int = MOST_REPORTS
) -> Iterator[bytes]:
    """Return an iterator over frames with a report for each code.

    Args:
        collection: a simulated one.
        codes: ``(n,)`` codes of the sampler, one for each device.
        epoch: of all reports.
        random: the source of words.
        most: reports of a frame; at most what frames may hold.

    Raises:
        ParameterError: if the collection is not simulated, or has no such epoch.

    Example:
        >>> import discreet as dc
        >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        >>> from discreet.collector.documents.signing import Terms, sign
        >>> from discreet.device.protocol.collection import Epochs, open_envelope
        >>> from discreet.device.protocol.envelope import public_key
        >>> plan = dc.Plan.of(dc.RandomizedResponse(dc.Domain(["never", "daily"]), epsilon=1.0))
        >>> texts = {"title": "Habits", "purpose": "To know", "contact": "us@example.org"}
        >>> when = {"answers": "once", "epochs": Epochs(1_800_000_000, 3600, 24), "simulated": True}
        >>> terms = Terms(name="habits", **texts, **when, collectors=("https://example.org",), least=60)
        >>> key = Ed25519PrivateKey.generate()
        >>> collection = open_envelope(sign(plan, terms, [key]), [public_key(key)])
        >>> [len(frame) > 100 for frame in frames(collection, [0, 1] * 50, 0, dc.SeededRandom(1))]
        [True]
    """
    if not collection.simulated:
        raise ParameterError("collection.not-simulated")
    if not 0 <= epoch < collection.epochs.count:
        raise ParameterError("epoch.out-of-range", argument="epoch", last=collection.epochs.count - 1, epoch=epoch)
    mechanism, codec = rebuild(collection), collection.sampler.codec
    room = (LARGEST_FRAME - HEAD_BYTES) // (ID_BYTES + codec.width)
    batches = mechanism.obfuscate_batches(codes, size=min(most, MOST_REPORTS, room), random=random)
    return (
        Frame(
            collection.id,
            epoch,
            fresh_words(random, 2 * reports.n).view(np.uint8).reshape(reports.n, ID_BYTES),
            codec.encode(reports),
        ).pack()
        for reports in batches
    )
