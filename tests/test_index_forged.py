"""Records whose checksum is right and whose content is not: every one is refused by our own error, or harmless."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from chamfer import InputError
from chamfer.cache.corpus import EncodedCorpus
from chamfer.cache.encoding import encode_corpus
from chamfer.cache.text_encoder import EncodedTexts
from chamfer.index.derived import LIST, check_derived
from chamfer.index.description import describe
from chamfer.index.manifest import MANIFEST, read_manifest
from chamfer.index.settings import Settings
from chamfer.index.shards import CURRENT, SET, ShardVersion, current_version, open_head, read_set, version_folder
from chamfer.index.signed import checksum
from chamfer.index.snapshot import Snapshot
from chamfer.index.splitting import split_index
from chamfer.index.trained import Trained
from chamfer.index.verify import verify
from chamfer.index.writing import writing
from chamfer.tokens.batch import TokenBatch
from tests.index_model import Operation, addition, settings_of

VALUES: list[Any] = [None, True, -1, 2**63, 0.5, "", "..", "../x", "\ud800", "\0", [], [[]], {}, {"a": 1}]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forged") / "index"
    generator = np.random.default_rng(0)
    with writing(folder, settings_of("4bit")) as writer:
        addition(generator, [f"d{number}" for number in range(12)]).perform(writer)
        addition(generator, ["e1", "e2"]).perform(writer)
        Operation("delete", ids=["d3"]).perform(writer)
    return folder


@pytest.fixture
def restored(index: Path) -> Iterator[Path]:
    """The same index for all tests, which change its manifest."""
    content = (index / MANIFEST).read_bytes()
    yield index
    (index / MANIFEST).write_bytes(content)


def delete(folder: Path) -> None:
    with writing(folder) as writer:
        writer.delete(["absent"])


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield value, key
        yield from places(inner)


def forgeries(content: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The content with one value replaced or removed, or a value added."""
    for number in range(len(list(places(content)))):
        for value in VALUES:
            forged = deepcopy(content)
            holder, key = list(places(forged))[number]
            if holder[key] != value:
                holder[key] = value
                yield forged
        forged = deepcopy(content)
        holder, key = list(places(forged))[number]
        del holder[key]
        yield forged
    yield {**content, "surplus": 1}


def sign(path: Path, name: str, content: dict[str, Any]) -> None:
    path.write_text(json.dumps({"sha256": checksum(content), name: content}))


def accepted(path: Path, name: str, read: Callable[[], object]) -> int:
    """How many forgeries are not refused; anything but our own error goes on."""
    content = json.loads(path.read_bytes())[name]
    count = 0
    for forged in islice(forgeries(content), 0, None, 4):  # every fourth, so that all places and all values have a turn
        sign(path, name, forged)
        with suppress(InputError):
            read()
            count += 1
    sign(path, name, content)
    read()
    return count


def test_a_forged_manifest_is_refused_by_name_when_it_is_read(restored: Path) -> None:
    # Another version or another file's checksum may be true; so may be the description of an unknown encoder.
    assert accepted(restored / MANIFEST, "index", lambda: read_manifest(restored)) < 10
    sign(restored / MANIFEST, "index", {"format": 1, "version": "3"})
    with pytest.raises(InputError, match=r"index\.json is damaged: .*; delete the index and build it again"):
        read_manifest(restored)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (["version"], True),
        (["version"], 10**400),
        (["segments", 0, "name"], "1" * 300),
        (["segments", 0, "name"], "\u0661" * 8),
        (["settings", "dimensions"], 16),
        (["settings", "vocabulary_size"], 41),
        (["settings", "precision"], "2bit"),
        (["settings", "pool"], 2),
        (["settings", "encoder"], {"name": "x"}),
        (["segments", 0, "name"], "../00000001"),
        (["segments", 0, "documents"], 11),
        (["segments", 0, "tokens"], 1),
        (["segments", 0, "dead"], 13),
        (["segments", 0, "deleted"], None),
        (["segments", 0, "files"], []),
        (["segments", 0, "files", 0, 0], "/etc/passwd"),
        (["segments", 1, "name"], "00000001"),
        (["trained", 0], "index.json"),
        (["trained"], None),
        (["frequencies", 1], 8),
        (["building"], {"documents": 3, "done": "4"}),
        (["building"], {"documents": 3, "done": 4}),
    ],
)
def test_no_forgery_gets_past_opening_describing_and_verifying(restored: Path, keys: list[Any], value: object) -> None:
    content = json.loads((restored / MANIFEST).read_bytes())["index"]
    holder = content
    for key in keys[:-1]:
        holder = holder[key]
    holder[keys[-1]] = value
    sign(restored / MANIFEST, "index", content)
    for attempt in (lambda: describe(restored), lambda: Snapshot.open(restored), lambda: delete(restored)):
        with suppress(InputError):
            attempt()
    assert (keys[-1] == "pool") == (verify(restored) == [])  # nothing that is stored contradicts it


@pytest.mark.parametrize(
    "text", ["", "null", "[]", '{"sha256": 1}', "[" * 100_000, '{"sha256": "", "index": []}', "\xff"]
)
def test_what_is_no_manifest_is_refused(restored: Path, text: str) -> None:
    (restored / MANIFEST).write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match=r"index\.json is damaged: "):
        read_manifest(restored)


def test_forged_shards_are_refused(index: Path, tmp_path: Path) -> None:
    split_index(index, tmp_path, shards=2)
    path = version_folder(tmp_path, 1) / SET

    def read() -> None:
        digest = json.loads(path.read_bytes())["sha256"]
        read_set(tmp_path, ShardVersion(1, digest))

    assert accepted(path, "set", read) < 10
    open_head(tmp_path, current_version(tmp_path))
    for version in VALUES:
        (tmp_path / CURRENT).write_text(json.dumps({"version": version, "sha256": "x"}))
        with suppress(InputError):
            open_head(tmp_path, current_version(tmp_path))
    (tmp_path / CURRENT).write_text("[" * 100_000)
    with pytest.raises(InputError, match="is damaged"):
        current_version(tmp_path)


def test_a_forged_list_of_derived_files_is_refused(index: Path) -> None:
    [segment, _] = Snapshot.open(index).segments
    segment.derived("test-1", lambda folder: (folder / "a.txt").touch(), lambda _: None)
    [folder] = index.glob("derived/*/test-1")
    assert accepted(folder / LIST, "derived", lambda: check_derived(folder, whole=True)) <= 1  # an empty list


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("centroids", lambda values: values[:, :4]),
        ("centroids", lambda values: values * np.nan),
        ("centroids", lambda values: values.astype(np.float16)),
        ("cells", lambda values: values[:0]),
        ("starts", lambda values: values + 1),
        ("starts", lambda values: values[::-1]),
        ("asked", lambda values: np.array([1, 2])),
        ("asked", lambda values: values * 0),
        ("levels", lambda values: values[:5]),
        ("spread", None),
    ],
)
def test_centroids_that_were_not_trained_for_the_index_are_refused(
    index: Path, tmp_path: Path, name: str, change: Callable[[Any], Any] | None
) -> None:
    [source] = index.glob("trained-*")
    arrays = load_file(source)
    if change is None:
        del arrays[name]
    else:
        arrays[name] = np.ascontiguousarray(change(arrays[name]))
    save_file(arrays, tmp_path / "trained")
    with pytest.raises(InputError, match="trained is damaged: "):
        Trained.load(tmp_path / "trained", settings_of("4bit"))


def test_settings_refuse_an_encoder_that_could_not_be_loaded_again() -> None:
    encoder = {"name": "minilm", "query_length": "3", "document_length": 3, "arithmetic": "", "documents": ""}
    with pytest.raises(InputError, match="the description of the encoder is wrong: query_length must be int, not '3'"):
        Settings(8, 40, encoder=encoder)


def test_a_forged_cache_is_refused(tmp_path: Path) -> None:
    def encode(texts: Any, _advance: object) -> EncodedTexts:
        tokens = TokenBatch.pack([np.ones((2, 3), np.float32) for _ in texts], [[0, 1] for _ in texts])
        return EncodedTexts(tokens, [np.zeros(1, np.int32) for _ in texts], [False for _ in texts])

    encode_corpus(tmp_path, ["a", "b"], ["x", "y"], encode=encode, made_from={"texts": "t"})
    path = tmp_path / "manifest.json"
    content = json.loads(path.read_bytes())
    for forged in forgeries(content):
        path.write_text(json.dumps(forged))
        with suppress(InputError):
            assert len(EncodedCorpus.open(tmp_path)) == 2
    path.write_text(json.dumps(content))
    for name in ("ids.jsonl", "lengths.i32", "distinct_lengths.i32"):
        before = (tmp_path / name).read_bytes()
        for place in range(len(before)):
            (tmp_path / name).write_bytes(before[:place] + bytes([before[place] ^ 0x81]) + before[place + 1 :])
            with suppress(InputError):
                corpus = EncodedCorpus.open(tmp_path)
                assert all(isinstance(one, str) for one in corpus.ids)
                assert corpus.distinct is not None
        (tmp_path / name).write_bytes(before)
    assert asdict(EncodedCorpus.open(tmp_path).tokens)["offsets"].tolist() == [0, 2, 4]
