"""What the default mix was chosen on: its factors beside others, and evidence that was left out.

Only queries to learn from take part, never a test query; splits are those of learning.py. Writes ``COLLECTION.json``
into ``--out``.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import numpy.typing as npt

import campaign
from campaign import RESULTS, Record
from chamfer import TokenWeights
from chamfer.cache.corpus import EncodedCorpus
from chamfer.evaluate.measures import MAIN_MEASURES
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.on_collection import starting_weights
from chamfer.learn.quality import DISCOUNTS
from chamfer.learn.start import Start
from chamfer.retrieve.word_counts import WordCounts
from chamfer.retrieve.words import words_of
from chamfer.support.sampling import draw
from chamfer.tokens.batch import TokenBatch
from chamfer.weights.mix import Mix
from corpora import described
from judged_splits import open_collection, read_chosen_on

Floats = npt.NDArray[np.float64]

POWERS = (0.0, 0.25, 0.5)
LEXICAL = (0.0, 0.006, 0.012, 0.02, 0.03)
POOLED = (0.0, 0.2, 0.4, 0.6)

# What was left out is added to the default mix, for the best candidates by that mix: it needs all of their vectors.
BEST = 200
REVERSE = (0.1, 0.2, 0.4)
# BM25's score divided by what no document can exceed for the query, so from 0 to 1, in place of the score itself.
BY_BOUND = (0.2, 0.4, 0.8, 1.6)
# Token matches, BM25 and pooled evidence, each with mean 0 and deviation 1 over the candidates of a query: a score then
# depends on the other candidates.
STANDARDISED = (0.1, 0.2, 0.4, 0.8)
# A token's weight by meaning is the share of sampled documents that have a token this close to it.
SAMPLED, CLOSE = 1000, 0.4


def main() -> None:
    """Measure every collection."""
    arguments = campaign.options(__doc__, out=RESULTS / "mix-choice" / "minilm").parse_args()
    measured = partial(measure_collection, encoder=arguments.encoder, cache=arguments.cache)
    campaign.measure(arguments, measured, lambda record: f"{record['seconds']} s")


def measure_collection(folder: Path, encoder: str, cache: Path) -> Record:
    """Measure every system on a sample of the queries to learn from."""
    opened = open_collection(folder, cache, encoder)
    chosen, setup, began = read_chosen_on(opened), opened.setup, time.perf_counter()
    tables = {
        power: TokenWeights.soft_idf(setup.frequencies, setup.encoder.vocabulary, power=power) for power in POWERS
    }
    start = starting_weights(setup, learnt_from=len(chosen))
    sampled = TokenBatch.take(setup.corpus.tokens, draw(len(setup.corpus), SAMPLED))
    counts = WordCounts.of_words(words_of(list(setup.collection.documents.values())))
    values: dict[str, list[tuple[float, float]]] = {}
    for query in chosen:
        [words] = words_of([setup.collection.queries[query.query_id]])
        bound = sum(map(counts.idf, words))
        for name, scores in _scores(query, tables, start, setup.corpus, sampled, bound):
            values.setdefault(name, []).append(_measured(query, scores))
    return {
        "dataset": setup.collection.name,
        "encoder": described(setup.encoder, encoder),
        "queries": len(chosen),
        "seconds": round(time.perf_counter() - began, 1),
        "systems": {
            name: dict(zip(MAIN_MEASURES, np.mean(found, axis=0).round(6).tolist(), strict=True))
            for name, found in values.items()
        },
    }


def _scores(
    query: JudgedQuery,
    tables: Mapping[float, TokenWeights],
    start: Start,
    corpus: EncodedCorpus,
    sampled: TokenBatch,
    bound: float,
) -> Iterator[tuple[str, Floats]]:
    lexical, pooled = (one.astype(np.float64) for one in query.evidence())
    for power, weights in tables.items():
        alone = _per_weight(query.distances, weights.table[query.token_ids])
        for words, meaning in product(LEXICAL, POOLED):
            yield grid_name(power, words, meaning), alone + words * lexical + meaning * pooled
    own = start.mix.table[query.token_ids].astype(np.float64)
    alone, mix = _per_weight(query.distances, own), start.mix.mix
    mixed = alone + _evidence(mix, lexical, pooled)
    for factor in BY_BOUND:
        yield bound_name(factor), alone + factor * lexical / max(bound, 1e-9) + mix.pooled * pooled
    for factor in STANDARDISED:
        yield standardised_name(factor), _standard(alone) + factor * (_standard(lexical) + _standard(pooled))
    best = np.argsort(-mixed, kind="stable")[:BEST]
    for name, scores in _others(query, own, start, corpus, sampled, best, lexical[best], pooled[best]):
        whole = np.where(np.isin(np.arange(len(mixed)), best), np.inf, mixed)
        whole[best] = scores + 1e3  # above all others, which stay where they are
        yield name, whole
    yield DEFAULT, mixed


DEFAULT = "default"
TWO_NEAREST, BY_MEANING, BOTH_IDFS = "two nearest", "weights by meaning", "softened IDF and weights by meaning"
WEIGHTED_QUERY, WEIGHTED_BOTH = "weighted mean of the query", "weighted means of both"


def grid_name(power: float, lexical: float, pooled: float) -> str:
    """Name of a mix in the grid."""
    return f"power {power:g}, lexical {lexical:g}, pooled {pooled:g}"


def reverse_name(factor: float) -> str:
    """Name of the default mix with reverse coverage."""
    return f"reverse {factor:g}"


def bound_name(factor: float) -> str:
    """Name of the default mix with BM25's score divided by its bound."""
    return f"lexical by its bound, {factor:g}"


def standardised_name(factor: float) -> str:
    """Name of the mix of standardised parts."""
    return f"standardised over candidates, {factor:g}"


def _others(
    query: JudgedQuery,
    own: Floats,
    start: Start,
    corpus: EncodedCorpus,
    sampled: TokenBatch,
    best: npt.NDArray[np.int64],
    lexical: Floats,
    pooled: Floats,
) -> Iterator[tuple[str, Floats]]:
    """The default mix with something added or exchanged, for the best candidates."""
    assert query.places is not None
    documents, mix = corpus.take(query.places[best]), start.mix.mix
    vectors, owners = documents.vectors.astype(np.float32), documents.offsets
    products = query.vectors.astype(np.float32) @ vectors.T
    distances = query.distances[best].astype(np.float64)
    evidence = _evidence(mix, lexical, pooled)
    alone = _per_weight(distances, own)

    filled = owners[1:] > owners[:-1]
    far = np.sqrt(np.maximum(2 - 2 * products.max(axis=0), 0)).astype(np.float64)
    covered = np.zeros(len(best))
    covered[filled] = -np.add.reduceat(far, owners[:-1][filled]) / np.diff(owners)[filled]
    for factor in REVERSE:
        yield reverse_name(factor), alone + evidence + factor * covered

    second = np.full_like(distances, np.inf)
    for at, (first, last) in enumerate(pairwise(owners)):
        if last - first > 1:
            runner_up = np.partition(products[:, first:last], -2, axis=1)[:, -2]
            second[at] = np.sqrt(np.maximum(2 - 2 * runner_up, 0))
    yield TWO_NEAREST, _per_weight((distances + np.where(np.isfinite(second), second, distances)) / 2, own) + evidence

    rare = _by_meaning(query, sampled)
    yield BY_MEANING, _per_weight(distances, rare) + evidence
    yield BOTH_IDFS, _per_weight(distances, np.sqrt(rare * own)) + evidence

    table = start.mix.table
    query_mean = _unit((query.vectors * own[:, None]).sum(axis=0))
    yield WEIGHTED_QUERY, alone + _evidence(mix, lexical, corpus.means[query.places[best]].astype(float) @ query_mean)
    weighted = vectors * table[documents.token_ids][:, None]
    means = np.zeros((len(best), vectors.shape[1]))
    means[filled] = np.add.reduceat(weighted, owners[:-1][filled], axis=0)
    yield WEIGHTED_BOTH, alone + _evidence(mix, lexical, _unit(means) @ query_mean)


def _by_meaning(query: JudgedQuery, sampled: TokenBatch) -> Floats:
    """``(tokens,)`` softened inverse of the share of sampled documents with a token close to the query's."""
    close = query.vectors.astype(np.float32) @ sampled.vectors.astype(np.float32).T > CLOSE
    starts = sampled.offsets[:-1][np.diff(sampled.offsets) > 0]
    shares = np.logical_or.reduceat(close, starts, axis=1).mean(axis=1)
    weights: Floats = np.sqrt(np.log(1 / np.clip(shares, 1 / SAMPLED, 0.99)))
    return weights


def _standard(values: Floats) -> Floats:
    """With mean 0 and deviation 1; what is infinite, a document without tokens, stays so and does not count."""
    finite = values[np.isfinite(values)]
    found: Floats = (values - finite.mean()) / max(float(finite.std()), 1e-9) if len(finite) else values
    return found


def _evidence(mix: Mix, lexical: Floats, pooled: Floats) -> Floats:
    found: Floats = mix.lexical * lexical + mix.pooled * pooled
    return found


def _per_weight(distances: npt.NDArray[np.floating], weights: npt.NDArray[np.floating]) -> Floats:
    with np.errstate(invalid="ignore"):  # 0 * inf: a document without tokens
        far = np.nan_to_num(distances.astype(np.float64) @ weights, nan=np.inf)
    scores: Floats = -far / weights.sum()
    return scores


def _unit(vectors: npt.NDArray[np.floating]) -> Floats:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    found: Floats = vectors / np.where(lengths > 0, lengths, 1)
    return found


def _measured(query: JudgedQuery, scores: Floats) -> tuple[float, float]:
    """nDCG@10 and Recall@10, as :func:`chamfer.learn.quality.quality` defines them."""
    grades, ideal = query.grades[np.argsort(-scores, kind="stable")[:10]], query.ideal[:10]
    gained = float(grades @ DISCOUNTS[: len(grades)]) / float(ideal @ DISCOUNTS[: len(ideal)])
    return gained, float((grades > 0).sum()) / len(query.ideal)


def names() -> Sequence[str]:
    """Everything that is measured, in the order of the table."""
    others = (TWO_NEAREST, BY_MEANING, BOTH_IDFS, WEIGHTED_QUERY, WEIGHTED_BOTH)
    scaled = (*map(bound_name, BY_BOUND), *map(standardised_name, STANDARDISED))
    return [DEFAULT, *map(reverse_name, REVERSE), *others, *scaled]


if __name__ == "__main__":
    main()
