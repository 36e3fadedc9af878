"""``chamfer.evaluate``: compare weightings on a judged collection or an index."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from chamfer.data.judgements import DEV, TEST, JudgementSource
from chamfer.data.queries import QuerySource
from chamfer.data.ranking import Ranking
from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError
from chamfer.evaluate.evaluation import Evaluation
from chamfer.evaluate.judged_data import GIVEN, Data, index_of, judged_in_index, open_collection, open_searcher
from chamfer.evaluate.on_collection import evaluate_collection
from chamfer.evaluate.on_index import evaluate_index
from chamfer.evaluate.setup import open_setup
from chamfer.evaluate.weightings import Weightings
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.retrieve.stages import BM25
from chamfer.support.progress import shown
from chamfer.weights.special import AUTO, DEFAULT, Special
from chamfer.weights.zero_shot import NAMES


def evaluate(
    data: Data,
    weights: Weightings = NAMES,
    *,
    queries: "QuerySource | None" = None,
    judgements: "JudgementSource | None" = None,
    split: str = TEST,
    encoder: Encoder | str | None = None,
    first_stage: str | None = None,
    candidates: Sequence[Ranking] | None = None,
    runs: Mapping[str, Sequence[Ranking]] | None = None,
    depth: int | None = None,
    form: Form = DEFAULT_FORM,
    special: Special = DEFAULT,
    validation: str = DEV,
    baseline: str | None = None,
    ablation: bool = False,
    cache: str | Path | None = None,
    progress: bool | None = None,
    ray: str | None = None,
) -> Evaluation:
    """Compare weightings: measures, significance, wins and losses per query.

    Args:
        data: a judged collection, the path of one in the BEIR layout, or a corpus, whose candidates are re-ranked; or
            an index, its folder or a searcher of it, which is searched.
        weights: names (``uniform``, ``idf``, ``idf-soft``, ``mix``), files or :class:`chamfer.TokenWeights`; one, a
            list, or a mapping from the names to show.
        queries: query texts by id, as a mapping, a DataFrame or a file of JSON lines. Without it, ``judgements`` hold
            the query texts, or ids of the collection's queries.
        judgements: grades of documents for each query, or lists of relevant ids; or a table with the columns ``query``,
            ``document`` and ``relevance``, clicks, or qrels, as a DataFrame, a list of dicts or a file. Required for an
            index and for a corpus that is not a BEIR folder; replaces the judgements of a collection.
        split: judged queries of the collection to measure.
        encoder: encoder, or the name of one; by default ``minilm``, or the encoder that the index was built with.
        first_stage: first stage that finds the candidates; by default ``bm25``, or ``auto`` for an index.
        candidates: rankings to re-rank instead of a first stage's; not for an index.
        runs: rankings of other systems to measure as well, by name; not for an index.
        depth: number of candidates per query; by default 1000, or the first stage's own for an index.
        form: form of the score, ``l2`` or ``cosine``.
        special: weight of special tokens under ``idf``: 0, 1, or ``"auto"`` for the better one on ``validation``.
        validation: split for ``special="auto"``; it must not be the one that is measured.
        baseline: system to compare with; ``uniform`` if it is there, else the first weighting.
        ablation: whether to measure weights with a mix or an adapter again without each piece: without lexical or
            pooled evidence, without the adapter, and by tokens only.
        cache: folder for vectors, so that a second evaluation encodes nothing; the user's cache folder by default.
        progress: whether to show a progress bar; by default only if stderr is a terminal.
        ray: address of a Ray cluster, or ``"local"`` for Ray workers on this machine; by default, no Ray.

    >>> from chamfer import Collection, evaluate
    >>> pets = Collection(
    ...     name="pets",
    ...     documents={"cats": "Cats sleep all day.", "dogs": "Dogs bark at night.", "birds": "Birds sing all day."},
    ...     queries={"q1": "why do cats sleep", "q2": "what do birds do"},
    ...     judgements={"test": {"q1": {"cats": 1}, "q2": {"birds": 1}}},
    ... )
    >>> evaluation = evaluate(pets, ["uniform", "idf-soft"], cache=getfixture("tmp_path"))
    >>> [(row["system"], row["R@10"]) for row in evaluation.table()]
    [('bm25', 1.0), ('uniform', 1.0), ('idf-soft', 1.0)]
    """
    index = index_of(data)
    if index is not None:
        if judgements is None:
            raise InputError("evaluating an index needs judgements; give judgements={query: [relevant ids]}")
        if candidates is not None or runs or special == AUTO:
            raise InputError(
                "candidates, runs and special='auto' are only available for a collection, not for an index"
            )
        judged = judged_in_index(index, queries, judgements)  # before the encoder is loaded
        searcher = open_searcher(index, encoder=encoder, first_stage=first_stage, form=form)
        return evaluate_index(
            searcher,
            judged.queries,
            judged.judgements,
            weights,
            first_stage=first_stage,
            special=special,
            depth=depth,
            baseline=baseline,
            ablation=ablation,
            progress=shown(progress),
        )
    collection = open_collection(data, queries, judgements)
    with open_setup(
        collection, encoder=encoder, cache=cache, form=form, depth=depth, progress=progress, ray=ray
    ) as setup:
        return evaluate_collection(
            setup,
            weights,
            split=split if judgements is None else GIVEN,
            first_stage=first_stage or BM25,
            candidates=candidates,
            runs=runs,
            special=special,
            validation=validation,
            baseline=baseline,
            ablation=ablation,
        )
