"""Long documents: cut at what the encoder reads, or split into passages; on scifact, eight abstracts to a document.

The document that holds a relevant abstract is relevant. Which size of passages, and whether more than the best passage
of a document should count, is looked at on the training queries alone. Writes ``results/passages.json``, one size after
the other; what is there already is not measured again.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

from chamfer import Document, Index, Ranking, Searcher, build_index, load_collection
from chamfer.evaluate.measures import MAIN_MEASURES, PerQuery, measure
from chamfer.evaluate.significance import compare
from chamfer.reproduce.environment import environment
from chamfer.retrieve.exhaustive import Exhaustive
from chamfer.support.files import write_json

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "passages.json"

TOGETHER = 8
SEED = 0
FOUND = 100
# Training queries to choose on: all would take an hour.
CHOSEN_ON = 300
# Passages that may count beside the best of a document.
LOOKED_AT = 600
WEIGHTS = ("uniform", "mix")

CUT, CHOSEN = "cut", "256 tokens, overlap 32"
# Name, and the arguments of build_index.
SIZES: Mapping[str, Mapping[str, Any]] = {
    CUT: {},
    CHOSEN: {"passages": True},
    "128 tokens, overlap 16": {"passages": 128, "overlap": 16},
}

Floats = npt.NDArray[np.floating]
Judgements = Mapping[str, Mapping[str, int]]


def main() -> None:
    """Build, search and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of judged collections")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "passages", help="folder for the indexes")
    parser.add_argument("--again", action="store_true", help="measure again what has results already")
    arguments = parser.parse_args()
    documents, queries, judgements = long_documents(arguments.data / "scifact")
    record: dict[str, Any] = {} if arguments.again or not RESULT.exists() else json.loads(RESULT.read_text())
    record |= {
        "environment": environment(),
        "collection": "scifact",
        "abstracts_per_document": TOGETHER,
        "documents": len(documents),
        "characters": {"mean": round(float(np.mean([len(one.text) for one in documents])))},
        "queries": {split: len(grades) for split, grades in judgements.items()},
    }
    record["sizes"] = {name: row for name, row in record.get("sizes", {}).items() if name in SIZES}
    values: dict[tuple[str, str], PerQuery] = {}
    for name, options in SIZES.items():
        row = record["sizes"].setdefault(name, {})
        folder = arguments.out / name.replace(", ", "-").replace(" ", "-")
        row |= build(folder, documents, options)
        searcher = Searcher.open(folder)
        for weights in WEIGHTS:
            for split in judgements if name in (CUT, CHOSEN) else ("train",):
                key = f"{split}_{weights}"
                if key in row and (split == "train" or "against_cut" in record):
                    continue
                asked = {query: queries[query] for query in judgements[split]}
                found = measure(rankings(searcher, asked, weights), judgements[split])
                if split == "test":
                    values[name, weights] = found
                row[key] = {one: round(float(found[one].mean()), 4) for one in MAIN_MEASURES}
        print(name, row, flush=True)
        if name == CHOSEN and "combined" not in record:
            asked = {query: queries[query] for query in judgements["train"]}
            record["combined"] = {
                weights: combined(searcher, asked, judgements["train"], weights) for weights in WEIGHTS
            }
            print(record["combined"], flush=True)
        if values.keys() >= {(one, weights) for one in (CUT, CHOSEN) for weights in WEIGHTS}:
            record["against_cut"] = {
                weights: {
                    one: compare(values[CHOSEN, weights][one], values[CUT, weights][one])._asdict()
                    for one in MAIN_MEASURES
                }
                for weights in WEIGHTS
            }
        write_json(RESULT, record)
    show(record)


def long_documents(folder: Path) -> tuple[list[Document], dict[str, str], dict[str, Judgements]]:
    """Documents of several abstracts in random order, all queries, and judgements by split."""
    collection = load_collection(folder)
    places = list(collection.documents)
    order = np.random.default_rng(SEED).permutation(len(places))
    documents: list[Document] = []
    owner: dict[str, str] = {}
    for number, start in enumerate(range(0, len(order), TOGETHER)):
        own = [places[place] for place in order[start : start + TOGETHER]]
        name = f"long-{number:04d}"
        owner |= dict.fromkeys(own, name)
        # An abstract begins with its title and a full stop, as a section does with its heading.
        documents.append(Document(name, "\n\n".join(collection.documents[one] for one in own)))
    judgements: dict[str, Judgements] = {
        split: {
            query: {
                owner[document]: grade for document, grade in sorted(grades.items(), key=lambda one: one[1]) if grade
            }
            for query, grades in list(collection.judgements[split].items())[: CHOSEN_ON if split == "train" else None]
            if any(grades.values())
        }
        for split in ("train", "test")
    }
    return documents, {query: collection.queries[query] for one in judgements.values() for query in one}, judgements


def build(folder: Path, documents: Sequence[Document], options: Mapping[str, Any]) -> dict[str, Any]:
    """Build an index unless it is there, and describe it; times are left out, because the machine may be shared."""
    if not (folder / "index.json").exists() or "building" in Index.open(folder).info():
        build_index(folder, documents, progress=False, **options)
    facts = Index.open(folder).info()
    return {
        name: facts[name] for name in ("documents", "passages", "tokens", "bytes", "document_length") if name in facts
    }


def rankings(searcher: Searcher, asked: Mapping[str, str], weights: str) -> list[Ranking]:
    """The top documents for each query; every passage is scored."""
    found = searcher.search(list(asked.values()), FOUND, weights=weights, first_stage="exhaustive")
    return [
        Ranking.of(query, [hit.id for hit in hits], [hit.score for hit in hits])
        for query, hits in zip(asked, found, strict=True)
    ]


def combined(
    searcher: Searcher, asked: Mapping[str, str], judgements: Judgements, weights: str
) -> dict[str, dict[str, float]]:
    """Measures if the score of a document counted more of its passages than the best."""
    index, ways = searcher.index, {}
    ranked: dict[str, list[Ranking]] = {}
    names = index.ids(np.flatnonzero(np.diff(index.owners, prepend=-1)))
    for query, text in asked.items():
        scores = passage_scores(searcher, text, weights)
        for way, values in ways_to_score(scores, index.owners, len(names)).items():
            best = np.argsort(-values, kind="stable")[:FOUND]
            ranked.setdefault(way, []).append(Ranking.of(query, [names[n] for n in best], values[best]))
    for way, some in ranked.items():
        found = measure(some, judgements)
        first = measure(ranked["best"], judgements)
        ways[way] = {one: round(float(found[one].mean()), 4) for one in MAIN_MEASURES}
        ways[way]["p_value"] = round(compare(found[MAIN_MEASURES[0]], first[MAIN_MEASURES[0]]).p_value, 4)
    return ways


def passage_scores(searcher: Searcher, text: str, weights: str) -> Floats:
    """``(passages,)`` scores of all passages for one query; of those far down, that of the last one that was found."""
    encoded = searcher.queries.encode([text], weights)
    [found] = Exhaustive(searcher.index).find(encoded, LOOKED_AT, None)
    scores = np.full(len(searcher.index), found.scores[-1], np.float64)
    scores[found.places] = found.scores
    return scores


def ways_to_score(scores: Floats, owners: npt.NDArray[np.int64], documents: int) -> dict[str, Floats]:
    """Scores of documents, from those of their passages."""
    order = np.lexsort((-scores, owners))
    firsts = np.flatnonzero(np.diff(owners[order], prepend=-1))
    counts = np.diff([*firsts, len(scores)])
    assert len(firsts) == documents

    def nth(n: int) -> Floats:
        """The ``n``-th best passage, or the last of a document that has fewer."""
        places: Floats = scores[order[firsts + np.minimum(n, counts - 1)]]
        return places

    one, two, three = nth(0), nth(1), nth(2)
    return {
        "best": one,
        "mean of the best two": (one + two) / 2,
        "mean of the best three": (one + two + three) / 3,
        "best, and a quarter of the second": one + two / 4,
        "best, and a tenth of the second": one + two / 10,
    }


def show(record: dict[str, Any]) -> None:
    """Print what was measured."""
    table = Table(title="scifact, eight abstracts to a document")
    for name in ("documents are", *(f"{split} {weights}" for split in ("train", "test") for weights in WEIGHTS)):
        table.add_column(name)
    for name, row in record["sizes"].items():
        cells = [row.get(f"{split}_{weights}", {}) for split in ("train", "test") for weights in WEIGHTS]
        table.add_row(name, *(" ".join(f"{value:.3f}" for value in cell.values()) for cell in cells))
    Console().print(table)
    print(record["against_cut"])


if __name__ == "__main__":
    main()
