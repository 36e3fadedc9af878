"""Evaluate weightings on an index: search it with each for the judged queries."""

import time
from collections.abc import Mapping

from chamfer.data.judged import unknown_documents
from chamfer.data.judgements import Judgements
from chamfer.data.ranking import Ranking
from chamfer.errors import InputError
from chamfer.evaluate.ablation import with_ablations
from chamfer.evaluate.evaluation import Evaluation
from chamfer.evaluate.explaining import ExplainFromIndex
from chamfer.evaluate.judged_data import GIVEN
from chamfer.evaluate.measures import DEPTH, measure
from chamfer.evaluate.own_documents import own_documents
from chamfer.evaluate.rankings import without_document
from chamfer.evaluate.system import System, settings_json
from chamfer.evaluate.weightings import (
    Weightings,
    choose_baseline,
    name_weightings,
    new_queries,
    resolve_weightings,
)
from chamfer.search.hits import QUERY_BATCH
from chamfer.search.searcher import Searcher
from chamfer.support.progress import Progress, quiet
from chamfer.weights.special import DEFAULT
from chamfer.weights.token_weights import TokenWeights


def evaluate_index(
    searcher: Searcher,
    queries: Mapping[str, str],
    judgements: Judgements,
    weights: Weightings,
    *,
    first_stage: str | None = None,
    special: float = DEFAULT,
    depth: int | None = None,
    baseline: str | None = None,
    ablation: bool = False,
    split: str = GIVEN,
    progress: Progress = quiet,
) -> Evaluation:
    """Evaluate weightings; see :func:`chamfer.evaluate.experiment.evaluate`.

    Args:
        searcher: searcher of the index, with the form to use.
        queries: query texts by id.
        judgements: grades of documents for each query.
        weights: names, files or weights.
        first_stage: first stage to use instead of the searcher's own.
        special: weight of special tokens under ``idf``.
        depth: number of candidates to score exactly; the default of the first stage if not given.
        baseline: system to compare with.
        ablation: whether to switch off the pieces of a mix, and an adapter, as well.
        split: name of the judged queries.
        progress: shows the progress.
    """
    started = time.perf_counter()
    named = name_weightings(weights)
    baseline = choose_baseline(baseline, list(named), list(named))
    judged = {query: text for query, text in queries.items() if query in judgements}
    if not judged:
        raise InputError(f"none of the {len(queries)} queries is judged; give judgements for at least one")
    encoder, index = searcher.encoder, searcher.index
    weightings = resolve_weightings(named, encoder, lambda: index.frequencies, form=searcher.form, special=special)
    judged, left_out = new_queries(judged, weightings)
    own = own_documents(index, judged, judgements)
    if ablation:
        weightings = with_ablations(weightings)
    rankings, truncated = _search(searcher, judged, own, weightings, first_stage, depth, progress)
    grades = {query: judgements[query] for query in judged}
    return Evaluation(
        dataset=index.name,
        split=split,
        texts=judged,
        judgements=grades,
        documents=len(searcher),
        truncated={"queries": truncated},
        settings=settings_json(encoder, searcher.form, first_stage, depth),
        systems=tuple(
            System(name, ranked, measure(ranked, grades), weightings[name].metadata)
            for name, ranked in rankings.items()
        ),
        baseline=baseline,
        seconds=time.perf_counter() - started,
        left_out=left_out,
        unknown=unknown_documents(judgements, index.find({one for own in judgements.values() for one in own})),
        explainer=ExplainFromIndex(searcher, weightings, judged),
    )


def _search(
    searcher: Searcher,
    queries: Mapping[str, str],
    own: Mapping[str, str | None],
    weightings: Mapping[str, TokenWeights],
    first_stage: str | None,
    depth: int | None,
    progress: Progress,
) -> tuple[dict[str, list[Ranking]], int]:
    """Rankings of each weighting, and the number of queries that were longer than the encoder reads."""
    truncated = 0
    found: dict[str, list[Ranking]] = {name: [] for name in weightings}
    ids, texts = list(queries), list(queries.values())
    with progress("searching", len(queries)) as advance:
        for at in range(0, len(ids), QUERY_BATCH):
            part = texts[at : at + QUERY_BATCH]
            tokenized = searcher.encoder.tokenize(part, "query")
            tokens = searcher.encoder.encode(tokenized)
            truncated += tokenized.truncated
            for name, weights in weightings.items():
                # One more than measured, because a query may be a document itself.
                weighted = searcher.queries.weigh(tokens, part, weights)
                ranked = searcher.rank(weighted, DEPTH + 1, first_stage=first_stage, depth=depth)
                found[name] += [
                    without_document(
                        Ranking.of(query, searcher.index.ids(one.places), one.scores).rescored(scale.scores),
                        own[query],
                        DEPTH,
                    )
                    for query, one, scale in zip(
                        ids[at : at + QUERY_BATCH], ranked, searcher.ranker.scales(weighted), strict=True
                    )
                ]
            advance(len(part))
    return found, truncated
