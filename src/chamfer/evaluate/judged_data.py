"""What ``evaluate`` and ``learn`` work on: a judged collection, or an index with judged queries."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from chamfer.data.collection import Collection, load_collection, load_corpus
from chamfer.data.judged import Judged, check_documents, read_judged
from chamfer.data.judgements import Judgements, JudgementSource
from chamfer.data.queries import Queries, QuerySource
from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError
from chamfer.index.index import Index
from chamfer.index.manifest import read_manifest
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.retrieve.stages import AUTO
from chamfer.search.searcher import Searcher

GIVEN = "judgements"
"""Name of the split of judgements that are given as an argument."""

Data = Collection | Index | Searcher | str | Path


def open_collection(data: Data, queries: "QuerySource | None", judgements: "JudgementSource | None") -> Collection:
    """Load a collection; judgements that are given become its only split, :data:`GIVEN`."""
    if isinstance(data, Index | Searcher):
        raise InputError("a collection is needed here, not an index")
    if judgements is None:
        if queries is not None:
            raise InputError("queries need judgements; give both")
        return data if isinstance(data, Collection) else load_collection(Path(data))
    collection = data if isinstance(data, Collection) else load_corpus(data)
    judged = read_judged(queries, judgements, Queries(collection.queries, collection.query_fields))
    check_documents(judged.judgements, collection.documents, next(iter(collection.documents), None), collection.name)
    return replace(
        collection,
        queries=judged.queries,
        judgements={GIVEN: judged.judgements},
        query_fields=judged.query_fields,
    )


def index_of(data: Data) -> Index | Searcher | None:
    """The index that ``data`` is, or whose folder it is; None for a collection."""
    if isinstance(data, Index | Searcher):
        return data
    return None if isinstance(data, Collection) or read_manifest(Path(data)) is None else Index.open(data)


def judged_in_index(index: Index | Searcher, queries: "QuerySource | None", judgements: JudgementSource) -> Judged:
    """Read judgements of documents of an index; no model is needed."""
    judged = read_judged(queries, judgements)
    check_in_index(index, judged.judgements)
    return judged


def check_in_index(index: Index | Searcher, judgements: Judgements) -> None:
    """Refuse judgements if none of their documents is in an index, and say it if some are not."""
    snapshot = index.index if isinstance(index, Searcher) else index.snapshot
    found = snapshot.find({document for grades in judgements.values() for document in grades})
    some = np.arange(min(1, len(snapshot))) if snapshot.live is None else np.flatnonzero(snapshot.live)
    check_documents(judgements, found, next(iter(snapshot.ids(some[:1])), None), snapshot.name)


def open_searcher(
    index: Index | Searcher,
    *,
    encoder: Encoder | str | None = None,
    first_stage: str | None = None,
    form: Form = DEFAULT_FORM,
) -> Searcher:
    """Open a searcher of an index, unless it is one."""
    if isinstance(index, Searcher):
        return index
    loaded = Encoder.load(encoder) if isinstance(encoder, str) else encoder
    return Searcher.open(index, encoder=loaded, first_stage=first_stage or AUTO, form=form)
