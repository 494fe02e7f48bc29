"""Examples in the package: plans, a study and small tables."""

from importlib import resources
from pathlib import Path

from discreet.errors import DataError, ParameterError
from discreet.io.atomic import check_free, replacing


def shipped(name: str) -> Path | None:
    """Return the path of an example; None if the package was installed without it."""
    path = Path(str(resources.files("discreet"))) / "examples" / name
    return path if path.is_file() else None


def copy_examples(folder: Path, *, force: bool = False) -> list[Path]:
    """Copy every example into a folder, which is made if need be.

    Args:
        folder: where to.
        force: whether to replace files of these names.

    Raises:
        DataError: if the package was installed without its examples.
        ParameterError: if the folder cannot be made.
        OutputExistsError: if a file of such a name is there and ``force`` is not set; nothing is copied then.
    """
    source = Path(str(resources.files("discreet"))) / "examples"
    files = sorted(source.glob("*.*")) if source.is_dir() else []
    if not files:
        raise DataError("the examples are not part of this installation of discreet; install it from a wheel.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"{folder} cannot be made ({type(error).__name__}); choose another folder.") from None
    targets = [folder / file.name for file in files]
    for target in targets:
        check_free(target, force=force)
    for file, target in zip(files, targets, strict=True):
        with replacing(target, force=force) as beside:
            beside.write_bytes(file.read_bytes())
    return targets
