"""Learn weights from the judged queries of a collection."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import compress

from chamfer.data.judgements import Judgements
from chamfer.data.ranking import Ranking
from chamfer.evaluate.groups import DOCUMENT, Grouping, Ties, are_new, group, groups_of
from chamfer.evaluate.rankings import find_candidates
from chamfer.evaluate.setup import Setup
from chamfer.learn.fit import fit_weights
from chamfer.learn.judged import JudgedQuery, judged_minima, teachable
from chamfer.learn.learnt import Learnt, MeasuredQueries, measure_held_out
from chamfer.learn.presets import Preset
from chamfer.learn.recipe_names import AUTO
from chamfer.learn.splits import FOLDS, divide, sample
from chamfer.learn.start import Start


def learn_collection(
    setup: Setup,
    splits: Sequence[str],
    *,
    validation: str | None = None,
    test: str | None = None,
    hold_out: float = 0.0,
    max_queries: int | None = None,
    recipe: str = AUTO,
    preset: Preset | None = None,
    folds: int = FOLDS,
    group_by: str = DOCUMENT,
    seed: int = 0,
) -> Learnt:
    """Learn weights; the arguments are those of :func:`chamfer.learn.learning.learn`.

    The splits are those that :func:`chamfer.learn.splits.splits_to_learn_from` returned, which checks them before the
    encoder is loaded.
    """
    collection = setup.collection
    others = [name for name in (validation, test) if name is not None]
    judged = judge_splits(setup, [*splits, *others], max_queries=max_queries, group_by=group_by, seed=seed)
    queries: Sequence[JudgedQuery] = [query for name in splits for query in judged[name]]
    chosen_on: Sequence[JudgedQuery] = judged[validation] if validation else []
    measured = judged[test] if test else []
    kept_apart: Grouping | None = None
    if hold_out:
        kept_apart = group(queries, group_by)
        queries, measured = divide(queries, hold_out, seed=seed, groups=kept_apart.labels)
    given = len(queries) + len(chosen_on)
    chosen_on = list(compress(chosen_on, are_new(chosen_on, measured)))
    queries = list(compress(queries, are_new(queries, [*chosen_on, *measured])))
    repeated = given - len(queries) - len(chosen_on)
    queries, left_out = teachable(queries)
    if chosen_on:
        chosen_on = teachable(chosen_on)[0]
    everything = [*queries, *chosen_on]
    start = starting_weights(setup, learnt_from=len(everything))
    weights, report = fit_weights(
        queries,
        start,
        recipe=recipe,
        validation=chosen_on,
        preset=preset,
        folds=folds,
        group_by=group_by,
        seed=seed,
        progress=setup.progress,
        workers=setup.workers,
    )
    held_out = MeasuredQueries.same(measured)
    return Learnt(
        weights,
        report,
        measure_held_out(held_out, weights, start, group_by=group_by, kept_apart=kept_apart),
        measure_held_out(held_out.apart(everything), weights, start, group_by=group_by),
        repeated,
        left_out,
        unknown=sum(collection.unknown_judged(name) for name in splits),
        truncated=setup.truncated({one.query_id: collection.queries[one.query_id] for one in everything}),
        queries=everything,
        start=start,
    )


def judge_splits(
    setup: Setup, splits: Sequence[str], *, max_queries: int | None = None, group_by: str = DOCUMENT, seed: int = 0
) -> dict[str, list[JudgedQuery]]:
    """Compute, or read from the cache, the minima of judged queries against BM25's candidates, split by split.

    Args:
        setup: shared settings.
        splits: names of splits.
        max_queries: maximum number of queries per split, drawn at random.
        group_by: ``text``, ``document``, or the field of the queries that says which belong together.
        seed: random seed.
    """
    collection = setup.collection
    chosen = {name: sample(collection.judged_queries(name), max_queries, seed=seed) for name in splits}
    texts = {query: text for part in chosen.values() for query, text in part.items()}
    found = find_candidates(collection, texts, depth=setup.depth, bm25=setup.bm25)
    judged = {}
    for name, queries in chosen.items():
        candidates = [ranking for ranking in found if ranking.query_id in queries]
        groups = groups_of(collection.query_fields, queries, group_by)
        judged[name] = judge_queries(setup, queries, candidates, collection.judgements[name], groups)
    return judged


def judge_queries(
    setup: Setup,
    queries: Mapping[str, str],
    candidates: Sequence[Ranking],
    judgements: Judgements,
    groups: Mapping[str, Hashable] | None = None,
) -> list[JudgedQuery]:
    """Compute, or read from the cache, the minima of queries against their candidates."""
    corpus, encoded = setup.corpus, setup.encode_queries(queries)
    with setup.progress("computing minima", len(candidates)) as advance:
        return judged_minima(
            setup.cache,
            encoded,
            corpus,
            candidates,
            judgements,
            ties={
                query: Ties.of(text, judgements.get(query, {}), (groups or {}).get(query))
                for query, text in queries.items()
            },
            lexical=lambda query, documents: setup.bm25.scores(queries[query], documents),
            form=setup.form,
            advance=advance,
            workers=setup.workers,
        )


def starting_weights(setup: Setup, *, learnt_from: int) -> Start:
    """Return the weights of the corpus that need no judgements.

    Args:
        setup: shared settings.
        learnt_from: number of judged queries, to record in the metadata.
    """
    return Start.counted(setup.frequencies, setup.encoder, setup.origin, learnt_from=learnt_from, form=setup.form)
