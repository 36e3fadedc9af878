"""Learning on a judged collection: candidates, minima, weights."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from chamfer.cache import origin
from chamfer.counting import count_frequencies
from chamfer.encode import Encoder
from chamfer.errors import InputError
from chamfer.evaluation.beir import Collection
from chamfer.evaluation.split import encode_split, find_candidates
from chamfer.kernels import Form
from chamfer.learn.fit import LearningReport, fit_weights
from chamfer.learn.judged import JudgedQuery, LeftOut, judged_minima
from chamfer.learn.paper import Preset
from chamfer.learn.selection import Recipe, Start
from chamfer.progress import Progress, quiet
from chamfer.weights import TokenWeights


class CollectionLearnt(NamedTuple):
    """Weights learnt on a collection, how they were chosen, and what could not be learnt from."""

    weights: TokenWeights
    report: LearningReport
    left_out: LeftOut


def learn_collection(
    collection: Collection,
    encoder: Encoder,
    *,
    cache: Path,
    split: str = "train",
    validation: str | None = None,
    recipe: Literal["auto"] | Recipe = "auto",
    preset: Preset | None = None,
    depth: int = 1000,
    form: Form = "l2",
    folds: int = 3,
    seed: int = 0,
    progress: Progress = quiet,
) -> CollectionLearnt:
    """Learn weights from the judged queries of a split.

    Args:
        collection: documents, queries, judgements.
        encoder: gives the token vectors; its parameters stay as they are.
        cache: where vectors and minima are kept, so that a second call is arithmetic only.
        split: the judged queries to learn from.
        validation: another split to choose on; cross-validation if not given.
        recipe: see :func:`chamfer.learn.fit.fit_weights`.
        preset: hyper-parameters of the recipe ``paper``.
        depth: how many of BM25's candidates are learnt from; relevant documents beyond are added.
        form: ``l2`` or ``cosine``, which the weights are then good for.
        folds: of the cross-validation.
        seed: of the folds.
        progress: shows long work.
    """
    if validation == split:
        raise InputError(f"weights cannot be chosen on {split!r}, the split that they are learnt from")
    chosen = {name: collection.judged_queries(name) for name in (split, validation) if name is not None}
    judged, left_out = {}, {}
    for name, queries in chosen.items():
        judged[name], left_out[name] = _minima(collection, encoder, queries, name, cache, depth, form, progress)
    frequencies = count_frequencies(encoder, list(collection.documents.values()), progress=progress)
    made_from = {
        **origin(collection.name, collection.documents, encoder),
        "learnt_from": {name: len(queries) for name, queries in judged.items()},
        "form": form,
    }
    vocabulary = encoder.vocabulary
    start = Start(
        TokenWeights.uniform(vocabulary),
        TokenWeights.idf(frequencies, vocabulary, made_from=made_from),
        TokenWeights.soft_idf(frequencies, vocabulary, made_from=made_from),
    )
    weights, report = fit_weights(
        judged[split],
        start,
        recipe=recipe,
        validation=judged[validation] if validation else (),
        preset=preset,
        folds=folds,
        seed=seed,
        progress=progress,
    )
    return CollectionLearnt(weights, report, left_out[split])


def _minima(
    collection: Collection,
    encoder: Encoder,
    queries: Mapping[str, str],
    split: str,
    cache: Path,
    depth: int,
    form: Form,
    progress: Progress,
) -> tuple[Sequence[JudgedQuery], LeftOut]:
    encoded, corpus = encode_split(collection, encoder, queries, cache=cache, progress=progress)
    candidates = find_candidates(collection, queries, depth=depth)
    judgements: Mapping[str, Any] = collection.judgements[split]
    with progress("computing minima", len(candidates)) as advance:
        return judged_minima(cache, encoded, corpus, candidates, judgements, form=form, advance=advance)
