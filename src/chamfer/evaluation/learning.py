"""Learning on a judged collection: candidates, minima, weights, and what they are worth on other queries."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from chamfer.cache import origin
from chamfer.counting import count_frequencies
from chamfer.encode import Encoder
from chamfer.errors import InputError
from chamfer.evaluation.beir import Collection
from chamfer.evaluation.compare import Comparison, compare
from chamfer.evaluation.split import encode_split, find_candidates
from chamfer.kernels import Form
from chamfer.learn.candidates import Recipe, Start
from chamfer.learn.fit import LearningReport, fit_weights
from chamfer.learn.judged import JudgedQuery, LeftOut, judged_minima
from chamfer.learn.paper import Preset
from chamfer.learn.quality import quality
from chamfer.learn.splits import divide
from chamfer.progress import Progress, quiet
from chamfer.weights import TokenWeights


class Judged(NamedTuple):
    """The judged queries of a split with their minima, and what could not be learnt from."""

    queries: Sequence[JudgedQuery]
    left_out: LeftOut


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
    left_out: Mapping[str, LeftOut]
    queries: Sequence[JudgedQuery]
    start: Start


def learn_collection(
    collection: Collection,
    encoder: Encoder,
    *,
    cache: Path,
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
        depth: how many of BM25's candidates are learnt from; relevant documents beyond are added.
        form: ``l2`` or ``cosine``, which the weights are then good for.
        folds: of the cross-validation.
        seed: of everything that is drawn.
        progress: shows long work.
    """
    splits = splits or [name for name in ("train", "dev") if name in collection.judgements and name != validation]
    if not splits:
        raise InputError(
            f"{collection.name} has no split train or dev to learn from; learn from part of another one and measure "
            "on the rest, as in: --qrels test --hold-out 0.5"
        )
    if test is not None and hold_out:
        raise InputError("weights are measured on another split or on held-out queries, not on both")
    for name, use in ((validation, "chosen"), (test, "measured")):
        if name in splits:
            raise InputError(f"weights cannot be {use} on {name!r}, the split that they are learnt from")
    if test is not None and test == validation:
        raise InputError(f"weights cannot be measured on {test!r}, the split that they are chosen on")
    names = [*splits, *(name for name in (validation, test) if name is not None)]
    for name in names:
        collection.judged_queries(name)  # before anything is computed
    judged = {
        name: judge_split(
            collection, encoder, name, cache=cache, most=most, seed=seed, depth=depth, form=form, progress=progress
        )
        for name in names
    }
    queries = [query for name in splits for query in judged[name].queries]
    measured: Sequence[JudgedQuery] = judged[test].queries if test else ()
    if hold_out:
        queries, measured = divide(queries, hold_out, seed=seed)
    start = starting_weights(collection, encoder, learnt_from=len(queries), form=form, progress=progress)
    weights, report = fit_weights(
        queries,
        start,
        recipe=recipe,
        validation=judged[validation].queries if validation else (),
        preset=preset,
        folds=folds,
        seed=seed,
        progress=progress,
    )
    held_out = measure_held_out(measured, weights, start.uniform) if measured else None
    left_out = {name: one.left_out for name, one in judged.items()}
    return CollectionLearnt(weights, report, held_out, left_out, queries, start)


def judge_split(
    collection: Collection,
    encoder: Encoder,
    split: str,
    *,
    cache: Path,
    most: int | None = None,
    seed: int = 0,
    depth: int = 1000,
    form: Form = "l2",
    progress: Progress = quiet,
) -> Judged:
    """Compute, or read from ``cache``, the minima of the judged queries of a split against BM25's candidates."""
    queries = collection.judged_queries(split)
    if most is not None and most < len(queries):
        drawn = np.random.default_rng(seed).permutation(len(queries))[:most]
        names = list(queries)
        queries = {names[place]: queries[names[place]] for place in sorted(drawn)}
    encoded, corpus = encode_split(collection, encoder, queries, cache=cache, progress=progress)
    candidates = find_candidates(collection, queries, depth=depth)
    judgements: Mapping[str, Any] = collection.judgements[split]
    with progress("computing minima", len(candidates)) as advance:
        return Judged(*judged_minima(cache, encoded, corpus, candidates, judgements, form=form, advance=advance))


def starting_weights(
    collection: Collection, encoder: Encoder, *, learnt_from: int, form: Form = "l2", progress: Progress = quiet
) -> Start:
    """Uniform, IDF and softened IDF weights over the corpus of a collection."""
    frequencies = count_frequencies(encoder, list(collection.documents.values()), progress=progress)
    documents = collection.documents
    made_from = {**origin(collection.name, documents, encoder), "learnt_from": learnt_from, "form": form}
    vocabulary = encoder.vocabulary
    return Start(
        TokenWeights.uniform(vocabulary),
        TokenWeights.idf(frequencies, vocabulary, made_from=made_from),
        TokenWeights.soft_idf(frequencies, vocabulary, made_from=made_from),
    )


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
