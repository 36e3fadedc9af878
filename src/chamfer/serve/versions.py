"""Versions of the weights, one of them in use."""

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Literal

from chamfer.errors import InputError, UnknownNameError
from chamfer.search.query_encoder import QueryEncoder
from chamfer.support.files import InUseError, write_json, writer_lock
from chamfer.support.plain_json import parse_json
from chamfer.support.records import from_json, need
from chamfer.weights.token_origins import are_learnt
from chamfer.weights.token_weights import TokenWeights
from chamfer.weights.zero_shot import NAMES

LIST = "versions.json"

MOST = 100
"""Number of versions to keep; the oldest one not in use is deleted first."""

VersionOrigin = Literal["computed", "learnt", "edited", "given"]

VERDICT, EDITED, EDITED_FROM = "verdict", "edited", "edited_from"
"""Fields of the metadata of weights: whether learnt ones were better than those in use, and what was set by hand."""


@dataclass(frozen=True)
class WeightsVersion:
    """One version of the weights.

    Args:
        number: version number, from 1; never reused.
        name: name to show.
        made: creation time in UTC.
        weights: ``uniform``, ``idf``, ``idf-soft`` or ``mix``, which follow the index as it changes; or weights.
    """

    number: int
    name: str
    made: str
    weights: str | TokenWeights

    @property
    def recipe(self) -> str | None:
        """How the weights were made; None if unknown."""
        if isinstance(self.weights, str):
            return self.weights
        recipe = self.weights.metadata.get("recipe")
        edited = ", edited" if EDITED in self.weights.metadata else ""
        return None if recipe is None else f"{recipe}{edited}"

    @property
    def origin(self) -> VersionOrigin:
        """What made the weights."""
        if isinstance(self.weights, str):
            return "computed"
        if EDITED in self.weights.metadata:
            return "edited"
        if are_learnt(self.weights):
            return "learnt"
        return "computed" if self.weights.metadata.get("recipe") in NAMES else "given"


@dataclass(frozen=True)
class _Listed:
    version: int
    name: str
    made: str
    weights: str | None  # by name; None if they are in a file


@dataclass(frozen=True)
class _List:
    current: int
    next: int
    versions: tuple[_Listed, ...]


class Versions:
    """All versions of the weights, one of them in use. Safe to use from several threads.

    Args:
        first: weights of the first version, unless the folder already holds versions that can be read.
        name: name of the first version.
        folder: folder that stores the versions, for one server at a time; in memory only if not given. A version
            whose file cannot be read is skipped; if it was in use, the version before it is.
    """

    def __init__(self, first: str | TokenWeights, name: str, folder: Path | None = None) -> None:
        self._folder, self._turns = folder, Lock()
        self._versions: dict[int, WeightsVersion] = {}
        self._current, self._next = 0, 1
        self._held = ExitStack()
        if folder is not None:
            self._held.enter_context(writer_lock(folder))
        try:
            if self.exist_in(folder):
                self._read()
            if self._current not in self._versions:
                self.put(first, name)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Release the folder, so that another server can use it."""
        self._held.close()

    @staticmethod
    def exist_in(folder: Path | None) -> bool:
        """Whether a folder already holds versions."""
        return folder is not None and (folder / LIST).exists()

    @property
    def current(self) -> WeightsVersion:
        """The version in use."""
        with self._turns:
            return self._versions[self._current]

    def all(self) -> Sequence[WeightsVersion]:
        """All versions, newest first."""
        with self._turns:
            return sorted(self._versions.values(), key=lambda version: -version.number)

    def find(self, number: int) -> WeightsVersion:
        """The version with a number."""
        with self._turns:
            return self._find(number)

    def check(self, queries: QueryEncoder) -> None:
        """Raise an error if any version does not fit the encoder.

        Args:
            queries: encodes the queries that the weights are for.
        """
        for version in self.all():
            queries.resolve(version.weights)

    def put(self, weights: str | TokenWeights, name: str, *, use: bool = True) -> WeightsVersion:
        """Add a version.

        Args:
            weights: its weights.
            name: its name.
            use: whether to switch to it.
        """
        with self._turns:
            version = WeightsVersion(self._next, name, datetime.now(UTC).isoformat(timespec="seconds"), weights)
            versions = {**self._versions, version.number: version}
            current = version.number if use or not self._versions else self._current
            oldest = [number for number in sorted(versions) if number not in (current, version.number)]
            dropped = oldest[: max(0, len(versions) - MOST)]
            for number in dropped:
                del versions[number]
            if self._folder is not None and isinstance(weights, TokenWeights):
                weights.save(self._file(version.number))
            self._write(versions, current, version.number + 1)
            self._versions, self._current, self._next = versions, current, version.number + 1
            for number in dropped:
                if self._folder is not None:
                    self._file(number).unlink(missing_ok=True)
        return version

    def use(self, number: int) -> WeightsVersion:
        """Switch to a version."""
        with self._turns:
            version = self._find(number)
            self._write(self._versions, number, self._next)
            self._current = number
        return version

    def drop(self, number: int) -> None:
        """Delete a version that is not in use."""
        with self._turns:
            self._find(number)
            if number == self._current:
                raise InUseError(f"version {number} is in use; switch to another version first")
            versions = {key: version for key, version in self._versions.items() if key != number}
            self._write(versions, self._current, self._next)
            self._versions = versions
            if self._folder is not None:
                self._file(number).unlink(missing_ok=True)

    def _find(self, number: int) -> WeightsVersion:
        if number not in self._versions:
            raise UnknownNameError(f"there is no version {number} of the weights; GET /weights lists them")
        return self._versions[number]

    def _file(self, number: int) -> Path:
        assert self._folder is not None
        return self._folder / f"{number}.safetensors"

    def _write(self, versions: dict[int, WeightsVersion], current: int, following: int) -> None:
        if self._folder is None:
            return
        listed = tuple(
            _Listed(one.number, one.name, one.made, one.weights if isinstance(one.weights, str) else None)
            for one in versions.values()
        )
        write_json(self._folder / LIST, asdict(_List(current, following, listed)))

    def _read(self) -> None:
        assert self._folder is not None
        try:
            read = from_json(_List, parse_json((self._folder / LIST).read_bytes()))
            for one in read.versions:
                need(one.weights is None or one.weights in NAMES, f"there are no weights {one.weights!r}")
        except ValueError as error:
            raise InputError(f"{self._folder / LIST} is damaged; move it away to start over") from error
        self._current, self._next = read.current, read.next
        if self._current not in [one.version for one in read.versions]:
            raise InputError(f"{self._folder / LIST} does not say which version is in use; move it away to start over")
        for one in read.versions:
            try:
                stored = one.weights or TokenWeights.load(self._file(one.version))
            except InputError as error:  # damaged, or accepted by an older server; the others still work
                logging.getLogger("chamfer").warning("version %d of the weights is skipped: %s", one.version, error)
                continue
            self._versions[one.version] = WeightsVersion(one.version, one.name, one.made, stored)
        if self._current not in self._versions:  # a later version was never in use, or was replaced
            self._current = max((number for number in self._versions if number < self._current), default=0)
