"""Candidates with tokens near those of the query: inverted lists of centroids, probed in proportion to weight."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from chamfer.index.columns import CENTROIDS_FILE, DISTINCT_FILE
from chamfer.index.damage import damaged
from chamfer.index.derived import load_array, remedy_for
from chamfer.index.segment import Segment
from chamfer.index.snapshot import Snapshot
from chamfer.kernels import native
from chamfer.kernels.form import Form
from chamfer.kernels.inverted_lists import InvertedLists
from chamfer.retrieve.stage import Candidates, Queries, Stage
from chamfer.support.threads import map_in_threads
from chamfer.tokens.batch import TokenBatch, TokenIds

STARTS, PLACES = "starts.npy", "places.npy"

# Where the lists of each token end, the lists to probe, and the gain of each.
Probes = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float32]]

PROBES = 32
"""Number of lists to probe for a token of average weight."""

SAME = 0.95
"""The assumed cosine between a rare query token and the same token in a document."""

RARE = 0.02
"""A token is rare if it occurs in at most this share of the documents."""


class Centroids:
    """Inverted lists over the centroids of token vectors.

    A query token of weight ``w`` probes about ``probes * w / mean w`` lists, those of the centroids closest to it; a
    token of weight 0 probes none. A document in one of these lists is assumed to have a token at the closest such
    centroid; a document in none of them, to have one just beyond the last. The weighted sum of these estimates orders
    the candidates. If the lists hold too few documents, because a filter allows few, more lists are probed.

    There are too few centroids for each rare token, such as a name, to have one nearby, and rare tokens weigh most. So
    a rare token probes one more list: the documents that contain this very token, at an assumed cosine of
    :data:`SAME`.
    """

    def __init__(self, index: Snapshot, *, probes: int = PROBES) -> None:
        self._index, self._probes = index, probes
        self._count = len(index.trained.clusters)
        self._lists = [_lists(segment, self._count, index.settings.vocabulary_size) for segment in index.segments]

    def find(self, queries: Queries, depth: int, allowed: npt.NDArray[np.bool_] | None) -> list[Candidates]:
        """Find the documents with the largest total gain from the probed lists."""

        def one(place: int) -> Candidates:
            return self._find(queries.tokens[place], queries.weights_of(place), queries.form, depth, allowed)

        return map_in_threads(one, range(len(queries.tokens)))

    def _find(
        self,
        query: TokenBatch,
        weights: npt.NDArray[np.float32],
        form: Form,
        depth: int,
        allowed: npt.NDArray[np.bool_] | None,
    ) -> Candidates:
        weighted = np.flatnonzero(weights > 0)
        if not len(weighted):
            return Candidates(np.empty(0, np.int64), np.empty(0, np.float32))
        products = query.vectors[weighted].astype(np.float32) @ self._index.trained.clusters.centroids.T
        token_ids = query.token_ids[weighted]
        wanted = min(depth, len(self._index) if allowed is None else np.count_nonzero(allowed))
        probes = self._probes
        while True:
            lists = self._probes_for(products, token_ids, weights[weighted], form, probes)
            found = self._probe(lists, depth, allowed)
            if len(found.places) >= wanted or probes >= products.shape[1]:
                return found
            probes *= 4  # the closest lists hold too few of the allowed documents

    def _probe(self, probes: Probes, depth: int, allowed: npt.NDArray[np.bool_] | None) -> Candidates:
        """Probe the same lists of every segment."""
        ends, chosen, gains = probes
        found = []
        for start, stop, lists in zip(self._index.starts, self._index.starts[1:], self._lists, strict=False):
            mask = None if allowed is None else allowed[start:stop]
            places, gained = lists.probe(ends, chosen, gains, depth=depth, allowed=mask)
            found.append((places + start, gained))
        places = np.concatenate([places for places, _ in found] or [np.empty(0, np.int64)])
        gained = np.concatenate([gained for _, gained in found] or [np.empty(0, np.float32)])
        order = np.argsort(-gained, kind="stable")[:depth] if len(found) > 1 else slice(None)
        return Candidates(places[order], gained[order])

    def _probes_for(
        self,
        products: npt.NDArray[np.float32],
        token_ids: TokenIds,
        weights: npt.NDArray[np.float32],
        form: Form,
        average: int,
    ) -> Probes:
        """The lists to probe for each token, closest first, and the gain of each."""
        count = products.shape[1]
        many = np.clip(np.rint(average * weights / max(weights.mean(), 1e-30)), 1, count).astype(np.int64)
        rare = self._index.frequencies.counts[token_ids] <= RARE * self._index.frequencies.documents
        if native.path():
            return native.choose(
                products, many, np.where(rare, self._count + token_ids.astype(np.int64), -1), SAME, weights, form
            )
        ends, chosen, gains = np.zeros(len(weights), np.int64), [], []
        for token, (row, probes) in enumerate(zip(products, many, strict=True)):
            last = min(probes, count - 1)  # one more than is probed: an upper bound for documents elsewhere
            closest = np.argpartition(-row, last)[: last + 1]
            closest = closest[np.argsort(-row[closest], kind="stable")]
            near = row[closest]
            lists, offers, least = closest[:probes], near[:probes], near[-1]
            if rare[token] and least < SAME:
                at = int(np.searchsorted(-offers, -SAME))
                lists, offers = np.insert(lists, at, self._count + token_ids[token]), np.insert(offers, at, SAME)
            chosen.append(lists)
            gains.append((weights[token] * (_value(offers, form) - _value(least, form))).astype(np.float32))
            ends[token] = len(lists)
        return np.cumsum(ends), np.concatenate(chosen), np.concatenate(gains)


def _value(products: npt.NDArray[np.float32], form: Form) -> npt.NDArray[np.float32]:
    """What products of unit vectors add to a score."""
    if form == "cosine":
        return products
    values: npt.NDArray[np.float32] = -np.sqrt(np.maximum(2 - 2 * products, 0))
    return values


def _lists(segment: Segment, count: int, vocabulary: int) -> InvertedLists:
    """The documents of each centroid, followed by the documents of each token of the vocabulary."""

    def make(folder: Path) -> None:
        near = InvertedLists.of(segment.centroids, segment.offsets, count)
        distinct = segment.source
        same = InvertedLists.of(distinct.columns[DISTINCT_FILE], distinct.offsets["distinct"], vocabulary)
        np.save(folder / STARTS, np.concatenate([near.starts, near.starts[-1] + same.starts[1:]]))
        np.save(folder / PLACES, np.concatenate([near.places, same.places]))

    def read(folder: Path) -> InvertedLists:
        starts, places = np.array(load_array(folder / STARTS, np.int64)), load_array(folder / PLACES, np.uint32)
        if (len(starts), starts[0], starts[-1]) != (count + vocabulary + 1, 0, len(places)) or (
            np.diff(starts) < 0
        ).any():
            raise damaged(folder, "its files are inconsistent", remedy_for(folder))
        return InvertedLists(starts, places, len(segment))

    return segment.derived("centroids-2", make, read, sources=(CENTROIDS_FILE, DISTINCT_FILE))


# Candidates are ordered by an estimate of the score itself, so fewer are enough than with other stages.
STAGE = Stage(Centroids, depth=400)
