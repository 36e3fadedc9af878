"""One dataset in one setting, as the paper does it: candidates, weights without and with labels, measures."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from chamfer.data.collection import Collection
from chamfer.data.judgements import Judgements
from chamfer.data.ranking import Ranking
from chamfer.data.runs import write_run
from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError
from chamfer.evaluate.comparison import compare
from chamfer.evaluate.first_stage import find_first
from chamfer.evaluate.measures import MEASURES, PerQuery, measure
from chamfer.evaluate.rankings import encode_split, find_candidates, rank_split
from chamfer.evaluate.significance import bootstrap_interval
from chamfer.kernels.form import Form
from chamfer.learn.collection import starting_weights
from chamfer.learn.fit import fit_weights
from chamfer.learn.judged import JudgedQuery, judged_minima, teachable
from chamfer.learn.quality import quality
from chamfer.learn.recipes import Start
from chamfer.reproduce.datasets import Dataset
from chamfer.reproduce.paper import CAPPED, Setting
from chamfer.reproduce.query_roles import ROLES, QuerySplits, Role, kept_splits
from chamfer.support.progress import Progress, quiet
from chamfer.weights.counting import count_tokens
from chamfer.weights.token_weights import TokenWeights

# Chamfer is uniform weights; the next two need no label; the last two do.
CHAMFER, IDF, SOFT, RECIPE, AUTO = "chamfer", "idf", "idf-soft", "few-shot-paper", "few-shot"
SYSTEMS = (CHAMFER, IDF, SOFT, RECIPE, AUTO)
BM25 = "bm25"
# No measure looks further.
KEPT = 100
# Queries that can be cross-validated.
LEAST = 3


@dataclass(frozen=True)
class Protocol:
    """What is the same for all datasets of a run.

    Args:
        cache: where vectors, minima and indexes are kept.
        depth: how many candidates are scored.
        form: ``l2`` or ``cosine``.
        most: how many queries of each of train and validation are drawn at most.
        seed: of everything that is drawn.
    """

    cache: Path
    depth: int = 1000
    form: Form = "l2"
    most: int = 1000
    seed: int = 0


def reproduce_dataset(
    collection: Collection,
    dataset: Dataset,
    encoder: Encoder,
    setting: Setting,
    protocol: Protocol,
    folder: Path,
    *,
    progress: Progress = quiet,
) -> dict[str, Any]:
    """Run the whole protocol, write weights and rankings, and give the figures, ready for ``json.dumps``.

    Args:
        collection: documents, queries, judgements.
        dataset: how it is treated.
        encoder: gives the token vectors; its lengths are the experiment's.
        setting: ``rerank`` BM25's candidates, or ``end-to-end``.
        protocol: what is the same for all datasets.
        folder: of this dataset: its splits lie there, and what belongs to one setting in a folder of that name.
        progress: shows long work.
    """
    started = time.perf_counter()
    splits = kept_splits(folder / "splits.json", collection, most=protocol.most, seed=protocol.seed)
    counted = count_tokens(encoder, list(collection.documents.values()), progress=progress)
    start = starting_weights(
        collection,
        encoder,
        counted.frequencies,
        learnt_from=len(splits.queries["train"]) + len(splits.queries["validation"]),
        form=protocol.form,
    )
    work = _Work(collection, encoder, setting, protocol, splits, progress)
    train, validation = (work.minima(role, start.uniform) for role in ("train", "validation"))
    learning = time.perf_counter()
    weightings, chosen = learn_all(train, validation, start, dataset, seed=protocol.seed, progress=progress)
    learnt = time.perf_counter() - learning
    rankings = work.rankings(weightings)
    judgements = splits.judgements(collection, "test")
    values = {name: measure_all(ranked, judgements) for name, ranked in rankings.items()}
    for name, weights in weightings.items():
        weights.save(folder / setting / f"{name}.safetensors")
    for name, ranked in rankings.items():
        write_run(folder / setting / f"{name}.trec", ranked, k=KEPT, tag=name)
    return {
        "dataset": dataset.name,
        "group": dataset.group,
        "setting": setting,
        "documents": len(collection.documents),
        "queries": {role: len(queries) for role, queries in splits.queries.items()},
        "encoder": {
            "name": encoder.name,
            "model": encoder.model_fingerprint,
            "query_length": encoder.query_length,
            "document_length": encoder.document_length,
        },
        "truncated": {
            "queries": encoder.tokenize(list(splits.texts(collection, "test").values()), "query").truncated,
            "documents": counted.truncated,
        },
        "chosen": chosen,
        "systems": {name: _figures(values[name], values[CHAMFER]) for name in rankings},
        "bm25_on_all_test_queries": work.bm25_on_all() if setting == "rerank" else None,
        "seconds": {"all": round(time.perf_counter() - started, 1), "learning": round(learnt, 1)},
    }


def learn_all(
    train: Sequence[JudgedQuery],
    validation: Sequence[JudgedQuery],
    start: Start,
    dataset: Dataset,
    *,
    seed: int = 0,
    progress: Progress = quiet,
) -> tuple[dict[str, TokenWeights], dict[str, str]]:
    """Weights of every system, and what was chosen: special tokens of IDF on validation queries, recipes as each says.

    Where too few queries can be learnt from, few-shot weights are those that need no label.
    """
    can_learn = len(train) > 0 and len(validation) > 0 and len(train) + len(validation) >= LEAST
    idf, without = (float(quality(validation, one).mean()) if can_learn else 0.0 for one in start[1:3])
    zero_shot = start.idf if idf >= without else start.idf_without_special
    weightings = {CHAMFER: start.uniform, IDF: zero_shot, SOFT: start.soft, RECIPE: zero_shot, AUTO: start.uniform}
    nothing = "nothing could be learnt"
    chosen = {IDF: f"special tokens at {1 if idf >= without else 0}", RECIPE: nothing, AUTO: nothing}
    if can_learn:
        weightings[RECIPE], report = fit_weights(
            train, start, recipe="paper", validation=validation, preset=dataset.preset, seed=seed, progress=progress
        )
        chosen[RECIPE] = report.choice.name
        weightings[AUTO], report = fit_weights([*train, *validation], start, seed=seed, progress=progress)
        chosen[AUTO] = report.choice.name
    return weightings, chosen


def measure_all(rankings: Sequence[Ranking], judgements: Judgements) -> PerQuery:
    """The usual measures, and recall capped at k: of what could be among the best k, how much is."""
    values = measure(rankings, judgements)
    relevant = np.array([sum(grade > 0 for grade in grades.values()) for grades in judgements.values()])
    capped = {
        name.replace("R@", f"{CAPPED}@"): values[name] * relevant / np.maximum(1, np.minimum(relevant, int(name[2:])))
        for name in MEASURES
        if name.startswith("R@")
    }
    return {**values, **capped}


@dataclass(frozen=True)
class _Work:
    """Candidates, minima and rankings of one dataset in one setting."""

    collection: Collection
    encoder: Encoder
    setting: Setting
    protocol: Protocol
    splits: QuerySplits
    progress: Progress

    def minima(self, role: Role, uniform: TokenWeights) -> list[JudgedQuery]:
        """The queries of a role that something can be learnt from, against the candidates that Chamfer would see."""
        queries = self.splits.texts(self.collection, role)
        (candidates,) = self._candidates(role, {CHAMFER: uniform}).values()
        encoded, corpus = encode_split(
            self.collection, self.encoder, queries, cache=self.protocol.cache, progress=self.progress
        )
        judgements = self.splits.judgements(self.collection, role)
        with self.progress("computing minima", len(candidates)) as advance:
            found = judged_minima(
                self.protocol.cache, encoded, corpus, candidates, judgements, form=self.protocol.form, advance=advance
            )
        try:
            return teachable(found)[0]
        except InputError:  # none of them: a tiny collection is measured all the same
            return []

    def rankings(self, weightings: Mapping[str, TokenWeights]) -> dict[str, list[Ranking]]:
        """The best documents for the test queries by each weighting, and BM25's where it is the first stage.

        In the end-to-end setting each weighting ranks what it found itself. Distances are computed once for all.
        """
        found = self._candidates("test", weightings)
        together = [
            Ranking.of(ranked[0].query_id, ids, [0.0] * len(ids))
            for ranked in zip(*found.values(), strict=True)
            for ids in [list(dict.fromkeys(document for one in ranked for document in one.document_ids))]
        ]
        ranked = rank_split(
            self.collection,
            self.encoder,
            weightings,
            together,
            cache=self.protocol.cache,
            form=self.protocol.form,
            k=KEPT if self.setting == "rerank" else None,
            progress=self.progress,
        )
        own = {
            name: [_among(one, candidates) for one, candidates in zip(ranked[name], found[name], strict=True)]
            for name in weightings
        }
        return {**({BM25: found[CHAMFER]} if self.setting == "rerank" else {}), **own}

    def bm25_on_all(self) -> dict[str, float]:
        """BM25 on every judged test query, also where part of them is learnt from: what others print."""
        queries = self.collection.judged_queries("test")
        values = measure_all(
            [self._bm25[query] for query in queries],
            {query: self.collection.judgements["test"][query] for query in queries},
        )
        return {name: round(float(one.mean()), 6) for name, one in values.items()}

    def _candidates(self, role: Role, weightings: Mapping[str, TokenWeights]) -> dict[str, list[Ranking]]:
        queries = self.splits.texts(self.collection, role)
        if self.setting == "rerank":
            found = [self._bm25[query] for query in queries]
            return dict.fromkeys(weightings, found)
        return find_first(
            self.collection,
            self.encoder,
            queries,
            weightings,
            "auto",
            cache=self.protocol.cache,
            depth=self.protocol.depth,
            form=self.protocol.form,
            progress=self.progress,
        )

    @cached_property
    def _bm25(self) -> dict[str, Ranking]:
        """BM25's candidates of every query that plays a part, found at once: its index is made anew each time."""
        everyone = self.collection.judged_queries("test")
        for role in ROLES:
            everyone |= self.splits.texts(self.collection, role)
        return {
            ranking.query_id: ranking
            for ranking in find_candidates(self.collection, everyone, depth=self.protocol.depth)
        }


def _among(ranking: Ranking, candidates: Ranking) -> Ranking:
    """The best of a ranking that are among some candidates."""
    own = set(candidates.document_ids)
    kept = [pair for pair in zip(ranking.document_ids, ranking.scores, strict=True) if pair[0] in own][:KEPT]
    return Ranking(ranking.query_id, tuple(document for document, _ in kept), tuple(score for _, score in kept))


def _figures(values: PerQuery, chamfer: PerQuery) -> dict[str, Any]:
    against = {}
    for name in values:
        found = compare(values[name], chamfer[name])
        low, high = bootstrap_interval(values[name] - chamfer[name])
        against[name] = {**found._asdict(), "interval": [round(low, 6), round(high, 6)]}
    return {
        "measures": {name: round(float(one.mean()), 6) for name, one in values.items()},
        "against_chamfer": against,
    }
