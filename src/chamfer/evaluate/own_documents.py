"""Which queries are documents of an index themselves, so that finding them is no achievement."""

from collections.abc import Mapping

from chamfer.data.judgements import Judgements, is_relevant
from chamfer.data.queries import is_own_document
from chamfer.index.snapshot import Snapshot


def own_documents(index: Snapshot, queries: Mapping[str, str], judgements: Judgements) -> dict[str, str | None]:
    """The id of the document that each query is itself and that is not judged relevant; None if there is none.

    Args:
        index: index that may contain the queries.
        queries: query texts by id.
        judgements: grades of documents for each query.
    """
    found = index.find(queries)
    documents = index.wholes(list(found))
    own = {
        query
        for query, document in zip(found, documents, strict=True)
        if is_own_document(query, queries[query], document.content) and not is_relevant(judgements, query, query)
    }
    return {query: query if query in own else None for query in queries}
