"""The versions of the weights that a server uses, or has used."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from chamfer.errors import InputError, UnknownNameError
from chamfer.files import write_json
from chamfer.weights import TokenWeights

LIST = "versions.json"

MOST = 100
"""Versions that are kept; the oldest that is not in use goes first."""


@dataclass(frozen=True)
class Version:
    """Weights with a number.

    Args:
        number: from 1, never used twice.
        name: what its maker called it.
        made: when, in UTC.
        weights: ``uniform``, ``idf`` or ``idf-soft``, which follow the index as it changes; or weights.
    """

    number: int
    name: str
    made: str
    weights: str | TokenWeights

    @property
    def recipe(self) -> str | None:
        """How the weights were made, if that is known."""
        if isinstance(self.weights, str):
            return self.weights
        recipe = self.weights.metadata.get("recipe")
        return None if recipe is None else str(recipe)


class Versions:
    """All versions, one of them in use.

    Args:
        first: what is used if nothing is kept in the folder.
        name: of the first.
        folder: where versions are kept; in memory only if not given.
    """

    def __init__(self, first: str | TokenWeights, name: str, folder: Path | None = None) -> None:
        self._folder, self._turns = folder, Lock()
        self._versions: dict[int, Version] = {}
        self._current, self._next = 0, 1
        if folder is not None and (folder / LIST).exists():
            self._read(folder)
        else:
            self.put(first, name)

    @staticmethod
    def kept_in(folder: Path | None) -> bool:
        """Whether a folder holds versions already."""
        return folder is not None and (folder / LIST).exists()

    @property
    def current(self) -> Version:
        """The one in use."""
        return self._versions[self._current]

    def all(self) -> Sequence[Version]:
        """The newest first."""
        with self._turns:
            return sorted(self._versions.values(), key=lambda version: -version.number)

    def get(self, number: int) -> Version:
        """One of them."""
        version = self._versions.get(number)
        if version is None:
            raise UnknownNameError(f"there is no version {number} of the weights; GET /weights lists them")
        return version

    def put(self, weights: str | TokenWeights, name: str, *, use: bool = True) -> Version:
        """Keep new weights, and use them from now on unless told otherwise."""
        with self._turns:
            version = Version(self._next, name, datetime.now(UTC).isoformat(timespec="seconds"), weights)
            versions = {**self._versions, version.number: version}
            current = version.number if use or not self._versions else self._current
            oldest = [number for number in sorted(versions) if number not in (current, version.number)]
            for number in oldest[: max(0, len(versions) - MOST)]:
                del versions[number]
            if self._folder is not None and isinstance(weights, TokenWeights):
                weights.save(self._folder / f"{version.number}.safetensors")
            self._write(versions, current, version.number + 1)
            self._versions, self._current, self._next = versions, current, version.number + 1
        return version

    def use(self, number: int) -> Version:
        """Use a version from now on: a new one, or an old one again."""
        version = self.get(number)
        with self._turns:
            self._write(self._versions, number, self._next)
            self._current = number
        return version

    def _write(self, versions: dict[int, Version], current: int, following: int) -> None:
        if self._folder is None:
            return
        listed = [
            {
                "version": one.number,
                "name": one.name,
                "made": one.made,
                "weights": one.weights if isinstance(one.weights, str) else None,
            }
            for one in versions.values()
        ]
        write_json(self._folder / LIST, {"current": current, "next": following, "versions": listed})
        for path in self._folder.glob("*.safetensors"):
            if path.stem.isdigit() and int(path.stem) not in versions:
                path.unlink()

    def _read(self, folder: Path) -> None:
        try:
            read: dict[str, Any] = json.loads((folder / LIST).read_text())
            for one in read["versions"]:
                number = int(one["version"])
                weights = one["weights"] or TokenWeights.load(folder / f"{number}.safetensors")
                self._versions[number] = Version(number, one["name"], one["made"], weights)
            self._current, self._next = int(read["current"]), int(read["next"])
            _ = self.current
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{folder / LIST} is damaged; delete it to begin anew") from error
