"""Quality of smaller indexes: precision, pooling and projection on whole judged collections, end to end.

Every document is looked at, so that nothing but what is kept of vectors plays a part. Writes
``results/compression/COLLECTION.json``.
"""

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.table import Table

from chamfer import Encoder, Ranking, TokenBatch, TokenWeights
from chamfer.cache.corpus import EncodedCorpus
from chamfer.cache.encoded import encode_cached
from chamfer.data.collection import Collection, load_collection
from chamfer.data.documents import Document
from chamfer.evaluate.measures import MAIN_MEASURES, PerQuery, measure
from chamfer.evaluate.significance import compare
from chamfer.index.settings import Precision, Settings
from chamfer.index.snapshot import Snapshot
from chamfer.index.writing import writing
from chamfer.reproduce.environment import environment
from chamfer.retrieve.exhaustive import Exhaustive
from chamfer.retrieve.stage import Queries
from chamfer.support.cache_folder import default_cache
from chamfer.support.files import write_json
from corpora import collections, encoder_for

RESULTS = Path(__file__).parent / "results" / "compression"
# Precision, tokens per vector, dimensions (None: all).
KEPT: tuple[tuple[Precision, int, int | None], ...] = (
    ("float16", 1, None),
    ("int8", 1, None),
    ("4bit", 1, None),
    ("2bit", 1, None),
    ("float16", 2, None),
    ("float16", 3, None),
    ("float16", 1, 192),
    ("float16", 1, 128),
    ("float16", 1, 64),
    ("int8", 2, 128),
    ("4bit", 2, 128),
)


def main() -> None:
    """Measure every configuration on every collection."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collections", nargs="*", default=["scifact", "nfcorpus"], help="names of collections")
    parser.add_argument("--data", type=Path, required=True, help="folder of judged collections")
    parser.add_argument("--cache", type=Path, default=default_cache())
    arguments = parser.parse_args()
    measured_on = environment()
    for folder in collections(arguments.data, arguments.collections):
        encoder, collection = encoder_for(folder), load_collection(folder, allow_empty=True)
        texts, asked = collection.documents, collection.judged_queries("test")
        documents = encode_cached(arguments.cache, encoder, list(texts), list(texts.values()))
        queries = encode_cached(arguments.cache, encoder, list(asked), list(asked.values()), role="query")
        tokens = queries.tokens.take([queries.place[identifier] for identifier in asked])
        rows, first = [], None
        for kept in KEPT:
            row, values = measure_one(kept, encoder, collection, documents, asked, tokens)
            first = first or values
            row["against_float16"] = {name: compare(values[name], first[name])._asdict() for name in MAIN_MEASURES}
            rows.append(row)
            print(row, flush=True)
        record = {"environment": measured_on, "collection": folder.name, "queries": len(asked), "rows": rows}
        write_json(RESULTS / f"{folder.name}.json", record)
        show(record)


def measure_one(
    kept: tuple[Precision, int, int | None],
    encoder: Encoder,
    collection: Collection,
    documents: EncodedCorpus,
    asked: dict[str, str],
    tokens: TokenBatch,
) -> tuple[dict[str, Any], PerQuery]:
    """Build an index, search it exhaustively with all queries in one call, and measure."""
    precision, pool, projected = kept
    settings = Settings(encoder.dimensions, len(encoder.vocabulary), precision, pool, projected)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / "index"
        started = time.perf_counter()
        with writing(folder, settings) as writer:
            writer.add([Document(identifier, "") for identifier in documents.ids], documents.tokens)
        built = time.perf_counter() - started
        index = Snapshot.open(folder)
        weights = TokenWeights.soft_idf(index.frequencies, encoder.vocabulary)
        stage, rankings = Exhaustive(index), []
        started = time.perf_counter()
        together = Queries([""] * len(tokens), index.trained.projected(tokens), weights.of(tokens))
        for identifier, found in zip(asked, stage.find(together, 100, None), strict=True):
            rankings.append(Ranking(identifier, tuple(index.ids(found.places)), tuple(found.scores.tolist())))
        seconds = time.perf_counter() - started
        used = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        vectors = sum(
            column.nbytes
            for segment in index.segments
            for name, column in segment.columns.items()
            if name.split(".")[0] in ("vectors", "codes", "scales", "bounds", "residuals", "centroids")
        )
    values = measure(rankings, {query: collection.judgements["test"][query] for query in asked})
    row = {
        "precision": precision,
        "pool": pool,
        "dimensions": projected or encoder.dimensions,
        **{name: round(float(values[name].mean()), 5) for name in MAIN_MEASURES},
        "bytes_per_document": round(used / len(documents)),
        "vector_bytes_per_document": round(vectors / len(documents)),
        "seconds_to_build": round(built, 1),
        "milliseconds": round(1e3 * seconds / len(asked), 2),
    }
    return row, values


def show(record: dict[str, Any]) -> None:
    """Print the rows of one collection."""
    table = Table(
        "precision", "pool", "dimensions", *MAIN_MEASURES, "p", "bytes/document", "ms", title=record["collection"]
    )
    for row in record["rows"]:
        table.add_row(
            row["precision"],
            str(row["pool"]),
            str(row["dimensions"]),
            *(f"{row[name]:.4f}" for name in MAIN_MEASURES),
            f"{row['against_float16']['nDCG@10']['p_value']:.3f}",
            str(row["vector_bytes_per_document"]),
            f"{row['milliseconds']:.1f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
