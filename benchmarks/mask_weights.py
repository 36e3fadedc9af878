"""The weight of ``[MASK]``, with which late-interaction models fill queries: 0, 1, like IDF, or learnt.

Needs a late-interaction checkpoint (``--encoder``). All other special tokens weigh 1. Learns from training queries and
measures on test queries; nothing is chosen on them. Writes ``results/mask-weights/COLLECTION.json``; what is there is
skipped unless ``--again``.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from chamfer import Encoder, TokenWeights
from chamfer.data.collection import load_collection
from chamfer.evaluate.measures import MAIN_MEASURES
from chamfer.evaluate.setup import Setup
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.on_collection import starting_weights
from chamfer.learn.quality import quality
from chamfer.learn.recipes.prior import fit_prior
from chamfer.learn.start import Start
from chamfer.reproduce.debates import grouped_by, with_debates
from chamfer.reproduce.environment import environment
from chamfer.support.cache_folder import default_cache
from chamfer.support.files import write_json
from corpora import collections, encoder_for
from few_shot import read_splits

RESULTS = Path(__file__).parent / "results" / "mask-weights"
MASK = "[MASK]"

OfQuery = Callable[[JudgedQuery], TokenWeights]
"""The weights for one query."""


def main() -> None:
    """Measure every collection, smallest first, each in its own process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collections", nargs="*", help="names of collections (default: all)")
    parser.add_argument("--encoder", required=True, help="late-interaction checkpoint")
    parser.add_argument("--data", type=Path, required=True, help="folder of judged collections")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--seed", type=int, default=0, help="random seed of splits")
    parser.add_argument("--again", action="store_true", help="measure again what has results already")
    arguments = parser.parse_args()
    measured_on = environment()
    for folder in collections(arguments.data, arguments.collections):
        out = RESULTS / f"{folder.name}.json"
        if out.exists() and not arguments.again:
            continue
        # In its own process, which gives the memory back.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            given = folder, arguments.encoder, arguments.cache, arguments.seed
            record = process.submit(measure_collection, *given).result()
        write_json(out, {"environment": measured_on, **record})
        print(f"{folder.name}: {record['learnt_weight']:.2f} learnt for {MASK}", flush=True)


def measure_collection(folder: Path, encoder_name: str, cache: Path, seed: int) -> dict[str, Any]:
    """Measure each way to weight ``[MASK]`` on the test queries of a collection."""
    encoder = encoder_for(folder, encoder_name)
    if not encoder.fills_queries:
        raise SystemExit(f"{encoder_name} does not fill queries with {MASK}; give a late-interaction checkpoint")
    collection = with_debates(load_collection(folder, allow_empty=True))
    setup = Setup(collection, encoder, cache)
    splits, _ = read_splits(setup, grouped_by(collection), seed)
    start = starting_weights(setup, learnt_from=len(splits.train))
    learnt = fit_prior(splits.train, start.soft)
    mask = encoder.vocabulary.ids[MASK]
    return {
        "dataset": folder.name,
        "encoder": {
            "name": Path(encoder_name).name,
            "model": encoder.model_fingerprint,
            "query_length": encoder.query_length,
        },
        "seed": seed,
        "queries": {role: len(queries) for role, queries in splits._asdict().items()},
        "masks_per_query": float(np.mean([(query.token_ids == mask).sum() for query in splits.test])),
        "learnt_weight": float(learnt.table[mask]),
        "systems": {
            name: _measured(splits.test, weights, mask) for name, weights in weightings(start, learnt, encoder).items()
        },
    }


def weightings(start: Start, learnt: TokenWeights, encoder: Encoder) -> Mapping[str, OfQuery]:
    """Weights by name; those that weigh ``[MASK]`` like the query's own tokens differ from query to query."""
    mask, is_special = encoder.vocabulary.ids[MASK], encoder.vocabulary.is_special

    def fixed(weights: TokenWeights, value: float) -> OfQuery:
        found = _with_mask(weights, mask, value)
        return lambda query: found

    def like_query(weights: TokenWeights) -> OfQuery:
        def of(query: JudgedQuery) -> TokenWeights:
            words = query.token_ids[~is_special[query.token_ids]]
            return _with_mask(weights, mask, float(weights.table[words].mean()) if len(words) else 1.0)

        return of

    return {
        "uniform": lambda query: start.uniform,
        "uniform, [MASK] 0": fixed(start.uniform, 0.0),
        "IDF, [MASK] 0": fixed(start.idf, 0.0),
        "IDF, [MASK] 1": fixed(start.idf, 1.0),
        "IDF, [MASK] like the query's tokens": like_query(start.idf),
        "softened IDF, [MASK] 0": fixed(start.soft, 0.0),
        "softened IDF, [MASK] 1": fixed(start.soft, 1.0),
        "softened IDF, [MASK] like the query's tokens": like_query(start.soft),
        "softened IDF, [MASK] learnt": fixed(start.soft, float(learnt.table[mask])),
        "all tokens learnt": lambda query: learnt,
    }


def _with_mask(weights: TokenWeights, mask: int, value: float) -> TokenWeights:
    table = weights.table.copy()
    table[mask] = value
    return replace(weights, table=table)


def _measured(queries: Sequence[JudgedQuery], weights: OfQuery, mask: int) -> dict[str, Any]:
    own = [weights(query) for query in queries]
    values = np.concatenate([quality([query], one) for query, one in zip(queries, own, strict=True)])
    return {
        "test": dict(zip(MAIN_MEASURES, values.mean(axis=0).tolist(), strict=True)),
        "mask": float(np.mean([one.table[mask] for one in own], dtype=np.float64)),
    }


if __name__ == "__main__":
    main()
