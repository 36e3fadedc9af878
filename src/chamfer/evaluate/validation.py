"""Quality of weights on validation queries, for choices that need one, such as the weight of special tokens."""

from collections.abc import Sequence

from chamfer.evaluate.measures import MAIN, measure
from chamfer.evaluate.rankings import find_candidates, rerank_candidates
from chamfer.evaluate.setup import Setup
from chamfer.weights.token_weights import TokenWeights, Validate

# Enough queries to choose between two weightings, few enough to take seconds.
QUERIES = 200


def validator(setup: Setup, split: str) -> Validate:
    """Return a function that measures weights by nDCG@10 on judged queries of a split, re-ranking BM25's candidates."""

    def validate(weights: Sequence[TokenWeights]) -> list[float]:
        collection = setup.collection
        queries = dict(list(collection.judged_queries(split).items())[:QUERIES])
        judgements = {query: collection.judgements[split][query] for query in queries}
        candidates = find_candidates(collection, queries, depth=setup.depth, bm25=setup.bm25)
        weightings = {str(place): one for place, one in enumerate(weights)}
        ranked = rerank_candidates(setup, weightings, candidates)
        return [float(measure(ranked[name], judgements)[MAIN].mean()) for name in weightings]

    return validate
