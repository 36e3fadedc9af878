"""What the index that is served holds, as an HTTP answer."""

from weakref import ReferenceType, ref

from chamfer.index.field_counts import Field, fields_of_tally
from chamfer.serve.answers import public_name
from chamfer.serve.backend import Backend, Reader
from chamfer.serve.schemas.index import FieldValue, IndexResponse, MetadataField
from chamfer.serve.state import Problem, stale_notes

# Answers that are kept: with the number of values that the page asks for, and with that of some other clients.
MOST_KEPT = 4


class Descriptions:
    """Descriptions of what is served, made once for each commit, because anybody may ask as often as they like.

    Args:
        backend: what is served.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._reader: ReferenceType[Reader] | None = None  # a reader would keep the files of an old commit open
        self._problem: Problem | None = None
        self._kept: dict[int, str] = {}

    def answer(self, values: int) -> str:
        """The description as JSON; called from one thread at a time.

        Args:
            values: number of values of each field.
        """
        reader, problem = self._backend.reader, self._backend.problem
        if self._reader is None or self._reader() is not reader or self._problem != problem:
            self._reader, self._problem, self._kept = ref(reader), problem, {}
        if values in self._kept:
            return self._kept[values]
        made = describe(self._backend.name, reader, problem, values)
        answer = made.model_dump_json()
        if not made.partial:
            self._kept = {**dict(list(self._kept.items())[1 - MOST_KEPT :]), values: answer}
        return answer


def describe(name: str, reader: Reader, problem: Problem | None, values: int) -> IndexResponse:
    """The fields of the documents with counts, example queries, and facts about the index.

    Args:
        name: name of the folder that is served.
        reader: the commit.
        problem: what is wrong with the backend.
        values: number of values of each field.
    """
    found = reader.contents()
    fields = fields_of_tally(found.tally, values)
    return IndexResponse(
        name=name,
        documents=reader.documents,
        passages=found.passages,
        encoder=public_name(reader.queries.encoder.name),
        fields=[_field(field) for field in fields],
        fields_are_complete=fields.complete,
        example_queries=found.examples,
        notes=stale_notes(problem),
        stale=problem is not None,
        partial=bool(found.missing),
        missing_shards=found.missing,
    )


def _field(field: Field) -> MetadataField:
    values = [FieldValue(value=one.value, documents=one.documents) for one in field.values]
    return MetadataField(**field._asdict() | {"values": values})
