"""A set of shards: parts of one index, each an index of its own, and what is known of all of them together."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from chamfer.errors import InputError
from chamfer.index.manifest import File, Manifest
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
    """One version of a set: its number, which begins anew in a new folder, and the checksum of what it is made of."""

    number: int
    checksum: str


class Part(NamedTuple):
    """One shard: the name of its folder, how many documents it holds, and the commit of it that belongs to the set."""

    name: str
    documents: int
    commit: int


@dataclass(frozen=True)
class ShardSet:
    """One version of a set. Document ``d`` is in shard ``owner_of(d, number of shards)``.

    Args:
        version: rises by one whenever an index is split into the same folder.
        settings: of every shard.
        trained: what was learnt from a sample; all shards share it.
        frequencies: in how many documents of the whole corpus each token appears.
        documents: of all shards.
        shards: in their order.
        index: the name and the commit of the index that was split.
    """

    version: int
    settings: Settings
    trained: File
    frequencies: File
    documents: int
    shards: tuple[Part, ...]
    index: tuple[str, int]


def owner_of(identifier: str, shards: int) -> int:
    """The shard that a document belongs to, by its id alone: in every version, on every machine.

    >>> [owner_of(name, 4) for name in ("a", "b", "c")]
    [0, 0, 3]
    """
    digest = hashlib.blake2b(identifier.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") % shards


def version_folder(folder: Path, number: int) -> Path:
    """Where a version lies."""
    return folder / f"{number:08d}"


def holds_shards(folder: Path) -> bool:
    """Whether a folder holds a set of shards."""
    return (folder / CURRENT).is_file()


def current_version(folder: Path) -> ShardVersion:
    """The version that counts."""
    if not holds_shards(folder):
        raise InputError(f"{folder} holds no shards; make some with: chamfer index shard")
    try:
        content = json.loads((folder / CURRENT).read_bytes())
        return ShardVersion(int(content["version"]), str(content["sha256"]))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder / CURRENT} is damaged; split the index again, into another folder") from error


def use_version(folder: Path, version: ShardVersion) -> None:
    """Make a version the one that counts: before this nothing of it does, afterwards all of it."""
    write_json(folder / CURRENT, {"version": version.number, "sha256": version.checksum})


def write_set(folder: Path, whole: ShardSet) -> ShardVersion:
    """Write what a version is made of into its folder."""
    content = {"format": FORMAT, **asdict(whole)}
    checksum = _checksum(content)
    write_json(folder / SET, {"sha256": checksum, "set": content})
    return ShardVersion(whole.version, checksum)


def read_set(folder: Path, version: ShardVersion) -> ShardSet:
    """Read what a version is made of."""
    path = version_folder(folder, version.number) / SET
    if not path.is_file():
        raise InputError(f"{folder} holds no version {version.number} of shards; make one with: chamfer index shard")
    try:
        whole = json.loads(path.read_bytes())
        content: dict[str, Any] = whole["set"]
        if whole["sha256"] != _checksum(content):
            raise InputError(f"{path} is damaged: its checksum is another; split the index again")
        if whole["sha256"] != version.checksum:
            raise InputError(f"{folder} holds another version {version.number} than it did; it was made anew")
        if content.pop("format") != FORMAT:
            raise InputError(f"{path} was written by another version of chamfer; split the index again")
        return ShardSet(
            **{
                **content,
                "settings": Settings.from_json(content["settings"]),
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
    """A version without its documents: enough to encode queries for it and to weigh their tokens.

    Its frequencies are those of the whole corpus, so that ``idf`` means what it means for the index that was split.
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
    """One shard of a version, as it was when the set was written."""
    part = read_set(folder, version).shards[number]
    index = Snapshot.open(version_folder(folder, version.number) / part.name)
    if index.manifest.version != part.commit:
        raise InputError(
            f"{index.folder} was changed after the index was split, so that shards no longer fit each other; "
            "change the index itself, and split it again"
        )
    return index


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
