"""Compiled models on disk: a query is encoded without importing torch, which takes seconds.

A copy is a folder with a graph, its weights, a tokenizer and a description. It is named by a digest of the checkpoint's
files and one of the libraries that made it, and is made again if any of its files has changed.
"""

import hashlib
import json
import shutil
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from chamfer.encode.checkpoint_files import checkpoint_digest, sha256_of
from chamfer.encode.compiled_model import CompiledModel, Description
from chamfer.encode.openvino import Runner, check_openvino, save_graph
from chamfer.encode.settings import Arithmetic
from chamfer.support.cache_folder import default_cache
from chamfer.support.files import make_folder, sync_file, sync_folder, unfinished_name, write_json
from chamfer.support.records import from_json

# Changes with what a copy holds.
FORMAT = 1
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


def copy_folder(checkpoint: Path) -> Path:
    """Where the copy of a checkpoint is, or would be."""
    made_by = json.dumps([FORMAT, *((name, version(name)) for name in MADE_BY)])
    digests = checkpoint_digest(checkpoint), hashlib.sha256(made_by.encode()).hexdigest()
    return default_cache() / "models" / "-".join(digest[:DIGITS] for digest in digests)


def read_copy(
    folder: Path, arithmetic: Arithmetic, *, query_length: int | None, document_length: int | None
) -> CompiledModel | None:
    """Load a copy; None if there is none, or if it is damaged."""
    try:
        expected = json.loads((folder / CHECKSUMS).read_bytes())
        if expected != _checksums(folder):
            return None
        description = from_json(Description, json.loads((folder / DESCRIPTION).read_bytes()))
    except (OSError, ValueError):
        return None
    lengths = description.lengths.changed(query_length, document_length)
    check_openvino()
    runner = Runner(folder / GRAPH, arithmetic)
    return CompiledModel(Tokenizer.from_file(str(folder / TOKENIZER)), runner, description, lengths, arithmetic)


def write_copy(folder: Path, graph: Any, tokenizer: Tokenizer, description: Description) -> None:  # noqa: ANN401
    """Write a copy, whole or not at all, in place of those that other versions of the libraries made.

    Where the cache cannot be written, nothing happens: the next process loads the checkpoint again.
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
        digest, _, _ = folder.name.partition("-")
        for other in folder.parent.glob(f"{digest}-*"):
            shutil.rmtree(other, ignore_errors=True)
        unfinished.rename(folder)  # fails if another process was faster
    except (OSError, RuntimeError):  # OpenVINO raises the latter on a full disk
        pass
    finally:
        with suppress(OSError):
            shutil.rmtree(unfinished)


def _checksums(folder: Path) -> dict[str, str]:
    return {name: sha256_of(folder / name) for name in FILES}
