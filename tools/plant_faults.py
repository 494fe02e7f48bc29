"""Run-time faults: each one replaces an attribute of the package, and the tests that are listed for it must fail.

    python tools/plant_faults.py [words that the name of a fault contains ...]

The table is `tools/fault_table.py`. The command prints a line per fault with the test that found it, and exits with 1
if no test found one, or if the tests that found faults fail without any. A fault names a module and an attribute, so
that it does not depend on the text of the sources; where the attribute is missing, the command says so.

As a plugin of pytest, `-p plant_faults --fault NAME` applies one fault before any test is collected.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, reduce
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOOLS = Path(__file__).parent


@dataclass(frozen=True)
class Fault:
    """A wrong replacement of one attribute.

    Attributes:
        name: what goes wrong.
        place: the module and the attribute in it, as `discreet.core.random:Coins.take`.
        wrong: the wrong function, which gets the right one (of a property: its function) before its own arguments; of a
            constant, a function of the right constant that returns the wrong one.
        tests: files and folders of tests, one of which must fail.
    """

    name: str
    place: str
    wrong: Callable[..., Any]
    tests: tuple[str, ...]

    def target(self) -> tuple[Any, str, Any]:
        """Return the owner of the attribute, its name and its value.

        Raises:
            LookupError: if the module or its attribute does not exist.
        """
        module, _, path = self.place.partition(":")
        *owners, name = path.split(".")
        try:
            owner = reduce(getattr, owners, import_module(module))
            return owner, name, vars(owner)[name]
        except (ImportError, AttributeError, KeyError):
            raise LookupError(f"{self.name}: {self.place} does not exist; mend the fault or delete it.") from None

    def plant(self) -> None:
        """Replace the attribute, also in all modules that imported it by name."""
        owner, name, right = self.target()
        wrong = self.replacement(right)
        if isinstance(wrong, cached_property):
            wrong.__set_name__(owner, name)
        setattr(owner, name, wrong)
        modules = [module for key, module in sys.modules.items() if key.split(".")[0] == "discreet"]
        for module in modules if callable(right) else ():
            for alias in [alias for alias, value in vars(module).items() if value is right]:
                setattr(module, alias, wrong)

    def replacement(self, right: Any) -> Any:
        """Return the wrong attribute, of the same kind as the right one."""
        match right:
            case property():
                return property(self._function(right.fget))
            case cached_property():
                return cached_property(self._function(right.func))
            case classmethod() | staticmethod():
                return type(right)(self._function(right.__func__))
        return self._function(right) if callable(right) else self.wrong(right)

    def _function(self, right: Any) -> Any:
        return lambda *arguments, **options: self.wrong(right, *arguments, **options)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names a fault."""
    parser.addoption("--fault", help="the name of a fault in tools/fault_table.py")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Apply the fault before any module of tests is imported."""
    from fault_table import FAULTS

    name = early_config.known_args_namespace.fault
    for fault in FAULTS if name else ():
        if fault.name == name:
            fault.plant()


def run(tests: Sequence[str], *options: str) -> tuple[int, str, str]:
    """Run tests until one fails; return the exit code of pytest, the failed test and the last line."""
    command = [sys.executable, "-m", "pytest", "-p", "plant_faults", "-n", "0", "-x", "--no-header", "--tb=no", "-rf"]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TOOLS), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [*command, *options, *tests], check=False, cwd=ROOT, env=variables, capture_output=True, text=True
    )
    failed = re.search(r"^FAILED (.+?)(?: - |$)", done.stdout, flags=re.MULTILINE)
    lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
    return done.returncode, failed[1] if failed else "", lines[-1] if lines else ""


def main(words: list[str]) -> int:
    """Run the chosen faults, and afterwards the tests that found them without any fault."""
    from fault_table import FAULTS

    chosen = [fault for fault in FAULTS if all(word in fault.name for word in words)]
    found = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = pool.map(lambda fault: run(fault.tests, "--fault", fault.name), chosen)
        for fault, (code, test, line) in zip(chosen, runs, strict=True):
            found += [test] if code == 1 and test else []
            print(f"{'found' if code == 1 and test else 'MISSED'} | {fault.name} | {test or line}", flush=True)
    code, _, line = run(sorted(set(found))) if found else (1, "", "no fault was found")
    print(f"{len(found)} of {len(chosen)} faults were found; without a fault: {line}")
    return int(code != 0 or len(found) < len(chosen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
