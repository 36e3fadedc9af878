"""Cheap checks of arguments, for before a model is loaded or an hour of work begins."""

from collections.abc import Collection
from pathlib import Path

import typer

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


NOT_FOR_INDEX = {
    "encoder": "it keeps the encoder that it was built with",
    "query_length": "it keeps the length that it was built with",
    "document_length": "its documents are encoded",
    "allow_empty": "its documents are checked",
    "cache": "its vectors are stored in it",
    "split": "its judged queries are given with --qrels",
    "validation": "its judged queries are given with --qrels, and have no splits",
    "test": "its judged queries have no splits; use --hold-out",
    "candidates": "it is searched",
    "run": "it is searched, and other runs are measured on a collection",
    "sample": "all of its documents are counted",
    "seed": "all of its documents are counted",
    "ray": "its documents are encoded and counted",
}
"""Options that an index has no use for, and why."""


def is_index(path: Path) -> bool:
    """Whether a path is the folder of an index."""
    from chamfer.index.manifest import read_manifest

    return read_manifest(path) is not None


def is_given(context: typer.Context, name: str) -> bool:
    """Whether an option was typed, and is not a default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def refuse_for_index(context: typer.Context, *, but: Collection[str] = ()) -> None:
    """Refuse options that an index has no use for, except some.

    Args:
        context: the command and what was typed.
        but: options that this command has a use for.
    """
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in NOT_FOR_INDEX and name not in but and is_given(context, name):
            raise InputError(f"an index takes no {parameter.opts[0]}, because {NOT_FOR_INDEX[name]}; leave it out")
