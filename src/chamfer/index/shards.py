"""A set of shards: parts of an index, each one an index itself, and what they have in common."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from chamfer.errors import InputError
from chamfer.index.manifest import File, Manifest, checksum
from chamfer.index.memory import Growth
from chamfer.index.settings import Settings
from chamfer.index.snapshot import Snapshot
from chamfer.index.trained import Trained
from chamfer.support.files import write_json
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
    """

    version: int
    settings: Settings
    trained: File
    frequencies: File
    documents: int
    shards: tuple[Part, ...]
    index: tuple[str, int]


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
        return ShardVersion(int(content["version"]), str(content["sha256"]))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder / CURRENT} is damaged; split the index again into another folder") from error


def use_version(folder: Path, version: ShardVersion) -> None:
    """Make a version the current one, atomically."""
    write_json(folder / CURRENT, {"version": version.number, "sha256": version.checksum})


def write_set(folder: Path, whole: ShardSet) -> ShardVersion:
    """Write the description of a version into its folder."""
    content = {"format": FORMAT, **asdict(whole)}
    version = ShardVersion(whole.version, checksum(content))
    write_json(folder / SET, {"sha256": version.checksum, "set": content})
    return version


def read_set(folder: Path, version: ShardVersion) -> ShardSet:
    """Read the description of a version."""
    path = version_folder(folder, version.number) / SET
    if not path.is_file():
        raise InputError(f"{folder} holds no version {version.number} of shards; make one with: chamfer index shard")
    try:
        whole = json.loads(path.read_bytes())
        content: dict[str, Any] = whole["set"]
        if whole["sha256"] != checksum(content):
            raise InputError(f"{path} is damaged: checksum mismatch; split the index again")
        if whole["sha256"] != version.checksum:
            raise InputError(f"version {version.number} in {folder} was replaced by another one; open the shards again")
        if content.pop("format") != FORMAT:
            raise InputError(f"{path} was written by another version of chamfer; split the index again")
        return ShardSet(
            **{
                **content,
                "settings": Settings(**content["settings"]),
                "trained": File(*content["trained"]),
                "frequencies": File(*content["frequencies"]),
                "shards": tuple(Part(*part) for part in content["shards"]),
                "index": tuple(content["index"]),
            }
        )
    except InputError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is damaged; split the index again") from error


def open_head(folder: Path, version: ShardVersion) -> Snapshot:
    """A snapshot without documents, to encode and weight queries with.

    Its frequencies are those of the whole corpus, so that ``idf`` is the same as for the index that was split.
    """
    whole = read_set(folder, version)
    place = version_folder(folder, version.number)
    for file in (whole.trained, whole.frequencies):
        file.check(place)
    return Snapshot(
        folder,
        Manifest(version.number, whole.settings, whole.trained, whole.frequencies),
        Trained.load(place / whole.trained.name),
        (),
        DocumentFrequencies(np.fromfile(place / whole.frequencies.name, np.int64), whole.documents),
        Growth(),
    )


def open_shard(folder: Path, version: ShardVersion, number: int) -> Snapshot:
    """A snapshot of one shard, in the commit that belongs to the version."""
    part = read_set(folder, version).shards[number]
    index = Snapshot.open(version_folder(folder, version.number) / part.name)
    if index.manifest.version != part.commit:
        raise InputError(
            f"{index.folder} was changed after the index was split, so the shards no longer match; "
            "change the index itself and split it again"
        )
    return index
