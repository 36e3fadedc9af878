"""Later pages of results: shards say where their documents are, and only those on the page are sent."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.data.documents import Document
from chamfer.serve.rankings import Ranked


class Placed(NamedTuple):
    """The top documents of a shard for one query, best first: their ids, places and scores."""

    ids: list[str]
    places: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]


class Entry(NamedTuple):
    """A document on a page. Entries are sorted as results are: ties are broken by id."""

    loss: float
    id: str
    shard: str
    place: int


def page_of(found: Mapping[str, Placed], k: int, offset: int) -> list[Entry]:
    """A page of what several shards found for one query.

    Args:
        found: the top ``offset + k`` of each shard.
        k: number of documents on the page.
        offset: number of documents before it.
    """
    every = [
        Entry(-score, identifier, shard, place)
        for shard, (ids, places, scores) in found.items()
        for identifier, place, score in zip(ids, places.tolist(), scores.tolist(), strict=True)
    ]
    return sorted(every)[offset : offset + k]


def places_of(pages: Sequence[Sequence[Entry]]) -> dict[str, list[int]]:
    """The places of the documents on some pages, by shard."""
    wanted: dict[str, list[int]] = {}
    for shard, place in sorted({(entry.shard, entry.place) for page in pages for entry in page}):
        wanted.setdefault(shard, []).append(place)
    return wanted


def filled(page: Sequence[Entry], documents: Mapping[tuple[str, int], Document]) -> Ranked:
    """A page with its documents; those of a shard that did not answer are left out.

    Args:
        page: the page.
        documents: documents by shard and place.
    """
    there = [entry for entry in page if (entry.shard, entry.place) in documents]
    return Ranked(
        [documents[entry.shard, entry.place] for entry in there],
        np.array([-entry.loss for entry in there], np.float32),
    )
