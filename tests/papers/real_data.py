"""Where real data sets are, for the tests that need them."""

import os
from pathlib import Path

import pytest

from papers.data.population import VARIABLE, data_folder


def real_file(name: str) -> Path:
    """Return a file of real data; skip where it is not at hand, unless this is CI and the folder is there."""
    path = data_folder() / name
    promised = os.environ.get("CI") and data_folder().is_dir()
    if not path.is_file() and not promised:
        pytest.skip(f"{name} is not in {data_folder()}; {VARIABLE} names the folder of the data sets.")
    return path
