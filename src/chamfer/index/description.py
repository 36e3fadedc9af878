"""What an index holds, in words and numbers."""

from pathlib import Path
from typing import Any

from chamfer.errors import InputError
from chamfer.index.manifest import DERIVED, read_manifest


def describe(folder: Path) -> dict[str, Any]:
    """Documents, tokens, settings and sizes of an index, without opening its segments."""
    manifest = read_manifest(folder)
    if manifest is None:
        raise InputError(f"{folder} holds no index; make one with: chamfer index build")
    settings = manifest.settings
    files = [file for entry in manifest.segments for file in entry.files] + manifest.files
    derived = sum(path.stat().st_size for path in (folder / DERIVED).rglob("*") if path.is_file())
    told = {
        "documents": manifest.documents,
        "deleted": sum(entry.dead for entry in manifest.segments),
        "tokens": sum(entry.tokens for entry in manifest.segments),
        "segments": len(manifest.segments),
        "version": manifest.version,
        "encoder": settings.encoder.get("name", "unknown"),
        "document_length": settings.encoder.get("document_length"),
        "precision": settings.precision,
        "dimensions": settings.kept,
        "pool": settings.pool,
        "bytes": sum(file.bytes for file in files),
        "bytes_of_first_stages": derived,
    }
    if manifest.building is not None:
        told["building"] = f"{manifest.building['done']} of {manifest.building['documents']} documents"
    return told
