"""Archives of judged collections, fetched once: resumed where they stopped, checked, unpacked whole or not at all."""

import hashlib
import http.client
import os
import shutil
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

from chamfer.errors import InputError
from chamfer.support.files import only_writer
from chamfer.support.progress import Progress, quiet

PIECE = 1 << 20
# Seconds without a byte from the server.
PATIENCE = 60
OTHERWISE = "the next try goes on where this one stopped, or unpack it elsewhere and give --data DIR"


def fetch(url: str, md5: str, folder: Path, *, progress: Progress = quiet) -> Path:
    """Download an archive and unpack the folder that it holds.

    What was downloaded before an interruption is kept beside it, and the rest is asked for.

    Args:
        url: of a ZIP archive that holds one folder, of the archive's name.
        md5: its published checksum.
        folder: where the unpacked folder goes.
        progress: shows long work.
    """
    name = url.rsplit("/", 1)[-1].removesuffix(".zip")
    target = folder / name
    if target.is_dir():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{name}.zip.part"
    with only_writer(folder):
        if not (part.is_file() and _md5(part) == md5):
            _download(url, part, progress)
            if _md5(part) != md5:
                part.unlink()
                raise InputError(
                    f"{url} has another checksum than the published one, {md5}; try again, or get it elsewhere"
                )
        unfinished = folder / f".{name}"
        shutil.rmtree(unfinished, ignore_errors=True)
        try:
            with zipfile.ZipFile(part) as archive:
                archive.extractall(unfinished)  # which keeps every member below the folder
            (unfinished / name).rename(target)
        except (zipfile.BadZipFile, FileNotFoundError) as error:
            raise InputError(f"{url} is no ZIP archive of a folder {name}; get it elsewhere") from error
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        part.unlink()
    return target


def _download(url: str, part: Path, progress: Progress) -> None:
    have = part.stat().st_size if part.is_file() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            if answer.status != http.client.PARTIAL_CONTENT:  # a server that cannot resume starts anew
                have = 0
            total = have + int(answer.headers.get("Content-Length", 0))
            with part.open("r+b" if have else "wb") as file, progress(f"downloading {url}", total) as advance:
                file.seek(have)
                advance(have)
                while piece := answer.read(PIECE):
                    file.write(piece)
                    advance(len(piece))
                file.truncate()
                os.fsync(file.fileno())
                if file.tell() < total:
                    raise http.client.IncompleteRead(b"", total - file.tell())
    except urllib.error.HTTPError as error:
        if error.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise InputError(f"{url} cannot be downloaded ({error.code} {error.reason}); {OTHERWISE}") from error
        part.unlink()  # it is as long as the archive, or longer, and its checksum is wrong
        _download(url, part, progress)
    except (OSError, http.client.HTTPException) as error:
        raise InputError(f"{url} cannot be downloaded ({error}); {OTHERWISE}") from error


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
