"""Many small cases in one test: to collect, hand out and report a test costs more than most of them take."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any


def each(names: str, cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator: the test runs for every case, one after the other; a failure names its case.

    Each case has a ``tmp_path`` of its own; other fixtures are those of the test.

    Args:
        names: arguments of the test, separated by commas, as `pytest.mark.parametrize` takes them.
        cases: a tuple of their values each, or the value where there is one name.
    """
    own = [name.strip() for name in names.split(",")]
    given = [dict(zip(own, case if len(own) > 1 else (case,), strict=True)) for case in cases]
    assert given, "a test of no case says nothing"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        def run(**others: Any) -> None:
            folder = others.get("tmp_path")
            for place, case in enumerate(given):
                if folder is not None:
                    others["tmp_path"] = folder / str(place)
                    others["tmp_path"].mkdir()
                try:
                    test(**others, **case)
                except BaseException as error:
                    error.add_note(f"The case is {', '.join(map(str, case.values()))}.")
                    raise

        left = [parameter for name, parameter in signature.parameters.items() if name not in own]
        run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
        run.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        # Marks too, whichever stands first.
        vars(run).update(pytestmark=getattr(test, "pytestmark", []))
        return run

    return decorate
