"""Evaluate weightings on a judged collection: re-rank the candidates of a first stage with each."""

import time
from collections.abc import Mapping, Sequence

from chamfer.data.judged import unknown_documents
from chamfer.data.judgements import DEV, TEST
from chamfer.data.ranking import Ranking
from chamfer.errors import InputError
from chamfer.evaluate.ablation import with_ablations
from chamfer.evaluate.evaluation import Evaluation
from chamfer.evaluate.explaining import ExplainFromCollection
from chamfer.evaluate.first_stage import find_first
from chamfer.evaluate.measures import measure
from chamfer.evaluate.rankings import find_candidates, rerank_candidates, without_own_document
from chamfer.evaluate.setup import Setup
from chamfer.evaluate.system import System, settings_json
from chamfer.evaluate.validation import validator
from chamfer.evaluate.weightings import (
    Weightings,
    choose_baseline,
    name_weightings,
    new_queries,
    resolve_weightings,
)
from chamfer.retrieve.stages import BM25, check_stage
from chamfer.weights.special import AUTO, DEFAULT, Special


def evaluate_collection(
    setup: Setup,
    weights: Weightings,
    *,
    split: str = TEST,
    first_stage: str = BM25,
    candidates: Sequence[Ranking] | None = None,
    runs: Mapping[str, Sequence[Ranking]] | None = None,
    special: Special = DEFAULT,
    validation: str = DEV,
    baseline: str | None = None,
    ablation: bool = False,
) -> Evaluation:
    """Evaluate weightings; the arguments are those of :func:`chamfer.evaluate.experiment.evaluate`."""
    started = time.perf_counter()
    collection, encoder, runs = setup.collection, setup.encoder, runs or {}
    source = first_stage if candidates is None else "candidates"
    named = name_weightings(weights, [source, *runs])
    baseline = choose_baseline(baseline, list(named), [source, *named, *runs])
    if special == AUTO and validation == split:
        raise InputError(
            f"the special-token weight cannot be tuned on {split!r}, the evaluation split; use another split"
        )
    check_stage(first_stage)
    queries = collection.judged_queries(split)
    others: dict[str, list[Ranking]] = {}
    for name, run in runs.items():
        asked = [ranking for ranking in run if ranking.query_id in queries]
        others[name] = [without_own_document(collection, ranking, len(ranking)) for ranking in asked]
        if not asked:
            raise InputError(
                f"run {name!r} contains none of the {len(queries)} queries; is it from another collection?"
            )

    found: list[Ranking] = []
    if candidates is not None or first_stage == BM25:
        bm25 = setup.bm25 if candidates is None else None
        found = find_candidates(collection, queries, given=candidates, depth=setup.depth, bm25=bm25)
    weightings = resolve_weightings(
        named,
        encoder,
        lambda: setup.frequencies,
        form=setup.form,
        special=special,
        validate=validator(setup, validation),
        made_from=setup.origin,
    )
    queries, left_out = new_queries(queries, weightings)
    found = [ranking for ranking in found if ranking.query_id in queries]
    others = {name: [ranking for ranking in run if ranking.query_id in queries] for name, run in others.items()}
    if ablation:
        weightings = with_ablations(weightings, [source, *runs])
    if found:
        ranked = rerank_candidates(setup, weightings, found)
    else:
        firsts = find_first(setup, queries, weightings, first_stage)
        found = firsts[baseline] if baseline in firsts else next(iter(firsts.values()))
        ranked = {
            name: rerank_candidates(setup, {name: weightings[name]}, first)[name] for name, first in firsts.items()
        }

    judgements = {query: collection.judgements[split][query] for query in queries}
    made = {name: weighting.metadata for name, weighting in weightings.items()}
    systems = tuple(
        System(name, rankings, measure(rankings, judgements), made.get(name, {}), name in weightings)
        for name, rankings in {source: found, **ranked, **others}.items()
    )
    return Evaluation(
        dataset=collection.name,
        split=split,
        texts=queries,
        judgements=judgements,
        documents=len(collection.documents),
        truncated=setup.truncated(queries),
        settings=settings_json(encoder, setup.form, source, setup.depth),
        systems=systems,
        baseline=baseline,
        seconds=time.perf_counter() - started,
        left_out=left_out,
        unknown=unknown_documents(collection.judgements[split], collection.documents),
        explainer=ExplainFromCollection(setup, weightings),
    )
