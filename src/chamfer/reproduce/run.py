"""A run over many datasets, saved dataset by dataset so that it can be interrupted and resumed."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from chamfer.data.collection import load_collection
from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError
from chamfer.reproduce.datasets import (
    DATASETS,
    DOCUMENT_LENGTH,
    QUERY_LENGTH,
    SERVER,
    UNFILLED_QUERY_LENGTH,
    Dataset,
    dataset_named,
)
from chamfer.reproduce.download import fetch
from chamfer.reproduce.environment import environment
from chamfer.reproduce.paper import SETTINGS, Setting
from chamfer.reproduce.protocol import Protocol, reproduce_dataset
from chamfer.support.files import write_json, writer_lock
from chamfer.support.progress import Progress, quiet

RUN, RESULT = "run.json", "result.json"


class MissingError(InputError):
    """A collection is not in the data folder."""


class Skipped(NamedTuple):
    """A dataset without results, and the reason."""

    dataset: str
    why: str


@dataclass(frozen=True)
class RunEncoder:
    """The encoder of a run; lengths that are not given depend on the dataset."""

    name: str
    query_length: int | None = None
    document_length: int | None = None

    def load(self, dataset: Dataset) -> Encoder:
        """Load the encoder with the lengths for a dataset."""
        own = self.own
        query, document = dataset.query_length or UNFILLED_QUERY_LENGTH, DOCUMENT_LENGTH
        if own.fills_queries:  # its saved lengths are defaults, its positions a hard limit
            query = dataset.query_length or QUERY_LENGTH
            longest = own.most_tokens, own.most_tokens
        else:  # a plain encoder was not trained with longer texts
            longest = own.query_length, own.document_length
        return _loaded(
            self.name,
            self.query_length or min(query, longest[0]),
            self.document_length or min(document, longest[1]),
        )

    @property
    def own(self) -> Encoder:
        """The encoder with its saved lengths."""
        return _loaded(self.name, None, None)


@cache
def _loaded(name: str, query_length: int | None, document_length: int | None) -> Encoder:
    return Encoder.load(
        name, query_length=query_length, document_length=document_length, arithmetic="auto", engine="auto"
    )


def run(
    out: Path,
    datasets: Sequence[str],
    model: RunEncoder,
    protocol: Protocol,
    *,
    settings: Sequence[Setting] = SETTINGS,
    data: Path | None = None,
    resume: bool = False,
    say: Callable[[str], None] = lambda _: None,
    progress: Progress = quiet,
) -> list[Skipped]:
    """Run the protocol on datasets and save the results in a folder; finished datasets are not repeated.

    Args:
        out: run folder.
        datasets: names of datasets; the paper's and all in ``data`` if none are given.
        model: encoder of the run.
        protocol: settings that all datasets share.
        settings: settings to run, ``rerank`` or ``end-to-end``.
        data: folder of BEIR collections; without one, they are downloaded from BEIR's server into the cache.
        resume: whether to resume the run in the folder.
        say: callback for messages.
        progress: progress callback.

    Returns:
        Datasets that were requested or found, but have no results.
    """
    chosen = chosen_datasets(datasets, data)
    made_with = {
        "encoder": {**asdict(model), "model": model.own.model_fingerprint, "arithmetic": model.own.arithmetic},
        "protocol": {name: value for name, value in asdict(protocol).items() if name != "cache"},
    }
    skipped: list[Skipped] = []
    absent: list[Dataset] = []
    with writer_lock(out):
        _begin(out, made_with, resume=resume)
        for dataset in chosen:
            missing = [setting for setting in settings if _read(out / dataset.name / setting / RESULT) is None]
            if not missing:
                say(f"{dataset.name}: already done")
                continue
            try:
                collection = load_collection(locate(dataset, data, protocol.cache, progress), allow_empty=True)
                setup = protocol.setup(collection, model.load(dataset), progress=progress)
                for setting in missing:
                    say(f"{dataset.name}, {setting}: {len(collection.documents)} documents ...")
                    shutil.rmtree(out / dataset.name / setting, ignore_errors=True)  # left by a crash
                    result = reproduce_dataset(setup, dataset, setting, protocol, out / dataset.name)
                    write_json(out / dataset.name / setting / RESULT, {"environment": environment(), **result})
                    say(f"{dataset.name}, {setting}: {result['seconds']['all']:.0f} s")
            except InputError as error:
                if isinstance(error, MissingError) and not datasets:  # it was not named
                    absent.append(dataset)
                else:
                    say(f"{dataset.name}: skipped, {error}")
                    skipped.append(Skipped(dataset.name, str(error)))
    if absent:
        names = ", ".join(dataset.name for dataset in absent)
        say(f"skipped datasets that are not in {data}: {names}; download {SERVER}/NAME.zip and unpack it there")
    return skipped


def chosen_datasets(names: Sequence[str], data: Path | None) -> list[Dataset]:
    """The named datasets; without names, the paper's in its order, then the others in ``data``."""
    if names:
        return [dataset_named(name) for name in dict.fromkeys(names)]
    known = {dataset.name for dataset in DATASETS}
    others = [name for name in collections_in(data) if name not in known] if data is not None else []
    return [*DATASETS, *map(dataset_named, others)]


def collections_in(data: Path) -> list[str]:
    """The names of the BEIR collections in a folder, sorted."""
    if not data.is_dir():
        raise MissingError(f"there is no folder {data}; give --data a folder of BEIR collections")
    return sorted(path.parent.name for path in data.glob("*/corpus.jsonl"))


def locate(dataset: Dataset, data: Path | None, cache: Path, progress: Progress = quiet) -> Path:
    """The folder of a dataset, downloaded if necessary; an error explains how to get it otherwise."""
    if data is not None:
        if (data / dataset.name).is_dir():
            return data / dataset.name
        held = ", ".join(collections_in(data)) or "no collections"
        how = f"download {dataset.url} and unpack it there" if dataset.url else f"it has {held}"
        raise MissingError(f"it is not in {data}; {how}")
    if not dataset.url:
        raise InputError(
            f"it is not one of the paper's datasets ({', '.join(one.name for one in DATASETS)}); give --data DIR"
        )
    return fetch(dataset.url, dataset.md5, cache / "beir", sha256=dataset.sha256, progress=progress)


def read_results(out: Path) -> list[dict[str, Any]]:
    """The results of a run so far: the paper's datasets in its order, then the others by name."""
    order = {dataset.name: place for place, dataset in enumerate(DATASETS)}
    found = list(_read_results(out))
    if not found:
        raise InputError(f"{out} holds no results; run chamfer reproduce without --only-report first")
    return sorted(found, key=lambda one: (order.get(one["dataset"], len(order)), one["dataset"], one["setting"]))


def _read_results(out: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(out.glob(f"*/*/{RESULT}")):
        result = _read(path)
        if result is None:
            raise InputError(f"{path} is damaged; delete it, or use --resume to compute it again")
        yield result


def _read(path: Path) -> dict[str, Any] | None:
    """A saved result; None if it is missing or damaged."""
    try:
        result: dict[str, Any] = json.loads(path.read_bytes())
        return result if result["dataset"] and result["setting"] and result["systems"] else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _begin(out: Path, made_with: Mapping[str, Mapping[str, Any]], *, resume: bool) -> None:
    """Save the settings of the run, or check that they are the saved ones."""
    path = out / RUN
    begun = any(out.glob("*/splits.json"))
    if not path.exists() or not (begun or resume):
        write_json(path, {**made_with, "environment": environment()})
        return
    if not resume:
        raise InputError(f"{out} already holds a run; continue it with --resume, or choose another --out")
    try:
        before = {name: dict(json.loads(path.read_bytes())[name]) for name in made_with}
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is damaged; choose another --out") from error
    for name, settings in made_with.items():
        for key, value in settings.items():
            if before[name].get(key) != value:
                raise InputError(
                    f"{out} holds a run with another {name} ({key} is {before[name].get(key)}, not {value}); "
                    "choose another --out"
                )
