"""Imports of optional dependencies, with an error message that names the extra to install."""

from importlib import import_module
from typing import Any

from discreet.errors import MissingExtraError

_EXTRAS = {
    **dict.fromkeys(("altair", "vl_convert", "jinja2"), "plot"),
    **dict.fromkeys(("starlette", "uvicorn", "httptools", "prometheus_client"), "serve"),
    "pandas": "pandas",
    "polars": "polars",
    "pyspark": "spark",
    "fsspec": "url",
}


def optional(module: str) -> Any:
    """Import and return an optional module; raise an error that names the missing extra.

    Raises:
        MissingExtraError: if the module is not installed; the message names the extra to install.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != package:
            raise
        raise MissingExtraError("extra.missing", package=package, extra=_EXTRAS[package]) from None


def check_drawing() -> None:
    """Raise an error if the libraries for charts, the extra ``plot``, are not installed.

    Raises:
        MissingExtraError: if the ``plot`` extra is not installed.
    """
    optional("altair"), optional("vl_convert")
