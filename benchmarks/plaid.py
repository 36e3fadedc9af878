"""Our centroids beside fast-plaid on the same vectors and two cores: build, search, quality, memory, disk.

Scifact with its judged queries, its vectors projected to 128 dimensions for both, and 5,000 synthetic documents of 80
tokens in 128 dimensions. Every build and search runs in its own process, fast-plaid's in a separate
environment, ``build/plaid``. Writes ``results/plaid.json`` after each trial.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from chamfer.data.collection import load_collection
from chamfer.data.documents import Document
from chamfer.data.judgements import Judgements
from chamfer.index.projection import fit_projection, projected
from chamfer.index.settings import PRECISIONS, Settings
from chamfer.index.snapshot import Snapshot
from chamfer.index.trained import sample_size
from chamfer.index.writing import writing
from chamfer.reproduce.environment import environment
from chamfer.retrieve.exhaustive import best
from chamfer.retrieve.stage import Queries
from chamfer.retrieve.stages import depth_of, open_stage
from chamfer.support.files import write_json
from chamfer.tokens.batch import TokenBatch, offsets_of
from plaid_environment import HOME, peer_python
from plaid_peer import THREADS, K, Material, bytes_in, memory_watched, read_material, timed

IN_PROCESS = Path(__file__).parent
RESULT = IN_PROCESS / "results" / "plaid.json"
STAGE = "centroids"

# The defaults are 8 lists per token and 4,096 documents.
GRID = [{"n_ivf_probe": lists, "n_full_scores": many} for lists in (1, 4) for many in (256, 1024)]
# ColBERT's dimensions, and as many documents as both systems index within minutes.
DIMENSIONS = 128


class Trial(NamedTuple):
    """The vectors for both systems, and the judgements."""

    name: str
    folder: Path
    ids: list[str]
    query_ids: list[str]
    judgements: Judgements
    weightings: tuple[str, ...]


def main() -> None:
    """Measure both systems on both trials; or, with ``--side``, run one measurement of ours."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of judged collections")
    parser.add_argument("--only", choices=("scifact", "synthetic"), help="run one trial without saving results")
    parser.add_argument(
        "--documents", type=int, help="try it with this many documents and 30 queries, without saving results"
    )
    parser.add_argument("--side", help="internal")
    arguments = parser.parse_args()
    if arguments.side:
        our_side(json.loads(arguments.side))
        return
    measured_on = environment()
    python = peer_python()
    records = []
    with tempfile.TemporaryDirectory(dir=HOME) as folder:
        for name, make in (("scifact", scifact), ("synthetic", synthetic)):
            if arguments.only in (None, name):
                records.append(measure_trial(make(Path(folder) / name, arguments), python))
                show(records[-1])
            if arguments.only is None and arguments.documents is None:
                peer = {"fast-plaid": _installed(python, "fast-plaid"), "torch": records[0]["torch"]}
                peer |= {"threads": str(THREADS), "torch_is": (HOME / "torch").read_text()}
                write_json(RESULT, {"environment": measured_on | {"peer": peer}, "trials": records})


def scifact(folder: Path, arguments: argparse.Namespace) -> Trial:
    """The whole collection, encoded by MiniLM and projected; uniform weights and softened IDF."""
    from chamfer.cache.encoded import encode_cached  # imports torch, which our measured process must not
    from chamfer.support.cache_folder import default_cache
    from chamfer.weights.counting import count_frequencies
    from chamfer.weights.token_weights import TokenWeights
    from corpora import encoder_for

    path = arguments.data / "scifact"
    collection, encoder = load_collection(path, allow_empty=True), encoder_for(path)
    documents = encode_cached(default_cache(), encoder, list(collection.documents), list(collection.documents.values()))
    asked = dict(list(collection.judged_queries("test").items())[: 30 if arguments.documents else None])
    queries = encode_cached(default_cache(), encoder, list(asked), list(asked.values()), role="query")
    tokens = queries.tokens.take([queries.place[one] for one in asked])
    judged = collection.judgements["test"]
    relevant = {one for query in asked for one in judged[query]}
    ids = list(documents.ids)
    if arguments.documents:
        ids = sorted(ids, key=lambda one: one not in relevant)[: arguments.documents]
    texts = [collection.documents[one] for one in ids]
    weights = {
        "uniform": TokenWeights.uniform(encoder.vocabulary).of(tokens),
        "idf-soft": TokenWeights.soft_idf(count_frequencies(encoder, texts), encoder.vocabulary).of(tokens),
    }
    chosen = documents.tokens.take([documents.place[one] for one in ids])
    directions = fit_projection(chosen.vectors[:: max(1, len(chosen.vectors) // 100_000)], DIMENSIONS)
    write_material(folder, _projected(chosen, directions), texts, ids, _projected(tokens, directions), weights)
    return Trial("scifact", folder, ids, list(asked), {one: judged[one] for one in asked}, tuple(weights))


def synthetic(folder: Path, arguments: argparse.Namespace) -> Trial:
    """Tokens around 2,000 centres; a query is 32 perturbed tokens of the document that it should find."""
    generator = np.random.default_rng(0)
    count, length, dimensions, asked = arguments.documents or 5000, 80, 128, 30 if arguments.documents else 200
    centres = _unit(generator.standard_normal((2000, dimensions)))
    noise = generator.standard_normal((count * length, dimensions)) * 0.6 / dimensions**0.5
    vectors = _unit(centres[generator.integers(len(centres), size=count * length)] + noise)
    wanted = generator.choice(count, asked, replace=asked > count)
    rows = np.concatenate([one * length + generator.choice(length, 32, replace=False) for one in wanted])
    moved = _unit(vectors[rows] + generator.standard_normal((len(rows), dimensions)) * 0.8 / dimensions**0.5)
    batches = [
        TokenBatch(part.astype(np.float16), np.zeros(len(part), np.int32), offsets_of(np.full(len(part) // each, each)))
        for part, each in ((vectors, length), (moved, 32))
    ]
    ids = [f"{place:06}" for place in range(count)]
    weights = {"uniform": np.ones(len(rows), np.float32)}
    write_material(folder, batches[0], [""] * count, ids, batches[1], weights)
    judgements = {f"q{n}": {ids[one]: 1} for n, one in enumerate(wanted)}
    return Trial("synthetic", folder, ids, list(judgements), judgements, ("uniform",))


def _projected(tokens: TokenBatch, directions: Any) -> TokenBatch:  # noqa: ANN401
    return TokenBatch(projected(tokens.vectors, directions).astype(np.float16), tokens.token_ids, tokens.offsets)


def _unit(vectors: Any) -> Any:  # noqa: ANN401
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def write_material(
    folder: Path,
    documents: TokenBatch,
    texts: Sequence[str],
    ids: Sequence[str],
    queries: TokenBatch,
    weights: Mapping[str, Any],
) -> None:
    """Write the input of both systems."""
    folder.mkdir()
    arrays: dict[str, Any] = {
        "vectors": documents.vectors.astype(np.float16, copy=False),
        "token_ids": documents.token_ids,
        "lengths": documents.lengths,
        "query_vectors": queries.vectors,
        "query_lengths": queries.lengths,
    }
    for name, array in (arrays | {f"weights-{name}": values for name, values in weights.items()}).items():
        np.save(folder / f"{name}.npy", array)
    (folder / "documents.json").write_text(json.dumps(list(zip(ids, texts, strict=True))))


def measure_trial(trial: Trial, python: Path) -> dict[str, Any]:
    """Measure every precision of ours and every setting of fast-plaid."""
    ours, peer = [sys.executable, __file__, "--side"], [str(python), str(IN_PROCESS / "plaid_peer.py")]
    rows = []

    def search(row: dict[str, Any], command: list[str], index: Path, settings: Mapping[str, Any]) -> None:
        for weights in trial.weightings:
            found = _apart(command, trial, "search", index, settings, weights)
            found.pop("torch", None)
            rows.append({**row, "weights": weights, **quality(trial, found.pop("found")), "search": found})
            print({name: value for name, value in rows[-1].items() if name != "build"}, flush=True)

    for precision in PRECISIONS:
        index = trial.folder / precision
        built = _apart(ours, trial, "build", index, {"precision": precision})
        search({"system": "chamfer", "settings": {"precision": precision}, "build": built}, ours, index, {})
        shutil.rmtree(index)
    index = trial.folder / "peer"
    built = _apart(peer, trial, "build", index, {})
    torch = built.pop("torch")
    row = {"system": "fast-plaid", "build": built}
    search({**row, "settings": {}}, peer, index, {})
    bar = next(one["nDCG@10"] for one in rows if one["system"] == "fast-plaid")  # its defaults, uniform weights
    tried = _apart(peer, trial, "tune", index, {"grid": GRID})["tried"]
    for one in tried:
        one |= quality(trial, one.pop("found"))
    equal = [one for one in tried if one["nDCG@10"] >= bar]
    if equal:
        chosen = min(equal, key=lambda one: float(one["milliseconds"]))["settings"]
        search({**row, "settings": chosen}, peer, index, chosen)
    shutil.rmtree(index)
    lengths = np.load(trial.folder / "lengths.npy")
    counts = {"documents": len(trial.ids), "tokens": int(lengths.sum()), "queries": len(trial.query_ids)}
    return {"trial": trial.name, "torch": torch, **counts, "rows": rows, "tried": tried}


def _apart(
    command: list[str], trial: Trial, do: str, index: Path, settings: Mapping[str, Any], weights: str = "uniform"
) -> dict[str, Any]:
    """Run one step in its own process, on two cores."""
    limits = dict.fromkeys(("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "CHAMFER_THREADS"), str(THREADS))
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))[:THREADS]))
    out = trial.folder / "out.json"
    asked = {"do": do, "material": str(trial.folder), "index": str(index), "settings": settings}
    asked |= {"weights": weights, "out": str(out)}
    print(f"{trial.name}: {Path(command[1]).stem} {do} {index.name} {weights}", file=sys.stderr, flush=True)
    subprocess.run(["taskset", "-c", cores, *command, json.dumps(asked)], env=os.environ | limits, check=True)
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def quality(trial: Trial, found: Sequence[Sequence[int]]) -> dict[str, float]:
    """Measure the rankings."""
    from chamfer.data.ranking import Ranking
    from chamfer.evaluate.measures import measure

    rankings = [
        Ranking(query, tuple(trial.ids[place] for place in places), tuple(-float(n) for n in range(len(places))))
        for query, places in zip(trial.query_ids, found, strict=True)
    ]
    values = measure(rankings, trial.judgements)
    return {name: round(float(values[name].mean()), 5) for name in ("nDCG@10", "R@10")}


def our_side(asked: Mapping[str, Any]) -> None:
    """Build or search our index, in a process without torch."""
    material = read_material(Path(asked["material"]), asked["weights"])
    documents = [Document(*one) for one in json.loads((Path(asked["material"]) / "documents.json").read_text())]
    index = Path(asked["index"])
    if asked["do"] == "build":
        token_ids = np.load(Path(asked["material"]) / "token_ids.npy")
        found = build(material, token_ids, documents, index, Settings(**_settings(material, token_ids, asked)))
    else:
        found = search(material, [document.id for document in documents], index)
    Path(asked["out"]).write_text(json.dumps(found))


def _settings(material: Material, token_ids: Any, asked: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    size = int(token_ids.max(initial=0)) + 1
    return {"dimensions": material.vectors.shape[1], "vocabulary_size": size, **asked["settings"]}


def build(
    material: Material,
    token_ids: Any,  # noqa: ANN401
    documents: Sequence[Document],
    folder: Path,
    settings: Settings,
) -> dict[str, Any]:
    """Build an index, including texts and the lists of its first stage."""
    found: dict[str, Any] = {}
    with memory_watched(found):
        started = time.perf_counter()
        tokens = TokenBatch(material.vectors, token_ids, material.offsets)
        many = len(material.vectors)
        share = sample_size(many) / many
        drawn = np.random.default_rng(2).choice(len(tokens), max(1, int(share * len(tokens))), replace=False)
        with writing(folder, settings) as writer:
            writer.train(tokens.take(np.sort(drawn)), tokens=many)
            writer.add(documents, tokens)
        index = Snapshot.open(folder)
        open_stage(STAGE, index)
        found["seconds"] = round(time.perf_counter() - started, 2)
    return found | {"bytes": bytes_in(folder), "centroids": len(index.trained.clusters)}


def search(material: Material, ids: Sequence[str], folder: Path) -> dict[str, Any]:
    """Search an index like ``Searcher.rank``, but without loading an encoder."""
    place_of = {identifier: place for place, identifier in enumerate(ids)}
    found: dict[str, Any] = {}
    with memory_watched(found):
        index = Snapshot.open(folder)
        stage, depth = open_stage(STAGE, index), depth_of(STAGE)
        lengths = np.array([len(query) for query in material.queries])
        vectors = np.concatenate(material.queries)
        tokens = TokenBatch(vectors, np.zeros(len(vectors), np.int32), offsets_of(lengths))
        every = Queries([""] * len(tokens), tokens, material.weights)
        single = [Queries([""], tokens[n], every.weights_of(n)) for n in range(len(tokens))]

        def answers(queries: Queries) -> list[Any]:
            candidates = stage.find(queries, depth, None)
            return [answer.places for answer in best(index, queries, K, [one.places for one in candidates])]

        found |= timed(lambda n: answers(single[n])[0], lambda: answers(every), len(tokens))
    found["found"] = [[place_of[one] for one in index.ids(np.array(places, int))] for places in found["found"]]
    return found


def _installed(python: Path, package: str) -> str:
    program = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run([str(python), "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def show(record: Mapping[str, Any]) -> None:
    """Print the results."""
    table = Table(
        "system",
        "settings",
        "weights",
        "nDCG@10",
        "R@10",
        "build s",
        "build MB",
        "ms",
        "ms 95%",
        "q/s",
        "search MB",
        "disk MB",
    )
    for row in record["rows"]:
        made, asked = row["build"], row["search"]
        table.add_row(
            row["system"],
            ", ".join(f"{name}={value}" for name, value in row["settings"].items()),
            row["weights"],
            f"{row['nDCG@10']:.4f}",
            f"{row['R@10']:.4f}",
            f"{made['seconds']:.1f}",
            f"{made['peak_mb']} ({made['peak_own_mb']})",
            f"{asked['milliseconds']:.2f}",
            f"{asked['milliseconds_95']:.2f}",
            f"{asked['queries_per_second']:.0f}",
            f"{asked['peak_mb']} ({asked['peak_own_mb']})",
            f"{made['bytes'] / 1e6:.0f}",
        )
    Console(width=200).print(record["trial"], table)


if __name__ == "__main__":
    main()
