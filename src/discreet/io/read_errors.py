"""Errors of reading: what libraries raise about a damaged file, as one sentence."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from discreet.errors import DataError, DiscreetError
from discreet.io.endings import BROKEN
from discreet.io.piped import Source


@contextmanager
def readable(path: Source) -> Iterator[None]:
    """Turn errors of libraries about a damaged file, or about standard input, into one sentence."""
    try:
        yield
    except DiscreetError as error:
        # Inside another one it names the source already.
        named = str(error).startswith((f"{path}: ", f"{path} "))
        raise type(error)(str(error) if named else f"{path}: {error}") from None
    except FileNotFoundError:
        raise DataError(f"{path} does not exist.") from None
    except (pa.ArrowException, OSError, UnicodeDecodeError, *BROKEN) as error:
        raise DataError(
            f"{path} cannot be read ({type(error).__name__}); it may be truncated or of another format."
        ) from None
