"""The files of an encoded corpus, and the manifest that says how much of them is committed."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chamfer.errors import InputError
from chamfer.support.records import need

FORMAT = 2
# Earlier corpora lack what the tokenizer read. Finished ones can still be used.
VECTORS_ONLY = 1
MANIFEST = "manifest.json"
VECTORS_FILE, TOKEN_IDS_FILE, LENGTHS_FILE, IDS_FILE = "vectors.f16", "token_ids.i32", "lengths.i32", "ids.jsonl"
DISTINCT_FILE, DISTINCT_LENGTHS_FILE, TRUNCATED_FILE = "distinct.i32", "distinct_lengths.i32", "truncated.u8"

EMPTY_MANIFEST: dict[str, Any] = {
    "format": FORMAT,
    "made_from": {},
    "documents": 0,
    "tokens": 0,
    "distinct": 0,
    "dimensions": 0,
    "id_bytes": 0,
    "complete": False,
}


def file_sizes(manifest: Mapping[str, Any]) -> dict[str, int]:
    """Size of each file in bytes, as far as it is committed."""
    sizes = {
        VECTORS_FILE: manifest["tokens"] * manifest["dimensions"] * 2,
        TOKEN_IDS_FILE: manifest["tokens"] * 4,
        LENGTHS_FILE: manifest["documents"] * 4,
        IDS_FILE: manifest["id_bytes"],
    }
    if manifest["format"] == VECTORS_ONLY:
        return sizes
    return {
        **sizes,
        DISTINCT_FILE: manifest["distinct"] * 4,
        DISTINCT_LENGTHS_FILE: manifest["documents"] * 4,
        TRUNCATED_FILE: manifest["documents"],
    }


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of a folder; None if the folder has none."""
    path = folder / MANIFEST
    if not path.exists():
        return None
    try:
        manifest = json.loads(path.read_bytes())
        if manifest["format"] == VECTORS_ONLY:
            manifest["distinct"] = 0
        elif manifest["format"] != FORMAT:
            raise InputError(f"{path} has format {manifest['format']}, this version reads {FORMAT}; encode again")
        for key, empty in EMPTY_MANIFEST.items():
            need(type(manifest[key]) is type(empty), f"{key} must be {type(empty).__name__}")
            need(not isinstance(empty, int) or manifest[key] >= 0, f"{key} must not be negative")
        return {key: manifest[key] for key in EMPTY_MANIFEST}
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path} is not a chamfer manifest; delete {folder} and encode again") from error


def encoded_in(folder: Path) -> int:
    """Number of documents that are committed in a folder, finished or not; 0 if it holds no corpus."""
    try:
        return int((read_manifest(folder) or EMPTY_MANIFEST)["documents"])
    except InputError:  # it is damaged, which is said when it is opened
        return 0
