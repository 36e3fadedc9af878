"""What to know about an evaluation before its numbers are believed: one sentence each."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chamfer.data.judged import UnknownDocuments
from chamfer.data.judgements import DEV, TEST, TRAIN
from chamfer.encode.lengths import truncation_note
from chamfer.evaluate.system import System
from chamfer.weights.learnt_queries import LEARNT_QUERIES, learnt_from


def notes_on(
    systems: Sequence[System],
    texts: Mapping[str, str],
    *,
    dataset: str,
    split: str,
    documents: int,
    truncated: Mapping[str, int],
    settings: Mapping[str, Any],
    unknown: UnknownDocuments,
    left_out: int,
    connected: str,
) -> Iterator[str]:
    """Yield the notes on an evaluation; the arguments are those of :class:`chamfer.Evaluation`.

    ``connected`` is why queries with a relevant document in common do not count as one; empty if they do.
    """
    for what, total in (("queries", len(texts)), ("documents", documents)):
        if truncated.get(what):
            length = settings["query_length" if what == "queries" else "document_length"]
            yield truncation_note(what, truncated[what], total, length)
    if unknown.ids:
        yield unknown.note(dataset)
    if left_out:
        were = "1 query is" if left_out == 1 else f"{left_out} queries are"
        yield f"{were} left out, because weights were learnt from {'it' if left_out == 1 else 'them'}"
    if connected:
        yield (
            f"{connected}, too many to count as one, so in tests and intervals only queries with the same words do; "
            "p-values may be too small"
        )
    for system in systems:
        without = len(texts) - system.answered
        if without and not system.is_weighting:  # a weighting answers whenever its candidates do
            yield f"{system.name} returns nothing for {without} of {len(texts)} queries"
        told = "" if left_out else _of_learning(system, texts, split)
        if told:
            yield told


def _of_learning(system: System, texts: Mapping[str, str], split: str) -> str:
    """Whether weights were measured on what they were learnt from, as far as that is known."""
    known, count = LEARNT_QUERIES in system.made, system.made.get("learnt_from")
    seen = len(learnt_from([system.made], texts))
    instead = "its measures are too high: chamfer learn --hold-out measures on others"
    if seen:
        return f"{system.label} was learnt from {seen} of these {len(texts)} queries, so {instead}"
    if count and not known and split not in (TRAIN, DEV, TEST):
        return f"{system.label} was learnt from {count} judged queries; on these, {instead}"
    return ""
