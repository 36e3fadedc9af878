"""What is computed from an encoded corpus once, and stored in a folder beside its vectors."""

import json
import logging
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from chamfer.support.files import InUseError, write_json, writer_lock

MANIFEST = "manifest.json"


def derived_folder(
    corpus: Path, name: str, manifest: Mapping[str, Any], sizes: Mapping[str, int], make: Callable[[Path], None]
) -> Path | None:
    """The folder of derived files; they are computed and written first if necessary.

    Args:
        corpus: folder of the corpus.
        name: name of the folder in it.
        manifest: what determines the files; files made from anything else are replaced.
        sizes: size of each file in bytes.
        make: writes the files into a folder.

    Returns:
        None if the corpus cannot be written to now.
    """
    folder = corpus / name
    if _is_whole(folder, manifest, sizes):
        return folder
    try:
        with writer_lock(corpus):
            unfinished = corpus / f".{name}"
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            make(unfinished)
            write_json(unfinished / MANIFEST, manifest)
            shutil.rmtree(folder, ignore_errors=True)
            unfinished.rename(folder)
    except (InUseError, OSError) as error:  # another process writes, or the disk is read-only or full
        logging.getLogger("chamfer").info("cannot store %s in %s: %s", name, corpus, error)
        return None
    return folder


def _is_whole(folder: Path, manifest: Mapping[str, Any], sizes: Mapping[str, int]) -> bool:
    try:
        return json.loads((folder / MANIFEST).read_bytes()) == manifest and all(
            (folder / name).stat().st_size == size for name, size in sizes.items()
        )
    except (OSError, ValueError):
        return False
