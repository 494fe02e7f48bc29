"""The protocol of data sets: names, credit, preparation, size and a digest."""

from typing import Protocol


class Dataset(Protocol):
    """A data set of the experiments: a population, traces, or scores."""

    @property
    def name(self) -> str:
        """The short name, for files and tables."""
        ...

    @property
    def title(self) -> str:
        """The title, for people."""
        ...

    @property
    def credit(self) -> str:
        """The source of the data."""
        ...

    @property
    def cuts(self) -> tuple[str, ...]:
        """The steps of preparation; one sentence each."""
        ...

    @property
    def differs(self) -> tuple[str, ...]:
        """The differences to the data of the paper; empty if there are none."""
        ...

    @property
    def facts(self) -> str:
        """The size of the data, in a few words."""
        ...

    @property
    def fingerprint(self) -> str:
        """A digest of the data."""
        ...
