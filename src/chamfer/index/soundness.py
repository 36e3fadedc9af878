"""Whether the files of a commit are those that were written: read once, at once or in the background."""

import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from chamfer.errors import DamagedError
from chamfer.index.damage import REMEDY, damaged, missing
from chamfer.index.derived import derived_folders, discard, listed_files, remedy_for
from chamfer.index.manifest import SEGMENTS, File, Manifest, read_manifest

# Bytes that are read at a time.
PIECE = 1 << 20
# A thread in the background rests this many times as long as it works, and then until no search runs, but not longer
# than these seconds: a search takes one thread less while others are busy.
REST, PATIENCE = 3, 0.1
# The largest index that is read whole when it is opened: a hundredth of a second.
SMALL_INDEX = 1 << 23
# Nanoseconds after which a change must have another time stamp; file systems round them.
ROUNDED = 2_000_000_000
# Files to remember.
MOST = 1 << 16

Pause = Callable[[], None]

_sound: set[tuple[object, ...]] = set()


def files_of(folder: Path, manifest: Manifest) -> Iterator[tuple[Path, File]]:
    """All files of a commit, each with its folder."""
    yield from ((folder, file) for file in manifest.files)
    for entry in manifest.segments:
        yield from ((folder / SEGMENTS / entry.name, file) for file in entry.files)


def check_files(folder: Path, manifest: Manifest, pause: Pause = lambda: None) -> None:
    """Refuse a commit with a damaged file. Files that this process has read and that did not change are skipped.

    Args:
        folder: folder of the index.
        manifest: the commit.
        pause: called after each piece of a file.
    """
    for where, file in files_of(folder, manifest):
        _check_file(where / file.name, file, pause, REMEDY)


def check_derived_files(folder: Path, manifest: Manifest, pause: Pause = lambda: None) -> None:
    """Refuse damaged files that first stages derived from a commit; see :func:`check_files`."""
    for place in derived_folders(folder, manifest):
        _check_derived(place, pause)


def discard_damaged(folder: Path, manifest: Manifest) -> None:
    """Remove damaged files that first stages derived from a commit, so that they are computed again."""
    for place in derived_folders(folder, manifest):
        try:
            _check_derived(place, lambda: None)
        except DamagedError as error:
            discard(place, error)


def _check_derived(place: Path, pause: Pause) -> None:
    try:
        for file in listed_files(place):
            _check_file(place / file.name, file, pause, remedy_for(place))
    except (DamagedError, FileNotFoundError) as error:
        if not place.is_dir():  # they were removed meanwhile
            return
        if isinstance(error, FileNotFoundError):
            raise missing(error.filename, remedy_for(place)) from error
        raise


def is_small(manifest: Manifest) -> bool:
    """Whether an index is so small that all of it is read when it is opened."""
    return sum(file.bytes for _, file in files_of(Path(), manifest)) <= SMALL_INDEX


def _check_file(path: Path, expected: File, pause: Pause, remedy: str) -> None:
    with path.open("rb", buffering=0) as file:
        known = os.fstat(file.fileno())
        identity = (expected, known.st_dev, known.st_ino, known.st_size, known.st_mtime_ns, known.st_ctime_ns)
        if identity in _sound:
            return
        if known.st_size != expected.bytes:
            raise damaged(path, f"it has {known.st_size} bytes, not {expected.bytes}", remedy)
        began = time.time_ns()
        digest, piece = hashlib.sha256(), bytearray(PIECE)
        while count := file.readinto(piece):
            digest.update(memoryview(piece)[:count])  # without the interpreter's lock
            pause()
    if digest.hexdigest() != expected.sha256:
        raise damaged(path, "checksum mismatch", remedy)
    if began - max(known.st_mtime_ns, known.st_ctime_ns) > ROUNDED:
        if len(_sound) >= MOST:
            _sound.clear()
        _sound.add(identity)


class Soundness:
    """What is known about the files of a commit while it is open.

    Args:
        folder: folder of the index.
        manifest: the commit.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self._folder, self._manifest = folder, manifest
        self._stop, self._idle = threading.Event(), threading.Event()
        self._idle.set()
        self._thread: threading.Thread | None = None
        self.damage: DamagedError | None = None
        """The damage that was found; None if none was."""
        self.is_checked = False
        """Whether all files were read."""

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Let nothing be read in the background meanwhile."""
        self._idle.clear()
        try:
            yield
        finally:
            self._idle.set()  # too early if another thread searches as well, which does no harm

    def check(self) -> None:
        """Refuse to read on once damage was found."""
        if self.damage is not None:
            raise DamagedError(str(self.damage))

    @contextmanager
    def noticing_damage(self) -> Iterator[None]:
        """Remember damage that a reader runs into."""
        try:
            yield
        except DamagedError as error:
            self.damage = error
            raise

    def check_files(self, pause: Pause = lambda: None) -> None:
        """Read all files, and refuse damaged ones. A missing one is an ``OSError``: a writer may have removed it."""
        check_files(self._folder, self._manifest, pause)
        self.is_checked = True

    def check_in_background(self) -> None:
        """Read all files in a thread of low priority, unless that was done or begun."""
        if not self.is_checked and self._thread is None:
            # A daemon, because it must not keep the process alive.
            self._thread = threading.Thread(target=self._work, name="chamfer-verify", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop the thread, if there is one."""
        self._stop.set()

    def wait(self) -> None:
        """Wait until the thread has finished."""
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        _lower_priority()
        worked = time.monotonic()

        def pause() -> None:
            nonlocal worked
            if self._stop.wait(REST * (time.monotonic() - worked)):
                raise _StoppedError
            self._idle.wait(PATIENCE)
            worked = time.monotonic()

        try:
            self.check_files(pause)
            check_derived_files(self._folder, self._manifest, pause)
        except DamagedError as error:
            if self._is_current():  # otherwise another index was put in its place, and what is open may be intact
                self.damage = error
        except (OSError, _StoppedError):  # a file that cannot be read is an error where it is needed
            pass

    def _is_current(self) -> bool:
        try:
            return read_manifest(self._folder) == self._manifest
        except (OSError, ValueError):
            return False


class _StoppedError(Exception):
    pass


def _lower_priority() -> None:
    """Let other threads go first. Only on Linux does a thread have a priority of its own."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
