"""The weight of ``[MASK]``, with which late-interaction models fill queries: 0, 1, like IDF, or learnt.

Needs a late-interaction checkpoint (``--encoder``). All other special tokens weigh 1. Learns from training queries and
measures on test queries; nothing is chosen on them. Writes ``COLLECTION.json`` into ``--out``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import campaign
from campaign import RESULTS, Record
from chamfer import Encoder, TokenWeights
from chamfer.errors import InputError
from chamfer.evaluate.measures import MAIN_MEASURES
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.on_collection import starting_weights
from chamfer.learn.quality import quality
from chamfer.learn.recipes.prior import fit_prior
from chamfer.learn.start import Start
from corpora import described
from judged_splits import open_collection, read_splits

MASK = "[MASK]"

OfQuery = Callable[[JudgedQuery], TokenWeights]
"""The weights for one query."""


def main() -> None:
    """Measure every collection."""
    parser = campaign.options(__doc__, out=RESULTS / "mask-weights", encoder="build/late-interaction")
    parser.add_argument("--seed", type=int, default=0, help="random seed of splits")
    arguments = parser.parse_args()
    measured = partial(measure_collection, encoder=arguments.encoder, cache=arguments.cache, seed=arguments.seed)
    campaign.measure(arguments, measured, lambda record: f"{record['learnt_weight']:.2f} learnt for {MASK}")


def measure_collection(folder: Path, encoder: str, cache: Path, seed: int) -> Record:
    """Measure each way to weight ``[MASK]`` on the test queries of a collection."""
    setup, group_by = open_collection(folder, cache, encoder)
    if not setup.encoder.fills_queries:
        raise InputError(f"{encoder} does not fill queries with {MASK}; give a late-interaction checkpoint")
    splits, _ = read_splits(setup, group_by, seed)
    start = starting_weights(setup, learnt_from=len(splits.train))
    learnt = fit_prior(splits.train, start.soft)
    mask = setup.encoder.vocabulary.ids[MASK]
    return {
        "dataset": folder.name,
        "encoder": {**described(setup.encoder, encoder), "query_length": setup.encoder.query_length},
        "seed": seed,
        "queries": {role: len(queries) for role, queries in splits._asdict().items()},
        "masks_per_query": float(np.mean([(query.token_ids == mask).sum() for query in splits.test])),
        "learnt_weight": float(learnt.table[mask]),
        "systems": {
            name: _measured(splits.test, weights, mask)
            for name, weights in weightings(start, learnt, setup.encoder).items()
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
