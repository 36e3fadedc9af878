"""Re-ranking requests as JSON Lines, for ``chamfer rerank`` without a folder."""

import json
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from chamfer.data.jsonlines import parse_json_lines
from chamfer.data.ranking import Ranking
from chamfer.errors import InputError

if TYPE_CHECKING:
    from chamfer.search.rerank_texts import Request


def read_requests(*, allow_empty: bool) -> "Iterator[Request]":
    """Read requests from stdin as they arrive."""
    from chamfer.search.rerank_texts import Request

    for number, request in parse_json_lines(sys.stdin.buffer, "stdin"):
        where = f"stdin, line {number}"
        try:
            query_id, query, documents = _parse_request(request, str(number), allow_empty=allow_empty)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        yield Request(where, query_id, query, list(documents), list(documents.values()))


def _parse_request(
    request: Mapping[str, Any], default_id: str, *, allow_empty: bool
) -> tuple[str, str, dict[str, str]]:
    query_id, query, given = request.get("id", default_id), request.get("query"), request.get("documents")
    if not isinstance(query_id, str | int):
        raise InputError(f"'id' must be a string or an integer, not {query_id!r}")
    if not isinstance(query, str) or not query.strip():
        raise InputError("'query' must be a string that is not empty")
    if not isinstance(given, list) or not given:
        raise InputError("'documents' must be a list of at least one document")
    documents: dict[str, str] = {}
    for place, document in enumerate(given):
        record = {"id": str(place), "text": document} if isinstance(document, str) else document
        if not isinstance(record, dict) or not all(isinstance(record.get(key), str) for key in ("id", "text")):
            raise InputError(f"document {place + 1} must be a string, or an object with the strings 'id' and 'text'")
        if record["id"] in documents:
            raise InputError(f"the document id {record['id']!r} is used twice; ids must be unique within a request")
        if not record["text"].strip() and not allow_empty:
            raise InputError(
                f"document {record['id']!r} has no text; remove it, or give --allow-empty to rank such documents last"
            )
        documents[record["id"]] = record["text"]
    return str(query_id), query, documents


def as_response(ranking: Ranking, k: int | None) -> dict[str, Any]:
    """A ranking as a response."""
    pairs = zip(ranking.document_ids[:k], ranking.scores[:k], strict=True)
    return {
        "id": ranking.query_id,
        "ranking": [{"id": document, "score": score} for document, score in pairs],
    }


def print_line(response: Mapping[str, Any]) -> None:
    """Print a response and flush it: a program may be waiting for it."""
    sys.stdout.write(json.dumps(response) + "\n")
    sys.stdout.flush()
