"""Summary of an index: documents, settings, sizes."""

import os
from pathlib import Path
from typing import Any

from chamfer.index.derived import DERIVED
from chamfer.index.manifest import needed_manifest


def describe(folder: Path) -> dict[str, Any]:
    """Number of documents and tokens, settings and sizes of an index; reads the manifest only."""
    manifest = needed_manifest(folder)
    settings = manifest.settings
    files = [file for entry in manifest.segments for file in entry.files] + manifest.files
    # Unlike rglob, it skips folders that are removed meanwhile.
    derived = sum(_size(Path(place, name)) for place, _, names in os.walk(folder / DERIVED) for name in names)
    summary = {
        "documents": manifest.documents,
        "deleted": sum(entry.counted.dead for entry in manifest.segments),
        "tokens": sum(entry.tokens for entry in manifest.segments),
        "segments": len(manifest.segments),
        "commit": manifest.version,
        "encoder": settings.encoder.get("name", "unknown"),
        "document_length": settings.encoder.get("document_length"),
        "arithmetic": settings.encoder.get("arithmetic"),
        "engine": settings.encoder.get("engine"),
        "precision": settings.precision,
        "dimensions": settings.kept,
        "pool": settings.pool,
        "bytes": sum(file.bytes for file in files),
        "bytes_of_first_stages": derived,
    }
    if settings.passages is not None:
        summary |= {
            "passages": manifest.rows,
            "passage_length": settings.passages.length,
            "overlap": settings.passages.overlap,
        }
    if manifest.building is not None:
        summary["building"] = f"{manifest.building['done']:,} of {manifest.building['documents']:,} documents"
    return summary


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # a writer has removed it since
        return 0
