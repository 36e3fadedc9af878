"""Zero-shot weights beside the recommended ones, on one collection: what each choice in softened IDF is worth.

The distances of a query's tokens to its candidates do not depend on weights, so they are computed once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from chamfer import DocumentFrequencies, TokenWeights
from chamfer.data.judgements import TEST
from chamfer.evaluate.measures import MAIN_MEASURES
from chamfer.evaluate.setup import Setup
from chamfer.evaluate.significance import Bootstrap, compare
from chamfer.evaluate.system import settings_json
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.on_collection import judge_splits
from chamfer.learn.quality import Quality, quality
from chamfer.retrieve.stages import BM25
from chamfer.tokens.batch import TokenIds
from chamfer.weights.zero_shot import UNIFORM
from token_norms import token_norms

POWERS = (0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 1.0)
QUERY_MEAN = "query-mean"
NORMS, NORMS_SPECIAL = "norms", "norms-special-1"
FRACTIONS = (0.1, 0.03, 0.01)
SEEDS = range(5)
FIRST_HALF = "first-half"


def power_name(power: float) -> str:
    """Name of softened IDF with a power."""
    return f"power-{power:g}"


def sample_name(fraction: float) -> str:
    """Name of softened IDF with frequencies counted on a fraction of the documents."""
    return f"sample-{fraction:g}"


def measure_variants(setup: Setup) -> dict[str, Any]:
    """Measure every variant on the test queries and compare it with uniform weights."""
    vocabulary = setup.encoder.vocabulary
    queries = judge_splits(setup, [TEST])[TEST]
    uniform = quality(queries, TokenWeights.uniform(vocabulary))
    bootstrap = Bootstrap(len(queries))
    systems: dict[str, Any] = {UNIFORM: {"measures": _means(uniform)}}
    for name, measured in chain(_by_token(setup, queries), _by_norm(setup, queries)):
        systems[name] = _compared(measured, uniform, bootstrap)
    for fraction in FRACTIONS:
        counted = [sampled(setup, fraction, seed) for seed in SEEDS]
        by_seed = [quality(queries, TokenWeights.soft_idf(one, vocabulary)) for one in counted]
        # The test pairs queries, so a query's value is its mean over the seeds.
        systems[sample_name(fraction)] = {
            **_compared(np.mean(by_seed, axis=0), uniform, bootstrap),
            "seeds": [
                {"seed": seed, "documents": one.documents, "measures": _means(values)}
                for seed, one, values in zip(SEEDS, counted, by_seed, strict=True)
            ],
        }
    return {
        "dataset": setup.collection.name,
        "split": TEST,
        "queries": len(queries),
        "documents": len(setup.collection.documents),
        "settings": settings_json(setup.encoder, setup.form, BM25, setup.depth),
        "systems": systems,
    }


def sampled(setup: Setup, fraction: float, seed: int) -> DocumentFrequencies:
    """Document frequencies counted on a random sample of the documents."""
    return DocumentFrequencies.count(
        _distinct(setup), vocabulary_size=len(setup.encoder.vocabulary), sample=fraction, seed=seed
    )


def first_half(setup: Setup) -> DocumentFrequencies:
    """Document frequencies of the first half of the documents, in the order of the corpus file."""
    documents = _distinct(setup)
    half = documents[: (len(documents) + 1) // 2]
    return DocumentFrequencies.count(half, vocabulary_size=len(setup.encoder.vocabulary))


def _distinct(setup: Setup) -> Sequence[TokenIds]:
    """Distinct token ids of every document; sampling depends on nothing else of it."""
    if setup.corpus.distinct is None:
        raise SystemExit(f"{setup.corpus.folder} was encoded by an earlier version; delete it and run again")
    return setup.corpus.distinct


def _by_token(setup: Setup, queries: Sequence[JudgedQuery]) -> Iterator[tuple[str, Quality]]:
    """Variants in which every occurrence of a token weighs the same."""
    vocabulary, counted = setup.encoder.vocabulary, setup.frequencies
    for power in POWERS:
        yield power_name(power), quality(queries, TokenWeights.soft_idf(counted, vocabulary, power=power))
    # The trial that suggested softened IDF divided by the mean over query tokens, which a user without queries does
    # not have.
    tokens = np.concatenate([query.token_ids for query in queries])
    seen = (counted.counts > 0) & ~vocabulary.is_special
    mean = float(counted.idf()[tokens[seen[tokens]]].mean())
    yield QUERY_MEAN, quality(queries, TokenWeights.soft_idf(counted, vocabulary, mean=mean))
    yield FIRST_HALF, quality(queries, TokenWeights.soft_idf(first_half(setup), vocabulary))


def _by_norm(setup: Setup, queries: Sequence[JudgedQuery]) -> Iterator[tuple[str, Quality]]:
    """The norm of a token's state as its weight; and norms divided by the query's mean, with special tokens at 1.

    Dividing all weights of a query by one number changes no ranking. It matters only where special tokens keep the
    weight of an average token, as in softened IDF.
    """
    vocabulary = setup.encoder.vocabulary
    norms = token_norms(setup.encoder, [setup.collection.queries[query.query_id] for query in queries])
    is_special = [vocabulary.is_special[query.token_ids] for query in queries]
    divided = [
        np.where(special, np.float32(1), own / own[~special].mean())
        for special, own in zip(is_special, norms, strict=True)
    ]
    uniform = TokenWeights.uniform(vocabulary)
    for name, weights in ((NORMS, norms), (NORMS_SPECIAL, divided)):
        # A weighted distance is a distance times a weight, so uniform weights rank weighted distances.
        weighted = (
            replace(query, distances=query.distances * own) for query, own in zip(queries, weights, strict=True)
        )
        yield name, np.concatenate([quality([query], uniform) for query in weighted])


def _compared(measured: Quality, uniform: Quality, bootstrap: Bootstrap) -> dict[str, Any]:
    intervals = bootstrap.intervals(measured - uniform)
    return {
        "measures": _means(measured),
        "against_uniform": {
            name: {**compare(measured[:, at], uniform[:, at])._asdict(), "interval": list(intervals[at])}
            for at, name in enumerate(MAIN_MEASURES)
        },
    }


def _means(measured: npt.NDArray[np.float64]) -> dict[str, float]:
    return {name: round(float(measured[:, at].mean()), 6) for at, name in enumerate(MAIN_MEASURES)}
