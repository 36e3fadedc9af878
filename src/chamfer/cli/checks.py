"""Cheap checks of arguments, for before a model is loaded or an hour of work begins."""

from pathlib import Path

from chamfer.errors import InputError


def check_output(path: Path) -> None:
    """Refuse a file that could not be written."""
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder; give the path of a file")
    if not above.is_dir():
        raise InputError(f"cannot write {path}: {above} is a file, not a folder")


def check_weights_output(path: Path) -> None:
    """Refuse a weights file that is not ``.safetensors``, or that could not be written."""
    if path.suffix != ".safetensors":
        raise InputError(
            f"--out must end in .safetensors, not {path.suffix!r}; other formats are made by: chamfer weights convert"
        )
    check_output(path)


def check_query(text: str) -> None:
    """Refuse a query without text."""
    if not text.strip():
        raise InputError("the query is empty; give some text to search for")
