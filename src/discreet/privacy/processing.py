"""Post-processing of reports.

LDP and OSLDP survive any further map. Under ULDP each output is either protected or invertible, so the map must
*preserve data types* [ULDP, on post-processing]: no invertible output is mapped to a protected one, and each invertible
output of the map has exactly one origin, which was invertible too.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, BoolArray, frozen
from discreet.errors import ParameterError
from discreet.mechanisms import Channel
from discreet.mechanisms.given import as_channel
from discreet.privacy.derived import Derived, derive, refuse_large
from discreet.privacy.notions import Notion, exact_ratio, required, smallest_epsilon


@dataclass(frozen=True, slots=True, eq=False)
class DataTypes:
    """The answer to whether a map preserves data types.

    Attributes:
        preserved: whether it does.
        reason: why not, as half a sentence; None if it does.
        protected: ``(|Z|,)`` Z_P, the possible images of protected outputs.
        invertible: ``(|Z|,)`` Z_I, the possible images of invertible outputs only.

    Example:
        >>> types = preserves_data_types([[0.5, 0.5], [0.0, 1.0]], np.array([True, False]))
        >>> types.preserved, types.reason
        (False, 'result 1 can come from a protected and from an invertible output')
    """

    preserved: bool
    reason: str | None
    protected: BoolArray
    invertible: BoolArray


def preserves_data_types(processing: Any, protected: Any, *, invertible: Any = None) -> DataTypes:
    """Return true if a randomized map preserves data types.

    Args:
        processing: the map, a `Channel` or an ``(|Y|, |Z|)`` stochastic matrix.
        protected: ``(|Y|,)`` booleans, Y_P.
        invertible: ``(|Y|,)`` booleans, Y_I; None for all others. Outputs in neither never occur and do not count.

    Raises:
        ParameterError: if these do not fit together.

    Example:
        >>> preserves_data_types([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], np.array([True, False])).preserved
        True
    """
    stage = _as_channel(processing)
    before, telling = _checked_types(protected, invertible, stage.domain.size)
    possible = stage.matrix > 0
    after: BoolArray = np.any(possible[before], axis=0)
    tells = possible[telling].any(axis=0) & ~after
    # Forced: what a protected output can become can only be protected; anything else can only be invertible.
    mixed = np.flatnonzero(possible[telling].any(axis=0) & after)
    merged = np.flatnonzero(tells & (possible[telling].sum(axis=0) > 1))
    reason = None
    if len(mixed):
        reason = f"result {mixed[0]} can come from a protected and from an invertible output"
    elif len(merged):
        reason = f"result {merged[0]} can come from several invertible outputs"
    return DataTypes(reason is None, reason, frozen(after), frozen(tells))


def post_process(channel: Channel, processing: Any, *, notion: Notion = "ULDP") -> Derived:
    """Return a channel followed by a randomized map of its outputs, with the channel's own promise.

    Args:
        channel: Q0.
        processing: Q1, a `Channel` over the outputs or an ``(|Y|, |Z|)`` stochastic matrix.
        notion: to be preserved. LDP and OSLDP survive every map, ULDP those that preserve data types.

    Returns:
        Q1 after Q0, what is protected afterwards, and the epsilon of ``channel``.

    Raises:
        ParameterError: if the channel does not satisfy the notion for any epsilon, or the map does not fit, or does not
            preserve data types.

    Example:
        >>> import discreet as dc
        >>> channel = dc.RandomizedResponse(dc.Domain(["clinic", "court"]), 1.0).channel()
        >>> noisier = post_process(channel, [[0.9, 0.1], [0.1, 0.9]], notion="LDP")
        >>> round(noisier.epsilon, 9), noisier.channel.matrix.round(3).tolist()
        (1.0, [[0.685, 0.315], [0.315, 0.685]])
    """
    found = required(smallest_epsilon(channel, notion), "the channel")
    stage = _as_channel(processing)
    if stage.domain.size != channel.outputs:
        raise ParameterError(f"processing must have a row per output ({channel.outputs}), got {stage.domain.size}.")
    refuse_large(channel.domain.size * channel.outputs * stage.outputs)
    protected: BoolArray = np.any(stage.matrix[found.protected] > 0, axis=0)
    if notion == "ULDP":
        types = preserves_data_types(stage, found.protected, invertible=found.invertible)
        if not types.preserved:
            raise ParameterError(f"processing must preserve data types, but {types.reason}; only OSLDP would be kept.")
        protected = types.protected
    weights: AnyArray = channel.weights.dot(stage.weights)
    return derive(notion, exact_ratio(found), weights, protected, channel.domain)


def _as_channel(processing: Any) -> Channel:
    return as_channel(processing) or Channel(processing)


def _checked_types(protected: Any, invertible: Any, size: int) -> tuple[BoolArray, BoolArray]:
    before: BoolArray = np.asarray(protected)
    if before.shape != (size,) or before.dtype != np.bool_:
        raise ParameterError(f"protected must be ({size},) booleans, one per row of the map.")
    telling: BoolArray = ~before if invertible is None else np.asarray(invertible)
    if telling.shape != (size,) or telling.dtype != np.bool_ or (before & telling).any():
        raise ParameterError(f"invertible must be ({size},) booleans, and no output both protected and invertible.")
    return before, telling
