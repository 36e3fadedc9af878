"""Download, verify and unpack archives of datasets; interrupted downloads resume."""

import hashlib
import http.client
import os
import shutil
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

from chamfer.errors import InputError
from chamfer.support.files import write_text, writer_lock
from chamfer.support.progress import Before, Progress, quiet

CHUNK = 1 << 20
TIMEOUT_SECONDS = 60
ADVICE = "run the command again to resume the download, or download it yourself and give --data DIR"


def fetch(url: str, md5: str, folder: Path, *, sha256: str | None = None, progress: Progress = quiet) -> Path:
    """Download an archive and unpack it; an interrupted download is resumed.

    Args:
        url: address of a ZIP archive that holds one folder, named like the archive.
        md5: published checksum of the archive.
        folder: folder to unpack into.
        sha256: SHA-256 of the archive. If it is not known, that of the first archive with the right MD5 is kept in
            ``NAME.zip.sha256``, and later downloads must have it too: MD5 does not protect against forgeries.
        progress: progress callback.
    """
    name = url.rsplit("/", 1)[-1].removesuffix(".zip")
    target = folder / name
    if target.is_dir():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    part, first = folder / f"{name}.zip.part", folder / f"{name}.zip.sha256"
    with writer_lock(folder):
        if sha256 is None and first.is_file():
            sha256 = first.read_text().strip()
        if _mismatch(part, md5, sha256):
            _download(url, part, progress)
            mismatch = _mismatch(part, md5, sha256)
            if mismatch:
                part.unlink()
                raise InputError(
                    f"checksum mismatch: {url} does not have the {mismatch}; try again, or give --data DIR"
                )
        unfinished = folder / f".{name}"
        shutil.rmtree(unfinished, ignore_errors=True)
        try:
            with zipfile.ZipFile(part) as archive:
                archive.extractall(unfinished)  # never writes outside the folder
            (unfinished / name).rename(target)
        except (zipfile.BadZipFile, FileNotFoundError) as error:
            raise InputError(f"{url} is not a ZIP archive of a folder {name}; download it elsewhere") from error
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        write_text(first, f"{_digest(part, 'sha256')}\n")
        part.unlink()
    return target


def _download(url: str, part: Path, progress: Progress) -> None:
    have = part.stat().st_size if part.is_file() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            if response.status != http.client.PARTIAL_CONTENT:  # a server that cannot resume sends the whole file
                have = 0
            total = have + int(response.headers.get("Content-Length", 0))
            with part.open("r+b" if have else "wb") as file, progress(f"downloading {url}", total) as advance:
                file.seek(have)
                advance(Before(have))
                while chunk := response.read(CHUNK):
                    file.write(chunk)
                    advance(len(chunk))
                file.truncate()
                os.fsync(file.fileno())
                if file.tell() < total:
                    raise http.client.IncompleteRead(b"", total - file.tell())
    except urllib.error.HTTPError as error:
        if error.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise InputError(f"cannot download {url} ({error.code} {error.reason}); {ADVICE}") from error
        part.unlink()  # at least as long as the archive, and its checksum does not match
        _download(url, part, progress)
    except (OSError, http.client.HTTPException) as error:
        raise InputError(f"cannot download {url} ({error}); {ADVICE}") from error


def _mismatch(archive: Path, md5: str, sha256: str | None) -> str:
    """The checksum that an archive should have and does not have; empty if it has all."""
    if not archive.is_file() or _digest(archive, "md5") != md5:
        return f"published MD5 {md5}"
    return "" if sha256 in (None, _digest(archive, "sha256")) else f"known SHA-256 {sha256}"


def _digest(path: Path, algorithm: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.new(algorithm, usedforsecurity=False)).hexdigest()
