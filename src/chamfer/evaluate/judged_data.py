"""What ``evaluate`` and ``learn`` work on: a judged collection, or an index with judged queries."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from chamfer.data.collection import Collection, load_collection
from chamfer.data.judgements import Judgements, JudgementSource, judgements_from
from chamfer.data.queries import QuerySource, queries_from
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


class Judged(NamedTuple):
    """Queries by id, and the grades of documents for each."""

    queries: Mapping[str, str]
    judgements: Judgements
    query_fields: Mapping[str, Mapping[str, Any]]
    """Further fields of the queries, by id."""


def read_judged(queries: "QuerySource | None", judgements: JudgementSource, known: Collection | None = None) -> Judged:
    """Read judgements and their queries; without ``queries``, the keys of the judgements are the query texts.

    Args:
        queries: queries by id.
        judgements: grades of documents for each query.
        known: a collection, whose queries judgements may name by id.
    """
    if queries is not None:
        texts, fields = queries_from(queries)
        return Judged(texts, judgements_from(judgements, texts), fields)
    if known is not None:
        return Judged(known.queries, judgements_from(judgements, known.queries), known.query_fields)
    judged = judgements_from(judgements)
    return Judged(queries_from(dict(zip(judged, judged, strict=True))).texts, judged, {})


def open_collection(data: Data, queries: "QuerySource | None", judgements: "JudgementSource | None") -> Collection:
    """Load a collection; judgements that are given become its only split, :data:`GIVEN`."""
    if isinstance(data, Index | Searcher):
        raise InputError("a collection is needed here, not an index")
    collection = data if isinstance(data, Collection) else load_collection(Path(data))
    if judgements is None:
        if queries is not None:
            raise InputError("queries need judgements; give both")
        return collection
    judged = read_judged(queries, judgements, collection if collection.queries else None)
    return replace(
        collection,
        queries=judged.queries,
        judgements={GIVEN: judged.judgements},
        query_fields=judged.query_fields,
    )


def open_searcher(
    data: Data, *, encoder: Encoder | str | None = None, first_stage: str | None = None, form: Form = DEFAULT_FORM
) -> Searcher | None:
    """Open a searcher if ``data`` is an index or the folder of one; None if it is a collection."""
    if isinstance(data, Searcher):
        return data
    if isinstance(data, Collection) or (not isinstance(data, Index) and read_manifest(Path(data)) is None):
        return None
    loaded = Encoder.load(encoder) if isinstance(encoder, str) else encoder
    return Searcher.open(data, encoder=loaded, first_stage=first_stage or AUTO, form=form)
