"""``chamfer.learn``: learn weights from the judged queries of a collection or an index."""

from collections.abc import Sequence
from pathlib import Path

from chamfer.data.judgements import JudgementSource
from chamfer.data.queries import QuerySource
from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError
from chamfer.evaluate.groups import DOCUMENT, groups_of
from chamfer.evaluate.judged_data import GIVEN, Data, index_of, judged_in_index, open_collection, open_searcher
from chamfer.evaluate.setup import open_setup
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.learn.learnt import Learnt
from chamfer.learn.on_collection import learn_collection
from chamfer.learn.on_index import DEPTH, learn_index
from chamfer.learn.presets import PresetSource, preset_from
from chamfer.learn.recipe_names import AUTO, check_recipe
from chamfer.learn.splits import FOLDS, sample, splits_to_learn_from
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
    preset: PresetSource | None = None,
    encoder: Encoder | str | None = None,
    depth: int | None = None,
    form: Form = DEFAULT_FORM,
    folds: int = FOLDS,
    group_by: str = DOCUMENT,
    seed: int = 0,
    cache: str | Path | None = None,
    progress: bool | None = None,
    ray: str | None = None,
) -> Learnt:
    """Learn token weights from judged queries; the encoder does not change.

    Args:
        data: a judged collection, the path of one in the BEIR layout, or a corpus; or an index, its folder or a
            searcher of it.
        queries: query texts by id, as a mapping, a DataFrame or a file of JSON lines. Without it, ``judgements`` hold
            the query texts, or ids of the collection's queries.
        judgements: grades of documents for each query, or lists of relevant ids; or a table with the columns ``query``,
            ``document`` and ``relevance``, clicks, or qrels, as a DataFrame, a list of dicts or a file. Required for an
            index and for a corpus that is not a BEIR folder; replaces the judgements of a collection.
        splits: splits of a collection to learn from; ``train`` and ``dev`` by default, where they exist.
        validation: another split to choose on; cross-validation by default.
        test: another split to measure the chosen weights on.
        hold_out: share of the queries to hold out and measure on instead, drawn at random.
        max_queries: maximum number of queries per split, drawn at random; all by default.
        recipe: name of the recipe to use, such as ``prior``; ``auto`` blends the zero-shot mix with everything that can
            be learnt, by the evidence for each.
        preset: hyper-parameters of the recipe ``paper``: the name of a dataset that the paper publishes them for, such
            as ``scifact``, or ``(alpha, closest, closer)``. By default the recipe chooses among all published ones.
        encoder: encoder, or the name of one; by default ``minilm``, or the encoder that the index was built with.
        depth: number of candidates to learn from: by default BM25's top 1000 for a collection; for an index, the top
            100 by the searcher's weights and the top 100 by uniform weights.
            Relevant documents that are not among them are not learnt from.
        form: form of the score, ``l2`` or ``cosine``, that the weights are for.
        folds: number of folds of the cross-validation.
        group_by: what keeps queries in one fold, or on one side of ``hold_out``: equal words (``text``), also a common
            relevant document (``document``), or equal words and the value of a field of the queries.
        seed: random seed.
        cache: folder for vectors and minima, so that a second call only fits; the user's cache folder by default.
        progress: whether to show a progress bar; by default only if stderr is a terminal.
        ray: address of a Ray cluster, or ``"local"`` for Ray workers on this machine; by default, no Ray.

    >>> from chamfer import build_index, learn
    >>> folder = getfixture("tmp_path")
    >>> report = build_index(folder, {"a": "Cats sleep all day.", "b": "Dogs bark at night.", "c": "Birds sing."})
    >>> learnt = learn(folder, judgements={"why do cats sleep": ["a"], "what do dogs do": ["b"]})
    >>> learnt.chosen, learnt.report.queries
    ('blend', 2)
    """
    check_recipe(recipe)
    hyperparameters = preset_from(preset, recipe)
    index = index_of(data)
    if index is not None:
        if judgements is None:
            raise InputError("learning from an index needs judgements; give judgements={query: [relevant ids]}")
        if splits or validation or test:
            raise InputError("splits, validation and test need a collection; for an index, use hold_out")
        given = judged_in_index(index, queries, judgements)
        chosen = sample(given.judgements, max_queries, seed=seed)
        groups = groups_of(given.query_fields, chosen, group_by)
        searcher = open_searcher(index, encoder=encoder, form=form)  # mistakes in the input were found by now
        with workers_at(ray) as workers:
            return learn_index(
                searcher,
                given.queries,
                chosen,
                depth=DEPTH if depth is None else depth,
                groups=groups,
                recipe=recipe,
                preset=hyperparameters,
                hold_out=hold_out,
                folds=folds,
                group_by=group_by,
                seed=seed,
                progress=shown(progress),
                workers=workers,
            )
    collection = open_collection(data, queries, judgements)
    splits = splits_to_learn_from(
        collection,
        splits if judgements is None else [GIVEN],
        validation=validation,
        test=test,
        hold_out=hold_out,
    )
    with open_setup(
        collection, encoder=encoder, cache=cache, form=form, depth=depth, progress=progress, ray=ray
    ) as setup:
        return learn_collection(
            setup,
            splits,
            validation=validation,
            test=test,
            hold_out=hold_out,
            max_queries=max_queries,
            recipe=recipe,
            preset=hyperparameters,
            folds=folds,
            group_by=group_by,
            seed=seed,
        )
