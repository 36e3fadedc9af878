"""How well scores tell queries that a collection answers from those that it does not.

Answerable: judged queries. Unanswerable: the same queries, with their relevant documents left out; queries of another
collection; and nonsense. Statistics are chosen on queries to learn from, and reported on test queries; splits are those
of learning.py. Writes ``COLLECTION.json`` into ``--out``.
"""

import time
from collections.abc import Iterator, Mapping, Set
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

import campaign
from campaign import RESULTS, Record
from chamfer import TokenWeights
from chamfer.data.collection import load_collection
from chamfer.evaluate.setup import Setup
from chamfer.kernels import dispatch
from chamfer.kernels.cosines import cosines
from chamfer.learn.on_collection import starting_weights
from chamfer.retrieve.unrelated import DOCUMENTS, SPANS, span_in
from chamfer.support.sampling import draw
from chamfer.tokens.means import mean_vectors
from chamfer.weights.scale import Scale
from corpora import described
from judged_splits import open_collection, read_splits

# Judged queries of each role, and queries of each other kind.
JUDGED, OTHERS = 75, 40
# The place of the document that a margin is measured to.
TENTH = 9
SHARES = (0.95, 0.98, 0.99, 0.995)

LEARN, TEST, REMOVED, FOREIGN, NONSENSE = "learn", "test", "removed", "foreign", "nonsense"
"""Kinds of queries; ``learn removed`` and ``test removed`` are judged ones without their relevant documents."""


def main() -> None:
    """Measure every collection; each gets queries of the next one that is named."""
    arguments = campaign.options(__doc__, out=RESULTS / "thresholds").parse_args()
    names: list[str] = arguments.collections
    if len(names) < 2:
        raise SystemExit("name at least two collections; each gets queries of the next one")
    following = dict(zip(names, [*names[1:], names[0]], strict=True))
    measured = partial(measure_collection, following=following, encoder=arguments.encoder, cache=arguments.cache)
    campaign.measure(arguments, measured, lambda record: f"{record['seconds']} s")


def measure_collection(folder: Path, following: Mapping[str, str], encoder: str, cache: Path) -> Record:
    """The statistics of every query."""
    setup, group_by = open_collection(folder, cache, encoder)
    collection, other = setup.collection, folder.with_name(following[folder.name])
    splits, _ = read_splits(setup, group_by, 0)
    began = time.perf_counter()
    generator = np.random.default_rng(0)
    roles = {LEARN: [*splits.train, *splits.validation], TEST: list(splits.test)}
    relevant = {
        query: {document for document, grade in grades.items() if grade > 0}
        for judged in collection.judgements.values()
        for query, grades in judged.items()
    }
    scorer = Scorer(setup, starting_weights(setup, learnt_from=0).mix)
    found: dict[str, list[dict[str, float]]] = {}
    for role, queries in roles.items():
        for place in draw(len(queries), JUDGED, generator).tolist():
            query = queries[place].query_id
            own = collection.own_document(query)
            every, removed = scorer.statistics(
                collection.queries[query], set() if own is None else {own}, relevant[query]
            )
            found.setdefault(role, []).append(every)
            found.setdefault(f"{role} {REMOVED}", []).append(removed)
    foreign = list(load_collection(other, allow_empty=True).queries.values())
    for place in draw(len(foreign), OTHERS, generator).tolist():
        found.setdefault(FOREIGN, []).append(scorer.statistics(foreign[place])[0])
    for text in nonsense(OTHERS, generator):
        found.setdefault(NONSENSE, []).append(scorer.statistics(text)[0])
    pairs = np.concatenate(list(scorer.unrelated(generator)))
    return {
        "dataset": collection.name,
        "foreign": other.name,
        "encoder": described(setup.encoder, encoder),
        "documents": len(setup.corpus),
        "seconds": round(time.perf_counter() - began, 1),
        "levels": {f"{share:g}": round(float(np.quantile(pairs, share)), 6) for share in SHARES},
        "queries": found,
    }


class Scorer:
    """Scores all documents of a collection for any query, with the default weights."""

    def __init__(self, setup: Setup, weights: TokenWeights) -> None:
        self._setup, self._corpus, self._weights = setup, setup.corpus, weights
        self._sample = draw(len(setup.corpus), DOCUMENTS)

    def statistics(
        self, text: str, hidden: Set[str] = frozenset(), relevant: Set[str] = frozenset()
    ) -> tuple[dict[str, float], dict[str, float]]:
        """What may tell whether a query has an answer; with its relevant documents, and without them.

        Args:
            text: text of the query.
            hidden: documents that are never found.
            relevant: its relevant documents.
        """
        places = np.array([place for place, one in enumerate(self._corpus.ids) if one not in hidden], np.int64)
        kernel, order, lexical, scale = self._ranked(text, places, TENTH + 1 + len(relevant))
        unrelated, _, _, _ = self._ranked(text, self._sample, len(self._sample))
        background = scale.scores(unrelated)
        kept = [place for place, one in enumerate(order.tolist()) if self._corpus.ids[one] not in relevant]
        whole = (
            _statistics(kernel[some], lexical[order[some]], scale, background)
            for some in (np.arange(len(order)), np.array(kept, np.int64))
        )
        every, removed = whole
        return every | {"best is relevant": float(0 not in kept)}, removed

    def unrelated(self, generator: np.random.Generator) -> Iterator[npt.NDArray[np.float64]]:
        """Scores of random documents for parts of other documents, as an index estimates them."""
        documents = self._setup.collection.documents
        for place in draw(len(self._corpus), SPANS, generator).tolist():
            text = documents[self._corpus.ids[place]]
            if text.strip():
                others = self._sample[self._sample != place]
                kernel, _, _, scale = self._ranked(span_in(text, generator), others, len(others))
                yield scale.scores(kernel)

    def _ranked(
        self, text: str, places: npt.NDArray[np.int64], k: int
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64], npt.NDArray[np.float32], Scale]:
        """The kernel's scores of the top k, their places, BM25's scores of all documents, and the scale."""
        corpus, weights, bm25 = self._corpus, self._weights, self._setup.bm25
        query = self._setup.encoder.encode_queries([text])
        own, lexical = weights.of(query), bm25.scores(text, corpus.ids)
        pooled = cosines(corpus.means[places], mean_vectors(query)[0])
        added = weights.mix.added(own, lexical=lexical[places], pooled=pooled)
        [best] = dispatch.best(query, own, corpus, k=k, candidates=[places], offsets=[added])
        filled = np.isfinite(best.scores)
        return best.scores[filled], best.places[filled], lexical, Scale(own, weights.mix, own=bm25.own(text))


def _statistics(
    kernel: npt.NDArray[np.float32],
    lexical: npt.NDArray[np.float32],
    scale: Scale,
    background: npt.NDArray[np.float64],
) -> dict[str, float]:
    scores = scale.scores(kernel)
    values: Mapping[str, float] = {
        "kernel": kernel[0],
        "score": scores[0],
        "z": (scores[0] - background.mean()) / max(background.std(), 1e-9),
        "margin": scores[0] - scores[min(TENTH, len(scores) - 1)],
        "lexical": lexical[0] / scale.own if scale.own else 0.0,
    }
    return {name: round(float(value), 6) for name, value in values.items()}


def nonsense(count: int, generator: np.random.Generator) -> list[str]:
    """Words of random letters, such as *asdf qwer*."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    return [
        " ".join(
            "".join(generator.choice(letters, generator.integers(3, 8))) for _ in range(int(generator.integers(1, 7)))
        )
        for _ in range(count)
    ]


if __name__ == "__main__":
    main()
