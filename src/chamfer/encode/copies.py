"""Compiled models on disk: a query is encoded without importing torch, which takes seconds.

A copy is a folder with a graph, its weights, a tokenizer and a description. It is named by a digest of the checkpoint's
files and one of the libraries that made it, and is made again if any of its files has changed. Copies only save time:
whatever goes wrong with one, the checkpoint is loaded instead.
"""

import hashlib
import json
import logging
import os
import re
import shutil
import time
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from chamfer.encode.checkpoint_files import checkpoint_digest, is_self_contained, sha256_of
from chamfer.encode.compiled_model import CompiledModel, Description
from chamfer.encode.openvino import Runner, check_openvino, save_graph
from chamfer.encode.settings import Arithmetic
from chamfer.support.cache_folder import default_cache
from chamfer.support.files import UNFINISHED, make_folder, sync_file, sync_folder, unfinished_name, write_json
from chamfer.support.records import from_json

log = logging.getLogger(__name__)

# Changes with what a copy holds.
FORMAT = 2
MADE_BY = ("openvino", "sentence-transformers", "tokenizers", "torch", "transformers")
GRAPH, WEIGHTS, TOKENIZER, DESCRIPTION, CHECKSUMS = (
    "graph.xml",
    "graph.bin",
    "tokenizer.json",
    "description.json",
    "checksums.json",
)
FILES = (GRAPH, WEIGHTS, TOKENIZER, DESCRIPTION)

# Hexadecimal digits of each digest in a name.
DIGITS = 16
# Copies that are kept, the last used: a few models, each in a few environments.
KEPT = 6
# Seconds after which an unfinished copy was left by a killed process; making one takes seconds.
LEFT_AFTER = 3600.0
LEFT = re.compile(rf"\..+{UNFINISHED}")


def copy_folder(checkpoint: Path) -> Path | None:
    """Where the copy of a checkpoint is, or would be; None if it can have none."""
    try:
        if not is_self_contained(checkpoint):
            return None
        made_by = json.dumps([FORMAT, *((name, version(name)) for name in MADE_BY)])
        digests = checkpoint_digest(checkpoint), hashlib.sha256(made_by.encode()).hexdigest()
        return default_cache() / "models" / "-".join(digest[:DIGITS] for digest in digests)
    # A file that cannot be read, a library under another name, a user without a home: there are more.
    except Exception as error:
        log.info("the model in %s has no compiled copy: %r", checkpoint, error)
        return None


def read_copy(
    folder: Path, arithmetic: Arithmetic, *, query_length: int | None, document_length: int | None
) -> CompiledModel | None:
    """Load a copy; None if there is none, if it is damaged, or if it was not checked with texts of these lengths."""
    description = _sound(folder)
    if description is None:
        return None
    lengths = description.lengths.changed(query_length, document_length)
    if lengths.compared > description.checked:
        return None
    check_openvino()
    try:
        before = (folder / CHECKSUMS).read_bytes()
        tokenizer, runner = Tokenizer.from_file(str(folder / TOKENIZER)), Runner(folder / GRAPH, arithmetic)
        if (folder / CHECKSUMS).read_bytes() != before:  # files of two copies
            return None
    # The libraries raise all kinds of exceptions if another process replaces the copy meanwhile.
    except Exception as error:
        log.info("the compiled copy in %s cannot be read: %r", folder, error)
        return None
    with suppress(OSError):
        os.utime(folder)  # the copies used last are kept
    return CompiledModel(tokenizer, runner, description, lengths, arithmetic)


def write_copy(folder: Path, graph: Any, tokenizer: Tokenizer, description: Description) -> None:  # noqa: ANN401
    """Write a copy, whole or not at all, and remove those that were not used for longest.

    If the copy cannot be written, nothing happens: the next process loads the checkpoint again.
    """
    unfinished = unfinished_name(folder)
    try:
        make_folder(unfinished)
        save_graph(graph, unfinished / GRAPH)
        tokenizer.save(str(unfinished / TOKENIZER))
        write_json(unfinished / DESCRIPTION, asdict(description))
        write_json(unfinished / CHECKSUMS, _checksums(unfinished))
        for name in FILES:
            sync_file(unfinished / name)
        sync_folder(unfinished)
        there = _sound(folder)  # another process may have finished one meanwhile
        if there is None or there.checked < description.checked:
            _remove(folder)
            unfinished.rename(folder)
        _sweep(folder.parent)
    # On a full disk, OpenVINO raises RuntimeError and the tokenizers library a bare Exception.
    except Exception as error:
        log.info("the compiled copy in %s cannot be written: %r", folder, error)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _sound(folder: Path) -> Description | None:
    """The description of a copy; None if there is no copy, or if it is damaged."""
    try:
        if json.loads((folder / CHECKSUMS).read_bytes()) != _checksums(folder):
            return None
        return from_json(Description, json.loads((folder / DESCRIPTION).read_bytes()))
    except Exception:  # whatever damage does to JSON
        return None


def _checksums(folder: Path) -> dict[str, str]:
    return {name: sha256_of(folder / name) for name in FILES}


def _sweep(models: Path) -> None:
    """Remove what killed processes left, and all copies but those used last."""
    now, copies = time.time(), list[tuple[float, Path]]()
    for path in models.iterdir():
        with suppress(FileNotFoundError):  # another process sweeps, too
            used = path.stat().st_mtime
            if not LEFT.fullmatch(path.name):
                copies.append((used, path))
            elif now - used > LEFT_AFTER:
                shutil.rmtree(path, ignore_errors=True)
    for _, path in sorted(copies, reverse=True)[KEPT:]:
        _remove(path)


def _remove(folder: Path) -> None:
    """Remove a copy so that no process finds a part of it."""
    aside = unfinished_name(folder)
    with suppress(FileNotFoundError):
        folder.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)
