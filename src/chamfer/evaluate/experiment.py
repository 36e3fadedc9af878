"""Systems side by side on one judged collection."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from chamfer.cache.encoded import origin
from chamfer.data.collection import Collection
from chamfer.data.ranking import Ranking
from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError
from chamfer.evaluate.comparison import Comparison, compare
from chamfer.evaluate.first_stage import find_first
from chamfer.evaluate.measures import MEASURES, PerQuery, measure
from chamfer.evaluate.rankings import find_candidates, rank_split
from chamfer.kernels.form import Form
from chamfer.retrieve.stages import check_stage
from chamfer.support.notebook import Row, table
from chamfer.support.progress import Progress, quiet
from chamfer.weights.counting import count_tokens
from chamfer.weights.names import weights_by_name
from chamfer.weights.special import Special
from chamfer.weights.token_weights import TokenWeights, Validate
from chamfer.workers.jobs import HERE, Workers

BM25 = "bm25"
# Queries that "auto" looks at: enough to choose between two, few enough to take seconds.
VALIDATION_QUERIES = 200


@dataclass(frozen=True)
class System:
    """One way to rank: what it ranked, how well, and how its weights were made."""

    name: str
    rankings: Sequence[Ranking]
    values: PerQuery
    made: Mapping[str, Any]

    @property
    def measures(self) -> dict[str, float]:
        """The mean of each measure over the queries."""
        return {name: float(values.mean()) for name, values in self.values.items()}

    @property
    def answered(self) -> int:
        """How many queries it found at least one document for."""
        return sum(len(ranking) > 0 for ranking in self.rankings)


@dataclass(frozen=True)
class Evaluation:
    """Several systems on the same judged queries, one of them the baseline of all comparisons."""

    dataset: str
    split: str
    queries: int
    documents: int
    truncated: Mapping[str, int]
    settings: Mapping[str, Any]
    systems: tuple[System, ...]
    baseline: str
    seconds: float

    def against_baseline(self, system: System, measure_name: str) -> Comparison:
        """Compare a system with the baseline, query by query."""
        baseline = next(other for other in self.systems if other.name == self.baseline)
        return compare(system.values[measure_name], baseline.values[measure_name])

    def _repr_html_(self) -> str:
        rows: list[Row] = [(system.name, *(system.measures[name] for name in MEASURES)) for system in self.systems]
        caption = f"{self.dataset}, {self.split}: {self.queries} queries, {self.documents} documents"
        return table(["system", *MEASURES], rows, caption=caption)

    def as_json(self) -> dict[str, Any]:
        """Everything but the rankings, ready for ``json.dumps``."""
        return {
            "dataset": self.dataset,
            "split": self.split,
            "queries": self.queries,
            "documents": self.documents,
            "truncated": dict(self.truncated),
            "settings": dict(self.settings),
            "baseline": self.baseline,
            "systems": [
                {
                    "name": system.name,
                    "measures": {name: round(value, 6) for name, value in system.measures.items()},
                    "against_baseline": {name: self.against_baseline(system, name)._asdict() for name in MEASURES},
                    "answered": system.answered,
                    "made": dict(system.made),
                }
                for system in self.systems
            ],
            "seconds": round(self.seconds, 1),
        }


def evaluate(
    collection: Collection,
    encoder: Encoder,
    weights: Sequence[str],
    *,
    cache: Path,
    split: str = "test",
    first_stage: str = BM25,
    candidates: Sequence[Ranking] | None = None,
    runs: Mapping[str, Sequence[Ranking]] | None = None,
    depth: int = 1000,
    form: Form = "l2",
    special: Special = 1.0,
    validation: str = "dev",
    baseline: str | None = None,
    progress: Progress = quiet,
    workers: Workers = HERE,
) -> Evaluation:
    """Re-rank the first stage's candidates with each weighting and measure them all.

    Args:
        collection: documents, queries, judgements.
        encoder: gives the token vectors; its lengths are the experiment's lengths.
        weights: names or files, see :func:`chamfer.weights.names.weights_by_name`.
        cache: where vectors are kept, so that a second evaluation encodes nothing.
        split: the judged queries to measure on.
        first_stage: whose candidates are re-ranked, see :mod:`chamfer.retrieve.stages`.
        candidates: from elsewhere, instead of a first stage's.
        runs: further rankings to measure beside ours.
        depth: how many candidates of a query are re-ranked.
        form: ``l2`` or ``cosine``.
        special: the weight of special tokens under plain IDF: 0, 1 or ``"auto"``.
        validation: the split that ``"auto"`` is chosen on; never the one that is measured.
        baseline: the system to compare with; ``uniform`` if it is there, else the first weighting.
        progress: shows long work.
        workers: who counts, encodes and re-ranks.
    """
    started = time.perf_counter()
    runs = runs or {}
    source = first_stage if candidates is None else "candidates"
    names = [source, *weights, *runs]
    labels = [Path(name).stem for name in names]
    if not weights:
        raise InputError("an evaluation needs at least one weighting")
    if len(set(labels)) != len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise InputError(f"two systems would be called {twice!r}; rename the file of one of them")
    baseline = baseline or ("uniform" if "uniform" in weights else weights[0])
    if baseline not in names:
        raise InputError(f"the baseline must be one of {', '.join(names)}, not {baseline!r}")
    if special == "auto" and validation == split:
        raise InputError(f"special tokens cannot be chosen on {split!r}, the split that is measured")
    check_stage(first_stage)
    queries = collection.judged_queries(split)
    for name, run in runs.items():
        if not any(ranking.query_id in queries for ranking in run):
            raise InputError(f"the run {name!r} is for none of the {len(queries)} queries; is it of this collection?")

    found: list[Ranking] = []
    if candidates is not None or first_stage == BM25:
        found = find_candidates(collection, queries, given=candidates, depth=depth)
    texts = list(collection.documents.values())
    counted = count_tokens(encoder, texts, progress=progress, workers=workers)
    made_from = origin(collection.name, collection.documents, encoder)
    validate = validator(
        collection, encoder, validation, cache=cache, depth=depth, form=form, progress=progress, workers=workers
    )
    weightings = {
        name: weights_by_name(
            name,
            encoder,
            lambda: counted.frequencies,
            special=special,
            validate=validate,
            made_from=made_from,
            form=form,
        )
        for name in weights
    }
    ranking = partial(rank_split, collection, encoder, cache=cache, form=form, progress=progress, workers=workers)
    if found:
        ranked = ranking(weightings, found)
    else:
        firsts = find_first(
            collection,
            encoder,
            queries,
            weightings,
            first_stage,
            cache=cache,
            depth=depth,
            form=form,
            progress=progress,
            workers=workers,
        )
        found = firsts[baseline if baseline in firsts else weights[0]]
        ranked = {name: ranking({name: weightings[name]}, first)[name] for name, first in firsts.items()}

    judgements = {query: collection.judgements[split][query] for query in queries}
    made = {name: weighting.metadata for name, weighting in weightings.items()}
    systems = tuple(
        System(name, rankings, measure(rankings, judgements), made.get(name, {}))
        for name, rankings in {source: found, **ranked, **runs}.items()
    )
    return Evaluation(
        dataset=collection.name,
        split=split,
        queries=len(queries),
        documents=len(texts),
        truncated={
            "queries": encoder.tokenize(list(queries.values()), "query").truncated,
            "documents": counted.truncated,
        },
        settings={
            "encoder": encoder.name,
            "query_length": encoder.query_length,
            "document_length": encoder.document_length,
            "form": form,
            "first_stage": source,
            "depth": depth,
        },
        systems=systems,
        baseline=baseline,
        seconds=time.perf_counter() - started,
    )


def validator(
    collection: Collection,
    encoder: Encoder,
    split: str,
    *,
    cache: Path,
    depth: int = 1000,
    form: Form = "l2",
    progress: Progress = quiet,
    workers: Workers = HERE,
) -> Validate:
    """Give a function that measures weights by nDCG@10 on some judged queries of a split, BM25 as first stage."""

    def validate(weights: Sequence[TokenWeights]) -> list[float]:
        queries = dict(list(collection.judged_queries(split).items())[:VALIDATION_QUERIES])
        judgements = {query: collection.judgements[split][query] for query in queries}
        candidates = find_candidates(collection, queries, depth=depth)
        weightings = {str(place): one for place, one in enumerate(weights)}
        ranked = rank_split(
            collection, encoder, weightings, candidates, cache=cache, form=form, progress=progress, workers=workers
        )
        return [float(measure(ranked[name], judgements)["nDCG@10"].mean()) for name in weightings]

    return validate
