"""What unrelated texts score in an index: the background that makes scores mean something.

Parts of random documents stand for queries, and are scored against other random documents. Estimates are kept beside
the index, for each weighting, and hold until the index has twice or half as many documents.
"""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from chamfer.errors import DamagedError, InputError
from chamfer.index.derived import DERIVED
from chamfer.index.manifest import Manifest
from chamfer.index.signed import checksum
from chamfer.kernels.form import Form
from chamfer.retrieve.ranker import Ranker
from chamfer.retrieve.unrelated import kernel_scores, spans_of
from chamfer.search.query_encoder import QueryEncoder
from chamfer.support.files import unfinished_name
from chamfer.support.plain_json import parse_json
from chamfer.support.records import from_json
from chamfer.weights.digest import digest_of
from chamfer.weights.names import COUNTED
from chamfer.weights.token_weights import TokenWeights

FILE = "background.json"

SHARE = 0.99
"""Share of unrelated pairs that score less than the level of an index; see docs/results/thresholds.md."""

FEWEST = 20
"""Documents below which nothing is estimated: there would be too few pairs, or too many related ones."""

GROWTH = 2
"""An estimate holds until the number of documents has changed by this factor."""

# Weightings whose estimates are kept; the oldest one is dropped first.
MOST = 50


@dataclass(frozen=True)
class Estimate:
    """The level of an index for one weighting.

    Args:
        key: see :func:`key_of`.
        documents: number of documents when it was estimated.
        level: the score that one in a hundred unrelated pairs reaches.
    """

    key: str
    documents: int
    level: float

    def holds(self, key: str, documents: int) -> bool:
        """Whether it is the level for a key, and not outdated."""
        few, many = sorted((self.documents, documents))
        return self.key == key and 0 < many <= GROWTH * few and 0 <= self.level <= 1


@dataclass(frozen=True)
class _List:
    estimates: tuple[Estimate, ...]


class Levels:
    """What unrelated texts score in an index, for any weights.

    Args:
        ranker: ranks the documents of the index.
        encoder: encodes queries for it.
    """

    def __init__(self, ranker: Ranker, encoder: QueryEncoder) -> None:
        self._ranker, self._encoder = ranker, encoder
        self._known: dict[str, float | None] = {}  # an index that cannot be written keeps nothing

    def of(self, weights: str | TokenWeights) -> float | None:
        """The score that one in a hundred unrelated pairs reaches; None if there are too few documents.

        Args:
            weights: the weights of the queries.
        """
        if self.knows(weights):
            return self._known.get(self._key(weights))
        key, index, level = self._key(weights), self._ranker.index, self._estimated(weights)
        if level is not None:
            keep_level(index.folder, Estimate(key, index.manifest.documents, level))
        self._known[key] = level
        return level

    def knows(self, weights: str | TokenWeights) -> bool:
        """Whether nothing has to be estimated, because the level is here or beside the index, or there can be none.

        Args:
            weights: the weights of the queries.
        """
        index = self._ranker.index
        documents = index.manifest.documents
        if documents < FEWEST:
            return True
        key = self._key(weights)
        if key not in self._known and (level := read_level(index.folder, key, documents)) is not None:
            self._known[key] = level
        return key in self._known

    def is_kept(self, weights: str | TokenWeights) -> bool:
        """Whether no other process has to estimate it again.

        Args:
            weights: the weights of the queries.
        """
        folder = self._ranker.index.folder
        derived = folder / DERIVED
        return self.knows(weights) or os.access(derived if derived.exists() else folder, os.W_OK)

    def _key(self, weights: str | TokenWeights) -> str:
        encoder = self._encoder
        return key_of(encoder.resolve(weights), weights, encoder.form, self._ranker.index.manifest)

    def _estimated(self, weights: str | TokenWeights) -> float | None:
        ranker, spans = self._ranker, spans_of(self._ranker.index)
        if not spans:
            return None
        queries = self._encoder.encode([span.text for span in spans], weights)
        try:
            found = kernel_scores(ranker.index, ranker.evidence, queries, [span.document for span in spans])
        except DamagedError:
            raise
        except InputError:  # weights that are too large for some of these, though not for the query at hand
            return None
        return level_of(scale.scores(scores) for scale, scores in zip(ranker.scales(queries), found, strict=True))


def level_of(scores: Iterable[npt.NDArray[np.floating]]) -> float | None:
    """The score that one in a hundred unrelated pairs reaches; None without any.

    Args:
        scores: scores of unrelated documents, for each query.
    """
    every = np.concatenate([np.empty(0), *scores])
    return float(np.quantile(every, SHARE)) if len(every) else None


def key_of(weights: TokenWeights, name: object, form: Form, manifest: Manifest | None = None) -> str:
    """What a level depends on, apart from the documents.

    Args:
        weights: the weights.
        name: their name, if they have one; those that are counted change a little with every document.
        form: form of the score.
        manifest: the commit, whose settings say how documents are stored.
    """
    stored = None
    if manifest is not None:
        trained = None if manifest.trained is None else manifest.trained.sha256
        stored = {"settings": manifest.settings.as_json(), "trained": trained}
    return checksum({"weights": name if name in COUNTED else digest_of(weights), "form": form, "stored": stored})


def read_level(folder: Path, key: str, documents: int) -> float | None:
    """The level that is kept beside an index; None if there is none, or it is outdated or damaged.

    Args:
        folder: folder of the index.
        key: see :func:`key_of`.
        documents: number of documents now.
    """
    return next((one.level for one in _read(folder) if one.holds(key, documents)), None)


def keep_level(folder: Path, estimate: Estimate) -> None:
    """Keep a level beside an index, if its folder can be written."""
    others = [one for one in _read(folder) if one.key != estimate.key]
    path = folder / DERIVED / FILE
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)  # not the folder of an index that was deleted meanwhile
        unfinished = unfinished_name(path)
        unfinished.write_text(json.dumps(asdict(_List((*others, estimate)[-MOST:]))))
        unfinished.replace(path)


def _read(folder: Path) -> tuple[Estimate, ...]:
    try:
        return from_json(_List, parse_json((folder / DERIVED / FILE).read_bytes())).estimates
    except (OSError, ValueError):
        return ()
