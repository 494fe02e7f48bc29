"""Numbers for names of users and events, in the order of first occurrence, a batch at a time."""

from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray, IntArray
from discreet.kernels.traces import numbering


class Vocabulary(Protocol):
    """A table of names and their numbers, 0.. in the order of first occurrence."""

    @property
    def size(self) -> int:
        """Number of different names."""
        ...

    def number(self, column: Any) -> AnyArray:
        """Return the ``(m,)`` int32 numbers of a column, after adding its new names."""
        ...

    def column(self) -> Any:
        """Return the names in the order of their numbers."""
        ...


class TextVocabulary:
    """A table of texts and their numbers: 8 bytes per text for its offset, and about 11 for the search."""

    def __init__(self) -> None:
        self.size = 0
        self._slots = np.full(numbering.SMALLEST, numbering.ABSENT, np.int64)
        self._starts = np.zeros(numbering.FIRST_ROOM + 1, np.int64)
        self._letters = np.empty(numbering.SMALLEST, np.uint8)

    def number(self, column: Any) -> AnyArray:
        """Return the ``(m,)`` int32 numbers of an Arrow column of large strings, or of a dictionary of strings."""
        if not pa.types.is_dictionary(column.type):
            return self._number(column)
        entries, numbers = numbering.number_entries(np.asarray(column.indices), len(column.dictionary))
        return self._number(column.dictionary.take(pa.array(entries)).cast(pa.large_string()))[numbers]

    def _number(self, column: Any) -> AnyArray:
        offsets, letters = _spelled(column)
        numbers, done = np.empty(len(column), np.int32), 0
        while done < len(column):
            known = self._starts, self._letters
            more, self.size = numbering.number_texts(
                (offsets[done:], letters), self._slots, known, self.size, numbers[done:]
            )
            done += more
            if done < len(column):
                self._grow(int(offsets[done + 1] - offsets[done]))
        return numbers

    def _grow(self, text: int) -> None:
        used = int(self._starts[self.size])
        if used + text > len(self._letters):
            self._letters = numbering.widened(self._letters, used, 2 * used + text)
        if self.size == len(self._starts) - 1:
            old, slots = self._slots, 2 * len(self._slots)
            self._starts = numbering.widened(self._starts, self.size + 1, numbering.room(slots) + 1)
            self._slots = np.full(slots, numbering.ABSENT, np.int64)
            numbering.refill_texts(self._slots, old)

    def column(self) -> Any:
        """Return the ``(size,)`` names, in Arrow."""
        offsets = self._starts[: self.size + 1]
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self._letters[: offsets[-1]])]
        return pa.Array.from_buffers(pa.large_string(), self.size, buffers)


def _spelled(column: Any) -> tuple[IntArray, AnyArray]:
    """Return the ``(m + 1,)`` offsets and the bytes of large strings, without a copy."""
    _, offsets, letters = column.buffers()
    if not len(column):
        return np.zeros(1, np.int64), np.empty(0, np.uint8)
    starts = np.frombuffer(offsets, np.int64, len(column) + 1, column.offset * 8)
    return starts, np.empty(0, np.uint8) if letters is None else np.frombuffer(letters, np.uint8)
