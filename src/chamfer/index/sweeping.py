"""Removing files that no commit names: left by a crash, or by commits before the last."""

import shutil
from pathlib import Path

from chamfer.index.derived import sweep_derived
from chamfer.index.manifest import SAMPLE, SEGMENTS, Manifest
from chamfer.index.names import OWN, OWN_SEGMENT


def sweep(folder: Path, manifest: Manifest) -> None:
    """Remove our own files that a manifest does not name."""
    named = {file.name for file in manifest.files}
    for path in folder.iterdir():
        if OWN.fullmatch(path.name) and path.name not in named:
            path.unlink(missing_ok=True)
    if manifest.building is None:
        shutil.rmtree(folder / SAMPLE, ignore_errors=True)
    kept = {entry.name for entry in manifest.segments}
    for path in (folder / SEGMENTS).glob("*"):
        if OWN_SEGMENT.fullmatch(path.name) and path.name not in kept:
            shutil.rmtree(path, ignore_errors=True)
    sweep_derived(folder, manifest)


def has_orphans(folder: Path) -> bool:
    """Whether there are segments, which without a manifest belong to an index that was damaged."""
    return any(OWN_SEGMENT.fullmatch(path.name) for path in (folder / SEGMENTS).glob("*"))
