"""Learning on a judged collection: candidates, minima, weights, and what they are worth on other queries."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from chamfer.cache.encoded import origin
from chamfer.data.collection import Collection
from chamfer.encode.encoder import Encoder
from chamfer.evaluate.comparison import Comparison, compare
from chamfer.evaluate.rankings import encode_split, find_candidates
from chamfer.kernels.form import Form
from chamfer.learn.fit import LearningReport, fit_weights
from chamfer.learn.judged import JudgedQuery, LeftOut, judged_minima, teachable
from chamfer.learn.paper import Preset
from chamfer.learn.quality import quality
from chamfer.learn.recipes import Recipe, Start
from chamfer.learn.roles import splits_to_learn_from
from chamfer.learn.splits import divide
from chamfer.support.progress import Progress, quiet
from chamfer.weights.counting import count_tokens
from chamfer.weights.frequencies import DocumentFrequencies
from chamfer.weights.token_weights import TokenWeights
from chamfer.workers.jobs import HERE, Workers


class HeldOut(NamedTuple):
    """Weights against uniform weights on queries that took no part in learning or choosing."""

    queries: int
    uniform: Mapping[str, float]
    learnt: Mapping[str, float]
    against_uniform: Mapping[str, Comparison]

    def as_json(self) -> dict[str, Any]:
        """Ready for ``json.dumps``."""
        found = {name: one._asdict() for name, one in self.against_uniform.items()}
        return {**self._asdict(), "against_uniform": found}


class CollectionLearnt(NamedTuple):
    """Weights learnt on a collection, how they were chosen, what they are worth, and what they were made from."""

    weights: TokenWeights
    report: LearningReport
    held_out: HeldOut | None
    left_out: LeftOut
    unknown: int
    """Judgements, among those to learn from, of documents that are not in the corpus."""
    truncated: Mapping[str, int]
    """How many queries and documents the encoder does not see all of."""
    queries: Sequence[JudgedQuery]
    start: Start


def learn_collection(
    collection: Collection,
    encoder: Encoder,
    *,
    cache: Path | str,
    splits: Sequence[str] = (),
    validation: str | None = None,
    test: str | None = None,
    hold_out: float = 0.0,
    most: int | None = None,
    recipe: Literal["auto"] | Recipe = "auto",
    preset: Preset | None = None,
    depth: int = 1000,
    form: Form = "l2",
    folds: int = 3,
    seed: int = 0,
    progress: Progress = quiet,
    workers: Workers = HERE,
) -> CollectionLearnt:
    """Learn weights from judged queries of a collection.

    Args:
        collection: documents, queries, judgements.
        encoder: gives the token vectors; its parameters stay as they are.
        cache: where vectors and minima are kept, so that a second call is arithmetic only.
        splits: the judged queries to learn from; ``train`` and ``dev``, where they exist, if none is named.
        validation: another split to choose on; cross-validation if not given.
        test: another split to measure the chosen weights on.
        hold_out: measure on this share of the queries to learn from instead, drawn at random.
        most: use at most so many queries of each split, drawn at random.
        recipe: see :func:`chamfer.learn.fit.fit_weights`.
        preset: hyper-parameters of the recipe ``paper``.
        depth: how many of BM25's candidates are learnt from; judged documents beyond are added.
        form: ``l2`` or ``cosine``, which the weights are then good for.
        folds: of the cross-validation.
        seed: of everything that is drawn.
        progress: shows long work.
        workers: who encodes, counts, computes minima and fits the candidates.
    """
    cache = Path(cache)
    splits = splits_to_learn_from(collection, splits, validation=validation, test=test, hold_out=hold_out)
    others = [name for name in (validation, test) if name is not None]
    judged = judge_splits(
        collection,
        encoder,
        [*splits, *others],
        cache=cache,
        most=most,
        seed=seed,
        depth=depth,
        form=form,
        progress=progress,
        workers=workers,
    )
    queries: Sequence[JudgedQuery] = [query for name in splits for query in judged[name]]
    measured = judged[test] if test else []
    if hold_out:
        queries, measured = divide(queries, hold_out, seed=seed)
    queries, left_out = teachable(queries)
    chosen_on: Sequence[JudgedQuery] = teachable(judged[validation])[0] if validation else ()
    counted = count_tokens(encoder, list(collection.documents.values()), progress=progress, workers=workers)
    start = starting_weights(
        collection, encoder, counted.frequencies, learnt_from=len(queries) + len(chosen_on), form=form
    )
    weights, report = fit_weights(
        queries,
        start,
        recipe=recipe,
        validation=chosen_on,
        preset=preset,
        folds=folds,
        seed=seed,
        progress=progress,
        workers=workers,
    )
    everything = [*queries, *chosen_on]
    return CollectionLearnt(
        weights,
        report,
        measure_held_out(measured, weights, start.uniform) if measured else None,
        left_out,
        unknown=sum(collection.unknown_judged(name) for name in splits),
        truncated={
            "queries": encoder.tokenize([collection.queries[one.query_id] for one in everything], "query").truncated,
            "documents": counted.truncated,
        },
        queries=everything,
        start=start,
    )


def judge_splits(
    collection: Collection,
    encoder: Encoder,
    splits: Sequence[str],
    *,
    cache: Path,
    most: int | None = None,
    seed: int = 0,
    depth: int = 1000,
    form: Form = "l2",
    progress: Progress = quiet,
    workers: Workers = HERE,
) -> dict[str, list[JudgedQuery]]:
    """Compute, or read from ``cache``, the minima of judged queries against BM25's candidates, split by split."""
    chosen = {name: _draw(collection.judged_queries(name), most, seed) for name in splits}
    everyone = {query: text for part in chosen.values() for query, text in part.items()}
    found = find_candidates(collection, everyone, depth=depth)
    judged = {}
    for name, queries in chosen.items():
        encoded, corpus = encode_split(collection, encoder, queries, cache=cache, progress=progress, workers=workers)
        own = [ranking for ranking in found if ranking.query_id in queries]
        with progress("computing minima", len(own)) as advance:
            judgements = collection.judgements[name]
            judged[name] = judged_minima(
                cache, encoded, corpus, own, judgements, form=form, advance=advance, workers=workers
            )
    return judged


def starting_weights(
    collection: Collection, encoder: Encoder, frequencies: DocumentFrequencies, *, learnt_from: int, form: Form = "l2"
) -> Start:
    """Uniform, IDF and softened IDF weights over the corpus of a collection."""
    made_from = {
        **origin(collection.name, collection.documents, encoder),
        "model": encoder.model_fingerprint,
        "learnt_from": learnt_from,
        "form": form,
    }
    return Start.counted(frequencies, encoder.vocabulary, made_from)


def measure_held_out(queries: Sequence[JudgedQuery], weights: TokenWeights, uniform: TokenWeights) -> HeldOut:
    """Measure weights on queries that took no part in learning them, query by query against uniform weights."""
    learnt, plain = quality(queries, weights), quality(queries, uniform)
    names = ("nDCG@10", "R@10")
    return HeldOut(
        queries=len(queries),
        uniform=dict(zip(names, plain.mean(axis=0).tolist(), strict=True)),
        learnt=dict(zip(names, learnt.mean(axis=0).tolist(), strict=True)),
        against_uniform={name: compare(learnt[:, at], plain[:, at]) for at, name in enumerate(names)},
    )


def _draw(queries: dict[str, str], most: int | None, seed: int) -> dict[str, str]:
    if most is None or most >= len(queries):
        return queries
    drawn = np.random.default_rng(seed).permutation(len(queries))[:most]
    names = list(queries)
    return {names[place]: queries[names[place]] for place in sorted(drawn)}
