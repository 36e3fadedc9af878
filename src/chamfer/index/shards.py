"""A set of shards: parts of an index, each one an index itself, and what they have in common."""

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from chamfer.errors import InputError
from chamfer.index.damage import damaged
from chamfer.index.manifest import File, Manifest, with_defaults
from chamfer.index.memory import Growth
from chamfer.index.names import FREQUENCIES, PLAIN, TRAINED
from chamfer.index.settings import PASSAGES, Settings, without
from chamfer.index.signed import checksum, read_signed, write_signed
from chamfer.index.snapshot import Snapshot
from chamfer.index.soundness import Soundness
from chamfer.index.trained import Trained
from chamfer.support.files import write_json
from chamfer.support.records import from_json, need
from chamfer.weights.frequencies import DocumentFrequencies

FORMAT = 1
CURRENT = "shards.json"
SET = "set.json"


class ShardVersion(NamedTuple):
    """One version of a set of shards: its number, counted per folder, and the checksum of its description."""

    number: int
    checksum: str


class Part(NamedTuple):
    """One shard: name of its folder, number of documents, and the commit that belongs to the set."""

    name: str
    documents: int
    commit: int


@dataclass(frozen=True)
class ShardSet:
    """One version of a set. Document ``d`` is in shard ``owner_of(d, number of shards)``.

    Args:
        version: number of the version; one higher whenever an index is split into the same folder.
        settings: settings of every shard.
        trained: centroids, projection and residual levels, which all shards share.
        frequencies: number of documents in the whole corpus that contain each token.
        documents: number of documents in all shards.
        shards: the shards, in order.
        index: name and commit of the index that was split.
        passages: number of passages in all shards; None without passages.
    """

    version: int
    settings: Settings
    trained: File
    frequencies: File
    documents: int
    shards: tuple[Part, ...]
    index: tuple[str, int]
    passages: int | None = None

    @property
    def rows(self) -> int:
        """Number of documents or of passages: what frequencies count."""
        return self.documents if self.passages is None else self.passages

    def as_json(self) -> dict[str, Any]:
        """As JSON; a set without passages is written as by versions that knew none."""
        content = {**asdict(self), "settings": self.settings.as_json()}
        return content if self.passages is not None else without(content, PASSAGES)

    def check_record(self) -> None:
        """Refuse a description that :func:`write_set` does not write."""
        self.trained.check_record(TRAINED)
        self.frequencies.check_record(FREQUENCIES)
        need(self.frequencies.bytes == 8 * self.settings.vocabulary_size, "there is one frequency for each token")
        need(self.version >= 1 and self.shards, "a version has a number and shards")
        for part in self.shards:
            need(re.fullmatch(PLAIN, part.name), f"a shard cannot be named {part.name!r}")
            need(part.documents >= 0 and part.commit >= 0, f"the counts of {part.name} must not be negative")
        need((self.passages is None) == (self.settings.passages is None), "passages are counted if there are any")
        need(self.documents == sum(part.documents for part in self.shards), "each document is in one shard")


def owner_of(identifier: str, shards: int) -> int:
    """The shard of a document. It depends on the id alone, so it is the same in every version and on every machine.

    >>> [owner_of(name, 4) for name in ("a", "b", "c")]
    [0, 0, 3]
    """
    digest = hashlib.blake2b(identifier.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") % shards


def version_folder(folder: Path, number: int) -> Path:
    """The folder of a version."""
    return folder / f"{number:08d}"


def holds_shards(folder: Path) -> bool:
    """Whether a folder holds a set of shards."""
    return (folder / CURRENT).is_file()


def current_version(folder: Path) -> ShardVersion:
    """The current version."""
    if not holds_shards(folder):
        raise InputError(f"{folder} holds no shards; make some with: chamfer index shard")
    try:
        content = json.loads((folder / CURRENT).read_bytes())
        version = from_json(ShardVersion, [content["version"], content["sha256"]])
        need(version.number >= 1, "versions are counted from 1")
        return version
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{folder / CURRENT} is damaged; split the index again into another folder") from error


def use_version(folder: Path, version: ShardVersion) -> None:
    """Make a version the current one, atomically."""
    write_json(folder / CURRENT, {"version": version.number, "sha256": version.checksum})


def write_set(folder: Path, whole: ShardSet) -> ShardVersion:
    """Write the description of a version into its folder."""
    return ShardVersion(whole.version, write_signed(folder / SET, "set", {"format": FORMAT, **whole.as_json()}))


def read_set(folder: Path, version: ShardVersion) -> ShardSet:
    """Read the description of a version."""
    path = version_folder(folder, version.number) / SET
    if not path.is_file():
        raise InputError(f"{folder} holds no version {version.number} of shards; make one with: chamfer index shard")
    try:
        content = read_signed(path, "set")
        same, known = checksum(content) == version.checksum, content.pop("format", None) == FORMAT
        whole = from_json(ShardSet, {PASSAGES: None, **with_defaults(content)}) if same and known else None
        if whole is not None:
            whole.check_record()
    except ValueError as error:
        raise damaged(path, error, "split the index again") from error
    if whole is not None:
        return whole
    if same:
        raise InputError(f"{path} was written by another version of chamfer; split the index again")
    raise InputError(f"version {version.number} in {folder} has been overwritten; reopen the shards")


def open_head(folder: Path, version: ShardVersion) -> Snapshot:
    """A snapshot without documents, to encode and weight queries with.

    Its frequencies are those of the whole corpus, so that ``idf`` is the same as for the index that was split.
    """
    whole = read_set(folder, version)
    place = version_folder(folder, version.number)
    for file in (whole.trained, whole.frequencies):
        file.check(place)
    manifest = Manifest(version.number, whole.settings, whole.trained, whole.frequencies)
    return Snapshot(
        folder,
        manifest,
        Trained.load(place / whole.trained.name, whole.settings),
        (),
        DocumentFrequencies(np.fromfile(place / whole.frequencies.name, np.int64), whole.rows),
        Growth(),
        Soundness(place, manifest),
    )


def open_shard(folder: Path, version: ShardVersion, number: int, *, verify: bool = False) -> Snapshot:
    """A snapshot of one shard, in the commit that belongs to the version; see :meth:`Snapshot.open`."""
    part = read_set(folder, version).shards[number]
    index = Snapshot.open(version_folder(folder, version.number) / part.name, verify=verify)
    if index.manifest.version != part.commit:
        raise InputError(
            f"{index.folder} was changed after the index was split, so the shards no longer match; "
            "change the index itself and split it again"
        )
    return index
