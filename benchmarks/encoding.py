"""Documents encoded per second by sentence-transformers and by our engines and precisions, in one run.

Writes ``results/encoding.json``, with the quality of scifact's rankings in each of them beside the speed: BM25's
best 100 of every query, ranked again. The systems take turns, so that whatever else the machine does hits all of them.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.base.modules import Dense

from chamfer import Encoder, TokenWeights, count_frequencies
from chamfer.cache.encoded import encode_cached
from chamfer.data.collection import load_collection
from chamfer.encode.checkpoint_files import minilm_folder
from chamfer.encode.settings import Arithmetic, Engine
from chamfer.evaluate.measures import MAIN_MEASURES, PerQuery, measure
from chamfer.evaluate.significance import compare
from chamfer.reproduce.environment import environment
from chamfer.retrieve.bm25 import BM25
from chamfer.search.rerank_encoded import rerank_encoded
from chamfer.support.cache_folder import default_cache
from chamfer.support.files import write_json
from corpora import DOCUMENT_LENGTH, QUERY_LENGTH

RESULT = Path(__file__).parent / "results" / "encoding.json"
COLLECTIONS = ("scifact", "acl-titles")
BASELINE = "sentence-transformers"
DEPTH = 100
ENGINES: tuple[Engine, ...] = ("torch", "openvino")
ARITHMETICS: tuple[Arithmetic, ...] = ("float32", "bfloat16")
EXACT = "torch float32"
# Encoder of queries, encoder of documents: both in float32, then as an index uses either engine.
PAIRS = (
    (EXACT, EXACT),
    ("torch bfloat16", "torch bfloat16"),
    ("torch bfloat16", "openvino bfloat16"),
)

Encode = Callable[[list[str]], object]
Seconds = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.floating]


class Encoders(NamedTuple):
    """The same model in several versions; ours by engine and arithmetic."""

    library: MultiVectorEncoder
    ours: Mapping[str, Encoder]


def main() -> None:
    """Measure speed, then quality."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of judged collections")
    parser.add_argument("--documents", type=int, default=1000, help="documents per collection")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    measured_on = environment() | {"threads": torch.get_num_threads(), "openvino": version("openvino")}
    encoders = load()
    speed = []
    for name in COLLECTIONS:
        texts = sample(arguments.data / name, arguments.documents, arguments.seed)
        tokens = sum(map(len, encoders.ours[EXACT].tokenize(texts, "document").token_ids))
        systems = timed(encoders, texts, arguments.repeats)
        speed.append({"collection": name, "documents": len(texts), "tokens": tokens, "systems": systems})
        for system, figures in systems.items():
            print(f"{name:12s} {system:22s} {figures['documents_per_second']:7.1f}/s  {figures['times']:.2f}x")
    quality = qualities(arguments.data / "scifact", encoders.ours)
    for pair in quality["pairs"]:
        print(f"{pair['queries']:15s} {pair['documents']:18s} {pair['weights']:9s} {pair['measures']}")
    write_json(
        RESULT,
        {
            "environment": measured_on,
            "settings": {"model": "minilm", "document_length": DOCUMENT_LENGTH, "seed": arguments.seed},
            "speed": speed,
            "quality": quality,
        },
    )


def load() -> Encoders:
    """Load the model in sentence-transformers and, for each engine and arithmetic, in chamfer."""
    whole = MultiVectorEncoder(str(minilm_folder()), device="cpu")
    # Without the untrained random projection that the library adds, vectors are the same as ours.
    library = MultiVectorEncoder(modules=[module for module in whole if not isinstance(module, Dense)], device="cpu")
    library.max_seq_length = DOCUMENT_LENGTH  # the model's own limit
    ours = {
        f"{engine} {arithmetic}": Encoder.load(
            "minilm",
            query_length=QUERY_LENGTH,
            document_length=DOCUMENT_LENGTH,
            device="cpu",
            arithmetic=arithmetic,
            engine=engine,
        )
        for engine in ENGINES
        for arithmetic in ARITHMETICS
    }
    return Encoders(library, ours)


def sample(folder: Path, count: int, seed: int) -> list[str]:
    """A random sample of documents, by seed."""
    texts = list(load_collection(folder).documents.values())
    return random.Random(seed).sample(texts, min(count, len(texts)))


def timed(encoders: Encoders, texts: list[str], repeats: int) -> dict[str, dict[str, Any]]:
    """Documents per second of every system, in turns, and the speed-up over the library."""
    systems: dict[str, Encode] = {
        BASELINE: lambda some: encoders.library.encode_document(some, show_progress_bar=False),
        **{f"chamfer {name}": encoder.encode_documents for name, encoder in encoders.ours.items()},
    }
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    busy: dict[str, list[float]] = {name: [] for name in systems}
    for encode in systems.values():
        encode(texts[:16])
    for repeat in range(repeats):
        for name, encode in systems.items():
            began, worked = time.perf_counter(), time.process_time()
            encode(texts)
            seconds[name].append(time.perf_counter() - began)
            busy[name].append(time.process_time() - worked)
            print(f"repeat {repeat}, {name}: {len(texts) / seconds[name][-1]:.1f}/s", file=sys.stderr)
    return {
        name: _figures(len(texts), np.array(seconds[name]))
        | {
            # Ratios of neighbouring runs, in CPU time, so that other programs matter less.
            "times": _times(seconds[BASELINE], seconds[name]),
            "times_by_processor_time": _times(busy[BASELINE], busy[name]),
        }
        for name in systems
    }


def _times(baseline: list[float], taken: list[float]) -> float:
    return round(float(np.median(np.array(baseline) / np.array(taken))), 3)


def _figures(documents: int, seconds: Seconds) -> dict[str, Any]:
    slowest, median, fastest = np.quantile(documents / seconds, [0, 0.5, 1]).round(2).tolist()
    return {
        "documents_per_second": median,
        "slowest": slowest,
        "fastest": fastest,
        "repeats": len(seconds),
    }


def qualities(folder: Path, encoders: Mapping[str, Encoder]) -> dict[str, Any]:
    """nDCG@10 and recall of each pair, compared with float32 by torch on both sides."""
    collection = load_collection(folder)
    queries, judgements = collection.judged_queries("test"), collection.judgements["test"]
    ids, texts = list(collection.documents), list(collection.documents.values())
    full = encoders[EXACT]
    weightings = {
        "uniform": TokenWeights.uniform(full.vocabulary),
        "idf-soft": TokenWeights.soft_idf(count_frequencies(full, texts), full.vocabulary),
    }
    candidates = BM25(collection.documents).search(queries, k=DEPTH)
    tokens = {name: encoders[name].encode_queries(list(queries.values())) for name, _ in PAIRS}
    corpora = {name: encode_cached(default_cache(), encoders[name], ids, texts) for _, name in PAIRS}
    found: dict[tuple[str, str, str], PerQuery] = {}
    for asking, answering in PAIRS:
        rankings = [
            rerank_encoded(tokens[asking][n], ranking, corpora[answering], weightings)
            for n, ranking in enumerate(candidates)
        ]
        for weights in weightings:
            found[asking, answering, weights] = measure([ranking[weights] for ranking in rankings], judgements)
    return {
        "collection": folder.name,
        "queries": len(queries),
        "depth": DEPTH,
        "closeness": {
            name: _closeness(corpora[name].tokens.vectors, corpora[EXACT].tokens.vectors) for name in corpora
        },
        "pairs": [
            {
                "queries": asking,
                "documents": answering,
                "weights": weights,
                "measures": {name: round(float(values[name].mean()), 6) for name in MAIN_MEASURES},
                "against_exact": {
                    name: compare(values[name], found[EXACT, EXACT, weights][name])._asdict() for name in MAIN_MEASURES
                },
            }
            for (asking, answering, weights), values in found.items()
        ],
    }


def _closeness(some: Vectors, others: Vectors, part: int = 100_000) -> dict[str, float]:
    """Dot products of the same tokens' 16-bit vectors from two encoders: cosines up to rounding."""
    cosines = np.concatenate(
        [
            np.einsum("td,td->t", some[n : n + part], others[n : n + part], dtype=np.float32)
            for n in range(0, len(some), part)
        ]
    )
    return {"mean": round(float(cosines.mean()), 6), "least": round(float(cosines.min()), 6)}


if __name__ == "__main__":
    main()
