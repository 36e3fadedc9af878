"""``chamfer.learn``: learn weights from the judged queries of a collection or an index."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from chamfer.cache.encoded import default_cache
from chamfer.data.judgements import Judgements, JudgementSource
from chamfer.data.queries import QuerySource
from chamfer.data.ranking import Ranking
from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError
from chamfer.evaluate.judged_data import GIVEN, Data, open_collection, open_encoder, open_searcher, read_judged
from chamfer.evaluate.rankings import find_candidates
from chamfer.evaluate.setup import Setup
from chamfer.kernels.form import Form
from chamfer.learn.fit import fit_weights
from chamfer.learn.folds import FOLDS
from chamfer.learn.judged import JudgedQuery, judged_minima, teachable
from chamfer.learn.learnt import Learnt, measure_held_out
from chamfer.learn.on_index import DEPTH, judge_in_index, learn_judged
from chamfer.learn.presets import Preset
from chamfer.learn.recipe_names import AUTO, check_recipe
from chamfer.learn.splits import divide, sample, splits_to_learn_from
from chamfer.learn.start import Start
from chamfer.retrieve.stage import DEFAULT_DEPTH
from chamfer.support.progress import shown
from chamfer.workers.connect import workers_at


def learn(
    data: Data,
    *,
    queries: "QuerySource | None" = None,
    judgements: "JudgementSource | None" = None,
    splits: Sequence[str] = (),
    validation: str | None = None,
    test: str | None = None,
    hold_out: float = 0.0,
    max_queries: int | None = None,
    recipe: str = AUTO,
    preset: Preset | None = None,
    encoder: Encoder | str | None = None,
    depth: int | None = None,
    form: Form = "l2",
    folds: int = FOLDS,
    seed: int = 0,
    cache: str | Path | None = None,
    progress: bool | None = None,
    ray: str | None = None,
) -> Learnt:
    """Learn token weights from judged queries; the encoder does not change.

    Args:
        data: a judged collection or the path of one in the BEIR layout; or an index, its folder or a searcher of it.
        queries: query texts by id, as a mapping, a DataFrame or a file of JSON lines. Without it, the keys of
            ``judgements`` are the query texts, or ids of the collection's queries.
        judgements: grades of documents for each query (or lists of relevant ids), a DataFrame, or a qrels file.
            Required for an index; replaces the judgements of a collection.
        splits: splits of a collection to learn from; ``train`` and ``dev`` by default, where they exist.
        validation: another split to choose on; cross-validation by default.
        test: another split to measure the chosen weights on.
        hold_out: share of the queries to hold out and measure on instead, drawn at random.
        max_queries: maximum number of queries per split, drawn at random; all by default.
        recipe: recipe to use; ``auto`` tries all of them, see :func:`chamfer.learn.fit.fit_weights`.
        preset: hyper-parameters of the recipe ``paper``.
        encoder: encoder, or the name of one; by default ``minilm``, or the encoder that the index was built with.
        depth: number of candidates to learn from, to which judged documents are added: by default BM25's top 1000, or
            the top 100 of the index by softened IDF and by uniform weights.
        form: form of the score, ``l2`` or ``cosine``, that the weights are for.
        folds: number of folds of the cross-validation.
        seed: random seed.
        cache: folder for vectors and minima, so that a second call only fits; the user's cache folder by default.
        progress: whether to show a progress bar; by default only if stderr is a terminal.
        ray: address of a Ray cluster, or ``"local"`` for Ray workers on this machine; by default this process works.

    >>> from chamfer import build_index, learn
    >>> folder = getfixture("tmp_path")
    >>> report = build_index(folder, {"a": "Cats sleep all day.", "b": "Dogs bark at night.", "c": "Birds sing."})
    >>> learnt = learn(folder, judgements={"why do cats sleep": ["a"], "what do dogs do": ["b"]})
    >>> learnt.report.choice.name, learnt.report.queries
    ('uniform', 2)
    """
    check_recipe(recipe)
    searcher = open_searcher(data, encoder=encoder, form=form)
    if searcher is not None:
        if judgements is None:
            raise InputError("learning from an index needs judgements; give judgements={query: [relevant ids]}")
        if splits or validation or test:
            raise InputError("splits, validation and test are of a collection; for an index, use hold_out")
        given = read_judged(queries, judgements)
        chosen = sample(given.judgements, max_queries, seed=seed)
        judged = judge_in_index(
            searcher, given.queries, chosen, depth=DEPTH if depth is None else depth, progress=shown(progress)
        )
        unknown = sum(len(grades) - len(searcher.index.find(grades)) for grades in chosen.values())
        with workers_at(ray) as workers:
            return learn_judged(
                searcher,
                [query for query, _ in judged],
                recipe=recipe,
                preset=preset,
                hold_out=hold_out,
                folds=folds,
                seed=seed,
                unknown=unknown,
                progress=shown(progress),
                workers=workers,
            )
    collection = open_collection(data, queries, judgements)
    splits = splits if judgements is None else [GIVEN]
    splits_to_learn_from(collection, splits, validation=validation, test=test, hold_out=hold_out)
    cache = default_cache() if cache is None else Path(cache)
    with workers_at(ray) as workers:
        setup = Setup(collection, open_encoder(encoder), cache, form, depth or DEFAULT_DEPTH, shown(progress), workers)
        return learn_collection(
            setup,
            splits=splits,
            validation=validation,
            test=test,
            hold_out=hold_out,
            max_queries=max_queries,
            recipe=recipe,
            preset=preset,
            folds=folds,
            seed=seed,
        )


def learn_collection(
    setup: Setup,
    *,
    splits: Sequence[str] = (),
    validation: str | None = None,
    test: str | None = None,
    hold_out: float = 0.0,
    max_queries: int | None = None,
    recipe: str = AUTO,
    preset: Preset | None = None,
    folds: int = FOLDS,
    seed: int = 0,
) -> Learnt:
    """Learn weights; the arguments are those of :func:`learn`."""
    collection = setup.collection
    splits = splits_to_learn_from(collection, splits, validation=validation, test=test, hold_out=hold_out)
    others = [name for name in (validation, test) if name is not None]
    judged = judge_splits(setup, [*splits, *others], max_queries=max_queries, seed=seed)
    queries: Sequence[JudgedQuery] = [query for name in splits for query in judged[name]]
    measured = judged[test] if test else []
    if hold_out:
        queries, measured = divide(queries, hold_out, seed=seed)
    queries, left_out = teachable(queries)
    chosen_on: Sequence[JudgedQuery] = teachable(judged[validation])[0] if validation else ()
    everything = [*queries, *chosen_on]
    start = starting_weights(setup, learnt_from=len(everything))
    weights, report = fit_weights(
        queries,
        start,
        recipe=recipe,
        validation=chosen_on,
        preset=preset,
        folds=folds,
        seed=seed,
        progress=setup.progress,
        workers=setup.workers,
    )
    return Learnt(
        weights,
        report,
        measure_held_out(measured, weights, start.uniform) if measured else None,
        left_out,
        unknown=sum(collection.unknown_judged(name) for name in splits),
        truncated=setup.truncated({one.query_id: collection.queries[one.query_id] for one in everything}),
        queries=everything,
        start=start,
    )


def judge_splits(
    setup: Setup, splits: Sequence[str], *, max_queries: int | None = None, seed: int = 0
) -> dict[str, list[JudgedQuery]]:
    """Compute, or read from the cache, the minima of judged queries against BM25's candidates, split by split."""
    collection = setup.collection
    chosen = {name: sample(collection.judged_queries(name), max_queries, seed=seed) for name in splits}
    everyone = {query: text for part in chosen.values() for query, text in part.items()}
    found = find_candidates(collection, everyone, depth=setup.depth)
    judged = {}
    for name, queries in chosen.items():
        candidates = [ranking for ranking in found if ranking.query_id in queries]
        judged[name] = judge_queries(setup, queries, candidates, collection.judgements[name])
    return judged


def judge_queries(
    setup: Setup, queries: Mapping[str, str], candidates: Sequence[Ranking], judgements: Judgements
) -> list[JudgedQuery]:
    """Compute, or read from the cache, the minima of queries against their candidates and judged documents."""
    corpus, encoded = setup.corpus, setup.encode_queries(queries)
    with setup.progress("computing minima", len(candidates)) as advance:
        return judged_minima(
            setup.cache,
            encoded,
            corpus,
            candidates,
            judgements,
            form=setup.form,
            advance=advance,
            workers=setup.workers,
        )


def starting_weights(setup: Setup, *, learnt_from: int) -> Start:
    """Return uniform, IDF and softened IDF weights of the corpus.

    Args:
        setup: shared settings.
        learnt_from: number of judged queries, to record in the metadata.
    """
    made_from = {
        **setup.origin,
        "model": setup.encoder.model_fingerprint,
        "learnt_from": learnt_from,
        "form": setup.form,
    }
    return Start.counted(setup.counted.frequencies, setup.encoder.vocabulary, made_from)
