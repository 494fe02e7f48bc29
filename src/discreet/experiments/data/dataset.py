"""What is to be said of every data set, whatever it holds."""

from typing import Protocol


class Dataset(Protocol):
    """A data set of the experiments: a population, traces, or scores."""

    @property
    def name(self) -> str:
        """Short, for files and tables."""
        ...

    @property
    def title(self) -> str:
        """For people."""
        ...

    @property
    def credit(self) -> str:
        """Where the data come from."""
        ...

    @property
    def cuts(self) -> tuple[str, ...]:
        """How they were prepared; one sentence each."""
        ...

    @property
    def differs(self) -> tuple[str, ...]:
        """How this differs from what the paper used; empty if it does not."""
        ...

    @property
    def facts(self) -> str:
        """How large it is, in a few words."""
        ...

    @property
    def fingerprint(self) -> str:
        """Digest of the data."""
        ...
