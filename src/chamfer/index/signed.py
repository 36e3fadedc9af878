"""Small JSON files that contain their own checksum: the manifest, the description of shards, lists of derived files."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chamfer.support.files import write_json


def checksum(content: Mapping[str, Any]) -> str:
    """SHA-256 of JSON, independent of the order of its keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def write_signed(path: Path, name: str, content: Mapping[str, Any]) -> str:
    """Write JSON under a name, with its checksum, and return the checksum."""
    signed_content = signed(name, content)
    write_json(path, signed_content)
    return str(signed_content["sha256"])


def signed(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """JSON under a name, with its checksum."""
    return {"sha256": checksum(content), name: content}


def read_signed(path: Path, name: str) -> dict[str, Any]:
    """Read JSON that :func:`write_signed` wrote; a ``ValueError`` says what is wrong with anything else."""
    try:
        whole = json.loads(path.read_bytes())
        content = whole[name]
        intact = whole["sha256"] == checksum(content)
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError("it is not what chamfer writes") from error
    if not intact:
        raise ValueError("checksum mismatch")
    if not isinstance(content, dict):
        raise ValueError(f"{name} must be an object")
    return content
