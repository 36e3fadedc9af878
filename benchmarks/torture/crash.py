"""A folder as a power failure may leave it: what was flushed is there, and any part of the rest."""

import os
import random
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

STEPS = ("fsync", "replace", "rename", "mkdir", "unlink", "rmdir")


class Disk:
    """Follows the changes of a folder, and makes images of it.

    A file has the content that it had when it was last flushed, or any later one; unflushed pages may be missing or
    zero. A folder has the entries that it had when it was last flushed, each possibly as changed since. That is what
    POSIX promises; file systems promise more.

    Args:
        root: the folder, whose content is taken as flushed.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._held: dict[int, int] = {}  # descriptors keep numbers of removed files from being given to others
        self._content: dict[int, bytes] = {}
        self._flushed: dict[int, bytes] = {}
        self._entries: dict[int, dict[str, int]] = {}
        self._durable: dict[int, dict[str, int]] = {}
        self.scan()
        self._flushed, self._durable = dict(self._content), {key: dict(one) for key, one in self._entries.items()}

    def scan(self) -> None:
        """Note the current state."""
        for folder, names, files in os.walk(self._root):
            listing = {name: self._note(os.path.join(folder, name)) for name in (*names, *files)}  # noqa: PTH118
            self._entries[self._note(folder)] = listing

    def _note(self, path: str) -> int:
        status = Path(path).stat()
        number = status.st_ino
        if number not in self._held:
            self._held[number] = os.open(path, os.O_RDONLY)
        if stat.S_ISREG(status.st_mode):
            self._content[number] = os.pread(self._held[number], status.st_size, 0)
        return number

    def flush(self, handle: int) -> None:
        """Note that a file or folder was flushed."""
        number = os.fstat(handle).st_ino
        if number in self._entries:
            self._durable[number] = dict(self._entries[number])
        elif number in self._content:
            self._flushed[number] = self._content[number]

    def image(self, target: Path, chance: random.Random, keep: float) -> None:
        """Write an image; every unflushed change is kept with probability ``keep``."""
        target.mkdir(parents=True)
        self._write(target, self._root.stat().st_ino, chance, keep)

    def _write(self, target: Path, folder: int, chance: random.Random, keep: float) -> None:
        before, now = self._durable.get(folder, {}), self._entries.get(folder, {})
        for name in sorted({*before, *now}):
            number = now.get(name) if chance.random() < keep else before.get(name)
            if number is None:
                continue
            if number in self._content:
                (target / name).write_bytes(self._bytes(number, chance, keep))
            else:
                (target / name).mkdir()
                self._write(target / name, number, chance, keep)

    def _bytes(self, number: int, chance: random.Random, keep: float) -> bytes:
        now, before = self._content[number], self._flushed.get(number)
        if before == now or chance.random() < keep:
            return now
        choices = [b"", now[: len(now) // 2], bytes(len(now))]
        return chance.choice([before] if before is not None else choices)

    def close(self) -> None:
        """Let go of all files."""
        for handle in self._held.values():
            os.close(handle)


@contextmanager
def followed(disk: Disk, at_step: Callable[[], None]) -> Iterator[None]:
    """Call ``at_step`` before every step that flushes or moves something; nothing really waits for a disk."""
    originals = {name: getattr(os, name) for name in STEPS}

    def wrapped(name: str) -> Callable[..., Any]:
        def step(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
            disk.scan()
            _restored(originals, at_step)
            if name == "fsync":
                return disk.flush(arguments[0])
            return originals[name](*arguments, **named)

        return step

    wrappers = {name: wrapped(name) for name in STEPS}

    def _restored(functions: dict[str, Any], call: Callable[[], None]) -> None:
        for key, function in functions.items():
            setattr(os, key, function)
        try:
            call()
        finally:
            for key, wrapper in wrappers.items():
                setattr(os, key, wrapper)

    try:
        for name, wrapper in wrappers.items():
            setattr(os, name, wrapper)
        yield
    finally:
        for name, original in originals.items():
            setattr(os, name, original)
