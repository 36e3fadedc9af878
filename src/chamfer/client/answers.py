"""The JSON of a server as results of the library."""

from collections.abc import Mapping, Sequence
from typing import Any

from chamfer.data.documents import Passage
from chamfer.data.ranking import Ranking
from chamfer.errors import InputError, ServerError
from chamfer.explain.explanation import Explanation
from chamfer.explain.matches import EvidencePart, Match
from chamfer.index.field_counts import Field, Fields, FieldValue
from chamfer.search.hits import Hit, Hits

Json = Mapping[str, Any]


def hits(answer: Json) -> Hits:
    """The documents that were found."""
    return Hits(
        (
            Hit(one["id"], one["score"], one["text"], one["metadata"], one["title"], _passage(one))
            for one in answer["hits"]
        ),
        query_read=answer["query_read"],
        probably_nothing=answer["probably_nothing"],
    )


def hits_of_each(count: int, answer: Json) -> list[Hits]:
    """The documents that were found for each of several queries."""
    found = [hits(one) for one in answer["results"]]
    if len(found) != count:
        raise ValueError(f"{len(found)} results for {count} queries")
    return found


def explanations(answer: Json) -> list[Explanation]:
    """Every explanation, best document first."""
    return [_explanation(document, answer) for document in answer["documents"]]


def explanations_of(ids: Sequence[str], answer: Json) -> list[Explanation]:
    """The explanations of some documents, in their order."""
    found = {one.document_id: one for one in explanations(answer)}
    for identifier in ids:
        if identifier in found:
            continue
        if missing := answer["missing_shards"]:
            raise ServerError(
                f"document {identifier!r} was not found, and {', '.join(missing)} did not answer; try again"
            )
        raise InputError(f"document {identifier!r} has no tokens, so it has no score to explain")
    return [found[identifier] for identifier in ids]


def _explanation(document: Json, answer: Json) -> Explanation:
    pairs = zip(answer["tokens"], document["matches"], strict=True)
    return Explanation(
        tuple(_match(token, matched) for token, matched in pairs),
        form=answer["form"],
        document_id=document["id"],
        document=document["text"],
        title=document["title"],
        passage=_passage(document),
        query_read=answer["query_read"],
        evidence=tuple(EvidencePart(**part) for part in document["evidence"]),
    )


def _passage(document: Json) -> Passage | None:
    """Which passage a text is."""
    found = document["passage"]
    return None if found is None else Passage(**found)


def _match(token: Json, matched: Json) -> Match:
    both = {**token, **matched, "of_word": token["word"]}
    span = both["span"] and tuple(both["span"])
    return Match(**{name: both[name] for name in Match._fields} | {"span": span})


def ranking(ids: Sequence[str], k: int | None, min_score: float, answer: Json) -> Ranking:
    """The server's ranking of the texts that were sent; it also knows of what scores cut off."""
    results = answer["results"]
    if sorted(one["index"] for one in results) != [*range(len(ids))]:
        raise ValueError(f"{len(results)} results for {len(ids)} texts")
    ordered = tuple(ids[one["index"]] for one in results)
    return Ranking("query", ordered[:k], tuple(one["relevance_score"] for one in results[:k])).at_least(min_score)


def fields(answer: Json) -> Fields:
    """The metadata fields."""
    return Fields((_field(one) for one in answer["fields"]), complete=answer["fields_are_complete"])


def _field(one: Json) -> Field:
    values = tuple(FieldValue(**value) for value in one["values"])
    return Field(**{**one, "values": values})


def example_queries(answer: Json) -> list[str]:
    """Queries to try."""
    return list(answer["example_queries"])


def notes(answer: Json) -> list[str]:
    """What the server says of the request, such as a filter on an unknown field, or shards that did not answer."""
    said = list[str](answer.get("meta", {}).get("warnings", ()))
    for one in (answer, *answer.get("results", ())):  # each query of a batch has its own
        said += one.get("notes", ())
        if missing := one.get("missing_shards"):
            said.append(f"the documents of {', '.join(missing)} are missing, because these shards did not answer")
    return list(dict.fromkeys(said))
